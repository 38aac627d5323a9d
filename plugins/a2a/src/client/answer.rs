//! What an agent elsewhere answered.

use std::sync::Arc;

pub use mas_comm_kit::turn::{Answer, Update};
use mas_contracts::Task;
use serde_json::Value;

use crate::{
    model::{ArtifactUpdate, Listing, SendReply, StatusUpdate, StreamItem, TaskView},
    v1,
};

/// An answer as v1.0 writes it: an object with `task` or `message`.
#[must_use]
pub fn answer_json(answer: &Answer) -> Value {
    let reply = match answer {
        Answer::Task(task) => SendReply::Task(TaskView::whole(task.clone())),
        Answer::Message(message) => SendReply::Message(message.clone()),
    };
    json(&reply)
}

/// An update as v1.0 writes it: an object with `task`, `message`, `statusUpdate` or `artifactUpdate`.
#[must_use]
pub fn update_json(update: &Update) -> Value {
    let item = match update.clone() {
        Update::Task(task) => StreamItem::Task(TaskView::whole(task)),
        Update::Message(message) => StreamItem::Message(message),
        Update::Status { task, context, status, last } => {
            StreamItem::Status(StatusUpdate { task, context, status, last })
        }
        Update::Artifact { task, context, artifact, append, last_chunk } => {
            StreamItem::Artifact(ArtifactUpdate { task, context, artifact, append, last_chunk })
        }
    };
    json(&item)
}

impl From<SendReply> for Answer {
    fn from(reply: SendReply) -> Self {
        match reply {
            SendReply::Task(view) => Self::Task(view.task),
            SendReply::Message(message) => Self::Message(message),
        }
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
