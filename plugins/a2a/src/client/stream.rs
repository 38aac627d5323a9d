//! The updates of a stream.

use std::{
    collections::VecDeque,
    sync::Arc,
    time::{Duration, Instant},
};

use async_trait::async_trait;
use futures_util::StreamExt;
use mas_comm_kit::{
    http::{Request, Response},
    sse::{Decoder, Event},
    turn::{self, Heard, Updates as _},
};
use mas_contracts::{Clock, Error, Result};

use super::{Update, call::ends, exchange::Exchange, failure, grpc::Events, read, wire};
use crate::{http::Tongue, model::StreamItem};

/// The updates of a stream, in order; it ends with the task, or where it is cut. A call takes no longer than the limit
/// that the stream was opened with.
pub struct Updates {
    stream: Stream,
    clock: Arc<dyn Clock>,
    deadline: Instant,
    timeout: Duration,
}

impl Updates {
    pub(super) fn new(stream: Stream, clock: Arc<dyn Clock>, timeout: Duration) -> Self {
        let now = clock.now();
        let deadline = now.checked_add(timeout).unwrap_or(now);
        Self { stream, clock, deadline, timeout }
    }

    /// The next update; none at the end.
    ///
    /// # Errors
    /// That the stream was cut off, that an update cannot be read, or that the time is over.
    pub async fn next(&mut self) -> Result<Option<Update>> {
        loop {
            let late = self.clock.sleep_until(self.deadline);
            let heard = tokio::select! {
                biased;
                heard = self.stream.next() => heard?,
                () = late => return Err(wire::late_by(self.timeout)),
            };
            match heard {
                None => return Ok(None),
                Some(Heard::Update(update)) => return Ok(Some(update)),
                Some(Heard::Alive) => {}
            }
        }
    }

    /// Whether the stream ended where the protocol says so, not where a connection was cut.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.stream.whole
    }
}

/// What comes over a stream, without a limit of time.
pub(crate) struct Stream {
    source: Option<Source>,
    ready: VecDeque<StreamItem>,
    /// What went wrong after what is ready.
    failed: Option<Error>,
    whole: bool,
}

enum Source {
    Http(Box<Http>),
    Grpc(Box<Events>),
}

/// A stream of server-sent events.
pub(super) struct Http {
    pub(super) request: Request,
    pub(super) response: Response,
    pub(super) decoder: Decoder,
    pub(super) tongue: Tongue,
    /// Whether JSON-RPC is spoken.
    pub(super) rpc: bool,
    pub(super) clock: Arc<dyn Clock>,
}

impl Stream {
    pub(super) fn of_http(http: Http) -> Self {
        Self::of(Some(Source::Http(Box::new(http))), VecDeque::new())
    }

    pub(super) fn of_grpc(events: Events) -> Self {
        Self::of(Some(Source::Grpc(Box::new(events))), VecDeque::new())
    }

    /// A stream of an agent that answers with the whole at once.
    pub(super) fn once(item: StreamItem) -> Self {
        Self { whole: true, ..Self::of(None, VecDeque::from([item])) }
    }

    fn of(source: Option<Source>, ready: VecDeque<StreamItem>) -> Self {
        Self { source, ready, failed: None, whole: false }
    }
}

#[async_trait]
impl turn::Updates for Stream {
    async fn next(&mut self) -> Result<Option<Heard>> {
        if self.ready.is_empty()
            && let Some(source) = &mut self.source
        {
            // What was read stands in `self` before anything else is waited for.
            let more = match source {
                Source::Http(http) => http.more(&mut self.ready).await,
                Source::Grpc(events) => match events.next().await {
                    Some(Ok(item)) => {
                        self.ready.extend(item);
                        Ok(true)
                    }
                    Some(Err(error)) => Err(error),
                    None => Ok(false),
                },
            };
            if !matches!(more, Ok(true)) {
                self.source = None;
            }
            self.failed = more.err();
        }
        match (self.ready.pop_front(), self.failed.take()) {
            (Some(item), failed) => {
                self.failed = failed;
                self.whole |= ends(&item);
                Ok(Some(Heard::Update(item.into())))
            }
            (None, Some(failed)) => Err(failed),
            (None, None) => Ok(self.source.as_ref().map(|_| Heard::Alive)),
        }
    }
}

impl Http {
    /// Reads on, and says whether there was more. What came before an error is ready.
    async fn more(&mut self, ready: &mut VecDeque<StreamItem>) -> Result<bool> {
        let mut events = Vec::new();
        let Some(chunk) = self.response.chunk().await? else {
            // A server that ends without the blank line has said its last event all the same, if it is whole.
            let rest = self.decoder.rest();
            ready.extend(rest.and_then(|event| self.item(&event).ok()).flatten());
            return Ok(false);
        };
        let pushed = self.decoder.push(&chunk, &mut events);
        for event in &events {
            ready.extend(self.item(event)?);
        }
        pushed.map(|()| true)
    }

    fn item(&self, event: &Event) -> Result<Option<StreamItem>> {
        let Self { request, response, clock, .. } = self;
        let exchange = Exchange { request, response, clock: &**clock, rpc: self.rpc };
        match exchange.event(event.name.as_deref(), &event.data)? {
            Some(node) => read::item(node, self.tongue).map_err(|wrong| failure::invalid(&wrong)),
            None => Ok(None),
        }
    }
}
