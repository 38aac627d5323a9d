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

use std::sync::Arc;

use mas_contracts::{Audience, Error, ModelOp, Op, OpDone, OpId, Outcome, Step};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

/// A model call whose text is the answer, in the form of a JSON schema where there is one.
fn answering(tools: bool, output_schema: Option<&Arc<Value>>) -> Op {
    let output_schema = output_schema.cloned();
    Op::Model(ModelOp { audience: Audience::Answer, tools, prompt: Vec::new(), output_schema })
}

/// A pattern's parameter `output_schema`: a JSON schema of an object.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(transparent)]
struct OutputSchema(Map<String, Value>);

impl OutputSchema {
    fn into_shared(self) -> Arc<Value> {
        Arc::new(Value::Object(self.0))
    }
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
