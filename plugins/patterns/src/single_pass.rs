//! `single_pass`: one model call without tools.

use std::{borrow::Cow, sync::Arc};

use mas_contracts::{
    Build, Builder, Descriptor, Error, ErrorKind, OpDone, Outcome, PatternContract, Run, Step, TurnInput,
    check_params, inventory, parse_params, schema_of,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::{OutputSchema, answering, unexpected};

/// Parameters of `single_pass`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Params {
    /// The JSON schema that the answer must fit; default none: the answer is text.
    #[serde(default)]
    output_schema: Option<OutputSchema>,
}

inventory::submit! {
    Descriptor {
        name: Cow::Borrowed("single_pass"),
        aliases: Cow::Borrowed(&["single_pass@v1", "linear", "linear@v1"]),
        origin: Cow::Borrowed(env!("CARGO_PKG_NAME")),
        version: Cow::Borrowed(env!("CARGO_PKG_VERSION")),
        summary: Cow::Borrowed("Calls the model once, without tools, and answers with what it says."),
        example: Cow::Borrowed("design_pattern: {type: single_pass}\n"),
        schema: schema_of::<Params>,
        check: check_params::<Params>,
        builder: Builder::Pattern(Build::Linked(|_, params| {
            let params: Params = parse_params(params)?;
            Ok(Arc::new(SinglePass { output_schema: params.output_schema.map(OutputSchema::into_shared) }))
        })),
    }
}

/// The pattern `single_pass`.
#[derive(Clone, Debug, Default)]
pub struct SinglePass {
    output_schema: Option<Arc<Value>>,
}

impl PatternContract for SinglePass {
    fn begin(&self, _input: &TurnInput) -> (Box<dyn Run>, Step) {
        (Box::new(Machine), Step::one(0, answering(false, self.output_schema.as_ref())))
    }
}

struct Machine;

impl Run for Machine {
    fn on(&mut self, done: &OpDone) -> Step {
        match &done.outcome {
            Outcome::Model(completion) if done.op == 0 => match completion.calls.first() {
                None => Step::answer(completion.text.clone()),
                Some(call) => Step::Fail(
                    Error::new(
                        ErrorKind::Failed,
                        format!("the model asks for the tool `{}`, but `single_pass` offers none", call.name),
                    )
                    .with_code("mas::pattern::tools_not_offered"),
                ),
            },
            Outcome::Failed(error) => Step::Fail(error.clone()),
            _ => unexpected("single_pass", 0, done),
        }
    }
}
