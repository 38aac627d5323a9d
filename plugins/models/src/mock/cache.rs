//! The cache file of `mock`: recorded replies by request.

use std::{
    collections::BTreeMap,
    fmt::Write,
    fs::File,
    io::{ErrorKind as IoErrorKind, Read},
    path::{Path, PathBuf},
};

use mas_contracts::{BuildContext, ChatRequest, Completion, Error, ErrorKind, Result};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::wire;

/// A larger cache file is refused.
const LIMIT: u64 = 64 * 1024 * 1024;

#[derive(Debug, Default)]
pub(super) struct Cache {
    replies: BTreeMap<String, Value>,
}

impl Cache {
    pub(super) fn open(cx: &BuildContext, given: Option<&str>) -> Result<Self> {
        match place(cx, given) {
            Some(path) => Self::read(&path),
            None => Ok(Self::default()),
        }
    }

    fn read(path: &Path) -> Result<Self> {
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == IoErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(unreadable(path, error)),
        };
        let mut bytes = Vec::new();
        file.take(LIMIT.saturating_add(1))
            .read_to_end(&mut bytes)
            .map_err(|error| unreadable(path, error))?;
        if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > LIMIT {
            return Err(invalid(path).caused_by(format!("it is larger than {LIMIT} bytes")));
        }
        match serde_json::from_slice(&bytes) {
            Ok(replies) => Ok(Self { replies }),
            Err(error) => Err(invalid(path).caused_by(error)),
        }
    }

    /// The recorded reply to a request.
    pub(super) fn find(&self, request: &ChatRequest<'_>) -> Option<Completion> {
        if self.replies.is_empty() {
            return None;
        }
        wire::reply(self.replies.get(&key(request))?, request)
    }
}

fn place(cx: &BuildContext, given: Option<&str>) -> Option<PathBuf> {
    if let Some(path) = given {
        return Some(cx.base.join(path));
    }
    if let Some(path) = cx.env.get("MAS_LLM_CACHE") {
        return Some(PathBuf::from(path));
    }
    let folder = match cx.env.get("XDG_CACHE_HOME") {
        Some(folder) => PathBuf::from(folder),
        None => Path::new(cx.env.get("HOME")?).join(".cache"),
    };
    Some(folder.join("mas").join("llm_cache.json"))
}

fn unreadable(path: &Path, error: std::io::Error) -> Error {
    Error::new(ErrorKind::Unavailable, format!("the model cache `{}` cannot be read", path.display()))
        .with_code("mas::mock::cache")
        .caused_by(error)
}

fn invalid(path: &Path) -> Error {
    Error::invalid(format!("the model cache `{}` is not a JSON object of replies", path.display()))
        .with_code("mas::mock::cache")
}

/// The key of a request.
pub(super) fn key(request: &ChatRequest<'_>) -> String {
    let mut json = String::from("{\"messages\":");
    sorted(&Value::Array(wire::messages(request)), &mut json);
    json.push_str(",\"model\":");
    sorted(&Value::String(request.model.to_string()), &mut json);
    json.push_str(",\"tools\":");
    sorted(&Value::Array(wire::tools(request)), &mut json);
    json.push('}');
    let mut hex = String::with_capacity(64);
    for byte in Sha256::digest(json.as_bytes()) {
        let _ = write!(hex, "{byte:02x}");
    }
    hex
}

/// Writes a value as JSON with sorted keys and without white space.
fn sorted(value: &Value, out: &mut String) {
    match value {
        Value::Object(map) => {
            let ordered: BTreeMap<&String, &Value> = map.iter().collect();
            out.push('{');
            for (at, (key, value)) in ordered.into_iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                let _ = write!(out, "{}:", Value::String(key.clone()));
                sorted(value, out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                sorted(item, out);
            }
            out.push(']');
        }
        other => {
            let _ = write!(out, "{other}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_sorted_at_every_depth() {
        let value = serde_json::json!({"b": [{"d": 1, "c": "é\n"}], "a": null});
        let mut out = String::new();
        sorted(&value, &mut out);
        assert_eq!(out, "{\"a\":null,\"b\":[{\"c\":\"é\\n\",\"d\":1}]}");
    }
}
