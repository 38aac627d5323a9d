//! `tracing`: a span for each attempt.

use std::time::Instant;

use async_trait::async_trait;
use mas_contracts::{CallContext, Clock, End, Outbound, Peer, Reply, Result};
use tracing::{Instrument, Span, field::Empty};

use super::{Layer, Next};

/// Tells of each attempt in a span `agent_comm.send` at the level info: target, message id, attempt, outcome (`done`,
/// the state of a task, or the code of an error), delivery and time; never what is said.
pub(super) struct Spans;

#[async_trait]
impl Layer for Spans {
    async fn send(&self, cx: &CallContext, to: &Peer, message: Outbound, next: Next<'_>) -> Result<Reply> {
        let span = tracing::info_span!(
            "agent_comm.send",
            target = %to.id,
            message_id = %message.message_id,
            attempt = next.attempt,
            outcome = Empty,
            delivery = Empty,
            elapsed_ms = Empty,
        );
        let began = Began { span: span.clone(), clock: cx.clock(), at: cx.clock().now(), ended: false };
        let result = next.send(cx, to, message).instrument(span).await;
        began.end(&result);
        result
    }
}

/// A span whose outcome is still to be said.
struct Began<'a> {
    span: Span,
    clock: &'a dyn Clock,
    at: Instant,
    ended: bool,
}

impl Began<'_> {
    fn end(mut self, result: &Result<Reply>) {
        match result {
            Ok(reply) => self.record(match &reply.end {
                End::Done => "done",
                End::Interrupted(_) => "interrupted",
                End::Failed(state) => state.as_str(),
            }),
            Err(error) => {
                self.span.record("delivery", tracing::field::debug(error.delivery()));
                self.record(&error.code());
            }
        }
    }

    fn record(&mut self, outcome: &str) {
        self.ended = true;
        let elapsed = self.clock.now().saturating_duration_since(self.at).as_millis();
        self.span.record("outcome", outcome);
        self.span.record("elapsed_ms", u64::try_from(elapsed).unwrap_or(u64::MAX));
        // A log that shows no spans by themselves has it in the fields of this line.
        self.span.in_scope(|| tracing::info!("An attempt to send ended."));
    }
}

impl Drop for Began<'_> {
    fn drop(&mut self) {
        if !self.ended {
            self.record("dropped");
        }
    }
}
