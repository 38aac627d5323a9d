//! The state of one session.

use std::{
    collections::VecDeque,
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use mas_contracts::{Message, Reply, Result, SessionKey, StoreContract, Tree};
use tokio::sync::{Notify, OnceCell};

use super::{Paused, admission::Entry, restore::history_of};
use crate::session::Feed;

/// Most messages that a session keeps; beyond it the oldest turns go.
const KEPT_MESSAGES: usize = 10_000;
/// How many turns a session remembers, more than can wait at once, to answer a repeated message id.
const REMEMBERED_TURNS: usize = 96;

/// A conversation of one owner with one agent.
pub struct Session {
    pub(super) key: SessionKey,
    pub(super) state: Mutex<State>,
    restored: OnceCell<()>,
    used: AtomicU64,
}

#[derive(Default)]
pub(super) struct State {
    pub(super) history: Arc<Vec<Arc<Message>>>,
    pub(super) paused: Option<Box<Paused>>,
    pub(super) running: Option<Running>,
    pub(super) queue: VecDeque<Entry>,
    pub(super) recent: VecDeque<(Arc<str>, Arc<TurnSlot>)>,
    pub(super) revision: u64,
    /// The revision at which the open question was asked.
    pub(super) paused_at: u64,
}

/// The turn that runs.
pub(super) struct Running {
    pub(super) turn: Arc<str>,
    pub(super) tree: Arc<Tree>,
    pub(super) feed: Option<Arc<Feed>>,
}

/// What a turn leaves in its session.
#[derive(Debug, Default)]
pub(crate) struct Commit {
    /// The messages that it adds; every call among them has its result.
    pub(crate) messages: Vec<Arc<Message>>,
    /// What waits for a person.
    pub(crate) paused: Option<Box<Paused>>,
}

impl Session {
    pub(super) fn new(key: SessionKey) -> Self {
        Self { key, state: Mutex::default(), restored: OnceCell::new(), used: AtomicU64::new(0) }
    }

    /// The session's key.
    #[must_use]
    pub fn key(&self) -> &SessionKey {
        &self.key
    }

    /// The committed messages, oldest first. A running turn's are not among them.
    #[must_use]
    pub fn history(&self) -> Arc<Vec<Arc<Message>>> {
        self.lock().history.clone()
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn touch(&self, tick: u64) {
        self.used.store(tick, Relaxed);
    }

    pub(super) fn used(&self) -> u64 {
        self.used.load(Relaxed)
    }

    /// Whether nothing runs or queues. A question that nobody answers does not keep a session for ever.
    pub(super) fn is_idle(&self) -> bool {
        let state = self.lock();
        state.running.is_none() && state.queue.is_empty()
    }

    /// Rebuilds the history from the store, once.
    ///
    /// # Errors
    /// Why the log cannot be read; a later call tries again.
    pub(crate) async fn restore(&self, store: &dyn StoreContract) -> Result<()> {
        self.restored
            .get_or_try_init(|| async {
                let history = history_of(store.load(&self.key).await?);
                let mut state = self.lock();
                if state.history.is_empty() {
                    state.history = Arc::new(history);
                }
                Ok(())
            })
            .await
            .copied()
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("key", &self.key).finish_non_exhaustive()
    }
}

impl State {
    pub(super) fn apply(&mut self, commit: Commit) {
        self.revision += 1;
        if let Some(paused) = commit.paused {
            self.paused = Some(paused);
            self.paused_at = self.revision;
        }
        if commit.messages.is_empty() {
            return;
        }
        let history = Arc::make_mut(&mut self.history);
        if history.is_empty() {
            *history = commit.messages;
        } else {
            history.extend(commit.messages);
        }
        if history.len() > KEPT_MESSAGES {
            let over = history.len() - KEPT_MESSAGES;
            let is_user = |message: &Arc<Message>| matches!(**message, Message::User { .. });
            let whole_turns =
                history.iter().skip(over).position(is_user).map_or(history.len(), |at| over + at);
            history.drain(..whole_turns);
        }
    }

    pub(super) fn remember(&mut self, turn: Arc<str>, slot: Arc<TurnSlot>) {
        if self.recent.len() >= REMEMBERED_TURNS {
            self.recent.pop_front();
        }
        self.recent.push_back((turn, slot));
    }
}

/// Where the reply of a turn is left for those who wait for it.
#[derive(Debug, Default)]
pub(crate) struct TurnSlot {
    reply: OnceLock<Result<Reply>>,
    done: Notify,
}

impl TurnSlot {
    /// Leaves the reply; the first one stays, and no other is made.
    pub(crate) fn set(&self, reply: impl FnOnce() -> Result<Reply>) {
        let mut first = false;
        self.reply.get_or_init(|| {
            first = true;
            reply()
        });
        if first {
            self.done.notify_waiters();
        }
    }

    /// Waits for the reply.
    pub(crate) async fn get(&self) -> Result<Reply> {
        loop {
            let done = self.done.notified();
            tokio::pin!(done);
            done.as_mut().enable();
            if let Some(reply) = self.reply.get() {
                return reply.clone();
            }
            done.await;
        }
    }
}
