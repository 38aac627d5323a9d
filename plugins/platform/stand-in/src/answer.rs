//! What is asked, and what is answered.

use std::time::Duration;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Value, json};

/// A request.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// The method.
    pub method: String,
    /// The path, with the query.
    pub path: String,
    /// The headers, their names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Bytes,
}

impl Asked {
    /// The first value of a header, named in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| &**value)
    }

    /// The token that the request shows.
    pub(crate) fn bearer(&self) -> Option<&str> {
        self.header("authorization")?.strip_prefix("Bearer ")
    }

    /// The body as JSON; nothing where it is none.
    pub(crate) fn json(&self) -> Option<Value> {
        serde_json::from_slice(&self.body).ok()
    }
}

/// How an answer is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Manner {
    /// As it is.
    #[default]
    Whole,
    /// A byte, a pause of this many milliseconds, and so on.
    Drip(u64),
    /// The head, and then the connection is closed.
    Cut,
    /// Never: the connection stays open without a word.
    Silent,
}

/// An answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// How long it takes until it begins.
    pub delay: Duration,
    /// The status.
    pub status: u16,
    /// The content type.
    pub content_type: &'static str,
    /// The body.
    pub body: Bytes,
    /// How it is written.
    pub manner: Manner,
}

impl Answer {
    pub(crate) fn new(status: u16, content_type: &'static str, body: impl Into<Bytes>) -> Self {
        Self { delay: Duration::ZERO, status, content_type, body: body.into(), manner: Manner::Whole }
    }

    /// A document of the platform.
    pub(crate) fn json(status: u16, body: &Value) -> Self {
        Self::new(status, "application/json", body.to_string())
    }

    /// A document of A2A.
    pub(crate) fn a2a(status: u16, body: &Value) -> Self {
        Self::new(status, "application/a2a+json", body.to_string())
    }

    /// An error of the platform.
    pub(crate) fn detail(status: u16, detail: &str) -> Self {
        Self::json(status, &json!({"detail": detail}))
    }

    /// A page, as a gateway in front writes it.
    pub(crate) fn page(status: u16) -> Self {
        Self::new(status, "text/html", format!("<html><body><h1>{status}</h1></body></html>"))
    }

    /// An error of A2A over HTTP (`google.rpc.Status`).
    pub(crate) fn error(status: u16, name: &str, message: &str, reason: &str, domain: &str) -> Self {
        Self::error_with(status, name, message, reason, domain, &json!({}))
    }

    pub(crate) fn error_with(
        status: u16,
        name: &str,
        message: &str,
        reason: &str,
        domain: &str,
        metadata: &Value,
    ) -> Self {
        let info = json!({
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": reason, "domain": domain, "metadata": metadata,
        });
        let error = json!({"code": status, "status": name, "message": message, "details": [info]});
        Self::a2a(status, &json!({"error": error}))
    }

    pub(crate) fn after(mut self, delay: Duration, manner: Manner) -> Self {
        (self.delay, self.manner) = (delay, manner);
        self
    }
}
