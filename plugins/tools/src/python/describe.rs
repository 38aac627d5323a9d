//! The tools of a class, as it describes them and as a manifest does.

use mas_contracts::{Error, Result, ToolSpec};
use serde::Deserialize;
use serde_json::Value;

use crate::declared::Declared;

const LONGEST_NAME: usize = 64;

/// A tool, as its class describes it.
#[derive(Debug, Deserialize)]
pub(super) struct Described {
    name: Option<String>,
    description: String,
    parameters: Value,
}

/// Reads the answer of the process.
pub(super) fn read(listed: &Value) -> Result<Vec<Described>> {
    Vec::deserialize(listed).map_err(|error| Error::internal("the list of tools is none").caused_by(error))
}

/// The tools on offer, each with its own name within the class.
///
/// # Errors
/// The class has no tool of the declared name, or one without a name that a model can call.
pub(super) fn choose(
    listed: Vec<Described>,
    declared: Option<&Declared>,
    class: &str,
) -> Result<Vec<(String, ToolSpec)>> {
    let Some(declared) = declared else {
        return listed.into_iter().map(|tool| named(tool, None, class)).collect();
    };
    let names: Vec<String> = listed.iter().filter_map(|tool| tool.name.clone()).collect();
    let several = listed.len() > 1;
    let wanted = declared.name.as_deref();
    let of_this_name = |tool: &Described| !several || wanted.is_none() || tool.name.as_deref() == wanted;
    let Some(tool) = listed.into_iter().find(of_this_name) else {
        let message = format!(
            "`{class}` has no tool `{}`; its tools: `{}`",
            wanted.unwrap_or_default(),
            names.join("`, `")
        );
        return Err(Error::invalid(message).with_code("mas::python::no_such_tool"));
    };
    let (own, spec) = named(tool, wanted, class)?;
    Ok(vec![(own, declared.over(spec))])
}

fn named(tool: Described, wanted: Option<&str>, class: &str) -> Result<(String, ToolSpec)> {
    let Some(own) = tool.name.as_deref().or(wanted).map(str::to_owned) else {
        let message = format!(
            "`{class}` does not say its tool's name: give it `get_name`, or a tool document with a name"
        );
        return Err(Error::invalid(message).with_code("mas::python::no_name"));
    };
    let name = wanted.unwrap_or(&own);
    let is_legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if name.is_empty() || name.len() > LONGEST_NAME || !name.chars().all(is_legal) {
        let message = format!(
            "`{class}` offers a tool named `{name}`, which no model can call: a name has letters, digits, `_` and \
             `-`, {LONGEST_NAME} at most"
        );
        return Err(Error::invalid(message).with_code("mas::python::name"));
    }
    let description =
        if tool.description.is_empty() { format!("Invoke tool {name}.") } else { tool.description };
    let spec = ToolSpec {
        name: name.into(),
        description: description.into(),
        parameters: tool.parameters,
        idempotent: false,
        timeout: None,
    };
    Ok((own, spec))
}
