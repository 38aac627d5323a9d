//! Words and times of a row, in the forms that people write them in.

use std::{borrow::Cow, fmt, path::PathBuf};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, de::Error as _};
use serde_json::{Map, Value};

use crate::client::{Binding, Version};

/// Where a card comes from.
#[derive(Clone, PartialEq)]
pub(crate) enum CardSource {
    /// It stands in the row.
    Inline(Map<String, Value>),
    /// A file.
    File(PathBuf),
    /// An address.
    Url(String),
}

/// Which version is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protocol {
    Auto,
    Only(Version),
}

/// A binding, as rows write it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BindingWord(pub(super) Binding);

impl fmt::Debug for CardSource {
    // An address may hold a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CardSource")
    }
}

impl<'de> Deserialize<'de> for CardSource {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        match Value::deserialize(from)? {
            Value::Object(card) => Ok(Self::Inline(card)),
            Value::String(text) if text.contains("://") => Ok(Self::Url(text)),
            Value::String(text) => Ok(Self::File(text.into())),
            _ => Err(D::Error::custom("expected a card, or the path or the address of one")),
        }
    }
}

impl JsonSchema for CardSource {
    fn schema_name() -> Cow<'static, str> {
        "CardSource".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": ["object", "string"]})
    }
}

impl<'de> Deserialize<'de> for Protocol {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        // YAML reads `1.0` as a number.
        let word = match Value::deserialize(from)? {
            Value::String(word) => word,
            Value::Number(number) => number.to_string(),
            _ => String::new(),
        };
        match (word.as_str(), Version::parse(&word)) {
            ("auto", _) => Ok(Self::Auto),
            (_, Some(version)) => Ok(Self::Only(version)),
            _ => Err(D::Error::custom("expected `auto`, `1.0` or `0.3`")),
        }
    }
}

impl JsonSchema for Protocol {
    fn schema_name() -> Cow<'static, str> {
        "Protocol".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"enum": ["auto", "1.0", "0.3", 1.0, 0.3]})
    }
}

impl<'de> Deserialize<'de> for BindingWord {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let word = String::deserialize(from)?;
        let known = || {
            D::Error::custom(format!("`{word}` is no binding; there are `jsonrpc`, `http+json` and `grpc`"))
        };
        Binding::parse(&word).map(Self).ok_or_else(known)
    }
}

impl JsonSchema for BindingWord {
    fn schema_name() -> Cow<'static, str> {
        "Binding".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"enum": ["jsonrpc", "http+json", "grpc"]})
    }
}
