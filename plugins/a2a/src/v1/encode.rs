//! Writes what v1.0 answers, straight from the types of the operations.
//!
//! Required fields are always there; others only where they say something (section 5.7).

use std::sync::Arc;

use base64::{display::Base64Display, engine::general_purpose::STANDARD};
use mas_contracts::{Artifact, Content, Part, PartMeta, Task, TaskMessage, TaskStatus};
use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::{Map, Value};

use super::names;
use crate::{
    model::{
        ArtifactUpdate, Authentication, Listing, PushConfig, SendReply, StatusUpdate, StreamItem, TaskView,
    },
    moment,
};

/// Something as v1.0 writes it.
pub(crate) struct Shown<'a, T: ?Sized>(pub(crate) &'a T);

/// What v1.0 writes in its own way.
pub(crate) trait Write {
    /// Writes it.
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error>;
}

impl<T: Write + ?Sized> Serialize for Shown<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.write(serializer)
    }
}

impl<T: Write> Write for Arc<T> {
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).write(serializer)
    }
}

impl Write for SendReply {
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        match self {
            SendReply::Task(task) => map.serialize_entry("task", &Shown(task))?,
            SendReply::Message(message) => map.serialize_entry("message", &Shown(message))?,
        }
        map.end()
    }
}

impl Write for StreamItem {
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        match self {
            StreamItem::Task(task) => map.serialize_entry("task", &Shown(task))?,
            StreamItem::Message(message) => map.serialize_entry("message", &Shown(message))?,
            StreamItem::Status(update) => map.serialize_entry("statusUpdate", &Shown(update))?,
            StreamItem::Artifact(update) => map.serialize_entry("artifactUpdate", &Shown(update))?,
        }
        map.end()
    }
}

impl Write for TaskView {
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let view = self;
        let Task { id, context, status, metadata, .. } = &*view.task;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("id", id)?;
        map.serialize_entry("contextId", context)?;
        map.serialize_entry("status", &Shown(status))?;
        list(&mut map, "artifacts", view.artifacts())?;
        list(&mut map, "history", view.history())?;
        object(&mut map, "metadata", metadata)?;
        map.end()
    }
}

impl Write for TaskStatus {
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let TaskStatus { state, message, since } = self;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("state", names::state_name(*state))?;
        if let Some(message) = message {
            map.serialize_entry("message", &Shown(message))?;
        }
        map.serialize_entry("timestamp", &moment::format(*since))?;
        map.end()
    }
}

impl Write for TaskMessage {
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let TaskMessage { id, from, context, task, parts, metadata, extensions, references } = self;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("messageId", id)?;
        text(&mut map, "contextId", context.as_deref())?;
        text(&mut map, "taskId", task.as_deref())?;
        map.serialize_entry("role", names::role_name(*from))?;
        map.serialize_entry("parts", &Each(parts))?;
        object(&mut map, "metadata", metadata)?;
        texts(&mut map, "extensions", extensions)?;
        texts(&mut map, "referenceTaskIds", references)?;
        map.end()
    }
}

impl Write for Artifact {
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Artifact { id, name, description, parts, metadata, extensions } = self;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("artifactId", id)?;
        text(&mut map, "name", name.as_deref())?;
        text(&mut map, "description", description.as_deref())?;
        map.serialize_entry("parts", &Each(parts))?;
        object(&mut map, "metadata", metadata)?;
        texts(&mut map, "extensions", extensions)?;
        map.end()
    }
}

impl Write for Part {
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match &self.content {
            Content::Text(text) => map.serialize_entry("text", text)?,
            Content::Raw(bytes) => map.serialize_entry("raw", &Base64(bytes))?,
            Content::Url(url) => map.serialize_entry("url", url)?,
            Content::Data(data) => map.serialize_entry("data", data)?,
        }
        if let Some(meta) = &self.meta {
            let PartMeta { media_type, filename, metadata } = &**meta;
            object(&mut map, "metadata", metadata)?;
            text(&mut map, "filename", filename.as_deref())?;
            text(&mut map, "mediaType", media_type.as_deref())?;
        }
        map.end()
    }
}

impl Write for StatusUpdate {
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("taskId", &self.task)?;
        map.serialize_entry("contextId", &self.context)?;
        map.serialize_entry("status", &Shown(&self.status))?;
        map.end()
    }
}

impl Write for ArtifactUpdate {
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let ArtifactUpdate { task, context, artifact, append, last_chunk } = self;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("taskId", task)?;
        map.serialize_entry("contextId", context)?;
        map.serialize_entry("artifact", &Shown(artifact))?;
        map.serialize_entry("append", append)?;
        map.serialize_entry("lastChunk", last_chunk)?;
        map.end()
    }
}

impl Write for Listing {
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Listing { tasks, next_page_token, page_size, total_size } = self;
        let mut map = serializer.serialize_map(Some(4))?;
        map.serialize_entry("tasks", &Each(tasks))?;
        map.serialize_entry("nextPageToken", next_page_token)?;
        map.serialize_entry("pageSize", page_size)?;
        map.serialize_entry("totalSize", total_size)?;
        map.end()
    }
}

impl Write for PushConfig {
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let PushConfig { id, task, url, token, authentication, dialect: _ } = self;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("id", id)?;
        map.serialize_entry("taskId", task)?;
        map.serialize_entry("url", url)?;
        text(&mut map, "token", token.as_deref())?;
        if let Some(authentication) = authentication {
            map.serialize_entry("authentication", &Shown(authentication))?;
        }
        map.end()
    }
}

impl Write for Authentication {
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("scheme", &self.scheme)?;
        text(&mut map, "credentials", self.credentials.as_deref())?;
        map.end()
    }
}

/// The webhooks of a task; all on one page.
impl Write for Vec<PushConfig> {
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("configs", &Each(self))?;
        map.serialize_entry("nextPageToken", "")?;
        map.end()
    }
}

/// The elements of a list.
struct Each<'a, T>(&'a [T]);

impl<T: Write> Serialize for Each<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(Shown))
    }
}

struct Base64<'a>(&'a [u8]);

impl Serialize for Base64<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&Base64Display::new(self.0, &STANDARD))
    }
}

fn text<M: SerializeMap>(map: &mut M, name: &'static str, text: Option<&str>) -> Result<(), M::Error> {
    text.map_or(Ok(()), |text| map.serialize_entry(name, text))
}

fn texts<M: SerializeMap>(map: &mut M, name: &'static str, texts: &[Arc<str>]) -> Result<(), M::Error> {
    if texts.is_empty() { Ok(()) } else { map.serialize_entry(name, texts) }
}

fn object<M: SerializeMap>(map: &mut M, name: &'static str, of: &Map<String, Value>) -> Result<(), M::Error> {
    if of.is_empty() { Ok(()) } else { map.serialize_entry(name, of) }
}

fn list<M: SerializeMap, T: Write>(map: &mut M, name: &'static str, of: &[T]) -> Result<(), M::Error> {
    if of.is_empty() { Ok(()) } else { map.serialize_entry(name, &Each(of)) }
}
