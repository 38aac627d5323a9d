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

/// The last `most` bytes as text, without the white space around them; `…` stands for what is left out.
pub(crate) fn tail(bytes: &[u8], most: usize) -> String {
    let left_out = bytes.len().saturating_sub(most);
    let text = String::from_utf8_lossy(bytes.get(left_out..).unwrap_or_default());
    // A character that is cut in two shows as replacements in front.
    let text = if left_out > 0 { text.trim_start_matches(char::REPLACEMENT_CHARACTER) } else { &*text };
    let dots = if left_out > 0 { "…" } else { "" };
    format!("{dots}{}", text.trim())
}

/// The first `most` bytes or a little less; `…` stands for what is left out.
pub(crate) fn head(text: &str, most: usize) -> String {
    match text.split_at_checked(text.floor_char_boundary(most)) {
        Some((head, rest)) if !rest.is_empty() => format!("{head}…"),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tail_is_cut_between_characters() {
        assert_eq!(tail("  aé \n".as_bytes(), 10), "aé");
        assert_eq!(tail("aéb".as_bytes(), 2), "…b");
        assert_eq!(tail(b"a\xff", 10), "a\u{fffd}");
        assert_eq!(tail(b"", 3), "");
    }
}
