//! Cancellation with a reason: one token per tree of calls.

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

/// Why a tree was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CancelReason {
    /// A person or a client asked for it.
    Requested,
    /// The caller went away.
    Abandoned,
    /// The budget of time is spent.
    Deadline,
    /// The process ends; work elsewhere goes on.
    Shutdown,
}

impl CancelReason {
    /// What a backend does with the remote task.
    #[must_use]
    pub fn stop(self) -> Stop {
        match self {
            Self::Requested | Self::Abandoned | Self::Deadline => Stop::Cancel,
            Self::Shutdown => Stop::Leave,
        }
    }

    /// The word used in messages.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Requested => "requested",
            Self::Abandoned => "abandoned",
            Self::Deadline => "deadline",
            Self::Shutdown => "shutdown",
        }
    }
}

/// What happens to a remote task when its caller stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// It is cancelled.
    Cancel,
    /// It is left alone: a shutdown, or a task that waits for a person.
    Leave,
}

/// A one-way switch that carries the reason of the first cancel.
#[derive(Debug, Default)]
pub struct Cancel {
    reason: OnceLock<CancelReason>,
    notify: Notify,
}

impl Cancel {
    /// Stops the tree; the first reason stays. Returns whether this call was the first.
    pub fn cancel(&self, reason: CancelReason) -> bool {
        let first = self.reason.set(reason).is_ok();
        if first {
            self.notify.notify_waiters();
        }
        first
    }

    /// The reason, once cancelled.
    #[must_use]
    pub fn reason(&self) -> Option<CancelReason> {
        self.reason.get().copied()
    }

    /// Waits for the cancel. Safe to drop and call again.
    pub async fn cancelled(&self) -> CancelReason {
        loop {
            let notified = self.notify.notified();
            tokio::pin!(notified);
            notified.as_mut().enable();
            if let Some(reason) = self.reason() {
                return reason;
            }
            notified.await;
        }
    }
}
