//! A connection that ends when its other side stops to read.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use mas_contracts::{BoxFuture, Clock};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Bytes in both directions, of which those that go out have a time limit: one that nobody takes for that long
/// ends the connection.
pub(crate) struct Paced<T> {
    inner: T,
    clock: Arc<dyn Clock>,
    limit: Duration,
    /// Set while a write waits.
    stalled: Option<BoxFuture<'static, ()>>,
}

impl<T> Paced<T> {
    pub(crate) fn new(inner: T, clock: Arc<dyn Clock>, limit: Duration) -> Self {
        Self { inner, clock, limit, stalled: None }
    }

    /// What a write came to, if it came to something; else whether it waits for too long.
    fn paced<R>(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<R>>) -> Poll<io::Result<R>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let (clock, limit) = (&self.clock, self.limit);
        let stalled = self.stalled.get_or_insert_with(|| {
            let now = clock.now();
            clock.sleep_until(now.checked_add(limit).unwrap_or(now))
        });
        ready!(stalled.as_mut().poll(cx));
        self.stalled = None;
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "nobody reads the answer")))
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Paced<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(cx, into)
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Paced<T> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write(cx, bytes);
        self.paced(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write_vectored(cx, slices);
        self.paced(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.inner).poll_flush(cx);
        self.paced(cx, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(&mut self.inner).poll_shutdown(cx);
        self.paced(cx, shut)
    }
}
