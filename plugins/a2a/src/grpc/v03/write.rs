//! Writes what v0.3 answers.

use mas_contracts::{Artifact, Content, Part, PartMeta, Task, TaskMessage, TaskStatus};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{
    grpc::{
        fields::{role_number, state_number, text, texts},
        proto::{card::OldAgentCard, v03 as proto},
        values::{write_fields, write_object, write_time},
    },
    model::{Failure, PushConfig, Reason, SendReply, StreamItem, TaskView},
    v03::wrapped,
};

/// What a message led to.
pub(crate) fn sent(of: &SendReply) -> proto::SendMessageResponse {
    let payload = match of {
        SendReply::Task(view) => proto::Sent::Task(task(view)),
        SendReply::Message(it) => proto::Sent::Msg(message(it)),
    };
    proto::SendMessageResponse { payload: Some(payload) }
}

/// An item of a stream.
pub(crate) fn event(of: &StreamItem) -> proto::StreamResponse {
    let payload = match of {
        StreamItem::Task(view) => proto::Event::Task(task(view)),
        StreamItem::Message(it) => proto::Event::Msg(message(it)),
        StreamItem::Status(update) => proto::Event::StatusUpdate(proto::TaskStatusUpdateEvent {
            task_id: update.task.to_string(),
            context_id: update.context.to_string(),
            status: Some(status(&update.status)),
            // Clients stop reading at it, so it also goes with a question that ends the stream.
            r#final: update.last,
            metadata: None,
        }),
        StreamItem::Artifact(update) => proto::Event::ArtifactUpdate(proto::TaskArtifactUpdateEvent {
            task_id: update.task.to_string(),
            context_id: update.context.to_string(),
            artifact: Some(artifact(&update.artifact)),
            append: update.append,
            last_chunk: update.last_chunk,
            metadata: None,
        }),
    };
    proto::StreamResponse { payload: Some(payload) }
}

/// A task.
pub(crate) fn task(of: &TaskView) -> proto::Task {
    let Task { id, context, metadata, .. } = &*of.task;
    proto::Task {
        id: id.to_string(),
        context_id: context.to_string(),
        status: Some(status(&of.task.status)),
        artifacts: of.artifacts().iter().map(|it| artifact(it)).collect(),
        history: of.history().iter().map(|it| message(it)).collect(),
        metadata: write_object(metadata),
    }
}

/// A webhook of a task.
pub(crate) fn push_config(of: &PushConfig) -> proto::TaskPushNotificationConfig {
    let authentication = of.authentication.as_ref();
    let config = proto::PushNotificationConfig {
        id: of.id.to_string(),
        url: of.url.clone(),
        token: of.token.clone().unwrap_or_default(),
        authentication: authentication.map(|it| proto::AuthenticationInfo {
            schemes: vec![it.scheme.clone()],
            credentials: it.credentials.clone().unwrap_or_default(),
        }),
    };
    proto::TaskPushNotificationConfig {
        name: format!("tasks/{}/pushNotificationConfigs/{}", of.task, of.id),
        push_notification_config: Some(config),
    }
}

/// The webhooks of a task; all on one page.
pub(crate) fn push_configs(of: &[PushConfig]) -> proto::ListTaskPushNotificationConfigResponse {
    proto::ListTaskPushNotificationConfigResponse {
        configs: of.iter().map(push_config).collect(),
        next_page_token: String::new(),
    }
}

/// The card, from its JSON.
///
/// # Errors
/// [`Reason::Internal`] for JSON that is no card.
pub(crate) fn card(of: &Value) -> Result<OldAgentCard, Failure> {
    OldAgentCard::deserialize(of).map_err(|error| {
        Failure::new(Reason::Internal, format!("the card cannot be told over gRPC: {error}"))
    })
}

fn status(of: &TaskStatus) -> proto::TaskStatus {
    proto::TaskStatus {
        state: state_number(of.state),
        update: of.message.as_deref().map(message),
        timestamp: Some(write_time(of.since)),
    }
}

/// A message.
pub(crate) fn message(of: &TaskMessage) -> proto::Message {
    proto::Message {
        message_id: of.id.to_string(),
        context_id: text(of.context.as_ref()),
        task_id: text(of.task.as_ref()),
        role: role_number(of.from),
        content: of.parts.iter().map(part).collect(),
        metadata: write_object(&of.metadata),
        extensions: texts(&of.extensions),
    }
}

fn artifact(of: &Artifact) -> proto::Artifact {
    proto::Artifact {
        artifact_id: of.id.to_string(),
        name: text(of.name.as_ref()),
        description: text(of.description.as_ref()),
        parts: of.parts.iter().map(part).collect(),
        metadata: write_object(&of.metadata),
        extensions: texts(&of.extensions),
    }
}

fn part(of: &Part) -> proto::Part {
    let meta = of.meta.as_deref();
    let metadata = meta.and_then(|meta| write_object(&meta.metadata));
    let (part, metadata) = match &of.content {
        Content::Text(text) => (proto::Content::Text(text.to_string()), metadata),
        Content::Raw(bytes) => (file(proto::File::WithBytes(bytes.to_vec()), meta), metadata),
        Content::Url(url) => (file(proto::File::WithUri(url.to_string()), meta), metadata),
        Content::Data(Value::Object(object)) => (data(object), metadata),
        Content::Data(other) => {
            let (object, metadata) = wrapped(other, meta.map(|meta| &meta.metadata));
            (data(&object), write_object(&metadata))
        }
    };
    proto::Part { part: Some(part), metadata }
}

fn data(of: &Map<String, Value>) -> proto::Content {
    proto::Content::Data(proto::DataPart { data: Some(write_fields(of)) })
}

fn file(file: proto::File, meta: Option<&PartMeta>) -> proto::Content {
    proto::Content::File(proto::FilePart {
        file: Some(file),
        mime_type: meta.and_then(|meta| meta.media_type.clone()).unwrap_or_default(),
        name: meta.and_then(|meta| meta.filename.clone()).unwrap_or_default(),
    })
}
