//! What an agent elsewhere answered.

use std::sync::Arc;

use mas_contracts::{Artifact, Task, TaskMessage, TaskStatus};
use serde_json::Value;

use crate::{
    model::{ArtifactUpdate, Listing, SendReply, StatusUpdate, StreamItem, TaskView},
    v1,
};

/// What a message led to.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// A task.
    Task(Arc<Task>),
    /// A message without a task.
    Message(Arc<TaskMessage>),
}

impl Answer {
    /// As v1.0 writes it: an object with `task` or `message`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let reply = match self {
            Self::Task(task) => SendReply::Task(TaskView::whole(task.clone())),
            Self::Message(message) => SendReply::Message(message.clone()),
        };
        json(&reply)
    }
}

impl From<SendReply> for Answer {
    fn from(reply: SendReply) -> Self {
        match reply {
            SendReply::Task(view) => Self::Task(view.task),
            SendReply::Message(message) => Self::Message(message),
        }
    }
}

/// What a stream told.
#[derive(Clone, Debug, PartialEq)]
pub enum Update {
    /// The task as it is.
    Task(Arc<Task>),
    /// A message without a task.
    Message(Arc<TaskMessage>),
    /// A new status.
    Status {
        /// The task.
        task: Arc<str>,
        /// The conversation.
        context: Arc<str>,
        /// The status.
        status: TaskStatus,
        /// Whether the agent says that the stream ends with it.
        last: bool,
    },
    /// An artifact or a piece of one.
    Artifact {
        /// The task.
        task: Arc<str>,
        /// The conversation.
        context: Arc<str>,
        /// The artifact.
        artifact: Arc<Artifact>,
        /// Whether it continues the artifact of the same id.
        append: bool,
        /// Whether the artifact is complete.
        last_chunk: bool,
    },
}

impl Update {
    /// As v1.0 writes it: an object with `task`, `message`, `statusUpdate` or `artifactUpdate`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let item = match self.clone() {
            Self::Task(task) => StreamItem::Task(TaskView::whole(task)),
            Self::Message(message) => StreamItem::Message(message),
            Self::Status { task, context, status, last } => {
                StreamItem::Status(StatusUpdate { task, context, status, last })
            }
            Self::Artifact { task, context, artifact, append, last_chunk } => {
                StreamItem::Artifact(ArtifactUpdate { task, context, artifact, append, last_chunk })
            }
        };
        json(&item)
    }
}

impl From<StreamItem> for Update {
    fn from(item: StreamItem) -> Self {
        match item {
            StreamItem::Task(view) => Self::Task(view.task),
            StreamItem::Message(message) => Self::Message(message),
            StreamItem::Status(StatusUpdate { task, context, status, last }) => {
                Self::Status { task, context, status, last }
            }
            StreamItem::Artifact(ArtifactUpdate { task, context, artifact, append, last_chunk }) => {
                Self::Artifact { task, context, artifact, append, last_chunk }
            }
        }
    }
}

/// A page of tasks.
#[derive(Clone, Debug, PartialEq)]
pub struct Page {
    /// The tasks, newest first.
    pub tasks: Vec<Arc<Task>>,
    /// What gives the next page; empty on the last.
    pub next: String,
    /// How many there are on all pages.
    pub total: usize,
    json: Value,
}

impl Page {
    /// As v1.0 writes it.
    #[must_use]
    pub fn to_json(&self) -> &Value {
        &self.json
    }
}

impl From<Listing> for Page {
    fn from(listing: Listing) -> Self {
        let json = json(&listing);
        Self {
            tasks: listing.tasks.into_iter().map(|view| view.task).collect(),
            next: listing.next_page_token,
            total: listing.total_size,
            json,
        }
    }
}

fn json<T: v1::Write>(it: &T) -> Value {
    serde_json::to_value(v1::Shown(it)).unwrap_or_default()
}
