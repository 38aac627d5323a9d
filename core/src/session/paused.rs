//! A turn that waits for a person: what is needed to replay it to the paused operation.

use std::{collections::VecDeque, sync::Arc};

use mas_contracts::{
    Delegation, Interruption, Message, OpDone, OpId, Reply, Result, Thread, ToolCall, TurnInput,
};

/// A paused turn.
#[derive(Debug)]
pub(crate) struct Paused {
    /// The turn, as an answer names it.
    pub(crate) turn: Arc<str>,
    /// What the turn began with, which its replay begins with too.
    pub(crate) input: TurnInput,
    /// The turn's messages so far, the input first.
    pub(crate) messages: Vec<Arc<Message>>,
    /// The operations that are done, in order.
    pub(crate) done: Vec<OpDone>,
    /// The operations that wait; the next answer is for the first.
    pub(crate) waiting: VecDeque<(OpId, PausedOp)>,
}

impl Paused {
    /// The question that the next answer is for.
    pub(crate) fn question(&self) -> Option<&Interruption> {
        self.waiting.front().and_then(|(_, op)| op.question())
    }
}

/// An operation that waits for a person.
#[derive(Debug)]
pub(crate) enum PausedOp {
    /// The pattern asked.
    Ask(Interruption),
    /// A delegation of the pattern's own waits.
    Delegate(Waiting),
    /// Delegations among these calls wait; the other results are kept.
    Tools {
        /// The calls.
        calls: Vec<ToolCall>,
        /// The results so far, by call.
        results: Vec<Option<Arc<Message>>>,
        /// The calls that wait, by index.
        waiting: VecDeque<(usize, Waiting)>,
    },
}

impl PausedOp {
    fn question(&self) -> Option<&Interruption> {
        match self {
            Self::Ask(question) => Some(question),
            Self::Delegate(waiting) => Some(&waiting.question),
            Self::Tools { waiting, .. } => waiting.front().map(|(_, waiting)| &waiting.question),
        }
    }
}

/// A planned set of delegations of which one waits.
#[derive(Debug)]
pub(crate) struct Waiting {
    /// The plan, with the conversation of each.
    pub(crate) plan: Vec<(Delegation, Thread)>,
    /// The replies, in the order of the plan.
    pub(crate) replies: Vec<Result<Reply>>,
    /// Which of them waits.
    pub(crate) at: usize,
    /// Its question.
    pub(crate) question: Interruption,
}
