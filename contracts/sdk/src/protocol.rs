//! The messages between a host and a plugin built apart, as JSON; how they travel is another matter.
//!
//! A call is one [`Request`]. It is answered by any number of events ([`EventKind`](mas_contracts::EventKind)) and then
//! exactly one end: the reply that the request names, or an [`Error`](mas_contracts::Error). Fields that are unknown are
//! ignored, so that messages grow by adding fields.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use mas_contracts::{Capability, Category, Outbound, Peer, Stop, TaskRef};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The largest message, in bytes; a larger one fails its call.
pub const LARGEST: usize = 64 * 1024 * 1024;

/// What a host asks for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// What there is; answered by a [`Described`].
    Describe {},
    /// Checks parameters; answered by a list of [`Problem`](mas_contracts::Problem)s.
    Check {
        /// The category.
        category: Category,
        /// The name in it.
        name: String,
        /// The parameters.
        params: Value,
    },
    /// Builds an instance; answered by a [`Built`].
    Build {
        /// The category.
        category: Category,
        /// The name in it.
        name: String,
        /// The parameters.
        params: Value,
        /// The folder that relative paths are relative to.
        base: PathBuf,
        /// The environment.
        env: BTreeMap<String, String>,
    },
    /// Forgets an instance; answered by `null`.
    Release {
        /// The instance.
        instance: u64,
    },
    /// A call of `agent_comm`.
    Comm {
        /// The instance.
        instance: u64,
        /// The context; none for [`CommOp::Close`].
        #[serde(default, skip_serializing_if = "Option::is_none")]
        context: Option<Context>,
        /// What is called.
        op: CommOp,
    },
}

/// A method of `agent_comm`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommOp {
    /// Answered by a [`Reply`](mas_contracts::Reply).
    Send {
        /// The peer.
        to: Peer,
        /// The message.
        message: Outbound,
    },
    /// Answered by a [`Reply`](mas_contracts::Reply).
    Attach {
        /// The task.
        task: TaskRef,
    },
    /// Answered by `null`.
    Cancel {
        /// The task.
        task: TaskRef,
        /// What becomes of it.
        stop: Stop,
    },
    /// Answered by a [`Probe`](mas_contracts::Probe).
    Probe {
        /// The peer.
        to: Peer,
    },
    /// Answered by `null`.
    Close {},
}

/// Where a call stands and how long it may take.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Context {
    /// The session.
    pub session: Arc<str>,
    /// The turn.
    pub turn: Arc<str>,
    /// The agents from the outermost to the one that calls, which is the last.
    pub path: Vec<Arc<str>>,
    /// Delegations above it.
    pub depth: u16,
    /// Who owns the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Arc<str>>,
    /// The W3C trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<Arc<str>>,
    /// Milliseconds until the call must have ended.
    pub budget_ms: u64,
}

/// What a library offers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Described {
    /// The implementations.
    pub offers: Vec<Offer>,
}

/// One implementation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Offer {
    /// The category, as a word: one that the host does not know is passed over, not an error.
    pub category: String,
    /// The name by which manifests select it.
    pub name: String,
    /// Other names.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// Its version.
    #[serde(default)]
    pub version: String,
    /// One sentence.
    #[serde(default)]
    pub summary: String,
    /// A short example of its parameters, in YAML.
    #[serde(default)]
    pub example: String,
    /// The JSON schema of its parameters.
    #[serde(default)]
    pub schema: Value,
}

/// An instance that was built.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Built {
    /// Its number, unique in the library.
    pub instance: u64,
    /// What it can do, if it is a comm backend.
    #[serde(default)]
    pub capability: Capability,
}
