//! Tools.

use std::path::PathBuf;

use serde_json::{Map as JsonMap, Value as Json, json};

use crate::diagnostic::{Diagnostic, Location};
use crate::manifest::document::Document;
use crate::manifest::located::{Located, Params};
use crate::manifest::yaml::Node;
use crate::manifest::{is_on, read};

/// A Tool document.
#[derive(Clone, Debug)]
pub struct ToolDocument {
    /// The checked document.
    pub document: Document,
    /// Its name, as the model calls it.
    pub name: Located<String>,
    /// The text the model sees: `spec.description`, else `metadata.description`, else the name.
    pub description: Located<String>,
    /// Its parameters, if it says any.
    pub parameters: Option<Vec<Parameter>>,
    /// Whether calling it twice does no more than calling it once, if it says so.
    pub idempotent: Option<bool>,
    /// Longest run in seconds; 30 by default.
    pub timeout_seconds: u64,
    /// How it is run.
    pub implementation: Implementation,
}

/// One parameter of a tool.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// Its name.
    pub name: Located<String>,
    /// Whether a call must give it.
    pub required: bool,
    /// Its JSON schema.
    pub schema: Json,
}

/// How a tool is run; the kinds are the registry's knowledge.
#[derive(Clone, Debug)]
pub struct Implementation {
    /// The kind: `native`, `python`, …; `system` reads as `native`.
    pub kind: Located<String>,
    /// The built-in's name, for kinds that have one.
    pub name: Option<Located<String>>,
    /// The module, for kinds that have one, as written.
    pub module_path: Option<Located<String>>,
    /// The class in the module.
    pub class_name: Option<String>,
    /// Its parameters.
    pub params: Params,
    /// The directory that its relative paths start from.
    pub dir: PathBuf,
    /// Where it is given.
    pub at: Location,
    /// Why it cannot run, if that is known already.
    pub broken: Option<Diagnostic>,
}

impl Implementation {
    pub(crate) fn of(node: &Node, dir: PathBuf, broken: Option<Diagnostic>) -> Self {
        let at = node.at.part(0, 1);
        let kind =
            read::filled(node.get("kind")).unwrap_or_else(|| Located::new("python".to_owned(), at.clone()));
        let kind = if kind.value == "system" { kind.map(|_| "native".to_owned()) } else { kind };
        Self {
            name: read::filled(node.get("name")),
            module_path: Self::module_of(node),
            class_name: read::filled(node.get("class_name")).map(|name| name.value),
            params: Params::of_or_none(node.get("params"), &kind.at),
            kind,
            dir,
            at,
            broken,
        }
    }

    pub(crate) fn module_of(node: &Node) -> Option<Located<String>> {
        read::filled(node.get("module_path")).or_else(|| read::filled(node.get("module")))
    }
}

impl ToolDocument {
    pub(crate) fn of(document: Document, implementation: Implementation) -> Self {
        const DEFAULT_SECONDS: u64 = 30;
        let name = document.name();
        let description = read::filled(document.get("spec.description"))
            .or_else(|| read::filled(document.get("metadata.description")))
            .unwrap_or_else(|| name.clone());
        let seconds = read::int(document.get("spec.timeout_seconds"))
            .and_then(|seconds| u64::try_from(seconds.value).ok());
        Self {
            parameters: document
                .get("spec.parameters")
                .map(|list| list.items().iter().filter_map(parameter).collect()),
            idempotent: read::flag(document.get("spec.idempotent")).map(|flag| flag.value),
            timeout_seconds: seconds.unwrap_or(DEFAULT_SECONDS),
            name,
            description,
            implementation,
            document,
        }
    }

    /// The JSON schema of its arguments; absent when the document lists no parameters.
    pub fn parameters_schema(&self) -> Option<Json> {
        let parameters = self.parameters.as_ref()?;
        let properties: JsonMap<String, Json> = parameters
            .iter()
            .map(|parameter| (parameter.name.value.clone(), parameter.schema.clone()))
            .collect();
        let required: Vec<&str> = parameters
            .iter()
            .filter(|parameter| parameter.required)
            .map(|parameter| parameter.name.as_str())
            .collect();
        let mut schema = json!({"type": "object", "properties": properties});
        if let (false, Some(object)) = (required.is_empty(), schema.as_object_mut()) {
            object.insert("required".to_owned(), json!(required));
        }
        Some(schema)
    }
}

fn parameter(node: &Node) -> Option<Parameter> {
    const KEPT: &[&str] =
        &["description", "enum", "default", "examples", "items", "properties", "minimum", "maximum"];
    let name = read::filled(node.get("name"))?;
    let kind = read::filled(node.get("type"))?;
    let mut schema = JsonMap::new();
    schema.insert("type".to_owned(), Json::from(kind.value.as_str()));
    for key in KEPT {
        if let Some(value) = node.get(key).filter(|value| !value.is_null()) {
            schema.insert((*key).to_owned(), typed(value, &kind, key));
        }
    }
    // Some providers refuse an array without `items`.
    if kind.value == "array" && !schema.contains_key("items") {
        schema.insert("items".to_owned(), json!({}));
    }
    Some(Parameter { name, required: is_on(node.get("required")), schema: Json::Object(schema) })
}

// A value of a string parameter is text, whatever YAML thinks of it: the default `1.10` is not 1.1.
fn typed(value: &Node, kind: &str, key: &str) -> Json {
    let is_value = matches!(key, "default" | "enum" | "examples" | "description");
    if kind != "string" && key != "description" || !is_value {
        return value.to_json();
    }
    match value.items() {
        [] if value.is_scalar() => Json::from(value.text()),
        items => items
            .iter()
            .map(|item| if item.is_scalar() { Json::from(item.text()) } else { item.to_json() })
            .collect(),
    }
}
