//! The tasks that are not over, by id.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use mas_contracts::TaskScope;

use super::live::Live;

/// How many parts the table has, so that callers seldom wait for one another.
const SHARDS: usize = 16;

type Shard = Mutex<HashMap<Arc<str>, Arc<Live>>>;

#[derive(Default)]
pub(super) struct Lives {
    shards: [Shard; SHARDS],
    /// Those that wait for somebody, in order; some may have gone on meanwhile.
    waiting: Mutex<VecDeque<Arc<Live>>>,
}

impl Lives {
    /// Adds a task and returns the one that is there.
    pub(super) fn insert(&self, live: Arc<Live>) -> Arc<Live> {
        self.shard(&live.id).entry(live.id.clone()).or_insert(live).clone()
    }

    pub(super) fn remove(&self, id: &str) {
        self.shard(id).remove(id);
    }

    /// The task of this id, if the scope is its own.
    pub(super) fn get(&self, scope: &TaskScope, id: &str) -> Option<Arc<Live>> {
        self.shard(id).get(id).filter(|live| live.scope == *scope).cloned()
    }

    pub(super) fn all(&self) -> Vec<Arc<Live>> {
        self.shards.iter().flat_map(|shard| lock(shard).values().cloned().collect::<Vec<_>>()).collect()
    }

    /// Notes that a task waits for somebody. Returns the one that waits longest where there are more than `most`.
    pub(super) fn wait(&self, live: &Arc<Live>, most: usize) -> Option<Arc<Live>> {
        let mut waiting = lock(&self.waiting);
        if waiting.len() >= most {
            waiting.retain(|other| {
                let state = other.lock();
                !state.ended && state.status.state.is_interrupted() && !Arc::ptr_eq(other, live)
            });
        }
        waiting.push_back(live.clone());
        if waiting.len() > most.max(1) { waiting.pop_front() } else { None }
    }

    fn shard(&self, id: &str) -> MutexGuard<'_, HashMap<Arc<str>, Arc<Live>>> {
        // The end of an id varies most.
        let at = id.bytes().rev().take(4).fold(0_usize, |at, byte| at.wrapping_mul(31) ^ usize::from(byte));
        let [first, ..] = &self.shards;
        lock(self.shards.get(at % SHARDS).unwrap_or(first))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
