//! What is said over a socket: one JSON text per line, UTF-8, at most [`LONGEST`] bytes.
//!
//! The caller says `send` or `probe` first; `stop` may follow a `send`. The peer answers a `probe` with `agent` or
//! `error`, and a `send` with any number of `text` and then `reply` or `error`. Closing the connection before that
//! gives the call up, as `{"stop": "cancel"}` does; `{"stop": "leave"}` lets the peer finish.

use std::sync::Arc;

use mas_contracts::{Error, Part, Reply, Stop};
use serde::{Deserialize, Serialize};

/// The longest line, in bytes: 16 MiB.
pub const LONGEST: u64 = 16 * 1024 * 1024;

/// A line of the caller.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToPeer {
    /// A message.
    Send(Send),
    /// Who is there under this handle? Executes nothing.
    Probe(Arc<str>),
    /// The caller stops.
    Stop(Stop),
}

/// A message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Send {
    /// The agent's handle.
    pub to: Arc<str>,
    /// The conversation; the same key goes on where it was.
    pub conversation: Arc<str>,
    /// The id of the message.
    pub message: Arc<str>,
    /// The content.
    pub parts: Vec<Part>,
    /// The waiting task that it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<Arc<str>>,
    /// What is left of the caller's time, in milliseconds.
    pub budget_ms: u64,
}

/// A line of the peer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FromPeer {
    /// Who is there.
    Agent(Agent),
    /// A piece of the answer.
    Text(Arc<str>),
    /// The reply; the last line.
    Reply(Box<Reply>),
    /// Why there is none; the last line.
    Error(Error),
}

/// An agent, as it says itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agent {
    /// Its name for a person.
    pub name: Arc<str>,
    /// Its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Arc<str>>,
}
