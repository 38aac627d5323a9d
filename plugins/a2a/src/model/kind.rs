//! The extension by which a caller says whether it wants a message or a task, as managed platforms have it.

use schemars::JsonSchema;
use serde::Deserialize;

/// The URI of the extension.
pub(crate) const RESPONSE_KIND: &str = "https://mainsequence.ai/a2a/extensions/response-kind/v1";

/// Whose the errors of the extension are.
pub(crate) const RESPONSE_KIND_DOMAIN: &str = "mainsequence.ai";

/// What a message is answered with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ResponseKind {
    /// A message, when the turn is over.
    Message,
    /// A task, at once.
    Task,
}

impl ResponseKind {
    /// The kind of a word.
    pub(crate) fn of(word: &str) -> Option<Self> {
        match word {
            "message" => Some(Self::Message),
            "task" => Some(Self::Task),
            _ => None,
        }
    }

    /// The word of a kind.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Message => "message",
            Self::Task => "task",
        }
    }
}
