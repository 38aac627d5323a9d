//! What an authorization server answers (RFC 6749, sections 5.1 and 5.2).

use std::time::Duration;

use mas_contracts::{Error, ErrorKind, Result, Retry};
use serde_json::Value;

use crate::{Secret, Secrets, http::Whole, retry};

/// The most of a server's own words that an error shows.
const WORDS: usize = 300;

/// A token.
pub(super) struct Granted {
    pub(super) token: Secret,
    /// How long it lives, if that is told.
    pub(super) lives: Option<Duration>,
}

/// Reads the answer of the server at `place`.
///
/// # Errors
/// What it says instead of a token, without `secrets`.
pub(super) fn read(answer: &Whole, place: &str, secrets: &Secrets, unix_time: Duration) -> Result<Granted> {
    let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    if !answer.is_success() || body.get("error").is_some_and(|error| !error.is_null()) {
        return Err(refused(answer, &body, place, secrets, unix_time));
    }
    let broken = |what: &str| {
        let text = format!("what the authorization server {place} answered is no token: {what}");
        Error::new(ErrorKind::Failed, text).with_code("mas::oauth::answer").with_retry(Retry::Never)
    };
    if !body.is_object() {
        return Err(broken("it is no JSON object"));
    }
    let token = body.get("access_token").and_then(Value::as_str).filter(|token| !token.is_empty());
    let token = token.ok_or_else(|| broken("`access_token` is missing"))?;
    if !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(broken("`access_token` holds characters that no header may"));
    }
    // A server that leaves the type out means this one; another is shown in other ways than a header.
    match body.get("token_type").and_then(Value::as_str) {
        Some(kind) if !kind.eq_ignore_ascii_case("bearer") => {
            return Err(broken("`token_type` is not `Bearer`, and nothing else is spoken here"));
        }
        _ => {}
    }
    let lives = body.get("expires_in").and_then(|lives| match lives {
        Value::Number(seconds) => seconds.as_f64(),
        Value::String(seconds) => seconds.trim().parse().ok(),
        _ => None,
    });
    // What is over already is used once.
    let lives = lives.map(|seconds: f64| Duration::try_from_secs_f64(seconds).unwrap_or_default());
    Ok(Granted { token: Secret::new(token), lives })
}

fn refused(answer: &Whole, body: &Value, place: &str, secrets: &Secrets, unix_time: Duration) -> Error {
    let words = |name: &str| {
        let text = body.get(name).and_then(Value::as_str)?;
        let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        Some(secrets.excerpt(text.trim(), WORDS, true)).filter(|text| !text.is_empty())
    };
    let status = answer.status;
    let mut text = format!("the authorization server {place} gave no token (HTTP {status})");
    match (words("error"), words("error_description")) {
        (Some(error), Some(description)) => text = format!("{text}: {error}: {description}"),
        (Some(one), None) | (None, Some(one)) => text = format!("{text}: {one}"),
        (None, None) if matches!(status, 300..=399 | 404 | 405) => {
            text = format!("{text}; is `token_url` its token endpoint?");
        }
        (None, None) => {}
    }
    let asked = answer.header("retry-after").and_then(|value| retry::retry_after(value, unix_time));
    let (kind, retry) = match status {
        300..=399 | 404 | 405 => (ErrorKind::Invalid, Retry::Never),
        429 => (ErrorKind::RateLimited, asked.map_or(Retry::Backoff, Retry::After)),
        408 | 500..=599 => (ErrorKind::Unavailable, asked.map_or(Retry::Backoff, Retry::After)),
        _ => (ErrorKind::Unauthenticated, Retry::Never),
    };
    Error::new(kind, text).with_code("mas::oauth::refused").with_retry(retry)
}
