//! How long access is kept.

use std::time::Duration;

/// How long access is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expiry {
    /// How long before its end it is not used any more; default 30 s.
    pub skew: Duration,
    /// How long one is kept that does not say when it ends; default 60 s.
    pub ttl: Duration,
}

impl Default for Expiry {
    fn default() -> Self {
        Self { skew: Duration::from_secs(30), ttl: Duration::from_secs(60) }
    }
}

impl Expiry {
    /// Until when access is kept that ends at `ends`, as times since the Unix epoch; never before `now`.
    #[must_use]
    pub fn until(&self, ends: Option<Duration>, now: Duration) -> Duration {
        match ends {
            Some(ends) => ends.saturating_sub(self.skew).max(now),
            None => now.saturating_add(self.ttl),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn access_is_kept_until_shortly_before_its_end_or_for_a_while() {
        let (expiry, secs) = (Expiry::default(), Duration::from_secs);
        let cases =
            [(Some(1200), 1170), (Some(1030), 1000), (Some(1010), 1000), (Some(0), 1000), (None, 1060)];
        for (ends, until) in cases {
            assert_eq!(expiry.until(ends.map(secs), secs(1000)), secs(until), "{ends:?}");
        }
    }
}
