//! What the kinds of tools with child processes share.

use std::{os::unix::process::ExitStatusExt, process::ExitStatus, time::Duration};

use mas_contracts::Clock;
use nix::sys::signal::Signal;

/// What `work` comes to, if it does so within this time; else it is dropped.
pub(crate) async fn within<F: Future>(clock: &dyn Clock, limit: Duration, work: F) -> Option<F::Output> {
    let now = clock.now();
    tokio::select! {
        done = work => Some(done),
        () = clock.sleep_until(now.checked_add(limit).unwrap_or(now)) => None,
    }
}

/// How a process ended, as in `the program ended with exit code 1`.
pub(crate) fn ending(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended with exit code {code}"),
        (None, Some(number)) => {
            let name =
                Signal::try_from(number).map_or_else(|_| number.to_string(), |signal| signal.to_string());
            format!("was ended by the signal {name}")
        }
        (None, None) => "ended in an unknown way".to_owned(),
    }
}
