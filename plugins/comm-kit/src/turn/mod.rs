//! A turn at an agent elsewhere, as tasks are spoken there.
//!
//! ```text
//!   TurnEngine ── policy, contexts
//!       │ run, attach
//!       ▼
//!   Upstream: send, stream, subscribe, get, cancel; each made once, no second try
//! ```
//!
//! [`Upstream`] is the agent as a protocol reaches it. Which call follows which, and what of it all is the reply, is
//! the business of the [`TurnEngine`].

mod artifacts;
mod engine;
mod failure;
mod fold;
mod guard;
mod ladder;
pub mod metadata;
mod opening;
mod pieces;
mod policy;
mod said;
mod send;
mod upstream;
mod weight;

pub use engine::TurnEngine;
pub use policy::{Poll, TurnPolicy};
pub use upstream::{Answer, Ask, Heard, Update, Updates, Upstream};
pub use weight::{weight_of, weight_of_metadata};
