//! Answers: the chunks of a stream, each a `GenerateContentResponse`, or one of them.

use std::sync::Arc;

use mas_contracts::{
    Arguments, Completion, Delivery, Error, ErrorKind, FinishReason, Result, Retry, ToolCall, Usage,
};
use serde_json::Value;

use super::{NAME, refusal};
use crate::{
    native::{self, put},
    outline::{Mark, Outline},
    refusal::head,
    wire::{Piece, Reader},
};

/// Most parts of one answer that are kept for themselves.
const KEPT: usize = 4096;

/// Reads one answer.
#[derive(Default)]
pub(super) struct Answer {
    text: String,
    reasoning: String,
    calls: Vec<ToolCall>,
    outline: Outline,
    kept: usize,
    usage: Usage,
    finish: Option<FinishReason>,
}

impl Answer {
    fn take(&mut self, chunk: &Value) -> Result<Vec<Piece>> {
        if chunk.get("error").is_some_and(|error| !error.is_null()) {
            return Err(refusal::told(chunk));
        }
        self.count(chunk.get("usageMetadata"));
        let mut out = Vec::new();
        let candidates = chunk.get("candidates").and_then(Value::as_array);
        // Others are alternatives to the first, which nobody asked for.
        let first = |it: &&Value| it.get("index").and_then(Value::as_u64).unwrap_or_default() == 0;
        for candidate in candidates.into_iter().flatten().filter(first) {
            let parts = candidate.pointer("/content/parts").and_then(Value::as_array);
            for part in parts.into_iter().flatten() {
                self.part(part, &mut out)?;
            }
            if let Some(reason) = candidate.get("finishReason").and_then(Value::as_str) {
                let said = candidate.get("finishMessage").and_then(Value::as_str);
                self.finish = Some(finish_reason(reason, said)?);
            }
        }
        let blocked = chunk.pointer("/promptFeedback/blockReason").and_then(Value::as_str);
        if let Some(reason) = blocked.filter(|_| self.finish.is_none()) {
            out.push(Piece::Passed("a prompt that was blocked", reason.into()));
            self.finish = Some(FinishReason::Filtered);
        }
        Ok(out)
    }

    /// Each number is the newest that was sent: they are totals, not increments.
    fn count(&mut self, usage: Option<&Value>) {
        let Some(usage) = usage else { return };
        let tokens = |key: &str| usage.get(key).and_then(Value::as_u64);
        let sum = |one: &str, other: &str| match (tokens(one), tokens(other)) {
            (None, None) => None,
            (one, other) => Some(one.unwrap_or_default().saturating_add(other.unwrap_or_default())),
        };
        let input = sum("promptTokenCount", "toolUsePromptTokenCount");
        let output = sum("candidatesTokenCount", "thoughtsTokenCount");
        self.usage.input_tokens = input.unwrap_or(self.usage.input_tokens);
        self.usage.output_tokens = output.unwrap_or(self.usage.output_tokens);
    }

    fn part(&mut self, part: &Value, out: &mut Vec<Piece>) -> Result<()> {
        let mut mark = Mark::new();
        if let Some(signature) = part.get("thoughtSignature") {
            put(&mut mark, "thoughtSignature", signature.clone());
        }
        let is_thought = part.get("thought").and_then(Value::as_bool).unwrap_or_default();
        let text = part.get("text").and_then(Value::as_str);
        if let Some(call) = part.get("functionCall") {
            self.keep()?;
            self.call(call, mark);
            out.push(Piece::Call);
        } else if is_thought {
            if !mark.is_empty() {
                self.keep()?;
                self.outline.own(part.clone());
            }
            if let Some(text) = text.filter(|text| !text.is_empty()) {
                self.reasoning.push_str(text);
                out.push(Piece::Reasoning(text.into()));
            }
        } else if text.is_some() || !mark.is_empty() {
            let text = text.unwrap_or_default();
            if !mark.is_empty() {
                self.keep()?;
            }
            self.outline.text(text.len(), mark);
            if !text.is_empty() {
                self.text.push_str(text);
                out.push(Piece::Text(text.into()));
            }
        } else {
            let kind = part.as_object().and_then(|part| part.keys().next()).map_or("", String::as_str);
            out.push(Piece::Passed("a part of a kind that is not known", kind.into()));
        }
        Ok(())
    }

    fn call(&mut self, call: &Value, mut mark: Mark) {
        let string = |key: &str| call.get(key).and_then(Value::as_str).unwrap_or_default();
        let id = string("id");
        if !id.is_empty() {
            put(&mut mark, "id", id);
        }
        let arguments = Arguments::from_value(call.get("args").cloned().unwrap_or_default());
        self.calls.push(ToolCall { id: id.into(), name: string("name").into(), arguments });
        self.outline.call(mark);
    }

    fn keep(&mut self) -> Result<()> {
        self.kept = self.kept.saturating_add(1);
        if self.kept > KEPT {
            return Err(native::limit(format!("the answer has more than {KEPT} calls and signatures")));
        }
        Ok(())
    }
}

fn finish_reason(reason: &str, said: Option<&str>) -> Result<FinishReason> {
    match reason {
        "STOP" => Ok(FinishReason::Stop),
        "MAX_TOKENS" => Ok(FinishReason::Length),
        "SAFETY"
        | "RECITATION"
        | "LANGUAGE"
        | "BLOCKLIST"
        | "PROHIBITED_CONTENT"
        | "SPII"
        | "IMAGE_SAFETY"
        | "IMAGE_PROHIBITED_CONTENT"
        | "IMAGE_RECITATION" => Ok(FinishReason::Filtered),
        _ => {
            // Such as MALFORMED_FUNCTION_CALL: the model slipped, and may do better at the next try.
            let said = said.map(|said| format!(": {}", head(said))).unwrap_or_default();
            let what = format!("gemini ended its answer before it was whole ({}){said}", head(reason));
            let error = Error::new(ErrorKind::Failed, what).with_code("mas::llm::broken_off");
            Err(error.with_delivery(Delivery::Answered).with_retry(Retry::Backoff))
        }
    }
}

impl Reader for Answer {
    fn event(&mut self, _name: Option<&str>, data: &str) -> Result<Vec<Piece>> {
        let chunk: Value = serde_json::from_str(data)
            .map_err(|why| native::unreadable(&format!("a chunk of the answer is no JSON ({why})")))?;
        self.take(&chunk)
    }

    fn whole(&mut self, body: Value) -> Result<Vec<Piece>> {
        let out = self.take(&body)?;
        if self.finish.is_none() {
            return Err(native::unreadable("the answer gives no reason for its end"));
        }
        Ok(out)
    }

    fn is_complete(&self) -> bool {
        self.finish.is_some()
    }

    fn finish(self: Box<Self>) -> Result<Completion> {
        let Self { text, reasoning, calls, outline, usage, finish, .. } = *self;
        Ok(Completion {
            text: text.into(),
            reasoning: (!reasoning.is_empty()).then(|| Arc::from(reasoning)),
            calls,
            provider_data: outline.into_data(NAME),
            finish: finish.unwrap_or_default(),
            usage,
        })
    }
}

#[cfg(test)]
mod tests;
