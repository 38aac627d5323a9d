//! What a provider says when it does not answer.

use std::{borrow::Cow, time::Duration};

use mas_comm_kit::http::EXCERPT;
use mas_contracts::{CONTEXT_LENGTH, Delivery, Error, ErrorKind, Retry};
use serde_json::Value;

/// Texts by which servers say that a request is too long: OpenAI, Azure, vLLM, llama.cpp, Ollama, Anthropic, Gemini.
const TOO_LONG: &[&str] = &[
    "context_length_exceeded",
    "exceed_context_size",
    "maximum context length",
    "context length",
    "context window",
    "context size",
    "exceed context limit",
    "prompt is too long",
    "input is too long",
    "too many tokens",
    "exceeds the maximum number of tokens",
    "reduce the length of the messages",
];

/// What a body says of an error.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Told {
    /// The sentence.
    pub(crate) message: String,
    /// The code or type; empty if there is none.
    pub(crate) code: String,
    /// The parameter that it is about; empty if there is none.
    pub(crate) param: String,
}

impl Told {
    /// What the body of a refusal tells: `{error: {message, code, param}}`, `{error: text}`, `{message}`, `{detail}`,
    /// or any text.
    pub(crate) fn of(body: &str) -> Self {
        match serde_json::from_str::<Value>(body) {
            Ok(Value::Array(items)) => items.first().map_or_else(Self::default, Self::of_value),
            Ok(value) => Self::of_value(&value),
            Err(_) => {
                let message = body.split_whitespace().collect::<Vec<_>>().join(" ");
                Self { message, ..Self::default() }
            }
        }
    }

    fn of_value(value: &Value) -> Self {
        let inner = value.get("error").filter(|inner| !inner.is_null()).unwrap_or(value);
        if let Some(text) = inner.as_str() {
            return Self { message: text.to_owned(), ..Self::default() };
        }
        let text = |keys: &[&str]| {
            let found = keys.iter().find_map(|key| inner.get(*key).filter(|value| !value.is_null()));
            found
                .map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned))
                .unwrap_or_default()
        };
        Self {
            message: text(&["message", "detail"]),
            code: text(&["code", "type", "status"]),
            param: text(&["param"]),
        }
    }

    fn says(&self, words: &[&str]) -> bool {
        let message = self.message.to_lowercase();
        words.iter().any(|word| message.contains(word) || self.code.contains(word))
    }

    /// The first of these fields that the server does not take, by its own words.
    pub(crate) fn unsupported<'a>(&self, fields: &[&'a str]) -> Option<&'a str> {
        let refuses = self.says(&[
            "unsupported",
            "not supported",
            "does not support",
            "unknown",
            "unrecognized",
            "unexpected",
            "not permitted",
            "not allowed",
        ]);
        let named = || fields.iter().find(|field| self.param == ***field);
        // A text may name the field to use instead, after the one that it is about.
        let first = || fields.iter().min_by_key(|field| self.message.find(**field).unwrap_or(usize::MAX));
        let field = if self.param.is_empty() { first() } else { named() };
        field.copied().filter(|field| refuses && (self.param == *field || self.message.contains(field)))
    }

    /// The first of these words that the sentence or the parameter holds.
    pub(crate) fn names<'a>(&self, words: &[&'a str]) -> Option<&'a str> {
        words.iter().copied().find(|word| self.message.contains(word) || self.param.contains(word))
    }

    /// Whether the request is longer than the model takes.
    pub(crate) fn is_too_long(&self) -> bool {
        self.says(TOO_LONG)
    }
}

/// The error for a status that is no success. `key` is the variable of the key, for the help.
pub(crate) fn refusal(provider: &str, url: &str, key: Option<&str>, status: u16, body: &str) -> Error {
    let told = Told::of(body);
    let said = if told.message.is_empty() { String::new() } else { format!(": {}", told.message) };
    let error =
        |kind, what: String| Error::new(kind, format!("{provider} {what}{said}")).with("status", status);
    let key = key.map_or_else(|| "no key was sent".to_owned(), |key| format!("the key is that of `{key}`"));
    let answered = match status {
        // A body that is too large is a past that is too long.
        400 | 413 | 422 if status == 413 || told.is_too_long() => {
            error(ErrorKind::Invalid, "takes no request of this length".to_owned()).with_code(CONTEXT_LENGTH)
        }
        400 if told.says(&["content_filter", "content management policy"]) => {
            error(ErrorKind::Rejected, "filters the request".to_owned()).with_code("mas::llm::filtered")
        }
        401 => error(ErrorKind::Unauthenticated, format!("refuses the credentials (HTTP 401; {key})")),
        402 | 403 => error(ErrorKind::Denied, format!("does not allow this (HTTP {status}; {key})")),
        404 if told.says(&["model"]) => {
            error(ErrorKind::NotFound, format!("knows no such model at {url} (HTTP 404)"))
        }
        404 => error(
            ErrorKind::NotFound,
            format!(
                "has nothing at {url} (HTTP 404); check `api_base`: with or without `/v1`, or the whole address"
            ),
        ),
        429 if told.says(&["insufficient_quota"]) => {
            error(ErrorKind::RateLimited, "has no quota left for this key (HTTP 429)".to_owned())
                .with_code("mas::llm::quota")
                .with_retry(Retry::Never)
        }
        429 => error(ErrorKind::RateLimited, "is asked too often (HTTP 429)".to_owned())
            .with_retry(Retry::Backoff),
        408 | 409 => error(ErrorKind::Unavailable, format!("cannot answer now (HTTP {status})"))
            .with_retry(Retry::Backoff),
        300..=399 => error(
            ErrorKind::Invalid,
            format!("redirects (HTTP {status}), which is not followed; give its new address as `api_base`"),
        ),
        500.. => {
            let failed = error(ErrorKind::Unavailable, format!("fails (HTTP {status})"));
            return failed.with_retry(Retry::Backoff).with_delivery(Delivery::Unknown);
        }
        _ => error(ErrorKind::Invalid, format!("refuses the request (HTTP {status})")),
    };
    answered.with_delivery(Delivery::Rejected)
}

/// The beginning of what a server says, for an error: [`EXCERPT`] bytes at most, and `…` for the rest.
pub(crate) fn head(text: &str) -> Cow<'_, str> {
    let (head, rest) = text.split_at_checked(text.floor_char_boundary(EXCERPT)).unwrap_or((text, ""));
    if rest.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(format!("{head}…")) }
}

/// The error that a stream tells of.
pub(crate) fn in_stream(provider: &str, error: &Value) -> Error {
    let mut told = Told::of_value(&serde_json::json!({ "error": error }));
    told.message = head(&told.message).into_owned();
    let failed = |kind, what: &str| {
        Error::new(kind, format!("{provider} {what}: {}", told.message)).with_delivery(Delivery::Answered)
    };
    if told.is_too_long() || matches!(told.code.as_str(), "413" | "request_too_large") {
        return failed(ErrorKind::Invalid, "takes no request of this length").with_code(CONTEXT_LENGTH);
    }
    match told.code.as_str() {
        "429" | "rate_limit_exceeded" | "rate_limit_error" => {
            failed(ErrorKind::RateLimited, "is asked too often")
                .with_retry(Retry::After(Duration::from_secs(1)))
        }
        "400" | "invalid_request_error" => failed(ErrorKind::Invalid, "refuses the request"),
        "401" | "authentication_error" => failed(ErrorKind::Unauthenticated, "refuses the credentials"),
        "402" | "403" | "billing_error" | "permission_error" => {
            failed(ErrorKind::Denied, "does not allow this")
        }
        "404" | "not_found_error" => failed(ErrorKind::NotFound, "does not have what was asked for"),
        _ => failed(ErrorKind::Unavailable, "breaks its answer off").with_retry(Retry::Backoff),
    }
}
