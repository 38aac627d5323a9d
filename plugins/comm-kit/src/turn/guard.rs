//! What is left to do when a turn is given up: a task nobody waits for is cancelled.
//!
//! ```text
//!   dropped ─┬─ ended, a shutdown, or waits for a person: nothing
//!            ├─ task known ───────────────────────────▶ cancel, within its own time
//!            └─ message out, task unknown ─▶ first word ─▶ cancel, within its own time
//! ```

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering::AcqRel, Ordering::Acquire},
    },
    time::Duration,
};

use mas_contracts::{BoxFuture, CallContext, CancelReason, Clock, ErrorKind, Result, Stop};
use tokio::{runtime::Handle, sync::Notify};

use super::{Answer, Update, Upstream, opening::Opened};

/// Work that nobody waits for, counted.
#[derive(Debug, Default)]
pub(super) struct Detached {
    running: AtomicUsize,
    ended: Notify,
}

impl Detached {
    /// Waits until none is left.
    pub(super) async fn ended(&self) {
        loop {
            let ended = self.ended.notified();
            tokio::pin!(ended);
            ended.as_mut().enable();
            if self.running.load(Acquire) == 0 {
                return;
            }
            ended.await;
        }
    }

    fn begin(self: Arc<Self>) -> Running {
        self.running.fetch_add(1, AcqRel);
        Running(self)
    }
}

struct Running(Arc<Detached>);

impl Drop for Running {
    fn drop(&mut self) {
        if self.0.running.fetch_sub(1, AcqRel) == 1 {
            self.0.ended.notify_waiters();
        }
    }
}

/// When a task is cancelled that is given up, and how long that may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms {
    pub(super) on_timeout: bool,
    pub(super) on_drop: bool,
    pub(super) limit: Duration,
}

/// Cancels the task of a turn when it is dropped before its turn has ended.
pub(super) struct Guard {
    agent: Arc<str>,
    upstream: Arc<dyn Upstream>,
    cx: CallContext,
    terms: Terms,
    detached: Arc<Detached>,
    runtime: Option<Handle>,
    task: Option<Arc<str>>,
    /// Whether the task waits for a person.
    waits: bool,
    ended: bool,
    /// The message that is out, as long as nothing came back. Never locked: the lock makes it one that can be shared.
    opening: Mutex<Option<BoxFuture<'static, Result<Opened>>>>,
}

impl Guard {
    pub(super) fn new(
        agent: Arc<str>,
        upstream: Arc<dyn Upstream>,
        cx: CallContext,
        terms: Terms,
        detached: Arc<Detached>,
    ) -> Self {
        Self {
            agent,
            upstream,
            cx,
            terms,
            detached,
            runtime: Handle::try_current().ok(),
            task: None,
            waits: false,
            ended: false,
            opening: Mutex::default(),
        }
    }

    /// Waits for the first word on a message. Dropped meanwhile, the guard goes on with it.
    pub(super) async fn open(&mut self, opening: BoxFuture<'static, Result<Opened>>) -> Result<Opened> {
        let place = self.opening.get_mut().unwrap_or_else(PoisonError::into_inner);
        let opened = place.insert(opening).await;
        *place = None;
        opened
    }

    /// Learns how it stands with the task.
    pub(super) fn learn(&mut self, task: Option<&Arc<str>>, waits: bool) {
        self.task = task.cloned();
        self.waits = waits;
    }

    /// The turn has ended: nothing is left to do.
    pub(super) fn end(&mut self) {
        self.ended = true;
    }

    fn is_wanted(&self) -> bool {
        let reason = self.cx.cancel().reason();
        let late = self.cx.remaining().is_zero() || reason == Some(CancelReason::Deadline);
        let allowed = if late { self.terms.on_timeout } else { self.terms.on_drop };
        let left = reason.is_some_and(|reason| reason.stop() == Stop::Leave);
        !self.ended && !self.waits && !left && allowed
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let opening = self.opening.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if !self.is_wanted() || (self.task.is_none() && opening.is_none()) {
            return;
        }
        let Some(runtime) = &self.runtime else { return };
        let farewell = Farewell {
            agent: self.agent.clone(),
            upstream: self.upstream.clone(),
            clock: self.cx.scope().tree.clock().clone(),
            limit: self.terms.limit,
        };
        let task = self.task.take();
        let running = self.detached.clone().begin();
        runtime.spawn(async move {
            farewell.say(task, opening).await;
            drop(running);
        });
    }
}

/// The end of a turn that was given up.
struct Farewell {
    agent: Arc<str>,
    upstream: Arc<dyn Upstream>,
    clock: Arc<dyn Clock>,
    limit: Duration,
}

impl Farewell {
    async fn say(&self, task: Option<Arc<str>>, opening: Option<BoxFuture<'static, Result<Opened>>>) {
        let agent = &self.agent;
        let task = match (task, opening) {
            (Some(task), _) => Some(task),
            (None, Some(opening)) => match self.within(opening).await {
                Some(Ok(opened)) => to_cancel(&opened),
                Some(Err(error)) if error.may_resend() => return,
                _ => {
                    tracing::warn!(%agent, "given up before the agent named its task: it may still be at work");
                    return;
                }
            },
            (None, None) => None,
        };
        let Some(task) = task else { return };
        match self.within(self.upstream.cancel(&task)).await {
            Some(Ok(_)) => {}
            // It is over already, or nobody knows it.
            Some(Err(error)) if matches!(error.kind(), ErrorKind::Conflict | ErrorKind::NotFound) => {}
            Some(Err(error)) => {
                tracing::warn!(%agent, %task, "the task was given up and cannot be cancelled: {error:#}");
            }
            None => tracing::warn!(%agent, %task, "the task was given up, and its cancel got no answer"),
        }
    }

    async fn within<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let now = self.clock.now();
        let end = now.checked_add(self.limit).unwrap_or(now);
        tokio::select! {
            biased;
            done = work => Some(done),
            () = self.clock.sleep_until(end) => None,
        }
    }
}

/// The task to cancel after this first word: none that is over or waits for a person, nor one without a name.
fn to_cancel(opened: &Opened) -> Option<Arc<str>> {
    running(opened).filter(|task| !task.is_empty())
}

fn running(opened: &Opened) -> Option<Arc<str>> {
    let first = match opened {
        Opened::Answer(Answer::Task(task)) => return is_running(task.status.state).then(|| task.id.clone()),
        Opened::Answer(Answer::Message(_)) => return None,
        Opened::Stream { first, .. } => first,
    };
    match first {
        Update::Task(task) => is_running(task.status.state).then(|| task.id.clone()),
        Update::Status { task, status, .. } => is_running(status.state).then(|| task.clone()),
        Update::Artifact { task, .. } => Some(task.clone()),
        Update::Message(_) => None,
    }
}

fn is_running(state: mas_contracts::TaskState) -> bool {
    !state.is_terminal() && !state.is_interrupted()
}
