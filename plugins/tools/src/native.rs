//! The provider `native`: one declared tool of this crate.

use std::{borrow::Cow, sync::Arc};

use async_trait::async_trait;
use mas_contracts::{
    Build, BuildContext, Builder, CallContext, Descriptor, Error, ErrorKind, Result, ToolCall, ToolContract,
    ToolOutput, ToolSpec, inventory, parse_params, schema_of,
};
use serde_json::Value;

use crate::{
    NativeTool,
    declaration::{self, Params},
};

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
        check: declaration::check,
        builder: Builder::Tool(Build::Linked(|cx, params| Ok(Arc::new(Native::open(cx, params)?)))),
    }
}

struct Native {
    spec: ToolSpec,
    tool: Arc<dyn NativeTool>,
}

impl Native {
    fn open(cx: &BuildContext, params: &Value) -> Result<Self> {
        if let Some(problem) = declaration::check(params).first() {
            let message = format!("`{}`: {}", problem.path, problem.message);
            return Err(Error::invalid(message).with_code("mas::params::invalid"));
        }
        let params: Params = parse_params(params)?;
        let tool = params.tool(&cx.base)?;
        Ok(Self { spec: params.spec(tool.spec()), tool })
    }
}

#[async_trait]
impl ToolContract for Native {
    async fn list(&self) -> Result<Vec<ToolSpec>> {
        Ok(vec![self.spec.clone()])
    }

    async fn call(&self, _cx: &CallContext, call: &ToolCall) -> Result<ToolOutput> {
        if call.name != self.spec.name {
            let message = format!("there is no tool `{}` here, only `{}`", call.name, self.spec.name);
            return Err(Error::new(ErrorKind::NotFound, message));
        }
        match call.arguments.as_object() {
            Some(arguments) => Ok(self.tool.run(arguments)),
            None => Ok(ToolOutput::error("the arguments are not a JSON object")),
        }
    }
}
