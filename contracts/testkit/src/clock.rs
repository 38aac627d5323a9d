//! A clock that a test can pause, and ids that a test can predict.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use mas_contracts::{BoxFuture, Clock, Ids};

/// The calendar time at which every [`TokioClock`] begins: 2026-01-01T00:00:00Z.
const BEGINNING: Duration = Duration::from_secs(1_767_225_600);

/// The clock of the tokio runtime, so that `tokio::time::pause` and `advance` hold for it.
///
/// Calendar time begins at 2026-01-01T00:00:00Z when the clock is made and runs with the monotonic time.
#[derive(Clone, Debug)]
pub struct TokioClock {
    start: Instant,
}

impl TokioClock {
    /// A clock that begins now.
    #[must_use]
    pub fn new() -> Self {
        Self { start: tokio::time::Instant::now().into_std() }
    }

    /// A clock that begins now, as contexts want it.
    #[must_use]
    pub fn shared() -> Arc<dyn Clock> {
        Arc::new(Self::new())
    }
}

impl Default for TokioClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for TokioClock {
    fn now(&self) -> Instant {
        tokio::time::Instant::now().into_std()
    }

    fn unix_time(&self) -> Duration {
        BEGINNING + self.now().saturating_duration_since(self.start)
    }

    fn sleep_until(&self, at: Instant) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep_until(at.into()))
    }
}

/// Ids in sequence: `id-1`, `id-2`, …
#[derive(Debug)]
pub struct SeqIds {
    prefix: &'static str,
    last: AtomicU64,
}

impl SeqIds {
    /// Ids that begin with `prefix`: `prefix-1`, `prefix-2`, …
    #[must_use]
    pub fn new(prefix: &'static str) -> Self {
        Self { prefix, last: AtomicU64::new(0) }
    }
}

impl Default for SeqIds {
    fn default() -> Self {
        Self::new("id")
    }
}

impl Ids for SeqIds {
    fn next_id(&self) -> Arc<str> {
        let number = self.last.fetch_add(1, Relaxed) + 1;
        format!("{}-{number}", self.prefix).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_clock_follows_a_paused_runtime() {
        let clock = TokioClock::new();
        let (began, unix) = (clock.now(), clock.unix_time());
        clock.sleep_until(began + Duration::from_secs(3600)).await;
        assert_eq!(clock.now() - began, Duration::from_secs(3600));
        assert_eq!(clock.unix_time() - unix, Duration::from_secs(3600));
    }

    #[test]
    fn ids_count_up() {
        let ids = SeqIds::new("turn");
        assert_eq!([&*ids.next_id(), &*ids.next_id()], ["turn-1", "turn-2"]);
    }
}
