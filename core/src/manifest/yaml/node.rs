//! The tree.

use std::fmt;
use std::sync::Arc;

use crate::diagnostic::Location;

/// How a scalar was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Without quotes.
    Plain,
    /// In quotes or as a block.
    Quoted,
    /// Put in from the environment: never shown.
    Env,
    /// The default of a variable that is not set.
    EnvDefault,
    /// Names an environment variable that is not set and has no default; the text is its name.
    MissingEnv,
    /// A list or a map.
    Collection,
}

/// What a node holds; the text of a string is [`Node::text`].
#[derive(Clone, PartialEq)]
pub enum Value {
    /// Nothing, `null` or `~`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A number.
    Float(f64),
    /// A string.
    Str,
    /// A list.
    List(Vec<Node>),
    /// A map.
    Map(Map),
}

/// One value with its place.
#[derive(Clone, PartialEq)]
pub struct Node {
    /// The value.
    pub value: Value,
    /// Where it stands.
    pub at: Location,
    /// How it was written.
    pub style: Style,
    pub(super) text: Option<Arc<str>>,
}

/// A map in file order.
#[derive(Clone, Default, PartialEq)]
pub struct Map {
    entries: Vec<Entry>,
}

/// One entry of a map.
#[derive(Clone, PartialEq)]
pub struct Entry {
    /// The key's text.
    pub key: Arc<str>,
    /// Where the key stands.
    pub key_at: Location,
    /// The value.
    pub value: Node,
}

impl Node {
    /// Makes a string node, as when a flag stands in for a file.
    pub fn string(text: impl Into<Arc<str>>, at: Location) -> Self {
        Self { value: Value::Str, at, style: Style::Quoted, text: Some(text.into()) }
    }

    /// Makes a list or map node.
    pub fn collection(value: Value, at: Location) -> Self {
        Self { value, at, style: Style::Collection, text: None }
    }

    /// The source text of a scalar; empty for lists and maps.
    pub fn text(&self) -> &str {
        self.text.as_deref().unwrap_or_default()
    }

    /// The source text of a scalar without copying it.
    pub fn shared_text(&self) -> Arc<str> {
        self.text.clone().unwrap_or_else(|| Arc::from(""))
    }

    /// The text for a message: a stand-in when it came from the environment.
    pub fn shown(&self) -> &str {
        if self.is_secret() { "<from the environment>" } else { self.text() }
    }

    pub(crate) fn set_text(&mut self, text: Arc<str>, style: Style) {
        self.value = Value::Str;
        self.text = Some(text);
        self.style = style;
    }

    /// What it is, in words for messages.
    pub fn noun(&self) -> &'static str {
        match self.value {
            Value::Null => "nothing",
            Value::Bool(_) => "a boolean",
            Value::Int(_) => "a whole number",
            Value::Float(_) => "a number",
            Value::Str => "a string",
            Value::List(_) => "a list",
            Value::Map(_) => "a map",
        }
    }

    /// Whether it is a scalar.
    pub fn is_scalar(&self) -> bool {
        !matches!(self.value, Value::List(_) | Value::Map(_))
    }

    /// Whether it is `null` or absent text.
    pub fn is_null(&self) -> bool {
        matches!(self.value, Value::Null)
    }

    /// Whether its text came from the environment.
    pub fn is_secret(&self) -> bool {
        matches!(self.style, Style::Env)
    }

    /// The items of a list; empty for anything else.
    pub fn items(&self) -> &[Node] {
        match &self.value {
            Value::List(items) => items,
            _ => &[],
        }
    }

    /// The map, if it is one.
    pub fn map(&self) -> Option<&Map> {
        match &self.value {
            Value::Map(map) => Some(map),
            _ => None,
        }
    }

    /// The value under a key, if this is a map that has it.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.map()?.get(key)
    }

    /// The value under a path of keys, as `spec.workflow`.
    pub fn at_path(&self, path: &str) -> Option<&Node> {
        path.split('.').try_fold(self, |node, key| node.get(key))
    }

    /// The value as JSON; numbers that JSON cannot hold stay text.
    pub fn to_json(&self) -> serde_json::Value {
        use serde_json::Value as Json;
        match &self.value {
            Value::Null => Json::Null,
            Value::Bool(flag) => Json::Bool(*flag),
            Value::Int(number) => Json::from(*number),
            Value::Float(number) => {
                serde_json::Number::from_f64(*number).map_or_else(|| Json::from(self.text()), Json::Number)
            }
            Value::Str => Json::from(self.text()),
            Value::List(items) => Json::Array(items.iter().map(Node::to_json).collect()),
            Value::Map(map) => {
                Json::Object(map.iter().map(|entry| (entry.key.to_string(), entry.value.to_json())).collect())
            }
        }
    }

    /// Whether any text below came from the environment.
    pub fn holds_secret(&self) -> bool {
        match &self.value {
            Value::List(items) => items.iter().any(Node::holds_secret),
            Value::Map(map) => map.iter().any(|entry| entry.value.holds_secret()),
            _ => self.is_secret(),
        }
    }

    /// Calls `visit` on this node and every node below it.
    pub fn walk<'a>(&'a self, visit: &mut impl FnMut(&'a Node)) {
        visit(self);
        match &self.value {
            Value::List(items) => items.iter().for_each(|item| item.walk(visit)),
            Value::Map(map) => map.iter().for_each(|entry| entry.value.walk(visit)),
            _ => {}
        }
    }

    pub(super) fn depth(&self) -> usize {
        match &self.value {
            Value::List(items) => 1 + items.iter().map(Node::depth).max().unwrap_or(0),
            Value::Map(map) => 1 + map.iter().map(|entry| entry.value.depth()).max().unwrap_or(0),
            _ => 0,
        }
    }

    pub(super) fn count(&self) -> usize {
        let mut count = 0;
        self.walk(&mut |_| count += 1);
        count
    }
}

impl Map {
    /// Makes a map of entries whose keys differ.
    pub fn new(entries: Vec<Entry>) -> Self {
        Self { entries }
    }

    /// The entry under a key.
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| &*entry.key == key)
    }

    /// The value under a key.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entry(key).map(|entry| &entry.value)
    }

    /// The value under a key, to change it.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        self.entries.iter_mut().find(|entry| &*entry.key == key).map(|entry| &mut entry.value)
    }

    /// The entries in file order.
    pub fn iter(&self) -> std::slice::Iter<'_, Entry> {
        self.entries.iter()
    }

    /// The entries in file order, to change their values.
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, Entry> {
        self.entries.iter_mut()
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.value {
            _ if self.is_secret() => f.write_str("<from the environment>"),
            Value::List(items) => f.debug_list().entries(items).finish(),
            Value::Map(map) => {
                f.debug_map().entries(map.iter().map(|entry| (&entry.key, &entry.value))).finish()
            }
            Value::Str => write!(f, "{:?}", self.text()),
            Value::Null => f.write_str("null"),
            _ => f.write_str(self.text()),
        }
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => f.write_str("Null"),
            Value::Bool(flag) => write!(f, "Bool({flag})"),
            Value::Int(number) => write!(f, "Int({number})"),
            Value::Float(number) => write!(f, "Float({number})"),
            Value::Str => f.write_str("Str"),
            Value::List(items) => f.debug_list().entries(items).finish(),
            Value::Map(map) => f.debug_map().entries(map.iter().map(|e| (&e.key, &e.value))).finish(),
        }
    }
}
