//! An answer, read piece by piece.

use std::sync::Arc;

use mas_contracts::{Completion, Delivery, Error, ErrorKind, FinishReason, Result, Usage};
use serde_json::{Map, Value, json};

use super::{
    calls::{Calls, Delta},
    reasoning::Reasoning,
    refusal,
};
use crate::wire::{Piece, Reader};

/// Most bytes of a text.
pub(super) const TEXT_LIMIT: usize = 16 * 1024 * 1024;

/// Most characters of an unreadable chunk that an error shows.
const SHOWN: usize = 120;

/// Reads a chat completion, as a stream of chunks or whole.
#[derive(Debug)]
pub(super) struct ChatReader {
    provider: &'static str,
    text: String,
    thought: String,
    reasoning: Reasoning,
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
            thought: String::new(),
            reasoning: Reasoning::default(),
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
            let delta =
                ["delta", "message"].into_iter().find_map(|key| Some((key, choice.get(key)?.as_object()?)));
            if let Some((key, delta)) = delta {
                self.delta(delta, key == "message", &mut pieces)?;
            }
            if let Some(reason) = choice.get("finish_reason").and_then(Value::as_str)
                && self.finish != Some(FinishReason::Filtered)
            {
                self.finish = Some(finish_of(reason));
            }
        }
        Ok(pieces)
    }

    fn delta(&mut self, delta: &Map<String, Value>, whole: bool, pieces: &mut Vec<Piece>) -> Result<()> {
        let content = Content::of(delta.get("content").unwrap_or(&Value::Null))?;
        let thought = self.reasoning.take(delta, whole)?;
        push(&mut self.thought, &thought, pieces, Piece::Reasoning)?;
        push(&mut self.thought, &content.reasoning, pieces, Piece::Reasoning)?;
        push(&mut self.text, &content.text, pieces, Piece::Text)?;
        let refused = delta.get("refusal").and_then(Value::as_str).unwrap_or(&content.refusal);
        if !refused.is_empty() {
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
        if let Some(reasoning) = this.reasoning.replay(&this.thought) {
            data.insert("reasoning".to_owned(), reasoning);
        }
        if extras.iter().any(|extra| !extra.is_null()) {
            data.insert("calls".to_owned(), Value::Array(extras));
        }
        Ok(Completion {
            text: this.text.into(),
            reasoning: (!this.thought.is_empty()).then(|| this.thought.into()),
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
        return Err(too_long());
    }
    whole.push_str(text);
    pieces.push(piece(text.into()));
    Ok(())
}

/// What a content says: a text, nothing, or a list of parts.
#[derive(Debug, Default)]
struct Content {
    text: String,
    reasoning: String,
    refusal: String,
}

impl Content {
    fn of(content: &Value) -> Result<Self> {
        let mut told = Self::default();
        match content {
            Value::Null => {}
            Value::String(text) => told.text.push_str(text),
            Value::Array(parts) => parts.iter().try_for_each(|part| told.add(part))?,
            other => return Err(unreadable("`content` is no text", &other.to_string())),
        }
        Ok(told)
    }

    fn add(&mut self, part: &Value) -> Result<()> {
        let text = |key: &str| part.get(key).and_then(Value::as_str);
        match (part, text("type").unwrap_or_default()) {
            (Value::Null, _) => {}
            (Value::String(text), _) => self.text.push_str(text),
            // Mistral's: the thoughts are a text or a list of parts, sources are marked by parts without a text.
            (_, "thinking" | "reasoning") => {
                let thought = ["thinking", "reasoning", "text"].iter().find_map(|key| part.get(*key));
                self.reasoning.push_str(&Self::of(thought.unwrap_or(&Value::Null))?.text);
            }
            (_, "reference") => {}
            (_, "refusal") => self.refusal.push_str(text("refusal").unwrap_or_default()),
            _ => match text("text") {
                Some(text) => self.text.push_str(text),
                None => {
                    return Err(unreadable("a part of its `content` is of no known kind", &part.to_string()));
                }
            },
        }
        Ok(())
    }
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

/// The error for an answer that is longer than the limit.
pub(super) fn too_long() -> Error {
    crate::native::limit(format!("the model's answer is longer than {TEXT_LIMIT} bytes"))
}

/// The error for what cannot be read; it is never passed over.
pub(super) fn unreadable(why: &str, what: &str) -> Error {
    let shown: String = what.chars().take(SHOWN).collect();
    let more = if shown.len() < what.len() { "…" } else { "" };
    Error::new(ErrorKind::Failed, format!("the model's answer cannot be read: {why}: {shown}{more}"))
        .with_code("mas::llm::unreadable")
        .with_delivery(Delivery::Answered)
}
