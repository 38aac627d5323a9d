//! `native`: tools inside the program.
//!
//! A declaration names the tool (`name`), may declare how a model sees it (`spec`, which wins over the tool's
//! own words) and configures it (`params`).
//!
//! ```yaml
//! name: lookup
//! spec: {name: lookup_fares, description: Looks up fares.}
//! params: {path: data/fares.yaml, table: fares, match: {route: route_id}}
//! ```

mod calc;
mod declaration;
mod lookup;

use std::{borrow::Cow, sync::Arc};

use async_trait::async_trait;
use mas_contracts::{
    Build, BuildContext, Builder, CallContext, Descriptor, Result, ToolCall, ToolContract, ToolOutput,
    ToolSpec, inventory, schema_of,
};
use serde_json::{Map, Value};

pub use calc::{Calc, evaluate};
pub use lookup::Lookup;

use crate::declared::{NO_OBJECT, check, check_name, read};
use declaration::Params;

/// A tool of this crate: what it says of itself, and what it does.
trait NativeTool: Send + Sync {
    /// How a model sees it, where no manifest says otherwise.
    fn spec(&self) -> ToolSpec;

    /// Runs it. It neither waits nor touches anything outside itself.
    fn run(&self, arguments: &Map<String, Value>) -> ToolOutput;
}

/// A result as JSON, indented by two spaces.
fn indented(value: &Value) -> ToolOutput {
    ToolOutput::text(crate::text::indented(value))
}

inventory::submit! {
    Descriptor {
        name: Cow::Borrowed("native"),
        aliases: Cow::Borrowed(&["system"]),
        origin: Cow::Borrowed(env!("CARGO_PKG_NAME")),
        version: Cow::Borrowed(env!("CARGO_PKG_VERSION")),
        summary: Cow::Borrowed("Tools inside the program: calc works out expressions, lookup finds rows in a data file."),
        example: Cow::Borrowed(
            "impl:\n  kind: native\n  name: lookup\n  params: {path: data/fares.yaml, table: fares, match: {route: route_id}}\n",
        ),
        schema: schema_of::<Params>,
        check: check::<Params>,
        builder: Builder::Tool(Build::Linked(|cx, params| Ok(Arc::new(Native::open(cx, params)?)))),
    }
}

struct Native {
    spec: ToolSpec,
    tool: Arc<dyn NativeTool>,
}

impl Native {
    fn open(cx: &BuildContext, params: &Value) -> Result<Self> {
        let params: Params = read(params)?;
        let tool = params.tool(&cx.base)?;
        let spec = match &params.spec {
            Some(declared) => declared.over(tool.spec()),
            None => tool.spec(),
        };
        Ok(Self { spec, tool })
    }
}

#[async_trait]
impl ToolContract for Native {
    async fn list(&self) -> Result<Vec<ToolSpec>> {
        Ok(vec![self.spec.clone()])
    }

    async fn call(&self, _cx: &CallContext, call: &ToolCall) -> Result<ToolOutput> {
        check_name(&self.spec, call)?;
        match call.arguments.as_object() {
            Some(arguments) => Ok(self.tool.run(arguments)),
            None => Ok(ToolOutput::error(NO_OBJECT)),
        }
    }
}
