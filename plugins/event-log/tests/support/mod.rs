//! A build context for tests, on tokio's clock.

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use mas_contracts::{BoxFuture, BuildContext, Clock, Ids};

static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);

#[derive(Debug)]
pub(crate) struct TokioClock;

impl Clock for TokioClock {
    fn now(&self) -> Instant {
        tokio::time::Instant::now().into_std()
    }

    fn unix_time(&self) -> Duration {
        Duration::from_millis(1_764_000_000_250)
    }

    fn sleep_until(&self, at: Instant) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep_until(at.into()))
    }
}

impl Ids for TokioClock {
    fn next_id(&self) -> Arc<str> {
        format!("run-{}", NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed)).into()
    }
}

/// The testkit's, with a calendar and run ids that the expectations name.
pub(crate) fn build_context(base: &Path, env: &[(&str, &str)]) -> BuildContext {
    BuildContext {
        clock: Arc::new(TokioClock),
        ids: Arc::new(TokioClock),
        ..mas_testkit::build_context(base, env)
    }
}
