//! `rate_limit`: sends take turns, so that no more of them begin than the peer allows.

use std::{
    collections::BTreeSet,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use async_trait::async_trait;
use mas_contracts::{CallContext, Delivery, Error, ErrorKind, Outbound, Peer, Reply, Result, Retry};

use super::{Layer, Next, settings::RateSettings, shown, wait};
use crate::turn::OnDrop;

/// The turns of an endpoint, first come, first served.
pub(super) struct Turns {
    settings: RateSettings,
    schedule: Mutex<Schedule>,
}

impl Turns {
    pub(super) fn new(settings: RateSettings) -> Self {
        Self { settings, schedule: Mutex::new(Schedule::default()) }
    }

    fn lock(&self) -> MutexGuard<'_, Schedule> {
        self.schedule.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Layer for Turns {
    async fn send(&self, cx: &CallContext, to: &Peer, message: Outbound, next: Next<'_>) -> Result<Reply> {
        let now = cx.clock().now();
        let taken = self.lock().take(&self.settings, now, cx.deadline());
        let at = taken.map_err(|at| {
            let begins = at.saturating_duration_since(now);
            let message = format!(
                "`{}` is sent {}: the next turn is in {}, and the deadline in {}",
                to.id,
                self.settings,
                shown(begins),
                shown(cx.remaining()),
            );
            Error::new(ErrorKind::RateLimited, message)
                .with_code("mas::layers::rate_limit")
                .with_retry(Retry::After(begins))
        })?;
        if at > now {
            // Whoever stops waiting leaves the turn to somebody else.
            let given_back = OnDrop::new(|| self.lock().give_back(at));
            wait(cx, at, Delivery::NotSent).await?;
            given_back.disarm();
        }
        next.send(cx, to, message).await
    }
}

/// Turns at equal distances, of which a burst may come at once; without a clock of its own.
#[derive(Debug, Default)]
struct Schedule {
    /// When all that was taken is made up for.
    even: Option<Instant>,
    /// Turns to come that were given back.
    free: BTreeSet<Instant>,
}

impl Schedule {
    /// Takes the next turn that begins before `deadline`; without one, says when it would.
    fn take(
        &mut self,
        settings: &RateSettings,
        now: Instant,
        deadline: Instant,
    ) -> std::result::Result<Instant, Instant> {
        self.free.retain(|at| *at > now);
        if let Some(at) = self.free.first().copied() {
            if at >= deadline {
                return Err(at);
            }
            self.free.remove(&at);
            return Ok(at);
        }
        let interval = settings.interval();
        let even = self.even.map_or(now, |even| even.max(now));
        let ahead = interval.saturating_mul(settings.burst.saturating_sub(1));
        let at = even.checked_sub(ahead).map_or(now, |at| at.max(now));
        if at > now && at >= deadline {
            return Err(at);
        }
        self.even = Some(even.checked_add(interval).unwrap_or(even));
        Ok(at)
    }

    fn give_back(&mut self, at: Instant) {
        self.free.insert(at);
    }
}

impl std::fmt::Display for RateSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let what = if (self.requests_per_minute - 1.0).abs() < f64::EPSILON { "message" } else { "messages" };
        write!(f, "{} {what} a minute", self.requests_per_minute)?;
        match self.burst {
            1 => Ok(()),
            burst => write!(f, ", {burst} at once"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    struct Played(Schedule, RateSettings, Instant);

    impl Played {
        fn new(burst: u32) -> Self {
            let settings = RateSettings { requests_per_minute: 60.0, burst };
            Self(Schedule::default(), settings, Instant::now())
        }

        /// When a turn that is asked for at second `now` begins; the error if it is not before second `until`.
        fn take(&mut self, now: u32, until: u32) -> std::result::Result<f64, f64> {
            let second = |at: Instant| at.duration_since(self.2).as_secs_f64();
            let taken = self.0.take(&self.1, self.2 + SECOND * now, self.2 + SECOND * until);
            taken.map(second).map_err(second)
        }
    }

    #[test]
    fn turns_are_apart_and_those_not_used_do_not_pile_up() {
        let mut played = Played::new(1);
        assert_eq!([0, 0, 0].map(|now| played.take(now, 99)), [Ok(0.0), Ok(1.0), Ok(2.0)]);
        assert_eq!([50, 50].map(|now| played.take(now, 99)), [Ok(50.0), Ok(51.0)]);
    }

    #[test]
    fn a_burst_comes_at_once_and_fills_up_again() {
        let mut played = Played::new(3);
        assert_eq!([0; 5].map(|now| played.take(now, 99)), [Ok(0.0), Ok(0.0), Ok(0.0), Ok(1.0), Ok(2.0)]);
        assert_eq!([4; 3].map(|now| played.take(now, 99)), [Ok(4.0), Ok(4.0), Ok(5.0)]);
        assert_eq!([90; 4].map(|now| played.take(now, 99)), [Ok(90.0), Ok(90.0), Ok(90.0), Ok(91.0)]);
    }

    #[test]
    fn a_turn_after_the_deadline_is_not_taken() {
        let mut played = Played::new(1);
        assert_eq!([0, 0].map(|now| played.take(now, 2)), [Ok(0.0), Ok(1.0)]);
        assert_eq!(played.take(0, 2), Err(2.0));
        assert_eq!(played.take(0, 3), Ok(2.0), "the one that did not fit took nothing");
    }

    #[test]
    fn a_turn_that_is_given_back_is_somebody_elses() {
        let mut played = Played::new(1);
        assert_eq!([0, 0, 0].map(|now| played.take(now, 99)), [Ok(0.0), Ok(1.0), Ok(2.0)]);
        let start = played.2;
        played.0.give_back(start + SECOND);
        assert_eq!([0, 0].map(|now| played.take(now, 99)), [Ok(1.0), Ok(3.0)]);
        played.0.give_back(start + 2 * SECOND);
        assert_eq!(played.take(2, 99), Ok(4.0), "the one whose time has come is gone");
    }
}
