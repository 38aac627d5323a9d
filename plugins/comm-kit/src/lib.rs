//! What plugins that speak HTTP share. A library: it registers nothing.
//!
//! - [`access`]: access that lapses, kept within the process and in a file that only its owner may read.
//! - [`http`]: a client that a plugin's settings make, with errors in the terms of mas, and the seam at which a test
//!   puts a transport of its own.
//! - [`phases`]: how long a call may take, as `timeout: 30` and `timeout: [5, 900]` say it, with one end for all of it.
//! - [`auth`]: credentials as requests show them, with tokens of authorization servers.
//! - [`sse`]: server-sent events out of bytes, however they are split.
//! - [`retry`]: whether a request may be sent again, and when.
//! - [`turn`]: a turn at an agent elsewhere, as tasks are spoken there; [`ContextIds`]: the ids of its conversations.
//! - [`Secret`] and [`Secrets`]: text that no log, event or error shows.

pub mod access;
pub mod auth;
mod context_ids;
pub mod http;
pub mod phases;
pub mod retry;
mod secret;
pub mod sse;
pub mod turn;

pub use context_ids::{ContextIds, ContextMode, IDENTITY_SECRETS};
pub use secret::{Secret, Secrets};
