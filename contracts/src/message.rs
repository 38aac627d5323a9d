//! Messages and their parts.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The content of a part: exactly one of four kinds (A2A v1.0, `Part`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// Text for a person or a model.
    Text(Arc<str>),
    /// Structured data.
    Data(Value),
    /// Bytes; base64 in JSON.
    #[serde(with = "raw_base64")]
    Raw(Arc<[u8]>),
    /// A reference to a file elsewhere.
    Url(Arc<str>),
}

/// What a part says about its content; absent for plain text.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PartMeta {
    /// Media type, such as `text/markdown`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// File name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filename: Option<String>,
    /// Free metadata, passed through unchanged.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
}

/// One piece of a message or an artifact.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// What it holds.
    #[serde(flatten)]
    pub content: Content,
    /// What is said about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Box<PartMeta>>,
}

impl Part {
    /// A part of plain text.
    pub fn text(text: impl Into<Arc<str>>) -> Self {
        Self { content: Content::Text(text.into()), meta: None }
    }

    /// A part of structured data.
    #[must_use]
    pub fn data(data: Value) -> Self {
        Self { content: Content::Data(data), meta: None }
    }

    /// The text, if it is a text part.
    #[must_use]
    pub fn as_text(&self) -> Option<&Arc<str>> {
        match &self.content {
            Content::Text(text) => Some(text),
            _ => None,
        }
    }

    /// How a text-only reader sees it: the text, data as compact JSON, a file as a reference.
    #[must_use]
    pub fn to_display(&self) -> Arc<str> {
        let name = || self.meta.as_ref().and_then(|meta| meta.filename.as_deref()).unwrap_or("file");
        match &self.content {
            Content::Text(text) => text.clone(),
            Content::Data(data) => data.to_string().into(),
            Content::Raw(bytes) => format!("[{}: {} bytes]", name(), bytes.len()).into(),
            Content::Url(url) => format!("[{}: {url}]", name()).into(),
        }
    }
}

/// The parts as one text: text parts as they are, other parts on lines of their own.
#[must_use]
pub fn text_of(parts: &[Part]) -> Arc<str> {
    match parts {
        [] => Arc::from(""),
        [one] => one.to_display(),
        many => {
            let mut out = String::new();
            for part in many {
                let text = part.as_text();
                if text.is_none() && !out.is_empty() && !out.ends_with('\n') {
                    out.push('\n');
                }
                out.push_str(&part.to_display());
                if text.is_none() {
                    out.push('\n');
                }
            }
            out.trim_end_matches('\n').into()
        }
    }
}

/// An output of a task beside its answer (A2A v1.0, `Artifact`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Artifact {
    /// Unique within the task.
    pub id: Arc<str>,
    /// Name for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Arc<str>>,
    /// What it is, for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<Arc<str>>,
    /// Its content.
    pub parts: Vec<Part>,
    /// Free metadata, passed through unchanged.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
    /// URIs of the protocol extensions that it makes use of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<Arc<str>>,
}

impl Artifact {
    /// An artifact of these parts, without a name.
    pub fn new(id: impl Into<Arc<str>>, parts: Vec<Part>) -> Self {
        Self {
            id: id.into(),
            name: None,
            description: None,
            parts,
            metadata: Map::new(),
            extensions: Vec::new(),
        }
    }
}

/// The arguments of a tool call, as the model gave them. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Arguments {
    /// A JSON object.
    Object(Arc<Map<String, Value>>),
    /// Text that is no JSON object; the call fails with a message the model can act on.
    Malformed(Arc<str>),
}

impl Arguments {
    /// The arguments of this object.
    #[must_use]
    pub fn object(map: Map<String, Value>) -> Self {
        Self::Object(Arc::new(map))
    }

    /// Reads what a provider sent: empty, blank and `null` are no arguments.
    #[must_use]
    pub fn from_text(text: &str) -> Self {
        if text.trim().is_empty() {
            return Self::object(Map::new());
        }
        match serde_json::from_str(text) {
            Ok(Value::Object(map)) => Self::object(map),
            Ok(Value::Null) => Self::object(Map::new()),
            _ => Self::Malformed(text.into()),
        }
    }

    /// Reads what a provider sent as JSON: a string is read as text, `null` is no arguments.
    #[must_use]
    pub fn from_value(value: Value) -> Self {
        match value {
            Value::Object(map) => Self::object(map),
            Value::Null => Self::object(Map::new()),
            Value::String(text) => Self::from_text(&text),
            other => Self::Malformed(other.to_string().into()),
        }
    }

    /// The object, if they are one.
    #[must_use]
    pub fn as_object(&self) -> Option<&Map<String, Value>> {
        match self {
            Self::Object(map) => Some(map),
            Self::Malformed(_) => None,
        }
    }

    /// The arguments as JSON text, as a provider wants them replayed.
    #[must_use]
    pub fn to_json(&self) -> String {
        match self {
            Self::Object(map) => serde_json::to_string(&**map).unwrap_or_else(|_| "{}".to_owned()),
            Self::Malformed(text) => text.to_string(),
        }
    }
}

/// One call that a model asks for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Unique within the turn; core replaces an empty or repeated id.
    pub id: Arc<str>,
    /// The tool's name.
    pub name: Arc<str>,
    /// Its arguments.
    pub arguments: Arguments,
}

/// What a tool gave back.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolOutput {
    /// The content.
    pub parts: Vec<Part>,
    /// Whether it tells of a failure.
    #[serde(default)]
    pub is_error: bool,
}

impl ToolOutput {
    /// A success with one text.
    pub fn text(text: impl Into<Arc<str>>) -> Self {
        Self { parts: vec![Part::text(text)], is_error: false }
    }

    /// A failure with one text.
    pub fn error(text: impl Into<Arc<str>>) -> Self {
        Self { parts: vec![Part::text(text)], is_error: true }
    }
}

/// One message of a conversation. The system prompt is not among them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    /// What the user, or the delegating agent, said.
    User {
        /// The content.
        parts: Vec<Part>,
    },
    /// What the model said.
    Assistant {
        /// The content.
        parts: Vec<Part>,
        /// Its reasoning, kept apart from the answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reasoning: Option<Arc<str>>,
        /// The calls it asks for.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<ToolCall>,
        /// What the provider wants to see again with this message, such as signatures of its reasoning: an
        /// object with one key, the provider's name. Nobody else reads it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_data: Option<Arc<Value>>,
    },
    /// What a tool or a delegation gave back.
    Tool {
        /// The id of the call.
        call: Arc<str>,
        /// The tool's name.
        name: Arc<str>,
        /// The result.
        output: ToolOutput,
    },
}

impl Message {
    /// A user message of one text.
    pub fn user(text: impl Into<Arc<str>>) -> Self {
        Self::User { parts: vec![Part::text(text)] }
    }

    /// A model message of one text and no calls.
    pub fn assistant(text: impl Into<Arc<str>>) -> Self {
        Self::Assistant {
            parts: vec![Part::text(text)],
            reasoning: None,
            calls: Vec::new(),
            provider_data: None,
        }
    }

    /// The parts of the message.
    #[must_use]
    pub fn parts(&self) -> &[Part] {
        match self {
            Self::User { parts } | Self::Assistant { parts, .. } => parts,
            Self::Tool { output, .. } => &output.parts,
        }
    }

    /// The calls the message asks for; empty unless it is the model's.
    #[must_use]
    pub fn calls(&self) -> &[ToolCall] {
        match self {
            Self::Assistant { calls, .. } => calls,
            _ => &[],
        }
    }

    /// The message as one text.
    #[must_use]
    pub fn text(&self) -> Arc<str> {
        text_of(self.parts())
    }
}

/// Tokens spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens read by the model.
    pub input_tokens: u64,
    /// Tokens written by the model.
    pub output_tokens: u64,
    /// Model calls made.
    pub model_calls: u64,
}

impl Usage {
    /// Input and output tokens together.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.model_calls = self.model_calls.saturating_add(other.model_calls);
    }
}

mod raw_base64 {
    use std::sync::Arc;

    use base64::{Engine, engine::general_purpose::STANDARD};
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(bytes: &Arc<[u8]>, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(bytes))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<[u8]>, D::Error> {
        let text = String::deserialize(deserializer)?;
        STANDARD.decode(text).map(Into::into).map_err(D::Error::custom)
    }
}
