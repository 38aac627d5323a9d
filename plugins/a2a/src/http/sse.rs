//! Streams as server-sent events: one event an item, its place in the task's events as the id.

use std::{
    io::Write,
    sync::Arc,
    task::{Context, Poll},
    time::{Duration, Instant},
};

use bytes::Bytes;
use futures_util::StreamExt;
use http::{HeaderValue, Response, header};
use mas_contracts::{BoxFuture, Clock};

use super::{
    Agent,
    body::Answer,
    call::{Event, Tongue},
};
use crate::{
    json,
    model::{Item, ItemStream},
};

/// How many bytes of events that wait already go out at once.
const TOGETHER: usize = 16 * 1024;

/// What keeps a silent stream open: a comment, which every client skips.
const SIGN_OF_LIFE: Bytes = Bytes::from_static(b": keep-alive\n\n");

/// The events of a stream, as bytes.
pub(crate) struct Events {
    items: ItemStream,
    ended: bool,
    tongue: Tongue,
    /// What goes around each item: nothing, or the envelope of JSON-RPC.
    around: (String, &'static str),
    clock: Arc<dyn Clock>,
    keep_alive: Duration,
    last: Instant,
    wait: BoxFuture<'static, ()>,
}

impl Events {
    /// What goes out next; none at the end.
    pub(super) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let mut bytes = Vec::new();
        while !self.ended && bytes.len() < TOGETHER {
            match self.items.poll_next_unpin(cx) {
                Poll::Ready(Some(item)) => self.write(&item, &mut bytes),
                Poll::Ready(None) => self.ended = true,
                Poll::Pending => break,
            }
        }
        if !bytes.is_empty() {
            self.last = self.clock.now();
            return Poll::Ready(Some(Bytes::from(bytes)));
        }
        if self.ended {
            return Poll::Ready(None);
        }
        // One timer serves many events: it is set anew only when it rings.
        while self.wait.as_mut().poll(cx).is_ready() {
            let now = self.clock.now();
            let silent = now.saturating_duration_since(self.last) >= self.keep_alive;
            if silent {
                self.last = now;
            }
            self.wait = self.clock.sleep_until(self.last + self.keep_alive);
            if silent {
                return Poll::Ready(Some(SIGN_OF_LIFE));
            }
        }
        Poll::Pending
    }

    fn write(&self, item: &Item, bytes: &mut Vec<u8>) {
        let start = bytes.len();
        let written = write!(bytes, "id: {}\ndata: {}", item.seq, self.around.0).is_ok()
            && json::write(&Event(self.tongue, &item.item), bytes).is_ok()
            && write!(bytes, "{}\n\n", self.around.1).is_ok();
        if !written {
            bytes.truncate(start);
        }
    }
}

/// Answers with a stream; `around` goes around each item.
pub(super) fn answer(
    agent: &Agent,
    items: ItemStream,
    tongue: Tongue,
    around: (String, &'static str),
) -> Response<Answer> {
    let last = agent.clock.now();
    let keep_alive = agent.limits.keep_alive();
    let events = Events {
        items,
        ended: false,
        tongue,
        around,
        clock: agent.clock.clone(),
        keep_alive,
        last,
        wait: agent.clock.sleep_until(last + keep_alive),
    };
    let mut response = Response::new(Answer::Stream(Box::new(events)));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    // Proxies that gather answers are told not to.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}
