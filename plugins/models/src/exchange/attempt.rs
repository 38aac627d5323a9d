//! One attempt: send, read, give out.

use std::{
    fmt,
    time::{Duration, Instant},
};

use bytes::Bytes;
use mas_comm_kit::{
    Secrets,
    http::{EXCERPT, Request, Response, shown},
    retry,
    sse::{self, Decoder},
};
use mas_contracts::{Audience, CallContext, ChatRequest, Completion, Delivery, Error, Result, Retry};

use super::{Exchange, Failure, failure};
use crate::{
    native,
    wire::{Piece, Reader, Wire},
};

/// The most bytes of one answer: 128 MiB.
const ANSWER_LIMIT: usize = 128 * 1024 * 1024;

/// How long the rest of an answer is waited for that is complete but may be followed by the usage.
const TAIL: Duration = Duration::from_secs(2);

/// How long the end of the body is waited for after the last event, so that the connection can be used again.
const DRAIN: Duration = Duration::from_millis(50);

/// What came of an answer so far.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// Whether a piece is out.
    pub(super) emitted: bool,
    events: usize,
    characters: usize,
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} events with {} characters of text", self.events, self.characters)
    }
}

/// One attempt at a call.
pub(super) struct Attempt<'a> {
    pub(super) exchange: &'a Exchange,
    pub(super) wire: &'a dyn Wire,
    pub(super) cx: &'a CallContext,
    pub(super) request: &'a ChatRequest<'a>,
    pub(super) secrets: &'a Secrets,
}

impl Attempt<'_> {
    pub(super) async fn run(
        &self,
        sent: &Request,
        progress: &mut Progress,
    ) -> std::result::Result<Completion, Failure> {
        let limit = self.first_limit();
        let mut response = limit.hold(self.cx, self.exchange.transport.send(sent)).await?;
        tracing::debug!(url = shown(&sent.url), status = response.status(), "a model answers");
        if !response.is_success() {
            return Err(self.refused(&sent.url, &mut response, limit).await);
        }
        let mut arrival = Arrival { cx: self.cx, response, bytes: 0 };
        let mut reader = self.wire.reader();
        let mut first = Vec::new();
        let begins = loop {
            let Some(bytes) = arrival.next(limit).await? else { break None };
            first.extend_from_slice(&bytes);
            if let Some(byte) = first.iter().copied().find(|byte| !byte.is_ascii_whitespace()) {
                break Some(byte);
            }
            if first.len() > EXCERPT {
                break None;
            }
        };
        // What a server says of the type of its answer is wrong too often to go by.
        match begins {
            Some(b'{') => self.read_whole(&mut arrival, first, &mut *reader, limit, progress).await?,
            Some(b'<') => {
                let page = self.secrets.excerpt(&String::from_utf8_lossy(&first), 200, false);
                return Err(failure::undecodable(&format!("a page of HTML: {page}")).into());
            }
            _ => self.read_events(&mut arrival, first, &mut *reader, limit, progress).await?,
        }
        if !reader.is_complete() {
            return Err(failure::incomplete(progress).into());
        }
        Ok(reader.finish()?)
    }

    fn first_limit(&self) -> Limit {
        let limits = &self.exchange.limits;
        if self.exchange.stream {
            return Limit::new(self.cx, "first_byte_timeout", limits.first_byte);
        }
        // Without a stream the first byte comes with the last.
        Limit::new(self.cx, "timeout", limits.whole.unwrap_or(WHOLE))
    }

    fn next_limit(&self, reader: &dyn Reader) -> Limit {
        let idle = self.exchange.limits.idle;
        Limit::new(self.cx, "idle_timeout", if reader.is_complete() { idle.min(TAIL) } else { idle })
    }

    async fn read_events(
        &self,
        arrival: &mut Arrival<'_>,
        first: Vec<u8>,
        reader: &mut dyn Reader,
        mut limit: Limit,
        progress: &mut Progress,
    ) -> Result<()> {
        let (mut decoder, mut events) = (Decoder::new(sse::EVENT_LIMIT), Vec::new());
        let mut decoded = decoder.push(&first, &mut events);
        loop {
            for event in events.drain(..) {
                progress.events = progress.events.saturating_add(1);
                let pieces = reader.event(event.name.as_deref(), &event.data)?;
                self.give(pieces, progress);
                if reader.is_over() {
                    // The end of the body, so that the connection can be used again.
                    let limit = Limit::new(self.cx, "idle_timeout", DRAIN);
                    while let Ok(Some(_)) = arrival.next(limit).await {}
                    return Ok(());
                }
                limit = self.next_limit(reader);
            }
            decoded?;
            match arrival.next(limit).await {
                Ok(Some(bytes)) => decoded = decoder.push(&bytes, &mut events),
                // All of it is here, whatever became of what might have followed.
                Ok(None) | Err(_) if reader.is_complete() => return Ok(()),
                Ok(None) => return Err(failure::incomplete(progress)),
                Err(error) => return Err(error),
            }
        }
    }

    async fn read_whole(
        &self,
        arrival: &mut Arrival<'_>,
        first: Vec<u8>,
        reader: &mut dyn Reader,
        mut limit: Limit,
        progress: &mut Progress,
    ) -> Result<()> {
        let mut body = first;
        loop {
            if self.exchange.stream {
                limit = self.next_limit(reader);
            }
            let Some(bytes) = arrival.next(limit).await? else { break };
            body.extend_from_slice(&bytes);
        }
        progress.events = 1;
        let value = serde_json::from_slice(&body).map_err(|error| {
            if error.is_eof() {
                failure::incomplete(progress)
            } else {
                failure::undecodable(&format!("its JSON is damaged: {error}"))
            }
        })?;
        let pieces = reader.whole(value)?;
        self.give(pieces, progress);
        Ok(())
    }

    fn give(&self, pieces: Vec<Piece>, progress: &mut Progress) {
        for piece in pieces {
            let (audience, text) = match piece {
                Piece::Text(text) => (self.request.audience, text),
                Piece::Reasoning(text) => (Audience::Reasoning, text),
                Piece::Call => {
                    progress.emitted = true;
                    continue;
                }
                Piece::Passed(what, kind) => {
                    let kind = self.secrets.excerpt(&kind, 100, true);
                    tracing::warn!(kind, "{what} is passed over");
                    continue;
                }
            };
            if !text.is_empty() {
                progress.emitted = true;
                progress.characters = progress.characters.saturating_add(text.chars().count());
                self.cx.emit_text(audience, text);
            }
        }
    }

    async fn refused(&self, url: &str, response: &mut Response, limit: Limit) -> Failure {
        let status = response.status();
        if let (300..=399, Some(location)) = (status, response.header("location")) {
            let (from, to) = (shown(url), shown(location));
            let what =
                format!("`{from}` redirects to `{to}` ({status}); set `api_base` to where the models are");
            return Error::invalid(what)
                .with_code("mas::llm::redirect")
                .with_delivery(Delivery::Rejected)
                .into();
        }
        let asked = self.asked_pause(response);
        let body = match limit.hold(self.cx, async { Ok(response.excerpt(self.secrets).await) }).await {
            Ok(body) => body,
            Err(slow) => return slow.into(),
        };
        if self.wire.adapt(self.request, status, &body) {
            tracing::debug!(status, "the model takes the request in another form only");
            return Failure::Adapted;
        }
        let error = self.wire.refusal(&shown(url), status, &body);
        let again = retry::is_transient(status) && error.retry() != Retry::Never;
        let retry = match (again, asked, error.retry()) {
            (false, ..) => Retry::Never,
            (true, Some(pause), _) => Retry::After(pause),
            // Some say it in the body.
            (true, None, told @ Retry::After(_)) => told,
            (true, None, _) => Retry::Backoff,
        };
        error.with_retry(retry).into()
    }

    fn asked_pause(&self, response: &Response) -> Option<Duration> {
        let milliseconds =
            response.header("retry-after-ms").and_then(|value| value.trim().parse::<f64>().ok());
        milliseconds.and_then(|value| Duration::try_from_secs_f64(value / 1000.0).ok()).or_else(|| {
            let now = self.cx.scope().tree.clock().unix_time();
            response.header("retry-after").and_then(|value| retry::retry_after(value, now))
        })
    }
}

/// How long an answer may take that is no stream, where nothing else is said.
const WHOLE: Duration = Duration::from_secs(300);

/// A limit that runs.
#[derive(Clone, Copy)]
struct Limit {
    name: &'static str,
    time: Duration,
    end: Option<Instant>,
}

impl Limit {
    fn new(cx: &CallContext, name: &'static str, time: Duration) -> Self {
        Self { name, time, end: cx.clock().now().checked_add(time) }
    }

    /// Waits for `work` within the limit.
    async fn hold<T>(&self, cx: &CallContext, work: impl Future<Output = Result<T>>) -> Result<T> {
        let Some(end) = self.end else { return work.await };
        tokio::select! {
            biased;
            done = work => done,
            () = cx.clock().sleep_until(end) => Err(failure::slow(self.name, self.time)),
        }
    }
}

/// A body that arrives, bounded.
struct Arrival<'a> {
    cx: &'a CallContext,
    response: Response,
    bytes: usize,
}

impl Arrival<'_> {
    /// The next bytes, within the limit; nothing at the end.
    async fn next(&mut self, limit: Limit) -> Result<Option<Bytes>> {
        let next = limit.hold(self.cx, self.response.chunk()).await?;
        self.bytes = self.bytes.saturating_add(next.as_ref().map_or(0, Bytes::len));
        if self.bytes > ANSWER_LIMIT {
            return Err(native::limit(format!("the model's answer is larger than {ANSWER_LIMIT} bytes")));
        }
        Ok(next)
    }
}
