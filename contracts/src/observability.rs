//! `observability`: receives the events of every turn; never blocks one.

use async_trait::async_trait;

use crate::{Event, Result};

/// A receiver of events.
#[async_trait]
pub trait ObservabilityContract: Send + Sync {
    /// Takes one event, in order per turn. It does not block: what takes time happens elsewhere, behind a bound.
    fn observe(&self, event: &Event);

    /// Writes out what is pending.
    ///
    /// # Errors
    /// What could not be written.
    async fn flush(&self) -> Result<()>;
}
