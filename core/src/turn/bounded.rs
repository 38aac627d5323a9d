//! Work that ends by a deadline, or soon after a cancel.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
    time::{Duration, Instant},
};

use mas_contracts::{BoxFuture, CallContext, CancelReason};
use pin_project_lite::pin_project;

/// Why work was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stopped {
    /// Its deadline passed.
    Deadline,
    /// The tree was cancelled and the grace is over.
    Cancelled(CancelReason),
}

pin_project! {
    /// Work with its bounds. Nothing is set up before the work first waits, so that work which is ready at
    /// once costs no timer.
    pub(crate) struct Bounded<'a, F> {
        #[pin]
        work: F,
        cx: &'a CallContext,
        deadline: Option<Instant>,
        grace: Duration,
        watch: Option<Watch<'a>>,
    }
}

struct Watch<'a> {
    cancelled: BoxFuture<'a, CancelReason>,
    timer: Option<BoxFuture<'static, ()>>,
    stopping: Option<CancelReason>,
}

/// Bounds `work` by a deadline, if one is given, and by the cancel of the tree: after it, `work` has `grace`
/// to end by itself.
pub(crate) fn bounded<F: Future>(
    cx: &CallContext,
    deadline: Option<Instant>,
    grace: Duration,
    work: F,
) -> Bounded<'_, F> {
    Bounded { work, cx, deadline, grace, watch: None }
}

impl<F: Future> Bounded<'_, F> {
    /// Gives stopped work until `until` to end by itself; polled again, it goes on.
    pub(crate) fn extend(&mut self, until: Option<Instant>) {
        self.deadline = until;
        self.watch = None;
    }
}

impl<F: Future> Future for Bounded<'_, F> {
    type Output = Result<F::Output, Stopped>;

    fn poll(self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        if let Poll::Ready(output) = this.work.poll(task) {
            return Poll::Ready(Ok(output));
        }
        let cx: &CallContext = this.cx;
        let deadline = *this.deadline;
        let watch = this.watch.get_or_insert_with(|| Watch {
            cancelled: Box::pin(cx.cancel().cancelled()),
            timer: deadline.map(|at| cx.clock().sleep_until(at)),
            stopping: None,
        });
        if watch.stopping.is_none()
            && let Poll::Ready(reason) = watch.cancelled.as_mut().poll(task)
        {
            if this.grace.is_zero() {
                return Poll::Ready(Err(Stopped::Cancelled(reason)));
            }
            watch.stopping = Some(reason);
            watch.timer = cx.clock().now().checked_add(*this.grace).map(|at| cx.clock().sleep_until(at));
        }
        match watch.timer.as_mut().map(|timer| timer.as_mut().poll(task)) {
            Some(Poll::Ready(())) => {
                Poll::Ready(Err(watch.stopping.map_or(Stopped::Deadline, Stopped::Cancelled)))
            }
            _ => Poll::Pending,
        }
    }
}

/// Does something when it is dropped before it is disarmed: the other end of what has begun.
pub(crate) struct OnDrop<F: FnOnce()>(Option<F>);

impl<F: FnOnce()> OnDrop<F> {
    /// Does `act` unless disarmed.
    pub(crate) fn new(act: F) -> Self {
        Self(Some(act))
    }

    /// It ended in order.
    pub(crate) fn disarm(mut self) {
        self.0 = None;
    }
}

impl<F: FnOnce()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        if let Some(act) = self.0.take() {
            act();
        }
    }
}
