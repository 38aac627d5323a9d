//! Kind Tool.

use super::rules::{FREE, LOGICAL_NAME, PARAMETER_NAME, TEXTS, VERSION};
use crate::manifest::shape::{Shape, closed, may, must, open};

pub(in crate::manifest) const TOOL: Shape = Shape::Record(&closed(&[
    must("apiVersion", Shape::Text),
    must("kind", Shape::Text),
    must("metadata", METADATA),
    must("spec", SPEC),
]));

const METADATA: Shape = Shape::Record(&closed(&[
    must("name", LOGICAL_NAME),
    may("description", Shape::Text),
    may("version", VERSION),
    may("tags", TEXTS),
]));

const TYPES: &[&str] = &["string", "integer", "number", "boolean", "array", "object"];
const RETURN_TYPES: &[&str] = &["string", "integer", "number", "boolean", "array", "object", "any"];

const SPEC: Shape = Shape::Record(&closed(&[
    may("description", Shape::Text),
    may("parameters", Shape::List(&PARAMETER)),
    may(
        "returns",
        Shape::Record(&open(&[may("type", Shape::Word(RETURN_TYPES)), may("description", Shape::Text)])),
    ),
    may("idempotent", Shape::Flag),
    may("timeout_seconds", Shape::Int(1, 3600)),
    must("impl", IMPL),
    may("title", Shape::Text),
    may("output_schema", FREE),
    may("read_only", Shape::Flag),
    may("destructive", Shape::Flag),
    may("open_world", Shape::Flag),
    may("icons", Shape::Any),
    may("task_support", Shape::Any),
    may("meta", FREE),
    may("semantics", Shape::Any),
]));

const PARAMETER: Shape = Shape::Record(&closed(&[
    must("name", PARAMETER_NAME),
    must("type", Shape::Word(TYPES)),
    may("description", Shape::Text),
    may("required", Shape::Flag),
    may("default", Shape::Any),
    may("enum", Shape::List(&Shape::Any)),
    may("examples", Shape::List(&Shape::Any)),
    may("items", FREE),
    may("properties", FREE),
    may("minimum", Shape::Number(f64::MIN, f64::MAX)),
    may("maximum", Shape::Number(f64::MIN, f64::MAX)),
]));

// Which kinds exist, and their parameters, is the registry's knowledge.
const IMPL: Shape = Shape::Record(&closed(&[
    may("kind", Shape::Name),
    may("name", Shape::Name),
    may("module_path", Shape::Name),
    may("class_name", Shape::Maybe(&Shape::Text)),
    may("params", FREE),
]));
