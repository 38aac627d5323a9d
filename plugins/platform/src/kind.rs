//! What is asked of a session: a kind of response, and an output.

use std::{fmt, str::FromStr};

use mas_contracts::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a message is answered with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResponseKind {
    /// A message, when the turn is over.
    #[default]
    Message,
    /// A task, at once, which is looked after then.
    Task,
}

impl ResponseKind {
    /// The word on the wire and in parameters.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Message => "message",
            Self::Task => "task",
        }
    }
}

impl fmt::Display for ResponseKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for ResponseKind {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "message" => Ok(Self::Message),
            "task" => Ok(Self::Task),
            other => {
                Err(Error::invalid(format!("`{other}` is no kind of response; there are message and task")))
            }
        }
    }
}

/// What the answer is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Output {
    /// Text.
    #[default]
    Text,
    /// One JSON object, strictly: the session repairs what is none, so often.
    Dictionary {
        /// How often, 1 at least; the platform makes 10 attempts at most.
        repairs: u32,
    },
}

/// How often a dictionary is repaired unless something else is said.
pub const REPAIRS: u32 = 3;
