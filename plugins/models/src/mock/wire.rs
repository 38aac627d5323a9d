//! Requests and replies in the wire form of OpenAI.

use mas_contracts::{Arguments, ChatRequest, Completion, Message, ToolCall, Usage};
use serde_json::{Value, json};

use crate::speech;

/// The messages of a request, the system prompt first.
pub(super) fn messages(request: &ChatRequest<'_>) -> Vec<Value> {
    let system = (!request.system.is_empty()).then(|| json!({"role": "system", "content": request.system}));
    system.into_iter().chain(request.messages().map(|it| message(it))).collect()
}

fn message(message: &Message) -> Value {
    match message {
        Message::User { .. } => json!({"role": "user", "content": &*message.text()}),
        Message::Assistant { calls, .. } if calls.is_empty() => {
            json!({"role": "assistant", "content": &*message.text()})
        }
        Message::Assistant { calls, .. } => {
            let calls: Vec<Value> = calls.iter().map(call).collect();
            let text = message.text();
            let content = if text.is_empty() { Value::Null } else { json!(&*text) };
            json!({"role": "assistant", "content": content, "tool_calls": calls})
        }
        Message::Tool { call, .. } => {
            json!({"role": "tool", "tool_call_id": &**call, "content": &*message.text()})
        }
    }
}

fn call(call: &ToolCall) -> Value {
    let function = json!({"name": &*call.name, "arguments": call.arguments.to_json()});
    json!({"id": &*call.id, "type": "function", "function": function})
}

/// The tools of a request.
pub(super) fn tools(request: &ChatRequest<'_>) -> Vec<Value> {
    let tool = |spec: &mas_contracts::ToolSpec| {
        let function = json!({
            "name": &*spec.name, "description": &*spec.description, "parameters": spec.parameters,
        });
        json!({"type": "function", "function": function})
    };
    request.tools.iter().map(|spec| tool(spec)).collect()
}

/// Reads a recorded reply: a text, an assistant message, or a chat completion.
pub(super) fn reply(recorded: &Value, request: &ChatRequest<'_>) -> Option<Completion> {
    if let Some(text) = recorded.as_str() {
        return Some(speech::completion(request, text, Vec::new()));
    }
    let message = match recorded.get("choices") {
        Some(choices) => choices.get(0)?.get("message")?,
        None => recorded,
    };
    let message = message.as_object()?;
    let text = message.get("content").and_then(Value::as_str).unwrap_or_default();
    let calls = message.get("tool_calls").and_then(Value::as_array);
    let calls = calls.into_iter().flatten().map(read_call).collect::<Option<Vec<_>>>()?;
    if !message.contains_key("content") && calls.is_empty() {
        return None;
    }
    let mut completion = speech::completion(request, text, calls);
    if let Some(usage) = recorded.get("usage") {
        let tokens = |key: &str| usage.get(key).and_then(Value::as_u64).unwrap_or_default();
        completion.usage = Usage {
            input_tokens: tokens("prompt_tokens"),
            output_tokens: tokens("completion_tokens"),
            model_calls: 0,
        };
    }
    Some(completion)
}

fn read_call(call: &Value) -> Option<ToolCall> {
    let function = call.get("function")?;
    let arguments = function.get("arguments").cloned().unwrap_or_default();
    Some(ToolCall {
        id: call.get("id").and_then(Value::as_str).unwrap_or_default().into(),
        name: function.get("name")?.as_str()?.into(),
        arguments: Arguments::from_value(arguments),
    })
}
