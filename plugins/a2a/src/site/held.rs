//! The body of an answer, which holds its request open until it has been sent.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

use super::counts::Running;

pin_project! {
    /// A body with what counts its request.
    pub(crate) struct Held<B> {
        #[pin]
        body: B,
        running: Running,
    }
}

impl<B> Held<B> {
    pub(crate) fn new(body: B, running: Running) -> Self {
        Self { body, running }
    }
}

impl<B: Body> Body for Held<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        self.project().body.poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
