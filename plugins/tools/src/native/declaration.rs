//! The declaration of a native tool.

use std::sync::Arc;

use mas_contracts::{Problem, Result, check_params, parse_params};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{NativeTool, calc::Calc, lookup, lookup::Lookup};
use crate::declared::{Declaration, Declared};

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
pub(super) struct Params {
    /// The tool: `calc` or `lookup`.
    name: Name,
    /// How a model sees it; default as the tool says itself.
    #[serde(default)]
    pub(super) spec: Option<Declared>,
    /// The parameters of the tool; default none.
    #[serde(default)]
    params: Value,
}

/// `calc` has no parameters.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NoParams {}

impl Params {
    /// The tool itself. `lookup` reads its file here.
    pub(super) fn tool(&self, base: &std::path::Path) -> Result<Arc<dyn NativeTool>> {
        Ok(match self.name {
            Name::Calc => {
                let NoParams {} = parse_params(&self.params)?;
                Arc::new(Calc)
            }
            Name::Lookup => Arc::new(Lookup::open(base, parse_params(&self.params)?)?),
        })
    }
}

impl Declaration for Params {
    fn problems(&self) -> Vec<Problem> {
        let inner = match self.name {
            Name::Calc => check_params::<NoParams>(&self.params),
            Name::Lookup => lookup::check(&self.params),
        };
        let dot = |path: &str| if path.is_empty() { "params".to_owned() } else { format!("params.{path}") };
        let mut problems: Vec<Problem> =
            inner.into_iter().map(|problem| Problem { path: dot(&problem.path), ..problem }).collect();
        problems.extend(self.spec.iter().flat_map(Declared::problems));
        problems
    }
}
