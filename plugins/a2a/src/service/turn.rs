//! A turn of a task, driven by whoever polls it.

use std::{
    future::poll_fn,
    panic::AssertUnwindSafe,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use futures_util::FutureExt;
use mas_contracts::{BoxFuture, CancelReason, Error, ErrorKind, Reply, Result, TurnKey};

use super::{Inner, count::Counted, live::Live};

/// A turn that was let in.
pub(super) struct Turn {
    service: Arc<Inner>,
    live: Arc<Live>,
    key: TurnKey,
    reply: BoxFuture<'static, Result<Reply>>,
    /// Counts it among those that run.
    _running: Counted,
    ended: bool,
}

/// What a poll of a turn led to.
enum Step {
    Replied(Result<Reply>),
    /// The state of the task changed, which has to be kept.
    Changed,
    /// It gives more than it may.
    TooLarge,
}

impl Turn {
    pub(super) fn new(
        service: Arc<Inner>,
        live: Arc<Live>,
        key: TurnKey,
        reply: BoxFuture<'static, Result<Reply>>,
        running: Counted,
    ) -> Self {
        Self { service, live, key, reply, _running: running, ended: false }
    }

    pub(super) fn live(&self) -> &Arc<Live> {
        &self.live
    }

    pub(super) fn id(&self) -> &Arc<str> {
        &self.key.turn
    }

    /// Runs as far as it goes without waiting. Returns whether it ended.
    pub(super) async fn start(&mut self) -> bool {
        let polled = poll_fn(|cx| Poll::Ready(self.poll_reply(cx))).await;
        match polled {
            Poll::Ready(result) => {
                self.end(result);
                true
            }
            Poll::Pending => false,
        }
    }

    /// Runs to the end, and keeps what becomes of the task on the way.
    pub(super) async fn run(mut self) {
        loop {
            match poll_fn(|cx| self.step(cx)).await {
                Step::Changed => self.service.keep(&self.live).await,
                Step::Replied(result) => {
                    self.end(result);
                    break;
                }
                Step::TooLarge => {
                    self.service.host.cancel(&self.key, CancelReason::Requested);
                    let most = self.live.kit.options.artifact_bytes;
                    let error = Error::new(
                        ErrorKind::Limit,
                        format!("the artifacts of the task are larger than {most} bytes"),
                    );
                    self.end(Err(error.with_code("mas::a2a::artifacts")));
                    break;
                }
            }
        }
        self.service.keep(&self.live).await;
    }

    fn end(&mut self, result: Result<Reply>) {
        self.ended = true;
        self.live.turn_ended(&self.key.turn, result);
    }

    fn step(&mut self, cx: &mut Context<'_>) -> Poll<Step> {
        match self.poll_reply(cx) {
            Poll::Ready(result) => Poll::Ready(Step::Replied(result)),
            Poll::Pending if self.live.is_too_large() => Poll::Ready(Step::TooLarge),
            Poll::Pending if self.live.lock().unsaved => Poll::Ready(Step::Changed),
            Poll::Pending => Poll::Pending,
        }
    }

    fn poll_reply(&mut self, cx: &mut Context<'_>) -> Poll<Result<Reply>> {
        let reply = AssertUnwindSafe(Pin::new(&mut self.reply));
        self.live.poll_begins();
        // A defect of a backend ends its task and nothing else.
        let polled = reply.catch_unwind().poll_unpin(cx);
        self.live.poll_ends(polled.is_pending());
        polled.map(|caught| {
            caught
                .unwrap_or_else(|_| Err(Error::internal("the agent broke down while it worked on the task")))
        })
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        // Dropped by a runtime that ends: nobody will run it.
        if !self.ended {
            self.end(Err(Error::new(ErrorKind::Unavailable, "the server ended before the turn did")));
        }
    }
}
