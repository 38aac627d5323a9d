//! The pattern `interop`: one call of the tool `run_instruction`, whose text is the status of the task.

use std::{borrow::Cow, sync::Arc};

use mas_contracts::{
    Arguments, Build, Builder, Descriptor, End, Error, Form, Message, Op, OpDone, Outcome, PatternContract,
    Reply, Run, Step, TaskState, ToolCall, TurnInput, check_params, inventory, parse_params, schema_of,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{
    instruction::{carried, to_base64},
    tool::TOOL,
};

inventory::submit! {
    Descriptor {
        name: Cow::Borrowed("interop"),
        aliases: Cow::Borrowed(&[]),
        origin: Cow::Borrowed(env!("CARGO_PKG_NAME")),
        version: Cow::Borrowed(env!("CARGO_PKG_VERSION")),
        summary: Cow::Borrowed("Follows the instruction of an interop kit in a message."),
        example: Cow::Borrowed("design_pattern:\n  type: interop\n"),
        schema: schema_of::<Params>,
        check: check_params::<Params>,
        builder: Builder::Pattern(Build::Linked(|_, params| {
            let _: Params = parse_params(params)?;
            Ok(Arc::new(Interop))
        })),
    }
}

/// There are none.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Params {}

struct Interop;

impl PatternContract for Interop {
    fn begin(&self, input: &TurnInput) -> (Box<dyn Run>, Step) {
        let step = match carried(input.message.parts()) {
            Err(error) => Step::Fail(error),
            Ok(instruction) => {
                let mut arguments = Map::new();
                arguments.insert("instruction".to_owned(), Value::String(to_base64(&instruction)));
                let call =
                    ToolCall { id: TOOL.into(), name: TOOL.into(), arguments: Arguments::object(arguments) };
                Step::one(0, Op::Tools(vec![call]))
            }
        };
        (Box::new(Following), step)
    }
}

struct Following;

impl Run for Following {
    fn on(&mut self, done: &OpDone) -> Step {
        let output = match &done.outcome {
            Outcome::Tools(results) => match results.first().map(|result| &**result) {
                Some(Message::Tool { output, .. }) => output,
                _ => return Step::Fail(Error::internal("the tool gave nothing back")),
            },
            Outcome::Failed(error) => return Step::Fail(error.clone()),
            _ => return Step::Fail(Error::internal("expected what the tool gave back")),
        };
        let end = if output.is_error { End::Failed(TaskState::Failed) } else { End::Done };
        Step::Finish(Box::new(Reply { end, form: Form::Status, ..Reply::done(output.parts.clone()) }))
    }
}
