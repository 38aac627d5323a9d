//! What a manifest says of a tool beside how it is run.

use std::time::Duration;

use mas_contracts::{Error, ErrorKind, Problem, Result, ToolCall, ToolSpec, check_params, parse_params};
use schemars::JsonSchema;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

/// What is told of a call whose arguments are none.
pub(crate) const NO_OBJECT: &str = "the arguments are not a JSON object";

/// The parameters of a kind of tool.
pub(crate) trait Declaration: DeserializeOwned {
    /// What is wrong with them beside their shape. Nothing is opened, asked or started for it.
    fn problems(&self) -> Vec<Problem>;
}

/// Checks a declaration: its shape and, if that is right, the rest.
pub(crate) fn check<D: Declaration>(params: &Value) -> Vec<Problem> {
    let problems = check_params::<D>(params);
    if !problems.is_empty() {
        return problems;
    }
    parse_params::<D>(params).map(|params| params.problems()).unwrap_or_default()
}

/// Reads a declaration that [`check`] finds nothing wrong with.
///
/// # Errors
/// The first thing that is wrong with it.
pub(crate) fn read<D: Declaration>(params: &Value) -> Result<D> {
    let read: D = parse_params(params)?;
    match read.problems().first() {
        None => Ok(read),
        Some(problem) => Err(refused(problem)),
    }
}

/// The error for a problem of a declaration.
pub(crate) fn refused(problem: &Problem) -> Error {
    let message = format!("`{}`: {}", problem.path, problem.message);
    Error::invalid(message).with_code("mas::params::invalid")
}

/// The error for a call to a tool that is closed.
pub(crate) fn closed(code: &'static str) -> Error {
    Error::new(ErrorKind::Unavailable, "the tool is closed").with_code(code)
}

/// What a manifest declares of a tool; each wins over the tool's own word.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Declared {
    /// The name that the model calls; default the tool's.
    #[serde(default)]
    pub(crate) name: Option<String>,
    /// What it does; default the tool's words.
    #[serde(default)]
    pub(crate) description: Option<String>,
    /// The JSON schema of its arguments; default the tool's.
    #[serde(default)]
    parameters: Option<Value>,
    /// Whether the same call twice is as good as once; default as the tool says.
    #[serde(default)]
    idempotent: Option<bool>,
    /// How long a call may take: seconds, or `{secs, nanos}`; default as the tool says.
    #[serde(default)]
    timeout: Option<Timeout>,
}

/// A duration.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
enum Timeout {
    /// Seconds.
    Seconds(f64),
    /// Seconds and nanoseconds.
    Parts {
        /// Seconds.
        secs: u64,
        /// Nanoseconds.
        nanos: u32,
    },
}

impl Declared {
    /// How a model sees a tool that says `own` of itself.
    pub(crate) fn over(&self, own: ToolSpec) -> ToolSpec {
        let timeout = match self.timeout {
            Some(Timeout::Seconds(seconds)) => Duration::try_from_secs_f64(seconds).ok(),
            Some(Timeout::Parts { secs, nanos }) => Some(Duration::new(secs, nanos.min(999_999_999))),
            None => own.timeout,
        };
        ToolSpec {
            name: self.name.as_deref().map_or(own.name, Into::into),
            description: self.description.as_deref().map_or(own.description, Into::into),
            parameters: self.parameters.clone().unwrap_or(own.parameters),
            idempotent: self.idempotent.unwrap_or(own.idempotent),
            timeout,
        }
    }

    /// The schema of the arguments, if it is declared.
    pub(crate) fn parameters(&self) -> Option<&Value> {
        self.parameters.as_ref()
    }

    /// What is wrong with it; places are those below `spec`.
    pub(crate) fn problems(&self) -> Vec<Problem> {
        match self.timeout {
            Some(Timeout::Seconds(seconds)) if Duration::try_from_secs_f64(seconds).is_err() => {
                vec![Problem::new("`timeout` is a number of seconds, 0 or more").at("spec.timeout")]
            }
            _ => Vec::new(),
        }
    }
}

/// Checks that a call is for the one tool of its source.
pub(crate) fn check_name(spec: &ToolSpec, call: &ToolCall) -> Result<()> {
    if call.name == spec.name {
        return Ok(());
    }
    let message = format!("there is no tool `{}` here, only `{}`", call.name, spec.name);
    Err(Error::new(ErrorKind::NotFound, message))
}
