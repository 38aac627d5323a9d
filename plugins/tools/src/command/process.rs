//! One run of a program, from its start until nothing of it is left.

use std::{
    process::{ExitStatus, Stdio},
    time::{Duration, Instant},
};

use mas_contracts::{CallContext, Cancel, CancelReason, Clock, Error, Result};
use nix::{
    sys::signal::{Signal, killpg},
    unistd::Pid,
};
use tokio::process::Child;

use super::{pipes::Pipes, program::Program};
use crate::child::within;

/// How long a stopped program has to end by itself; with the next it fits into `CANCEL_GRACE`.
const TERM_GRACE: Duration = Duration::from_millis(60);

/// How long is waited for a killed program to be gone.
const KILL_WAIT: Duration = Duration::from_millis(40);

/// How long is read on once the program has ended, when something that it started keeps its output open.
const LINGER: Duration = Duration::from_millis(250);

/// How a run ended.
pub(super) enum End {
    /// By itself.
    Exited(ExitStatus),
    /// It wrote too much.
    Flooded,
    /// There was no result in time.
    Late,
    /// The tree was cancelled.
    Stopped(CancelReason),
    /// The tool was closed.
    Closed,
}

/// What is left of a run.
pub(super) struct Ended {
    pub(super) end: End,
    pub(super) pipes: Pipes,
}

/// When a run is over at the latest.
pub(super) struct Bounds<'a> {
    pub(super) cx: &'a CallContext,
    pub(super) deadline: Instant,
    pub(super) closed: &'a Cancel,
}

/// Runs a program with `input` on its stdin. Dropped, it kills the program and what that has started.
///
/// # Errors
/// Why it could not be started.
pub(super) async fn run(program: &Program, input: Option<Vec<u8>>, bounds: &Bounds<'_>) -> Result<Ended> {
    let stdin = if input.is_some() { Stdio::piped() } else { Stdio::null() };
    let mut child = program.command(stdin).spawn().map_err(|error| program.not_started(&error))?;
    let group = Group::of(&child);
    let mut pipes = Pipes::of(&mut child, input.unwrap_or_default());
    let clock = bounds.cx.clock();
    let end = tokio::select! {
        biased;
        reason = bounds.cx.cancel().cancelled() => End::Stopped(reason),
        _ = bounds.closed.cancelled() => End::Closed,
        end = follow(&mut child, &mut pipes, &group, clock) => end?,
        () = clock.sleep_until(bounds.deadline) => End::Late,
    };
    if !matches!(end, End::Exited(_)) {
        group.signal(Signal::SIGTERM);
        within(clock, TERM_GRACE, exit(&mut child, &mut pipes)).await;
        group.signal(Signal::SIGKILL);
        within(clock, KILL_WAIT, child.wait()).await;
    }
    Ok(Ended { end, pipes })
}

/// Follows a program until it and its output have ended.
async fn follow(child: &mut Child, pipes: &mut Pipes, group: &Group, clock: &dyn Clock) -> Result<End> {
    let Some(status) = exit(child, pipes).await? else { return Ok(End::Flooded) };
    if within(clock, LINGER, pipes.drain()).await.is_none() {
        group.signal(Signal::SIGKILL);
        within(clock, KILL_WAIT, pipes.drain()).await;
    }
    Ok(if pipes.flooded() { End::Flooded } else { End::Exited(status) })
}

/// Serves the pipes until the program has ended; nothing if it writes too much.
async fn exit(child: &mut Child, pipes: &mut Pipes) -> Result<Option<ExitStatus>> {
    loop {
        tokio::select! {
            status = child.wait() => {
                let unknown = |error: std::io::Error| Error::internal("the end of a program is unknown").caused_by(error);
                return status.map(Some).map_err(unknown);
            }
            () = pipes.step() => {}
        }
        if pipes.flooded() {
            return Ok(None);
        }
    }
}

/// The process group of a child: it and what it started, unless that has left the group. Dropped, it is killed.
struct Group(Option<Pid>);

impl Group {
    fn of(child: &Child) -> Self {
        Self(child.id().and_then(|id| i32::try_from(id).ok()).map(Pid::from_raw))
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = self.0 {
            // There may be nobody left, which is what is wanted.
            let _ = killpg(group, signal);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.signal(Signal::SIGKILL);
    }
}
