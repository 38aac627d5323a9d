//! `lookup`: finds rows in a data file.
//!
//! The file is YAML, or JSON if its name ends in `.json`; it is read once, when the tool is built. An argument
//! filters where it is given: absent, `null` and the empty string filter nothing. Texts are compared whole,
//! whatever the case and the white space around them; a number equals the text that shows it; a field that is a
//! list equals what one of its items equals.
//!
//! The result is `{"found", "count", "<table>"}`: whether and how many rows match, and the rows, `limit` of them
//! at most (then `"truncated": true`).

mod file;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use mas_contracts::{Error, Problem, Result, ToolOutput, ToolSpec, check_params};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{NativeTool, indented};

const DEFAULT_LIMIT: usize = 20;

/// Parameters of `lookup`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Params {
    /// The data file, relative to the manifest; 8 MiB at most.
    path: String,
    /// Where in the file the list of rows is, as `a.b.c`; default the whole file.
    #[serde(default)]
    table: String,
    /// Which field each argument is compared with: argument to field, a field within a field as `a.b`; some row
    /// must have it. Default none: every row matches.
    #[serde(default, rename = "match")]
    fields_by_argument: BTreeMap<String, String>,
    /// The fields of a row that are given back; some row must have each. Default all.
    #[serde(default)]
    fields: Vec<String>,
    /// How many rows are given back at most; default 20.
    #[serde(default = "default_limit")]
    limit: usize,
}

fn default_limit() -> usize {
    DEFAULT_LIMIT
}

pub(super) fn check(params: &Value) -> Vec<Problem> {
    check_params::<Params>(params)
}

/// The tool `lookup`.
#[derive(Debug)]
pub struct Lookup {
    params: Params,
    rows: Vec<Value>,
    key: String,
}

impl Lookup {
    /// Reads the data file.
    pub(super) fn open(base: &Path, params: Params) -> Result<Self> {
        let path = base.join(&params.path);
        let rows = file::rows(&path, &params.table)?;
        check_fields(&rows, &params).map_err(|unknown| {
            let message = format!("{unknown} (rows of the data file `{}`)", path.display());
            Error::invalid(message).with_code("mas::lookup::unknown_field")
        })?;
        let last = params.table.rsplit('.').next().unwrap_or_default();
        let key = if last.is_empty() { "rows" } else { last }.to_owned();
        Ok(Self { params, rows, key })
    }

    fn matches(&self, row: &Value, arguments: &Map<String, Value>) -> bool {
        self.params.fields_by_argument.iter().all(|(argument, field)| match arguments.get(argument) {
            None | Some(Value::Null) => true,
            Some(Value::String(text)) if text.trim().is_empty() => true,
            Some(wanted) => file::at(row, field).is_some_and(|found| equal(found, wanted)),
        })
    }

    fn project(&self, row: &Value) -> Value {
        match row {
            Value::Object(map) if !self.params.fields.is_empty() => {
                let kept = |field: &String| Some((field.clone(), map.get(field)?.clone()));
                Value::Object(self.params.fields.iter().filter_map(kept).collect())
            }
            other => other.clone(),
        }
    }
}

/// A field that no row has is a slip: it would make every search fail, or every result lack it.
fn check_fields(rows: &[Value], params: &Params) -> std::result::Result<(), String> {
    if rows.is_empty() {
        return Ok(());
    }
    let unknown = |place: &str, field: &str| {
        let names: BTreeSet<&str> =
            rows.iter().filter_map(Value::as_object).flat_map(Map::keys).map(String::as_str).collect();
        let names = if names.is_empty() { "no fields".to_owned() } else { Vec::from_iter(names).join(", ") };
        format!("`{place}`: no row has the field `{field}`; there are: {names}")
    };
    for (argument, field) in &params.fields_by_argument {
        if !rows.iter().any(|row| file::at(row, field).is_some()) {
            return Err(unknown(&format!("match.{argument}"), field));
        }
    }
    match params.fields.iter().find(|field| !rows.iter().any(|row| row.get(field.as_str()).is_some())) {
        Some(field) => Err(unknown("fields", field)),
        None => Ok(()),
    }
}

fn equal(found: &Value, wanted: &Value) -> bool {
    match found {
        Value::Array(items) => items.iter().any(|item| equal(item, wanted)),
        Value::Number(number) if wanted.is_number() => number.as_f64() == wanted.as_f64(),
        _ => match (shown(found), shown(wanted)) {
            (Some(found), Some(wanted)) => found == wanted,
            _ => found == wanted,
        },
    }
}

/// A scalar as it is compared.
fn shown(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.trim().to_lowercase()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        _ => None,
    }
}

impl NativeTool for Lookup {
    fn spec(&self) -> ToolSpec {
        let argument = |(name, field): (&String, &String)| {
            let schema = json!({
                "type": ["string", "number", "boolean"],
                "description": format!("Only rows whose {field} is this."),
            });
            (name.clone(), schema)
        };
        let properties: Map<String, Value> = self.params.fields_by_argument.iter().map(argument).collect();
        ToolSpec {
            name: "lookup".into(),
            description: format!("Looks up {}.", self.key).into(),
            parameters: json!({"type": "object", "properties": properties, "additionalProperties": false}),
            idempotent: true,
            timeout: None,
        }
    }

    fn run(&self, arguments: &Map<String, Value>) -> ToolOutput {
        let matching: Vec<&Value> = self.rows.iter().filter(|row| self.matches(row, arguments)).collect();
        let mut result = Map::new();
        result.insert("found".to_owned(), json!(!matching.is_empty()));
        result.insert("count".to_owned(), json!(matching.len()));
        if matching.len() > self.params.limit {
            result.insert("truncated".to_owned(), json!(true));
        }
        let rows = matching.into_iter().take(self.params.limit).map(|row| self.project(row));
        result.insert(self.key.clone(), rows.collect());
        indented(&Value::Object(result))
    }
}
