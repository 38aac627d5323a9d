//! The stand-in on the loopback.

use std::{
    convert::Infallible,
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::{BodyExt, Limited};
use hyper::{Request, Response, body::Incoming, header, service::service_fn};
use hyper_util::rt::TokioIo;
use mas_contracts::{BoxFuture, Clock};
use tokio::{net::TcpListener, task::JoinSet};

use super::{Answer, Asked, Half, Manner, StandIn};

/// The largest request that is read: a message with some files.
const LARGEST: usize = 128 * 1024 * 1024;
/// Connections at once; more wait.
const CONNECTIONS: usize = 1024;

/// The stand-in on two addresses of the loopback. Dropped, it and its connections end.
#[derive(Debug)]
pub struct Server {
    stand_in: StandIn,
    platform: String,
    runtime: String,
    _serving: JoinSet<()>,
}

impl Server {
    /// Starts the stand-in, the platform at `port`, or at any for 0. Needs a runtime.
    ///
    /// # Errors
    /// When no port can be had.
    pub async fn start(
        token: impl Into<String> + Send,
        port: u16,
        clock: Arc<dyn Clock>,
    ) -> io::Result<Self> {
        let token = token.into();
        let platform = TcpListener::bind(("127.0.0.1", port)).await?;
        let runtime = TcpListener::bind(("127.0.0.1", 0)).await?;
        let at = |listener: &TcpListener| listener.local_addr().map(|address| format!("http://{address}"));
        let urls = (at(&platform)?, at(&runtime)?);
        let stand_in = StandIn::new(token, urls.1.clone(), clock);
        let mut serving = JoinSet::new();
        for (half, listener) in [(Half::Platform, platform), (Half::Runtime, runtime)] {
            serving.spawn(serve(stand_in.clone(), half, listener));
        }
        Ok(Self { stand_in, platform: urls.0, runtime: urls.1, _serving: serving })
    }

    /// The platform's address, without a slash at its end.
    #[must_use]
    pub fn platform_url(&self) -> &str {
        &self.platform
    }

    /// The runtime's address, without a path.
    #[must_use]
    pub fn runtime_url(&self) -> &str {
        &self.runtime
    }

    /// What answers.
    #[must_use]
    pub fn stand_in(&self) -> &StandIn {
        &self.stand_in
    }
}

async fn serve(stand_in: StandIn, half: Half, listener: TcpListener) {
    let mut connections = JoinSet::new();
    loop {
        while connections.len() >= CONNECTIONS {
            connections.join_next().await;
        }
        while connections.try_join_next().is_some() {}
        // A connection that is gone before it is accepted, or breaks, is its caller's business.
        let Ok((stream, _)) = listener.accept().await else { continue };
        let stand_in = stand_in.clone();
        connections.spawn(async move {
            let service = service_fn(|request| answer(stand_in.clone(), half, request));
            let connection = hyper::server::conn::http1::Builder::new();
            let _ = connection.serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

async fn answer(
    stand_in: StandIn,
    half: Half,
    request: Request<Incoming>,
) -> Result<Response<Written>, Infallible> {
    let (head, body) = request.into_parts();
    let header = |(name, value): (&header::HeaderName, &header::HeaderValue)| {
        (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
    };
    let path = head.uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
    let answer = match Limited::new(body, LARGEST).collect().await {
        Ok(body) => stand_in.answer(
            half,
            &Asked {
                method: head.method.to_string(),
                path,
                headers: head.headers.iter().map(header).collect(),
                body: body.to_bytes(),
            },
        ),
        Err(_) => Answer::detail(413, "The body is too large, or broke off."),
    };
    let clock = stand_in.clock.clone();
    after(&*clock, answer.delay).await;
    if answer.manner == Manner::Silent {
        // Until the caller goes away, with whom this is dropped.
        std::future::pending::<()>().await;
    }
    let content_type = header::HeaderValue::from_static(answer.content_type);
    let mut response =
        Response::new(Written { answer: answer.body, manner: answer.manner, clock, pause: None });
    *response.status_mut() = hyper::StatusCode::from_u16(answer.status).unwrap_or_default();
    response.headers_mut().insert(header::CONTENT_TYPE, content_type);
    Ok(response)
}

fn after(clock: &dyn Clock, time: Duration) -> BoxFuture<'static, ()> {
    let now = clock.now();
    clock.sleep_until(now.checked_add(time).unwrap_or(now))
}

/// A body as a manner writes it.
struct Written {
    answer: Bytes,
    manner: Manner,
    clock: Arc<dyn Clock>,
    pause: Option<BoxFuture<'static, ()>>,
}

impl Body for Written {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let this = self.get_mut();
        if let Some(waiting) = &mut this.pause {
            ready!(waiting.as_mut().poll(cx));
        }
        let pause = |milliseconds| Some(after(&*this.clock, Duration::from_millis(milliseconds)));
        match this.manner {
            Manner::Cut if this.pause.is_some() => Poll::Ready(Some(Err(io::Error::other("cut")))),
            Manner::Cut => {
                // The head is written while the body waits.
                this.pause = pause(1);
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            _ if this.answer.is_empty() => Poll::Ready(None),
            Manner::Drip(milliseconds) => {
                this.pause = pause(milliseconds);
                Poll::Ready(Some(Ok(Frame::data(this.answer.split_to(1)))))
            }
            Manner::Whole | Manner::Silent => {
                Poll::Ready(Some(Ok(Frame::data(std::mem::take(&mut this.answer)))))
            }
        }
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(u64::try_from(self.answer.len()).unwrap_or(u64::MAX))
    }
}
