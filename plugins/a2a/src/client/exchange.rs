//! A request over HTTP with its answer: what the answer says, or which error it is.

use mas_comm_kit::{
    http::{EXCERPT, Request, Response, shown},
    retry::retry_after,
};
use mas_contracts::{Clock, Error, ErrorKind, Result, Retry};

use super::failure::{self, Told};
use crate::json::Node;

/// The deepest JSON that is read.
const LEVELS: usize = 200;

/// A request and the head of its answer.
pub(super) struct Exchange<'a> {
    pub(super) request: &'a Request,
    pub(super) response: &'a Response,
    pub(super) clock: &'a dyn Clock,
    /// Whether JSON-RPC is spoken.
    pub(super) rpc: bool,
}

impl Exchange<'_> {
    /// What the body says, where it is an answer and no error.
    ///
    /// # Errors
    /// The error that it tells of, or that it is none of the protocol.
    pub(super) fn result<'b>(&self, body: &'b [u8]) -> Result<Node<'b>> {
        let Ok(node) = Node::read(body, LEVELS) else { return Err(self.foreign(body)) };
        self.told(node, body)
    }

    /// What an event says, where it is no error; none for one that says nothing, such as `event: ping`.
    ///
    /// # Errors
    /// As [`result`](Self::result).
    pub(super) fn event<'b>(&self, name: Option<&str>, data: &'b str) -> Result<Option<Node<'b>>> {
        let body = data.as_bytes();
        let Ok(node) = Node::read(body, LEVELS) else { return Err(self.foreign(body)) };
        let named = |wanted: &str| field(&node, wanted).is_some();
        if self.rpc && !named("result") && !named("error") {
            return match name {
                None | Some("message" | "error") => Err(self.foreign(body)),
                Some(_) => Ok(None),
            };
        }
        if !self.rpc && name == Some("error") {
            return Err(self.refused(unwrapped(node)));
        }
        self.told(node, body).map(Some)
    }

    fn told<'b>(&self, node: Node<'b>, body: &[u8]) -> Result<Node<'b>> {
        if field(&node, "error").is_some() {
            return Err(self.refused(unwrapped(node)));
        }
        match (self.rpc, self.response.is_success()) {
            (true, true) => taken(node, "result").ok_or_else(|| self.foreign(body)),
            (false, true) => Ok(node),
            // v0.3 agents write the error of HTTP+JSON without an envelope.
            (false, false) if field(&node, "code").is_some() || field(&node, "reason").is_some() => {
                Err(self.refused(node))
            }
            (_, false) => Err(self.foreign(body)),
        }
    }

    /// The error that an error object is.
    fn refused(&self, error: Node<'_>) -> Error {
        let secrets = self.request.secrets();
        self.advised(Told::of(error).into_error(Some(self.response.status()), &secrets))
    }

    /// The error of an answer that is none of the protocol: a page of a proxy, or a path that leads nowhere.
    pub(super) fn foreign(&self, body: &[u8]) -> Error {
        let status = self.response.status();
        let secrets = self.request.secrets();
        let place = secrets.scrub(&shown(&self.request.url)).into_owned();
        let told = String::from_utf8_lossy(body.get(..body.len().min(8 * EXCERPT)).unwrap_or(body));
        let told = match secrets.excerpt(told.trim(), EXCERPT, body.len() <= 8 * EXCERPT) {
            told if told.is_empty() => String::new(),
            told => format!(": {told}"),
        };
        if self.response.is_success() {
            let kind = self.response.header("content-type").unwrap_or("no content type");
            let kind = secrets.scrub(kind);
            return self.advised(failure::unreadable(format!(
                "`{place}` answered with HTTP {status} ({kind}), but not as an A2A agent does{told}"
            )));
        }
        let what = match (status, self.response.header("location")) {
            (300..=399, Some(to)) => {
                let to = secrets.scrub(&shown(to)).into_owned();
                format!(
                    "`{place}` sends to `{to}` (HTTP {status}), which is not followed; \
                     let the card or the `url` name the address itself"
                )
            }
            (404 | 410, _) => format!("there is no A2A agent at `{place}` (HTTP {status}){told}"),
            (401, _) => format!(
                "`{place}` answers only callers with credentials (HTTP 401); they go in a header, such as \
                 `Authorization`{told}"
            ),
            _ => format!("`{place}` answered with HTTP {status}{told}"),
        };
        let error = Error::new(failure::kind_of(status), what)
            .with_code("mas::a2a::refused")
            .with_delivery(failure::delivery_of(status));
        self.advised(error.with("status", status))
    }

    /// The same error as one of an operation that the agent does not offer.
    pub(super) fn as_unsupported(&self, error: &Error) -> Error {
        let same = Error::new(ErrorKind::Unsupported, error.message());
        same.with_code("mas::a2a::refused")
            .with_delivery(error.delivery())
            .with("status", self.response.status())
    }

    /// Adds what the head says: when to try again, and how to authenticate.
    fn advised(&self, error: Error) -> Error {
        let wait = self.response.header("retry-after");
        let wait = wait.and_then(|wait| retry_after(wait, self.clock.unix_time()));
        let error = match (wait, error.kind()) {
            (Some(wait), _) => error.with_retry(Retry::After(wait)),
            (None, ErrorKind::Unavailable | ErrorKind::RateLimited) if error.retry() == Retry::Unstated => {
                let moved = matches!(self.response.status(), 300..=399);
                error.with_retry(if moved { Retry::Never } else { Retry::Backoff })
            }
            _ => error,
        };
        match self.response.header("www-authenticate") {
            Some(challenge) => {
                error.with("challenge", self.request.secrets().excerpt(challenge, EXCERPT, true))
            }
            None => error,
        }
    }
}

/// A member of an object that is not null.
fn field<'n, 'b>(node: &'n Node<'b>, wanted: &str) -> Option<&'n Node<'b>> {
    let Node::Object(fields) = node else { return None };
    fields.iter().find(|(name, value)| name == wanted && !value.is_null()).map(|(_, value)| value)
}

/// A member of an object, taken out of it.
fn taken<'b>(node: Node<'b>, wanted: &str) -> Option<Node<'b>> {
    let Node::Object(fields) = node else { return None };
    fields.into_iter().find(|(name, value)| name == wanted && !value.is_null()).map(|(_, value)| value)
}

/// An error without the envelope around it, where there is one.
fn unwrapped(node: Node<'_>) -> Node<'_> {
    match field(&node, "error") {
        Some(_) => taken(node, "error").unwrap_or(Node::Null),
        None => node,
    }
}
