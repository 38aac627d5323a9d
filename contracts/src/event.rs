//! Events: what happens while a turn works.

use std::{fmt, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{
    Artifact, CallId, Error, Interruption, Message, Part, Scope, TaskState, ToolCall, ToolOutput, TurnStatus,
    Usage,
};

/// Whom a model's text is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Audience {
    /// The reader of the answer.
    Answer,
    /// Nobody but a trace: drafts, critiques, reasoning.
    Reasoning,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum EventKind {
    /// A turn began.
    TurnStarted {
        /// What it was given.
        input: Arc<Message>,
    },
    /// A turn ended.
    TurnEnded {
        /// How.
        status: TurnStatus,
        /// Why, if it failed.
        error: Option<Error>,
        /// What it spent, its delegations not included.
        usage: Usage,
    },
    /// A model call began.
    ModelStarted {
        /// The model asked for.
        model: Arc<str>,
        /// How many messages were sent.
        messages: usize,
    },
    /// A piece of a model's text, in order.
    TextDelta {
        /// Whom it is for.
        audience: Audience,
        /// The piece.
        text: Arc<str>,
    },
    /// A model call ended.
    ModelEnded {
        /// What it said; nothing if it failed.
        message: Option<Arc<Message>>,
        /// Why it failed.
        error: Option<Error>,
        /// What it spent.
        usage: Usage,
        /// How long it took.
        latency: Duration,
    },
    /// A tool call began.
    ToolStarted {
        /// The call.
        call: Arc<ToolCall>,
    },
    /// A tool call ended.
    ToolEnded {
        /// The id of the call.
        id: Arc<str>,
        /// The tool.
        name: Arc<str>,
        /// What it gave back.
        output: Arc<ToolOutput>,
        /// How long it took.
        latency: Duration,
    },
    /// A delegation began.
    DelegationStarted {
        /// The target agent.
        to: Arc<str>,
        /// Which backend carries it.
        route: Arc<str>,
        /// The id of the tool call that asked for it, if one did.
        tool_call: Option<Arc<str>>,
        /// The task.
        task: Arc<str>,
    },
    /// A delegation ended.
    DelegationEnded {
        /// The target agent.
        to: Arc<str>,
        /// Which backend carried it.
        route: Arc<str>,
        /// The id of the tool call that asked for it, if one did.
        tool_call: Option<Arc<str>>,
        /// How it ended.
        state: TaskState,
        /// Why, if it failed.
        error: Option<Error>,
        /// How long it took.
        latency: Duration,
    },
    /// A remote peer accepted the work as a task; the first event of a call that has one.
    Accepted {
        /// The task, as the peer names it.
        task: Arc<str>,
    },
    /// A remote task changed its state.
    Status {
        /// The state.
        state: TaskState,
        /// Text that came with it.
        text: Option<Arc<str>>,
    },
    /// A piece of an artifact.
    ArtifactChunk {
        /// The artifact, or the piece of it.
        artifact: Arc<Artifact>,
        /// Whether it continues the artifact of the same id.
        append: bool,
        /// Whether the artifact is complete.
        last: bool,
    },
    /// The answer of the turn, whole.
    Answer {
        /// The content.
        parts: Vec<Part>,
    },
    /// The turn waits for a person.
    Question(Interruption),
    /// Something worth knowing that is no part of any answer.
    Notice {
        /// One sentence.
        text: Arc<str>,
    },
    /// A subscriber fell behind and this many events are gone for it.
    Lagged {
        /// How many.
        missed: u64,
    },
}

/// One event, with where it happened.
#[derive(Clone, Debug)]
pub struct Event {
    /// The turn it belongs to: agent, session, depth and path.
    pub scope: Arc<Scope>,
    /// The operation it belongs to, numbered within the tree.
    pub call: CallId,
    /// What happened.
    pub kind: EventKind,
}

/// Takes events. Called in order per call, from any thread; it never blocks and never fails.
pub trait EventSink: Send + Sync + fmt::Debug {
    /// Takes one event.
    fn emit(&self, event: Event);
}

/// A sink that keeps nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoEvents;

impl EventSink for NoEvents {
    fn emit(&self, _event: Event) {}
}
