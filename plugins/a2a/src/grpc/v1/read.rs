//! Reads requests of v1.0. Fields are told by the names that they have in JSON, as in every binding.

use std::sync::Arc;

use mas_contracts::{Content, Part, PartMeta, TaskMessage};

use crate::{
    grpc::{
        fields::{boxed, count, filled, present, required, role, shared, state},
        proto::v1 as proto,
        values::{read_object, read_time, read_value},
    },
    json::{Path, Problems},
    model::{
        Authentication, CancelTask, Dialect, Failure, GetTask, ListTasks, PushConfig, PushKey, SendMessage,
        SubscribeToTask,
    },
};

const ROOT: Path<'static> = Path::Root;

/// SendMessage and SendStreamingMessage.
///
/// # Errors
/// Every field that is missing or wrong.
pub(crate) fn send(of: proto::SendMessageRequest) -> Result<SendMessage, Failure> {
    let mut problems = Problems::default();
    let path = Path::Field(&ROOT, "message");
    let message = present(of.message, path, &mut problems).and_then(|it| message(it, path, &mut problems));
    let path = Path::Field(&ROOT, "configuration");
    let configuration = of.configuration.unwrap_or_default();
    let at = Path::Field(&path, "taskPushNotificationConfig");
    let push = configuration.task_push_notification_config;
    let push = push.map(|push| push_config(push, at, &mut problems));
    let history = Path::Field(&path, "historyLength");
    let history_length = count(configuration.history_length, history, &mut problems);
    let metadata = read_object(of.metadata, Path::Field(&ROOT, "metadata"), &mut problems);
    problems.made(message, |message| SendMessage {
        message,
        accepted_output_modes: configuration.accepted_output_modes,
        push,
        history_length,
        return_immediately: configuration.return_immediately,
        kind: None,
        metadata,
    })
}

/// GetTask.
///
/// # Errors
/// Every field that is missing or wrong.
pub(crate) fn get_task(of: proto::GetTaskRequest) -> Result<GetTask, Failure> {
    let mut problems = Problems::default();
    let id = required(of.id, Path::Field(&ROOT, "id"), &mut problems).into();
    let history_length = count(of.history_length, Path::Field(&ROOT, "historyLength"), &mut problems);
    problems.none(GetTask { id, history_length })
}

/// ListTasks.
///
/// # Errors
/// Every field that is wrong.
pub(crate) fn list_tasks(of: proto::ListTasksRequest) -> Result<ListTasks, Failure> {
    let mut problems = Problems::default();
    let state = state(of.status, Path::Field(&ROOT, "status"), &mut problems);
    let since = Path::Field(&ROOT, "statusTimestampAfter");
    let since = of.status_timestamp_after.and_then(|it| read_time(it, since, &mut problems));
    let history_length = count(of.history_length, Path::Field(&ROOT, "historyLength"), &mut problems);
    problems.none(ListTasks {
        context: filled(of.context_id),
        state,
        since,
        include_artifacts: of.include_artifacts.unwrap_or_default(),
        history_length,
        page_size: of.page_size.map(Into::into),
        page_token: filled(of.page_token),
    })
}

/// CancelTask.
///
/// # Errors
/// Every field that is missing or wrong.
pub(crate) fn cancel(of: proto::CancelTaskRequest) -> Result<CancelTask, Failure> {
    let mut problems = Problems::default();
    let id = required(of.id, Path::Field(&ROOT, "id"), &mut problems).into();
    let metadata = read_object(of.metadata, Path::Field(&ROOT, "metadata"), &mut problems);
    problems.none(CancelTask { id, metadata })
}

/// SubscribeToTask; `after` is the last event that the caller has.
///
/// # Errors
/// Every field that is missing or wrong.
pub(crate) fn subscribe(
    of: proto::SubscribeToTaskRequest,
    after: Option<u64>,
) -> Result<SubscribeToTask, Failure> {
    let mut problems = Problems::default();
    let id = required(of.id, Path::Field(&ROOT, "id"), &mut problems).into();
    problems.none(SubscribeToTask { id, after })
}

/// CreateTaskPushNotificationConfig.
///
/// # Errors
/// Every field that is missing or wrong.
pub(crate) fn create_push(of: proto::TaskPushNotificationConfig) -> Result<PushConfig, Failure> {
    let mut problems = Problems::default();
    if of.task_id.is_empty() {
        problems.add(Path::Field(&ROOT, "taskId"), "is required");
    }
    let config = push_config(of, ROOT, &mut problems);
    problems.none(config)
}

/// GetTaskPushNotificationConfig and DeleteTaskPushNotificationConfig.
///
/// # Errors
/// Every field that is missing or wrong.
pub(crate) fn push_key(of: proto::PushNotificationConfigKey) -> Result<PushKey, Failure> {
    let mut problems = Problems::default();
    let task = required(of.task_id, Path::Field(&ROOT, "taskId"), &mut problems).into();
    let id = required(of.id, Path::Field(&ROOT, "id"), &mut problems).into();
    problems.none(PushKey { task, id })
}

/// ListTaskPushNotificationConfigs: the task. All webhooks of a task fit on one page, the first.
///
/// # Errors
/// Every field that is missing or wrong.
pub(crate) fn list_push(of: proto::ListTaskPushNotificationConfigsRequest) -> Result<Arc<str>, Failure> {
    let mut problems = Problems::default();
    count(Some(of.page_size), Path::Field(&ROOT, "pageSize"), &mut problems);
    if !of.page_token.is_empty() {
        problems.add(Path::Field(&ROOT, "pageToken"), "is none of this server's");
    }
    let task = required(of.task_id, Path::Field(&ROOT, "taskId"), &mut problems).into();
    problems.none(task)
}

fn message(of: proto::Message, path: Path<'_>, problems: &mut Problems) -> Option<TaskMessage> {
    let id = required(of.message_id, Path::Field(&path, "messageId"), problems).into();
    let from = role(of.role, Path::Field(&path, "role"), problems);
    let list = Path::Field(&path, "parts");
    if of.parts.is_empty() {
        problems.add(list, "is empty");
    }
    let parts = of.parts.into_iter().enumerate();
    let parts = parts.filter_map(|(at, it)| part(it, Path::Index(&list, at), problems)).collect();
    let metadata = read_object(of.metadata, Path::Field(&path, "metadata"), problems);
    Some(TaskMessage {
        id,
        from: from?,
        context: filled(of.context_id),
        task: filled(of.task_id),
        parts,
        metadata,
        extensions: shared(of.extensions),
        references: shared(of.reference_task_ids),
    })
}

/// A part of a message or an artifact.
pub(super) fn part(of: proto::Part, path: Path<'_>, problems: &mut Problems) -> Option<Part> {
    let metadata = read_object(of.metadata, Path::Field(&path, "metadata"), problems);
    let content = match of.content {
        Some(proto::Content::Text(text)) => Content::Text(text.into()),
        Some(proto::Content::Raw(bytes)) => Content::Raw(bytes.into()),
        Some(proto::Content::Url(url)) if !url.is_empty() => Content::Url(url.into()),
        Some(proto::Content::Url(_)) => {
            problems.add(Path::Field(&path, "url"), "is empty");
            return None;
        }
        Some(proto::Content::Data(data)) => {
            Content::Data(read_value(data, Path::Field(&path, "data"), problems))
        }
        None => {
            problems.add(path, "has to carry exactly one of `text`, `raw`, `url` and `data`");
            return None;
        }
    };
    let meta = PartMeta { media_type: filled(of.media_type), filename: filled(of.filename), metadata };
    Some(Part { content, meta: boxed(meta) })
}

/// A webhook; the task is that of the request, if it names one.
fn push_config(of: proto::TaskPushNotificationConfig, path: Path<'_>, problems: &mut Problems) -> PushConfig {
    let url = required(of.url, Path::Field(&path, "url"), problems);
    let at = Path::Field(&path, "authentication");
    let authentication = of.authentication.map(|it| Authentication {
        scheme: required(it.scheme, Path::Field(&at, "scheme"), problems),
        credentials: filled(it.credentials),
    });
    PushConfig {
        id: of.id.into(),
        task: of.task_id.into(),
        url,
        token: filled(of.token),
        authentication,
        dialect: Dialect::V1,
    }
}
