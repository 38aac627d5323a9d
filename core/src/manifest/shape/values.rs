//! Scalars as values.

use crate::manifest::yaml::{Node, Style, Value, parse_float, parse_int};

/// A boolean; from the environment, the words `true` and `false` (and `1`, `0`) count.
pub(crate) fn read_flag(node: &Node) -> Option<bool> {
    match (&node.value, node.style) {
        (Value::Bool(flag), _) => Some(*flag),
        (Value::Str, Style::Env | Style::EnvDefault) => match node.text() {
            "true" | "1" => Some(true),
            "false" | "0" => Some(false),
            _ => None,
        },
        _ => None,
    }
}

/// A whole number; digits in quotes or from the environment count, as `port: "8080"` says nothing else.
pub(crate) fn read_int(node: &Node) -> Option<i64> {
    match node.value {
        Value::Int(number) => Some(number),
        Value::Str => parse_int(node.text()),
        _ => None,
    }
}

/// A number; one in quotes or from the environment counts.
pub(crate) fn read_number(node: &Node) -> Option<f64> {
    match node.value {
        #[expect(clippy::cast_precision_loss, reason = "settings are small numbers")]
        Value::Int(number) => Some(number as f64),
        Value::Float(number) => Some(number),
        Value::Str => parse_float(node.text()),
        _ => None,
    }
}
