//! A child process with its group, which ends when nobody holds it any more.

use std::{
    io::{self, PipeReader},
    os::{
        fd::OwnedFd,
        unix::{net::UnixStream, process::CommandExt},
    },
    process::{Child, Command},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};

use mas_contracts::{Clock, Error, Result};
use nix::{
    sys::signal::{Signal, killpg},
    unistd::Pid,
};
use tokio::sync::{oneshot, watch};

use crate::child::{ending, within};

/// A process and all that it has started, unless that has left its group. Dropped, it is killed.
pub(super) struct Process {
    group: Pid,
    /// Whether its number is free for others.
    gone: Arc<Mutex<bool>>,
    end: watch::Receiver<Option<String>>,
}

/// What leads to it.
pub(super) struct Ends {
    /// A socket, whose other end is its stdin.
    pub(super) channel: UnixStream,
    /// What it writes to stdout and to stderr.
    pub(super) prints: PipeReader,
}

type Started = io::Result<(Process, Ends)>;

impl Process {
    /// Starts a program in a process group of its own. It is talked to over its stdin, so that nothing that it or
    /// what it loads ever prints is taken for an answer.
    ///
    /// # Errors
    /// Why it could not be started.
    pub(super) async fn start(mut command: Command) -> Result<(Self, Ends)> {
        let failed = |error: &dyn std::fmt::Display| {
            Error::new(mas_contracts::ErrorKind::Unavailable, format!("Python cannot be started: {error}"))
                .with_code("mas::python::start")
        };
        let ends = connect(&mut command).map_err(|error| failed(&error))?;
        let (give, started) = oneshot::channel();
        // The kernel ends the child with the thread that started it, so this one lives as long as the child.
        thread::Builder::new()
            .name("python".to_owned())
            .spawn(move || keep(command, ends, give))
            .map_err(|error| failed(&error))?;
        match started.await {
            Ok(started) => started.map_err(|error| failed(&error)),
            Err(_) => Err(Error::internal("the thread of a child process is gone")),
        }
    }

    /// Kills it and its group.
    pub(super) fn kill(&self) {
        let gone = self.gone.lock().unwrap_or_else(PoisonError::into_inner);
        if !*gone {
            // There may be nobody left, which is what is wanted.
            let _ = killpg(self.group, Signal::SIGKILL);
        }
    }

    /// Waits until it has ended and is reaped; says how.
    pub(super) async fn ended(&self) -> String {
        let mut end = self.end.clone();
        match end.wait_for(Option::is_some).await {
            Ok(how) => how.clone().unwrap_or_default(),
            Err(_) => "ended in an unknown way".to_owned(),
        }
    }

    /// Waits so long for its end.
    pub(super) async fn ended_within(&self, clock: &dyn Clock, limit: Duration) -> Option<String> {
        within(clock, limit, self.ended()).await
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

fn connect(command: &mut Command) -> io::Result<Ends> {
    let (channel, stdin) = UnixStream::pair()?;
    let (prints, written) = io::pipe()?;
    command.process_group(0).stdin(OwnedFd::from(stdin)).stdout(written.try_clone()?).stderr(written);
    Ok(Ends { channel, prints })
}

/// Starts the child, waits for its end and reaps it.
fn keep(mut command: Command, ends: Ends, give: oneshot::Sender<Started>) {
    let started = command.spawn();
    // With it go the child's ends of the channels, which are to be the child's alone.
    drop(command);
    let mut child = match started {
        Ok(child) => child,
        Err(error) => {
            let _ = give.send(Err(error));
            return;
        }
    };
    let gone = Arc::new(Mutex::new(false));
    let (say, end) = watch::channel(None);
    let id = i32::try_from(child.id()).ok().filter(|id| *id > 1).map(Pid::from_raw);
    let Some(group) = id else {
        let _ = child.kill();
        let _ = child.wait();
        let _ = give.send(Err(io::Error::other("the child has no number")));
        return;
    };
    // Nobody may be waiting any more: what is sent is dropped then, which kills the child.
    let _ = give.send(Ok((Process { group, gone: gone.clone(), end }, ends)));
    wait(group);
    let how = reap(&mut child, group, &gone);
    say.send_replace(Some(how));
}

/// Waits for the end of a child and leaves its number taken, so that its group can still be killed by it.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn wait(child: Pid) {
    use nix::{
        errno::Errno,
        sys::wait::{Id, WaitPidFlag, waitid},
    };
    let quietly = WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT;
    while waitid(Id::Pid(child), quietly) == Err(Errno::EINTR) {}
}

/// Elsewhere the number is free at once.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn wait(_child: Pid) {}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn reap(child: &mut Child, group: Pid, gone: &Mutex<bool>) -> String {
    let mut gone = gone.lock().unwrap_or_else(PoisonError::into_inner);
    // What it has started ends with it.
    let _ = killpg(group, Signal::SIGKILL);
    let status = child.wait();
    *gone = true;
    status.map_or_else(|error| format!("ended in an unknown way ({error})"), ending)
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn reap(child: &mut Child, group: Pid, gone: &Mutex<bool>) -> String {
    let status = child.wait();
    let mut gone = gone.lock().unwrap_or_else(PoisonError::into_inner);
    let _ = killpg(group, Signal::SIGKILL);
    *gone = true;
    status.map_or_else(|error| format!("ended in an unknown way ({error})"), ending)
}
