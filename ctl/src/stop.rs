//! What ends a conversation from outside: Ctrl-C, a supervisor, a reader that has gone.

use mas_contracts::CancelReason;

use crate::console;

/// Listens for as long as it lives, so that no signal between two waits is lost.
pub(crate) struct Stop {
    #[cfg(unix)]
    interrupt: Option<tokio::signal::unix::Signal>,
    #[cfg(unix)]
    terminate: Option<tokio::signal::unix::Signal>,
}

/// Why a conversation is to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// Somebody asked for it; what runs elsewhere is cancelled, or left alone on a shutdown.
    Asked(CancelReason),
    /// Nobody reads stdout any more.
    Unread,
}

impl Ending {
    /// What the turn under way is stopped with.
    pub(crate) fn reason(self) -> CancelReason {
        match self {
            Self::Asked(reason) => reason,
            Self::Unread => CancelReason::Abandoned,
        }
    }
}

impl Stop {
    /// Begins to listen.
    #[cfg(unix)]
    pub(crate) fn new() -> Self {
        use tokio::signal::unix::{SignalKind, signal};
        // Without a listener the signal ends the process by itself.
        Self {
            interrupt: signal(SignalKind::interrupt()).ok(),
            terminate: signal(SignalKind::terminate()).ok(),
        }
    }

    /// Begins to listen.
    #[cfg(not(unix))]
    pub(crate) fn new() -> Self {
        Self {}
    }

    /// Waits for a reason to end. Safe to drop and call again.
    pub(crate) async fn requested(&mut self) -> Ending {
        tokio::select! {
            reason = self.signalled() => Ending::Asked(reason),
            () = console::unread() => Ending::Unread,
        }
    }

    /// Waits until somebody asks for the end. Safe to drop and call again.
    #[cfg(unix)]
    pub(crate) async fn signalled(&mut self) -> CancelReason {
        async fn received(signal: &mut Option<tokio::signal::unix::Signal>) {
            let arrived = match signal {
                Some(signal) => signal.recv().await,
                None => None,
            };
            if arrived.is_none() {
                std::future::pending::<()>().await;
            }
        }
        tokio::select! {
            () = received(&mut self.interrupt) => CancelReason::Requested,
            () = received(&mut self.terminate) => CancelReason::Shutdown,
        }
    }

    /// Waits until somebody asks for the end. Safe to drop and call again.
    #[cfg(not(unix))]
    pub(crate) async fn signalled(&mut self) -> CancelReason {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        CancelReason::Requested
    }
}
