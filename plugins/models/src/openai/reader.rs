//! An answer, read piece by piece.

use std::sync::Arc;

use mas_contracts::{Completion, Delivery, Error, ErrorKind, FinishReason, Result, Usage};
use serde_json::{Map, Value, json};

use super::{
    calls::{Calls, Delta},
    refusal,
};
use crate::wire::{Piece, Reader};

/// Most bytes of a text.
const TEXT_LIMIT: usize = 16 * 1024 * 1024;

/// Most characters of an unreadable chunk that an error shows.
const SHOWN: usize = 120;

/// Reads a chat completion, as a stream of chunks or whole.
#[derive(Debug)]
pub(super) struct ChatReader {
    provider: &'static str,
    text: String,
    reasoning: String,
    /// The field by which the provider sends its reasoning.
    reasoning_field: Option<&'static str>,
    calls: Calls,
    finish: Option<FinishReason>,
    usage: Usage,
    over: bool,
}

impl ChatReader {
    pub(super) fn new(provider: &'static str) -> Self {
        Self {
            provider,
            text: String::new(),
            reasoning: String::new(),
            reasoning_field: None,
            calls: Calls::default(),
            finish: None,
            usage: Usage::default(),
            over: false,
        }
    }

    fn chunk(&mut self, chunk: &Map<String, Value>) -> Result<Vec<Piece>> {
        if let Some(error) = chunk.get("error").filter(|error| !error.is_null()) {
            return Err(refusal::in_stream(self.provider, error));
        }
        // Usage is of the whole answer so far: the last one counts.
        if let Some(usage) = chunk.get("usage").and_then(Value::as_object) {
            self.usage = usage_of(usage);
        }
        let mut pieces = Vec::new();
        let choices = match chunk.get("choices") {
            None | Some(Value::Null) => return Ok(pieces),
            Some(Value::Array(choices)) => choices,
            Some(other) => return Err(unreadable("`choices` is no list", &other.to_string())),
        };
        // One answer is asked for; the first is it.
        let first = |choice: &&Value| choice.get("index").and_then(Value::as_u64).unwrap_or(0) == 0;
        for choice in choices.iter().filter(first) {
            if let Some(usage) = choice.get("usage").and_then(Value::as_object) {
                self.usage = usage_of(usage);
            }
            let delta = ["delta", "message"].iter().find_map(|key| choice.get(key)?.as_object());
            if let Some(delta) = delta {
                self.delta(delta, &mut pieces)?;
            }
            if let Some(reason) = choice.get("finish_reason").and_then(Value::as_str)
                && self.finish != Some(FinishReason::Filtered)
            {
                self.finish = Some(finish_of(reason));
            }
        }
        Ok(pieces)
    }

    fn delta(&mut self, delta: &Map<String, Value>, pieces: &mut Vec<Piece>) -> Result<()> {
        if let Some((field, text)) = reasoning_of(delta) {
            self.reasoning_field.get_or_insert(field);
            push(&mut self.reasoning, &text, pieces, Piece::Reasoning)?;
        }
        let content = delta.get("content").unwrap_or(&Value::Null);
        let text =
            text_in(content).ok_or_else(|| unreadable("`content` is no text", &content.to_string()))?;
        push(&mut self.text, &text, pieces, Piece::Text)?;
        if let Some(refused) = delta.get("refusal").and_then(Value::as_str).filter(|text| !text.is_empty()) {
            self.finish = Some(FinishReason::Filtered);
            push(&mut self.text, refused, pieces, Piece::Text)?;
        }
        let deltas = match delta.get("tool_calls") {
            None | Some(Value::Null) => &[][..],
            Some(Value::Array(deltas)) => deltas,
            Some(one @ Value::Object(_)) => std::slice::from_ref(one),
            Some(other) => return Err(unreadable("`tool_calls` is no list", &other.to_string())),
        };
        let legacy = delta.get("function_call").filter(|call| !call.is_null());
        let legacy = legacy.map(|function| json!({"index": 0, "function": function}));
        for value in deltas.iter().chain(&legacy) {
            let delta = Delta::of(value).ok_or_else(|| unreadable("a tool call", &value.to_string()))?;
            self.calls.take(&delta)?;
            pieces.push(Piece::Call);
        }
        Ok(())
    }
}

impl Reader for ChatReader {
    fn event(&mut self, _name: Option<&str>, data: &str) -> Result<Vec<Piece>> {
        let data = data.trim();
        if data.is_empty() {
            return Ok(Vec::new());
        }
        if data == "[DONE]" {
            self.over = true;
            return Ok(Vec::new());
        }
        match serde_json::from_str(data) {
            Ok(Value::Object(chunk)) => self.chunk(&chunk),
            Ok(other) => Err(unreadable("a chunk is no object", &other.to_string())),
            Err(error) => Err(unreadable(&format!("a chunk is no JSON ({error})"), data)),
        }
    }

    fn whole(&mut self, body: Value) -> Result<Vec<Piece>> {
        let Value::Object(body) = body else {
            return Err(unreadable("the answer is no object", &body.to_string()));
        };
        let pieces = self.chunk(&body)?;
        let answered =
            body.get("choices").and_then(Value::as_array).is_some_and(|choices| !choices.is_empty());
        if !answered {
            return Err(unreadable("the answer has no `choices`", &Value::Object(body).to_string()));
        }
        self.over = true;
        Ok(pieces)
    }

    fn is_complete(&self) -> bool {
        self.over || self.finish.is_some()
    }

    fn is_over(&self) -> bool {
        self.over
    }

    fn finish(self: Box<Self>) -> Result<Completion> {
        let this = *self;
        let (calls, extras) = this.calls.finish()?;
        let mut data = Map::new();
        if let Some(field) = this.reasoning_field.filter(|_| !this.reasoning.is_empty()) {
            data.insert("reasoning".to_owned(), json!({field: this.reasoning}));
        }
        if extras.iter().any(|extra| !extra.is_null()) {
            data.insert("calls".to_owned(), Value::Array(extras));
        }
        Ok(Completion {
            text: this.text.into(),
            reasoning: (!this.reasoning.is_empty()).then(|| this.reasoning.into()),
            calls,
            provider_data: (!data.is_empty()).then(|| Arc::new(json!({this.provider: data}))),
            finish: this.finish.unwrap_or_default(),
            usage: this.usage,
        })
    }
}

fn push(
    whole: &mut String,
    text: &str,
    pieces: &mut Vec<Piece>,
    piece: impl FnOnce(Arc<str>) -> Piece,
) -> Result<()> {
    if text.is_empty() {
        return Ok(());
    }
    if whole.len().saturating_add(text.len()) > TEXT_LIMIT {
        return Err(Error::new(
            ErrorKind::Limit,
            format!("the model's answer is longer than {TEXT_LIMIT} bytes"),
        )
        .with_code("mas::llm::answer_too_large")
        .with_delivery(Delivery::Answered));
    }
    whole.push_str(text);
    pieces.push(piece(text.into()));
    Ok(())
}

/// A content: text, nothing, or a list of parts whose texts count. `None` for anything else.
fn text_in(content: &Value) -> Option<String> {
    match content {
        Value::Null => Some(String::new()),
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => {
            let text = |part: &Value| match part {
                Value::String(text) => Some(text.clone()),
                part => part.get("text").and_then(Value::as_str).map(str::to_owned),
            };
            Some(parts.iter().filter_map(text).collect())
        }
        _ => None,
    }
}

/// The reasoning of a delta and its field. A provider that sends it twice means it once.
fn reasoning_of(delta: &Map<String, Value>) -> Option<(&'static str, String)> {
    let plain = ["reasoning_content", "reasoning"].into_iter().find_map(|field| {
        let text = delta.get(field)?.as_str().filter(|text| !text.is_empty())?;
        Some((field, text.to_owned()))
    });
    plain.or_else(|| {
        let details = delta.get("reasoning_details")?.as_array()?;
        let text = |detail: &Value| {
            let text = detail.get("text").or_else(|| detail.get("summary"));
            text.and_then(Value::as_str).map(str::to_owned)
        };
        Some(("reasoning", details.iter().filter_map(text).collect::<String>()))
            .filter(|(_, text)| !text.is_empty())
    })
}

fn usage_of(usage: &Map<String, Value>) -> Usage {
    let count = |keys: [&str; 2]| keys.iter().find_map(|key| usage.get(*key)?.as_u64()).unwrap_or(0);
    Usage {
        input_tokens: count(["prompt_tokens", "input_tokens"]),
        output_tokens: count(["completion_tokens", "output_tokens"]),
        model_calls: 0,
    }
}

fn finish_of(reason: &str) -> FinishReason {
    match reason {
        "length" | "max_tokens" => FinishReason::Length,
        "content_filter" | "safety" => FinishReason::Filtered,
        _ => FinishReason::Stop,
    }
}

/// The error for what cannot be read; it is never passed over.
pub(super) fn unreadable(why: &str, what: &str) -> Error {
    let shown: String = what.chars().take(SHOWN).collect();
    let more = if shown.len() < what.len() { "…" } else { "" };
    Error::new(ErrorKind::Failed, format!("the model's answer cannot be read: {why}: {shown}{more}"))
        .with_code("mas::llm::unreadable")
        .with_delivery(Delivery::Answered)
}
