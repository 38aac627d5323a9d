//! Refusals, as a status or as a chunk of a stream: `google.rpc.Status`
//! (ai.google.dev/gemini-api/docs/troubleshooting, cloud.google.com/apis/design/errors).

use std::time::Duration;

use mas_contracts::{Error, ErrorKind, Retry};
use serde_json::Value;

use super::NAME;
use crate::refusal;

/// The error for a status that is no success of a call to `url`. `key` is the variable that holds the key.
pub(super) fn refused(status: u16, body: &str, url: &str, key: Option<&str>) -> Error {
    // A wrong key is a wrong argument to this API.
    let bad_key = status == 400 && (body.contains("API_KEY_INVALID") || body.contains("API key not valid"));
    let status = if bad_key { 401 } else { status };
    refined(refusal::refusal(NAME, url, key, status, body), body)
}

/// The error that a chunk tells of, after the answer has begun.
pub(super) fn told(chunk: &Value) -> Error {
    let error = refusal::in_stream(NAME, chunk.get("error").unwrap_or(&Value::Null));
    refined(error, &chunk.to_string())
}

fn refined(error: Error, body: &str) -> Error {
    match (error.kind(), pause(body)) {
        // The quota of a day is not there again after a pause.
        (ErrorKind::RateLimited, _) if body.contains("PerDay") => error.with_retry(Retry::Never),
        (ErrorKind::RateLimited, Some(pause)) => error.with_retry(Retry::After(pause)),
        _ => error,
    }
}

/// The pause of `google.rpc.RetryInfo`, such as `"retryDelay": "12.5s"`. The body may be cut, so it is not parsed.
fn pause(body: &str) -> Option<Duration> {
    let (_, after) = body.split_once("\"retryDelay\"")?;
    let after = after.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
    let (seconds, _) = after.split_once("s\"")?;
    Duration::try_from_secs_f64(seconds.parse().ok()?).ok()
}
