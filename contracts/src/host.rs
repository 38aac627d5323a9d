//! What core gives to `local` and to exposures: run, submit, cancel, subscribe, describe.

use std::{pin::Pin, sync::Arc, time::Duration};

use async_trait::async_trait;
use futures_core::Stream;

use crate::{BoxFuture, CallContext, CancelReason, Event, EventSink, Outbound, Part, Reply, Result};

/// Names a turn.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TurnKey {
    /// Who owns the session; callers of different owners never meet.
    pub owner: Option<Arc<str>>,
    /// The agent.
    pub agent: Arc<str>,
    /// The session.
    pub session: Arc<str>,
    /// The turn.
    pub turn: Arc<str>,
}

/// A root turn to be run.
#[derive(Clone, Debug, Default)]
pub struct TurnRequest {
    /// Who owns the session.
    pub owner: Option<Arc<str>>,
    /// The agent; the entry agent if absent.
    pub agent: Option<Arc<str>>,
    /// The session (A2A contextId); a new one if absent.
    pub session: Option<Arc<str>>,
    /// The turn (A2A messageId); a new id if absent. An id seen before returns its turn and runs nothing.
    pub turn: Option<Arc<str>>,
    /// Whether nobody says it again, so that its reply is not kept for one who does. Default `false`.
    pub unrepeated: bool,
    /// What is said.
    pub parts: Vec<Part>,
    /// The waiting turn that this one answers. Without it, an open question of the session is answered if the
    /// message came after it.
    pub task: Option<Arc<str>>,
    /// The time budget; the host's default if absent.
    pub timeout: Option<Duration>,
    /// Agents above it in other processes, outermost first.
    pub ancestry: Vec<Arc<str>>,
    /// Delegations that led to it in other processes; the length of `ancestry` counts if that is more.
    pub depth: u16,
    /// The W3C trace to continue.
    pub traceparent: Option<Arc<str>>,
}

/// A submitted turn.
pub struct TurnTicket {
    /// Its name.
    pub key: TurnKey,
    /// Its reply. Whether dropping it stops the turn is said where the ticket comes from.
    pub reply: BoxFuture<'static, Result<Reply>>,
}

/// An event with its place in the turn's stream, from 1.
#[derive(Clone, Debug)]
pub struct SequencedEvent {
    /// Its place.
    pub seq: u64,
    /// The event.
    pub event: Event,
}

/// The events of a turn and of everything below it, in order; it ends with the turn.
pub type EventStream = Pin<Box<dyn Stream<Item = SequencedEvent> + Send>>;

/// What a hosted agent is, for cards and listings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentProfile {
    /// The handle.
    pub id: Arc<str>,
    /// Name for a person.
    pub name: Arc<str>,
    /// Version.
    pub version: Arc<str>,
    /// What it does.
    pub description: Arc<str>,
    /// What it is good at, as its manifest lists it.
    pub skills: Vec<SkillProfile>,
    /// Who provides it, if the manifest says so.
    pub provider: Option<ProviderProfile>,
}

/// One skill of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillProfile {
    /// Its id.
    pub id: Arc<str>,
    /// Name for a person.
    pub name: Arc<str>,
    /// What it does; empty if nothing says so.
    pub description: Arc<str>,
}

/// Who provides an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderProfile {
    /// The organization, if named.
    pub organization: Option<Arc<str>>,
    /// Its address, if named.
    pub url: Option<Arc<str>>,
}

/// The agents of this process. Implemented by core; handed to backends and exposures.
#[async_trait]
pub trait AgentHost: Send + Sync {
    /// Runs a delegated turn inline, in the caller's future. It ends by the deadline of `cx` and soon after a
    /// cancel of its tree; dropping the future stops it and leaves its session whole.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) for an unknown agent,
    /// [`ErrorKind::Loop`](crate::ErrorKind::Loop) for one of the caller's own path, or why the turn failed.
    async fn run(&self, cx: &CallContext, to: &str, message: Outbound) -> Result<Reply>;

    /// Starts a root turn as a task of its own; it queues behind the session's running turn. Dropping the ticket
    /// does not stop it.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) for an unknown agent,
    /// [`ErrorKind::Limit`](crate::ErrorKind::Limit) when the session's queue is full.
    fn submit(&self, request: TurnRequest) -> Result<TurnTicket>;

    /// Lets a root turn in, to be run by whoever polls the ticket's reply; it queues behind the session's running
    /// turn. Its events and those of everything below it go to `tap`, in order, the last before the reply is ready.
    /// Dropping the reply stops the turn.
    ///
    /// # Errors
    /// Those of [`AgentHost::submit`].
    fn begin(&self, request: TurnRequest, tap: Arc<dyn EventSink>) -> Result<TurnTicket>;

    /// Stops a turn that runs or waits. Returns whether there was one.
    fn cancel(&self, turn: &TurnKey, reason: CancelReason) -> bool;

    /// The events of a turn after `after` (0 for all that is kept); `None` once the turn has ended.
    fn subscribe(&self, turn: &TurnKey, after: u64) -> Option<EventStream>;

    /// Describes a hosted agent.
    fn describe(&self, agent: &str) -> Option<AgentProfile>;

    /// The hosted agents, entry first.
    fn agents(&self) -> Vec<Arc<str>>;
}
