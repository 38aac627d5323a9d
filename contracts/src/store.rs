//! `store`: an append-only log per session, from which the session is rebuilt.
//!
//! Records are intents and outcomes: `Started` before an effect, `Done` after it. In doubt after a crash, the
//! intent's idempotency says what may run again.

use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::{Error, Interruption, Message, OpDone, OpId, Part, Result, TaskStore};

/// The key of a session.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SessionKey {
    /// Who owns it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Arc<str>>,
    /// The agent.
    pub agent: Arc<str>,
    /// The conversation (A2A contextId).
    pub session: Arc<str>,
}

/// Whether an operation in doubt may run again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Idempotency {
    /// It may: a model call, an idempotent tool.
    Rerun,
    /// Its task is attached to: a delegation.
    Attach,
    /// A person decides.
    Ask,
}

/// What is about to be done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Intent {
    /// A model call.
    Model,
    /// These tool calls, by id.
    Tools(Vec<Arc<str>>),
    /// A delegation to this peer.
    Delegate(Arc<str>),
    /// A question to a person.
    Ask,
    /// Something without effect outside the turn.
    Local,
}

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnStatus {
    /// With an answer.
    Completed,
    /// In failure.
    Failed,
    /// Stopped on purpose.
    Cancelled,
    /// It waits for a person.
    Interrupted,
}

impl TurnStatus {
    /// The word used in JSON and in messages.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Interrupted => "interrupted",
        }
    }
}

/// One entry of a session's log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "snake_case")]
pub enum Record {
    /// A turn began.
    Turn {
        /// The turn.
        turn: Arc<str>,
        /// What was said.
        input: Vec<Part>,
        /// The hash of the blueprint it ran under.
        blueprint: Arc<str>,
    },
    /// An operation is about to begin.
    Started {
        /// The turn.
        turn: Arc<str>,
        /// The operation.
        op: OpId,
        /// What it is.
        intent: Intent,
        /// Whether it may run again.
        idempotency: Idempotency,
    },
    /// An operation is done.
    Done {
        /// The turn.
        turn: Arc<str>,
        /// The operation and its outcome.
        #[serde(flatten)]
        done: OpDone,
    },
    /// A turn ended.
    Ended {
        /// The turn.
        turn: Arc<str>,
        /// How.
        status: TurnStatus,
        /// The messages that it adds to the conversation.
        messages: Vec<Arc<Message>>,
        /// Why it failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<Error>,
        /// What it waits for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        question: Option<Interruption>,
    },
}

/// A store of session logs.
#[async_trait]
pub trait StoreContract: Send + Sync {
    /// Appends to a session's log, all or nothing, in order. Durable when it returns, as far as the store is.
    ///
    /// # Errors
    /// What could not be written.
    async fn append(&self, session: &SessionKey, records: &[Record]) -> Result<()>;

    /// Reads a session's log, oldest first; empty for an unknown session.
    ///
    /// # Errors
    /// What could not be read.
    async fn load(&self, session: &SessionKey) -> Result<Vec<Record>>;

    /// Forgets a session and every conversation below it: those of the same owner whose key is the session's with
    /// `/…` behind it, whichever agent's. An unknown session is no error; what is appended later begins a new log.
    ///
    /// # Errors
    /// What could not be forgotten; some of it may be by then.
    async fn forget(&self, session: &SessionKey) -> Result<()>;

    /// Where the tasks of exposed agents are kept; none in a store that keeps sessions only.
    fn tasks(&self) -> Option<Arc<dyn TaskStore>> {
        None
    }
}

impl SessionKey {
    /// Whether `other` is this session or a conversation below it.
    #[must_use]
    pub fn covers(&self, other: &SessionKey) -> bool {
        let below = other.session.strip_prefix(&*self.session).is_some_and(|rest| rest.starts_with('/'));
        self == other || (self.owner == other.owner && below)
    }
}
