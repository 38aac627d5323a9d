//! The declaration of a native tool.

use std::{sync::Arc, time::Duration};

use mas_contracts::{Problem, Result, ToolSpec, check_params, parse_params};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::{NativeTool, calc::Calc, lookup, lookup::Lookup};

/// The tools that there are.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Name {
    /// Works out an arithmetic expression.
    Calc,
    /// Finds rows in a data file.
    Lookup,
}

/// Parameters of `native`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Params {
    /// The tool: `calc` or `lookup`.
    name: Name,
    /// How a model sees it; default as the tool says itself.
    #[serde(default)]
    spec: Option<Declared>,
    /// The parameters of the tool; default none.
    #[serde(default)]
    params: Value,
}

/// What a manifest declares of a tool; each wins over the tool's own word.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Declared {
    /// The name that the model calls; default the tool's.
    #[serde(default)]
    name: Option<String>,
    /// What it does; default the tool's words.
    #[serde(default)]
    description: Option<String>,
    /// The JSON schema of its arguments; default the tool's.
    #[serde(default)]
    parameters: Option<Value>,
    /// Whether the same call twice is as good as once; default true, as native tools change nothing.
    #[serde(default)]
    idempotent: Option<bool>,
    /// How long a call may take: seconds, or `{secs, nanos}`; default no limit of its own.
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

/// `calc` has no parameters.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NoParams {}

impl Params {
    /// The tool itself. `lookup` reads its file here.
    pub(crate) fn tool(&self, base: &std::path::Path) -> Result<Arc<dyn NativeTool>> {
        Ok(match self.name {
            Name::Calc => {
                let NoParams {} = parse_params(&self.params)?;
                Arc::new(Calc)
            }
            Name::Lookup => Arc::new(Lookup::open(base, parse_params(&self.params)?)?),
        })
    }

    /// How a model sees the tool.
    pub(crate) fn spec(&self, own: ToolSpec) -> ToolSpec {
        let Some(declared) = &self.spec else { return own };
        let timeout = match declared.timeout {
            Some(Timeout::Seconds(seconds)) => Duration::try_from_secs_f64(seconds).ok(),
            Some(Timeout::Parts { secs, nanos }) => Some(Duration::new(secs, nanos.min(999_999_999))),
            None => own.timeout,
        };
        ToolSpec {
            name: declared.name.as_deref().map_or(own.name, Into::into),
            description: declared.description.as_deref().map_or(own.description, Into::into),
            parameters: declared.parameters.clone().unwrap_or(own.parameters),
            idempotent: declared.idempotent.unwrap_or(own.idempotent),
            timeout,
        }
    }

    fn problems(&self) -> Vec<Problem> {
        let inner = match self.name {
            Name::Calc => check_params::<NoParams>(&self.params),
            Name::Lookup => lookup::check(&self.params),
        };
        let dot = |path: &str| if path.is_empty() { "params".to_owned() } else { format!("params.{path}") };
        let mut problems: Vec<Problem> =
            inner.into_iter().map(|problem| Problem { path: dot(&problem.path), ..problem }).collect();
        let timeout = self.spec.as_ref().and_then(|spec| spec.timeout);
        if let Some(Timeout::Seconds(seconds)) = timeout
            && Duration::try_from_secs_f64(seconds).is_err()
        {
            problems.push(Problem::new("`timeout` is a number of seconds, 0 or more").at("spec.timeout"));
        }
        problems
    }
}

/// Checks a declaration without reading any file.
pub(crate) fn check(params: &Value) -> Vec<Problem> {
    let problems = check_params::<Params>(params);
    if !problems.is_empty() {
        return problems;
    }
    parse_params::<Params>(params).map(|params| params.problems()).unwrap_or_default()
}
