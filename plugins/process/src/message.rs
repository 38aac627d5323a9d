//! The messages, one JSON text a line. Both sides pass over members that they do not know.
//!
//! ```text
//!   here                                                             the process
//!   {"hello": {"version": 1, "features": [], "params": …}}     ──▶
//!                                                              ◀──   {"hello": {"version": 1}}
//!   {"call": {"id": 1, "within_ms": …, "credit": 64,
//!             "send": {"to": …, "message_id": …, "thread": …,
//!                      "task": …, "parts": […]}}}              ──▶
//!                                                              ◀──   {"event": {"id": 1, "text": "…"}}
//!   {"credit": {"id": 1, "more": 32}}                          ──▶
//!   {"cancel": {"id": 1, "reason": "requested", "stop": "cancel"}} ──▶
//!                                                              ◀──   {"end": {"id": 1, "reply": {…}}}
//!                                                                 or {"fail": {"id": 1, "error": {…}}}
//! ```
//!
//! A call ends in exactly one `end` or `fail`; after a `cancel` nobody waits for it any more. An event takes one of the
//! call's credit, and nothing may be sent without any left. A process that breaks a rule is ended, and with it its
//! calls. The end of its stdin tells it to end.

use std::sync::Arc;

use mas_contracts::{CancelReason, Error, Part, Reply, Stop};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The version of these messages.
pub const VERSION: u32 = 1;

/// What this side says.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ToProcess<'a> {
    /// The first line.
    Hello {
        /// [`VERSION`].
        version: u32,
        /// What else this side understands; nothing yet.
        features: [&'static str; 0],
        /// The `params` of the endpoint.
        params: &'a Value,
    },
    /// Begins a call.
    Call {
        /// Its number.
        id: u64,
        /// How long it may take, in milliseconds.
        within_ms: u64,
        /// How many events may be sent for now.
        credit: u32,
        /// What it is about.
        #[serde(flatten)]
        ask: Ask<'a>,
    },
    /// Nobody waits for the call any more.
    Cancel {
        /// The call.
        id: u64,
        /// Why.
        reason: CancelReason,
        /// Whether what runs elsewhere is cancelled or left alone.
        stop: Stop,
    },
    /// More events may be sent.
    Credit {
        /// The call.
        id: u64,
        /// How many more.
        more: u32,
    },
}

/// What a call is about.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ask<'a> {
    /// A message to a peer.
    Send {
        /// The peer.
        to: &'a str,
        /// The same when the message is sent again.
        message_id: &'a str,
        /// The key of the conversation.
        thread: &'a str,
        /// The waiting task that it answers.
        #[serde(skip_serializing_if = "Option::is_none")]
        task: Option<&'a str>,
        /// The content.
        parts: &'a [Part],
    },
    /// Whether the peer is there.
    Probe {
        /// The peer.
        to: &'a str,
    },
}

/// What the process says.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FromProcess {
    /// The first line.
    Hello {
        /// The version that it speaks.
        version: u32,
    },
    /// Something happened in a call.
    Event {
        /// The call.
        id: u64,
        /// A piece of the answer.
        #[serde(default)]
        text: Option<Arc<str>>,
        /// A sentence that is no part of it.
        #[serde(default)]
        notice: Option<Arc<str>>,
    },
    /// A call ended.
    End {
        /// The call.
        id: u64,
        /// What a peer said to a message.
        #[serde(default)]
        reply: Option<Box<Reply>>,
        /// What a peer is, for a probe.
        #[serde(default)]
        probe: Option<Probed>,
    },
    /// A call failed.
    Fail {
        /// The call.
        id: u64,
        /// Why; `kind` and `message` are needed, and `delivery` is `not_sent` unless it says otherwise.
        error: Error,
    },
}

/// What a peer is.
#[derive(Debug, Deserialize)]
pub struct Probed {
    /// Its name for a person.
    #[serde(default)]
    pub name: Option<Arc<str>>,
    /// Its version.
    #[serde(default)]
    pub version: Option<Arc<str>>,
}
