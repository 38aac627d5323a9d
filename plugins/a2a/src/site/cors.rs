//! Which pages of browsers may call (the CORS protocol of the Fetch standard). None, unless the endpoint names some.

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};

use crate::{http::Answer, params::Cors};

const METHODS: HeaderValue = HeaderValue::from_static("GET, POST, DELETE, OPTIONS");
const SENT: HeaderValue = HeaderValue::from_static(
    "accept, authorization, content-type, last-event-id, a2a-version, a2a-extensions, x-a2a-extensions, \
     traceparent",
);
const SHOWN: HeaderValue = HeaderValue::from_static(
    "etag, last-modified, retry-after, www-authenticate, a2a-extensions, x-a2a-extensions",
);
/// How long a browser may remember the answer, in seconds.
const REMEMBERED: HeaderValue = HeaderValue::from_static("600");

/// The origins of an endpoint.
#[derive(Debug)]
pub(crate) struct Origins {
    any: bool,
    named: Vec<HeaderValue>,
    /// What preflights may ask to send, with the headers of keys.
    sent: HeaderValue,
}

impl Origins {
    /// The origins that an endpoint names; `keys` are the headers that its callers authenticate by.
    pub(crate) fn new<'a>(cors: &Cors, keys: impl Iterator<Item = &'a str>) -> Self {
        let named = cors.origins.iter().filter_map(|origin| HeaderValue::from_str(origin).ok()).collect();
        let mut sent = SENT.to_str().unwrap_or_default().to_owned();
        keys.for_each(|key| {
            sent.push_str(", ");
            sent.push_str(key);
        });
        Self {
            any: cors.origins.iter().any(|origin| origin == "*"),
            named,
            sent: HeaderValue::from_str(&sent).unwrap_or(SENT),
        }
    }

    /// What the page that asks is told; nothing for one that may not call, and for callers that are no pages.
    pub(crate) fn admit(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        let origin = headers.get(header::ORIGIN)?;
        if self.any {
            return Some(HeaderValue::from_static("*"));
        }
        self.named.iter().find(|named| *named == origin).cloned()
    }

    /// The answer to a browser that asks before it lets a page call.
    pub(crate) fn preflight<B>(&self, request: &Request<B>) -> Option<Response<Answer>> {
        let asks = request.method() == Method::OPTIONS
            && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
        let origin = self.admit(request.headers()).filter(|_| asks)?;
        let mut response = Response::new(Answer::Whole(Bytes::new()));
        *response.status_mut() = StatusCode::NO_CONTENT;
        let headers = response.headers_mut();
        headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, METHODS);
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, self.sent.clone());
        headers.insert(header::ACCESS_CONTROL_MAX_AGE, REMEMBERED);
        self.allow(headers, Some(origin));
        Some(response)
    }

    /// Lets a page read an answer. Caches are told that it depends on the page.
    pub(crate) fn allow(&self, headers: &mut HeaderMap, origin: Option<HeaderValue>) {
        headers.append(header::VARY, HeaderValue::from_static("origin"));
        if let Some(origin) = origin {
            headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
            headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, SHOWN);
        }
    }
}
