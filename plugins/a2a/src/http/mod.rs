//! One agent over HTTP: JSON-RPC, HTTP+JSON and the card, for both versions.
//!
//! Below the base of the agent:
//!
//! | path | what |
//! |---|---|
//! | `/` | JSON-RPC; the method names the version |
//! | `/a2a/rest/…`, `/a2a/rest/{tenant}/…` | HTTP+JSON of v1.0 |
//! | `/a2a/rest/v1/…` | HTTP+JSON of v0.3, for callers that do not ask for v1.0 |
//! | `/api/a2a/v1/…` | HTTP+JSON of v1.0 as platforms have it, where callers may ask for a kind of response |
//! | `/.well-known/agent-card.json`, `/.well-known/agent.json` | the card |
//!
//! Whatever is wrong gets an answer of the protocol; nothing here answers with a page of a framework.

pub(crate) mod body;
pub(crate) mod call;
pub(crate) mod failures;
mod jsonrpc;
mod media;
mod rest;
mod route;
mod sse;
pub(crate) mod terms;
#[cfg(test)]
pub(crate) mod tests;

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use mas_contracts::Clock;

use crate::{
    auth::Gate,
    card::Published,
    model::{Failure, Operations, RESPONSE_KIND, Reason},
    params::Limits,
};
pub(crate) use body::Answer;
pub(crate) use call::Tongue;

/// Everything that the routes of one agent need.
pub(crate) struct Agent {
    /// What it does.
    pub(crate) operations: Arc<dyn Operations>,
    /// Who may call.
    pub(crate) gate: Arc<Gate>,
    /// What it says of itself.
    pub(crate) card: Arc<Published>,
    /// Times the bodies and the streams.
    pub(crate) clock: Arc<dyn Clock>,
    /// What a caller may ask of it.
    pub(crate) limits: Limits,
}

/// Answers a request. The path of the agent's base is the first `below` bytes of the request's.
pub(crate) async fn answer<B>(agent: Arc<Agent>, request: Request<B>, below: usize) -> Response<Answer>
where
    B: http_body::Body<Data = Bytes>,
{
    let head = request.method() == Method::HEAD;
    let path = request.uri().path().get(below..).unwrap_or_default();
    let mut response = if path.is_empty() || path == "/" {
        jsonrpc::answer(&agent, request).await
    } else if let Some(rest) = path.strip_prefix(rest::BASE).filter(|it| it.is_empty() || it.starts_with('/'))
    {
        let from = request.uri().path().len() - rest.len();
        rest::answer(&agent, request, from, rest::Way::Own).await
    } else if let Some(rest) = path.strip_prefix(rest::PLATFORM).filter(|it| it.starts_with('/'))
        && agent.card.extensions().iter().any(|uri| &**uri == RESPONSE_KIND)
    {
        let from = request.uri().path().len() - rest.len();
        rest::answer(&agent, request, from, rest::Way::Platform).await
    } else if matches!(path, "/.well-known/agent-card.json" | "/.well-known/agent.json") {
        card(&agent, &request)
    } else {
        failures::over_http(&nowhere(), media::Json::Plain)
    };
    if head {
        without_body(&mut response);
    }
    response
}

fn card<B>(agent: &Agent, request: &Request<B>) -> Response<Answer> {
    match *request.method() {
        Method::GET | Method::HEAD => agent.card.document().respond(request.headers()).map(Answer::Whole),
        Method::OPTIONS => options("GET, HEAD, OPTIONS"),
        _ => failures::wrong_verb("GET, HEAD, OPTIONS", media::Json::Plain),
    }
}

/// An answer of 200 with this document.
pub(crate) fn document<T: serde::Serialize>(document: &T) -> Response<Answer> {
    failures::whole(document, media::Json::Plain)
}

/// A failure outside of any agent.
pub(crate) fn refused(failure: &Failure) -> Response<Answer> {
    failures::over_http(failure, media::Json::Plain)
}

/// The failure of a verb that a path outside of any agent does not know.
pub(crate) fn wrong_verb(allow: &'static str) -> Response<Answer> {
    failures::wrong_verb(allow, media::Json::Plain)
}

/// What a path that leads nowhere is.
fn nowhere() -> Failure {
    let message =
        "there is nothing at this path; the card at `/.well-known/agent-card.json` says where what is";
    Failure::new(Reason::MethodNotFound, message)
}

/// Says which verbs a path knows.
fn options(allow: &'static str) -> Response<Answer> {
    let mut response = Response::new(Answer::Whole(Bytes::new()));
    *response.status_mut() = StatusCode::NO_CONTENT;
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static(allow));
    response
}

/// Leaves what a HEAD is answered with: the length of the body, without it.
pub(crate) fn without_body(response: &mut Response<Answer>) {
    if let Answer::Whole(bytes) = response.body() {
        let length = HeaderValue::from(bytes.len());
        response.headers_mut().insert(header::CONTENT_LENGTH, length);
    }
    *response.body_mut() = Answer::Whole(Bytes::new());
}
