//! An HTTP client for plugins, and the seam at which a test puts a transport of its own.
//!
//! A plugin takes [`Settings`] from its parameters and connects; plugins of one team with equal settings share one
//! client, and so its connections. The client follows no redirect, asks for no compression, speaks HTTP/1.1, so that
//! dropping an answer closes its connection, and reads no variable of the process by itself; only the certificates of
//! the machine are found by what the process has as `SSL_CERT_FILE` and `SSL_CERT_DIR`, where the platform has it so.
//! It has a limit for connecting only: how long a whole call may take is the caller's to say, on the caller's clock.
//! [`ask`] is a whole call within such a limit, and follows redirects where it is told to; [`Patient`] gives up on silence.

mod client;
mod failure;
mod patient;
mod proxy;
mod resolver;
mod settings;
mod tls;
mod url;
mod whole;

use std::{borrow::Cow, fmt};

use async_trait::async_trait;
use bytes::Bytes;
use mas_contracts::{Delivery, Error, ErrorKind, Result};

use crate::{Secret, Secrets};

pub use client::Client;
pub use failure::tls_failure;
pub use patient::Patient;
pub use resolver::Resolver;
pub use settings::{Proxying, Settings};
pub use url::{encoded, is_loopback, keeps_secrets, shown};
pub use whole::{Bounds, Whole, ask};

/// The code of the error for a body over its limit.
pub const BODY_TOO_LARGE: &str = "mas::http::body_too_large";

/// The most of a body that an error shows: 2 KiB.
pub const EXCERPT: usize = 2 * 1024;

/// The most that is read of a body for an excerpt, so that a secret in it is whole: 16 KiB.
const EXCERPT_READ: usize = 8 * EXCERPT;

/// The value of a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeaderText {
    /// One that may be shown.
    Plain(String),
    /// One that may not, or with a part that may not.
    Secret(Secret),
}

impl HeaderText {
    /// The text itself, for the one place that sends it.
    #[must_use]
    pub fn reveal(&self) -> &str {
        match self {
            Self::Plain(text) => text,
            Self::Secret(secret) => secret.reveal(),
        }
    }
}

/// A request. Debug shows no secret header, and no body.
#[derive(Clone, Default)]
pub struct Request {
    /// The method, such as `POST`.
    pub method: String,
    /// The whole URL.
    pub url: String,
    /// The headers, in order.
    pub headers: Vec<(String, HeaderText)>,
    /// The body; none for no bytes.
    pub body: Option<Bytes>,
    /// Fields of the query that may not be shown, such as a key; they are added to those of the URL.
    pub query: Vec<(String, Secret)>,
}

impl Request {
    /// The whole URL with the secret fields of the query, for the one place that sends it.
    #[must_use]
    pub fn address(&self) -> Cow<'_, str> {
        if self.query.is_empty() {
            return Cow::Borrowed(&self.url);
        }
        let (whole, fragment) = self.url.split_once('#').unwrap_or((&self.url, ""));
        let mut out = whole.to_owned();
        for (name, value) in &self.query {
            let sign = if out.contains('?') { '&' } else { '?' };
            out.push(sign);
            out.extend([&*encoded(name), "=", &*encoded(value.reveal())]);
        }
        if !fragment.is_empty() {
            out.extend(["#", fragment]);
        }
        Cow::Owned(out)
    }

    /// What of the request no error may show: what is secret in its URL, its secret headers, and what their words are,
    /// since `Authorization: Bearer KEY` may come back as `KEY`.
    #[must_use]
    pub fn secrets(&self) -> Secrets {
        let mut secrets = Secrets::new();
        self.query.iter().for_each(|(_, value)| secrets.add(value.clone()));
        url::secrets(&self.url).for_each(|secret| secrets.add(Secret::new(secret)));
        for (_, value) in &self.headers {
            if let HeaderText::Secret(secret) = value {
                secrets.add(secret.clone());
                if let Some((_, last)) = secret.reveal().rsplit_once(' ') {
                    secrets.add(Secret::new(last));
                }
            }
        }
        secrets
    }
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("method", &self.method)
            .field("url", &shown(&self.url))
            .field("headers", &self.headers)
            .field("query", &self.query)
            .field("body", &self.body.as_ref().map_or(0, Bytes::len))
            .finish()
    }
}

/// What sends requests: a [`Client`], or the script of a test.
#[async_trait]
pub trait Transport: Send + Sync {
    /// Sends a request and waits for the head of the answer, whatever its status. Dropping the future ends it.
    ///
    /// # Errors
    /// Why there is no answer; [`Delivery::NotSent`] where the connection failed, [`Delivery::Unknown`] afterwards.
    async fn send(&self, request: &Request) -> Result<Response>;
}

/// The rest of an answer. Dropping it closes the connection unless it was read to its end.
#[async_trait]
pub trait Body: Send {
    /// The next bytes, never none of them; nothing at the end.
    ///
    /// # Errors
    /// That the body was cut off, with [`Delivery::Unknown`].
    async fn chunk(&mut self) -> Result<Option<Bytes>>;
}

/// The head of an answer, with its body to read.
pub struct Response {
    status: u16,
    headers: Vec<(String, String)>,
    body: Box<dyn Body>,
}

impl Response {
    /// An answer; the names of `headers` are in lower case.
    #[must_use]
    pub fn new(status: u16, headers: Vec<(String, String)>, body: Box<dyn Body>) -> Self {
        Self { status, headers, body }
    }

    /// The status.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.status
    }

    /// Whether the status is 2xx.
    #[must_use]
    pub fn is_success(&self) -> bool {
        matches!(self.status, 200..=299)
    }

    /// The headers in order, their names in lower case.
    #[must_use]
    pub fn headers(&self) -> &[(String, String)] {
        &self.headers
    }

    /// The first value of a header, named in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| &**value)
    }

    /// Whether the content type is `wanted`, such as `application/json`, whatever its parameters; a type such as
    /// `application/problem+json` is JSON too.
    #[must_use]
    pub fn is_type(&self, wanted: &str) -> bool {
        let Some(given) = self.header("content-type") else { return false };
        let given = given.split(';').next().unwrap_or("").trim().to_ascii_lowercase();
        given == wanted || (wanted == "application/json" && given.ends_with("+json"))
    }

    /// The next bytes; nothing at the end.
    ///
    /// # Errors
    /// As [`Body::chunk`].
    pub async fn chunk(&mut self) -> Result<Option<Bytes>> {
        self.body.chunk().await
    }

    /// The rest of the body.
    ///
    /// # Errors
    /// As [`Body::chunk`], and [`BODY_TOO_LARGE`] for one of more than `limit` bytes.
    pub async fn read(&mut self, limit: usize) -> Result<Vec<u8>> {
        let mut body = Vec::new();
        while let Some(bytes) = self.chunk().await? {
            if body.len().saturating_add(bytes.len()) > limit {
                let what = format!("the body of the answer is larger than {limit} bytes");
                let error = Error::new(ErrorKind::Limit, what).with_code(BODY_TOO_LARGE);
                return Err(error.with_delivery(Delivery::Answered));
            }
            body.extend_from_slice(&bytes);
        }
        Ok(body)
    }

    /// The beginning of the body for an error, without the secrets: [`EXCERPT`] bytes at most. A body that is cut
    /// off is as good as a short one.
    pub async fn excerpt(&mut self, secrets: &Secrets) -> String {
        let (mut body, mut whole) = (Vec::new(), false);
        while body.len() < EXCERPT_READ {
            match self.chunk().await {
                Ok(Some(bytes)) => body.extend_from_slice(&bytes),
                Ok(None) => {
                    whole = true;
                    break;
                }
                Err(_) => break,
            }
        }
        body.truncate(EXCERPT_READ);
        secrets.excerpt(String::from_utf8_lossy(&body).trim(), EXCERPT, whole)
    }
}

impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Response").field("status", &self.status).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Pieces(Vec<Result<&'static str>>);

    #[async_trait]
    impl Body for Pieces {
        async fn chunk(&mut self) -> Result<Option<Bytes>> {
            if self.0.is_empty() {
                return Ok(None);
            }
            self.0.remove(0).map(|text| Some(Bytes::from_static(text.as_bytes())))
        }
    }

    fn response(pieces: Vec<Result<&'static str>>) -> Response {
        let headers = vec![("content-type".to_owned(), "Application/JSON; charset=utf-8".to_owned())];
        Response::new(200, headers, Box::new(Pieces(pieces)))
    }

    #[tokio::test]
    async fn bodies_are_bounded() {
        assert_eq!(response(vec![Ok("ab"), Ok("cd")]).read(4).await.unwrap(), b"abcd");
        let error = response(vec![Ok("ab"), Ok("cd")]).read(3).await.unwrap_err();
        assert_eq!(error.code(), BODY_TOO_LARGE);
        let cut = response(vec![Ok("ab"), Err(Error::internal("cut"))]);
        let (mut cut, mut secrets) = (cut, Secrets::new());
        secrets.add(Secret::new("sk-1234"));
        assert_eq!(cut.excerpt(&secrets).await, "…");
        assert_eq!(response(vec![Ok(" no sk-1"), Ok("234 ")]).excerpt(&secrets).await, "no ***");
    }

    #[test]
    fn content_types_are_compared_without_parameters() {
        assert!(response(vec![]).is_type("application/json"));
        assert!(!response(vec![]).is_type("text/event-stream"));
    }

    #[test]
    fn a_request_shows_no_secret() {
        let secret = |text: &str| HeaderText::Secret(Secret::new(text));
        let request = Request {
            method: "POST".to_owned(),
            url: "https://me:hidden@h/v1?api-version=1&key=sk-9999".to_owned(),
            headers: vec![
                ("authorization".to_owned(), secret("Bearer sk-1234")),
                ("x-plain".to_owned(), HeaderText::Plain("seen".to_owned())),
            ],
            body: Some(Bytes::from_static(b"private")),
            query: vec![("plain".to_owned(), Secret::new("sk-5 & 6"))],
        };
        let whole = "https://me:hidden@h/v1?api-version=1&key=sk-9999&plain=sk-5%20%26%206";
        assert_eq!(request.address(), whole);
        let shown = format!("{request:?}");
        for hidden in ["hidden", "sk-", "private"] {
            assert!(!shown.contains(hidden), "{shown}");
        }
        assert!(shown.contains("seen") && shown.contains("api-version=1"), "{shown}");
        let echo = "sk-1234, Bearer sk-1234, /v1?key=sk-9999, hidden, ?plain=sk-5%20%26%206, sk-5+%26+6";
        assert_eq!(request.secrets().scrub(echo), "***, ***, /v1?key=***, ***, ?plain=***, ***");
    }
}
