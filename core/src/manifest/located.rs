//! Values that remember where they stand.

use std::fmt;
use std::ops::Deref;

use serde_json::Value as Json;

use super::yaml::{Node, Value};
use crate::diagnostic::Location;

/// A value and its place.
///
/// Comparison looks at the value only; `Debug` hides a value that came from the environment.
#[derive(Clone)]
pub struct Located<T> {
    /// The value.
    pub value: T,
    /// Where it stands.
    pub at: Location,
    /// Whether it came from the environment and must not be shown.
    pub secret: bool,
}

impl<T> Located<T> {
    /// Makes a value at a place.
    pub fn new(value: T, at: Location) -> Self {
        Self { value, at, secret: false }
    }

    /// Makes a value without a place in a file: a default, a flag or a hand-built test value.
    pub fn unplaced(value: impl Into<T>) -> Self {
        Self::new(value.into(), Location::named("(built in)"))
    }

    /// The same place with another value.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Located<U> {
        Located { value: change(self.value), at: self.at, secret: self.secret }
    }
}

impl Located<String> {
    pub(crate) fn of(node: &Node) -> Self {
        Self { value: node.text().to_owned(), at: node.at.clone(), secret: node.is_secret() }
    }

    /// The text for a message: the value, or a stand-in when it came from the environment.
    pub fn shown(&self) -> &str {
        if self.secret { HIDDEN } else { &self.value }
    }
}

impl<T> Deref for Located<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: PartialEq> PartialEq for Located<T> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl<T: fmt::Debug> fmt::Debug for Located<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.secret {
            return f.write_str(HIDDEN);
        }
        self.value.fmt(f)
    }
}

/// Free parameters of a plugin: JSON for the plugin, places for its complaints.
#[derive(Clone)]
pub struct Params {
    value: Json,
    node: Option<Node>,
    at: Location,
}

impl Params {
    /// Makes parameters from JSON, without a file.
    pub fn new(value: Json) -> Self {
        Self { value, node: None, at: Location::named("(built in)") }
    }

    /// Makes empty parameters whose place is that of their owner.
    pub fn none(at: Location) -> Self {
        Self { value: Json::Object(serde_json::Map::new()), node: None, at }
    }

    pub(crate) fn of(node: &Node) -> Self {
        Self { value: node.to_json(), at: node.at.clone(), node: Some(node.clone()) }
    }

    pub(crate) fn of_or_none(node: Option<&Node>, owner: &Location) -> Self {
        node.filter(|node| !node.is_null()).map_or_else(|| Self::none(owner.clone()), Self::of)
    }

    /// The parameters as JSON; an object unless the file said otherwise.
    pub fn value(&self) -> &Json {
        &self.value
    }

    /// Where they stand.
    pub fn at(&self) -> &Location {
        &self.at
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.value.as_object().is_some_and(serde_json::Map::is_empty)
    }

    /// The keys whose values are neither null nor empty texts.
    pub fn filled_keys(&self) -> impl Iterator<Item = &str> {
        let filled = |value: &Json| !value.is_null() && value.as_str() != Some("");
        let entries = self.value.as_object().into_iter().flatten();
        entries.filter(move |(_, value)| filled(value)).map(|(key, _)| key.as_str())
    }

    /// The place of the value at a JSON pointer such as `/listen/port`, or of the nearest value above it.
    pub fn locate(&self, pointer: &str) -> Location {
        let mut at = &self.at;
        let mut node = self.node.as_ref();
        for step in pointer.split('/').filter(|step| !step.is_empty()) {
            let step = step.replace("~1", "/").replace("~0", "~");
            node = node.and_then(|node| match &node.value {
                Value::Map(map) => map.get(&step),
                Value::List(items) => step.parse::<usize>().ok().and_then(|index| items.get(index)),
                _ => None,
            });
            match node {
                Some(node) => at = &node.at,
                None => break,
            }
        }
        at.clone()
    }

    /// The place of a key, as for "unknown parameter".
    pub fn locate_key(&self, key: &str) -> Location {
        let entry = self.node.as_ref().and_then(Node::map).and_then(|map| map.entry(key));
        entry.map_or_else(|| self.at.clone(), |entry| entry.key_at.clone())
    }

    /// Whether any of the values came from the environment.
    pub fn holds_secret(&self) -> bool {
        self.node.as_ref().is_some_and(Node::holds_secret)
    }

    /// A text about them in which no value from the environment is told.
    pub fn hide_secrets(&self, mut text: String) -> String {
        if let Some(node) = &self.node {
            node.walk(&mut |node| {
                if node.is_secret() && !node.text().is_empty() {
                    text = text.replace(node.text(), HIDDEN);
                }
            });
        }
        text
    }

    /// The JSON with every value from the environment replaced by a stand-in; for hashes and logs.
    pub fn public_value(&self) -> Json {
        self.node.as_ref().filter(|node| node.holds_secret()).map_or_else(|| self.value.clone(), redact)
    }
}

/// What is said in the place of a value from the environment.
const HIDDEN: &str = "<from the environment>";

fn redact(node: &Node) -> Json {
    match &node.value {
        _ if node.is_secret() => Json::from(HIDDEN),
        Value::List(items) => items.iter().map(redact).collect(),
        Value::Map(map) => map.iter().map(|entry| (entry.key.to_string(), redact(&entry.value))).collect(),
        _ => node.to_json(),
    }
}

impl PartialEq for Params {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl fmt::Debug for Params {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.public_value())
    }
}

/// A plugin chosen by name, with its parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Selection {
    /// The plugin's name.
    pub name: Located<String>,
    /// Its parameters.
    pub params: Params,
}

impl Selection {
    /// Makes a choice without a file.
    pub fn named(name: &str) -> Self {
        Self { name: Located::unplaced(name), params: Params::new(Json::Object(serde_json::Map::new())) }
    }
}
