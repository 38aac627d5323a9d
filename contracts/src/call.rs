//! The context of a call: where it stands, how long it may take, what it may spend.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};

use crate::{
    Audience, Cancel, CancelReason, Clock, Delivery, Error, ErrorKind, Event, EventKind, EventSink, Result,
    Usage,
};

/// An operation within a tree; unique in it, in order of start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CallId(pub u64);

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "c{}", self.0)
    }
}

/// What a whole tree of turns may spend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeLimits {
    /// Model calls; default 200.
    pub model_calls: u64,
    /// Tokens, in and out; default 1,000,000.
    pub tokens: u64,
    /// Deepest delegation; the root is 0; default 4.
    pub depth: u16,
}

impl Default for TreeLimits {
    fn default() -> Self {
        Self { model_calls: 200, tokens: 1_000_000, depth: 4 }
    }
}

/// What a root turn and everything below it share: counters, cancel, clock, ancestry.
#[derive(Debug)]
pub struct Tree {
    limits: TreeLimits,
    model_calls: AtomicU64,
    tokens: AtomicU64,
    calls: AtomicU64,
    cancel: Cancel,
    clock: Arc<dyn Clock>,
    owner: Option<Arc<str>>,
    ancestry: Vec<Arc<str>>,
    traceparent: Option<Arc<str>>,
}

impl Tree {
    /// A fresh tree.
    #[must_use]
    pub fn new(limits: TreeLimits, clock: Arc<dyn Clock>) -> Self {
        Self {
            limits,
            model_calls: AtomicU64::new(0),
            tokens: AtomicU64::new(0),
            calls: AtomicU64::new(0),
            cancel: Cancel::default(),
            clock,
            owner: None,
            ancestry: Vec::new(),
            traceparent: None,
        }
    }

    /// Says who owns the sessions of the tree; those of different owners never meet.
    #[must_use]
    pub fn owned_by(mut self, owner: Option<Arc<str>>) -> Self {
        self.owner = owner;
        self
    }

    /// Names the agents above the root in other processes, outermost first; they count as depth and path.
    #[must_use]
    pub fn below(mut self, ancestry: Vec<Arc<str>>) -> Self {
        self.ancestry = ancestry;
        self
    }

    /// Continues a W3C trace.
    #[must_use]
    pub fn traced(mut self, traceparent: Option<Arc<str>>) -> Self {
        self.traceparent = traceparent;
        self
    }

    /// The limits of the tree.
    #[must_use]
    pub fn limits(&self) -> &TreeLimits {
        &self.limits
    }

    /// The cancel switch of the tree.
    #[must_use]
    pub fn cancel(&self) -> &Cancel {
        &self.cancel
    }

    /// The clock of the tree.
    #[must_use]
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// Who owns the sessions of the tree.
    #[must_use]
    pub fn owner(&self) -> Option<&Arc<str>> {
        self.owner.as_ref()
    }

    /// The agents above the root in other processes, outermost first.
    #[must_use]
    pub fn ancestry(&self) -> &[Arc<str>] {
        &self.ancestry
    }

    /// The W3C trace that the tree continues.
    #[must_use]
    pub fn traceparent(&self) -> Option<&Arc<str>> {
        self.traceparent.as_ref()
    }

    /// Numbers the next operation.
    pub fn next_call(&self) -> CallId {
        CallId(self.calls.fetch_add(1, Relaxed) + 1)
    }

    /// Takes one model call from the budget.
    ///
    /// # Errors
    /// [`ErrorKind::Budget`] when the calls or the tokens are spent.
    pub fn take_model_call(&self) -> Result<()> {
        let spent = self.tokens.load(Relaxed);
        if spent >= self.limits.tokens {
            return Err(Error::new(
                ErrorKind::Budget,
                format!("the budget of {} tokens for this run is spent ({spent} used)", self.limits.tokens),
            )
            .with_code("mas::budget::tokens"));
        }
        if self.model_calls.fetch_add(1, Relaxed) >= self.limits.model_calls {
            self.model_calls.fetch_sub(1, Relaxed);
            return Err(Error::new(
                ErrorKind::Budget,
                format!("the budget of {} model calls for this run is spent", self.limits.model_calls),
            )
            .with_code("mas::budget::model_calls"));
        }
        Ok(())
    }

    /// Counts what a model call or a remote delegation spent.
    pub fn spend(&self, usage: &Usage) {
        self.tokens.fetch_add(usage.tokens(), Relaxed);
    }

    /// What the tree has spent so far.
    #[must_use]
    pub fn spent(&self) -> (u64, u64) {
        (self.model_calls.load(Relaxed), self.tokens.load(Relaxed))
    }
}

/// One turn's place in the tree.
pub struct Scope {
    /// The session.
    pub session: Arc<str>,
    /// The turn.
    pub turn: Arc<str>,
    /// The agent.
    pub agent: Arc<str>,
    /// Delegations above it, those in other processes included.
    pub depth: u16,
    /// The turn that delegated to this one, in this process.
    pub parent: Option<Arc<Scope>>,
    /// The operation of the parent that this turn is.
    pub caller: Option<CallId>,
    /// Where its events go.
    pub sink: Arc<dyn EventSink>,
    /// What the whole tree shares.
    pub tree: Arc<Tree>,
}

impl Scope {
    /// The agents from the outermost to this one.
    #[must_use]
    pub fn path(&self) -> Vec<Arc<str>> {
        let mut path = vec![self.agent.clone()];
        let mut scope = self.parent.as_ref();
        while let Some(above) = scope {
            path.push(above.agent.clone());
            scope = above.parent.as_ref();
        }
        path.extend(self.tree.ancestry().iter().rev().cloned());
        path.reverse();
        path
    }

    /// Whether `agent` is this turn's agent or one above it.
    #[must_use]
    pub fn passes_through(&self, agent: &str) -> bool {
        let mut scope = Some(self);
        while let Some(here) = scope {
            if &*here.agent == agent {
                return true;
            }
            scope = here.parent.as_deref();
        }
        self.tree.ancestry().iter().any(|above| &**above == agent)
    }
}

impl fmt::Debug for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope")
            .field("agent", &self.agent)
            .field("session", &self.session)
            .field("turn", &self.turn)
            .field("depth", &self.depth)
            .finish_non_exhaustive()
    }
}

/// What every call of a contract is given: its scope, its number and its deadline. Cheap to clone.
#[derive(Clone, Debug)]
pub struct CallContext {
    scope: Arc<Scope>,
    call: CallId,
    deadline: Instant,
}

impl CallContext {
    /// The first call of a scope.
    #[must_use]
    pub fn new(scope: Arc<Scope>, deadline: Instant) -> Self {
        let call = scope.tree.next_call();
        Self { scope, call, deadline }
    }

    /// The next operation of the same turn, under the same deadline.
    #[must_use]
    pub fn next_operation(&self) -> Self {
        Self { scope: self.scope.clone(), call: self.scope.tree.next_call(), deadline: self.deadline }
    }

    /// The same call with a deadline that is no later than `limit` from `now`.
    #[must_use]
    pub fn within(mut self, now: Instant, limit: Duration) -> Self {
        if let Some(at) = now.checked_add(limit) {
            self.deadline = self.deadline.min(at);
        }
        self
    }

    /// The turn.
    #[must_use]
    pub fn scope(&self) -> &Arc<Scope> {
        &self.scope
    }

    /// The operation's number.
    #[must_use]
    pub fn call(&self) -> CallId {
        self.call
    }

    /// When the call must have ended. It only shrinks on the way down.
    #[must_use]
    pub fn deadline(&self) -> Instant {
        self.deadline
    }

    /// What is left until the deadline.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        self.deadline.saturating_duration_since(self.clock().now())
    }

    /// The tree's clock.
    #[must_use]
    pub fn clock(&self) -> &dyn Clock {
        &**self.scope.tree.clock()
    }

    /// The tree's cancel switch.
    #[must_use]
    pub fn cancel(&self) -> &Cancel {
        self.scope.tree.cancel()
    }

    /// Emits an event of this call.
    pub fn emit(&self, kind: EventKind) {
        self.scope.sink.emit(Event { scope: self.scope.clone(), call: self.call, kind });
    }

    /// Emits a piece of a model's text.
    pub fn emit_text(&self, audience: Audience, text: impl Into<Arc<str>>) {
        self.emit(EventKind::TextDelta { audience, text: text.into() });
    }

    /// The error of a call that was stopped for `reason` and may have been executed.
    #[must_use]
    pub fn stopped(reason: CancelReason) -> Error {
        let error = match reason {
            CancelReason::Deadline => Error::new(ErrorKind::Timeout, "the time budget of the run is spent"),
            _ => Error::new(ErrorKind::Cancelled, format!("stopped ({})", reason.as_str())),
        };
        error.with_delivery(Delivery::Unknown)
    }
}
