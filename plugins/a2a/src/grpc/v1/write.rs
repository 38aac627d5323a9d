//! Writes what v1.0 answers.

use mas_contracts::{Artifact, Content, Part, Task, TaskMessage, TaskStatus};
use serde::Deserialize;
use serde_json::Value;

use crate::{
    grpc::{
        fields::{role_number, state_number, text, texts},
        proto::{card::AgentCard, v1 as proto},
        values::{write_object, write_time, write_value},
    },
    model::{Failure, Listing, PushConfig, Reason, SendReply, StreamItem, TaskView},
};

/// What a message led to.
pub(crate) fn sent(of: &SendReply) -> proto::SendMessageResponse {
    let payload = match of {
        SendReply::Task(view) => proto::Sent::Task(task(view)),
        SendReply::Message(it) => proto::Sent::Message(message(it)),
    };
    proto::SendMessageResponse { payload: Some(payload) }
}

/// An item of a stream.
pub(crate) fn event(of: &StreamItem) -> proto::StreamResponse {
    let payload = match of {
        StreamItem::Task(view) => proto::Event::Task(task(view)),
        StreamItem::Message(it) => proto::Event::Message(message(it)),
        StreamItem::Status(update) => proto::Event::StatusUpdate(proto::TaskStatusUpdateEvent {
            task_id: update.task.to_string(),
            context_id: update.context.to_string(),
            status: Some(status(&update.status)),
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

/// A page of tasks.
pub(crate) fn listing(of: &Listing) -> proto::ListTasksResponse {
    proto::ListTasksResponse {
        tasks: of.tasks.iter().map(task).collect(),
        next_page_token: of.next_page_token.clone(),
        page_size: of.page_size.try_into().unwrap_or(i32::MAX),
        total_size: of.total_size.try_into().unwrap_or(i32::MAX),
    }
}

/// A webhook.
pub(crate) fn push_config(of: &PushConfig) -> proto::TaskPushNotificationConfig {
    let authentication = of.authentication.as_ref();
    proto::TaskPushNotificationConfig {
        tenant: String::new(),
        id: of.id.to_string(),
        task_id: of.task.to_string(),
        url: of.url.clone(),
        token: of.token.clone().unwrap_or_default(),
        authentication: authentication.map(|it| proto::AuthenticationInfo {
            scheme: it.scheme.clone(),
            credentials: it.credentials.clone().unwrap_or_default(),
        }),
    }
}

/// The webhooks of a task; all on one page.
pub(crate) fn push_configs(of: &[PushConfig]) -> proto::ListTaskPushNotificationConfigsResponse {
    proto::ListTaskPushNotificationConfigsResponse {
        configs: of.iter().map(push_config).collect(),
        next_page_token: String::new(),
    }
}

/// The card, from its JSON.
///
/// # Errors
/// [`Reason::Internal`] for JSON that is no card.
pub(crate) fn card(of: &Value) -> Result<AgentCard, Failure> {
    AgentCard::deserialize(of).map_err(|error| {
        Failure::new(Reason::Internal, format!("the card cannot be told over gRPC: {error}"))
    })
}

fn status(of: &TaskStatus) -> proto::TaskStatus {
    proto::TaskStatus {
        state: state_number(of.state),
        message: of.message.as_deref().map(message),
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
        parts: of.parts.iter().map(part).collect(),
        metadata: write_object(&of.metadata),
        extensions: texts(&of.extensions),
        reference_task_ids: texts(&of.references),
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
    let content = match &of.content {
        Content::Text(text) => proto::Content::Text(text.to_string()),
        Content::Raw(bytes) => proto::Content::Raw(bytes.to_vec()),
        Content::Url(url) => proto::Content::Url(url.to_string()),
        Content::Data(data) => proto::Content::Data(write_value(data)),
    };
    let meta = of.meta.as_deref();
    proto::Part {
        content: Some(content),
        metadata: meta.and_then(|meta| write_object(&meta.metadata)),
        filename: meta.and_then(|meta| meta.filename.clone()).unwrap_or_default(),
        media_type: meta.and_then(|meta| meta.media_type.clone()).unwrap_or_default(),
    }
}
