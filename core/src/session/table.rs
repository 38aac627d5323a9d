//! All sessions of a team.

use std::{
    array,
    collections::{BTreeMap, HashMap, hash_map::Entry},
    hash::{DefaultHasher, Hash, Hasher},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use mas_contracts::SessionKey;

use super::Session;

const SHARDS: usize = 16;
/// How many sessions are looked at, at most, to make room for one.
const LOOKED_AT: usize = 8;

/// Sessions by key, in shards; beyond its bound the idle ones unused for longest are forgotten.
#[derive(Debug)]
pub(crate) struct SessionTable {
    shards: [Mutex<Shard>; SHARDS],
    per_shard: usize,
    tick: AtomicU64,
}

#[derive(Debug, Default)]
struct Shard {
    by_key: HashMap<SessionKey, Arc<Session>>,
    /// By the tick of their last use.
    by_use: BTreeMap<u64, Arc<Session>>,
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
        let mut guard = self.shard(&key);
        // Taken under the lock, so that the ticks of a shard are in order.
        let tick = self.tick.fetch_add(1, Relaxed);
        let shard = &mut *guard;
        if shard.by_key.len() + 1 == self.per_shard {
            // It grows for the traces of those that go when it is full, not on some later day.
            shard.by_key.reserve(self.per_shard + 1);
        }
        let session = match shard.by_key.entry(key) {
            Entry::Occupied(known) => {
                let session = known.get().clone();
                shard.by_use.remove(&session.used());
                session
            }
            Entry::Vacant(free) => {
                let session = Arc::new(Session::new(free.key().clone()));
                free.insert(session).clone()
            }
        };
        session.touch(tick);
        shard.by_use.insert(tick, session.clone());
        let gone = if shard.by_key.len() > self.per_shard {
            shard.evict(self.per_shard, &self.tick)
        } else {
            Vec::new()
        };
        drop(guard);
        drop(gone);
        session
    }

    /// The session of this key, if there is one.
    pub(crate) fn get(&self, key: &SessionKey) -> Option<Arc<Session>> {
        self.shard(key).by_key.get(key).cloned()
    }

    /// Forgets a session.
    pub(crate) fn remove(&self, key: &SessionKey) {
        let mut shard = self.shard(key);
        if let Some(session) = shard.by_key.remove(key) {
            shard.by_use.remove(&session.used());
        }
    }

    /// Forgets a session and every conversation below it.
    pub(crate) fn remove_below(&self, key: &SessionKey) {
        for shard in &self.shards {
            let mut shard = lock(shard);
            shard.by_key.retain(|known, _| !key.covers(known));
            shard.by_use.retain(|_, session| !key.covers(session.key()));
        }
    }

    /// Every session.
    pub(crate) fn all(&self) -> Vec<Arc<Session>> {
        let shards = self.shards.iter();
        shards.flat_map(|shard| lock(shard).by_key.values().cloned().collect::<Vec<_>>()).collect()
    }

    fn shard(&self, key: &SessionKey) -> MutexGuard<'_, Shard> {
        let mut hasher = DefaultHasher::new();
        key.session.hash(&mut hasher);
        let at = usize::try_from(hasher.finish() % SHARDS as u64).unwrap_or_default();
        let [first, ..] = &self.shards;
        lock(self.shards.get(at).unwrap_or(first))
    }
}

impl Shard {
    /// Forgets idle sessions beyond `most`, those unused for longest first; returns them, to be dropped by a caller
    /// that holds no lock any more. Of few at a time, so that what is let go of is what is needed next.
    fn evict(&mut self, most: usize, ticks: &AtomicU64) -> Vec<Arc<Session>> {
        let mut gone = Vec::new();
        for _ in 0..LOOKED_AT {
            if self.by_key.len() <= most {
                break;
            }
            let Some((_, session)) = self.by_use.pop_first() else { break };
            // Held by the other table and by this sweep, and by nobody who works with it.
            if Arc::strong_count(&session) == 2 && session.is_idle() {
                self.by_key.remove(session.key());
                gone.push(session);
            } else {
                let tick = ticks.fetch_add(1, Relaxed);
                session.touch(tick);
                self.by_use.insert(tick, session);
            }
        }
        gone
    }
}

fn lock(shard: &Mutex<Shard>) -> MutexGuard<'_, Shard> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(session: usize) -> SessionKey {
        SessionKey { owner: None, agent: "a".into(), session: session.to_string().into() }
    }

    fn kept(table: &SessionTable) -> usize {
        let by_use: usize = table.shards.iter().map(|shard| lock(shard).by_use.len()).sum();
        assert_eq!(by_use, table.all().len());
        by_use
    }

    #[test]
    fn the_session_that_is_unused_for_longest_goes_first_and_one_that_is_held_stays() {
        let table = SessionTable::new(SHARDS * 4);
        let held = table.open(key(0));
        table.open(key(1));
        for session in 2..2000 {
            table.open(key(session));
            // Used again and again, so never the one unused for longest.
            table.open(key(1));
        }
        assert!(Arc::ptr_eq(&held, &table.get(&key(0)).expect("it is held")));
        assert!(table.get(&key(1)).is_some(), "it is used all the time");
        assert!(table.get(&key(2)).is_none());
        assert!(table.get(&key(1999)).is_some());
        assert!((SHARDS * 3..=SHARDS * 4).contains(&kept(&table)), "{}", kept(&table));
    }

    #[test]
    fn sessions_beyond_the_bound_stay_while_they_are_held_and_go_after_that() {
        let table = SessionTable::new(SHARDS * 4);
        let held: Vec<_> = (0..1000).map(|session| table.open(key(session))).collect();
        assert_eq!(kept(&table), 1000);
        drop(held);
        for session in 1000..2000 {
            table.open(key(session));
        }
        assert!(kept(&table) <= SHARDS * 4, "{}", kept(&table));
    }

    #[test]
    fn what_is_forgotten_is_in_no_table() {
        let table = SessionTable::new(64);
        let first = table.open(key(1));
        table.remove(&key(1));
        assert_eq!(kept(&table), 0);
        assert!(!Arc::ptr_eq(&first, &table.open(key(1))));
        table.remove_below(&key(1));
        assert_eq!(kept(&table), 0);
    }
}
