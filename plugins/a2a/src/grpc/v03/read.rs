//! Reads requests of v0.3. Tasks and webhooks have names: `tasks/{id}`, `tasks/{id}/pushNotificationConfigs/{id}`.

use std::sync::Arc;

use mas_contracts::{Content, Part, PartMeta, TaskMessage};
use serde_json::{Map, Value};

use crate::{
    grpc::{
        fields::{boxed, count, filled, present, required, role, shared},
        proto::v03 as proto,
        values::read_object,
    },
    json::{Path, Problems},
    model::{
        Authentication, CancelTask, Dialect, Failure, GetTask, PushConfig, PushKey, SendMessage,
        SubscribeToTask,
    },
    v03::unwrapped,
};

const ROOT: Path<'static> = Path::Root;

/// SendMessage and SendStreamingMessage.
///
/// A history length of 0 is the whole history, as the SDKs of the version have it. A caller waits if it asks to, or
/// configures nothing: on this wire, `blocking` that is not set is false.
///
/// # Errors
/// Every field that is missing or wrong.
pub(crate) fn send(of: proto::SendMessageRequest) -> Result<SendMessage, Failure> {
    let mut problems = Problems::default();
    let path = Path::Field(&ROOT, "request");
    let given = present(of.request, path, &mut problems);
    let message = given.and_then(|given| message(given, path, &mut problems));
    let path = Path::Field(&ROOT, "configuration");
    let return_immediately = of.configuration.as_ref().is_some_and(|it| !it.blocking);
    let configuration = of.configuration.unwrap_or_default();
    let at = Path::Field(&path, "pushNotification");
    let push = configuration.push_notification.map(|push| push_config(push, at, &mut problems));
    let history_length =
        history_length(configuration.history_length, Path::Field(&path, "historyLength"), &mut problems);
    let metadata = read_object(of.metadata, Path::Field(&ROOT, "metadata"), &mut problems);
    problems.made(message, |message| SendMessage {
        message,
        accepted_output_modes: configuration.accepted_output_modes,
        push,
        history_length,
        return_immediately,
        kind: None,
        metadata,
    })
}

/// GetTask.
///
/// # Errors
/// Every field that is missing or wrong.
pub(crate) fn get_task(of: &proto::GetTaskRequest) -> Result<GetTask, Failure> {
    let mut problems = Problems::default();
    let id = task(&of.name, Path::Field(&ROOT, "name"), &mut problems);
    let history_length =
        history_length(of.history_length, Path::Field(&ROOT, "historyLength"), &mut problems);
    problems.none(GetTask { id, history_length })
}

/// CancelTask.
///
/// # Errors
/// Every field that is missing or wrong.
pub(crate) fn cancel(of: &proto::Named) -> Result<CancelTask, Failure> {
    let mut problems = Problems::default();
    let id = task(&of.name, Path::Field(&ROOT, "name"), &mut problems);
    problems.none(CancelTask { id, metadata: Map::new() })
}

/// TaskSubscription; `after` is the last event that the caller has.
///
/// # Errors
/// Every field that is missing or wrong.
pub(crate) fn subscribe(of: &proto::Named, after: Option<u64>) -> Result<SubscribeToTask, Failure> {
    let mut problems = Problems::default();
    let id = task(&of.name, Path::Field(&ROOT, "name"), &mut problems);
    problems.none(SubscribeToTask { id, after })
}

/// CreateTaskPushNotificationConfig. The id is that of the webhook, or `config_id`.
///
/// # Errors
/// Every field that is missing or wrong.
pub(crate) fn create_push(of: proto::CreateTaskPushNotificationConfigRequest) -> Result<PushConfig, Failure> {
    let mut problems = Problems::default();
    let task = task(&of.parent, Path::Field(&ROOT, "parent"), &mut problems);
    let path = Path::Field(&ROOT, "config");
    let at = Path::Field(&path, "pushNotificationConfig");
    let given = of.config.and_then(|config| config.push_notification_config);
    let config = present(given, at, &mut problems).map(|given| push_config(given, at, &mut problems));
    problems.made(config, |config| {
        let id = if config.id.is_empty() { of.config_id.into() } else { config.id };
        PushConfig { id, task, ..config }
    })
}

/// GetTaskPushNotificationConfig and DeleteTaskPushNotificationConfig. To get, the id may be left out; to delete, it
/// may not.
///
/// # Errors
/// Every field that is missing or wrong.
pub(crate) fn push_key(of: &proto::Named, id_required: bool) -> Result<PushKey, Failure> {
    let mut problems = Problems::default();
    let (task, id) = match of.name.split_once("/pushNotificationConfigs") {
        Some((task, id)) => (id_of(task), id.strip_prefix('/').or_else(|| id.is_empty().then_some(""))),
        None => (None, None),
    };
    let id = id.filter(|id| !(id.contains('/') || id_required && id.is_empty()));
    let key = task.zip(id).map(|(task, id)| PushKey { task: task.into(), id: id.into() });
    if key.is_none() {
        problems.add(Path::Field(&ROOT, "name"), "is not `tasks/{id}/pushNotificationConfigs/{id}`");
    }
    problems.made(key, |key| key)
}

/// ListTaskPushNotificationConfig: the task. All webhooks of a task fit on one page, the first.
///
/// # Errors
/// Every field that is missing or wrong.
pub(crate) fn list_push(of: &proto::ListTaskPushNotificationConfigRequest) -> Result<Arc<str>, Failure> {
    let mut problems = Problems::default();
    count(Some(of.page_size), Path::Field(&ROOT, "pageSize"), &mut problems);
    if !of.page_token.is_empty() {
        problems.add(Path::Field(&ROOT, "pageToken"), "is none of this server's");
    }
    let task = task(&of.parent, Path::Field(&ROOT, "parent"), &mut problems);
    problems.none(task)
}

fn history_length(number: i32, path: Path<'_>, problems: &mut Problems) -> Option<u32> {
    count(Some(number), path, problems).filter(|&messages| messages > 0)
}

/// The id in the name of a task.
fn task(name: &str, path: Path<'_>, problems: &mut Problems) -> Arc<str> {
    let id = id_of(name);
    if id.is_none() {
        problems.add(path, "is not `tasks/{id}`");
    }
    id.unwrap_or_default().into()
}

fn id_of(name: &str) -> Option<&str> {
    name.strip_prefix("tasks/").filter(|id| !id.is_empty() && !id.contains('/'))
}

fn message(of: proto::Message, path: Path<'_>, problems: &mut Problems) -> Option<TaskMessage> {
    let id = required(of.message_id, Path::Field(&path, "messageId"), problems).into();
    let from = role(of.role, Path::Field(&path, "role"), problems);
    let list = Path::Field(&path, "content");
    if of.content.is_empty() {
        problems.add(list, "is required");
    }
    let parts = of.content.into_iter().enumerate();
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
        references: Vec::new(),
    })
}

/// A part of a message or an artifact.
pub(super) fn part(of: proto::Part, path: Path<'_>, problems: &mut Problems) -> Option<Part> {
    let mut metadata = read_object(of.metadata, Path::Field(&path, "metadata"), problems);
    match of.part {
        Some(proto::Content::Text(text)) => Some(with(Content::Text(text.into()), metadata)),
        Some(proto::Content::Data(data)) => {
            let path = Path::Field(&path, "data");
            let data = read_object(data.data, Path::Field(&path, "data"), problems);
            let data = unwrapped(data, &mut metadata);
            Some(with(Content::Data(data), metadata))
        }
        Some(proto::Content::File(file)) => {
            let content = match file.file {
                Some(proto::File::WithBytes(bytes)) => Content::Raw(bytes.into()),
                Some(proto::File::WithUri(uri)) => Content::Url(uri.into()),
                None => {
                    let path = Path::Field(&path, "file");
                    problems.add(path, "has to carry exactly one of `fileWithBytes` and `fileWithUri`");
                    return None;
                }
            };
            let meta = PartMeta { media_type: filled(file.mime_type), filename: filled(file.name), metadata };
            Some(Part { content, meta: boxed(meta) })
        }
        None => {
            problems.add(path, "has to carry exactly one of `text`, `file` and `data`");
            None
        }
    }
}

fn with(content: Content, metadata: Map<String, Value>) -> Part {
    Part { content, meta: boxed(PartMeta { metadata, ..PartMeta::default() }) }
}

fn push_config(of: proto::PushNotificationConfig, path: Path<'_>, problems: &mut Problems) -> PushConfig {
    let authentication = of.authentication.and_then(|it| {
        // The later version has one scheme only, and so have the operations.
        let scheme = it.schemes.into_iter().next()?;
        Some(Authentication { scheme, credentials: filled(it.credentials) })
    });
    PushConfig {
        id: of.id.into(),
        task: Arc::from(""),
        url: required(of.url, Path::Field(&path, "url"), problems),
        token: filled(of.token),
        authentication,
        dialect: Dialect::V03,
    }
}
