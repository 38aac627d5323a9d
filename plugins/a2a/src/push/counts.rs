//! What became of notifications, counted.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Counts since the start.
#[derive(Debug, Default)]
pub(super) struct Counts {
    taken: AtomicUsize,
    brought: AtomicUsize,
    again: AtomicUsize,
    given_up: AtomicUsize,
    dropped: AtomicUsize,
}

/// What became of notifications so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Told {
    /// Those that were put into the queue.
    pub(crate) taken: usize,
    /// Those that a webhook took.
    pub(crate) brought: usize,
    /// Attempts beyond the first.
    pub(crate) again: usize,
    /// Those that were posted, but not taken.
    pub(crate) given_up: usize,
    /// Those that were not posted, for want of room or of time.
    pub(crate) dropped: usize,
    /// Those that wait or are under way.
    pub(crate) waiting: usize,
}

impl Counts {
    pub(super) fn taken(&self) {
        self.taken.fetch_add(1, Relaxed);
    }

    pub(super) fn brought(&self) {
        self.brought.fetch_add(1, Relaxed);
    }

    pub(super) fn again(&self) {
        self.again.fetch_add(1, Relaxed);
    }

    pub(super) fn given_up(&self) {
        self.given_up.fetch_add(1, Relaxed);
    }

    /// Returns how many were dropped in all.
    pub(super) fn dropped(&self, how_many: usize) -> usize {
        self.dropped.fetch_add(how_many, Relaxed).saturating_add(how_many)
    }

    pub(super) fn told(&self, waiting: usize) -> Told {
        Told {
            taken: self.taken.load(Relaxed),
            brought: self.brought.load(Relaxed),
            again: self.again.load(Relaxed),
            given_up: self.given_up.load(Relaxed),
            dropped: self.dropped.load(Relaxed),
            waiting,
        }
    }
}
