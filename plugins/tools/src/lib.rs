//! Native tools: the provider `native` with `calc` and `lookup`.
//!
//! A declaration names the tool (`name`), may declare how a model sees it (`spec`, which wins over the tool's
//! own words) and configures it (`params`). Linking this crate registers the provider.
//!
//! ```yaml
//! name: lookup
//! spec: {name: lookup_fares, description: Looks up fares.}
//! params: {path: data/fares.yaml, table: fares, match: {route: route_id}}
//! ```

mod calc;
mod declaration;
mod lookup;
mod native;

pub use calc::{Calc, evaluate};
pub use lookup::Lookup;

use mas_contracts::{ToolOutput, ToolSpec};
use serde_json::{Map, Value};

/// A tool of this crate: what it says of itself, and what it does.
trait NativeTool: Send + Sync {
    /// How a model sees it, where no manifest says otherwise.
    fn spec(&self) -> ToolSpec;

    /// Runs it. It neither waits nor touches anything outside itself.
    fn run(&self, arguments: &Map<String, Value>) -> ToolOutput;
}

/// A result as JSON, indented by two spaces.
fn indented(value: &Value) -> ToolOutput {
    match serde_json::to_string_pretty(value) {
        Ok(text) => ToolOutput::text(text),
        Err(error) => ToolOutput::error(error.to_string()),
    }
}
