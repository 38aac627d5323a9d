//! Work that outlives whoever waits for it.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

/// Runs in the future of its caller. Dropped before it is done, it goes on as a task of the runtime.
pub(super) struct Outlive<F: Future<Output = ()> + Send + 'static>(Option<Pin<Box<F>>>);

impl<F: Future<Output = ()> + Send + 'static> Outlive<F> {
    pub(super) fn new(work: F) -> Self {
        Self(Some(Box::pin(work)))
    }
}

impl<F: Future<Output = ()> + Send + 'static> Future for Outlive<F> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let Some(work) = self.0.as_mut() else { return Poll::Ready(()) };
        let polled = work.as_mut().poll(cx);
        if polled.is_ready() {
            self.0 = None;
        }
        polled
    }
}

impl<F: Future<Output = ()> + Send + 'static> Drop for Outlive<F> {
    fn drop(&mut self) {
        let Some(work) = self.0.take() else { return };
        // Without a runtime the process is at its end, and the work with it.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(work);
        }
    }
}
