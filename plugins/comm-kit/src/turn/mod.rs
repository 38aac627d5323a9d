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

mod engine;
mod policy;
mod upstream;

pub use engine::TurnEngine;
pub use policy::{Poll, TurnPolicy};
pub use upstream::{Answer, Ask, Heard, Update, Updates, Upstream};
