//! A socket that listens: connections, their limits, and how they end.

use std::{
    convert::Infallible,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use hyper::body::Incoming;
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto,
};
use mas_contracts::{Clock, Error, ErrorKind, Result};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore, watch},
};
use tokio_rustls::TlsAcceptor;

use super::{counts::Counts, held::Held, paced::Paced};
use crate::params::Limits;

/// How long a write may wait for a reader.
const STALL: Duration = Duration::from_secs(60);
/// How often a connection of HTTP/2 is asked whether it lives, and how long it may take to say so.
const PING: Duration = Duration::from_secs(30);
/// How long a connection may be without a request; HTTP/1.1 ends earlier, with the time for headers.
const IDLE: Duration = Duration::from_secs(120);
/// Requests at once on one connection of HTTP/2; a client with more opens another.
const STREAMS: u32 = 512;
/// How long accepting pauses when the process is out of files.
const PAUSE: Duration = Duration::from_millis(50);
/// How many callers at once are told that there is no room, and how long that may take.
const REFUSALS: usize = 64;
const REFUSAL: Duration = Duration::from_secs(1);

/// What a caller is told when there is no room for its connection.
const FULL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\n\
Content-Type: application/json\r\nContent-Length: 194\r\nRetry-After: 1\r\nConnection: close\r\n\r\n\
{\"error\":{\"code\":503,\"status\":\"UNAVAILABLE\",\"message\":\"too many connections\",\"details\":\
[{\"@type\":\"type.googleapis.com/google.rpc.ErrorInfo\",\"reason\":\"UNAVAILABLE\",\"domain\":\"a2a-protocol.org\"}]}}";

/// What answers the requests of a listener.
pub(crate) trait Desk: Send + Sync + 'static {
    /// The body of an answer.
    type Body: Body<Data = Bytes, Error: Into<Box<dyn std::error::Error + Send + Sync>>> + Send + 'static;

    /// Answers a request. Dropped when the caller has gone.
    fn answer(&self, request: Request<Incoming>) -> impl Future<Output = Response<Self::Body>> + Send;
}

/// What a listener is made with.
#[derive(Clone)]
pub(crate) struct Terms {
    pub(crate) limits: Limits,
    pub(crate) tls: Option<TlsAcceptor>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) counts: Arc<Counts>,
}

/// How far the end has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Open,
    /// Nobody is let in; what runs may end.
    Draining,
    /// Everything ends now.
    Gone,
}

/// A socket that listens. Dropped, it and its connections end at once.
pub(crate) struct Listener(watch::Sender<Phase>);

/// What the connections of a listener share.
struct Shared<D> {
    desk: Arc<D>,
    terms: Terms,
    builder: auto::Builder<TokioExecutor>,
    /// Room for connections, and for telling callers that there is none.
    room: Arc<Semaphore>,
    refusals: Arc<Semaphore>,
}

/// A socket that is bound, and accepts nobody yet.
pub(crate) struct Bound(TcpListener, SocketAddr);

impl Bound {
    /// Binds a socket.
    ///
    /// # Errors
    /// [`ErrorKind::Unavailable`] with `mas::a2a::bind`.
    pub(crate) async fn at(host: &str, port: u16) -> Result<Self> {
        let bound = async {
            let listener = TcpListener::bind((host, port)).await?;
            let socket = listener.local_addr()?;
            Ok::<_, std::io::Error>(Self(listener, socket))
        };
        bound.await.map_err(|error| {
            let advice = match error.kind() {
                std::io::ErrorKind::AddrInUse => "; another program listens there",
                std::io::ErrorKind::PermissionDenied => "; ports below 1024 are the system's",
                std::io::ErrorKind::AddrNotAvailable => "; this machine has no such address",
                _ => "",
            };
            Error::new(ErrorKind::Unavailable, format!("`{host}:{port}` cannot be listened on{advice}"))
                .with_code("mas::a2a::bind")
                .caused_by(error)
        })
    }

    /// The address.
    pub(crate) fn socket(&self) -> SocketAddr {
        self.1
    }

    /// Begins to accept. Needs a runtime.
    pub(crate) fn open<D: Desk>(self, desk: Arc<D>, terms: Terms) -> Listener {
        let (phase, watched) = watch::channel(Phase::Open);
        let shared = Arc::new(Shared::new(desk, terms));
        tokio::spawn(accept(self.0, shared, watched));
        Listener(phase)
    }
}

impl Listener {
    /// Stops accepting, and tells every connection to end with the request it is at.
    pub(crate) fn drain(&self) {
        self.0.send_if_modified(|phase| {
            let open = *phase == Phase::Open;
            if open {
                *phase = Phase::Draining;
            }
            open
        });
    }

    /// Waits until every connection has ended.
    pub(crate) async fn drained(&self) {
        self.0.closed().await;
    }

    /// Ends everything now.
    pub(crate) fn end(&self) {
        self.0.send_replace(Phase::Gone);
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.end();
    }
}

impl<D: Desk> Shared<D> {
    fn new(desk: Arc<D>, terms: Terms) -> Self {
        let limits = &terms.limits;
        let mut builder = auto::Builder::new(TokioExecutor::new());
        // Below this the library would not start.
        let head = limits.header_bytes.max(8 * 1024);
        let mut http1 = builder.http1();
        http1.timer(TokioTimer::new()).header_read_timeout(limits.header_time()).max_buf_size(head);
        if limits.headers != 100 {
            // The library's own limit, which costs nothing.
            http1.max_headers(limits.headers);
        }
        builder
            .http2()
            .timer(TokioTimer::new())
            .keep_alive_interval(PING)
            .keep_alive_timeout(PING)
            .max_concurrent_streams(STREAMS)
            .max_header_list_size(u32::try_from(head).unwrap_or(u32::MAX));
        let room = Arc::new(Semaphore::new(limits.connections.min(Semaphore::MAX_PERMITS)));
        Self { desk, terms, builder, room, refusals: Arc::new(Semaphore::new(REFUSALS)) }
    }

    /// Serves one connection to its end.
    async fn attend<T>(self: Arc<Self>, stream: T, mut phase: watch::Receiver<Phase>)
    where
        T: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let visit = Arc::new(Visit::default());
        let clock = &self.terms.clock;
        let service = hyper::service::service_fn(|request: Request<Incoming>| {
            visit.requests.fetch_add(1, Ordering::Relaxed);
            let held = self.terms.counts.begin(visit.clone());
            let shared = self.clone();
            async move {
                let answer = shared.desk.answer(request).await;
                held.answered(answer.status());
                Ok::<_, Infallible>(answer.map(|body| Held::new(body, held)))
            }
        });
        let stream = Paced::new(stream, clock.clone(), STALL);
        let connection = self.builder.serve_connection(TokioIo::new(stream), service);
        let mut connection = std::pin::pin!(connection);
        let after = |time: Duration| {
            let now = clock.now();
            clock.sleep_until(now.checked_add(time).unwrap_or(now))
        };
        let mut idle = after(self.terms.limits.header_time());
        let mut seen = 0;
        let mut ending = *phase.borrow() != Phase::Open;
        if ending {
            connection.as_mut().graceful_shutdown();
        }
        loop {
            tokio::select! {
                biased;
                // What went wrong with one caller's connection is that caller's business.
                _ = connection.as_mut() => return,
                changed = phase.changed() => {
                    if changed.is_err() || *phase.borrow() == Phase::Gone {
                        return;
                    }
                    if !ending {
                        ending = true;
                        connection.as_mut().graceful_shutdown();
                    }
                }
                () = &mut idle => {
                    let requests = visit.requests.load(Ordering::Relaxed);
                    if requests == 0 {
                        return;
                    }
                    if requests == seen && Arc::strong_count(&visit) == 1 && !ending {
                        ending = true;
                        connection.as_mut().graceful_shutdown();
                    }
                    seen = requests;
                    idle = after(IDLE);
                }
            }
        }
    }

    /// Attends to a stream of bytes, with its handshake where there is TLS.
    async fn meet(self: Arc<Self>, stream: TcpStream, phase: watch::Receiver<Phase>) {
        // Without it, the end of an answer waits for the acknowledgement of its beginning.
        let _ = stream.set_nodelay(true);
        let Some(tls) = self.terms.tls.clone() else { return self.attend(stream, phase).await };
        let clock = &self.terms.clock;
        let now = clock.now();
        let late = clock.sleep_until(now.checked_add(self.terms.limits.header_time()).unwrap_or(now));
        let stream = tokio::select! {
            biased;
            stream = tls.accept(stream) => stream,
            () = late => return,
        };
        if let Ok(stream) = stream {
            self.attend(stream, phase).await;
        }
    }
}

/// What one connection has seen.
#[derive(Debug, Default)]
pub(crate) struct Visit {
    requests: AtomicU64,
}

/// Lets callers in until it is told to stop.
async fn accept<D: Desk>(listener: TcpListener, shared: Arc<Shared<D>>, mut phase: watch::Receiver<Phase>) {
    loop {
        let accepted = tokio::select! {
            biased;
            // Whatever changed, it is the end.
            _ = phase.changed() => return,
            accepted = listener.accept() => accepted,
        };
        let counts = &shared.terms.counts;
        match accepted {
            Ok((stream, _)) => match shared.room.clone().try_acquire_owned() {
                Ok(permit) => {
                    let open = counts.connected();
                    let work = shared.clone().meet(stream, phase.clone());
                    tokio::spawn(async move {
                        let _held: (_, OwnedSemaphorePermit) = (open, permit);
                        work.await;
                    });
                }
                Err(_) => {
                    counts.refused();
                    refuse(stream, &shared);
                }
            },
            Err(error) if is_of_one_caller(&error) => {}
            Err(error) => {
                tracing::warn!("no connection can be accepted: {error}");
                let clock = &shared.terms.clock;
                let now = clock.now();
                clock.sleep_until(now.checked_add(PAUSE).unwrap_or(now)).await;
            }
        }
    }
}

/// Tells a caller that there is no room, if that costs little.
fn refuse<D: Desk>(stream: TcpStream, shared: &Shared<D>) {
    let Ok(permit) = shared.refusals.clone().try_acquire_owned() else { return };
    if shared.terms.tls.is_some() {
        return;
    }
    let clock = shared.terms.clock.clone();
    tokio::spawn(async move {
        let _permit = permit;
        let now = clock.now();
        let late = clock.sleep_until(now.checked_add(REFUSAL).unwrap_or(now));
        tokio::select! {
            () = turn_away(stream) => {}
            () = late => {}
        }
    });
}

async fn turn_away(mut stream: TcpStream) {
    if stream.write_all(FULL).await.is_err() || stream.shutdown().await.is_err() {
        return;
    }
    // A socket that is closed with bytes unread takes back what it has sent.
    let mut unread = [0; 4096];
    for _ in 0..64 {
        if matches!(stream.read(&mut unread).await, Ok(0) | Err(_)) {
            return;
        }
    }
}

/// Whether an error of `accept` is about the connection that is gone again, not about the socket.
fn is_of_one_caller(error: &std::io::Error) -> bool {
    use std::io::ErrorKind;
    matches!(
        error.kind(),
        ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset | ErrorKind::ConnectionRefused
    )
}

#[cfg(test)]
mod tests;
