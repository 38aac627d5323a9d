//! Access within the process.

use std::{
    collections::HashMap,
    fmt,
    hash::Hash,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
    time::Duration,
};

use mas_contracts::{Clock, Error, Result};

use super::Expiry;

/// What a lookup led to.
#[derive(Debug)]
pub enum Lookup<V> {
    /// Access, and when it ends as a time since the Unix epoch, if it says so.
    Granted(V, Option<Duration>),
    /// None, and everybody who waits for this lookup is told the same.
    Refused(Error),
    /// None, for a reason that is the caller's alone, such as its time: the next one who waits looks up anew.
    GaveUp(Error),
}

/// Access by key. However many ask for a key at once, one lookup is made.
pub struct AccessCache<K, V> {
    clock: Arc<dyn Clock>,
    expiry: Expiry,
    most: usize,
    slots: Mutex<HashMap<K, Arc<Slot<V>>>>,
}

struct Slot<V> {
    kept: Mutex<Option<Kept<V>>>,
    /// Held by who looks up.
    flight: tokio::sync::Mutex<()>,
    /// How many lookups were refused, and how the last one was.
    refusals: AtomicU64,
    refused: Mutex<Option<Error>>,
}

struct Kept<V> {
    value: Arc<V>,
    until: Duration,
}

impl<V> Slot<V> {
    fn kept(&self, now: Duration) -> Option<Arc<V>> {
        let kept = lock(&self.kept);
        kept.as_ref().filter(|kept| kept.until > now).map(|kept| kept.value.clone())
    }
}

impl<K: Clone + Eq + Hash, V> AccessCache<K, V> {
    /// A cache of `most` keys at most; those that are kept for the shortest time go first.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>, expiry: Expiry, most: usize) -> Self {
        Self { clock, expiry, most: most.max(1), slots: Mutex::default() }
    }

    /// The access that is kept for `key`, else what a lookup gives. Dropping the future leaves the lookup to the next
    /// one who waits.
    ///
    /// # Errors
    /// Those of the lookup.
    pub async fn get(&self, key: &K, lookup: impl Future<Output = Lookup<V>> + Send) -> Result<Arc<V>> {
        let slot = self.slot(key);
        let before = slot.refusals.load(SeqCst);
        if let Some(value) = slot.kept(self.clock.unix_time()) {
            return Ok(value);
        }
        let _flight = slot.flight.lock().await;
        if let Some(value) = slot.kept(self.clock.unix_time()) {
            return Ok(value);
        }
        if slot.refusals.load(SeqCst) > before
            && let Some(error) = lock(&slot.refused).clone()
        {
            return Err(error);
        }
        match lookup.await {
            Lookup::Granted(value, ends) => {
                let value = Arc::new(value);
                let until = self.expiry.until(ends, self.clock.unix_time());
                *lock(&slot.kept) = Some(Kept { value: value.clone(), until });
                Ok(value)
            }
            Lookup::Refused(error) => {
                *lock(&slot.refused) = Some(error.clone());
                slot.refusals.fetch_add(1, SeqCst);
                Err(error)
            }
            Lookup::GaveUp(error) => Err(error),
        }
    }

    /// Forgets the access of `key` if it is still this `value`.
    pub fn drop_value(&self, key: &K, value: &Arc<V>) {
        if let Some(slot) = lock(&self.slots).get(key) {
            lock(&slot.kept).take_if(|kept| Arc::ptr_eq(&kept.value, value));
        }
    }

    fn slot(&self, key: &K) -> Arc<Slot<V>> {
        let mut slots = lock(&self.slots);
        if let Some(slot) = slots.get(key) {
            return slot.clone();
        }
        if slots.len() >= self.most {
            evict(&mut slots, self.most, self.clock.unix_time());
        }
        let slot = Arc::new(Slot {
            kept: Mutex::default(),
            flight: tokio::sync::Mutex::default(),
            refusals: AtomicU64::default(),
            refused: Mutex::default(),
        });
        slots.insert(key.clone(), slot.clone());
        slot
    }
}

/// Makes room for one more. Keys in use stay, for a second lookup would be made for them.
fn evict<K: Clone + Eq + Hash, V>(slots: &mut HashMap<K, Arc<Slot<V>>>, most: usize, now: Duration) {
    slots.retain(|_, slot| Arc::strong_count(slot) > 1 || slot.kept(now).is_some());
    while slots.len() >= most {
        let idle = slots.iter().filter(|(_, slot)| Arc::strong_count(slot) == 1);
        let until = |slot: &Slot<V>| lock(&slot.kept).as_ref().map(|kept| kept.until);
        let Some(first) = idle.min_by_key(|(_, slot)| until(slot)).map(|(key, _)| key.clone()) else {
            return;
        };
        slots.remove(&first);
    }
}

impl<K, V> fmt::Debug for AccessCache<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccessCache").field("expiry", &self.expiry).finish_non_exhaustive()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use mas_contracts::ErrorKind;
    use mas_testkit::TokioClock;

    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    fn cache(most: usize) -> (AccessCache<&'static str, u64>, Arc<dyn Clock>) {
        let clock = TokioClock::shared();
        (AccessCache::new(clock.clone(), Expiry::default(), most), clock)
    }

    async fn granted(value: u64, ends: Option<Duration>) -> Lookup<u64> {
        Lookup::Granted(value, ends)
    }

    async fn pass(clock: &dyn Clock, time: Duration) {
        clock.sleep_until(clock.now() + time).await;
    }

    #[tokio::test(start_paused = true)]
    async fn access_is_kept_as_long_as_it_holds() {
        let (cache, clock) = cache(8);
        let ends = Some(clock.unix_time() + MINUTE);
        assert_eq!(*cache.get(&"a", granted(1, ends)).await.unwrap(), 1);
        pass(&*clock, Duration::from_secs(29)).await;
        assert_eq!(*cache.get(&"a", granted(2, ends)).await.unwrap(), 1);
        pass(&*clock, Duration::from_secs(1)).await;
        assert_eq!(*cache.get(&"a", granted(2, ends)).await.unwrap(), 2, "30 s before its end");
        assert_eq!(
            *cache.get(&"a", granted(3, None)).await.unwrap(),
            3,
            "an almost expired one is not reused"
        );
        pass(&*clock, Duration::from_secs(59)).await;
        assert_eq!(*cache.get(&"a", granted(4, None)).await.unwrap(), 3);
        pass(&*clock, Duration::from_secs(1)).await;
        assert_eq!(*cache.get(&"a", granted(5, None)).await.unwrap(), 5);
    }

    #[tokio::test(start_paused = true)]
    async fn a_hundred_who_ask_at_once_make_one_lookup() {
        let (cache, clock) = cache(8);
        let (cache, made) = (Arc::new(cache), Arc::new(AtomicUsize::new(0)));
        let asking = (0..100).map(|_| {
            let (cache, clock, made) = (cache.clone(), clock.clone(), made.clone());
            tokio::spawn(async move {
                let lookup = async {
                    made.fetch_add(1, SeqCst);
                    pass(&*clock, MINUTE).await;
                    Lookup::Granted(7, None)
                };
                cache.get(&"a", lookup).await.map(|value| *value)
            })
        });
        for asked in asking.collect::<Vec<_>>() {
            assert_eq!(asked.await.unwrap().unwrap(), 7);
        }
        assert_eq!(made.load(SeqCst), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_refusal_is_for_all_who_wait_and_a_caller_that_gives_up_is_not() {
        let (cache, clock) = cache(8);
        let made = AtomicUsize::new(0);
        let (cache, clock, made) = (&cache, &clock, &made);
        let ask = |end: fn(Error) -> Lookup<u64>| {
            cache.get(&"a", async move {
                made.fetch_add(1, SeqCst);
                pass(&**clock, MINUTE).await;
                end(Error::new(ErrorKind::Unavailable, "asleep"))
            })
        };
        let (first, second) = tokio::join!(ask(Lookup::Refused), ask(Lookup::Refused));
        assert_eq!((first.unwrap_err(), made.load(SeqCst)), (second.unwrap_err(), 1));
        assert!(ask(Lookup::Refused).await.is_err());
        assert_eq!(made.load(SeqCst), 2, "whoever asks later asks anew");
        let (first, second) = tokio::join!(ask(Lookup::GaveUp), cache.get(&"a", granted(3, None)));
        assert!(first.is_err());
        assert_eq!(*second.unwrap(), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn a_dropped_lookup_is_taken_over() {
        let (cache, _) = cache(8);
        let stuck = cache.get(&"a", std::future::pending());
        assert!(tokio::time::timeout(MINUTE, stuck).await.is_err());
        assert_eq!(*cache.get(&"a", granted(1, None)).await.unwrap(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn only_the_access_that_was_refused_is_dropped() {
        let (cache, _) = cache(8);
        let old = cache.get(&"a", granted(1, None)).await.unwrap();
        cache.drop_value(&"a", &old);
        let new = cache.get(&"a", granted(2, None)).await.unwrap();
        cache.drop_value(&"a", &old);
        cache.drop_value(&"b", &old);
        assert!(Arc::ptr_eq(&new, &cache.get(&"a", granted(3, None)).await.unwrap()));
    }

    #[tokio::test(start_paused = true)]
    async fn the_cache_is_bounded() {
        let (cache, clock) = cache(2);
        let ends = |minutes: u32| Some(clock.unix_time() + MINUTE * minutes);
        cache.get(&"long", granted(1, ends(9))).await.unwrap();
        cache.get(&"short", granted(2, ends(5))).await.unwrap();
        cache.get(&"new", granted(3, ends(7))).await.unwrap();
        assert_eq!(lock(&cache.slots).len(), 2);
        assert_eq!(*cache.get(&"long", granted(9, None)).await.unwrap(), 1);
        assert_eq!(*cache.get(&"short", granted(9, None)).await.unwrap(), 9);
        assert_eq!(lock(&cache.slots).len(), 2);
    }
}
