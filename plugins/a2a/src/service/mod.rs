//! The operations of one agent: tasks over turns of the host.
//!
//! ```text
//!   message ──▶ admit ──▶ turn (host) ── events, reply ──▶ Live ── log ──▶ streams, webhooks
//!                                                            └── revisions of the status ──▶ store
//! ```
//!
//! A [`Live`](live::Live) task is folded from the events of its turns and from their replies; it stays in memory
//! until it is over. The store is written when the status changes, so a task that ends at once is written once.
//! Whoever waits for a turn runs it; when they go away the turn goes on by itself. Readers of a task follow its
//! bounded log at their own pace and are given the whole task where they fell too far behind.
//!
//! A message of another mas says where it comes from (`mas.path`, `mas.depth`, `mas.budget_ms`). That may only make
//! limits tighter: depth is what it says or the length of its path, whichever is more; the budget is the smaller of
//! its and ours. A message that came through this agent already, or through too many, is a task that failed, whose
//! status says so (`mas.error`). Values that make no sense are invalid parameters.

mod artifacts;
mod check;
mod count;
mod ending;
mod kinds;
mod live;
mod lives;
mod log;
mod operations;
mod options;
mod outlive;
mod push;
mod read;
mod seen;
mod send;
mod stream;
mod take;
mod tap;
#[cfg(test)]
pub(crate) mod tests;
mod turn;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

use mas_contracts::{
    AgentHost, BuildContext, CancelReason, Error, ErrorKind, Task, TaskScope, TaskState, TaskStore, TurnKey,
};

use self::{
    count::Count,
    live::{Kit, Live},
    lives::Lives,
    seen::Seen,
};
pub(crate) use self::{
    options::{OnCancel, Options},
    push::{Changed, Push},
};
use crate::{
    card::Published,
    model::{Caller, Failure, Reason, TaskView},
};

/// The operations of one agent.
pub(crate) struct Service(Arc<Inner>);

struct Inner {
    agent: Arc<str>,
    host: Arc<dyn AgentHost>,
    tasks: Arc<dyn TaskStore>,
    kit: Arc<Kit>,
    card: Arc<Published>,
    lives: Lives,
    seen: Seen,
    running: Arc<Count>,
    streams: Arc<Count>,
    closed: AtomicBool,
}

impl Service {
    /// The operations of `agent` of `host`, whose tasks are kept in `tasks`, as its card promises them. Without
    /// `push` there are no webhooks.
    pub(crate) fn new(
        build: &BuildContext,
        agent: Arc<str>,
        host: Arc<dyn AgentHost>,
        tasks: Arc<dyn TaskStore>,
        options: Options,
        push: Option<Arc<dyn Push>>,
        card: Arc<Published>,
    ) -> Self {
        let seen = Seen::new(options.remembered);
        let kit = Kit { clock: build.clock.clone(), ids: build.ids.clone(), options, push };
        Self(Arc::new(Inner {
            agent,
            host,
            tasks,
            kit: Arc::new(kit),
            card,
            lives: Lives::default(),
            seen,
            running: Arc::default(),
            streams: Arc::default(),
            closed: AtomicBool::new(false),
        }))
    }

    /// How many turns run or wait.
    pub(crate) fn running(&self) -> usize {
        self.0.running.now()
    }

    /// How many streams are open.
    pub(crate) fn streams(&self) -> usize {
        self.0.streams.now()
    }

    /// Takes no new messages, lets running turns end within `limit`, then stops what is left.
    pub(crate) async fn close(&self, limit: Duration) {
        let inner = &self.0;
        inner.closed.store(true, Relaxed);
        if inner.within(limit, inner.running.none()).await.is_some() {
            return;
        }
        for live in inner.lives.all() {
            let turns = live.lock().turns.clone();
            for turn in turns {
                inner.host.cancel(&inner.key(&live, turn), CancelReason::Shutdown);
            }
        }
        let _ = inner.within(inner.kit.options.cancel_grace, inner.running.none()).await;
    }
}

impl Inner {
    fn scope(&self, caller: &Caller) -> TaskScope {
        TaskScope { owner: caller.owner.clone(), agent: self.agent.clone() }
    }

    fn key(&self, live: &Live, turn: Arc<str>) -> TurnKey {
        TurnKey {
            owner: live.scope.owner.clone(),
            agent: self.agent.clone(),
            session: live.context.clone(),
            turn,
        }
    }

    /// What `work` gives, unless it takes longer than `limit`.
    async fn within<T>(&self, limit: Duration, work: impl Future<Output = T>) -> Option<T> {
        let now = self.kit.clock.now();
        let at = now.checked_add(limit).unwrap_or(now);
        tokio::select! {
            biased;
            done = work => Some(done),
            () = self.kit.clock.sleep_until(at) => None,
        }
    }

    /// Keeps the task in the store if its state changed, and lets go of it when it is over.
    async fn keep(&self, live: &Arc<Live>) {
        let _saving = live.saving.lock().await;
        let task = {
            let mut state = live.lock();
            let unsaved = state.said.is_none() && std::mem::take(&mut state.unsaved);
            unsaved.then(|| {
                state.revision = state.revision.saturating_add(1);
                live.task(&mut state)
            })
        };
        if let Some(task) = task {
            let kept = self.tasks.put(task.clone()).await;
            let mut state = live.lock();
            match kept {
                // Nothing of it changes any more.
                Ok(()) if task.status.state.is_terminal() => state.kept = Some(task),
                Ok(()) => {}
                Err(error) => {
                    state.revision = state.revision.saturating_sub(1);
                    if state.revision == 0 && !state.ended {
                        state.unkept = Some(Box::new(failure_of(&error)));
                        return;
                    }
                    tracing::error!(task = %live.id, %error, "a task could not be kept");
                }
            }
        }
        let (over, waits) = {
            let state = live.lock();
            (state.ended, state.turns.is_empty() && state.status.state.is_interrupted())
        };
        if over {
            self.lives.remove(&live.id);
        } else if waits && let Some(oldest) = self.lives.wait(live, self.kit.options.waiting) {
            let text = "too many tasks wait for an answer, and this one waited longest";
            oldest.end(TaskState::Failed, Some(oldest.message(vec![mas_contracts::Part::text(text)])));
            Box::pin(self.keep(&oldest)).await;
        }
    }

    /// A task that is not over; taken up again from the store where an earlier process left it.
    async fn live(&self, scope: &TaskScope, id: &str) -> Result<Found, Failure> {
        if let Some(live) = self.lives.get(scope, id) {
            return Ok(Found::Live(live));
        }
        let task = self.tasks.get(scope, id).await.map_err(|error| failure_of(&error))?;
        match task {
            None => Err(Failure::no_task(id)),
            Some(task) if task.status.state.is_terminal() => Ok(Found::Over(task)),
            // It may have begun meanwhile; who comes first stays.
            Some(task) => Ok(Found::Live(self.lives.insert(Arc::new(Live::revive(self.kit.clone(), &task))))),
        }
    }

    /// A task as it is now, within what the caller owns.
    async fn task(&self, scope: &TaskScope, id: &str) -> Result<Arc<Task>, Failure> {
        if let Some(live) = self.lives.get(scope, id) {
            let mut state = live.lock();
            return Ok(live.task(&mut state));
        }
        let task = self.tasks.get(scope, id).await.map_err(|error| failure_of(&error))?;
        task.ok_or_else(|| Failure::no_task(id))
    }
}

/// A task of a caller.
enum Found {
    Live(Arc<Live>),
    Over(Arc<Task>),
}

/// What a failure of the host or of the store is to a caller.
fn failure_of(error: &Error) -> Failure {
    let reason = match error.kind() {
        ErrorKind::Invalid => Reason::InvalidParams,
        ErrorKind::NotFound => Reason::Unavailable,
        ErrorKind::Limit | ErrorKind::RateLimited => Reason::ResourceExhausted,
        ErrorKind::Unavailable | ErrorKind::Cancelled => Reason::Unavailable,
        ErrorKind::Denied => Reason::PermissionDenied,
        _ => Reason::Internal,
    };
    let failure = Failure::new(reason, error.to_string());
    if matches!(reason, Reason::ResourceExhausted | Reason::Unavailable) {
        return failure.retry_after(Duration::from_secs(1));
    }
    failure
}

/// A task as a caller asked to see it.
fn view(task: Arc<Task>, history_length: Option<u32>) -> TaskView {
    TaskView { task, history_length, artifacts: true }
}
