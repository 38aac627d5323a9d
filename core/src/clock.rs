//! The clock and the ids of a running program.

use std::{
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use mas_contracts::{BoxFuture, Clock, Ids};

/// Tokio's clock: it pauses with the runtime's test mode, and so does every limit that reads it.
#[derive(Clone, Copy, Debug, Default)]
pub struct TokioClock;

impl Clock for TokioClock {
    fn now(&self) -> Instant {
        tokio::time::Instant::now().into_std()
    }

    fn unix_time(&self) -> Duration {
        SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
    }

    fn sleep_until(&self, at: Instant) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep_until(at.into()))
    }
}

/// UUIDs of version 7: unique across processes and sortable by time.
#[derive(Clone, Copy, Debug, Default)]
pub struct RandomIds;

impl Ids for RandomIds {
    fn next_id(&self) -> Arc<str> {
        let mut buffer = [0; uuid::fmt::Hyphenated::LENGTH];
        let text: &str = uuid::Uuid::now_v7().hyphenated().encode_lower(&mut buffer);
        text.into()
    }
}
