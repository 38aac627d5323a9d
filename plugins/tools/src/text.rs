//! How results read.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

/// What a tool gives back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Output {
    /// JSON where it is, else text: of a program an object or an array, of a server what it says is JSON.
    #[default]
    Auto,
    /// One JSON value; anything else is a failure.
    Json,
    /// Text.
    Text,
}

impl Output {
    /// How a text reads that `auto` takes for JSON or not: JSON indented, all else as it is.
    ///
    /// # Errors
    /// Why it is not the JSON that it must be.
    pub(crate) fn read(self, text: &str, is_json: bool) -> serde_json::Result<String> {
        let json = || serde_json::from_str::<Value>(text).map(|value| indented(&value));
        match self {
            Self::Json => json(),
            Self::Auto if is_json => Ok(json().unwrap_or_else(|_| text.to_owned())),
            Self::Auto | Self::Text => Ok(text.to_owned()),
        }
    }
}

/// JSON as results show it: indented by two spaces.
pub(crate) fn indented(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_else(|_| value.to_string())
}
