//! Tasks as an exposure shows them to the world (A2A v1.0, `Task`), and where they are kept.
//!
//! A task is what became of one or more messages of a caller: its state, the messages that told of it, and its
//! artifacts. Sessions are the agent's memory; tasks are the caller's receipts.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Artifact, Part, Result, TaskState};

/// Who said a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Speaker {
    /// The caller.
    User,
    /// The agent.
    Agent,
}

/// One message of a task (A2A v1.0, `Message`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskMessage {
    /// Its id, made by who said it.
    pub id: Arc<str>,
    /// Who said it.
    pub from: Speaker,
    /// The conversation, if it names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Arc<str>>,
    /// The task, if it names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<Arc<str>>,
    /// Its content.
    pub parts: Vec<Part>,
    /// Free metadata, passed through unchanged.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
    /// URIs of the protocol extensions that it makes use of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<Arc<str>>,
    /// Other tasks that it refers to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub references: Vec<Arc<str>>,
}

/// The status of a task (A2A v1.0, `TaskStatus`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskStatus {
    /// The state.
    pub state: TaskState,
    /// What the agent says about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<Arc<TaskMessage>>,
    /// Since when, as time since the Unix epoch.
    pub since: Duration,
}

/// A task. Cheap to share; its messages and artifacts are shared between revisions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// Made by the server, unique.
    pub id: Arc<str>,
    /// Who owns it; callers of different owners never meet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Arc<str>>,
    /// The agent that works on it.
    pub agent: Arc<str>,
    /// The conversation.
    pub context: Arc<str>,
    /// Counts its changes in the store, from 1.
    pub revision: u64,
    /// Its status.
    pub status: TaskStatus,
    /// What was said, oldest first; bounded by who writes it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<Arc<TaskMessage>>,
    /// What came of it, in order of appearance.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<Arc<Artifact>>,
    /// Free metadata.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
}

impl Task {
    /// Whose view it belongs to.
    #[must_use]
    pub fn scope(&self) -> TaskScope {
        TaskScope { owner: self.owner.clone(), agent: self.agent.clone() }
    }
}

/// A view of the tasks: those of one owner at one agent. Nothing outside it is ever shown.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TaskScope {
    /// The owner.
    pub owner: Option<Arc<str>>,
    /// The agent.
    pub agent: Arc<str>,
}

/// A place in the order of a listing: behind this task. Opaque to callers.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TaskCursor {
    /// Since when that task has its state.
    pub since: Duration,
    /// Its id.
    pub id: Arc<str>,
}

/// Which tasks to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskQuery {
    /// Only those of this conversation.
    pub context: Option<Arc<str>>,
    /// Only those in this state.
    pub state: Option<TaskState>,
    /// Only those whose state is from this time or later.
    pub since: Option<Duration>,
    /// Only those behind this place.
    pub after: Option<TaskCursor>,
    /// How many at most.
    pub limit: usize,
}

/// One page of a listing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TaskPage {
    /// The tasks, newest state first, equal times by id, highest first.
    pub tasks: Vec<Arc<Task>>,
    /// Where the next page begins; none on the last.
    pub next: Option<TaskCursor>,
    /// How many tasks match on all pages.
    pub total: usize,
}

/// Keeps tasks.
///
/// Rules: every read is within a [`TaskScope`]; a task of another scope is as one that is not there. A terminal
/// state never changes again. Only tasks in a terminal state may be evicted.
#[async_trait]
pub trait TaskStore: Send + Sync {
    /// Keeps the next revision of a task: the first is new, a later one replaces the one before it.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`](crate::ErrorKind::Conflict) when `task.revision` is not the kept one plus one, or
    /// when the kept one is in a terminal state; [`ErrorKind::Limit`](crate::ErrorKind::Limit) when there is no
    /// room for a new one.
    async fn put(&self, task: Arc<Task>) -> Result<()>;

    /// The task of this id.
    ///
    /// # Errors
    /// What could not be read.
    async fn get(&self, scope: &TaskScope, id: &str) -> Result<Option<Arc<Task>>>;

    /// A page of the tasks that match.
    ///
    /// # Errors
    /// What could not be read.
    async fn list(&self, scope: &TaskScope, query: &TaskQuery) -> Result<TaskPage>;
}
