//! What the verbs of a live session give back.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{Interruption, Part, QueuedAction, SessionKey};

/// What a session is at.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Activity {
    /// Nothing runs.
    #[default]
    Idle,
    /// A turn runs.
    Running {
        /// The turn.
        turn: Arc<str>,
    },
    /// A person holds the session.
    Paused {
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<Arc<str>>,
        /// The turn that is held in its course, if one is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turn: Option<Arc<str>>,
    },
}

/// A question that waits for a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitingQuestion {
    /// The turn that waits, which an answer names.
    pub turn: Arc<str>,
    /// The question.
    pub question: Interruption,
}

/// A session as a whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionView {
    /// Its key; the session in it is the id as callers say it.
    pub key: SessionKey,
    /// What it is at.
    pub activity: Activity,
    /// How many items wait.
    pub queued: usize,
    /// The revision of the queue.
    pub revision: u64,
    /// How many messages the history has.
    pub messages: usize,
    /// The questions that wait, first asked first.
    pub questions: Vec<WaitingQuestion>,
}

/// One item of the queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QueuedItem {
    /// Its id: the turn that it will be.
    pub item: Arc<str>,
    /// What is said.
    pub parts: Vec<Part>,
    /// What becomes of it.
    pub action: QueuedAction,
    /// Who put it there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Arc<str>>,
}

/// The queue at one revision.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct QueueView {
    /// What a change has to name.
    pub revision: u64,
    /// The items, next first.
    pub items: Vec<QueuedItem>,
}

/// One part of the context of the next model call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextPart {
    /// What it is: `system`, `tools`, `history`, `turn`.
    pub name: Arc<str>,
    /// How many messages, or tools.
    pub count: usize,
    /// Characters of text.
    pub chars: usize,
    /// Tokens, estimated at four characters each.
    pub tokens: u64,
}

/// What fills the context of the next model call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextView {
    /// Its parts, in the order in which the model sees them.
    pub parts: Vec<ContextPart>,
    /// Their tokens together, estimated.
    pub tokens: u64,
    /// The messages of the history that the model no longer sees.
    pub left_out: usize,
}

/// A snapshot of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckpointView {
    /// Its label, unique in the session.
    pub label: Arc<str>,
    /// How many messages it holds.
    pub messages: usize,
    /// How many questions wait in it.
    pub questions: usize,
}

/// What a verb gives back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "reply", rename_all = "snake_case")]
pub enum ControlReply {
    /// It is done; the queue is at this revision.
    Done {
        /// The revision after it.
        revision: u64,
    },
    /// Something was said, and is this turn, or joins the running one.
    Accepted {
        /// The turn, or the item.
        turn: Arc<str>,
        /// The revision after it.
        revision: u64,
    },
    /// Whether a turn ran and is stopped.
    Cancelled {
        /// The turn that was stopped.
        turn: Option<Arc<str>>,
    },
    /// How many messages were taken out of the history.
    Discarded {
        /// So many.
        messages: usize,
    },
    /// The session.
    Session(SessionView),
    /// The queue.
    Queue(QueueView),
    /// The context.
    Context(ContextView),
    /// The snapshot that was made or returned to.
    Checkpoint(CheckpointView),
    /// Every snapshot.
    Checkpoints {
        /// Oldest first.
        checkpoints: Vec<CheckpointView>,
    },
    /// The other session.
    Forked {
        /// Its key.
        session: SessionKey,
    },
}
