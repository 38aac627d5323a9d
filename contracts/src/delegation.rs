//! `delegation`: the surface that a model sees. It decides, and never touches a transport.
//!
//! Rules: [`DelegationContract::bind`] runs once per agent, at wiring. A call that is not the surface's is
//! `None` of [`Surface::plan`]. Core sends what is planned and hands the replies to [`Surface::conclude`], in
//! the order of the plan. A failed delegation is a failure to the model, never a success with error text.

use std::sync::Arc;

use crate::{Part, Problem, Reply, Result, ToolCall, ToolOutput, ToolSpec};

/// An agent that may be delegated to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerCard {
    /// The handle, as `delegates_to` names it.
    pub id: Arc<str>,
    /// What it does; empty if unknown.
    pub description: Arc<str>,
}

/// A task to be sent to a peer.
#[derive(Clone, Debug, PartialEq)]
pub struct Delegation {
    /// The peer's handle.
    pub to: Arc<str>,
    /// The task.
    pub parts: Vec<Part>,
    /// The conversation that the model named (`context_id`), if it did.
    pub thread: Option<Arc<str>>,
}

/// What follows from the replies.
#[derive(Clone, Debug, PartialEq)]
pub enum Conclusion {
    /// The tool call is answered.
    Done(ToolOutput),
    /// More is to be sent first; the replies are handed over again with the new ones after them.
    More(Vec<Delegation>),
    /// The reply is the answer of the whole turn.
    HandOff(Box<Reply>),
}

/// A way of offering peers to a model.
pub trait DelegationContract: Send + Sync {
    /// Binds the peers of one agent.
    ///
    /// # Errors
    /// Every problem: names that cannot be made into tools, collisions.
    fn bind(&self, peers: &[PeerCard]) -> std::result::Result<Arc<dyn Surface>, Vec<Problem>>;
}

/// The delegation tools of one agent.
pub trait Surface: Send + Sync {
    /// The tools, in the order of the peers.
    fn tools(&self) -> &[Arc<ToolSpec>];

    /// What a call asks to be sent; `None` if the tool is not of this surface.
    fn plan(&self, call: &ToolCall) -> Option<Result<Vec<Delegation>>>;

    /// What follows from the replies of the plan.
    fn conclude(&self, call: &ToolCall, replies: &[Result<Reply>]) -> Conclusion;
}
