//! The updates of a stream.

use std::{
    collections::VecDeque,
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::StreamExt;
use mas_comm_kit::{
    http::Response,
    sse::{Decoder, EVENT_LIMIT, Event},
};
use mas_contracts::{Clock, Result};

use super::{Update, call::ends, envelope, failure, grpc::Events, read, wire};
use crate::{http::Tongue, json::Node, model::StreamItem};

/// The updates of a stream, in order; it ends with the task, or where it is cut.
pub struct Updates {
    source: Option<Source>,
    ready: VecDeque<StreamItem>,
    clock: Arc<dyn Clock>,
    deadline: Instant,
    timeout: Duration,
    whole: bool,
}

enum Source {
    Http(Http),
    Grpc(Events),
}

struct Http {
    response: Response,
    decoder: Decoder,
    tongue: Tongue,
    rpc: bool,
}

impl Updates {
    pub(super) fn new(
        response: Response,
        tongue: Tongue,
        rpc: bool,
        clock: Arc<dyn Clock>,
        timeout: Duration,
    ) -> Self {
        let http = Http { response, decoder: Decoder::new(EVENT_LIMIT), tongue, rpc };
        Self::of(Some(Source::Http(http)), VecDeque::new(), clock, timeout)
    }

    pub(super) fn of_grpc(events: Events, clock: Arc<dyn Clock>, timeout: Duration) -> Self {
        Self::of(Some(Source::Grpc(events)), VecDeque::new(), clock, timeout)
    }

    pub(super) fn once(item: Option<StreamItem>, clock: Arc<dyn Clock>) -> Self {
        Self { whole: true, ..Self::of(None, item.into_iter().collect(), clock, Duration::ZERO) }
    }

    fn of(
        source: Option<Source>,
        ready: VecDeque<StreamItem>,
        clock: Arc<dyn Clock>,
        timeout: Duration,
    ) -> Self {
        let now = clock.now();
        let deadline = now.checked_add(timeout).unwrap_or(now);
        Self { source, ready, clock, deadline, timeout, whole: false }
    }

    /// The next update; none at the end.
    ///
    /// # Errors
    /// That the stream was cut off, that an update cannot be read, or that the time is over.
    pub async fn next(&mut self) -> Result<Option<Update>> {
        loop {
            if let Some(item) = self.ready.pop_front() {
                self.whole |= ends(&item);
                return Ok(Some(item.into()));
            }
            let Some(source) = &mut self.source else { return Ok(None) };
            let late = self.clock.sleep_until(self.deadline);
            let more = tokio::select! {
                biased;
                more = source.more(&mut self.ready) => more,
                () = late => Err(wire::late_by(self.timeout)),
            };
            if !more? {
                self.source = None;
                return Ok(None);
            }
        }
    }

    /// Whether the stream ended where the protocol says so, not where a connection was cut.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.whole
    }
}

impl Source {
    /// Reads on, and says whether there was more.
    async fn more(&mut self, ready: &mut VecDeque<StreamItem>) -> Result<bool> {
        match self {
            Self::Http(http) => http.more(ready).await,
            Self::Grpc(events) => match events.next().await {
                Some(item) => {
                    ready.extend(item?);
                    Ok(true)
                }
                None => Ok(false),
            },
        }
    }
}

impl Http {
    async fn more(&mut self, ready: &mut VecDeque<StreamItem>) -> Result<bool> {
        let Some(chunk) = self.response.chunk().await? else { return Ok(false) };
        let mut events = Vec::new();
        let pushed = self.decoder.push(&chunk, &mut events);
        for event in &events {
            ready.extend(self.item(event)?);
        }
        pushed.map(|()| true)
    }

    fn item(&self, event: &Event) -> Result<Option<StreamItem>> {
        let node = envelope::parse(event.data.as_bytes(), self.response.status())?;
        let node = if self.rpc {
            envelope::result(node, self.response.status())?
        } else if event.name.as_deref() == Some("error") || is_error(&node) {
            return Err(envelope::rest_failure(node, self.response.status()));
        } else {
            node
        };
        read::item(node, self.tongue).map_err(|wrong| failure::invalid(&wrong))
    }
}

fn is_error(node: &Node<'_>) -> bool {
    matches!(node, Node::Object(fields) if fields.iter().any(|(name, value)| name == "error" && !value.is_null()))
}
