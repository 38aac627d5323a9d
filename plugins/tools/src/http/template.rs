//! Texts with places for arguments and variables.

use std::fmt::Write;

use mas_contracts::Env;
use serde_json::{Map, Value};

/// A text with `{argument}` and `{env:NAME}` in it; `{{` and `}}` stand for braces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Template(Vec<Piece>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Argument(String),
    Variable(String),
}

/// Why an argument cannot be put where it belongs, in words for the model.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Refusal(pub(super) String);

impl Template {
    /// Reads a text.
    ///
    /// # Errors
    /// What is wrong with its braces.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            let (before, from) = rest.split_at(at);
            plain.push_str(before);
            rest = if let Some(after) = from.strip_prefix("{{") {
                plain.push('{');
                after
            } else if let Some(after) = from.strip_prefix("}}") {
                plain.push('}');
                after
            } else if let Some((name, after)) = from.strip_prefix('{').and_then(|from| from.split_once('}')) {
                if !plain.is_empty() {
                    pieces.push(Piece::Text(std::mem::take(&mut plain)));
                }
                pieces.push(Piece::named(name)?);
                after
            } else {
                return Err(format!(
                    "the brace at byte {} has no other one; `{{{{` and `}}}}` are braces",
                    text.len() - from.len()
                ));
            };
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            pieces.push(Piece::Text(plain));
        }
        Ok(Self(pieces))
    }

    /// The arguments in it.
    pub(super) fn arguments(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Argument(name) => Some(name.as_str()),
            _ => None,
        })
    }

    /// The variables in it.
    pub(super) fn variables(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Variable(name) => Some(name.as_str()),
            _ => None,
        })
    }

    /// The argument that it is, if it is nothing else.
    pub(super) fn sole_argument(&self) -> Option<&str> {
        match self.0.as_slice() {
            [Piece::Argument(name)] => Some(name),
            _ => None,
        }
    }

    /// The same with the texts between the places encoded.
    pub(super) fn encoded(self, encode: impl Fn(&str) -> String) -> Self {
        let encoded = |piece| match piece {
            Piece::Text(text) => Piece::Text(encode(&text)),
            other => other,
        };
        Self(self.0.into_iter().map(encoded).collect())
    }

    /// The same with the values of variables in it, each encoded.
    ///
    /// # Errors
    /// The variable that is not set.
    pub(super) fn resolved(self, env: &Env, encode: impl Fn(&str) -> String) -> Result<Self, String> {
        let resolved = |piece| match piece {
            Piece::Variable(name) => env.get(&name).map(|value| Piece::Text(encode(value))).ok_or(name),
            other => Ok(other),
        };
        self.0.into_iter().map(resolved).collect::<Result<_, _>>().map(Self)
    }

    /// The text with these arguments in it, each encoded; nothing if one of them is not given.
    ///
    /// # Errors
    /// An argument that is no text, number or boolean.
    pub(super) fn filled(
        &self,
        arguments: &Map<String, Value>,
        encode: impl Fn(&str) -> String,
    ) -> Result<Option<String>, Refusal> {
        let mut out = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Argument(name) => match arguments.get(name) {
                    None | Some(Value::Null) => return Ok(None),
                    Some(Value::String(text)) => out.push_str(&encode(text)),
                    Some(value @ (Value::Number(_) | Value::Bool(_))) => {
                        out.push_str(&encode(&value.to_string()));
                    }
                    Some(Value::Array(_) | Value::Object(_)) => {
                        return Err(Refusal(format!("`{name}` must be a text, a number or a boolean")));
                    }
                },
                // They are resolved when the tool is built.
                Piece::Variable(_) => return Ok(None),
            }
        }
        Ok(Some(out))
    }
}

impl Piece {
    fn named(name: &str) -> Result<Self, String> {
        let is_name = |name: &str| {
            name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
        };
        match name.strip_prefix("env:") {
            Some(variable) if is_name(variable) => Ok(Self::Variable(variable.to_owned())),
            None if is_name(name) => Ok(Self::Argument(name.to_owned())),
            _ => Err(format!(
                "`{{{name}}}` names no argument; write {{name}}, {{env:NAME}}, or {{{{ for a brace"
            )),
        }
    }
}

/// A text in which everything but letters, digits and `-._~` is percent-encoded.
pub(super) fn encode(text: &str) -> String {
    encode_but(text, |_| false)
}

/// A text in which bytes that no URL has, or that `kept` does not keep, are percent-encoded.
pub(super) fn encode_but(text: &str, kept: impl Fn(u8) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') || kept(byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}"); // a String takes everything
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn filled(text: &str, arguments: &Value) -> Option<String> {
        let template = Template::parse(text).unwrap();
        template.filled(arguments.as_object().unwrap(), str::to_owned).unwrap()
    }

    #[test]
    fn places_are_filled() {
        assert_eq!(filled("a{x}b{y}", &json!({"x": 1, "y": true})).unwrap(), "a1btrue");
        assert_eq!(filled("{{x}} }}{{", &json!({})).unwrap(), "{x} }{");
        assert_eq!(filled("{x}", &json!({"x": "{y}", "y": 1})).unwrap(), "{y}");
        assert_eq!(filled("a{x}", &json!({"x": null})), None);
        assert_eq!(filled("", &json!({})).unwrap(), "");
        assert_eq!(Template::parse("{x}").unwrap().sole_argument(), Some("x"));
        assert_eq!(Template::parse("{x} ").unwrap().sole_argument(), None);
        let list = Template::parse("{x}").unwrap().filled(json!({"x": []}).as_object().unwrap(), encode);
        assert_eq!(list, Err(Refusal("`x` must be a text, a number or a boolean".to_owned())));
    }

    #[test]
    fn braces_that_name_nothing_are_wrong() {
        for text in ["{", "}", "a{x", "{}", "{x y}", "{env:}", "{env:1}", "{ x }", "{x}}"] {
            assert!(Template::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn encoding_leaves_nothing_that_a_url_reads() {
        assert_eq!(encode("a-._~/?#&=%+ é\\:@"), "a-._~%2F%3F%23%26%3D%25%2B%20%C3%A9%5C%3A%40");
    }
}
