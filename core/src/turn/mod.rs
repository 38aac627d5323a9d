//! Turns: a fold over what the pattern asks for.
//!
//! ```text
//! input ─ pattern.begin ─▶ step ─▶ operation ─▶ outcome ─ run.on ─▶ step ─▶ … ─▶ reply
//!                                   │ model, tools, delegations, question
//!                                   └ limits, events, records, cancellation: core's
//! ```
//!
//! A delegated turn runs inline, in the future of the turn that delegates. Whatever happens to that future,
//! the turn's journal commits messages in which every call has its result.

mod agent;
mod bounded;
mod calls;
mod delegate;
mod drive;
mod fold;
mod journal;
mod model;

pub use agent::{Agent, OnQuestion, Route, Tool, Toolbox, TurnLimits};
pub(crate) use bounded::{OnDrop, Stopped, bounded};
pub(crate) use delegate::CANCEL_GRACE;
pub(crate) use drive::{Recorder, drive};
pub(crate) use model::stop_error;
