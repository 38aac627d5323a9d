//! Reads requests of v0.3.

use std::sync::Arc;

use mas_contracts::{Content, Part, PartMeta, TaskMessage};
use serde_json::{Map, Value};

use super::names::{self, Shape};
use crate::{
    json::{Node, Object, Path, Problems},
    model::{
        Authentication, CancelTask, Dialect, Failure, GetTask, PushConfig, PushKey, SendMessage,
        SubscribeToTask, Violation,
    },
    v1::shared,
};

/// How the official SDKs say that data which is no object was wrapped in one.
pub(super) const WRAPPED: &str = "data_part_compat";

/// Data without the object that an SDK put around it.
pub(crate) fn unwrapped(mut object: Map<String, Value>, metadata: &mut Map<String, Value>) -> Value {
    let wrapped = metadata.get(WRAPPED).and_then(Value::as_bool) == Some(true) && object.len() == 1;
    if wrapped && let Some(inner) = object.swap_remove("value") {
        metadata.swap_remove(WRAPPED);
        return inner;
    }
    Value::Object(object)
}

/// Data that is no object, in one, and the metadata that says so.
pub(crate) fn wrapped(
    data: &Value,
    metadata: Option<&Map<String, Value>>,
) -> (Map<String, Value>, Map<String, Value>) {
    let mut metadata = metadata.cloned().unwrap_or_default();
    metadata.insert(WRAPPED.to_owned(), Value::Bool(true));
    ([("value".to_owned(), data.clone())].into_iter().collect(), metadata)
}

/// `message/send` and `message/stream`.
///
/// A history length of 0 is the whole history, and a caller that does not say `blocking` waits, as the SDKs of the
/// version have it.
///
/// # Errors
/// Every field that is missing or wrong.
pub(crate) fn send(params: Node<'_>, shape: Shape) -> Result<SendMessage, Failure> {
    let mut problems = Problems::default();
    let root = Path::Root;
    let Some(mut object) = Object::of(params, root, &mut problems) else {
        return Err(unreadable(problems));
    };
    let message = match object.value("message").or_else(|| object.value("request")) {
        Some(value) => message(value, Path::Field(&root, "message"), shape, &mut problems),
        None => {
            problems.add(Path::Field(&root, "message"), "is required");
            None
        }
    };
    let metadata = object.map("metadata", &mut problems);
    let mut accepted_output_modes = Vec::new();
    let mut push = None;
    let mut history_length = None;
    let mut return_immediately = false;
    if let Some(value) = object.value("configuration") {
        let path = Path::Field(&root, "configuration");
        if let Some(mut configuration) = Object::of(value, path, &mut problems) {
            accepted_output_modes = configuration
                .texts("acceptedOutputModes", &mut problems)
                .into_iter()
                .map(Into::into)
                .collect();
            history_length =
                configuration.count("historyLength", &mut problems).filter(|&messages| messages > 0);
            return_immediately = configuration.flag("blocking", &mut problems) == Some(false);
            let name = match shape {
                Shape::Rpc => "pushNotificationConfig",
                Shape::Rest => "pushNotification",
            };
            push = configuration
                .value(name)
                .and_then(|value| push_config(value, Path::Field(&path, name), &mut problems));
        }
    }
    match (message, problems.none(())) {
        (Some(message), Ok(())) => Ok(SendMessage {
            message,
            accepted_output_modes,
            push,
            history_length,
            return_immediately,
            kind: None,
            metadata,
        }),
        (_, Err(failure)) => Err(failure),
        (None, Ok(())) => Err(Failure::invalid(vec![Violation::new("message", "is required")])),
    }
}

/// `tasks/get`.
///
/// # Errors
/// Every field that is missing or wrong.
pub(crate) fn get_task(params: Node<'_>) -> Result<GetTask, Failure> {
    read(params, |object, problems| GetTask {
        id: object.required("id", problems).into(),
        history_length: object.count("historyLength", problems).filter(|&messages| messages > 0),
    })
}

/// `tasks/cancel`.
///
/// # Errors
/// Every field that is missing or wrong.
pub(crate) fn cancel(params: Node<'_>) -> Result<CancelTask, Failure> {
    read(params, |object, problems| CancelTask {
        id: object.required("id", problems).into(),
        metadata: object.map("metadata", problems),
    })
}

/// `tasks/resubscribe`; `after` is the last event that the caller has.
///
/// # Errors
/// Every field that is missing or wrong.
pub(crate) fn resubscribe(params: Node<'_>, after: Option<u64>) -> Result<SubscribeToTask, Failure> {
    read(params, |object, problems| SubscribeToTask { id: object.required("id", problems).into(), after })
}

/// `tasks/pushNotificationConfig/set`.
///
/// # Errors
/// Every field that is missing or wrong.
pub(crate) fn set_push(params: Node<'_>) -> Result<PushConfig, Failure> {
    let name = "pushNotificationConfig";
    let config = read(params, |object, problems| {
        let task: Arc<str> = object.required("taskId", problems).into();
        nested(object, name, problems).map(|config| PushConfig { task, ..config })
    })?;
    config.ok_or_else(|| Failure::invalid(vec![Violation::new(name, "is required")]))
}

/// The creation of a webhook over HTTP+JSON: `taskId`, which is in the path, and the config of the task, alone or
/// within the whole request, as the SDKs send it.
///
/// # Errors
/// Every field that is missing or wrong.
pub(crate) fn create_push(params: Node<'_>) -> Result<PushConfig, Failure> {
    let name = "pushNotificationConfig";
    let config = read(params, |object, problems| {
        let task: Arc<str> = object.required("taskId", problems).into();
        let id = object.filled("configId", problems);
        let config = match object.value("config") {
            Some(value) => {
                let path = Path::Field(&Path::Root, "config");
                Object::of(value, path, problems).and_then(|mut config| nested(&mut config, name, problems))
            }
            None => nested(object, name, problems),
        };
        config.map(|config| match id {
            Some(id) if config.id.is_empty() => PushConfig { id: id.into(), task, ..config },
            _ => PushConfig { task, ..config },
        })
    })?;
    config.ok_or_else(|| Failure::invalid(vec![Violation::new(name, "is required")]))
}

/// `tasks/pushNotificationConfig/get` and `/delete`. To get, the id may be left out; to delete, it may not.
///
/// # Errors
/// Every field that is missing or wrong.
pub(crate) fn push_key(params: Node<'_>, id_required: bool) -> Result<PushKey, Failure> {
    let name = "pushNotificationConfigId";
    read(params, |object, problems| PushKey {
        task: object.required("id", problems).into(),
        id: if id_required {
            object.required(name, problems).into()
        } else {
            object.filled(name, problems).unwrap_or_default().into()
        },
    })
}

/// `tasks/pushNotificationConfig/list`: the task.
///
/// # Errors
/// Every field that is missing or wrong.
pub(crate) fn list_push(params: Node<'_>) -> Result<Arc<str>, Failure> {
    read(params, |object, problems| object.required("id", problems).into())
}

fn read<T>(params: Node<'_>, of: impl FnOnce(&mut Object<'_>, &mut Problems) -> T) -> Result<T, Failure> {
    let mut problems = Problems::default();
    let Some(mut object) = Object::of(params, Path::Root, &mut problems) else {
        return Err(unreadable(problems));
    };
    let read = of(&mut object, &mut problems);
    problems.none(read)
}

/// The failure of params that are no object.
fn unreadable(problems: Problems) -> Failure {
    match problems.none(()) {
        Err(failure) => failure,
        Ok(()) => Failure::invalid(Vec::new()),
    }
}

fn message(value: Node<'_>, path: Path<'_>, shape: Shape, problems: &mut Problems) -> Option<TaskMessage> {
    let mut object = Object::of(value, path, problems)?;
    if object.text("kind", problems).is_some_and(|kind| kind != "message") {
        problems.add(Path::Field(&path, "kind"), "is not `message`");
    }
    let id = object.required("messageId", problems);
    let context = object.filled("contextId", problems);
    let task = object.filled("taskId", problems);
    if !object.has("role") {
        problems.add(Path::Field(&path, "role"), "is required");
    }
    let from = object.choice("role", names::role, problems);
    let list = Path::Field(&path, shape.parts());
    let mut parts = Vec::new();
    for (at, value) in object.elements(shape.parts(), problems).into_iter().enumerate() {
        parts.extend(part(value, Path::Index(&list, at), shape, problems));
    }
    Some(TaskMessage {
        id: id.into(),
        from: from?,
        context: context.map(Into::into),
        task: task.map(Into::into),
        parts,
        metadata: object.map("metadata", problems),
        extensions: shared(object.texts("extensions", problems)),
        references: shared(object.texts("referenceTaskIds", problems)),
    })
}

/// A part of a message or an artifact.
pub(crate) fn part(value: Node<'_>, path: Path<'_>, shape: Shape, problems: &mut Problems) -> Option<Part> {
    let mut object = Object::of(value, path, problems)?;
    let kind = object.filled("kind", problems);
    let mut metadata = object.map("metadata", problems);
    let (text, file, data) = (object.has("text"), object.has("file"), object.has("data"));
    match (kind.as_deref(), text, file, data) {
        (None | Some("text"), true, false, false) => {
            let text = object.text("text", problems)?;
            Some(with(Content::Text(text.into()), PartMeta { metadata, ..PartMeta::default() }))
        }
        (None | Some("file"), false, true, false) => {
            let value = object.value("file")?;
            file_part(value, metadata, Path::Field(&path, "file"), shape, problems)
        }
        (None | Some("data"), false, false, true) => {
            let value = object.value("data")?;
            let data = data_of(value, &mut metadata, Path::Field(&path, "data"), shape, problems)?;
            Some(with(Content::Data(data), PartMeta { metadata, ..PartMeta::default() }))
        }
        (Some(kind), ..) if !matches!(kind, "text" | "file" | "data") => {
            problems.add(Path::Field(&path, "kind"), "is not `text`, `file` or `data`");
            None
        }
        (Some(kind), ..) => {
            problems
                .add(path, format!("is of the kind `{kind}` and has to carry `{kind}`, and nothing else"));
            None
        }
        (None, ..) => {
            problems.add(path, "has to carry exactly one of `text`, `file` and `data`");
            None
        }
    }
}

fn with(content: Content, meta: PartMeta) -> Part {
    Part { content, meta: (meta != PartMeta::default()).then(|| Box::new(meta)) }
}

fn file_part(
    value: Node<'_>,
    metadata: Map<String, Value>,
    path: Path<'_>,
    shape: Shape,
    problems: &mut Problems,
) -> Option<Part> {
    let (bytes, uri) = match shape {
        Shape::Rpc => ("bytes", "uri"),
        Shape::Rest => ("fileWithBytes", "fileWithUri"),
    };
    let mut file = Object::of(value, path, problems)?;
    let meta = PartMeta {
        media_type: file.filled("mimeType", problems).map(Into::into),
        filename: file.filled("name", problems).map(Into::into),
        metadata,
    };
    match (file.has(bytes), file.has(uri)) {
        (true, false) => {
            let raw = file.bytes(bytes, problems)?;
            Some(with(Content::Raw(raw.into()), meta))
        }
        (false, true) => {
            let url = file.text(uri, problems)?;
            Some(with(Content::Url(url.into()), meta))
        }
        _ => {
            problems.add(path, format!("has to carry exactly one of `{bytes}` and `{uri}`"));
            None
        }
    }
}

/// Data: an object, doubly wrapped over HTTP+JSON. What the SDKs wrapped is unwrapped.
fn data_of(
    value: Node<'_>,
    metadata: &mut Map<String, Value>,
    path: Path<'_>,
    shape: Shape,
    problems: &mut Problems,
) -> Option<Value> {
    let object = match shape {
        Shape::Rpc => Object::of(value, path, problems)?.into_fields(),
        Shape::Rest => Object::of(value, path, problems)?.map("data", problems),
    };
    Some(unwrapped(object, metadata))
}

fn nested(object: &mut Object<'_>, name: &str, problems: &mut Problems) -> Option<PushConfig> {
    let at = object.path();
    object.value(name).and_then(|value| push_config(value, Path::Field(&at, name), problems))
}

fn push_config(value: Node<'_>, path: Path<'_>, problems: &mut Problems) -> Option<PushConfig> {
    let mut object = Object::of(value, path, problems)?;
    let authentication = object.value("authentication").and_then(|value| {
        let mut object = Object::of(value, Path::Field(&path, "authentication"), problems)?;
        let scheme = object.texts("schemes", problems).into_iter().next()?.into();
        Some(Authentication { scheme, credentials: object.filled("credentials", problems).map(Into::into) })
    });
    Some(PushConfig {
        id: object.filled("id", problems).unwrap_or_default().into(),
        task: Arc::from(""),
        url: object.required("url", problems).into(),
        token: object.filled("token", problems).map(Into::into),
        authentication,
        dialect: Dialect::V03,
    })
}
