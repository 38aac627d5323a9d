//! A transport that does not wait for ever for the next byte.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use mas_contracts::{Clock, Delivery, Error, ErrorKind, Result, Retry};

use super::{Body, Request, Response, Transport, shown};
use crate::phases::{RequestLimits, seconds};

/// A transport whose answers may not be silent for longer than [`RequestLimits::read`]: neither before their head, where
/// connecting comes on top, nor between two pieces of the body. How long a whole call takes is [`ask`](super::ask)'s.
pub struct Patient<'a> {
    inner: &'a dyn Transport,
    clock: Arc<dyn Clock>,
    limits: RequestLimits,
}

impl<'a> Patient<'a> {
    /// `inner`, with these limits.
    #[must_use]
    pub fn new(inner: &'a dyn Transport, clock: Arc<dyn Clock>, limits: RequestLimits) -> Self {
        Self { inner, clock, limits }
    }
}

#[async_trait]
impl Transport for Patient<'_> {
    async fn send(&self, request: &Request) -> Result<Response> {
        let RequestLimits { connect, read, .. } = self.limits;
        let head = within(&*self.clock, connect.saturating_add(read), self.inner.send(request)).await;
        let place = request.secrets().scrub(&shown(&request.url)).into_owned();
        let Some(answer) = head else { return Err(silent(&place, read)) };
        let answer = answer?;
        let (status, headers) = (answer.status(), answer.headers().to_vec());
        let body = Paced { answer, clock: self.clock.clone(), read, place };
        Ok(Response::new(status, headers, Box::new(body)))
    }
}

struct Paced {
    answer: Response,
    clock: Arc<dyn Clock>,
    read: Duration,
    place: String,
}

#[async_trait]
impl Body for Paced {
    async fn chunk(&mut self) -> Result<Option<Bytes>> {
        let next = within(&*self.clock, self.read, self.answer.chunk()).await;
        next.unwrap_or_else(|| Err(silent(&self.place, self.read)))
    }
}

async fn within<T>(clock: &dyn Clock, limit: Duration, work: impl Future<Output = T> + Send) -> Option<T> {
    // A limit that no clock has is none.
    let Some(end) = clock.now().checked_add(limit) else { return Some(work.await) };
    tokio::select! {
        biased;
        done = work => Some(done),
        () = clock.sleep_until(end) => None,
    }
}

fn silent(place: &str, limit: Duration) -> Error {
    let text = format!("`{place}` was silent for {} s", seconds(limit));
    Error::new(ErrorKind::Timeout, text)
        .with_code("mas::http::timeout")
        .with_delivery(Delivery::Unknown)
        .with_retry(Retry::Backoff)
}
