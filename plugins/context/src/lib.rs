//! Context managers: `stack` and `sliding-window`.
//!
//! Both give a slice of the history and copy nothing. A cut is made only before a user message to which no tool
//! call is open, so that a call and its result stay together. The running turn is not their business: core sends
//! it whole. Linking this crate registers them.

mod sliding_window;
mod stack;

pub use sliding_window::SlidingWindow;
pub use stack::Stack;

use std::{collections::BTreeSet, sync::Arc};

use mas_contracts::{Message, Problem, check_params};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Parameters that MAS Lab knows for context managers.
const KNOWN: [&str; 9] = [
    "max_turns",
    "window_size",
    "max_messages",
    "working_memory_messages",
    "token_budget",
    "max_tokens",
    "reserve_tokens",
    "summary_threshold",
    "keep_turns",
];

/// Checks parameters; those that only another context manager takes get a message of their own.
fn check<P: DeserializeOwned>(params: &Value, name: &str, taken: &[&str], help: &str) -> Vec<Problem> {
    let given = params.as_object().into_iter().flat_map(|map| map.keys());
    let foreign: Vec<Problem> = given
        .filter(|key| KNOWN.contains(&key.as_str()) && !taken.contains(&key.as_str()))
        .map(|key| Problem::new(format!("`{name}` does not implement `{key}`")).at(key.clone()).help(help))
        .collect();
    if foreign.is_empty() { check_params::<P>(params) } else { foreign }
}

/// The places where a history may be cut: before each user message to which no tool call is open.
fn cuts(history: &[Arc<Message>]) -> Vec<usize> {
    let mut open: BTreeSet<&str> = BTreeSet::new();
    let mut cuts = Vec::new();
    for (at, message) in history.iter().enumerate() {
        match &**message {
            Message::User { .. } if open.is_empty() => cuts.push(at),
            Message::User { .. } => {}
            Message::Assistant { calls, .. } => open.extend(calls.iter().map(|call| &*call.id)),
            Message::Tool { call, .. } => {
                open.remove(&**call);
            }
        }
    }
    cuts
}
