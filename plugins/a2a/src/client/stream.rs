//! The updates of a stream.

use std::{
    collections::VecDeque,
    sync::Arc,
    time::{Duration, Instant},
};

use mas_comm_kit::{
    http::Response,
    sse::{Decoder, EVENT_LIMIT, Event},
};
use mas_contracts::{Clock, Result};

use super::{Update, call::ends, failure, read, remote};
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

struct Source {
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
        let source = Source { response, decoder: Decoder::new(EVENT_LIMIT), tongue, rpc };
        Self::of(Some(source), VecDeque::new(), clock, timeout)
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
            let chunk = tokio::select! {
                biased;
                chunk = source.response.chunk() => chunk,
                () = late => Err(remote::late_by(self.timeout)),
            };
            let Some(chunk) = chunk? else {
                self.source = None;
                return Ok(None);
            };
            let mut events = Vec::new();
            let pushed = source.decoder.push(&chunk, &mut events);
            for event in &events {
                self.ready.extend(source.item(event)?);
            }
            pushed?;
        }
    }

    /// Whether the stream ended where the protocol says so, not where a connection was cut.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.whole
    }
}

impl Source {
    fn item(&self, event: &Event) -> Result<Option<StreamItem>> {
        let node = remote::parse(event.data.as_bytes(), self.response.status())?;
        let node = if self.rpc {
            remote::result(node, self.response.status())?
        } else if event.name.as_deref() == Some("error") || is_error(&node) {
            return Err(remote::rest_failure(node, self.response.status()));
        } else {
            node
        };
        read::item(node, self.tongue).map_err(|wrong| failure::invalid(&wrong))
    }
}

fn is_error(node: &Node<'_>) -> bool {
    matches!(node, Node::Object(fields) if fields.iter().any(|(name, value)| name == "error" && !value.is_null()))
}
