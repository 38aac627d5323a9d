//! About how many bytes something holds.

use mas_contracts::{Content, Part};
use serde_json::{Map, Value};

/// About how many bytes parts hold.
#[must_use]
pub fn weight_of(parts: &[Part]) -> usize {
    let of = |part: &Part| match &part.content {
        Content::Text(text) | Content::Url(text) => text.len(),
        Content::Raw(bytes) => bytes.len(),
        Content::Data(data) => weight_of_value(data),
    };
    parts.iter().map(of).fold(0, usize::saturating_add)
}

/// About how many bytes metadata holds.
#[must_use]
pub fn weight_of_metadata(metadata: &Map<String, Value>) -> usize {
    metadata
        .iter()
        .map(|(key, value)| key.len().saturating_add(weight_of_value(value)))
        .fold(0, usize::saturating_add)
}

fn weight_of_value(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(weight_of_value).fold(8, usize::saturating_add),
        Value::Object(fields) => weight_of_metadata(fields).saturating_add(8),
    }
}
