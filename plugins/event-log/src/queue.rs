//! The bounded queue between `observe` and the writer.

use std::{
    collections::VecDeque,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use mas_contracts::{CallId, Clock, Event, EventKind, Scope};
use tokio::sync::oneshot;

/// From here on, what is chatter is dropped; from twice as many on, everything.
const SOFT_LIMIT: usize = 4096;
const HARD_LIMIT: usize = 8192;

/// An event as it waits: without its scope, so that no sink outlives its turn here.
pub(crate) struct Waiting {
    pub(crate) ts: Duration,
    pub(crate) agent: Arc<str>,
    pub(crate) session: Arc<str>,
    pub(crate) turn: Arc<str>,
    pub(crate) root_turn: Option<Arc<str>>,
    pub(crate) depth: u16,
    pub(crate) call: CallId,
    pub(crate) parent_call: Option<CallId>,
    pub(crate) kind: EventKind,
}

pub(crate) enum Item {
    Event(Box<Waiting>),
    Dropped { ts: Duration, count: u64 },
    Flush(oneshot::Sender<Result<(), String>>),
}

#[derive(Default)]
struct State {
    items: VecDeque<Item>,
    dropped: u64,
    last: Duration,
    busy: bool,
    closed: bool,
    written: bool,
}

#[derive(Default)]
pub(crate) struct Queue {
    state: Mutex<State>,
    filled: Condvar,
    ended: Condvar,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes an event, unless the queue is full.
    pub(crate) fn push(&self, clock: &dyn Clock, event: &Event) {
        if matches!(event.kind, EventKind::TextDelta { .. }) {
            return;
        }
        let limit = if is_chatter(&event.kind) { SOFT_LIMIT } else { HARD_LIMIT };
        let mut state = self.lock();
        let ts = clock.unix_time().max(state.last);
        state.last = ts;
        if state.items.len() >= limit {
            state.dropped = state.dropped.saturating_add(1);
            return;
        }
        if state.dropped > 0 {
            let count = std::mem::take(&mut state.dropped);
            state.items.push_back(Item::Dropped { ts, count });
        }
        state.items.push_back(Item::Event(Box::new(waiting(ts, event))));
        drop(state);
        self.filled.notify_one();
    }

    /// Asks to be told when everything before is in the file.
    pub(crate) fn flush(&self) -> oneshot::Receiver<Result<(), String>> {
        let (done, told) = oneshot::channel();
        self.lock().items.push_back(Item::Flush(done));
        self.filled.notify_one();
        told
    }

    /// Waits for items; `None` once the queue is closed and empty.
    pub(crate) fn take(&self) -> Option<VecDeque<Item>> {
        let mut state = self.lock();
        state.busy = false;
        self.ended.notify_all();
        loop {
            if !state.items.is_empty() {
                state.busy = true;
                return Some(std::mem::take(&mut state.items));
            }
            if state.dropped > 0 {
                let (ts, count) = (state.last, std::mem::take(&mut state.dropped));
                return Some(VecDeque::from([Item::Dropped { ts, count }]));
            }
            if state.closed {
                return None;
            }
            state = self.filled.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits in real time until nothing is under way; blocks.
    pub(crate) fn settle(&self, limit: Duration) {
        let state = self.lock();
        let waited =
            self.ended.wait_timeout_while(state, limit, |state| state.busy || !state.items.is_empty());
        drop(waited);
    }

    /// Says that the writer has ended.
    pub(crate) fn end(&self) {
        self.lock().written = true;
        self.ended.notify_all();
    }

    /// Closes the queue and waits for the writer to end.
    pub(crate) fn close(&self, limit: Duration) {
        let mut state = self.lock();
        state.closed = true;
        self.filled.notify_one();
        let waited = self.ended.wait_timeout_while(state, limit, |state| !state.written);
        drop(waited);
    }
}

fn is_chatter(kind: &EventKind) -> bool {
    matches!(kind, EventKind::ArtifactChunk { .. } | EventKind::Status { .. } | EventKind::Notice { .. })
}

fn waiting(ts: Duration, event: &Event) -> Waiting {
    let scope = &event.scope;
    Waiting {
        ts,
        agent: scope.agent.clone(),
        session: scope.session.clone(),
        turn: scope.turn.clone(),
        root_turn: scope.parent.as_ref().map(root_turn),
        depth: scope.depth,
        call: event.call,
        parent_call: scope.caller,
        kind: event.kind.clone(),
    }
}

fn root_turn(scope: &Arc<Scope>) -> Arc<str> {
    let mut scope = scope;
    while let Some(above) = &scope.parent {
        scope = above;
    }
    scope.turn.clone()
}
