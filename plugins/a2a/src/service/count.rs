//! Counts things that are under way, against a limit.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::AcqRel},
};

use tokio::sync::Notify;

/// How many there are.
#[derive(Debug, Default)]
pub(super) struct Count {
    now: AtomicUsize,
    none: Notify,
}

/// One of them, until it is dropped.
#[derive(Debug)]
pub(super) struct Counted(Arc<Count>);

impl Count {
    /// One more, unless there are `most`.
    pub(super) fn take(self: &Arc<Self>, most: usize) -> Option<Counted> {
        let counted = Counted(self.clone());
        // Dropped again where the limit is reached.
        (self.now.fetch_add(1, AcqRel) < most).then_some(counted)
    }

    /// How many there are.
    pub(super) fn now(&self) -> usize {
        self.now.load(std::sync::atomic::Ordering::Acquire)
    }

    /// Waits until there are none.
    pub(super) async fn none(&self) {
        loop {
            let none = self.none.notified();
            tokio::pin!(none);
            none.as_mut().enable();
            if self.now() == 0 {
                return;
            }
            none.await;
        }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        if self.0.now.fetch_sub(1, AcqRel) == 1 {
            self.0.none.notify_waiters();
        }
    }
}
