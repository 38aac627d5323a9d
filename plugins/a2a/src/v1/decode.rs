//! Reads requests of v1.0.

use std::{borrow::Cow, sync::Arc};

use mas_contracts::{Content, Part, PartMeta, Speaker, TaskMessage};

use super::names;
use crate::{
    json::{Node, Object, Path, Problems},
    model::{
        Authentication, CancelTask, Dialect, Failure, GetTask, ListTasks, PushConfig, PushKey, ResponseKind,
        SendMessage, SubscribeToTask,
    },
};

/// A request with the tenant that it names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request<T> {
    /// The tenant.
    pub(crate) tenant: Option<Arc<str>>,
    /// What is asked.
    pub(crate) asked: T,
}

/// SendMessage and SendStreamingMessage.
///
/// # Errors
/// Every field that is missing or wrong.
pub(crate) fn send(params: Node<'_>) -> Result<Request<SendMessage>, Failure> {
    read(params, |object, problems| {
        let path = object.path();
        let message = match object.value("message") {
            Some(value) => message(value, Path::Field(&path, "message"), problems),
            None => {
                problems.add(Path::Field(&path, "message"), "is required");
                None
            }
        };
        let mut request = SendMessage {
            message: message.unwrap_or_else(nothing),
            accepted_output_modes: Vec::new(),
            push: None,
            history_length: None,
            return_immediately: false,
            kind: None,
            metadata: object.map("metadata", problems),
        };
        let path = Path::Field(&path, "configuration");
        let configuration = object.value("configuration");
        if let Some(mut object) = configuration.and_then(|value| Object::of(value, path, problems)) {
            let modes = object.texts("acceptedOutputModes", problems);
            request.accepted_output_modes = modes.into_iter().map(Cow::into_owned).collect();
            request.history_length = object.count("historyLength", problems);
            request.return_immediately = object.flag("returnImmediately", problems).unwrap_or_default();
            request.kind =
                object.choice("responseKind", |word| word.ok().and_then(ResponseKind::of), problems);
            let name = "taskPushNotificationConfig";
            request.push = object.value(name).and_then(|value| {
                let mut object = Object::of(value, Path::Field(&path, name), problems)?;
                Some(push_config(&mut object, problems))
            });
        }
        request
    })
}

/// GetTask.
///
/// # Errors
/// Every field that is missing or wrong.
pub(crate) fn get_task(params: Node<'_>) -> Result<Request<GetTask>, Failure> {
    read(params, |object, problems| GetTask {
        id: object.required("id", problems).into(),
        history_length: object.count("historyLength", problems),
    })
}

/// ListTasks.
///
/// # Errors
/// Every field that is wrong.
pub(crate) fn list_tasks(params: Node<'_>) -> Result<Request<ListTasks>, Failure> {
    read(params, |object, problems| ListTasks {
        context: object.filled("contextId", problems).map(Into::into),
        state: object.choice("status", names::state, problems).flatten(),
        since: object.moment("statusTimestampAfter", problems),
        include_artifacts: object.flag("includeArtifacts", problems).unwrap_or_default(),
        history_length: object.count("historyLength", problems),
        page_size: object.int("pageSize", problems).map(Into::into),
        page_token: object.filled("pageToken", problems).map(Cow::into_owned),
    })
}

/// CancelTask.
///
/// # Errors
/// Every field that is missing or wrong.
pub(crate) fn cancel(params: Node<'_>) -> Result<Request<CancelTask>, Failure> {
    read(params, |object, problems| CancelTask {
        id: object.required("id", problems).into(),
        metadata: object.map("metadata", problems),
    })
}

/// SubscribeToTask; `after` is the last event that the caller has.
///
/// # Errors
/// Every field that is missing or wrong.
pub(crate) fn subscribe(params: Node<'_>, after: Option<u64>) -> Result<Request<SubscribeToTask>, Failure> {
    read(params, |object, problems| SubscribeToTask { id: object.required("id", problems).into(), after })
}

/// CreateTaskPushNotificationConfig.
///
/// # Errors
/// Every field that is missing or wrong.
pub(crate) fn create_push(params: Node<'_>) -> Result<Request<PushConfig>, Failure> {
    read(params, |object, problems| {
        let task = object.required("taskId", problems).into();
        PushConfig { task, ..push_config(object, problems) }
    })
}

/// GetTaskPushNotificationConfig and DeleteTaskPushNotificationConfig.
///
/// # Errors
/// Every field that is missing or wrong.
pub(crate) fn push_key(params: Node<'_>) -> Result<Request<PushKey>, Failure> {
    read(params, |object, problems| PushKey {
        task: object.required("taskId", problems).into(),
        id: object.required("id", problems).into(),
    })
}

/// ListTaskPushNotificationConfigs: the task. All webhooks of a task fit on one page, the first.
///
/// # Errors
/// Every field that is missing or wrong.
pub(crate) fn list_push(params: Node<'_>) -> Result<Request<Arc<str>>, Failure> {
    read(params, |object, problems| {
        object.count("pageSize", problems);
        if object.filled("pageToken", problems).is_some() {
            problems.add(Path::Field(&object.path(), "pageToken"), "is none of this server's");
        }
        object.required("taskId", problems).into()
    })
}

/// GetExtendedAgentCard.
///
/// # Errors
/// Every field that is wrong.
pub(crate) fn extended_card(params: Node<'_>) -> Result<Request<()>, Failure> {
    read(params, |_, _| ())
}

fn read<T>(
    params: Node<'_>,
    of: impl FnOnce(&mut Object<'_>, &mut Problems) -> T,
) -> Result<Request<T>, Failure> {
    let mut problems = Problems::default();
    let Some(mut object) = Object::of(params, Path::Root, &mut problems) else {
        return Err(problems.none(()).err().unwrap_or_else(|| Failure::invalid(Vec::new())));
    };
    let tenant = object.filled("tenant", &mut problems).map(Into::into);
    let asked = of(&mut object, &mut problems);
    problems.none(Request { tenant, asked })
}

/// What stands for a message that is wrong, until that is told.
fn nothing() -> TaskMessage {
    TaskMessage {
        id: Arc::from(""),
        from: Speaker::User,
        context: None,
        task: None,
        parts: Vec::new(),
        metadata: serde_json::Map::new(),
        extensions: Vec::new(),
        references: Vec::new(),
    }
}

fn message(value: Node<'_>, path: Path<'_>, problems: &mut Problems) -> Option<TaskMessage> {
    let mut object = Object::of(value, path, problems)?;
    let id = object.required("messageId", problems).into();
    if !object.has("role") {
        problems.add(Path::Field(&path, "role"), "is required");
    }
    let from = object.choice("role", names::role, problems);
    let context = object.filled("contextId", problems).map(Into::into);
    let task = object.filled("taskId", problems).map(Into::into);
    let list = Path::Field(&path, "parts");
    let elements = object.elements("parts", problems);
    let mut parts = Vec::with_capacity(elements.len());
    for (at, value) in elements.into_iter().enumerate() {
        parts.extend(part(value, Path::Index(&list, at), problems));
    }
    Some(TaskMessage {
        id,
        from: from?,
        context,
        task,
        parts,
        metadata: object.map("metadata", problems),
        extensions: shared(object.texts("extensions", problems)),
        references: shared(object.texts("referenceTaskIds", problems)),
    })
}

/// Texts that are shared from now on.
pub(crate) fn shared(texts: Vec<Cow<'_, str>>) -> Vec<Arc<str>> {
    texts.into_iter().map(Into::into).collect()
}

/// A part of a message or an artifact.
pub(crate) fn part(value: Node<'_>, path: Path<'_>, problems: &mut Problems) -> Option<Part> {
    let mut object = Object::of(value, path, problems)?;
    // `data` may be any JSON, `null` too.
    let data = object.raw("data");
    let there = [object.has("text"), object.has("raw"), object.has("url"), data.is_some()];
    let content = match there {
        [true, false, false, false] => object.text("text", problems).map(|text| Content::Text(text.into())),
        [false, true, false, false] => object.bytes("raw", problems).map(|raw| Content::Raw(raw.into())),
        [false, false, true, false] => Some(Content::Url(object.required("url", problems).into())),
        [false, false, false, true] => data.map(|data| Content::Data(data.into_value())),
        _ => {
            problems.add(path, "has to carry exactly one of `text`, `raw`, `url` and `data`");
            None
        }
    };
    let meta = PartMeta {
        media_type: object.filled("mediaType", problems).map(Cow::into_owned),
        filename: object.filled("filename", problems).map(Cow::into_owned),
        metadata: object.map("metadata", problems),
    };
    let meta = (meta != PartMeta::default()).then(|| Box::new(meta));
    content.map(|content| Part { content, meta })
}

/// A webhook; the task is that of the request, if it names one.
fn push_config(object: &mut Object<'_>, problems: &mut Problems) -> PushConfig {
    let path = object.path();
    let authentication = object.value("authentication").and_then(|value| {
        let mut object = Object::of(value, Path::Field(&path, "authentication"), problems)?;
        Some(Authentication {
            scheme: object.required("scheme", problems).into_owned(),
            credentials: object.filled("credentials", problems).map(Cow::into_owned),
        })
    });
    PushConfig {
        id: object.filled("id", problems).unwrap_or_default().into(),
        task: object.filled("taskId", problems).unwrap_or_default().into(),
        url: object.required("url", problems).into_owned(),
        token: object.filled("token", problems).map(Cow::into_owned),
        authentication,
        dialect: Dialect::V1,
    }
}
