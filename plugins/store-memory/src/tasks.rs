//! The tasks of exposed agents.

mod shard;
mod weight;

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

use async_trait::async_trait;
use mas_contracts::{
    Clock, Error, ErrorKind, Result, Task, TaskCursor, TaskPage, TaskQuery, TaskScope, TaskStore,
};

use shard::Shard;

/// How many shards there are, and the fewest ended tasks in each for which there are several.
const SHARDS: usize = 16;
const WORTH_A_SHARD: usize = 256;

/// What bounds the tasks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Ended tasks.
    pub(crate) ended: usize,
    /// Age of an ended task.
    pub(crate) age: Duration,
    /// Bytes of ended tasks.
    pub(crate) bytes: usize,
    /// Tasks that have not ended.
    pub(crate) open: usize,
}

/// Tasks by id.
#[derive(Debug)]
pub(crate) struct Tasks {
    clock: Arc<dyn Clock>,
    bounds: Bounds,
    shards: Box<[Mutex<Shard>]>,
    /// Tasks that have not ended, in all shards.
    open: AtomicUsize,
}

impl Tasks {
    pub(crate) fn new(bounds: Bounds, clock: Arc<dyn Clock>) -> Self {
        let count = if bounds.ended < SHARDS * WORTH_A_SHARD { 1 } else { SHARDS };
        let part =
            Bounds { ended: bounds.ended.div_ceil(count), bytes: bounds.bytes.div_ceil(count), ..bounds };
        let shards = (0..count).map(|_| Mutex::new(Shard::new(part))).collect();
        Self { clock, bounds, shards, open: AtomicUsize::new(0) }
    }

    fn shard(&self, id: &str) -> Result<MutexGuard<'_, Shard>> {
        // The end of an id varies most.
        let at = id.bytes().rev().take(4).fold(0_usize, |at, byte| at.wrapping_mul(31) ^ usize::from(byte));
        let shard = self
            .shards
            .get(at % self.shards.len().max(1))
            .ok_or_else(|| Error::internal("the task store has no shards"))?;
        Ok(lock(shard))
    }

    /// Counts a new task that has not ended, if there is room.
    fn count_open(&self) -> bool {
        self.open.fetch_update(Relaxed, Relaxed, |open| (open < self.bounds.open).then_some(open + 1)).is_ok()
    }

    fn replace(&self, task: Arc<Task>) -> Result<()> {
        let now = self.clock.now();
        let ended = task.status.state.is_terminal();
        let mut shard = self.shard(&task.id)?;
        shard.expire(now);
        let kept = shard.get(&task.id);
        let revision = kept.map_or(0, |kept| kept.revision);
        if let Some(kept) = kept.filter(|kept| kept.status.state.is_terminal()) {
            return Err(conflict(&task, &format!("it has ended ({})", kept.status.state.as_str())));
        }
        // Ids are unique, but a store trusts nobody with the tasks of another.
        if kept.is_some_and(|kept| kept.owner != task.owner || kept.agent != task.agent) {
            return Err(conflict(&task, "its id is another's"));
        }
        if task.revision != revision.saturating_add(1) {
            return Err(conflict(&task, &format!("its kept revision is {revision}")));
        }
        match (kept.is_some(), ended) {
            (false, false) if !self.count_open() => {
                let most = self.bounds.open;
                return Err(Error::new(
                    ErrorKind::Limit,
                    format!("{most} tasks have not ended yet; a new one has room once one of them ends"),
                )
                .with_code("mas::store::full"));
            }
            (true, true) => {
                self.open.fetch_sub(1, Relaxed);
            }
            _ => {}
        }
        let gone = shard.put(task, ended.then_some(now));
        drop(shard);
        drop(gone);
        Ok(())
    }
}

#[async_trait]
impl TaskStore for Tasks {
    async fn put(&self, task: Arc<Task>) -> Result<()> {
        self.replace(task)
    }

    async fn get(&self, scope: &TaskScope, id: &str) -> Result<Option<Arc<Task>>> {
        let mut shard = self.shard(id)?;
        shard.expire(self.clock.now());
        Ok(shard.get(id).filter(|task| is_of(task, scope)).cloned())
    }

    async fn list(&self, scope: &TaskScope, query: &TaskQuery) -> Result<TaskPage> {
        let now = self.clock.now();
        let mut total: usize = 0;
        let mut behind: Vec<Arc<Task>> = Vec::new();
        // One more than the page tells whether there is another.
        let wanted = query.limit.saturating_add(1);
        for shard in &self.shards {
            let mut shard = lock(shard);
            shard.expire(now);
            for task in shard.tasks().filter(|task| is_of(task, scope) && matches(task, query)) {
                total = total.saturating_add(1);
                if query.after.as_ref().is_none_or(|after| place(task) < (after.since, &after.id)) {
                    behind.push(task.clone());
                    if behind.len() >= wanted.saturating_mul(4) {
                        keep_first(&mut behind, wanted);
                    }
                }
            }
        }
        keep_first(&mut behind, wanted);
        behind.sort_unstable_by(|a, b| place(b).cmp(&place(a)));
        let more = behind.len() > query.limit;
        behind.truncate(query.limit);
        let next = behind.last().filter(|_| more);
        let next = next.map(|last| TaskCursor { since: last.status.since, id: last.id.clone() });
        Ok(TaskPage { tasks: behind, next, total })
    }
}

fn lock(shard: &Mutex<Shard>) -> MutexGuard<'_, Shard> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps those that come first in a listing, in no order.
fn keep_first(tasks: &mut Vec<Arc<Task>>, most: usize) {
    if tasks.len() > most {
        tasks.select_nth_unstable_by(most, |a, b| place(b).cmp(&place(a)));
        tasks.truncate(most);
    }
}

/// The place in a listing; the highest comes first.
fn place(task: &Task) -> (Duration, &Arc<str>) {
    (task.status.since, &task.id)
}

fn is_of(task: &Task, scope: &TaskScope) -> bool {
    task.owner == scope.owner && task.agent == scope.agent
}

fn matches(task: &Task, query: &TaskQuery) -> bool {
    query.context.as_ref().is_none_or(|context| task.context == *context)
        && query.state.is_none_or(|state| task.status.state == state)
        && query.since.is_none_or(|since| task.status.since >= since)
}

fn conflict(task: &Task, why: &str) -> Error {
    Error::new(
        ErrorKind::Conflict,
        format!("task `{}` cannot be kept at revision {}: {why}", task.id, task.revision),
    )
    .with_code("mas::store::revision")
}
