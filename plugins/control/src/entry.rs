//! What is said of a live session in the control folder.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::Token;

/// A live session: where it is reached, and with what.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Entry {
    /// The session.
    pub session_id: String,
    /// Its agent.
    #[serde(default)]
    pub agent: String,
    /// What it is called: the name of the manifest.
    #[serde(default)]
    pub label: String,
    /// Where it is reached: `unix:PATH` or `tcp:ADDRESS:PORT`.
    pub rpc: String,
    /// Where what it keeps lies; absent if nothing is kept.
    #[serde(default)]
    pub persist_path: Option<PathBuf>,
    /// Its process.
    pub pid: u32,
    /// When it last said that it lives, in Unix seconds.
    pub heartbeat_at: f64,
    /// The token of one who may do everything.
    pub token: Token,
    /// The token of one who only looks.
    #[serde(default)]
    pub read_token: Option<Token>,
}

impl Entry {
    /// The path of its socket, if it has one.
    #[must_use]
    pub fn socket(&self) -> Option<&Path> {
        self.rpc.strip_prefix("unix:").map(Path::new)
    }
}
