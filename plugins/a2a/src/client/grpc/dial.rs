//! How connections of gRPC are made.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use http::Uri;
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::{client::legacy::connect::HttpConnector, rt::TokioIo};
use mas_comm_kit::http::{Proxying, Settings, is_loopback};
use mas_contracts::{BuildContext, Clock, Error, ErrorKind, Result};
use rustls::ClientConfig;
use tokio::net::TcpStream;
use tower_service::Service;

/// After how long without a byte the system asks whether the other side is there, and how often. Pings of HTTP/2 are
/// none of this: servers cut off who sends more than one in five minutes.
const SILENCE: Duration = Duration::from_secs(30);
const AGAIN: Duration = Duration::from_secs(10);
const PROBES: u32 = 3;

/// Variables that name proxies.
const PROXIES: [&str; 6] =
    ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"];

type Fault = Box<dyn std::error::Error + Send + Sync>;

/// What connections of gRPC are made with.
#[derive(Clone)]
pub(in crate::client) struct Dial {
    tls: Arc<ClientConfig>,
    limit: Duration,
    clock: Arc<dyn Clock>,
    proxying: Proxying,
    /// A variable that names a proxy.
    proxied: Option<&'static str>,
}

impl Dial {
    /// As the HTTP client of the same settings connects.
    ///
    /// # Errors
    /// Those of [`Settings::tls`].
    pub(in crate::client) fn new(settings: &Settings, cx: &BuildContext) -> Result<Self> {
        let mut tls = ClientConfig::clone(&*settings.tls(cx)?);
        tls.alpn_protocols = vec![b"h2".to_vec()];
        Ok(Self {
            tls: Arc::new(tls),
            limit: settings.connect_timeout,
            clock: cx.clock.clone(),
            proxying: settings.proxying.clone(),
            proxied: PROXIES.into_iter().find(|name| cx.env.get(name).is_some_and(|url| !url.is_empty())),
        })
    }

    /// What connects to a server. No proxy is spoken to; one of the environment is passed by, with a warning.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] where a proxy is wanted for every host.
    pub(super) fn connector(&self, origin: &Uri) -> Result<Connector> {
        match (&self.proxying, self.proxied) {
            (Proxying::Through(_), _) => {
                let text =
                    "gRPC goes through no proxy here; choose another binding of the card, or no `proxy`";
                return Err(Error::new(ErrorKind::Unsupported, text).with_code("mas::a2a::interface"));
            }
            (Proxying::Environment, Some(name)) if !is_loopback(&origin.to_string()) => {
                let host = origin.host().unwrap_or_default();
                tracing::warn!("{host} is called over gRPC directly, not by the proxy of {name}");
            }
            _ => {}
        }
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_keepalive(Some(SILENCE));
        tcp.set_keepalive_interval(Some(AGAIN));
        tcp.set_keepalive_retries(Some(PROBES));
        let inner = HttpsConnector::from((tcp, self.tls.clone()));
        Ok(Connector { inner, limit: self.limit, clock: self.clock.clone() })
    }
}

/// Connects, within a limit that holds for TLS too.
#[derive(Clone)]
pub(super) struct Connector {
    inner: HttpsConnector<HttpConnector>,
    limit: Duration,
    clock: Arc<dyn Clock>,
}

impl Service<Uri> for Connector {
    type Response = MaybeHttpsStream<TokioIo<TcpStream>>;
    type Error = Fault;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Fault>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Fault>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        let connected = self.inner.call(to);
        let (now, limit) = (self.clock.now(), self.limit);
        let late = self.clock.sleep_until(now.checked_add(limit).unwrap_or(now));
        Box::pin(async move {
            tokio::select! {
                biased;
                connected = connected => connected,
                () = late => {
                    let text = format!("connecting took longer than {} s", limit.as_secs_f32());
                    Err(io::Error::new(io::ErrorKind::TimedOut, text).into())
                }
            }
        })
    }
}
