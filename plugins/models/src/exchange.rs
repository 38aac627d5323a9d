//! One chat call over HTTP, whatever the provider: sends, waits, reads, tries again.
//!
//! - A request is sent again after a status of [`retry::is_transient`], when no connection was made, and when an
//!   answer was cut off, stalled or told of a passing failure, as long as nothing of it was given out: a piece of
//!   text, of reasoning or of a tool call. Each time, a notice says so.
//! - `Retry-After` is kept. Where it, or a pause of this side's choice, would end past the deadline, the call fails
//!   at once with the reason.
//! - The first event of data has to come within a limit, and each further one within another. Comments and empty
//!   events, which keep a connection open, count for nothing.
//! - An answer that ends before its terminal marker is an error that says how much came.
//! - A cancel or the deadline drops the connection at once.
//! - No error holds a secret of the request, even when the server sends it back.

mod attempt;
mod failure;

use std::{sync::Arc, time::Duration};

use mas_comm_kit::{
    http::{HeaderText, Request, Transport, shown},
    retry::{self, Jitter, Policy},
};
use mas_contracts::{CallContext, CancelReason, ChatRequest, Completion, Error, EventKind, Result, Retry};

use crate::wire::{Wire, WireRequest};
use attempt::{Attempt, Progress};

/// How often a request may be written anew for what a model takes, in one call.
const ADAPTATIONS: u32 = 4;

/// How long one attempt may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// From sending to the first event of data; only of a stream.
    pub(crate) first_byte: Duration,
    /// Between two events of data.
    pub(crate) idle: Duration,
    /// All of it.
    pub(crate) whole: Option<Duration>,
}

/// What makes calls over HTTP for every provider.
pub(crate) struct Exchange {
    pub(crate) transport: Arc<dyn Transport>,
    pub(crate) limits: Limits,
    pub(crate) policy: Policy,
    /// Whether a stream is asked for.
    pub(crate) stream: bool,
}

/// Why an attempt came to nothing.
enum Failure {
    /// An error; its retry advice says whether another attempt makes sense.
    Error(Error),
    /// The request is worth sending at once in another form.
    Adapted,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

impl Exchange {
    /// Makes one call in this wire form.
    pub(crate) async fn chat(
        &self,
        wire: &dyn Wire,
        cx: &CallContext,
        request: ChatRequest<'_>,
    ) -> Result<Completion> {
        if let Some(reason) = cx.cancel().reason() {
            return Err(CallContext::stopped(reason));
        }
        let (mut made, mut adapted, mut jitter) = (1u32, 0u32, Jitter::of(cx));
        loop {
            let sent = http_request(wire.request(&request, self.stream)?, self.stream)?;
            let secrets = sent.secrets();
            let mut progress = Progress::default();
            let attempt = Attempt { exchange: self, wire, cx, request: &request, secrets: &secrets };
            let failure = match self.bounded(cx, attempt.run(&sent, &mut progress)).await {
                Ok(completion) => return Ok(completion),
                Err(failure) => failure,
            };
            let error = match failure {
                Failure::Adapted if adapted < ADAPTATIONS => {
                    adapted = adapted.saturating_add(1);
                    continue;
                }
                Failure::Adapted => {
                    Error::invalid("the model refuses the request in each form that was tried")
                        .with_retry(Retry::Never)
                }
                Failure::Error(error) => failure::scrubbed(&error, &secrets),
            };
            tracing::debug!(url = shown(&sent.url), attempt = made, code = %error.code(), "a model call failed");
            if progress.emitted {
                return Err(failure::after(&error, &progress));
            }
            let asked = match error.retry() {
                Retry::Backoff => None,
                Retry::After(pause) => Some(pause),
                Retry::Never | Retry::Unstated => return Err(error),
            };
            if made >= self.policy.attempts {
                return Err(error);
            }
            let pause = self.policy.pause(made, asked, &mut jitter);
            if pause >= cx.remaining() {
                return Err(failure::no_time(&error, pause, cx.remaining()));
            }
            made = made.saturating_add(1);
            let text = format!(
                "{}; attempt {made} of {} in {:.1} s",
                error.message(),
                self.policy.attempts,
                pause.as_secs_f64()
            );
            cx.emit(EventKind::Notice { text: text.into() });
            retry::wait(cx, pause).await?;
        }
    }

    /// The attempt, ended early by a cancel, by the deadline and by the limit of an attempt.
    async fn bounded(
        &self,
        cx: &CallContext,
        attempt: impl Future<Output = std::result::Result<Completion, Failure>>,
    ) -> std::result::Result<Completion, Failure> {
        let now = cx.clock().now();
        let limit = self.limits.whole.filter(|limit| *limit < cx.remaining());
        let end = limit.and_then(|limit| now.checked_add(limit)).unwrap_or(cx.deadline());
        tokio::select! {
            biased;
            reason = cx.cancel().cancelled() => Err(CallContext::stopped(reason).into()),
            outcome = attempt => outcome,
            () = cx.clock().sleep_until(end) => Err(match limit {
                Some(limit) => failure::slow("timeout", limit).into(),
                None => CallContext::stopped(CancelReason::Deadline).into(),
            }),
        }
    }
}

fn http_request(wire: WireRequest, stream: bool) -> Result<Request> {
    let body = serde_json::to_vec(&wire.body)
        .map_err(|error| Error::internal(format!("the request cannot be written as JSON: {error}")))?;
    let accept = if stream { "text/event-stream, application/json" } else { "application/json" };
    let mut headers = vec![
        ("content-type".to_owned(), HeaderText::Plain("application/json".to_owned())),
        ("accept".to_owned(), HeaderText::Plain(accept.to_owned())),
    ];
    headers.retain(|(name, _)| !wire.headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name)));
    headers.extend(wire.headers);
    let body = Some(body.into());
    Ok(Request { method: "POST".to_owned(), url: wire.url, headers, body, ..Request::default() })
}
