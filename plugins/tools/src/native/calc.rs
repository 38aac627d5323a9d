//! `calc`: works out an arithmetic expression.
//!
//! Numbers (`2`, `.5`, `1.5e3`), `+ - * /`, `%` (the remainder has the sign of the divisor), `^` or `**` (binds
//! to the right and before a sign on its left, so that `-2^2` is -4), parentheses, signs. Everything is a 64-bit
//! float. Division by zero, a result that is no finite number, more than 64 levels and more than 1000 characters
//! are failures.

mod parser;

use mas_contracts::{ToolOutput, ToolSpec};
use serde_json::{Map, Value, json};

use super::{NativeTool, indented};
pub use parser::evaluate;

/// The tool `calc`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Calc;

impl NativeTool for Calc {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "calc".into(),
            description: "Works out an arithmetic expression.".into(),
            parameters: json!({
                "type": "object",
                "properties": {"expression": {
                    "type": "string",
                    "description": "The expression: numbers, + - * / % ^, parentheses.",
                }},
                "required": ["expression"],
                "additionalProperties": false,
            }),
            idempotent: true,
            timeout: None,
        }
    }

    fn run(&self, arguments: &Map<String, Value>) -> ToolOutput {
        let Some(expression) = arguments.get("expression").and_then(Value::as_str) else {
            return ToolOutput::error("`expression` is missing");
        };
        match evaluate(expression) {
            Ok(result) => indented(&json!({"expression": expression, "result": result})),
            Err(reason) => ToolOutput::error(format!("cannot work out `{expression}`: {reason}")),
        }
    }
}
