//! The envelopes of answers over HTTP.

use mas_contracts::{Error, Result};

use super::failure;
use crate::json::Node;

/// The deepest JSON that is read.
const LEVELS: usize = 200;

/// The JSON of an answer.
pub(super) fn parse(bytes: &[u8], status: u16) -> Result<Node<'_>> {
    Node::read(bytes, LEVELS)
        .map_err(|error| failure::unreadable(format!("HTTP {status}, and the body is no JSON: {error}")))
}

/// The result of a JSON-RPC answer.
pub(super) fn result(node: Node<'_>, status: u16) -> Result<Node<'_>> {
    let Node::Object(fields) = node else {
        return Err(failure::unreadable(format!("HTTP {status}, and the answer is no JSON-RPC")));
    };
    let mut result = None;
    for (name, value) in fields {
        match &*name {
            "error" if !value.is_null() => return Err(failure::of(value, Some(status))),
            "result" => result = Some(value),
            _ => {}
        }
    }
    result.ok_or_else(|| failure::unreadable(format!("HTTP {status}, with neither `result` nor `error`")))
}

/// The error of HTTP+JSON, in its envelope or bare.
pub(super) fn rest_failure(node: Node<'_>, status: u16) -> Error {
    let bare = match node {
        Node::Object(fields) => {
            let inner = fields.iter().position(|(name, value)| name == "error" && !value.is_null());
            match inner.and_then(|at| fields.get(at)) {
                Some((_, inner)) => inner.clone(),
                None => Node::Object(fields),
            }
        }
        other => other,
    };
    failure::of(bare, Some(status))
}
