//! Output schemas as the API takes them.
//!
//! `output_config.format` knows a part of JSON Schema: objects are closed, and limits of numbers, texts and lists are
//! not among its words (platform.claude.com/docs/en/build-with-claude/structured-outputs, "JSON Schema limitations").
//! What it does not know is moved into the description, as the provider's own libraries do. An answer that fits the
//! narrower schema and its description fits the one that was asked for; core checks it in any case.

use serde_json::{Map, Value};

/// Keywords that stay as they are.
const KEPT: [&str; 9] =
    ["type", "enum", "const", "required", "title", "description", "default", "pattern", "$ref"];
/// Keywords that hold schemas by name.
const NAMED: [&str; 3] = ["properties", "$defs", "definitions"];
/// Keywords that hold a list of schemas.
const LISTED: [&str; 2] = ["anyOf", "allOf"];
/// Values of `format` that are known.
const FORMATS: [&str; 10] =
    ["date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"];
/// Keywords that say nothing about an answer.
const SILENT: [&str; 3] = ["$schema", "$id", "$comment"];

/// The schema in the words that the API knows; none if it allows objects with names that it does not list, which no
/// schema of the API can say.
pub(super) fn closed(schema: &Value) -> Option<Value> {
    let Value::Object(given) = schema else { return Some(schema.clone()) };
    let mut out = Map::new();
    let mut told = Vec::new();
    for (key, value) in given {
        let keyword = key.as_str();
        let known = match (keyword, value) {
            _ if KEPT.contains(&keyword) => Some(value.clone()),
            (_, Value::Object(named)) if NAMED.contains(&keyword) => {
                let pairs = named.iter().map(|(name, value)| Some((name.clone(), closed(value)?)));
                Some(Value::Object(pairs.collect::<Option<_>>()?))
            }
            (_, Value::Array(listed)) if LISTED.contains(&keyword) => {
                Some(Value::Array(listed.iter().map(closed).collect::<Option<_>>()?))
            }
            ("oneOf", Value::Array(listed)) if !given.contains_key("anyOf") => {
                let any = listed.iter().map(closed).collect::<Option<_>>()?;
                out.insert("anyOf".to_owned(), Value::Array(any));
                None
            }
            ("items", Value::Object(_)) => Some(closed(value)?),
            ("format", Value::String(format)) if FORMATS.contains(&format.as_str()) => Some(value.clone()),
            ("minItems", Value::Number(least)) if least.as_u64().is_some_and(|least| least < 2) => {
                Some(value.clone())
            }
            ("additionalProperties", Value::Bool(_)) => None,
            ("additionalProperties" | "patternProperties", Value::Object(_)) => return None,
            _ if SILENT.contains(&keyword) => None,
            _ => {
                told.push(format!("{key}: {value}"));
                None
            }
        };
        if let Some(known) = known {
            out.insert(key.clone(), known);
        }
    }
    if is_object(given) {
        given.get("properties")?;
        out.insert("additionalProperties".to_owned(), Value::Bool(false));
    }
    if !told.is_empty() {
        let before = out.get("description").and_then(Value::as_str).map(|text| format!("{text} "));
        let text = format!("{}({})", before.unwrap_or_default(), told.join(", "));
        out.insert("description".to_owned(), Value::String(text));
    }
    Some(Value::Object(out))
}

fn is_object(schema: &Map<String, Value>) -> bool {
    let names_object = |name: &Value| name.as_str() == Some("object");
    match schema.get("type") {
        Some(Value::Array(types)) => types.iter().any(names_object),
        Some(one) => names_object(one),
        None => schema.contains_key("properties"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn objects_are_closed_and_limits_are_told() {
        let schema = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "required": ["stars"],
            "properties": {
                "stars": {"type": "integer", "minimum": 1, "maximum": 5, "description": "How good."},
                "tags": {"type": "array", "minItems": 1, "maxItems": 3, "items": {"$ref": "#/$defs/tag"}},
                "when": {"type": "string", "format": "date"},
                "site": {"type": "string", "format": "iri"},
                "place": {"oneOf": [{"type": "null"}, {"type": "object", "properties": {}}]},
            },
            "$defs": {"tag": {"type": "string", "minLength": 1}},
            "additionalProperties": true,
        });
        let expected = json!({
            "type": "object",
            "required": ["stars"],
            "properties": {
                "stars": {"type": "integer", "description": "How good. (minimum: 1, maximum: 5)"},
                "tags": {
                    "type": "array", "minItems": 1, "items": {"$ref": "#/$defs/tag"},
                    "description": "(maxItems: 3)",
                },
                "when": {"type": "string", "format": "date"},
                "site": {"type": "string", "description": "(format: \"iri\")"},
                "place": {"anyOf": [
                    {"type": "null"}, {"type": "object", "properties": {}, "additionalProperties": false},
                ]},
            },
            "$defs": {"tag": {"type": "string", "description": "(minLength: 1)"}},
            "additionalProperties": false,
        });
        assert_eq!(closed(&schema), Some(expected));
    }

    #[test]
    fn open_objects_cannot_be_said() {
        let open = json!({"type": "object", "additionalProperties": {"type": "string"}});
        let inside = json!({"type": "object", "properties": {"a": {"type": "array", "items": open}}});
        for schema in [&open, &inside, &json!({"type": "object"}), &json!({"anyOf": [open]})] {
            assert_eq!(closed(schema), None, "{schema}");
        }
        assert_eq!(closed(&json!(true)), Some(json!(true)));
    }
}
