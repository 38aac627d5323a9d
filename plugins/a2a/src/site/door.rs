//! What is spoken at a socket: HTTP, gRPC, or both.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use http::{HeaderValue, Request, Response, Version, header};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use pin_project_lite::pin_project;
use tonic::Status;

use super::{front::Front, listener::Desk};
use crate::{
    grpc,
    http::{self as binding, Answer},
    model::{Failure, Reason},
};

/// The agents of a socket, by what they speak there.
pub(crate) struct Door {
    pub(crate) front: Option<Arc<Front>>,
    pub(crate) grpc: Option<Arc<grpc::Agents>>,
}

impl Door {
    /// Says that no more work is taken.
    pub(crate) fn unready(&self) {
        self.front.iter().for_each(|front| front.unready());
        self.grpc.iter().for_each(|agents| agents.unready());
    }
}

impl Desk for Door {
    type Body = Told;

    async fn answer(&self, request: Request<Incoming>) -> Response<Told> {
        let grpc = self.grpc.as_ref().filter(|_| is_grpc(&request));
        match (grpc, &self.front) {
            (Some(agents), _) => grpc::answer(agents, request).await.map(|body| Told::Grpc { body }),
            (None, Some(front)) => front.answer(request).await.map(|body| Told::Http { body }),
            (None, None) => {
                let message = "gRPC is spoken here, over HTTP/2; the agent's card says where HTTP is";
                let failure = Failure::new(Reason::UnsupportedMediaType, message);
                binding::refused(&failure).map(|body| Told::Http { body })
            }
        }
    }
}

/// Whether a request is one of gRPC, which is HTTP/2 only.
fn is_grpc<B>(request: &Request<B>) -> bool {
    let kind = request.headers().get(header::CONTENT_TYPE).map_or(&b""[..], HeaderValue::as_bytes);
    request.version() == Version::HTTP_2 && kind.starts_with(b"application/grpc")
}

pin_project! {
    /// The body of an answer of either kind.
    #[project = TellingProject]
    pub(crate) enum Told {
        Http { #[pin] body: Answer },
        Grpc { #[pin] body: tonic::body::Body },
    }
}

impl Body for Told {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        match self.project() {
            TellingProject::Http { body } => {
                body.poll_frame(cx).map(|frame| frame.map(|frame| frame.map_err(|never| match never {})))
            }
            TellingProject::Grpc { body } => body.poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Http { body } => body.is_end_stream(),
            Self::Grpc { body } => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Http { body } => body.size_hint(),
            Self::Grpc { body } => body.size_hint(),
        }
    }
}
