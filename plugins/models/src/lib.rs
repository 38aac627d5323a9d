//! Models without a provider: `scripted` and `mock`. No key, no network, the same answer every time.
//!
//! `scripted` plays rules from a YAML file; examples, documents and tests use it. `mock` answers anything by
//! a fixed algorithm, so that any manifest runs offline. Linking this crate registers them.
//!
//! Both stream: a text leaves in pieces, split where a word begins, and the pieces together are the text.
//!
//! Both count tokens as words (runs of characters other than white space): of the system prompt and of all
//! messages with their tool arguments for the input, of the text and the tool arguments for the output.

#![allow(dead_code, reason = "the providers that use the exchange come next")]

mod exchange;
mod mock;
mod params;
mod scripted;
mod speech;
mod wire;

pub use mock::Mock;
pub use scripted::Scripted;
