//! JSON schemas as providers take them.

use serde_json::{Map, Value, json};

/// Deepest nesting that is looked at.
const DEPTH: usize = 32;

/// The schema of a tool's arguments such that every provider takes it: an object with properties, arrays with
/// items. References stay as they are.
pub(crate) fn normalised(schema: &Value) -> Value {
    let mut schema = match schema {
        Value::Object(_) => schema.clone(),
        _ => json!({}),
    };
    if let Some(map) = schema.as_object_mut() {
        if !map.contains_key("$ref") {
            map.entry("type").or_insert_with(|| json!("object"));
            map.entry("properties").or_insert_with(|| json!({}));
        }
        complete(map, 0);
    }
    schema
}

fn complete(map: &mut Map<String, Value>, depth: usize) {
    let is = |map: &Map<String, Value>, name: &str| match map.get("type") {
        Some(Value::String(kind)) => kind == name,
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == name),
        _ => false,
    };
    if is(map, "array") && !map.contains_key("items") && !map.contains_key("prefixItems") {
        map.insert("items".to_owned(), json!({}));
    }
    if is(map, "object") && !map.contains_key("properties") {
        map.insert("properties".to_owned(), json!({}));
    }
    if depth >= DEPTH {
        return;
    }
    for (key, value) in map.iter_mut() {
        match (key.as_str(), value) {
            ("properties" | "$defs" | "definitions", Value::Object(children)) => {
                children
                    .values_mut()
                    .filter_map(Value::as_object_mut)
                    .for_each(|child| complete(child, depth + 1));
            }
            ("items" | "additionalProperties" | "not", Value::Object(child)) => complete(child, depth + 1),
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(children)) => {
                children
                    .iter_mut()
                    .filter_map(Value::as_object_mut)
                    .for_each(|child| complete(child, depth + 1));
            }
            _ => {}
        }
    }
}

/// Whether a schema keeps the rules of strict output: every object is closed and requires all its properties.
pub(crate) fn is_strict(schema: &Value) -> bool {
    match schema {
        Value::Object(map) => {
            let closed = match map.get("properties") {
                Some(Value::Object(properties)) => {
                    let required = map.get("required").and_then(Value::as_array);
                    let requires = |name: &str| required.is_some_and(|all| all.iter().any(|one| one == name));
                    map.get("additionalProperties") == Some(&Value::Bool(false))
                        && properties.keys().all(|name| requires(name))
                }
                _ => map.get("type").is_none_or(|kind| kind != "object"),
            };
            closed && map.values().all(is_strict)
        }
        Value::Array(items) => items.iter().all(is_strict),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r75_schemas_without_properties_or_items() {
        let cases = [
            (json!({}), json!({"type": "object", "properties": {}})),
            (json!(true), json!({"type": "object", "properties": {}})),
            (json!({"type": "object"}), json!({"type": "object", "properties": {}})),
            (
                json!({"type": "object", "properties": {"a": {"type": "array"}, "b": {"type": ["string", "null"]}}}),
                json!({"type": "object", "properties": {"a": {"type": "array", "items": {}}, "b": {"type": ["string", "null"]}}}),
            ),
            (
                json!({"$ref": "#/$defs/a", "$defs": {"a": {"type": "object"}}}),
                json!({"$ref": "#/$defs/a", "$defs": {"a": {"type": "object", "properties": {}}}}),
            ),
        ];
        for (given, wanted) in cases {
            assert_eq!(normalised(&given), wanted, "{given}");
        }
    }

    #[test]
    fn strict_schemas_are_closed_at_every_level() {
        let inner = json!({"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"], "additionalProperties": false});
        assert!(is_strict(&inner));
        let outer = |inner: &Value| json!({"type": "object", "properties": {"a": inner}, "required": ["a"], "additionalProperties": false});
        assert!(is_strict(&outer(&inner)));
        assert!(!is_strict(&outer(&json!({"type": "object", "properties": {"x": {}}}))));
        assert!(!is_strict(&json!({"type": "object"})));
    }
}
