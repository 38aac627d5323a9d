//! Bodies: read whole within limits, answered whole or as a stream.

use std::{
    convert::Infallible,
    future::poll_fn,
    pin::{Pin, pin},
    task::{Context, Poll},
};

use bytes::{Bytes, BytesMut};
use http_body::{Body, Frame, SizeHint};

use super::{Agent, sse::Events};
use crate::model::{Failure, Reason};

/// The body of an answer.
pub(crate) enum Answer {
    /// All of it.
    Whole(Bytes),
    /// Server-sent events.
    Stream(Box<Events>),
}

impl Body for Answer {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            Self::Whole(bytes) if bytes.is_empty() => Poll::Ready(None),
            Self::Whole(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Self::Stream(events) => {
                events.poll_next(cx).map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(bytes) if bytes.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.len().try_into().unwrap_or(u64::MAX)),
            Self::Stream(_) => SizeHint::default(),
        }
    }
}

/// Reads a body whole. One that is said to be larger than the limit is not read at all.
///
/// # Errors
/// [`Reason::TooLarge`], [`Reason::Timeout`], or [`Reason::InvalidRequest`] for one that breaks off.
pub(crate) async fn read<B: Body<Data = Bytes>>(agent: &Agent, body: B) -> Result<Bytes, Failure> {
    let most = agent.limits.body;
    if body.size_hint().lower() > u64::try_from(most).unwrap_or(u64::MAX) {
        return Err(too_large(most));
    }
    let mut body = pin!(body);
    let mut late = None;
    let mut first = Bytes::new();
    let mut more = BytesMut::new();
    loop {
        let frame = poll_fn(|cx| {
            if let Poll::Ready(frame) = body.as_mut().poll_frame(cx) {
                return Poll::Ready(Ok(frame));
            }
            let wait = late.get_or_insert_with(|| {
                let clock = &agent.clock;
                clock.sleep_until(clock.now() + agent.limits.body_time())
            });
            wait.as_mut().poll(cx).map(Err)
        });
        let frame = match frame.await {
            Ok(Some(Ok(frame))) => frame,
            Ok(None) => break,
            Ok(Some(Err(_))) => {
                return Err(Failure::new(Reason::InvalidRequest, "the body broke off before its end"));
            }
            Err(()) => {
                let message = format!("the body took longer than {:?}", agent.limits.body_time());
                return Err(Failure::new(Reason::Timeout, message));
            }
        };
        let Ok(data) = frame.into_data() else { continue };
        if first.len() + more.len() + data.len() > most {
            return Err(too_large(most));
        }
        if first.is_empty() {
            first = data;
        } else {
            more.extend_from_slice(&data);
        }
        if body.is_end_stream() {
            break;
        }
    }
    if more.is_empty() {
        return Ok(first);
    }
    let mut whole = BytesMut::with_capacity(first.len() + more.len());
    whole.extend_from_slice(&first);
    whole.extend_from_slice(&more);
    Ok(whole.freeze())
}

fn too_large(most: usize) -> Failure {
    Failure::new(Reason::TooLarge, format!("the body is larger than {most} bytes"))
        .with("limit", most.to_string())
}
