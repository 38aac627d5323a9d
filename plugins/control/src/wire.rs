//! Requests and replies, one a line.

use std::{io, sync::Arc};

use mas_contracts::{Error, ErrorKind};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt};

use crate::Token;

/// The version of the protocol. It grows by fields and methods alone.
pub(crate) const VERSION: u32 = 1;

/// The longest line.
pub(crate) const LONGEST: u64 = 1024 * 1024;

/// What is asked.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Request {
    /// Whatever the caller tells its requests apart by.
    #[serde(default)]
    pub(crate) id: Value,
    pub(crate) method: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) session_id: Option<Arc<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) args: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) token: Option<Token>,
}

/// The line of a reply.
pub(crate) fn reply(id: &Value, result: &Result<Value, Error>) -> Value {
    match result {
        Ok(result) => json!({"id": id, "ok": true, "result": result}),
        Err(error) => json!({"id": id, "ok": false, "error": error_record(error)}),
    }
}

/// An error as others read it.
pub(crate) fn error_record(error: &Error) -> Value {
    let mut record = Map::new();
    record.insert("type".to_owned(), json!(error.kind().as_str()));
    record.insert("code".to_owned(), json!(error.code()));
    record.insert("message".to_owned(), json!(error.message()));
    let context: Map<String, Value> =
        error.context().map(|(key, value)| (key.to_owned(), json!(value))).collect();
    if !context.is_empty() {
        record.insert("context".to_owned(), Value::Object(context));
    }
    Value::Object(record)
}

/// The error that a record says.
pub(crate) fn read_error(record: &Value) -> Error {
    let text = |key: &str| record.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let kind = serde_json::from_value(json!(text("type"))).unwrap_or(ErrorKind::Failed);
    let error = Error::new(kind, text("message")).with_code(text("code"));
    let context = record.get("context").and_then(Value::as_object).into_iter().flatten();
    context.fold(error, |error, (key, value)| {
        error.with(key.clone(), value.as_str().map_or_else(|| value.to_string(), str::to_owned))
    })
}

/// The next line without its end; nothing at the end of the stream. What a cut read had stays in `line`, so it may be
/// dropped and called again.
///
/// # Errors
/// A stream that fails, and a line that is too long ([`io::ErrorKind::FileTooLarge`]).
pub(crate) async fn read_line<'l>(
    stream: &mut (impl AsyncBufRead + Unpin),
    line: &'l mut Vec<u8>,
) -> io::Result<Option<&'l [u8]>> {
    let room = LONGEST.saturating_add(1).saturating_sub(line.len() as u64);
    stream.take(room).read_until(b'\n', line).await?;
    if line.is_empty() {
        return Ok(None);
    }
    match line.strip_suffix(b"\n") {
        Some(line) => Ok(Some(line)),
        None if line.len() as u64 > LONGEST => {
            Err(io::Error::new(io::ErrorKind::FileTooLarge, "the line is longer than 1 MiB"))
        }
        // The last line of one who left in the middle of it.
        None => Ok(None),
    }
}
