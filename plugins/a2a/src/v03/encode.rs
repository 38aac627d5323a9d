//! Writes what v0.3 answers, straight from the types of the operations.

use std::sync::Arc;

use base64::{Engine, engine::general_purpose::STANDARD};
use mas_contracts::{Artifact, Content, Part, PartMeta, TaskMessage, TaskStatus};
use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::{Map, Value};

use super::{decode::WRAPPED, names::Shape};
use crate::{
    model::{ArtifactUpdate, PushConfig, SendReply, StatusUpdate, StreamItem, TaskView},
    moment,
};

/// Something in one of the shapes.
struct Shaped<'a, T: ?Sized>(Shape, &'a T);

/// What is written in two shapes.
trait Write {
    fn write<S: Serializer>(&self, shape: Shape, serializer: S) -> Result<S::Ok, S::Error>;
}

impl<T: Write + ?Sized> Serialize for Shaped<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.1.write(self.0, serializer)
    }
}

/// A task.
pub(crate) struct TaskShown<'a>(pub(crate) Shape, pub(crate) &'a TaskView);

/// What a message led to: bare over JSON-RPC, named over HTTP+JSON.
pub(crate) struct Sent<'a>(pub(crate) Shape, pub(crate) &'a SendReply);

/// What a stream carries: bare over JSON-RPC, named over HTTP+JSON.
pub(crate) struct Event<'a>(pub(crate) Shape, pub(crate) &'a StreamItem);

/// A webhook of a task.
pub(crate) struct PushShown<'a>(pub(crate) Shape, pub(crate) &'a PushConfig);

/// The webhooks of a task: a list over JSON-RPC, an object over HTTP+JSON.
pub(crate) struct Pushes<'a>(pub(crate) Shape, pub(crate) &'a [PushConfig]);

impl Serialize for TaskShown<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Shaped(self.0, self.1).serialize(serializer)
    }
}

impl Serialize for Sent<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.1 {
            SendReply::Task(task) => named("task", self.0, task, serializer),
            SendReply::Message(message) => named("message", self.0, message, serializer),
        }
    }
}

impl Serialize for Event<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.1 {
            StreamItem::Task(task) => named("task", self.0, task, serializer),
            StreamItem::Message(message) => named("message", self.0, message, serializer),
            StreamItem::Status(update) => named("statusUpdate", self.0, update, serializer),
            StreamItem::Artifact(update) => named("artifactUpdate", self.0, update, serializer),
        }
    }
}

impl Serialize for PushShown<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Shaped(self.0, self.1).serialize(serializer)
    }
}

impl Serialize for Pushes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let configs = Shaped(self.0, self.1);
        match self.0 {
            Shape::Rpc => configs.serialize(serializer),
            Shape::Rest => {
                let mut map = serializer.serialize_map(None)?;
                map.serialize_entry("configs", &configs)?;
                map.end()
            }
        }
    }
}

/// A value as it is over JSON-RPC, under a name over HTTP+JSON.
fn named<T: Write, S: Serializer>(
    name: &str,
    shape: Shape,
    it: &T,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match shape {
        Shape::Rpc => it.write(shape, serializer),
        Shape::Rest => {
            let mut map = serializer.serialize_map(Some(1))?;
            map.serialize_entry(name, &Shaped(shape, it))?;
            map.end()
        }
    }
}

impl<T: Write> Write for [T] {
    fn write<S: Serializer>(&self, shape: Shape, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter().map(|element| Shaped(shape, element)))
    }
}

impl<T: Write> Write for Arc<T> {
    fn write<S: Serializer>(&self, shape: Shape, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).write(shape, serializer)
    }
}

/// Begins an object; over JSON-RPC with its kind.
fn object<S: Serializer>(serializer: S, shape: Shape, kind: &str) -> Result<S::SerializeMap, S::Error> {
    let mut map = serializer.serialize_map(None)?;
    if shape == Shape::Rpc {
        map.serialize_entry("kind", kind)?;
    }
    Ok(map)
}

fn metadata<M: SerializeMap>(map: &mut M, metadata: &Map<String, Value>) -> Result<(), M::Error> {
    if metadata.is_empty() { Ok(()) } else { map.serialize_entry("metadata", metadata) }
}

fn texts<M: SerializeMap>(map: &mut M, name: &str, texts: &[Arc<str>]) -> Result<(), M::Error> {
    if texts.is_empty() { Ok(()) } else { map.serialize_entry(name, texts) }
}

fn optional<M: SerializeMap>(map: &mut M, name: &str, text: Option<&str>) -> Result<(), M::Error> {
    text.map_or(Ok(()), |text| map.serialize_entry(name, text))
}

fn parts<M: SerializeMap>(map: &mut M, shape: Shape, name: &str, parts: &[Part]) -> Result<(), M::Error> {
    map.serialize_entry(name, &Shaped(shape, parts))
}

impl Write for TaskView {
    fn write<S: Serializer>(&self, shape: Shape, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = object(serializer, shape, "task")?;
        map.serialize_entry("id", &self.task.id)?;
        map.serialize_entry("contextId", &self.task.context)?;
        map.serialize_entry("status", &Shaped(shape, &self.task.status))?;
        if !self.artifacts().is_empty() {
            let artifacts = Shaped(shape, self.artifacts());
            map.serialize_entry("artifacts", &artifacts)?;
        }
        if !self.history().is_empty() {
            let history = Shaped(shape, self.history());
            map.serialize_entry("history", &history)?;
        }
        metadata(&mut map, &self.task.metadata)?;
        map.end()
    }
}

impl Write for TaskStatus {
    fn write<S: Serializer>(&self, shape: Shape, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("state", shape.state(self.state))?;
        if let Some(message) = &self.message {
            map.serialize_entry("message", &Shaped(shape, message))?;
        }
        map.serialize_entry("timestamp", &moment::format(self.since))?;
        map.end()
    }
}

impl Write for TaskMessage {
    fn write<S: Serializer>(&self, shape: Shape, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = object(serializer, shape, "message")?;
        map.serialize_entry("messageId", &self.id)?;
        map.serialize_entry("role", shape.role(self.from))?;
        parts(&mut map, shape, shape.parts(), &self.parts)?;
        optional(&mut map, "contextId", self.context.as_deref())?;
        optional(&mut map, "taskId", self.task.as_deref())?;
        if shape == Shape::Rpc {
            // Protobuf's message of this version has no such field, and its parsers refuse unknown ones.
            texts(&mut map, "referenceTaskIds", &self.references)?;
        }
        metadata(&mut map, &self.metadata)?;
        texts(&mut map, "extensions", &self.extensions)?;
        map.end()
    }
}

impl Write for Artifact {
    fn write<S: Serializer>(&self, shape: Shape, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("artifactId", &self.id)?;
        optional(&mut map, "name", self.name.as_deref())?;
        optional(&mut map, "description", self.description.as_deref())?;
        parts(&mut map, shape, "parts", &self.parts)?;
        metadata(&mut map, &self.metadata)?;
        texts(&mut map, "extensions", &self.extensions)?;
        map.end()
    }
}

impl Write for StatusUpdate {
    fn write<S: Serializer>(&self, shape: Shape, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = object(serializer, shape, "status-update")?;
        map.serialize_entry("taskId", &self.task)?;
        map.serialize_entry("contextId", &self.context)?;
        map.serialize_entry("status", &Shaped(shape, &self.status))?;
        // Clients stop reading at it, so it also goes with a question that ends the stream.
        map.serialize_entry("final", &self.last)?;
        map.end()
    }
}

impl Write for ArtifactUpdate {
    fn write<S: Serializer>(&self, shape: Shape, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = object(serializer, shape, "artifact-update")?;
        map.serialize_entry("taskId", &self.task)?;
        map.serialize_entry("contextId", &self.context)?;
        map.serialize_entry("artifact", &Shaped(shape, &self.artifact))?;
        map.serialize_entry("append", &self.append)?;
        map.serialize_entry("lastChunk", &self.last_chunk)?;
        map.end()
    }
}

impl Write for Part {
    fn write<S: Serializer>(&self, shape: Shape, serializer: S) -> Result<S::Ok, S::Error> {
        let meta = self.meta.as_deref();
        let kind = match &self.content {
            Content::Text(_) => "text",
            Content::Data(_) => "data",
            Content::Raw(_) | Content::Url(_) => "file",
        };
        let mut map = object(serializer, shape, kind)?;
        let mut wrapped = false;
        match &self.content {
            Content::Text(text) => map.serialize_entry(kind, text)?,
            Content::Data(data) => {
                wrapped = !data.is_object();
                map.serialize_entry(kind, &DataShown { nested: shape == Shape::Rest, wrapped, data })?;
            }
            Content::Raw(_) | Content::Url(_) => {
                map.serialize_entry(kind, &FileShown { shape, content: &self.content, meta })?;
            }
        }
        match meta.map(|meta| &meta.metadata) {
            given if wrapped => {
                let mut all = given.cloned().unwrap_or_default();
                all.insert(WRAPPED.to_owned(), Value::Bool(true));
                metadata(&mut map, &all)?;
            }
            Some(given) => metadata(&mut map, given)?,
            None => {}
        }
        map.end()
    }
}

/// Data. The version has objects only: other values go into one, as the official SDKs do it.
struct DataShown<'a> {
    /// Whether it is the content of another `data`.
    nested: bool,
    /// Whether it is wrapped.
    wrapped: bool,
    data: &'a Value,
}

impl Serialize for DataShown<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (name, inner) = match (self.nested, self.wrapped) {
            (true, wrapped) => ("data", Self { nested: false, wrapped, data: self.data }),
            (false, true) => ("value", Self { nested: false, wrapped: false, data: self.data }),
            (false, false) => return self.data.serialize(serializer),
        };
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry(name, &inner)?;
        map.end()
    }
}

/// A file, by its bytes or by reference.
struct FileShown<'a> {
    shape: Shape,
    content: &'a Content,
    meta: Option<&'a PartMeta>,
}

impl Serialize for FileShown<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (bytes, uri) = match self.shape {
            Shape::Rpc => ("bytes", "uri"),
            Shape::Rest => ("fileWithBytes", "fileWithUri"),
        };
        let mut map = serializer.serialize_map(None)?;
        match self.content {
            Content::Raw(raw) => map.serialize_entry(bytes, &STANDARD.encode(raw))?,
            Content::Url(url) => map.serialize_entry(uri, url)?,
            Content::Text(_) | Content::Data(_) => {}
        }
        if let Some(meta) = self.meta {
            optional(&mut map, "mimeType", meta.media_type.as_deref())?;
            optional(&mut map, "name", meta.filename.as_deref())?;
        }
        map.end()
    }
}

impl Write for PushConfig {
    fn write<S: Serializer>(&self, shape: Shape, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match shape {
            Shape::Rpc => map.serialize_entry("taskId", &self.task)?,
            Shape::Rest => {
                let name = format!("tasks/{}/pushNotificationConfigs/{}", self.task, self.id);
                map.serialize_entry("name", &name)?;
            }
        }
        map.serialize_entry("pushNotificationConfig", &Webhook(self))?;
        map.end()
    }
}

/// A webhook without its task.
struct Webhook<'a>(&'a PushConfig);

impl Serialize for Webhook<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shown<'a> {
            schemes: [&'a str; 1],
            #[serde(skip_serializing_if = "Option::is_none")]
            credentials: Option<&'a str>,
        }
        let config = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("id", &config.id)?;
        map.serialize_entry("url", &config.url)?;
        optional(&mut map, "token", config.token.as_deref())?;
        if let Some(authentication) = &config.authentication {
            let schemes = [authentication.scheme.as_str()];
            let credentials = authentication.credentials.as_deref();
            map.serialize_entry("authentication", &Shown { schemes, credentials })?;
        }
        map.end()
    }
}
