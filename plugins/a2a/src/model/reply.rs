//! Replies and stream items.

use std::{pin::Pin, sync::Arc};

use futures_core::Stream;
use mas_contracts::{Artifact, Task, TaskMessage, TaskStatus};

/// A task as one caller asked to see it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TaskView {
    /// The task.
    pub(crate) task: Arc<Task>,
    /// How many of the latest messages of its history are shown; all if absent.
    pub(crate) history_length: Option<u32>,
    /// Whether its artifacts are shown.
    pub(crate) artifacts: bool,
}

impl TaskView {
    /// The whole task.
    pub(crate) fn whole(task: Arc<Task>) -> Self {
        Self { task, history_length: None, artifacts: true }
    }

    /// The messages that are shown, oldest first.
    pub(crate) fn history(&self) -> &[Arc<TaskMessage>] {
        let all = self.task.history.as_slice();
        let shown = self.history_length.map_or(all.len(), |most| usize::try_from(most).unwrap_or(usize::MAX));
        all.get(all.len().saturating_sub(shown)..).unwrap_or_default()
    }

    /// The artifacts that are shown.
    pub(crate) fn artifacts(&self) -> &[Arc<Artifact>] {
        if self.artifacts { &self.task.artifacts } else { &[] }
    }
}

/// What a message led to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SendReply {
    Task(TaskView),
    Message(Arc<TaskMessage>),
}

/// A change of a task's status.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StatusUpdate {
    pub(crate) task: Arc<str>,
    pub(crate) context: Arc<str>,
    pub(crate) status: TaskStatus,
    /// Whether the stream ends with it (v0.3 says so on the wire: `final`).
    pub(crate) last: bool,
}

/// An artifact, or a piece of one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ArtifactUpdate {
    pub(crate) task: Arc<str>,
    pub(crate) context: Arc<str>,
    pub(crate) artifact: Arc<Artifact>,
    /// Whether its parts continue the artifact of the same id.
    pub(crate) append: bool,
    /// Whether the artifact is complete.
    pub(crate) last_chunk: bool,
}

/// What a stream carries. A stream is one message, or a task and then updates.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum StreamItem {
    Task(TaskView),
    Message(Arc<TaskMessage>),
    Status(StatusUpdate),
    Artifact(ArtifactUpdate),
}

/// A stream item with its place in the task's events, from 1; a snapshot has the place of the last event in it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Item {
    pub(crate) seq: u64,
    pub(crate) item: StreamItem,
}

/// The items of a stream, in order; it ends where the protocol says so.
pub(crate) type ItemStream = Pin<Box<dyn Stream<Item = Item> + Send>>;

/// A page of tasks.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Listing {
    pub(crate) tasks: Vec<TaskView>,
    /// Empty on the last page.
    pub(crate) next_page_token: String,
    pub(crate) page_size: u32,
    pub(crate) total_size: usize,
}
