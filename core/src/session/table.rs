//! All sessions of a team.

use std::{
    array,
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use mas_contracts::SessionKey;

use super::Session;

const SHARDS: usize = 16;

/// Sessions by key, in shards; beyond its bound the idle ones unused for longest are forgotten.
#[derive(Debug)]
pub(crate) struct SessionTable {
    shards: [Mutex<HashMap<SessionKey, Arc<Session>>>; SHARDS],
    per_shard: usize,
    tick: AtomicU64,
}

impl SessionTable {
    /// A table of at most about `bound` sessions.
    pub(crate) fn new(bound: usize) -> Self {
        Self {
            shards: array::from_fn(|_| Mutex::default()),
            per_shard: bound.div_ceil(SHARDS).max(4),
            tick: AtomicU64::new(0),
        }
    }

    /// The session of this key, new if need be.
    pub(crate) fn open(&self, key: SessionKey) -> Arc<Session> {
        let tick = self.tick.fetch_add(1, Relaxed);
        let mut shard = self.shard(&key);
        if let Some(session) = shard.get(&key) {
            session.touch(tick);
            return session.clone();
        }
        if shard.len() >= self.per_shard {
            evict(&mut shard);
        }
        let session = Arc::new(Session::new(key.clone()));
        session.touch(tick);
        shard.insert(key, session.clone());
        session
    }

    /// The session of this key, if there is one.
    pub(crate) fn get(&self, key: &SessionKey) -> Option<Arc<Session>> {
        self.shard(key).get(key).cloned()
    }

    /// Forgets a session.
    pub(crate) fn remove(&self, key: &SessionKey) {
        self.shard(key).remove(key);
    }

    /// Forgets a session and every conversation below it.
    pub(crate) fn remove_below(&self, key: &SessionKey) {
        for shard in &self.shards {
            lock(shard).retain(|known, _| !key.covers(known));
        }
    }

    /// Every session.
    pub(crate) fn all(&self) -> Vec<Arc<Session>> {
        let shards = self.shards.iter();
        shards.flat_map(|shard| lock(shard).values().cloned().collect::<Vec<_>>()).collect()
    }

    fn shard(&self, key: &SessionKey) -> MutexGuard<'_, HashMap<SessionKey, Arc<Session>>> {
        let mut hasher = DefaultHasher::new();
        key.session.hash(&mut hasher);
        let at = usize::try_from(hasher.finish() % SHARDS as u64).unwrap_or_default();
        let [first, ..] = &self.shards;
        lock(self.shards.get(at).unwrap_or(first))
    }
}

fn lock(
    shard: &Mutex<HashMap<SessionKey, Arc<Session>>>,
) -> MutexGuard<'_, HashMap<SessionKey, Arc<Session>>> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Forgets the older half of the idle sessions; half at a time, so that the sweep is paid for by many opens.
fn evict(shard: &mut HashMap<SessionKey, Arc<Session>>) {
    let mut idle: Vec<(u64, SessionKey)> = shard
        .values()
        .filter(|session| Arc::strong_count(session) == 1 && session.is_idle())
        .map(|session| (session.used(), session.key().clone()))
        .collect();
    idle.sort_unstable_by_key(|(used, _)| *used);
    let half = idle.len().div_ceil(2);
    for (_, key) in idle.into_iter().take(half) {
        shard.remove(&key);
    }
}
