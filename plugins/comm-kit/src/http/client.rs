//! The client over sockets.

use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use mas_contracts::{BuildContext, Error, Result};
use reqwest::{
    Method,
    header::{HeaderMap, HeaderName, HeaderValue},
    redirect,
};
use rustls::ClientConfig;

use super::{Body, Request, Resolver, Response, Settings, Transport, failure, proxy, resolver};
use crate::Secrets;

/// How long an idle connection is kept. Servers close theirs after 5 seconds and more; a request that meets the
/// close is lost.
const IDLE: Duration = Duration::from_secs(4);

/// An HTTP client. Debug shows nothing of its settings.
pub struct Client {
    inner: reqwest::Client,
    secrets: Secrets,
    /// Whether there is a proxy.
    proxied: bool,
    resolver: Option<Arc<dyn Resolver>>,
}

impl Client {
    pub(super) fn new(
        settings: &Settings,
        tls: &ClientConfig,
        resolver: Option<Arc<dyn Resolver>>,
        cx: &BuildContext,
    ) -> Result<Self> {
        let mut secrets = Secrets::new();
        let mut builder = reqwest::Client::builder()
            .tls_backend_preconfigured(tls.clone())
            .connect_timeout(settings.connect_timeout)
            .pool_idle_timeout(IDLE)
            .redirect(redirect::Policy::none())
            .retry(reqwest::retry::never())
            .referer(false)
            .user_agent(concat!("mas/", env!("CARGO_PKG_VERSION")))
            .no_proxy();
        let proxies = proxy::proxies(&settings.proxying, &cx.env, &mut secrets)?;
        let proxied = !proxies.is_empty();
        for proxy in proxies {
            builder = builder.proxy(proxy);
        }
        if let Some(resolver) = &resolver {
            builder = builder.dns_resolver(Arc::new(resolver::Adapted(resolver.clone())));
        }
        let inner = builder.build().map_err(|error| {
            Error::internal(format!("the HTTP client cannot be made: {}", secrets.scrub(&error.to_string())))
        })?;
        Ok(Self { inner, secrets, proxied, resolver })
    }

    /// The request's secrets and the client's.
    fn secrets(&self, request: &Request) -> Secrets {
        self.secrets.clone().and(request.secrets())
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Client")
    }
}

#[async_trait]
impl Transport for Client {
    async fn send(&self, request: &Request) -> Result<Response> {
        let method = Method::from_bytes(request.method.as_bytes())
            .map_err(|_| Error::invalid(format!("`{}` is no HTTP method", request.method)))?;
        if let Some(resolver) = &self.resolver {
            resolver::admit(resolver.as_ref(), &request.url).await?;
        }
        let mut builder = self.inner.request(method, &*request.address()).headers(headers(request)?);
        if let Some(body) = &request.body {
            builder = builder.body(body.clone());
        }
        let sent = builder.send().await;
        let secrets = self.secrets(request);
        let response =
            sent.map_err(|error| failure::unanswered(&error, &request.url, self.proxied, &secrets))?;
        let named = |(name, value): (&HeaderName, &HeaderValue)| {
            (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
        };
        let head = response.headers().iter().map(named).collect();
        let status = response.status().as_u16();
        let body = Answer { response, url: request.url.as_str().into(), secrets };
        Ok(Response::new(status, head, Box::new(body)))
    }
}

fn headers(request: &Request) -> Result<HeaderMap> {
    let mut headers = HeaderMap::new();
    for (name, text) in &request.headers {
        // The value is not shown, for it may be secret.
        let refused = || {
            Error::invalid(format!(
                "the header `{name}` cannot be sent: its name or its value holds a character that none may"
            ))
        };
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| refused())?;
        let mut value = HeaderValue::from_str(text.reveal()).map_err(|_| refused())?;
        value.set_sensitive(matches!(text, super::HeaderText::Secret(_)));
        headers.append(name, value);
    }
    Ok(headers)
}

struct Answer {
    response: reqwest::Response,
    url: Arc<str>,
    secrets: Secrets,
}

#[async_trait]
impl Body for Answer {
    async fn chunk(&mut self) -> Result<Option<Bytes>> {
        loop {
            match self.response.chunk().await {
                Ok(Some(bytes)) if bytes.is_empty() => {}
                Ok(next) => return Ok(next),
                Err(error) => return Err(failure::cut(&error, &self.url, &self.secrets)),
            }
        }
    }
}
