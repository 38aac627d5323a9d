//! Requests: contents of user and model, function declarations, and the schema of the answer.

use mas_contracts::{ChatRequest, Content, Message, Part, ToolCall, ToolOutput, ToolSpec, text_of};
use serde_json::{Map, Value, json};

use super::NAME;
use crate::{
    native::{self, File, put},
    outline::{Mark, Outline, Segment},
    tool_schema,
};

/// The body of a request. `told` says whether a schema beside tools is told in the system instruction.
pub(super) fn body(request: &ChatRequest<'_>, told: bool) -> Map<String, Value> {
    let told = told && !request.tools.is_empty();
    let enforced = request.output_schema.filter(|_| !told);
    let system = native::system(request, request.output_schema.filter(|_| told));
    let mut dialogue = Dialogue::default();
    for (message, _) in native::messages(request) {
        dialogue.add(message);
    }
    let mut body = Map::new();
    if !system.is_empty() {
        put(&mut body, "systemInstruction", json!({"parts": [{"text": system}]}));
    }
    if !request.tools.is_empty() {
        let declared: Value = request.tools.iter().map(|spec| declaration(spec)).collect();
        put(&mut body, "tools", json!([{"functionDeclarations": declared}]));
    }
    let mut config = Map::new();
    if let Some(temperature) = request.temperature {
        put(&mut config, "temperature", temperature);
    }
    if let Some(most) = request.max_tokens {
        put(&mut config, "maxOutputTokens", most);
    }
    if let Some(schema) = enforced {
        put(&mut config, "responseMimeType", "application/json");
        put(&mut config, "responseJsonSchema", schema.clone());
    }
    if !config.is_empty() {
        put(&mut body, "generationConfig", config);
    }
    put(&mut body, "contents", dialogue.contents());
    body
}

fn declaration(spec: &ToolSpec) -> Value {
    let mut tool = Map::new();
    put(&mut tool, "name", &*spec.name);
    if !spec.description.is_empty() {
        put(&mut tool, "description", &*spec.description);
    }
    put(&mut tool, "parametersJsonSchema", tool_schema::normalised(&spec.parameters));
    Value::Object(tool)
}

/// Who speaks. Results are a content of their own, so that a text after them begins a turn.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Speaker {
    User,
    Model,
    Tools,
}

/// The contents as the API takes them, none of them empty.
#[derive(Default)]
struct Dialogue {
    contents: Vec<(Speaker, Vec<Value>)>,
    /// The files that results hold; they follow the results.
    files: Vec<Value>,
    /// The ids that the provider gave to calls, beside those that core knows.
    ids: Vec<(String, Value)>,
}

impl Dialogue {
    fn add(&mut self, message: &Message) {
        match message {
            Message::User { parts } => {
                let mut blocks: Vec<Value> = parts.iter().filter_map(part).collect();
                if blocks.is_empty() && self.contents.last().is_none_or(|(last, _)| *last != Speaker::User) {
                    blocks.push(json!({"text": "(no text)"}));
                }
                self.push(Speaker::User, blocks);
            }
            Message::Assistant { calls, provider_data, .. } => {
                let (outline, text) = (Outline::of(provider_data.as_deref(), NAME), message.text());
                let segments = outline.arrange(&text, calls).into_iter();
                let parts = segments.filter_map(|segment| self.segment(segment)).collect();
                self.push(Speaker::Model, parts);
            }
            Message::Tool { call, name, output } => {
                let mut response = Map::new();
                if let Some((_, id)) = self.ids.iter().rev().find(|(known, _)| **known == **call) {
                    put(&mut response, "id", id.clone());
                }
                put(&mut response, "name", &**name);
                put(&mut response, "response", answer(output));
                self.push(Speaker::Tools, vec![json!({"functionResponse": response})]);
                self.files
                    .extend(output.parts.iter().filter_map(|part| native::file(part, is_known)).map(file));
            }
        }
    }

    fn segment(&mut self, segment: Segment<'_>) -> Option<Value> {
        match segment {
            Segment::Own(part) => Some(part.clone()),
            Segment::Text(text, None) => (!text.is_empty()).then(|| json!({"text": text})),
            Segment::Text(text, Some(mark)) => Some(marked(json!({"text": text}), mark)),
            Segment::Call(call, mark) => Some(self.call(call, mark)),
        }
    }

    fn call(&mut self, call: &ToolCall, mark: Option<&Mark>) -> Value {
        let mut function = Map::new();
        if let Some(id) = mark.and_then(|mark| mark.get("id")) {
            self.ids.push((call.id.to_string(), id.clone()));
            put(&mut function, "id", id.clone());
        }
        put(&mut function, "name", &*call.name);
        put(&mut function, "args", native::object_of(&call.arguments));
        let part = json!({"functionCall": function});
        match mark {
            Some(mark) => marked(part, mark),
            None => part,
        }
    }

    fn push(&mut self, speaker: Speaker, mut parts: Vec<Value>) {
        if parts.is_empty() {
            return;
        }
        match self.contents.last_mut() {
            Some((last, before)) if *last == speaker => before.append(&mut parts),
            Some((Speaker::Tools, before)) => {
                before.append(&mut self.files);
                self.contents.push((speaker, parts));
            }
            _ => self.contents.push((speaker, parts)),
        }
    }

    fn contents(mut self) -> Vec<Value> {
        if let Some((Speaker::Tools, parts)) = self.contents.last_mut() {
            parts.append(&mut self.files);
        }
        let role = |speaker| if speaker == Speaker::Model { "model" } else { "user" };
        let content = |(speaker, parts)| json!({"role": role(speaker), "parts": Value::Array(parts)});
        self.contents.into_iter().map(content).collect()
    }
}

/// The part with its signature beside it.
fn marked(mut part: Value, mark: &Mark) -> Value {
    if let (Some(part), Some(signature)) = (part.as_object_mut(), mark.get("thoughtSignature")) {
        put(part, "thoughtSignature", signature.clone());
    }
    part
}

fn part(given: &Part) -> Option<Value> {
    if let Some(known) = native::file(given, is_known) {
        return Some(file(known));
    }
    let text = given.to_display();
    (!text.is_empty()).then(|| json!({"text": &*text}))
}

fn is_known(media_type: &str) -> bool {
    ["image/", "audio/", "video/"].iter().any(|kind| media_type.starts_with(kind))
        || media_type == "application/pdf"
}

fn file(file: File<'_>) -> Value {
    match file {
        File::Bytes(media_type, data) => json!({"inlineData": {"mimeType": media_type, "data": data}}),
        File::Url(media_type, url) => json!({"fileData": {"mimeType": media_type, "fileUri": url}}),
    }
}

/// The result as an object: `output`, or `error` for a failure.
fn answer(output: &ToolOutput) -> Value {
    let shown = match output.parts.as_slice() {
        [Part { content: Content::Data(data), .. }] => data.clone(),
        parts => json!(&*text_of(parts)),
    };
    if output.is_error { json!({"error": shown}) } else { json!({"output": shown}) }
}
