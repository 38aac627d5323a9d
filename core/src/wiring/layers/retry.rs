//! `retry`: sends again what was not executed.

use std::time::{Duration, Instant};

use async_trait::async_trait;
use mas_contracts::{
    CallContext, Delivery, Error, ErrorKind, Outbound, Peer, Reply, Result, Retry as Advice,
};
use sha2::{Digest, Sha256};

use super::{Layer, Next, OPEN, settings::RetrySettings, shown, wait};

/// Sends again, as the same message, where that cannot execute it twice and may help.
pub(super) struct Again {
    settings: RetrySettings,
}

impl Again {
    pub(super) fn new(settings: RetrySettings) -> Self {
        Self { settings }
    }

    /// When the next attempt begins.
    fn at(&self, now: Instant, error: &Error, attempt: u32, id: &str) -> Option<Instant> {
        let pause = pause(&self.settings, attempt, jitter(id, attempt));
        let pause = match error.retry() {
            Advice::After(asked) => pause.max(asked),
            _ => pause,
        };
        now.checked_add(pause)
    }
}

#[async_trait]
impl Layer for Again {
    async fn send(&self, cx: &CallContext, to: &Peer, message: Outbound, next: Next<'_>) -> Result<Reply> {
        let dedupes = next.comm.capability().dedupes;
        let mut delivery = Delivery::NotSent;
        let mut attempt = 1;
        loop {
            let error = match (Next { attempt, ..next }).send(cx, to, message.clone()).await {
                Ok(reply) => return Ok(reply),
                Err(error) => error,
            };
            // What one attempt may have executed, none after it takes back.
            delivery = if delivery == Delivery::Unknown { delivery } else { error.delivery() };
            let last = |error: Error| match attempt {
                1 => error,
                _ => error.with_delivery(delivery).with("attempts", attempt),
            };
            if attempt >= self.settings.attempts || next.is_closed() || !may_help(&error, dedupes) {
                return Err(last(error));
            }
            let now = cx.clock().now();
            let at = self.at(now, &error, attempt, &message.message_id);
            let Some(at) = at.filter(|at| *at < cx.deadline()) else {
                return Err(
                    last(error).with("not sent again", "the next attempt would begin after the deadline")
                );
            };
            let pause = shown(at.saturating_duration_since(now));
            tracing::info!(peer = %to.id, attempt, code = %error.code(), "It is sent again in {pause}.");
            wait(cx, at, delivery).await?;
            attempt += 1;
        }
    }
}

/// Whether sending again cannot execute it twice, and another answer may come.
fn may_help(error: &Error, dedupes: bool) -> bool {
    // Once its time is over the peer is told to stop: the same message would only find what was stopped.
    let known = dedupes && error.delivery() == Delivery::Unknown && error.kind() != ErrorKind::Timeout;
    if !(error.may_resend() || known) || error.code() == OPEN {
        return false;
    }
    match error.retry() {
        Advice::Never => false,
        Advice::Backoff | Advice::After(_) => error.kind() != ErrorKind::Cancelled,
        Advice::Unstated => {
            matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::RateLimited | ErrorKind::Timeout)
        }
    }
}

/// The pause after an attempt: the first one doubled with each, up to the longest; `jitter` takes up to half of it.
fn pause(settings: &RetrySettings, attempt: u32, jitter: f64) -> Duration {
    let doubled = settings.backoff.saturating_mul(1 << attempt.saturating_sub(1).min(20));
    doubled.min(settings.max_backoff).mul_f64(1.0 - jitter / 2.0)
}

/// A number from 0 to 1, the same for the same message and attempt: messages that fail together come back apart.
fn jitter(id: &str, attempt: u32) -> f64 {
    let digest = Sha256::new().chain_update(id).chain_update(attempt.to_le_bytes()).finalize();
    let bytes = digest.first_chunk::<4>().copied().unwrap_or_default();
    f64::from(u32::from_le_bytes(bytes)) / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest_and_lose_at_most_half() {
        let settings = RetrySettings::default();
        let pauses = |jitter| [1, 2, 5, 6, 40].map(|attempt| pause(&settings, attempt, jitter).as_millis());
        assert_eq!(pauses(0.0), [200, 400, 3200, 5000, 5000]);
        assert_eq!(pauses(1.0), [100, 200, 1600, 2500, 2500]);
    }

    #[test]
    fn the_same_message_waits_the_same_and_others_do_not() {
        assert_eq!(jitter("t.c1", 1).to_bits(), jitter("t.c1", 1).to_bits());
        let mut seen: Vec<f64> = (0..100).map(|n| jitter(&format!("t.c{n}"), 1)).collect();
        assert!(seen.iter().all(|jitter| (0.0..=1.0).contains(jitter)));
        seen.sort_by(f64::total_cmp);
        seen.dedup();
        assert_eq!(seen.len(), 100);
        assert_ne!(jitter("t.c1", 1).to_bits(), jitter("t.c1", 2).to_bits());
    }

    #[test]
    fn what_may_have_been_executed_or_cannot_help_is_not_sent_again() {
        use Delivery::{Answered, NotSent, Rejected, Unknown};
        let error = |kind, delivery| Error::new(kind, "x").with_delivery(delivery);
        let gone = |delivery| error(ErrorKind::Unavailable, delivery);
        for (error, plain, deduped) in [
            (gone(NotSent), true, true),
            (gone(Rejected), true, true),
            (gone(Unknown), false, true),
            (gone(Answered), false, false),
            (error(ErrorKind::Timeout, NotSent), true, true),
            (error(ErrorKind::Timeout, Unknown), false, false),
            (error(ErrorKind::RateLimited, Rejected), true, true),
            (error(ErrorKind::Rejected, Rejected), false, false),
            (error(ErrorKind::Rejected, Rejected).with_retry(Advice::Backoff), true, true),
            (error(ErrorKind::Invalid, NotSent), false, false),
            (error(ErrorKind::Unauthenticated, Rejected), false, false),
            (error(ErrorKind::Cancelled, NotSent).with_retry(Advice::Backoff), false, false),
            (gone(NotSent).with_retry(Advice::Never), false, false),
            (gone(NotSent).with_code(OPEN), false, false),
        ] {
            assert_eq!((may_help(&error, false), may_help(&error, true)), (plain, deduped), "{error:?}");
        }
    }
}
