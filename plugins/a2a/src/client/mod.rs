//! A client of agents elsewhere, over every binding and version that their cards name.

mod answer;
mod call;
pub(crate) mod card;
pub(crate) mod discover;
mod exchange;
mod failure;
mod grpc;
pub(crate) mod line;
mod read;
mod remote;
pub(crate) mod stream;
pub(crate) mod upstream;
pub(crate) mod wire;

use std::time::Duration;

pub use answer::{Answer, Page, Update, answer_json, update_json};
pub use call::{How, Webhook};
pub use card::Interface;
pub use remote::{Listed, Remote};
pub use stream::Updates;
pub use wire::{Bounds, Options, fetch_card};

/// How long a call may take where nothing else is said: ten minutes.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(600);

/// A binding of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding {
    /// JSON-RPC over HTTP.
    JsonRpc,
    /// HTTP+JSON.
    Rest,
    /// gRPC.
    Grpc,
}

impl Binding {
    /// The binding of a word: that of cards, in any case, or `REST`.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        match word.to_ascii_uppercase().as_str() {
            "JSONRPC" => Some(Self::JsonRpc),
            "HTTP+JSON" | "HTTP_JSON" | "REST" => Some(Self::Rest),
            "GRPC" => Some(Self::Grpc),
            _ => None,
        }
    }

    /// The word of cards.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::JsonRpc => "JSONRPC",
            Self::Rest => "HTTP+JSON",
            Self::Grpc => "GRPC",
        }
    }
}

/// A version of the protocol, the newest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// 1.0.
    V1,
    /// 0.3.
    V03,
}

impl Version {
    /// The version of a word such as `1.0`, `0.3` or `0.3.0`; a patch does not count (section 3.6).
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        let mut numbers = word.trim().split('.');
        match (numbers.next()?, numbers.next()) {
            ("1", Some("0") | None) => Some(Self::V1),
            ("0", Some("3")) => Some(Self::V03),
            _ => None,
        }
    }

    /// The version that is spoken with an agent whose card says this: the same but for what came later, or before.
    fn of_card(word: &str) -> Option<Self> {
        match word.trim().split('.').next() {
            Some("1") => Some(Self::V1),
            Some("0") => Some(Self::V03),
            _ => None,
        }
    }

    /// As it goes into requests.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V1 => "1.0",
            Self::V03 => "0.3",
        }
    }
}
