//! The webhooks of an agent's tasks, as the operations use them.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

use async_trait::async_trait;
use mas_comm_kit::http::{Settings, Transport};
use mas_contracts::{BuildContext, Clock, Ids, Result, TaskScope, TaskStore};

use super::{
    book::Book,
    check::check,
    counts::Told,
    guard::{Guard, System},
    lane::{Lane, Target},
    outbox::{Outbox, within},
    post::{Post, body_v1, body_v03},
};
use crate::{
    model::{Authentication, Dialect, Failure, PushConfig, PushKey, Reason, StreamItem},
    params::{self, Keep},
    service::{Changed, Push},
};

/// Webhooks of all tasks. Those of tasks that have ended make room for others.
const MOST: usize = 10_000;

/// How many tasks are looked at for one new webhook.
const LOOKS: usize = 32;

/// When a caller may try again who found no room.
const LATER: Duration = Duration::from_secs(30);

/// The webhooks of an agent's tasks, and their notifications. Dropped, it posts nothing more.
pub(crate) struct Webhooks {
    book: Mutex<Book>,
    /// How many webhooks there are, so that events of tasks need no lock while there are none.
    count: AtomicUsize,
    outbox: Arc<Outbox>,
    guard: Guard,
    tasks: Arc<dyn TaskStore>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn Ids>,
    of_one_task: usize,
    keep: Duration,
}

impl Webhooks {
    /// The webhooks that the parameters describe, for tasks that are kept in `tasks`.
    ///
    /// # Errors
    /// As [`Settings::connect_by`].
    pub(crate) fn open(
        params: &params::Push,
        keep: &Keep,
        tasks: Arc<dyn TaskStore>,
        cx: &BuildContext,
    ) -> Result<Self> {
        let guard = Guard::new(params, Arc::new(System));
        let settings = Settings { connect_timeout: params.time(), ..Settings::default() };
        let transport = Arc::new(settings.connect_by(Arc::new(guard.clone()), cx)?);
        Ok(Self::over(transport, guard, params, keep, tasks, cx))
    }

    /// The webhooks over a transport of the caller's, which asks the guard itself.
    pub(super) fn over(
        transport: Arc<dyn Transport>,
        guard: Guard,
        params: &params::Push,
        keep: &Keep,
        tasks: Arc<dyn TaskStore>,
        cx: &BuildContext,
    ) -> Self {
        Self {
            book: Mutex::default(),
            count: AtomicUsize::new(0),
            outbox: Outbox::new(params, transport, cx.clock.clone()),
            guard,
            tasks,
            clock: cx.clock.clone(),
            ids: cx.ids.clone(),
            of_one_task: params.configs,
            keep: keep.time(),
        }
    }

    /// What became of the notifications so far.
    pub(crate) fn told(&self) -> Told {
        self.outbox.counts.told(self.outbox.waiting())
    }

    /// Takes no more events and brings those that wait, within a limit. How many were left.
    pub(crate) async fn close(&self, limit: Duration) -> usize {
        self.outbox.close(limit).await
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the book, and keeps the count.
    fn change<T>(&self, change: impl FnOnce(&mut Book) -> T) -> T {
        let mut book = self.book();
        let changed = change(&mut book);
        self.count.store(book.webhooks(), Relaxed);
        changed
    }

    /// Drops the webhooks of tasks that have ended: those that ended long ago, and the oldest if there is no room.
    async fn make_room(&self) {
        for _ in 0..LOOKS {
            let oldest = {
                let book = self.book();
                let Some(oldest) = book.oldest() else { return };
                let is_old = self.clock.now().saturating_duration_since(oldest.seen) >= self.keep;
                if !is_old && book.webhooks() < MOST {
                    return;
                }
                oldest
            };
            // A task may have come to its end before it had a webhook; only the store knows.
            let over = oldest.over
                || match self.tasks.get(&oldest.scope, &oldest.task).await {
                    Ok(task) => task.is_none_or(|task| task.status.state.is_terminal()),
                    Err(error) => {
                        tracing::warn!("whether a task with webhooks has ended is not known: {error}");
                        false
                    }
                };
            self.change(|book| match (book.is_still(&oldest), over) {
                (true, true) => book.forget(&oldest.scope, &oldest.task),
                (true, false) => book.saw(&oldest.task, false, self.clock.now()),
                (false, _) => {}
            });
        }
    }

    fn lanes(&self, scope: &TaskScope, task: &str) -> Vec<Arc<Lane>> {
        self.book().lanes(scope, task).iter().map(|(_, lane)| lane.clone()).collect()
    }
}

impl Drop for Webhooks {
    fn drop(&mut self) {
        self.outbox.stop();
    }
}

#[async_trait]
impl Push for Webhooks {
    fn wants(&self, scope: &TaskScope, task: &str) -> bool {
        self.count.load(Relaxed) > 0 && !self.book().lanes(scope, task).is_empty()
    }

    fn task_changed(&self, changed: Changed<'_>) {
        let Changed { scope, task, seq, item, snapshot } = changed;
        let over = matches!(item, StreamItem::Status(update) if update.status.state.is_terminal());
        let lanes = self.lanes(scope, task);
        if over && !lanes.is_empty() {
            self.change(|book| book.saw(task, true, self.clock.now()));
        }
        let piece = matches!(item, StreamItem::Artifact(_));
        let (mut v1, mut v03) = (None, None);
        for lane in lanes {
            let dialect = lane.target().config.dialect;
            let body = match dialect {
                Dialect::V1 => v1.get_or_insert_with(|| body_v1(item)),
                // v0.3 posts the whole task. While one is posted, the pieces of artifacts that come are told with
                // the next status, or else a long answer would cost the square of its length.
                Dialect::V03 if piece && !lane.is_idle() => continue,
                Dialect::V03 => v03.get_or_insert_with(|| body_v03(snapshot())),
            };
            match body {
                Some(body) => self.outbox.offer(&lane, Post { dialect, seq, body: body.clone() }),
                None => tracing::error!("an event of a task cannot be written for its webhooks"),
            }
        }
    }

    fn forget(&self, scope: &TaskScope, task: &str) {
        if self.count.load(Relaxed) > 0 {
            self.change(|book| book.forget(scope, task));
        }
    }

    async fn posted(&self, scope: &TaskScope, task: &str, limit: Duration) {
        let lanes = self.lanes(scope, task);
        let all = async {
            for lane in lanes {
                lane.posted().await;
            }
        };
        let _late = within(self.clock.as_ref(), limit, all).await;
    }

    async fn create(&self, scope: &TaskScope, mut config: PushConfig) -> Result<PushConfig, Failure> {
        let host = check(&config, &self.guard)?;
        if config.id.is_empty() {
            config.id = self.ids.next_id();
        }
        self.make_room().await;
        let gate = self.outbox.gate_of(&host);
        let target = Target { config: config.clone(), host, gate };
        self.change(|book| {
            if book.is_of_another(scope, &config.task) {
                return Err(Failure::no_task(&config.task));
            }
            if let Some(lane) = book.lane(scope, &config.task, &config.id) {
                lane.redirect(target);
                return Ok(());
            }
            if book.lanes(scope, &config.task).len() >= self.of_one_task {
                let message = format!(
                    "a task has {} webhooks at most; delete one of `{}`",
                    self.of_one_task, config.task
                );
                return Err(Failure::new(Reason::ResourceExhausted, message));
            }
            if book.webhooks() >= MOST {
                let message = "there are too many webhooks of tasks that are at work; try again later";
                return Err(Failure::new(Reason::ResourceExhausted, message).retry_after(LATER));
            }
            let lane = Arc::new(Lane::new(target));
            book.add(scope, &config.task, config.id.clone(), lane, self.clock.now());
            Ok(())
        })?;
        Ok(config)
    }

    async fn get(&self, scope: &TaskScope, key: &PushKey) -> Result<PushConfig, Failure> {
        let book = self.book();
        let lane = if key.id.is_empty() {
            book.lanes(scope, &key.task).first().map(|(_, lane)| lane)
        } else {
            book.lane(scope, &key.task, &key.id)
        };
        lane.map(|lane| redacted(&lane.target().config)).ok_or_else(|| {
            let message = match &*key.id {
                "" => format!("the task `{}` has no webhook", key.task),
                id => format!("the task `{}` has no webhook `{id}`", key.task),
            };
            Failure::new(Reason::TaskNotFound, message)
                .with("taskId", &*key.task)
                .with("pushNotificationConfigId", &*key.id)
        })
    }

    async fn list(&self, scope: &TaskScope, task: &Arc<str>) -> Result<Vec<PushConfig>, Failure> {
        Ok(self.lanes(scope, task).iter().map(|lane| redacted(&lane.target().config)).collect())
    }

    async fn delete(&self, scope: &TaskScope, key: &PushKey) -> Result<(), Failure> {
        if let Some(lane) = self.change(|book| book.remove(scope, &key.task, &key.id)) {
            lane.close();
        }
        Ok(())
    }
}

/// A webhook without its secrets: who registered it knows them, and nobody else has to.
fn redacted(config: &PushConfig) -> PushConfig {
    let authentication = config
        .authentication
        .as_ref()
        .map(|authentication| Authentication { scheme: authentication.scheme.clone(), credentials: None });
    PushConfig { token: None, authentication, ..config.clone() }
}
