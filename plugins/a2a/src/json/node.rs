//! A JSON value that borrows its texts from what it was read from.

use std::{borrow::Cow, fmt};

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// A JSON value. An object keeps its fields in order, and one that is there twice both times.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Node<'a> {
    Null,
    Flag(bool),
    Number(Number),
    Text(Cow<'a, str>),
    List(Vec<Node<'a>>),
    Object(Fields<'a>),
}

/// The fields of an object.
pub(crate) type Fields<'a> = Vec<(Cow<'a, str>, Node<'a>)>;

impl<'a> Node<'a> {
    /// Reads a text that is one JSON value, nested in at most `levels`.
    ///
    /// # Errors
    /// Where and why it is none, in words that hold nothing of it.
    pub(crate) fn read(text: &'a [u8], levels: usize) -> serde_json::Result<Self> {
        let mut from = serde_json::Deserializer::from_slice(text);
        from.disable_recursion_limit();
        let node = Levels(levels).deserialize(&mut from)?;
        from.end()?;
        Ok(node)
    }

    /// What it is, for a person.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Flag(_) => "true or false",
            Self::Number(_) => "a number",
            Self::Text(_) => "a text",
            Self::List(_) => "a list",
            Self::Object(_) => "an object",
        }
    }

    /// Whether it is `null`.
    pub(crate) fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// The value, its texts its own. Of a field that is there twice, the last counts.
    pub(crate) fn into_value(self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Flag(flag) => Value::Bool(flag),
            Self::Number(number) => Value::Number(number),
            Self::Text(text) => Value::String(text.into_owned()),
            Self::List(list) => Value::Array(list.into_iter().map(Self::into_value).collect()),
            Self::Object(fields) => Value::Object(into_map(fields)),
        }
    }
}

/// The fields as a map.
pub(crate) fn into_map(fields: Fields<'_>) -> Map<String, Value> {
    fields.into_iter().map(|(name, value)| (name.into_owned(), value.into_value())).collect()
}

impl From<Value> for Node<'_> {
    fn from(value: Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(flag) => Self::Flag(flag),
            Value::Number(number) => Self::Number(number),
            Value::String(text) => Self::Text(Cow::Owned(text)),
            Value::Array(list) => Self::List(list.into_iter().map(Self::from).collect()),
            Value::Object(map) => Self::Object(
                map.into_iter().map(|(name, value)| (Cow::Owned(name), Self::from(value))).collect(),
            ),
        }
    }
}

/// Reads a value that may be nested this deep.
#[derive(Clone, Copy)]
struct Levels(usize);

impl Levels {
    fn below<E: serde::de::Error>(self) -> Result<Self, E> {
        self.0.checked_sub(1).map(Self).ok_or_else(|| E::custom("is nested too deep"))
    }
}

impl<'de> DeserializeSeed<'de> for Levels {
    type Value = Node<'de>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Node<'de>, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Levels {
    type Value = Node<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Node<'de>, E> {
        Ok(Node::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Node<'de>, E> {
        Ok(Node::Flag(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Node<'de>, E> {
        Ok(Node::Number(number.into()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Node<'de>, E> {
        Ok(Node::Number(number.into()))
    }

    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<Node<'de>, E> {
        Number::from_f64(number).map(Node::Number).ok_or_else(|| E::custom("has a number out of range"))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Node<'de>, E> {
        Ok(Node::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Node<'de>, E> {
        Ok(Node::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Node<'de>, A::Error> {
        let levels = self.below()?;
        let mut list = Vec::new();
        while let Some(value) = from.next_element_seed(levels)? {
            list.push(value);
        }
        Ok(Node::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Node<'de>, A::Error> {
        let levels = self.below()?;
        let mut fields = Fields::new();
        while let Some(name) = from.next_key_seed(Name)? {
            fields.push((name, from.next_value_seed(levels)?));
        }
        Ok(Node::Object(fields))
    }
}

/// Reads the name of a field.
struct Name;

impl<'de> DeserializeSeed<'de> for Name {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Cow<'de, str>, D::Error> {
        from.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Name {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a field")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Cow<'de, str>, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E>(self, text: &str) -> Result<Cow<'de, str>, E> {
        Ok(Cow::Owned(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn texts_are_borrowed_and_values_are_kept_exactly() {
        let text =
            br#"{"a": "plain", "b\n": "esc\u0041ped", "c": [9007199254740993, -1, 1.5, true, null, {}]}"#;
        let node = Node::read(text, 10).expect("a value");
        let Node::Object(fields) = &node else { panic!("{node:?}") };
        assert!(matches!(&fields[0], (Cow::Borrowed("a"), Node::Text(Cow::Borrowed("plain")))));
        let value = json!({"a": "plain", "b\n": "escAped", "c": [9_007_199_254_740_993_u64, -1, 1.5, true, null, {}]});
        assert_eq!(node.clone().into_value(), value);
        assert_eq!(Node::from(value), node);
    }

    #[test]
    fn of_a_field_that_is_there_twice_the_last_counts() {
        let node = Node::read(br#"{"a": 1, "a": 2}"#, 10).expect("a value");
        assert_eq!(node.into_value(), json!({"a": 2}));
    }

    #[test]
    fn what_is_no_json_or_nested_too_deep_is_refused() {
        let told_at = |text: &[u8], levels| Node::read(text, levels).expect_err("an error").to_string();
        let told = |text: &[u8]| told_at(text, 3);
        assert_eq!(told(b"[[[[]]]]"), "is nested too deep at line 1 column 5");
        assert_eq!(told(br#"{"a":{"a":{"a":{}}}}"#), "is nested too deep at line 1 column 17");
        assert_eq!(told(b""), "EOF while parsing a value at line 1 column 0");
        assert_eq!(told(b"{} {}"), "trailing characters at line 1 column 4");
        assert_eq!(told(b"{\"a\": \xff\"}"), "expected value at line 1 column 7");
        assert_eq!(told(b"\"\xff\""), "invalid unicode code point at line 1 column 2");
        assert_eq!(told_at(&[b'['; 100_000], 1000), "is nested too deep at line 1 column 1001");
        let deep = [vec![b'['; 500], vec![b']'; 500]].concat();
        assert!(Node::read(&deep, 500).is_ok(), "the parser has no limit of its own");
        assert!(Node::read(b"1e999", 3).is_err());
        assert!(Node::read(b"[[[1]]]", 3).is_ok());
    }
}
