//! A chat call as JSON.

use std::collections::BTreeSet;

use base64::{Engine, engine::general_purpose::STANDARD};
use mas_contracts::{ChatRequest, Content, Message, Part, ToolCall, ToolSpec, text_of};
use serde_json::{Map, Value, json};

use crate::{
    native::{self, object_of},
    tool_schema,
};

/// What a model was found not to take; asked once, remembered.
#[derive(Clone, Debug, Default)]
pub(super) struct Learnt {
    /// Whether the limit of tokens goes by its newer name.
    pub(super) completion_tokens: bool,
    /// Whether the schema of the answer is told in the system prompt.
    pub(super) told_schema: bool,
    /// Fields that are left out.
    pub(super) dropped: BTreeSet<&'static str>,
}

/// The body of a call; `extra` wins over everything else.
pub(super) fn body(
    request: &ChatRequest<'_>,
    provider: &str,
    stream: bool,
    learnt: &Learnt,
    extra: &Map<String, Value>,
) -> Value {
    let mut body = Map::new();
    let mut put = |key: &'static str, value: Value| {
        if !learnt.dropped.contains(key) {
            body.insert(key.to_owned(), value);
        }
    };
    put("model", json!(&**request.model));
    let told = request.output_schema.filter(|_| learnt.told_schema);
    put("messages", Value::Array(messages(request, provider, told)));
    if !request.tools.is_empty() {
        put("tools", request.tools.iter().map(|tool| tool_of(tool)).collect());
    }
    if let Some(temperature) = request.temperature {
        put("temperature", json!(temperature));
    }
    if let Some(most) = request.max_tokens {
        put(if learnt.completion_tokens { "max_completion_tokens" } else { "max_tokens" }, json!(most));
    }
    if let Some(schema) = request.output_schema.filter(|_| !learnt.told_schema) {
        let strict = tool_schema::is_strict(schema);
        let named = json!({"name": "answer", "schema": schema, "strict": strict});
        put("response_format", json!({"type": "json_schema", "json_schema": named}));
    }
    put("stream", json!(stream));
    if stream {
        put("stream_options", json!({"include_usage": true}));
    }
    native::extend(&mut body, extra);
    Value::Object(body)
}

fn tool_of(tool: &ToolSpec) -> Value {
    json!({
        "type": "function",
        "function": {
            "name": &*tool.name,
            "description": &*tool.description,
            "parameters": tool_schema::normalised(&tool.parameters),
        },
    })
}

fn messages(request: &ChatRequest<'_>, provider: &str, told: Option<&Value>) -> Vec<Value> {
    let mut messages = Vec::new();
    let system = native::system(request, told);
    if !system.is_empty() {
        messages.push(json!({"role": "system", "content": system}));
    }
    messages.extend(request.history.iter().map(|message| message_of(message, None)));
    // Reasoning is shown again only within the turn that it belongs to.
    let running = request.turn.iter().chain(request.prompt);
    messages.extend(running.map(|message| message_of(message, Some(provider))));
    messages
}

fn message_of(message: &Message, running: Option<&str>) -> Value {
    match message {
        Message::User { parts } => json!({"role": "user", "content": content_of(parts)}),
        Message::Tool { call, output, .. } => {
            let text = text_of(&output.parts);
            let text = if output.is_error { format!("[error] {text}") } else { text.to_string() };
            json!({"role": "tool", "tool_call_id": &**call, "content": text})
        }
        Message::Assistant { parts, calls, provider_data, .. } => {
            let text = text_of(parts);
            let mut fields = Map::new();
            fields.insert("role".to_owned(), json!("assistant"));
            let silent = text.is_empty() && !calls.is_empty();
            fields.insert("content".to_owned(), if silent { Value::Null } else { json!(&*text) });
            let own = provider_data.as_ref().zip(running).and_then(|(data, provider)| data.get(provider));
            if let Some(reasoning) = own.and_then(|data| data.get("reasoning")).and_then(Value::as_object) {
                fields.extend(reasoning.iter().map(|(field, text)| (field.clone(), text.clone())));
            }
            if !calls.is_empty() {
                let extra = |at: usize| own?.get("calls")?.get(at).filter(|extra| !extra.is_null()).cloned();
                let calls = calls.iter().enumerate().map(|(at, call)| call_of(call, extra(at)));
                fields.insert("tool_calls".to_owned(), calls.collect());
            }
            Value::Object(fields)
        }
    }
}

fn call_of(call: &ToolCall, extra: Option<Value>) -> Value {
    let mut value = json!({
        "id": &*call.id,
        "type": "function",
        "function": {"name": &*call.name, "arguments": Value::Object(object_of(&call.arguments)).to_string()},
    });
    if let (Some(extra), Some(fields)) = (extra, value.as_object_mut()) {
        fields.insert("extra_content".to_owned(), extra);
    }
    value
}

fn content_of(parts: &[Part]) -> Value {
    if !parts.iter().any(|part| image_of(part).is_some()) {
        return json!(&*text_of(parts));
    }
    let piece = |part: &Part| match image_of(part) {
        Some(url) => json!({"type": "image_url", "image_url": {"url": url}}),
        None => json!({"type": "text", "text": &*part.to_display()}),
    };
    parts.iter().map(piece).collect()
}

/// The URL of an image, its bytes within it where it has no other.
fn image_of(part: &Part) -> Option<String> {
    let kind = part.meta.as_ref()?.media_type.as_deref()?;
    match &part.content {
        _ if !kind.starts_with("image/") => None,
        Content::Url(url) => Some(url.to_string()),
        Content::Raw(bytes) => Some(format!("data:{kind};base64,{}", STANDARD.encode(bytes))),
        Content::Text(_) | Content::Data(_) => None,
    }
}
