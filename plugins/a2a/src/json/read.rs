//! Reads JSON objects field by field.
//!
//! As ProtoJSON parsers do (protobuf's JSON mapping; A2A v1.0, section 5.5): names in camelCase or snake_case,
//! `null` as absent, enums by name or number, numbers as numbers or text, base64 in either alphabet with or without
//! padding, unknown fields ignored. What is wrong is kept with its place; reading goes on, so that a caller is told
//! of everything at once.

use std::{borrow::Cow, fmt, time::Duration};

use base64::{
    Engine,
    alphabet::{STANDARD, URL_SAFE},
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use serde_json::{Map, Value};

use super::node::{Fields, Node, into_map};
use crate::model::{Failure, Violation};

/// How many wrong fields are told at most.
const MOST_VIOLATIONS: usize = 16;

const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(true);
const BASE64: GeneralPurpose = GeneralPurpose::new(&STANDARD, LENIENT);
const BASE64_URL: GeneralPurpose = GeneralPurpose::new(&URL_SAFE, LENIENT);

/// Reads base64 in either alphabet, with or without padding.
pub(crate) fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let engine = if text.contains(['-', '_']) { &BASE64_URL } else { &BASE64 };
    engine.decode(text).ok()
}

/// A place in a request; built on the stack, written only when something is wrong.
#[derive(Clone, Copy)]
pub(crate) enum Path<'a> {
    /// The request itself.
    Root,
    /// A field of an object.
    Field(&'a Path<'a>, &'a str),
    /// An element of a list.
    Index(&'a Path<'a>, usize),
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Field(Self::Root, name) => f.write_str(name),
            Self::Field(parent, name) => write!(f, "{parent}.{name}"),
            Self::Index(parent, at) => write!(f, "{parent}[{at}]"),
        }
    }
}

/// What is wrong with a request so far.
#[derive(Debug, Default)]
pub(crate) struct Problems(Vec<Violation>);

impl Problems {
    /// Notes that a place is wrong.
    pub(crate) fn add(&mut self, path: Path<'_>, description: impl Into<Cow<'static, str>>) {
        if self.0.len() < MOST_VIOLATIONS {
            self.0.push(Violation::new(path.to_string(), description));
        }
    }

    /// `value`, if nothing is wrong.
    ///
    /// # Errors
    /// Everything that is wrong.
    pub(crate) fn none<T>(self, value: T) -> Result<T, Failure> {
        if self.0.is_empty() { Ok(value) } else { Err(Failure::invalid(self.0)) }
    }

    /// What `of` makes of a value, if nothing is wrong. Why there is no value has been noted.
    ///
    /// # Errors
    /// Everything that is wrong.
    pub(crate) fn made<T, U>(self, value: Option<T>, of: impl FnOnce(T) -> U) -> Result<U, Failure> {
        let value = self.none(value)?;
        value.map(of).ok_or_else(|| Failure::invalid(Vec::new()))
    }
}

/// A JSON object that is read field by field. Fields that nobody takes are ignored.
pub(crate) struct Object<'a> {
    fields: Fields<'a>,
    path: Path<'a>,
    /// Whether any name is written in snake_case, which is rare.
    snake: bool,
}

impl<'a> Object<'a> {
    /// The object that `value` is; `null` is an empty one.
    pub(crate) fn of(value: Node<'a>, path: Path<'a>, problems: &mut Problems) -> Option<Self> {
        match value {
            Node::Object(fields) => {
                let snake = fields.iter().any(|(name, _)| name.contains('_'));
                Some(Self { fields, path, snake })
            }
            Node::Null => Some(Self { fields: Fields::new(), path, snake: false }),
            other => {
                problems.add(path, format!("is {}, not an object", other.kind()));
                None
            }
        }
    }

    /// Where the object is.
    pub(crate) fn path(&self) -> Path<'a> {
        self.path
    }

    /// What it holds, as it is.
    pub(crate) fn into_fields(self) -> Map<String, Value> {
        into_map(self.fields)
    }

    /// Where the field is of an object that has it, in snake_case if not as `name` is. The last one counts.
    fn find(&self, name: &str) -> Option<usize> {
        let place = |name: &str| self.fields.iter().rposition(|(it, _)| it == name);
        place(name).or_else(|| if self.snake { place(&snake_case(name)) } else { None })
    }

    /// Whether the field is there and not `null`.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.find(name).and_then(|at| self.fields.get(at)).is_some_and(|(_, value)| !value.is_null())
    }

    /// A field as it is; `null` as absent. `name` is in camelCase.
    pub(crate) fn value(&mut self, name: &str) -> Option<Node<'a>> {
        self.raw(name).filter(|value| !value.is_null())
    }

    /// A field as it is, `null` included.
    pub(crate) fn raw(&mut self, name: &str) -> Option<Node<'a>> {
        let at = self.find(name)?;
        Some(self.fields.swap_remove(at).1)
    }

    /// A text.
    pub(crate) fn text(&mut self, name: &str, problems: &mut Problems) -> Option<Cow<'a, str>> {
        match self.value(name)? {
            Node::Text(text) => Some(text),
            other => {
                problems.add(Path::Field(&self.path, name), format!("is {}, not a text", other.kind()));
                None
            }
        }
    }

    /// A text that is not empty; an empty one counts as absent.
    pub(crate) fn filled(&mut self, name: &str, problems: &mut Problems) -> Option<Cow<'a, str>> {
        self.text(name, problems).filter(|text| !text.is_empty())
    }

    /// A text that has to be there and not empty.
    pub(crate) fn required(&mut self, name: &str, problems: &mut Problems) -> Cow<'a, str> {
        let there = self.has(name);
        let text = self.text(name, problems);
        let wrong = match &text {
            Some(text) if text.is_empty() => "is empty",
            None if !there => "is required",
            _ => return text.unwrap_or_default(),
        };
        problems.add(Path::Field(&self.path, name), wrong);
        Cow::Borrowed("")
    }

    /// A yes or no.
    pub(crate) fn flag(&mut self, name: &str, problems: &mut Problems) -> Option<bool> {
        match self.value(name)? {
            Node::Flag(flag) => Some(flag),
            other => {
                problems
                    .add(Path::Field(&self.path, name), format!("is {}, not true or false", other.kind()));
                None
            }
        }
    }

    /// A whole number of 32 bits, as a number or as text.
    pub(crate) fn int(&mut self, name: &str, problems: &mut Problems) -> Option<i32> {
        let value = self.value(name)?;
        let number = whole(&value).and_then(|number| i32::try_from(number).ok());
        if number.is_none() {
            let path = Path::Field(&self.path, name);
            problems.add(path, format!("is {}, not a whole number of 32 bits", value.kind()));
        }
        number
    }

    /// A whole number that counts something: not below zero.
    pub(crate) fn count(&mut self, name: &str, problems: &mut Problems) -> Option<u32> {
        let number = self.int(name, problems)?;
        if number < 0 {
            problems.add(Path::Field(&self.path, name), "is negative");
        }
        u32::try_from(number).ok()
    }

    /// One of an enum's values, by name or number; `of` says what each is.
    pub(crate) fn choice<T>(
        &mut self,
        name: &str,
        of: impl FnOnce(Result<&str, i64>) -> Option<T>,
        problems: &mut Problems,
    ) -> Option<T> {
        let value = self.value(name)?;
        let found = match &value {
            Node::Text(word) => of(Ok(word)),
            other => whole(other).and_then(|number| of(Err(number))),
        };
        if found.is_none() {
            problems.add(Path::Field(&self.path, name), "is not one of the values of its type");
        }
        found
    }

    /// Bytes, as base64 in either alphabet.
    pub(crate) fn bytes(&mut self, name: &str, problems: &mut Problems) -> Option<Vec<u8>> {
        let text = self.text(name, problems)?;
        let bytes = decode_base64(&text);
        if bytes.is_none() {
            problems.add(Path::Field(&self.path, name), "is not base64");
        }
        bytes
    }

    /// A free object, kept as it is.
    pub(crate) fn map(&mut self, name: &str, problems: &mut Problems) -> Map<String, Value> {
        match self.value(name) {
            None => Map::new(),
            Some(Node::Object(fields)) => into_map(fields),
            Some(other) => {
                problems.add(Path::Field(&self.path, name), format!("is {}, not an object", other.kind()));
                Map::new()
            }
        }
    }

    /// A list; absent is empty.
    pub(crate) fn list(&mut self, name: &str, problems: &mut Problems) -> Vec<Node<'a>> {
        match self.value(name) {
            None => Vec::new(),
            Some(Node::List(list)) => list,
            Some(other) => {
                problems.add(Path::Field(&self.path, name), format!("is {}, not a list", other.kind()));
                Vec::new()
            }
        }
    }

    /// A list that has to be there, with at least one element.
    pub(crate) fn elements(&mut self, name: &str, problems: &mut Problems) -> Vec<Node<'a>> {
        let wrong = match self.value(name) {
            Some(Node::List(list)) if !list.is_empty() => return list,
            Some(Node::List(_)) => "is empty".into(),
            Some(other) => format!("is {}, not a list", other.kind()).into(),
            None => Cow::Borrowed("is required"),
        };
        problems.add(Path::Field(&self.path, name), wrong);
        Vec::new()
    }

    /// A list of texts; absent is empty.
    pub(crate) fn texts(&mut self, name: &str, problems: &mut Problems) -> Vec<Cow<'a, str>> {
        let list = self.list(name, problems);
        let field = Path::Field(&self.path, name);
        let mut texts = Vec::with_capacity(list.len());
        for (at, value) in list.into_iter().enumerate() {
            match value {
                Node::Text(text) => texts.push(text),
                other => {
                    problems.add(Path::Index(&field, at), format!("is {}, not a text", other.kind()));
                }
            }
        }
        texts
    }

    /// A moment in RFC 3339, as time since the Unix epoch.
    pub(crate) fn moment(&mut self, name: &str, problems: &mut Problems) -> Option<Duration> {
        let text = self.filled(name, problems)?;
        let moment = crate::moment::parse(&text);
        if moment.is_none() {
            problems.add(Path::Field(&self.path, name), "is not a time such as `2025-10-28T10:30:00.000Z`");
        }
        moment
    }
}

/// The whole number that a value is: a number without a fraction, or one as text.
fn whole(value: &Node<'_>) -> Option<i64> {
    match value {
        Node::Number(number) => number.as_i64().or_else(|| {
            let float = number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() < 9.0e15)?;
            #[expect(clippy::cast_possible_truncation, reason = "whole, and far below 2^63")]
            Some(float as i64)
        }),
        Node::Text(text) => text.trim().parse().ok(),
        _ => None,
    }
}

/// `messageId` as `message_id`.
fn snake_case(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 4);
    for letter in name.chars() {
        if letter.is_ascii_uppercase() {
            out.push('_');
        }
        out.push(letter.to_ascii_lowercase());
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(value: Value, problems: &mut Problems) -> Object<'static> {
        Object::of(value.into(), Path::Root, problems).expect("an object")
    }

    #[test]
    fn names_numbers_and_nulls_are_read_as_protobuf_reads_them() {
        let mut problems = Problems::default();
        let value = json!({
            "message_id": "m", "historyLength": "3", "page_size": 2.0, "blocking": null, "state": 3,
            "raw": "_-8", "other": {"kept": [1]}, "unknown": true,
        });
        let mut object = object(value, &mut problems);
        assert!(object.has("messageId") && !object.has("blocking"));
        assert_eq!(object.required("messageId", &mut problems), "m");
        assert_eq!(object.count("historyLength", &mut problems), Some(3));
        assert_eq!(object.int("pageSize", &mut problems), Some(2));
        assert_eq!(object.flag("blocking", &mut problems), None);
        assert_eq!(object.choice("state", |it| it.err().filter(|&n| n == 3), &mut problems), Some(3));
        assert_eq!(object.bytes("raw", &mut problems).as_deref(), Some(&[0xff, 0xef][..]));
        assert_eq!(object.map("other", &mut problems).len(), 1);
        assert!(problems.none(()).is_ok());
    }

    #[test]
    fn everything_that_is_wrong_is_told_with_its_place() {
        let mut problems = Problems::default();
        let value = json!({
            "messageId": "", "contextId": 1, "parts": {}, "historyLength": -1, "pageSize": 1.5,
            "raw": "*", "tags": ["a", 2], "at": "noon", "state": "WHAT", "flag": "yes",
        });
        let mut object = object(value, &mut problems);
        object.required("messageId", &mut problems);
        object.required("role", &mut problems);
        object.text("contextId", &mut problems);
        object.list("parts", &mut problems);
        object.count("historyLength", &mut problems);
        object.int("pageSize", &mut problems);
        object.bytes("raw", &mut problems);
        object.texts("tags", &mut problems);
        object.moment("at", &mut problems);
        object.choice("state", |_| None::<()>, &mut problems);
        object.flag("flag", &mut problems);
        let failure = problems.none(()).expect_err("problems");
        let told: Vec<String> =
            failure.violations.iter().map(|it| format!("{} {}", it.field, it.description)).collect();
        assert_eq!(
            told,
            [
                "messageId is empty",
                "role is required",
                "contextId is a number, not a text",
                "parts is an object, not a list",
                "historyLength is negative",
                "pageSize is a number, not a whole number of 32 bits",
                "raw is not base64",
                "tags[1] is a number, not a text",
                "at is not a time such as `2025-10-28T10:30:00.000Z`",
                "state is not one of the values of its type",
                "flag is a text, not true or false",
            ]
        );
        assert_eq!(failure.message, "`messageId` is empty (and 10 more)");
    }

    #[test]
    fn base64_comes_in_four_forms() {
        for text in ["+/+/aQ==", "+/+/aQ", "-_-_aQ==", "-_-_aQ"] {
            assert_eq!(decode_base64(text).as_deref(), Some(&[0xfb, 0xff, 0xbf, 0x69][..]), "{text}");
        }
        assert_eq!(decode_base64("a+_="), None);
    }
}
