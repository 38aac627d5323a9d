//! Design patterns: `react`, `single_pass` and `scripted_response`.
//!
//! Each is a deterministic machine without a clock, randomness or I/O: the same outcomes lead to the same
//! steps. Linking this crate registers them.
//!
//! ```text
//! react              model ─ calls? ─ tools ─ model ─ … ─ answer      at most `max_steps` model calls
//! single_pass        model ─ answer                                   no tools are offered
//! scripted_response  say… ─ artifact… ─ wait? ─ end                   no model at all
//! ```

mod react;
mod scripted_response;
mod single_pass;

pub use react::React;
pub use scripted_response::ScriptedResponse;
pub use single_pass::SinglePass;

use mas_contracts::{Audience, Error, ModelOp, Op, OpDone, OpId, Outcome, Step};

/// A model call whose text is the answer.
fn answering(tools: bool) -> Op {
    Op::Model(ModelOp { audience: Audience::Answer, tools, prompt: Vec::new() })
}

/// The end of a machine that was handed what it did not ask for.
fn unexpected(pattern: &str, awaited: OpId, done: &OpDone) -> Step {
    let what = match &done.outcome {
        Outcome::Model(_) => "a model's message",
        Outcome::Tools(_) => "tool results",
        Outcome::Delegated(_) => "a peer's reply",
        Outcome::Answered(_) => "a person's answer",
        Outcome::Unit => "an acknowledgement",
        Outcome::Failed(error) => return Step::Fail(error.clone()),
    };
    Step::Fail(
        Error::internal(format!(
            "the pattern `{pattern}` was handed {what} for operation {} while it waits for operation {awaited}",
            done.op
        ))
        .with_code("mas::pattern::unexpected_outcome"),
    )
}
