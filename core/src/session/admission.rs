//! Admission: first come, first served, one turn at a time.

use std::sync::Arc;

use mas_contracts::{
    CallContext, CancelReason, Error, ErrorKind, EventStream, Message, Part, Reply, Result, Tree,
};
use tokio::sync::oneshot;

use super::{
    Commit, Feed, Paused, Session, TurnSlot, close_calls,
    state::{Running, State},
};

/// Most turns that wait in one session.
const QUEUED_TURNS: usize = 64;

/// A turn that waits.
pub(super) struct Entry {
    turn: Arc<str>,
    parts: Vec<Part>,
    tree: Arc<Tree>,
    feed: Option<Arc<Feed>>,
    grant: oneshot::Sender<Vec<Part>>,
}

/// A turn that waits, for listings.
#[derive(Clone, Debug, PartialEq)]
pub struct QueuedTurn {
    /// The turn.
    pub turn: Arc<str>,
    /// What is said.
    pub parts: Vec<Part>,
}

/// What became of a turn that came in.
pub(crate) enum Admission {
    /// Its id was seen before; this is where its reply is, or will be.
    Known(Arc<TurnSlot>),
    /// It runs now or waits.
    New(Admitted),
}

/// A turn's place in its session. Dropping it frees the place and lets the next turn run.
pub(crate) struct Admitted {
    session: Arc<Session>,
    turn: Arc<str>,
    slot: Option<Arc<TurnSlot>>,
    parts: Vec<Part>,
    wait: Option<oneshot::Receiver<Vec<Part>>>,
    /// The revision at which it came in.
    since: u64,
    released: bool,
}

impl Session {
    /// Lets a turn in. With `remember`, an id seen before is answered from memory, and this one is kept.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`] when too many turns wait.
    pub(crate) fn admit(
        self: &Arc<Self>,
        turn: Arc<str>,
        parts: Vec<Part>,
        tree: &Arc<Tree>,
        feed: Option<&Arc<Feed>>,
        remember: bool,
    ) -> Result<Admission> {
        let mut state = self.lock();
        if remember && let Some((_, slot)) = state.recent.iter().find(|(known, _)| *known == turn) {
            return Ok(Admission::Known(slot.clone()));
        }
        if state.queue.len() >= QUEUED_TURNS {
            return Err(Error::new(
                ErrorKind::Limit,
                format!("session `{}` has {QUEUED_TURNS} turns waiting already", self.key.session),
            )
            .with_code("mas::session::queue_full"));
        }
        let since = state.revision;
        let slot = remember.then(Arc::<TurnSlot>::default);
        if let Some(slot) = &slot {
            state.remember(turn.clone(), slot.clone());
        }
        let (parts, wait) = if state.running.is_none() {
            state.running = Some(Running { turn: turn.clone(), tree: tree.clone(), feed: feed.cloned() });
            (parts, None)
        } else {
            let (grant, wait) = oneshot::channel();
            let entry = Entry { turn: turn.clone(), parts, tree: tree.clone(), feed: feed.cloned(), grant };
            state.queue.push_back(entry);
            state.revision += 1;
            (Vec::new(), Some(wait))
        };
        drop(state);
        Ok(Admission::New(Admitted {
            session: self.clone(),
            turn,
            slot,
            parts,
            wait,
            since,
            released: false,
        }))
    }

    /// Stops a turn that runs or waits. Returns whether there was one.
    pub fn cancel(&self, turn: &str, reason: CancelReason) -> bool {
        let mut state = self.lock();
        if let Some(running) = state.running.as_ref().filter(|running| &*running.turn == turn) {
            running.tree.cancel().cancel(reason);
            return true;
        }
        let Some(at) = state.queue.iter().position(|entry| &*entry.turn == turn) else { return false };
        state.revision += 1;
        // Its grant goes with it, which is how the waiting turn learns of it.
        if let Some(entry) = state.queue.remove(at) {
            entry.tree.cancel().cancel(reason);
        }
        true
    }

    /// Stops whatever runs or waits here.
    pub fn cancel_all(&self, reason: CancelReason) {
        let mut state = self.lock();
        for entry in state.queue.drain(..) {
            entry.tree.cancel().cancel(reason);
        }
        if let Some(running) = &state.running {
            running.tree.cancel().cancel(reason);
        }
    }

    /// The events of a turn that runs or waits.
    pub(crate) fn subscribe(&self, turn: &str, after: u64) -> Option<EventStream> {
        let state = self.lock();
        let running = state.running.iter().map(|running| (&running.turn, &running.feed));
        let waiting = state.queue.iter().map(|entry| (&entry.turn, &entry.feed));
        let (_, feed) = running.chain(waiting).find(|(id, _)| &***id == turn)?;
        feed.as_ref()?.subscribe(after)
    }

    /// The turns that wait, next first, and the revision that a change of them must name.
    #[must_use]
    pub fn queue(&self) -> (u64, Vec<QueuedTurn>) {
        let state = self.lock();
        let queue = state.queue.iter();
        (state.revision, queue.map(|e| QueuedTurn { turn: e.turn.clone(), parts: e.parts.clone() }).collect())
    }

    /// Replaces what a waiting turn says.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] when the queue is no longer at `revision`; [`ErrorKind::NotFound`] when the turn
    /// does not wait.
    pub fn change(&self, revision: u64, turn: &str, parts: Vec<Part>) -> Result<u64> {
        self.edit(revision, turn, |state, at| {
            if let Some(entry) = state.queue.get_mut(at) {
                entry.parts = parts;
            }
        })
    }

    /// Moves a waiting turn to another place, 0 being next.
    ///
    /// # Errors
    /// As [`Session::change`].
    pub fn reorder(&self, revision: u64, turn: &str, to: usize) -> Result<u64> {
        self.edit(revision, turn, |state, at| {
            if let Some(entry) = state.queue.remove(at) {
                let to = to.min(state.queue.len());
                state.queue.insert(to, entry);
            }
        })
    }

    fn edit(&self, revision: u64, turn: &str, edit: impl FnOnce(&mut State, usize)) -> Result<u64> {
        let mut state = self.lock();
        if state.revision != revision {
            return Err(Error::new(
                ErrorKind::Conflict,
                format!("the queue is at revision {}, not {revision}", state.revision),
            ));
        }
        let Some(at) = state.queue.iter().position(|entry| &*entry.turn == turn) else {
            return Err(Error::new(ErrorKind::NotFound, format!("turn `{turn}` does not wait")));
        };
        edit(&mut state, at);
        state.revision += 1;
        Ok(state.revision)
    }
}

impl Admitted {
    /// Waits for the turn's grant and returns what it says, as it is by then.
    ///
    /// # Errors
    /// When it was taken out of the queue.
    pub(crate) async fn granted(&mut self, tree: &Tree) -> Result<Vec<Part>> {
        let Some(wait) = &mut self.wait else { return Ok(std::mem::take(&mut self.parts)) };
        match wait.await {
            Ok(parts) => {
                self.wait = None;
                Ok(parts)
            }
            Err(_) => Err(CallContext::stopped(tree.cancel().reason().unwrap_or(CancelReason::Requested))),
        }
    }

    /// The committed history, and the paused turn that this one answers, if it does: the one that `task` names;
    /// at the root, without a name, the one whose question was asked before this turn came in.
    ///
    /// A delegated task that answers nothing ends a question that was left open: nobody is there for it any more.
    pub(crate) fn open(
        &self,
        root: bool,
        task: Option<&str>,
    ) -> (Arc<Vec<Arc<Message>>>, Option<Box<Paused>>) {
        let mut state = self.session.lock();
        let answers = state.paused.as_ref().is_some_and(|paused| match task {
            Some(task) => *paused.turn == *task,
            None => root && self.since >= state.paused_at,
        });
        if answers {
            let paused = state.paused.take();
            return (state.history.clone(), paused);
        }
        if !root && let Some(left) = state.paused.take() {
            let mut messages = left.messages;
            close_calls(&mut messages);
            state.apply(Commit { messages, paused: None });
        }
        (state.history.clone(), None)
    }

    /// Where the reply is left for those who wait for it.
    pub(crate) fn slot(&self) -> Option<&Arc<TurnSlot>> {
        self.slot.as_ref()
    }

    /// Commits and frees the place.
    pub(crate) fn commit(&mut self, commit: Commit) {
        self.release(Some(commit));
    }

    /// Leaves the reply for those who wait for it.
    pub(crate) fn leave(&self, reply: &Result<Reply>) {
        if let Some(slot) = &self.slot {
            slot.set(|| reply.clone());
        }
    }

    fn release(&mut self, commit: Option<Commit>) {
        if std::mem::replace(&mut self.released, true) {
            return;
        }
        let mut state = self.session.lock();
        if let Some(commit) = commit {
            state.apply(commit);
        }
        if state.running.as_ref().is_none_or(|running| running.turn != self.turn) {
            state.queue.retain(|entry| entry.turn != self.turn);
            return;
        }
        state.running = None;
        while let Some(Entry { turn, parts, tree, feed, grant }) = state.queue.pop_front() {
            state.running = Some(Running { turn, tree, feed });
            if grant.send(parts).is_ok() {
                return;
            }
            state.running = None;
        }
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        self.release(None);
        if let Some(slot) = &self.slot {
            slot.set(|| Err(CallContext::stopped(CancelReason::Abandoned)));
        }
    }
}
