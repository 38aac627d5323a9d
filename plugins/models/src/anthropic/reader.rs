//! Answers: the events of a stream, or a whole message.

use std::sync::Arc;

use mas_contracts::{
    Arguments, Completion, Delivery, Error, ErrorKind, FinishReason, Result, Retry, ToolCall, Usage,
};
use serde_json::{Map, Value};

use super::NAME;
use crate::{
    native::{self, put},
    outline::{Mark, Outline},
    refusal,
    wire::{Piece, Reader},
};

/// Most blocks of one answer.
const BLOCKS: usize = 4096;

/// One block of the answer.
enum Block {
    /// Text of this many bytes.
    Text(usize),
    /// Reasoning, or reasoning that only the provider can read; sent back as it is.
    Thinking(Map<String, Value>),
    Call {
        id: Arc<str>,
        name: Arc<str>,
        /// The input of the start, which counts if no pieces follow.
        whole: Value,
        pieces: String,
    },
    /// A kind that is not for us, such as a tool that the provider runs itself.
    Other,
}

/// Reads one answer.
#[derive(Default)]
pub(super) struct Answer {
    blocks: Vec<(u64, Block)>,
    text: String,
    reasoning: String,
    stop: Option<String>,
    input: [u64; 3],
    output: u64,
    complete: bool,
}

impl Answer {
    fn take(&mut self, kind: &str, event: &Value) -> Result<Vec<Piece>> {
        let index = || event.get("index").and_then(Value::as_u64).unwrap_or_default();
        match kind {
            "message_start" => self.count(event.pointer("/message/usage")),
            "content_block_start" => {
                let block = event.get("content_block").unwrap_or(&Value::Null);
                return self.start(index(), block);
            }
            "content_block_delta" => {
                let delta = event.get("delta").unwrap_or(&Value::Null);
                return self.extend(index(), delta);
            }
            "message_delta" => {
                if let Some(stop) = event.pointer("/delta/stop_reason").and_then(Value::as_str) {
                    self.stop = Some(stop.to_owned());
                }
                self.count(event.get("usage"));
            }
            "message_stop" => self.complete = true,
            "error" => return Err(told(event)),
            // As a server in between writes it.
            "" if event.get("error").is_some_and(|error| !error.is_null()) => return Err(told(event)),
            "ping" | "content_block_stop" => {}
            other => return Ok(vec![Piece::Passed("an event of a kind that is not known", other.into())]),
        }
        Ok(Vec::new())
    }

    /// Each number is the newest that was sent: they are totals, not increments.
    fn count(&mut self, usage: Option<&Value>) {
        let Some(usage) = usage else { return };
        let tokens = |key: &str| usage.get(key).and_then(Value::as_u64);
        let kinds = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"];
        for (known, kind) in self.input.iter_mut().zip(kinds) {
            *known = tokens(kind).unwrap_or(*known);
        }
        self.output = tokens("output_tokens").unwrap_or(self.output);
    }

    fn start(&mut self, index: u64, block: &Value) -> Result<Vec<Piece>> {
        if self.blocks.len() >= BLOCKS {
            return Err(native::limit(format!("the answer has more than {BLOCKS} blocks")));
        }
        let string = |key: &str| block.get(key).and_then(Value::as_str).unwrap_or_default();
        let kind = string("type");
        let mut pieces = Vec::new();
        let made = match kind {
            "text" => Block::Text(say(&mut self.text, string("text"), &mut pieces)),
            "thinking" | "redacted_thinking" => {
                think(&mut self.reasoning, string("thinking"), &mut pieces);
                Block::Thinking(block.as_object().cloned().unwrap_or_default())
            }
            "tool_use" => {
                pieces.push(Piece::Call);
                Block::Call {
                    id: string("id").into(),
                    name: string("name").into(),
                    whole: block.get("input").cloned().unwrap_or_default(),
                    pieces: String::new(),
                }
            }
            _ => {
                pieces.push(Piece::Passed("a block of a kind that is not known", kind.into()));
                Block::Other
            }
        };
        self.blocks.push((index, made));
        Ok(pieces)
    }

    fn extend(&mut self, index: u64, delta: &Value) -> Result<Vec<Piece>> {
        let string = |key: &str| delta.get(key).and_then(Value::as_str).unwrap_or_default();
        let kind = string("type");
        let mut out = Vec::new();
        // The block that is being written is nearly always the last one.
        let block = self.blocks.iter_mut().rev().find(|(known, _)| *known == index);
        let Some((_, block)) = block else {
            return Err(native::unreadable("the answer continues a block that it did not begin"));
        };
        match (kind, block) {
            (_, Block::Other) | ("citations_delta", _) => {}
            ("text_delta", Block::Text(bytes)) => {
                *bytes = bytes.saturating_add(say(&mut self.text, string("text"), &mut out));
            }
            ("thinking_delta", Block::Thinking(block)) => {
                think(&mut self.reasoning, string("thinking"), &mut out);
                match block.get_mut("thinking") {
                    Some(Value::String(before)) => before.push_str(string("thinking")),
                    _ => put(block, "thinking", string("thinking")),
                }
            }
            ("signature_delta", Block::Thinking(block)) => put(block, "signature", string("signature")),
            ("input_json_delta", Block::Call { pieces, .. }) => {
                pieces.push_str(string("partial_json"));
                out.push(Piece::Call);
            }
            ("text_delta" | "thinking_delta" | "signature_delta" | "input_json_delta", _) => {
                return Err(native::unreadable(&format!("`{kind}` does not fit the block it continues")));
            }
            _ => out.push(Piece::Passed("a delta of a kind that is not known", kind.into())),
        }
        Ok(out)
    }

    fn finish_reason(&self) -> Result<FinishReason> {
        match self.stop.as_deref() {
            Some("max_tokens" | "model_context_window_exceeded") => Ok(FinishReason::Length),
            Some("refusal") => Ok(FinishReason::Filtered),
            Some(stop @ ("pause_turn" | "compaction")) => {
                let what = format!(
                    "the model stopped half-way for a tool that the provider runs itself ({stop}), and cannot be \
                     continued from here; take such tools out of `body`"
                );
                let error = Error::new(ErrorKind::Unsupported, what).with_code("mas::llm::paused");
                Err(error.with_delivery(Delivery::Answered).with_retry(Retry::Never))
            }
            // `end_turn`, `tool_use`, `stop_sequence`, and one that is not known yet.
            _ => Ok(FinishReason::Stop),
        }
    }
}

/// The error that an event tells of.
fn told(event: &Value) -> Error {
    refusal::in_stream(NAME, event.get("error").unwrap_or(&Value::Null))
}

/// Adds a piece of the text; returns its bytes.
fn say(text: &mut String, piece: &str, out: &mut Vec<Piece>) -> usize {
    if !piece.is_empty() {
        text.push_str(piece);
        out.push(Piece::Text(piece.into()));
    }
    piece.len()
}

fn think(reasoning: &mut String, piece: &str, out: &mut Vec<Piece>) {
    if !piece.is_empty() {
        reasoning.push_str(piece);
        out.push(Piece::Reasoning(piece.into()));
    }
}

impl Reader for Answer {
    fn event(&mut self, name: Option<&str>, data: &str) -> Result<Vec<Piece>> {
        let event: Value = serde_json::from_str(data)
            .map_err(|why| native::unreadable(&format!("an event of the answer is no JSON ({why})")))?;
        let kind = event.get("type").and_then(Value::as_str).or(name).unwrap_or_default().to_owned();
        self.take(&kind, &event)
    }

    fn whole(&mut self, body: Value) -> Result<Vec<Piece>> {
        if body.get("type").and_then(Value::as_str) == Some("error")
            || body.get("error").is_some_and(|error| !error.is_null())
        {
            return Err(told(&body));
        }
        let Some(blocks) = body.get("content").and_then(Value::as_array) else {
            return Err(native::unreadable("the answer has no content"));
        };
        let mut pieces = Vec::new();
        for (index, block) in (0..).zip(blocks) {
            pieces.append(&mut self.start(index, block)?);
        }
        self.stop = body.get("stop_reason").and_then(Value::as_str).map(str::to_owned);
        self.count(body.get("usage"));
        self.complete = true;
        Ok(pieces)
    }

    fn is_complete(&self) -> bool {
        self.complete
    }

    fn is_over(&self) -> bool {
        self.complete
    }

    fn finish(self: Box<Self>) -> Result<Completion> {
        let finish = self.finish_reason()?;
        let (mut outline, mut calls) = (Outline::default(), Vec::new());
        let Self { blocks, text, reasoning, input, output, .. } = *self;
        let last = blocks.len().saturating_sub(1);
        for (place, (_, block)) in blocks.into_iter().enumerate() {
            match block {
                Block::Text(bytes) => outline.text(bytes, Mark::new()),
                Block::Thinking(block) => outline.own(Value::Object(block)),
                Block::Call { id, name, whole, pieces } => {
                    outline.call(Mark::new());
                    let cut = finish == FinishReason::Length && place == last;
                    let arguments = match pieces.trim().is_empty() {
                        // Without a piece of its input, a call that the limit cut off is not one without arguments.
                        true if cut && whole.as_object().is_none_or(Map::is_empty) => {
                            Arguments::Malformed(Arc::from(""))
                        }
                        true => Arguments::from_value(whole),
                        false => Arguments::from_text(&pieces),
                    };
                    calls.push(ToolCall { id, name, arguments });
                }
                Block::Other => {}
            }
        }
        let input = input.iter().fold(0_u64, |sum, tokens| sum.saturating_add(*tokens));
        Ok(Completion {
            text: text.into(),
            reasoning: (!reasoning.is_empty()).then(|| reasoning.into()),
            calls,
            provider_data: outline.into_data(NAME),
            finish,
            usage: Usage { input_tokens: input, output_tokens: output, model_calls: 0 },
        })
    }
}

#[cfg(test)]
mod tests;
