//! `design_pattern`: the next steps of a turn, as a deterministic machine.
//!
//! A turn is a fold: the pattern asks for operations, core does them and hands back what came of each. The
//! same outcomes in the same order lead to the same steps, so that a turn can be replayed from its record.

use std::{sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Artifact, Audience, Completion, Delegation, End, Error, Message, Part, Reply, ToolCall};

/// Numbers the operations of one turn, from 0, by the pattern.
pub type OpId = u32;

/// What a turn begins with.
#[derive(Clone, Debug)]
pub struct TurnInput {
    /// The turn.
    pub turn: Arc<str>,
    /// What was said.
    pub message: Arc<Message>,
}

/// One call to the model.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelOp {
    /// Whom its text is for: a draft never reaches the reader of the answer.
    pub audience: Audience,
    /// Whether tools are offered.
    pub tools: bool,
    /// Messages added for this call only.
    pub prompt: Vec<Arc<Message>>,
    /// The JSON schema that the text must fit; a text that does not is a failure.
    pub output_schema: Option<Arc<Value>>,
}

/// What a pattern can ask for.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// Call the model; its message joins the turn.
    Model(ModelOp),
    /// Run calls of the last model message, delegations included, side by side; results join the turn in call
    /// order. A hand-off among them ends the turn.
    Tools(Vec<ToolCall>),
    /// Send a task to a peer.
    Delegate(Delegation),
    /// Ask a person; the answer joins the turn.
    Ask(Arc<str>),
    /// Emit a piece of text.
    Say {
        /// Whom it is for.
        audience: Audience,
        /// The piece.
        text: Arc<str>,
    },
    /// Emit an artifact.
    Artifact(Arc<Artifact>),
    /// Wait.
    Wait(Duration),
}

/// What came of an operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// What the model said.
    Model(Arc<Completion>),
    /// The results, in call order.
    Tools(Vec<Arc<Message>>),
    /// The peer's reply.
    Delegated(Box<Reply>),
    /// What the person said.
    Answered(Vec<Part>),
    /// It is done and says nothing.
    Unit,
    /// It failed.
    Failed(Error),
}

/// An operation that is done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpDone {
    /// Which.
    pub op: OpId,
    /// What came of it.
    pub outcome: Outcome,
}

/// The next step.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Do these, side by side; none means: wait for those under way.
    Do(Vec<(OpId, Op)>),
    /// The turn ends with this.
    Finish(Box<Reply>),
    /// The turn fails.
    Fail(Error),
}

impl Step {
    /// One operation.
    #[must_use]
    pub fn one(op: OpId, what: Op) -> Self {
        Self::Do(vec![(op, what)])
    }

    /// A finished answer of one text.
    pub fn answer(text: impl Into<Arc<str>>) -> Self {
        Self::Finish(Box::new(Reply::done(vec![Part::text(text)])))
    }

    /// An end of the turn with these parts.
    #[must_use]
    pub fn end(parts: Vec<Part>, artifacts: Vec<Artifact>, end: End) -> Self {
        Self::Finish(Box::new(Reply { artifacts, end, ..Reply::done(parts) }))
    }
}

/// A pattern of turns.
pub trait PatternContract: Send + Sync {
    /// Begins a turn: the machine and its first step.
    fn begin(&self, input: &TurnInput) -> (Box<dyn Run>, Step);
}

/// The machine of one turn. No clock, no randomness, no I/O.
pub trait Run: Send {
    /// Takes what came of an operation and says what is next.
    fn on(&mut self, done: &OpDone) -> Step;
}
