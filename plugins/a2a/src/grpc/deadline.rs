//! How long a caller waits (`grpc-timeout`).

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::{Duration, Instant},
};

use futures_core::Stream;
use http::HeaderMap;
use mas_contracts::{BoxFuture, Clock};
use tonic::Status;

use super::failures;
use crate::model::{Failure, ItemStream, Reason, StreamItem};

/// The header that says it.
pub(crate) const HEADER: &str = "grpc-timeout";

/// When a call ends, whatever has come of it.
#[derive(Clone)]
pub(super) struct Deadline {
    at: Option<Instant>,
    clock: Arc<dyn Clock>,
}

impl Deadline {
    /// Reads it: up to eight digits and a unit (gRPC over HTTP/2, `Timeout`).
    ///
    /// # Errors
    /// [`Reason::InvalidRequest`] for one that is no time.
    pub(super) fn of(headers: &HeaderMap, clock: &Arc<dyn Clock>) -> Result<Self, Failure> {
        let at = match headers.get(HEADER) {
            None => None,
            Some(value) => {
                let time = value.to_str().ok().and_then(time).ok_or_else(|| {
                    Failure::new(Reason::InvalidRequest, "`grpc-timeout` is no time such as `100m` or `5S`")
                })?;
                // One that no clock reaches is none.
                clock.now().checked_add(time)
            }
        };
        Ok(Self { at, clock: clock.clone() })
    }

    /// What came of a call in time.
    ///
    /// # Errors
    /// [`Reason::Timeout`] for one that is late.
    pub(super) async fn within<T>(
        &self,
        call: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        let Some(at) = self.at else { return call.await };
        tokio::select! {
            biased;
            done = call => done,
            () = self.clock.sleep_until(at) => Err(late()),
        }
    }

    /// A stream that breaks off when it is late; `write` makes its messages.
    pub(super) fn bounds(&self, items: ItemStream, write: fn(&StreamItem) -> Vec<u8>) -> Messages {
        let late = self.at.map(|at| self.clock.sleep_until(at));
        Messages { items: Some(items), late, write }
    }
}

/// The messages of a stream, until its deadline. Dropped, it drops what it reads.
pub(super) struct Messages {
    /// None at the end.
    items: Option<ItemStream>,
    late: Option<BoxFuture<'static, ()>>,
    write: fn(&StreamItem) -> Vec<u8>,
}

impl Stream for Messages {
    type Item = Result<Vec<u8>, Status>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        let Some(items) = &mut this.items else { return Poll::Ready(None) };
        if this.late.as_mut().is_some_and(|late| late.as_mut().poll(cx).is_ready()) {
            this.items = None;
            return Poll::Ready(Some(Err(failures::status(&late()))));
        }
        match items.as_mut().poll_next(cx) {
            Poll::Ready(Some(item)) => Poll::Ready(Some(Ok((this.write)(&item.item)))),
            Poll::Ready(None) => {
                this.items = None;
                Poll::Ready(None)
            }
            Poll::Pending => Poll::Pending,
        }
    }
}

fn late() -> Failure {
    Failure::new(Reason::Timeout, "the deadline of the call has passed; what it asked for may go on")
}

/// A time as the header says it, up to eight digits and a unit: milliseconds, or seconds where those are too many.
pub(crate) fn written(time: Duration) -> String {
    match time.as_millis() {
        millis @ 0..=99_999_999 => format!("{millis}m"),
        _ => format!("{}S", time.as_secs().min(99_999_999)),
    }
}

fn time(text: &str) -> Option<Duration> {
    let (unit, digits) = (text.chars().next_back()?, text.get(..text.len().checked_sub(1)?)?);
    if digits.is_empty() || digits.len() > 8 || !digits.bytes().all(|it| it.is_ascii_digit()) {
        return None;
    }
    let count: u64 = digits.parse().ok()?;
    Some(match unit {
        'H' => Duration::from_secs(count * 3_600),
        'M' => Duration::from_secs(count * 60),
        'S' => Duration::from_secs(count),
        'm' => Duration::from_millis(count),
        'u' => Duration::from_micros(count),
        'n' => Duration::from_nanos(count),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_they_are_read() {
        for millis in [0, 1, 1_500, 99_999_999] {
            let at = Duration::from_millis(millis);
            assert_eq!(time(&written(at)), Some(at));
        }
        assert_eq!(written(Duration::from_millis(100_000_999)), "100000S");
        assert_eq!(written(Duration::MAX), "99999999S");
    }

    #[test]
    fn times_are_digits_and_a_unit() {
        assert_eq!(time("2H"), Some(Duration::from_secs(7_200)));
        assert_eq!(time("3M"), Some(Duration::from_secs(180)));
        assert_eq!(time("99999999S"), Some(Duration::from_secs(99_999_999)));
        assert_eq!(time("100m"), Some(Duration::from_millis(100)));
        assert_eq!(time("5u"), Some(Duration::from_micros(5)));
        assert_eq!(time("0n"), Some(Duration::ZERO));
        for wrong in ["", "S", "5", "5s", "-1S", "1.5S", "123456789S", "5 S", "5é"] {
            assert_eq!(time(wrong), None, "{wrong}");
        }
    }
}
