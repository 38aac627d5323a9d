//! Time and ids, handed in so that every limit is testable on a paused clock.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    sync::Arc,
    time::{Duration, Instant},
};

/// A boxed future that can move between threads.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Monotonic time, calendar time and waiting.
pub trait Clock: Send + Sync + fmt::Debug {
    /// Now, on the monotonic clock that deadlines use.
    fn now(&self) -> Instant;

    /// Now, since the Unix epoch.
    fn unix_time(&self) -> Duration;

    /// Waits until `at`; at once if it has passed.
    fn sleep_until(&self, at: Instant) -> BoxFuture<'static, ()>;
}

/// Makes ids for sessions, turns and messages.
pub trait Ids: Send + Sync + fmt::Debug {
    /// A fresh id, unique across processes; safe in URLs and file names.
    fn next_id(&self) -> Arc<str>;
}
