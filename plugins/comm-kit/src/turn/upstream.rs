//! The seam between a turn and the protocol that carries it.

use std::sync::Arc;

use async_trait::async_trait;
use mas_contracts::{Artifact, Result, Task, TaskMessage, TaskStatus};

/// How a message is to be answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ask {
    /// Media types that the caller takes, the best first; empty for any.
    pub output_modes: Vec<String>,
    /// How many of the latest messages of the history to return; the agent's default if absent.
    pub history_length: Option<u32>,
    /// The W3C trace that the message belongs to: the header `traceparent`, or the metadata of gRPC of that name.
    pub traceparent: Option<Arc<str>>,
}

/// What a message led to.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// A task.
    Task(Arc<Task>),
    /// A message without a task.
    Message(Arc<TaskMessage>),
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

/// What came over a stream.
#[derive(Clone, Debug, PartialEq)]
pub enum Heard {
    /// An update.
    Update(Update),
    /// A sign of life that says nothing: a comment, a ping, a piece of an update.
    Alive,
}

/// The updates of a stream, in order.
#[async_trait]
pub trait Updates: Send {
    /// What comes next; none at the end, whether the agent said so or a connection was cut. Safe to drop and call
    /// again: nothing that came is lost.
    ///
    /// # Errors
    /// That the connection broke, or that an update cannot be read.
    async fn next(&mut self) -> Result<Option<Heard>>;
}

/// An agent elsewhere, as a protocol reaches it. Every call is made once, and none has a limit of its own but those of
/// sizes: whoever calls stops waiting.
///
/// Every error states its [`Delivery`](mas_contracts::Delivery): [`NotSent`](mas_contracts::Delivery::NotSent) where
/// no byte of the request went out, [`Rejected`](mas_contracts::Delivery::Rejected) where an answer proves that nothing
/// was executed. What an agent does not offer is [`ErrorKind::Unsupported`](mas_contracts::ErrorKind::Unsupported), a
/// task that it does not know [`ErrorKind::NotFound`](mas_contracts::ErrorKind::NotFound), one that is over already
/// [`ErrorKind::Conflict`](mas_contracts::ErrorKind::Conflict), parameters that it refuses
/// [`ErrorKind::Invalid`](mas_contracts::ErrorKind::Invalid).
#[async_trait]
pub trait Upstream: Send + Sync {
    /// Whether the agent says that it streams.
    fn streams(&self) -> bool;

    /// Sends a message, and waits until its task is over or waits for somebody, as far as the agent does.
    ///
    /// # Errors
    /// Why there is no answer, or why the agent refuses.
    async fn send(&self, message: &Arc<TaskMessage>, ask: &Ask) -> Result<Answer>;

    /// Sends a message, and hears what becomes of it.
    ///
    /// # Errors
    /// Why the stream does not open.
    async fn stream(&self, message: &Arc<TaskMessage>, ask: &Ask) -> Result<Box<dyn Updates>>;

    /// Hears what becomes of a task, from its present state on.
    ///
    /// # Errors
    /// Why the stream does not open.
    async fn subscribe(&self, task: &str) -> Result<Box<dyn Updates>>;

    /// The task as it is.
    ///
    /// # Errors
    /// Why there is no answer, or why the agent refuses.
    async fn get(&self, task: &str, history_length: Option<u32>) -> Result<Arc<Task>>;

    /// Stops a task.
    ///
    /// # Errors
    /// Why there is no answer, or why the agent refuses.
    async fn cancel(&self, task: &str) -> Result<Arc<Task>>;
}
