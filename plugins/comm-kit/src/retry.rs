//! Whether a request may be sent again, and when.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    time::{Duration, UNIX_EPOCH},
};

use mas_contracts::{CallContext, Error, ErrorKind, Result};

/// Whether a request with this status may be sent again: 408, 409, 429 and 5xx but 501 and 505.
#[must_use]
pub fn is_transient(status: u16) -> bool {
    matches!(status, 408 | 409 | 429 | 500 | 502..=504 | 506..=599)
}

/// Reads `Retry-After`: seconds, also with a fraction, or an HTTP date, which `unix_time` is subtracted from. A
/// date that has passed is no pause; what is neither is not there.
#[must_use]
pub fn retry_after(value: &str, unix_time: Duration) -> Option<Duration> {
    let value = value.trim();
    if value.starts_with(|c: char| c.is_ascii_digit()) {
        return value.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    }
    let at = httpdate::parse_http_date(value).ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(at.saturating_sub(unix_time))
}

/// How often a request is sent and how long the pauses are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policy {
    /// How often in all; 1 is once only.
    pub attempts: u32,
    /// The pause before the second attempt; each further one is twice as long.
    pub base: Duration,
    /// The longest pause of this side's choice.
    pub max: Duration,
}

impl Default for Policy {
    /// 4 attempts, half a second at first, 8 seconds at most.
    fn default() -> Self {
        Self { attempts: 4, base: Duration::from_millis(500), max: Duration::from_secs(8) }
    }
}

impl Policy {
    /// The pause after the failed attempt `attempt`, counted from 1.
    ///
    /// What the peer `asked` for is kept, and up to a tenth is added, so that those who were refused together do
    /// not come back together. Without it the pause doubles, and half of it is left to chance.
    #[must_use]
    pub fn pause(&self, attempt: u32, asked: Option<Duration>, jitter: &mut Jitter) -> Duration {
        match asked {
            Some(asked) => asked.saturating_add(asked.mul_f64(jitter.next() * 0.1)),
            None => {
                let doubled = 2u32.saturating_pow(attempt.saturating_sub(1));
                let full = self.base.saturating_mul(doubled).min(self.max);
                full.mul_f64(0.5 + jitter.next() * 0.5)
            }
        }
    }
}

/// Chance with a seed: the same call has the same pauses.
#[derive(Clone, Debug)]
pub struct Jitter(u64);

impl Jitter {
    /// The chance of one call: of its session, turn and number.
    #[must_use]
    pub fn of(cx: &CallContext) -> Self {
        let mut hasher = DefaultHasher::new();
        (&cx.scope().session, &cx.scope().turn, cx.call()).hash(&mut hasher);
        Self(hasher.finish())
    }

    /// The chance of a seed.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        Self(seed)
    }

    /// A number from 0 up to, but not, 1 (splitmix64).
    #[expect(clippy::should_implement_trait, reason = "an iterator would have an end")]
    pub fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let bits = u32::try_from((z ^ (z >> 31)) >> 32).unwrap_or(0);
        f64::from(bits) / 4_294_967_296.0
    }
}

/// Waits, and ends early on a cancel or at the deadline.
///
/// # Errors
/// [`ErrorKind::Cancelled`] after a cancel, [`ErrorKind::Timeout`] at the deadline.
pub async fn wait(cx: &CallContext, pause: Duration) -> Result<()> {
    let now = cx.clock().now();
    let end = now.checked_add(pause).filter(|end| *end < cx.deadline());
    tokio::select! {
        biased;
        reason = cx.cancel().cancelled() => Err(CallContext::stopped(reason)),
        () = cx.clock().sleep_until(end.unwrap_or(cx.deadline())) => match end {
            Some(_) => Ok(()),
            None => Err(Error::new(ErrorKind::Timeout, "the time for the call is spent")),
        },
    }
}

#[cfg(test)]
mod tests {
    use mas_contracts::CancelReason;
    use mas_testkit::CallContextBuilder;

    use super::*;

    #[test]
    fn what_may_be_sent_again() {
        let again: Vec<u16> = (200..600).filter(|status| is_transient(*status)).collect();
        assert!([408, 409, 429, 500, 502, 503, 504, 529, 599].iter().all(|status| again.contains(status)));
        assert!(
            [200, 301, 400, 401, 403, 404, 413, 422, 501, 505].iter().all(|status| !again.contains(status))
        );
    }

    #[test]
    fn retry_after_is_read_in_each_form() {
        // 2026-01-01T00:00:00Z
        let now = Duration::from_secs(1_767_225_600);
        let cases = [
            ("2", Some(2.0)),
            (" 0 ", Some(0.0)),
            ("1.5", Some(1.5)),
            ("99999", Some(99999.0)),
            ("Thu, 01 Jan 2026 00:00:10 GMT", Some(10.0)),
            ("Thursday, 01-Jan-26 00:00:10 GMT", Some(10.0)),
            ("Wed, 31 Dec 2025 23:00:00 GMT", Some(0.0)),
            ("-1", None),
            ("soon", None),
            ("", None),
            ("1e999", None),
            ("999999999999999999999999999999", None),
        ];
        for (text, expected) in cases {
            assert_eq!(retry_after(text, now), expected.map(Duration::from_secs_f64), "{text:?}");
        }
    }

    #[test]
    fn pauses_double_up_to_the_longest_and_follow_the_peer() {
        let policy = Policy::default();
        for seed in 0..100 {
            let jitter = &mut Jitter::seeded(seed);
            for (attempt, full) in [(1, 500), (2, 1000), (3, 2000), (5, 8000), (40, 8000), (u32::MAX, 8000)] {
                let pause = policy.pause(attempt, None, jitter);
                assert!(
                    pause >= Duration::from_millis(full) / 2 && pause <= Duration::from_millis(full),
                    "{pause:?}"
                );
            }
            let asked = Duration::from_secs(20);
            let pause = policy.pause(1, Some(asked), jitter);
            assert!(pause >= asked && pause <= asked.mul_f64(1.1), "{pause:?}");
        }
        let first = |seed| policy.pause(1, None, &mut Jitter::seeded(seed));
        assert_eq!(first(7), first(7));
        assert_ne!(first(7), first(8));
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_ends_in_time_on_a_cancel_and_at_the_deadline() {
        let cx = CallContextBuilder::new("a").timeout(Duration::from_secs(5)).build();
        let began = cx.clock().now();
        wait(&cx, Duration::from_secs(2)).await.unwrap();
        assert_eq!(cx.clock().now() - began, Duration::from_secs(2));
        assert_eq!(wait(&cx, Duration::MAX).await.unwrap_err().kind(), ErrorKind::Timeout);
        assert_eq!(cx.clock().now() - began, Duration::from_secs(5));
        cx.cancel().cancel(CancelReason::Requested);
        assert_eq!(wait(&cx, Duration::from_secs(2)).await.unwrap_err().kind(), ErrorKind::Cancelled);
    }
}
