//! Requests: messages that alternate, tools, and the schema of the answer.

use std::fmt::Write as _;

use mas_contracts::{ChatRequest, Message, Part, ToolCall, ToolOutput, ToolSpec, text_of};
use serde_json::{Map, Value, json};

use super::{NAME, schema};
use crate::{
    native::{self, File, put},
    outline::{Outline, Segment},
    tool_schema,
};

/// What `max_tokens` is where the manifest does not say; the API wants a number.
pub(super) const MAX_TOKENS: u64 = 16_384;

/// Longest name of a tool.
const NAME_LIMIT: usize = 128;

/// What was learnt of a model: what it does not take.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Learnt {
    /// `temperature` is left out.
    pub(super) no_temperature: bool,
    /// The schema of the answer is told in the system prompt.
    pub(super) no_output_config: bool,
}

/// The body of a request.
pub(super) fn body(request: &ChatRequest<'_>, stream: bool, learnt: Learnt) -> Map<String, Value> {
    let enforced = request.output_schema.filter(|_| !learnt.no_output_config).and_then(schema::closed);
    let told = request.output_schema.filter(|_| enforced.is_none());
    let system = native::system(request, told);
    let mut dialogue = Dialogue::default();
    for (message, current) in native::messages(request) {
        dialogue.add(message, current);
    }
    let mut body = Map::new();
    put(&mut body, "model", &**request.model);
    put(&mut body, "max_tokens", request.max_tokens.unwrap_or(MAX_TOKENS));
    put(&mut body, "stream", stream);
    if !system.is_empty() {
        put(&mut body, "system", system);
    }
    if let Some(temperature) = request.temperature.filter(|_| !learnt.no_temperature) {
        put(&mut body, "temperature", temperature);
    }
    if !request.tools.is_empty() {
        put(&mut body, "tools", request.tools.iter().map(|spec| tool(spec)).collect::<Value>());
    } else if !dialogue.called.is_empty() {
        // Calls in the messages need declared tools, also where none may be called any more.
        let declared = |name: &String| json!({"name": name, "input_schema": {"type": "object"}});
        put(&mut body, "tools", dialogue.called.iter().map(declared).collect::<Value>());
        put(&mut body, "tool_choice", json!({"type": "none"}));
    }
    if let Some(schema) = enforced {
        put(&mut body, "output_config", json!({"format": {"type": "json_schema", "schema": schema}}));
    }
    put(&mut body, "messages", dialogue.messages());
    body
}

fn tool(spec: &ToolSpec) -> Value {
    let mut tool = Map::new();
    put(&mut tool, "name", &*spec.name);
    if !spec.description.is_empty() {
        put(&mut tool, "description", &*spec.description);
    }
    put(&mut tool, "input_schema", tool_schema::normalised(&spec.parameters));
    Value::Object(tool)
}

/// The messages as the API takes them: user and assistant in turns, none of them empty.
#[derive(Default)]
struct Dialogue {
    messages: Vec<(&'static str, Vec<Value>)>,
    /// The names of the tools that were called, each once.
    called: Vec<String>,
}

impl Dialogue {
    fn add(&mut self, message: &Message, current: bool) {
        match message {
            Message::User { parts } => {
                let mut blocks = blocks(parts);
                if blocks.is_empty() && self.messages.last().is_none_or(|(role, _)| *role != "user") {
                    blocks.push(text("(no text)"));
                }
                self.push("user", blocks);
            }
            Message::Assistant { calls, provider_data, .. } => {
                // What belongs to an earlier turn is no longer wanted.
                let data = provider_data.as_deref().filter(|_| current);
                let (outline, text) = (Outline::of(data, NAME), message.text());
                let blocks = outline.arrange(&text, calls).into_iter().filter_map(|it| self.block(it));
                let blocks = blocks.collect();
                self.push("assistant", blocks);
            }
            Message::Tool { call, output, .. } => self.push("user", vec![result(call, output)]),
        }
    }

    fn block(&mut self, segment: Segment<'_>) -> Option<Value> {
        match segment {
            Segment::Own(block) => Some(block.clone()),
            Segment::Text(piece, _) => (!piece.trim().is_empty()).then(|| text(piece)),
            Segment::Call(call, _) => Some(self.call(call)),
        }
    }

    fn call(&mut self, call: &ToolCall) -> Value {
        let name: String = word(&call.name).chars().take(NAME_LIMIT).collect();
        let block = json!({
            "type": "tool_use", "id": word(&call.id), "name": name, "input": native::object_of(&call.arguments),
        });
        if !self.called.contains(&name) {
            self.called.push(name);
        }
        block
    }

    fn push(&mut self, role: &'static str, mut blocks: Vec<Value>) {
        match self.messages.last_mut() {
            _ if blocks.is_empty() => {}
            Some((last, before)) if *last == role => before.append(&mut blocks),
            _ => self.messages.push((role, blocks)),
        }
    }

    fn messages(&self) -> Vec<Value> {
        self.messages.iter().map(|(role, blocks)| json!({"role": role, "content": blocks})).collect()
    }
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

/// The blocks of some parts, without blank texts, which the API refuses.
fn blocks(parts: &[Part]) -> Vec<Value> {
    let block = |part: &Part| {
        if let Some(file) = native::file(part, is_known) {
            return Some(file_block(&file));
        }
        let shown = part.to_display();
        (!shown.trim().is_empty()).then(|| text(&shown))
    };
    parts.iter().filter_map(block).collect()
}

fn is_known(media_type: &str) -> bool {
    matches!(media_type, "image/jpeg" | "image/png" | "image/gif" | "image/webp" | "application/pdf")
}

fn file_block(file: &File<'_>) -> Value {
    let (media_type, source) = match file {
        File::Bytes(media_type, data) => {
            (media_type, json!({"type": "base64", "media_type": media_type, "data": data}))
        }
        File::Url(media_type, url) => (media_type, json!({"type": "url", "url": url})),
    };
    let kind = if media_type.starts_with("image/") { "image" } else { "document" };
    json!({"type": kind, "source": source})
}

/// A result. One of a failure is text alone, and never empty.
fn result(call: &str, output: &ToolOutput) -> Value {
    let mut result = Map::new();
    put(&mut result, "type", "tool_result");
    put(&mut result, "tool_use_id", word(call));
    let shown = text_of(&output.parts);
    let has_files = output.parts.iter().any(|part| native::file(part, is_known).is_some());
    if output.is_error {
        let blank = shown.trim().is_empty();
        put(&mut result, "content", if blank { "the tool failed and said nothing" } else { &*shown });
        put(&mut result, "is_error", true);
    } else if has_files {
        put(&mut result, "content", blocks(&output.parts));
    } else if !shown.trim().is_empty() {
        put(&mut result, "content", &*shown);
    }
    Value::Object(result)
}

/// An id or a name with letters, digits, `_` and `-` alone, as the API wants them; others are written as their code.
fn word(given: &str) -> String {
    let mut out = String::with_capacity(given.len());
    for c in given.chars() {
        if c.is_ascii_alphanumeric() || c == '_' || c == '-' {
            out.push(c);
        } else {
            // Writing to a string does not fail.
            let _ = write!(out, "_{:x}", u32::from(c));
        }
    }
    if out.is_empty() { "_".to_owned() } else { out }
}
