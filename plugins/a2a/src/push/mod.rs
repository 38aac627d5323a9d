//! Webhooks: where tasks tell of their changes (A2A v1.0, sections 3.1.7 to 3.1.10, 4.3.3 and 13.2).
//!
//! ```text
//!   operations ── create, get, list, delete ──▶ book: task ─▶ webhooks
//!   tasks ─────── changed (never waits) ──────▶ lane of each webhook ─▶ outbox ─▶ guard ─▶ webhook
//!                                                in order                limits    address
//! ```
//!
//! A webhook is told of each event at least once, and twice if its answer is lost. What is posted is written when the
//! event comes, so that a webhook that is behind is told what was. Nothing is ever looked up when a webhook is
//! registered; where it may be is decided by the address that is dialled.

mod address;
mod book;
mod check;
mod counts;
mod guard;
mod lane;
mod outbox;
mod post;
#[cfg(test)]
mod tests;
mod webhooks;

pub(crate) use counts::Told;
pub(crate) use guard::Entry;
pub(crate) use webhooks::Webhooks;
