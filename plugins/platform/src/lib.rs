//! Sends to agent sessions that a managed platform owns.
//!
//! ```text
//!   agent_comm: platform ─┐             ┌─ Service    the platform: access, sessions, profiles
//!   mas-ctl session ──────┴─▶ Platform ─┤  admission  may it be sent?
//!                                       └─ runtime    POST message:send, tasks
//! ```
//!
//! [`Platform`] is the flow. What it decides by stands in a module each, without any I/O: the answer about access, the
//! admission, the body, the answer of the session, what a failure means.

mod access;
mod address;
mod admission;
mod answer;
mod client;
mod comm;
mod exchange;
mod failure;
mod kind;
mod letter;
mod params;
mod parts;
mod profile;
mod service;
mod store;
mod terms;
mod wire;

pub use answer::Received;
pub use client::{Connection, Platform};
pub use comm::NAME;
pub use failure::MESSAGE_LIMIT;
pub use kind::{Output, REPAIRS, ResponseKind};
pub use letter::{Letter, attachment};
pub use profile::Profile;
pub use service::{Bearer, Handle};
pub use store::Caching;
pub use terms::Terms;
