//! The bytes of a card that a signature is over: JSON by RFC 8785 of the card as its readers have it (A2A v1.0,
//! section 8.4.1).
//!
//! The specification keeps required members that are empty, and optional ones that are set. The official SDKs drop
//! every empty text, list and object, wherever it is. Both forms are made; for most cards they are the same.

mod fields;
mod number;

use mas_contracts::{Error, Result};
use serde_json::{Map, Value};

use fields::{CARD, Field, Kind, Rule};

/// Deepest nesting of a card, as in the official SDKs.
const DEEPEST: usize = 128;

/// Which members a canonical form has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// As the specification says.
    Specified,
    /// As the official SDKs have it.
    Sdk,
}

/// The canonical bytes of a card; its signatures, and what v1.0 does not know, are no part of them.
///
/// # Errors
/// What in the document is no card.
pub(super) fn canonical(card: &Value, form: Form) -> Result<String> {
    let Value::Object(members) = card else { return Err(refused("", "it is no JSON object")) };
    let mut kept = message(members, CARD, "", 1)?;
    if form == Form::Sdk {
        kept = without_empty(kept).unwrap_or_else(|| Value::Object(Map::new()));
    }
    let mut text = String::new();
    write(&kept, &mut text);
    Ok(text)
}

fn refused(place: &str, problem: &str) -> Error {
    let place = if place.is_empty() { String::new() } else { format!("`{place}`: ") };
    Error::invalid(format!("{place}{problem}")).with_code("mas::a2a::card")
}

/// The members of a message that its readers have: known ones, without those that have their default.
fn message(members: &Map<String, Value>, fields: &[Field], place: &str, depth: usize) -> Result<Value> {
    let mut kept = Map::new();
    for field in fields {
        let Some(value) = members.get(field.name).filter(|value| !value.is_null()) else { continue };
        let place = if place.is_empty() { field.name.to_owned() } else { format!("{place}.{}", field.name) };
        let value = of_kind(value, &field.kind, &place, depth + 1)?;
        let is_default = match &value {
            Value::Bool(set) => !set,
            Value::String(text) => text.is_empty(),
            Value::Array(items) => items.is_empty(),
            // A message that is set is told from one that is not; a map is not.
            Value::Object(members) => members.is_empty() && matches!(field.kind, Kind::Map(_)),
            Value::Null | Value::Number(_) => false,
        };
        if !is_default || field.rule != Rule::Plain {
            kept.insert(field.name.to_owned(), value);
        }
    }
    Ok(Value::Object(kept))
}

fn of_kind(value: &Value, kind: &Kind, place: &str, depth: usize) -> Result<Value> {
    if depth > DEEPEST {
        return Err(refused(place, "it is nested too deeply"));
    }
    match (kind, value) {
        (Kind::Text, Value::String(_)) | (Kind::Flag, Value::Bool(_)) => Ok(value.clone()),
        (Kind::Free, Value::Object(_)) => {
            if is_deeper(value, DEEPEST - depth) {
                return Err(refused(place, "it is nested too deeply"));
            }
            Ok(value.clone())
        }
        (Kind::Message(fields), Value::Object(members)) => message(members, fields, place, depth),
        (Kind::List(item), Value::Array(items)) => {
            let item = |(at, value)| of_kind(value, item, &format!("{place}[{at}]"), depth + 1);
            items.iter().enumerate().map(item).collect::<Result<Vec<_>>>().map(Value::Array)
        }
        (Kind::Map(item), Value::Object(members)) => {
            let item = |(name, value): (&String, &Value)| {
                of_kind(value, item, &format!("{place}.{name}"), depth + 1).map(|value| (name.clone(), value))
            };
            members.iter().map(item).collect::<Result<Map<_, _>>>().map(Value::Object)
        }
        (kind, _) => Err(refused(place, &format!("expected {}", kind.words()))),
    }
}

fn is_deeper(value: &Value, most: usize) -> bool {
    match value {
        Value::Array(items) => most == 0 || items.iter().any(|item| is_deeper(item, most - 1)),
        Value::Object(members) => most == 0 || members.values().any(|item| is_deeper(item, most - 1)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Without what the official SDKs drop; nothing if nothing is left.
fn without_empty(value: Value) -> Option<Value> {
    match value {
        Value::Null => None,
        Value::String(text) => (!text.is_empty()).then_some(Value::String(text)),
        Value::Array(items) => {
            let kept: Vec<Value> = items.into_iter().filter_map(without_empty).collect();
            (!kept.is_empty()).then_some(Value::Array(kept))
        }
        Value::Object(members) => {
            let kept = members.into_iter().filter_map(|(key, value)| Some((key, without_empty(value)?)));
            let kept: Map<String, Value> = kept.collect();
            (!kept.is_empty()).then_some(Value::Object(kept))
        }
        other @ (Value::Bool(_) | Value::Number(_)) => Some(other),
    }
}

/// Writes JSON by RFC 8785: members by the UTF-16 of their names, numbers as ECMAScript has them.
fn write(value: &Value, text: &mut String) {
    match value {
        Value::Number(number) => text.push_str(&number::canonical(number)),
        Value::Array(items) => {
            text.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    text.push(',');
                }
                write(item, text);
            }
            text.push(']');
        }
        Value::Object(members) => {
            let mut sorted: Vec<(&String, &Value)> = members.iter().collect();
            sorted.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
            text.push('{');
            for (at, (name, item)) in sorted.into_iter().enumerate() {
                if at > 0 {
                    text.push(',');
                }
                text.push_str(&quoted(name));
                text.push(':');
                write(item, text);
            }
            text.push('}');
        }
        Value::String(string) => text.push_str(&quoted(string)),
        Value::Null | Value::Bool(_) => text.push_str(&value.to_string()),
    }
}

/// JSON escapes as RFC 8785 wants them: the short ones, `\u00xx` in lower case, nothing else.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn json_is_written_as_the_rfc_has_it() {
        // RFC 8785, section 3.2.3 and 3.2.2.
        let value: Value = serde_json::from_str(
            r#"{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One","\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}"#,
        )
        .unwrap();
        let mut text = String::new();
        write(&value, &mut text);
        let order = ["\\r", "1", "\u{80}", "ö", "€", "😀", "\u{fb33}"];
        let places: Vec<usize> = order.iter().map(|key| text.find(&format!("\"{key}\":")).unwrap()).collect();
        assert!(places.is_sorted(), "{text}");

        let mut text = String::new();
        write(&json!({"string": "\u{20ac}$\u{f}\nA'B\"\\\\\"/", "literals": [null, true, false]}), &mut text);
        assert_eq!(text, r#"{"literals":[null,true,false],"string":"€$\u000f\nA'B\"\\\\\"/"}"#);
    }

    #[test]
    fn only_what_readers_have_is_signed() {
        let card = json!({
            "name": "a",
            "description": "",
            "supportedInterfaces": [{"url": "u", "protocolBinding": "JSONRPC", "protocolVersion": "1.0", "tenant": ""}],
            "url": "old", "protocolVersion": "0.3.0", "unknown": {"deep": []},
            "capabilities": {"streaming": false, "extensions": [{"uri": "x:y", "required": false, "params": {"a": ""}}]},
            "securityRequirements": [{"schemes": {"o": {"list": []}}}],
            "skills": [],
            "signatures": [{"protected": "p", "signature": "s"}],
        });
        let specified = canonical(&card, Form::Specified).unwrap();
        insta::assert_snapshot!(specified, @r#"{"capabilities":{"extensions":[{"params":{"a":""},"uri":"x:y"}],"streaming":false},"description":"","name":"a","securityRequirements":[{"schemes":{"o":{}}}],"skills":[],"supportedInterfaces":[{"protocolBinding":"JSONRPC","protocolVersion":"1.0","url":"u"}]}"#);
        let sdk = canonical(&card, Form::Sdk).unwrap();
        insta::assert_snapshot!(sdk, @r#"{"capabilities":{"extensions":[{"uri":"x:y"}],"streaming":false},"name":"a","supportedInterfaces":[{"protocolBinding":"JSONRPC","protocolVersion":"1.0","url":"u"}]}"#);
    }

    #[test]
    fn what_is_no_card_says_where() {
        let says = |card: Value| canonical(&card, Form::Sdk).unwrap_err().to_string();
        assert_eq!(says(json!([])), "it is no JSON object");
        assert_eq!(says(json!({"name": 1})), "`name`: expected a text");
        assert_eq!(says(json!({"skills": [{"tags": [{}]}]})), "`skills[0].tags[0]`: expected a text");
        let mut deep = json!({});
        for _ in 0..200 {
            deep = json!({"a": deep});
        }
        let deep = json!({"capabilities": {"extensions": [{"params": deep}]}});
        assert!(says(deep).contains("nested too deeply"));
    }
}
