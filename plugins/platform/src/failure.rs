//! What a status that is no success means.

use mas_comm_kit::{
    Secrets,
    http::{EXCERPT, Whole, shown},
    retry,
};
use mas_contracts::{Delivery, Error, ErrorKind, Retry};
use serde_json::Value;

/// The code of the error for a turn that took longer than a message may.
pub const MESSAGE_LIMIT: &str = "mas::platform::message_limit";

const LIMIT_REASON: &str = "MESSAGE_RESPONSE_LIMIT_EXCEEDED";
const ERROR_INFO: &str = "type.googleapis.com/google.rpc.ErrorInfo";

/// Whom a request was to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// The platform: nothing was sent to a session.
    Platform,
    /// The runtime of a session.
    Runtime,
}

/// The error for an answer whose status is no success.
pub(crate) fn of(
    side: Side,
    method: &str,
    answer: &Whole,
    unix_time: std::time::Duration,
    secrets: &Secrets,
) -> Error {
    let status = answer.status;
    let (kind, code) = match status {
        400 => (ErrorKind::Invalid, "mas::platform::request_refused"),
        401 => (ErrorKind::Unauthenticated, "mas::platform::unauthenticated"),
        403 => (ErrorKind::Denied, "mas::platform::denied"),
        404 => (ErrorKind::NotFound, "mas::platform::not_found"),
        409 => (ErrorKind::Conflict, "mas::platform::conflict"),
        429 => (ErrorKind::RateLimited, "mas::platform::rate_limited"),
        500..=599 => (ErrorKind::Unavailable, "mas::platform::server_error"),
        _ => (ErrorKind::Rejected, "mas::platform::rejected"),
    };
    let (delivery, outcome) = match (side, status) {
        (Side::Platform, _) => (Delivery::NotSent, "; nothing was sent to the session"),
        // These two say that somebody did not wait, and not that nothing ran.
        (Side::Runtime, 400..=499) if !matches!(status, 408 | 499) => (Delivery::Rejected, ""),
        (Side::Runtime, _) => (Delivery::Unknown, "; whether the session executed it is not known"),
    };
    let retry = match (status, answer.header("retry-after")) {
        (429 | 503, Some(after)) => retry::retry_after(after, unix_time).map_or(Retry::Backoff, Retry::After),
        (429, None) => Retry::Backoff,
        (400..=499, _) => Retry::Never,
        _ => Retry::Unstated,
    };
    let url = secrets.scrub(&shown(&answer.url)).into_owned();
    let said = said(&answer.body, secrets);
    Error::new(kind, format!("{status} {method} {url}: {said}{outcome}"))
        .with_code(code)
        .with_delivery(delivery)
        .with_retry(retry)
        .with("status", status)
}

/// What the other side says of it, without secrets.
fn said(body: &[u8], secrets: &Secrets) -> String {
    let document: Value = serde_json::from_slice(body).unwrap_or_default();
    let words = [document.pointer("/error/message"), document.get("detail"), document.get("message")];
    let words = words.into_iter().flatten().find_map(Value::as_str).map(str::to_owned);
    let text = words.unwrap_or_else(|| {
        String::from_utf8_lossy(body.get(..body.len().min(8 * EXCERPT)).unwrap_or_default()).into_owned()
    });
    match text.trim() {
        "" => "no reason is given".to_owned(),
        text => secrets.excerpt(text.trim_end_matches('.'), EXCERPT, body.len() <= 8 * EXCERPT),
    }
}

/// Whether an answer says that the turn took longer than a message may, and how long that is, if it says so in numbers.
/// Only the whole shape counts: the status, and an `ErrorInfo` of this reason and `domain`.
pub(crate) fn message_limit(status: u16, body: &[u8], domain: &str) -> Option<Option<f64>> {
    if status != 504 {
        return None;
    }
    let document: Value = serde_json::from_slice(body).ok()?;
    let details = document.pointer("/error/details")?.as_array()?;
    let is = |detail: &&Value, name: &str, text: &str| detail.get(name).and_then(Value::as_str) == Some(text);
    let info = details.iter().find(|detail| {
        is(detail, "@type", ERROR_INFO) && is(detail, "reason", LIMIT_REASON) && is(detail, "domain", domain)
    })?;
    let seconds = info.pointer("/metadata/limitSeconds");
    let seconds =
        seconds.and_then(|seconds| seconds.as_f64().or_else(|| seconds.as_str()?.trim().parse().ok()));
    Some(seconds.filter(|seconds: &f64| seconds.is_finite() && *seconds > 0.0))
}

/// The error for a turn that took longer than a message may: it ran, was stopped, and is never sent again.
pub(crate) fn over_limit(seconds: Option<f64>) -> Error {
    let limit = seconds.map_or_else(String::new, |seconds| format!(" of {seconds} s"));
    let text = format!(
        "the turn took longer than the platform's limit{limit} for a message and was stopped, after it may have done things; \
         for work of this length ask for a task: response_kind=\"task\", or `--response-kind task`"
    );
    let error = Error::new(ErrorKind::Limit, text)
        .with_code(MESSAGE_LIMIT)
        .with_delivery(Delivery::Answered)
        .with_retry(Retry::Never);
    match seconds {
        Some(seconds) => error.with("limit_seconds", seconds),
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use mas_comm_kit::Secret;
    use serde_json::json;

    use super::*;

    fn answer(status: u16, body: &str) -> Whole {
        let headers = vec![("retry-after".to_owned(), "7".to_owned())];
        Whole { status, headers, body: body.as_bytes().to_vec(), url: "https://h/x?token=abcd".to_owned() }
    }

    #[test]
    fn a_status_has_a_kind_a_delivery_and_the_words_of_the_other_side() {
        let mut secrets = Secrets::new();
        secrets.add(Secret::new("tok-1"));
        let cases = [
            (Side::Platform, 401, r#"{"detail": "no tok-1"}"#, ErrorKind::Unauthenticated, Delivery::NotSent),
            (Side::Platform, 500, "", ErrorKind::Unavailable, Delivery::NotSent),
            (Side::Runtime, 400, r#"{"error": {"message": "bad"}}"#, ErrorKind::Invalid, Delivery::Rejected),
            (Side::Runtime, 403, "{}", ErrorKind::Denied, Delivery::Rejected),
            (Side::Runtime, 404, "gone", ErrorKind::NotFound, Delivery::Rejected),
            (Side::Runtime, 409, "", ErrorKind::Conflict, Delivery::Rejected),
            (Side::Runtime, 429, "", ErrorKind::RateLimited, Delivery::Rejected),
            (Side::Runtime, 408, "", ErrorKind::Rejected, Delivery::Unknown),
            (Side::Runtime, 499, "", ErrorKind::Rejected, Delivery::Unknown),
            (Side::Runtime, 418, "", ErrorKind::Rejected, Delivery::Rejected),
            (Side::Runtime, 502, "<h1>tok-1</h1>", ErrorKind::Unavailable, Delivery::Unknown),
            (Side::Runtime, 302, "", ErrorKind::Rejected, Delivery::Unknown),
        ];
        for (side, status, body, kind, delivery) in cases {
            let error = of(side, "POST", &answer(status, body), Duration::ZERO, &secrets);
            assert_eq!((error.kind(), error.delivery()), (kind, delivery), "{status}");
            assert!(
                error.message().starts_with(&format!("{status} POST https://h/x?token=***: ")),
                "{error}"
            );
            assert!(!format!("{error:?}").contains("tok-1"));
        }
        let error = of(Side::Runtime, "POST", &answer(429, ""), Duration::ZERO, &secrets);
        assert_eq!(error.retry(), Retry::After(Duration::from_secs(7)));
        insta::assert_snapshot!(
            of(Side::Runtime, "POST", &answer(504, "<h1>504</h1>"), Duration::ZERO, &secrets),
            @"504 POST https://h/x?token=***: <h1>504</h1>; whether the session executed it is not known"
        );
    }

    #[test]
    fn only_the_whole_shape_is_the_limit_of_a_message() {
        let info = |reason: &str, domain: &str, metadata: Value| json!({"@type": ERROR_INFO, "reason": reason, "domain": domain, "metadata": metadata});
        let right = |seconds: Value| info(LIMIT_REASON, "mainsequence.ai", json!({"limitSeconds": seconds}));
        let body = |details: Value| json!({"error": {"code": 504, "details": details}}).to_string();
        let cases = [
            (504, body(json!([right(json!("90"))])), Some(Some(90.0))),
            (504, body(json!([right(json!(90))])), Some(Some(90.0))),
            (504, body(json!([right(json!("0.2"))])), Some(Some(0.2))),
            (504, body(json!([right(json!("abc"))])), Some(None)),
            (504, body(json!([right(json!(-1))])), Some(None)),
            (504, body(json!([info(LIMIT_REASON, "mainsequence.ai", Value::Null)])), Some(None)),
            (504, body(json!([{"@type": "other"}, 7, null, right(json!(90))])), Some(Some(90.0))),
            (504, "<html>504</html>".to_owned(), None),
            (504, json!({"error": {"code": 504}}).to_string(), None),
            (504, body(json!("no list")), None),
            (504, body(json!([])), None),
            (504, body(json!([info(LIMIT_REASON, "elsewhere.example", json!({}))])), None),
            (504, body(json!([info("OTHER", "mainsequence.ai", json!({}))])), None),
            (504, body(json!([{"reason": LIMIT_REASON, "domain": "mainsequence.ai"}])), None),
            (502, body(json!([right(json!("90"))])), None),
            (200, body(json!([right(json!("90"))])), None),
        ];
        for (status, body, wanted) in cases {
            assert_eq!(message_limit(status, body.as_bytes(), "mainsequence.ai"), wanted, "{status} {body}");
        }
    }

    #[test]
    fn the_limit_is_told_with_what_to_do() {
        let error = over_limit(Some(90.0));
        insta::assert_snapshot!(error, @r#"the turn took longer than the platform's limit of 90 s for a message and was stopped, after it may have done things; for work of this length ask for a task: response_kind="task", or `--response-kind task`"#);
        assert_eq!(error.context().collect::<Vec<_>>(), [("limit_seconds", "90")]);
        assert_eq!((error.may_resend(), error.code()), (false, MESSAGE_LIMIT.into()));
        assert_eq!(over_limit(None).context().count(), 0);
    }
}
