//! Control protocol `json-lines`: live sessions are looked into and steered from another process of the same user.
//!
//! ```text
//! a session of a process ─ Server ─ socket ─ Client ─ whoever steers
//!                            └─ <control folder>/<session>.json ─┘    where it is, and the token
//! ```
//!
//! A line is one JSON object, of at most 1 MiB. A request is `{id, method, session_id, args, token}`; its reply
//! `{id, ok: true, result}` or `{id, ok: false, error: {type, code, message}}`, in which `type` is the word of
//! [`ErrorKind`](mas_contracts::ErrorKind). `session_id` may be absent for the session that is advertised; `token`
//! is needed until a request of the connection had it. The methods are those of [`Verb`](mas_contracts::Verb), and:
//!
//! | method | result |
//! |---|---|
//! | `hello`, `capabilities` | the version of the protocol, who one is, and the methods that one may use |
//! | `list_sessions` | the live sessions of the process |
//! | `attach` | none but that it stands; then the events, as lines `{id, event}`, until `detach` |
//! | `detach` | whether something was attached |
//!
//! There are two tokens: the full one, and one that only looks. One who reads slowly loses events, is told how many
//! by an event `lagged`, and holds nobody up. At most 256 callers are connected; one that shows no token within 10
//! seconds is let go.
//!
//! The folder is the first that can be used of `--control-dir` or `MAS_CONTROL_DIR`, `$XDG_RUNTIME_DIR/mas-ctl`,
//! `/run/user/<uid>/mas-ctl`, `/var/run/mas-ctl`, and `mas-ctl-<uid>` in the folder for temporary files. It belongs to
//! the user and to nobody else (0700), or it is not used. A file in it is written anew each second; one that is older
//! than 5 seconds, or whose process is gone, is of a dead session, and whoever finds it removes it.
#![cfg(unix)]

mod client;
mod directory;
mod entry;
mod line;
mod params;
mod server;
mod token;
mod wire;

pub use client::{Client, Followed};
pub use directory::ControlDirectory;
pub use entry::Entry;
pub use line::{event_record, session_record};
pub use params::{JsonLines, Params, Transport};
pub use token::Token;
