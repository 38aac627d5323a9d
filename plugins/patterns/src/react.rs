//! `react`: the model answers or asks for tools; their results go back to it until it answers.

use std::{borrow::Cow, num::NonZeroU32, sync::Arc};

use mas_contracts::{
    Build, Builder, Completion, Descriptor, Error, ErrorKind, Op, OpDone, OpId, Outcome, PatternContract,
    Run, Step, TurnInput, check_params, inventory, parse_params, schema_of,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::{OutputSchema, answering, unexpected};

const DEFAULT_MAX_STEPS: NonZeroU32 = match NonZeroU32::new(64) {
    Some(steps) => steps,
    None => NonZeroU32::MIN,
};

/// Parameters of `react`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Params {
    /// How many times a turn may call the model; default 64. A turn whose last allowed call still asks for
    /// tools fails, and those tools do not run.
    #[serde(default = "default_max_steps")]
    max_steps: NonZeroU32,
    /// The JSON schema that the answer must fit; default none: the answer is text.
    #[serde(default)]
    output_schema: Option<OutputSchema>,
}

fn default_max_steps() -> NonZeroU32 {
    DEFAULT_MAX_STEPS
}

inventory::submit! {
    Descriptor {
        name: Cow::Borrowed("react"),
        aliases: Cow::Borrowed(&["react@v1", "analyst", "planner"]),
        origin: Cow::Borrowed(env!("CARGO_PKG_NAME")),
        version: Cow::Borrowed(env!("CARGO_PKG_VERSION")),
        summary: Cow::Borrowed("Calls the model and the tools that it asks for, in turn, until it answers."),
        example: Cow::Borrowed("design_pattern:\n  type: react\n  params: {max_steps: 10}\n"),
        schema: schema_of::<Params>,
        check: check_params::<Params>,
        builder: Builder::Pattern(Build::Linked(|_, params| {
            let params: Params = parse_params(params)?;
            let output_schema = params.output_schema.map(OutputSchema::into_shared);
            Ok(Arc::new(React { max_steps: params.max_steps, output_schema }))
        })),
    }
}

/// The pattern `react`.
#[derive(Clone, Debug)]
pub struct React {
    max_steps: NonZeroU32,
    output_schema: Option<Arc<Value>>,
}

impl React {
    /// The pattern with at most `max_steps` model calls in a turn.
    #[must_use]
    pub fn new(max_steps: NonZeroU32) -> Self {
        Self { max_steps, output_schema: None }
    }
}

impl Default for React {
    fn default() -> Self {
        Self::new(DEFAULT_MAX_STEPS)
    }
}

impl PatternContract for React {
    fn begin(&self, _input: &TurnInput) -> (Box<dyn Run>, Step) {
        let first = answering(true, self.output_schema.as_ref());
        let output_schema = self.output_schema.clone();
        let run = Machine { max_steps: self.max_steps.get(), output_schema, model_calls: 1, awaited: 0 };
        (Box::new(run), Step::one(0, first))
    }
}

struct Machine {
    max_steps: u32,
    output_schema: Option<Arc<Value>>,
    model_calls: u32,
    awaited: OpId,
}

impl Machine {
    fn ask(&mut self, what: Op) -> Step {
        self.awaited = self.awaited.saturating_add(1);
        Step::one(self.awaited, what)
    }

    fn said(&mut self, completion: &Completion) -> Step {
        if completion.calls.is_empty() {
            return Step::answer(completion.text.clone());
        }
        if self.model_calls >= self.max_steps {
            let steps = self.max_steps;
            let tools: Vec<&str> = completion.calls.iter().map(|call| &*call.name).collect();
            return Step::Fail(
                Error::new(
                    ErrorKind::Limit,
                    format!(
                        "the turn used up its {steps} model calls (max_steps) and still asks for {}",
                        tools.join(", ")
                    ),
                )
                .with_code("mas::pattern::max_steps")
                .with("max_steps", steps),
            );
        }
        self.ask(Op::Tools(completion.calls.clone()))
    }
}

impl Run for Machine {
    fn on(&mut self, done: &OpDone) -> Step {
        if done.op != self.awaited {
            return unexpected("react", self.awaited, done);
        }
        match &done.outcome {
            Outcome::Model(completion) => self.said(completion),
            Outcome::Tools(_) => {
                self.model_calls = self.model_calls.saturating_add(1);
                let next = answering(true, self.output_schema.as_ref());
                self.ask(next)
            }
            Outcome::Failed(error) => Step::Fail(error.clone()),
            Outcome::Delegated(_) | Outcome::Answered(_) | Outcome::Unit => {
                unexpected("react", self.awaited, done)
            }
        }
    }
}
