//! A whole call: the answer with its body, within one limit of time.

use std::time::Duration;

use mas_contracts::{Clock, Delivery, Error, ErrorKind, Result, Retry};
use reqwest::Url;

use super::{HeaderText, Request, Response, Transport, shown};
use crate::phases::seconds;

/// What a whole call may take.
#[derive(Clone, Copy)]
pub struct Bounds<'a> {
    /// The clock that `timeout` is on.
    pub clock: &'a dyn Clock,
    /// How long it may take in all, redirects and the body included.
    pub timeout: Duration,
    /// The most bytes of the body.
    pub largest: usize,
    /// How many redirects are followed, of a GET or a HEAD only; with 0 a redirect is an answer like any other. None
    /// leads from https to http, and what is secret goes no further than the scheme, host and port it was meant for.
    pub redirects: u8,
}

/// An answer with its body.
#[derive(Clone, PartialEq, Eq)]
pub struct Whole {
    /// The status.
    pub status: u16,
    /// The headers in order, their names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// Where it came from: the URL of the request, or that of the last redirect.
    pub url: String,
}

impl Whole {
    /// Whether the status is 2xx.
    #[must_use]
    pub fn is_success(&self) -> bool {
        matches!(self.status, 200..=299)
    }

    /// The first value of a header, named in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| &**value)
    }
}

impl std::fmt::Debug for Whole {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Whole").field("status", &self.status).field("body", &self.body.len()).finish()
    }
}

/// Sends a request and reads all of the answer, whatever its status.
///
/// # Errors
/// As [`Transport::send`] and [`Response::read`]; `mas::http::timeout` with [`Delivery::Unknown`] when the time is over,
/// `mas::http::redirect` for a redirect that may not be followed, or one too many.
pub async fn ask(transport: &dyn Transport, request: &Request, bounds: &Bounds<'_>) -> Result<Whole> {
    let now = bounds.clock.now();
    let end = now.checked_add(bounds.timeout).unwrap_or(now);
    tokio::select! {
        biased;
        done = followed(transport, request, bounds) => done,
        () = bounds.clock.sleep_until(end) => {
            let (place, time) = (shown(&request.url), seconds(bounds.timeout));
            let place = request.secrets().scrub(&place).into_owned();
            Err(Error::new(ErrorKind::Timeout, format!("`{place}` did not answer within {time} s"))
                .with_code("mas::http::timeout")
                .with_delivery(Delivery::Unknown)
                .with_retry(Retry::Backoff))
        }
    }
}

async fn followed(transport: &dyn Transport, request: &Request, bounds: &Bounds<'_>) -> Result<Whole> {
    let mut response = transport.send(request).await?;
    let mut next: Option<Request> = None;
    for left in (0..bounds.redirects).rev() {
        let sent = next.as_ref().unwrap_or(request);
        let Some(to) = redirected(sent, &response)? else { break };
        response = transport.send(&to).await?;
        if left == 0 && redirected(&to, &response)?.is_some() {
            return Err(refused(request, &format!("leads on after {} redirects", bounds.redirects)));
        }
        next = Some(to);
    }
    let body = response.read(bounds.largest).await?;
    let url = next.map_or_else(|| request.url.clone(), |last| last.url);
    Ok(Whole { status: response.status(), headers: response.headers().to_vec(), body, url })
}

/// The request that a redirect asks for; none where the answer is none, or is none that is followed.
fn redirected(request: &Request, response: &Response) -> Result<Option<Request>> {
    let moved = matches!(response.status(), 301 | 302 | 303 | 307 | 308);
    if !moved || !matches!(request.method.as_str(), "GET" | "HEAD") {
        return Ok(None);
    }
    let Some(place) = response.header("location") else { return Ok(None) };
    let from = Url::parse(&request.url).map_err(|_| refused(request, "is no URL"))?;
    let Ok(to) = from.join(place) else { return Err(refused(request, "leads to what is no URL")) };
    if !matches!(to.scheme(), "http" | "https") || (from.scheme() == "https" && to.scheme() == "http") {
        return Err(refused(request, "leads from https to a place without it"));
    }
    let mut next = request.clone();
    next.url = to.to_string();
    if from.origin() != to.origin() {
        next.headers.retain(|(_, value)| matches!(value, HeaderText::Plain(_)));
        next.query.clear();
    }
    Ok(Some(next))
}

fn refused(request: &Request, what: &str) -> Error {
    let place = request.secrets().scrub(&shown(&request.url)).into_owned();
    Error::new(ErrorKind::Failed, format!("`{place}` {what}"))
        .with_code("mas::http::redirect")
        .with_delivery(Delivery::Answered)
        .with_retry(Retry::Never)
}
