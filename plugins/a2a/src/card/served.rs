//! A document that is served with what caches need (A2A v1.0, section 8.6; RFC 9110, section 13).

use std::{
    fmt::Write,
    time::{Duration, UNIX_EPOCH},
};

use bytes::Bytes;
use http::{
    HeaderMap, HeaderValue, Response, StatusCode,
    header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED},
};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// How long a card may be taken from a cache.
const CACHED: HeaderValue = HeaderValue::from_static("public, max-age=300");

/// A JSON document, prepared once.
#[derive(Clone, Debug)]
pub(crate) struct Document {
    body: Bytes,
    etag: HeaderValue,
    modified: HeaderValue,
    /// Whole seconds since the Unix epoch, as dates of HTTP count.
    modified_seconds: u64,
}

impl Document {
    /// Prepares a document; `now` since the Unix epoch is when it was last modified.
    pub(crate) fn new(document: &Value, now: Duration) -> Self {
        let body = Bytes::from(document.to_string());
        let mut etag = String::from("\"");
        for byte in Sha256::digest(&body).iter().take(16) {
            let _ = write!(etag, "{byte:02x}");
        }
        etag.push('"');
        let modified_seconds = now.as_secs();
        let modified =
            httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(modified_seconds.min(LATEST)));
        let header = |text: &str| HeaderValue::from_str(text).unwrap_or(HeaderValue::from_static(""));
        Self { body, etag: header(&etag), modified: header(&modified), modified_seconds }
    }

    /// The bytes of the document.
    pub(crate) fn body(&self) -> &Bytes {
        &self.body
    }

    /// Answers a GET with these headers: the document, or 304 where the caller has it.
    pub(crate) fn respond(&self, asked: &HeaderMap) -> Response<Bytes> {
        let known = self.is_known(asked);
        let mut response = Response::new(if known { Bytes::new() } else { self.body.clone() });
        if known {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
        }
        let headers = response.headers_mut();
        if !known {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        headers.insert(ETAG, self.etag.clone());
        headers.insert(LAST_MODIFIED, self.modified.clone());
        headers.insert(CACHE_CONTROL, CACHED);
        response
    }

    /// Whether the caller has this very document. `If-Modified-Since` counts only without `If-None-Match`.
    fn is_known(&self, asked: &HeaderMap) -> bool {
        let mut tags = asked.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok()).peekable();
        if tags.peek().is_some() {
            let etag = self.etag.to_str().unwrap_or_default();
            // The tag has no comma, so splitting others at theirs does no harm.
            return tags
                .flat_map(|tags| tags.split(','))
                .map(str::trim)
                .any(|tag| tag == "*" || tag.strip_prefix("W/").unwrap_or(tag) == etag);
        }
        let since = asked.get(IF_MODIFIED_SINCE).and_then(|value| value.to_str().ok());
        let since = since.and_then(|date| httpdate::parse_http_date(date).ok());
        since
            .and_then(|since| since.duration_since(UNIX_EPOCH).ok())
            .is_some_and(|since| self.modified_seconds <= since.as_secs())
    }
}

/// The last second of the year 9999, behind which there are no dates of HTTP.
const LATEST: u64 = 253_402_300_799;

#[cfg(test)]
mod tests {
    use super::*;

    fn respond(asked: &[(http::HeaderName, &str)]) -> Response<Bytes> {
        let document =
            Document::new(&serde_json::json!({"name": "a"}), Duration::from_millis(1_761_647_400_007));
        let asked = asked.iter().map(|(name, value)| (name.clone(), HeaderValue::from_str(value).unwrap()));
        document.respond(&asked.collect())
    }

    #[test]
    fn a_document_is_served_with_what_caches_need() {
        let response = respond(&[]);
        assert_eq!(response.status(), 200);
        assert_eq!(response.body().as_ref(), br#"{"name":"a"}"#);
        let header = |name| response.headers().get(name).and_then(|value| value.to_str().ok());
        assert_eq!(header(CONTENT_TYPE), Some("application/json"));
        assert_eq!(header(CACHE_CONTROL), Some("public, max-age=300"));
        assert_eq!(header(LAST_MODIFIED), Some("Tue, 28 Oct 2025 10:30:00 GMT"));
        assert_eq!(header(ETAG).map(str::len), Some(34));
    }

    #[test]
    fn a_caller_that_has_it_is_told_so() {
        let etag = respond(&[]).headers().get(ETAG).unwrap().to_str().unwrap().to_owned();
        let status = |asked: &[(http::HeaderName, &str)]| respond(asked).status().as_u16();
        assert_eq!(status(&[(IF_NONE_MATCH, &etag)]), 304);
        assert_eq!(status(&[(IF_NONE_MATCH, &format!("\"x\", W/{etag}"))]), 304);
        assert_eq!(status(&[(IF_NONE_MATCH, "*")]), 304);
        assert_eq!(
            status(&[(IF_NONE_MATCH, "\"x\""), (IF_MODIFIED_SINCE, "Tue, 28 Oct 2025 10:30:00 GMT")]),
            200
        );
        assert_eq!(status(&[(IF_MODIFIED_SINCE, "Tue, 28 Oct 2025 10:30:00 GMT")]), 304);
        assert_eq!(status(&[(IF_MODIFIED_SINCE, "Tue, 28 Oct 2025 10:29:59 GMT")]), 200);
        assert_eq!(status(&[(IF_MODIFIED_SINCE, "yesterday")]), 200);
        let response = respond(&[(IF_NONE_MATCH, &etag)]);
        assert!(response.body().is_empty() && response.headers().contains_key(CACHE_CONTROL));
    }
}
