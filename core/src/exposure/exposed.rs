//! What listens.

use std::time::Duration;

use futures_util::future::join_all;
use mas_contracts::{Error, Exposure, Served};

/// Every bound group. Dropped, it stops listening at once.
pub struct Exposed(Vec<Box<dyn Exposure>>);

impl Exposed {
    pub(super) fn new(exposures: Vec<Box<dyn Exposure>>) -> Self {
        Self(exposures)
    }

    /// What is served, the entry agent first.
    #[must_use]
    pub fn served(&self) -> Vec<Served> {
        self.0.iter().flat_map(|exposure| exposure.served()).collect()
    }

    /// Stops accepting everywhere, lets running work end within `limit`, then stops what is left. Returns what
    /// could not be stopped in order.
    pub async fn close(self, limit: Duration) -> Vec<Error> {
        let closed = join_all(self.0.iter().map(|exposure| exposure.close(limit))).await;
        closed.into_iter().filter_map(Result::err).collect()
    }
}
