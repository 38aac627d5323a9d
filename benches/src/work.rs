//! The work that both sides do: what is said, and what is answered.

use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

use crate::{Failure, Result};

/// What the user says for a plain turn.
pub const PLAIN: &str = "hello";
/// What the user says for one delegation.
pub const DELEGATE: &str = "delegate:1";
/// The answer of every turn.
pub const ANSWER: &str = "final answer";
/// The child's system prompt.
pub const CHILD_SYSTEM: &str = "You are the child.";
/// The parent's system prompt.
pub const PARENT_SYSTEM: &str = "You are the parent.";
/// The tool that delegates to the child.
pub const DELEGATE_TOOL: &str = "delegate_to_child";
/// Its arguments, as a provider sends them.
pub const ARGUMENTS: &str = "{\"task\":\"t1\"}";

/// What the user says for a fan-out to `children`.
#[must_use]
pub fn fan_out(children: usize) -> String {
    format!("delegate:{children}")
}

/// How many delegations a text of the user asks for.
#[must_use]
pub fn asked_for(text: &str) -> usize {
    text.strip_prefix("delegate:").and_then(|count| count.parse().ok()).unwrap_or(0)
}

/// How long the models of a side think, and how often they were called.
#[derive(Debug)]
pub struct Models {
    thinks: Duration,
    calls: AtomicU64,
}

impl Models {
    /// Models that think for `thinks`; zero answers at once.
    #[must_use]
    pub fn thinking(thinks: Duration) -> Self {
        Self { thinks, calls: AtomicU64::new(0) }
    }

    /// One call: counted, and thought about.
    pub async fn call(&self) {
        self.calls.fetch_add(1, Relaxed);
        if !self.thinks.is_zero() {
            tokio::time::sleep(self.thinks).await;
        }
    }

    /// How many calls were made so far.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.calls.load(Relaxed)
    }
}

/// Checks an answer.
///
/// # Errors
/// [`Failure::Wrong`] when it is another one.
pub fn check_answer(answer: &str) -> Result<()> {
    if answer == ANSWER { Ok(()) } else { Err(Failure::Wrong(format!("the answer is {answer:?}"))) }
}

/// Checks how many model calls some work took.
///
/// # Errors
/// [`Failure::Wrong`] when it is another number.
pub fn check_calls(what: &str, calls: u64, expected: u64) -> Result<()> {
    if calls == expected {
        return Ok(());
    }
    Err(Failure::Wrong(format!("{what} took {calls} model calls instead of {expected}")))
}
