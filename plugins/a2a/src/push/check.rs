//! What a webhook must be to be registered.

use std::sync::Arc;

use http::HeaderValue;
use url::Url;

use super::guard::Guard;
use crate::model::{Authentication, Failure, PushConfig, Violation};

/// The most bytes of each text of a webhook.
const LONGEST_ID: usize = 256;
const LONGEST_URL: usize = 2 * 1024;
const LONGEST_TOKEN: usize = 4 * 1024;
const LONGEST_SCHEME: usize = 64;
const LONGEST_CREDENTIALS: usize = 8 * 1024;

/// Checks a webhook, and returns the host that it posts to, with its port. Nothing is looked up.
pub(super) fn check(config: &PushConfig, guard: &Guard) -> Result<Arc<str>, Failure> {
    let mut violations = Vec::new();
    let mut wrong = |field: &str, what: &'static str| violations.push(Violation::new(field, what));
    if config.id.len() > LONGEST_ID {
        wrong("id", "has to be 256 bytes long at most");
    } else if config.id.chars().any(char::is_control) {
        wrong("id", "holds a control character");
    }
    let host = match read_url(&config.url, guard) {
        Ok(host) => host,
        Err(what) => {
            wrong("url", what);
            "".into()
        }
    };
    if let Some(what) = config.token.as_deref().and_then(|token| objection(token, LONGEST_TOKEN)) {
        wrong("token", what);
    }
    if let Some(Authentication { scheme, credentials }) = &config.authentication {
        // A scheme is a token (RFC 9110, section 11.1).
        if scheme.is_empty() || scheme.len() > LONGEST_SCHEME || !scheme.bytes().all(is_of_token) {
            wrong("authentication.scheme", "has to be a word such as `Bearer`");
        }
        let given = credentials.as_deref();
        if let Some(what) = given.and_then(|given| objection(given, LONGEST_CREDENTIALS)) {
            wrong("authentication.credentials", what);
        }
    }
    if violations.is_empty() { Ok(host) } else { Err(Failure::invalid(violations)) }
}

fn read_url(text: &str, guard: &Guard) -> Result<Arc<str>, &'static str> {
    if text.len() > LONGEST_URL {
        return Err("has to be 2048 bytes long at most");
    }
    // A reader of URLs drops some of these without a word.
    if text.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return Err("holds white space or a control character");
    }
    let url = Url::parse(text).map_err(|_| "is no URL; write it as `https://host/path`")?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err("has to begin with `https://` or `http://`");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("holds a name or a password; use `authentication` for those");
    }
    let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else {
        return Err("has no host");
    };
    if port == 0 {
        return Err("has the port 0, which nobody can be reached at");
    }
    match guard.objection(&url) {
        Some(what) => Err(what),
        None => Ok(format!("{host}:{port}").into()),
    }
}

/// What is wrong with a secret that goes into a header. A line break in it would begin a header of its own.
fn objection(text: &str, longest: usize) -> Option<&'static str> {
    if text.len() > longest {
        Some("is too long")
    } else if text.trim() != text || HeaderValue::from_str(text).is_err() {
        Some("holds a character that no header may, such as a line break, or white space around it")
    } else {
        None
    }
}

fn is_of_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}
