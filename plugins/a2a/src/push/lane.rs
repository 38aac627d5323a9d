//! The notifications of one webhook, in order, one at a time.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::{Notify, Semaphore};

use super::{outbox::Place, post::Post};
use crate::model::PushConfig;

/// Where a webhook is, and how many are posted to its host at once.
pub(super) struct Target {
    pub(super) config: PushConfig,
    /// The host and the port; what of a URL may be logged.
    pub(super) host: Arc<str>,
    pub(super) gate: Arc<Semaphore>,
}

/// The notifications of one webhook. They outlive its task, and end with it being deleted.
pub(super) struct Lane {
    state: Mutex<State>,
    moved: Notify,
}

struct State {
    target: Arc<Target>,
    waiting: VecDeque<(Post, Place)>,
    /// Whether somebody is at work on it.
    running: bool,
    closed: bool,
    /// Whether the webhook failed, and the next attempt is not yet due.
    pausing: bool,
    /// How many were taken, and how many of those were posted once.
    taken: u64,
    tried: u64,
    /// How many notifications in a row could not be brought.
    failures: u32,
}

/// What became of a notification that was offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// It waits, and somebody is at work.
    Queued,
    /// It waits, and somebody has to be put to work.
    Start,
    /// There is no room for it.
    Full,
    /// The webhook was deleted, or the next notification tells of it too.
    NotNeeded,
}

impl Lane {
    pub(super) fn new(target: Target) -> Self {
        let state = State {
            target: Arc::new(target),
            waiting: VecDeque::new(),
            running: false,
            closed: false,
            pausing: false,
            taken: 0,
            tried: 0,
            failures: 0,
        };
        Self { state: Mutex::new(state), moved: Notify::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where it posts to now.
    pub(super) fn target(&self) -> Arc<Target> {
        self.lock().target.clone()
    }

    /// Posts go elsewhere from now on, also those that wait.
    pub(super) fn redirect(&self, target: Target) {
        self.lock().target = Arc::new(target);
    }

    /// Whether nothing is under way.
    pub(super) fn is_idle(&self) -> bool {
        !self.lock().running
    }

    /// Nothing is posted any more.
    pub(super) fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        let _given_back = std::mem::take(&mut state.waiting);
        drop(state);
        self.moved.notify_waiters();
    }

    /// Takes a notification, if fewer than `most` wait.
    pub(super) fn offer(&self, post: Post, place: Place, most: usize) -> Taken {
        let mut state = self.lock();
        if state.closed {
            return Taken::NotNeeded;
        }
        if state.waiting.len() >= most {
            return Taken::Full;
        }
        state.waiting.push_back((post, place));
        state.taken = state.taken.saturating_add(1);
        if std::mem::replace(&mut state.running, true) { Taken::Queued } else { Taken::Start }
    }

    /// The next notification; nothing at the end of the work.
    pub(super) fn next(&self) -> Option<(Post, Place)> {
        let mut state = self.lock();
        let next = if state.closed { None } else { state.waiting.pop_front() };
        state.running = next.is_some();
        next
    }

    /// Where to post, unless the webhook is deleted by now.
    pub(super) fn open_target(&self) -> Option<Arc<Target>> {
        let state = self.lock();
        (!state.closed).then(|| state.target.clone())
    }

    /// How many notifications in a row could not be brought.
    pub(super) fn failures(&self) -> u32 {
        self.lock().failures
    }

    /// A notification was posted for the first time; `pausing` says whether it will be again.
    pub(super) fn tried(&self, pausing: bool) {
        let mut state = self.lock();
        state.tried = state.tried.saturating_add(1);
        state.pausing = pausing;
        drop(state);
        self.moved.notify_waiters();
    }

    /// The notification has been brought, or its receiver is alive at least.
    pub(super) fn recovered(&self) {
        let mut state = self.lock();
        (state.failures, state.pausing) = (0, false);
    }

    /// A notification could not be brought. After `most` in a row those that wait are given up too; how many.
    pub(super) fn failed(&self, most: u32) -> usize {
        let mut state = self.lock();
        state.pausing = false;
        state.failures = state.failures.saturating_add(1);
        if state.failures < most {
            return 0;
        }
        let given_up = std::mem::take(&mut state.waiting).len();
        state.tried = state.taken;
        drop(state);
        self.moved.notify_waiters();
        given_up
    }

    /// Waits until all that was taken so far was posted once. A webhook that has just failed is not waited for.
    pub(super) async fn posted(&self) {
        let wanted = self.lock().taken;
        loop {
            let moved = self.moved.notified();
            tokio::pin!(moved);
            moved.as_mut().enable();
            {
                let state = self.lock();
                if state.tried >= wanted || state.pausing || state.closed {
                    return;
                }
            }
            moved.await;
        }
    }
}
