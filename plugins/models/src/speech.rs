//! What both models share: pieces, word counts, the user's text.

use std::sync::Arc;

use mas_contracts::{CallContext, ChatRequest, Completion, Message, ToolCall, Usage};

/// Splits a text where a word begins; the pieces together are the text.
pub(crate) fn pieces(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let mut spaced = false;
        let end = rest.char_indices().find_map(|(at, c)| {
            let begins = spaced && !c.is_whitespace();
            spaced |= c.is_whitespace() && at > 0;
            begins.then_some(at)
        });
        let (piece, after) = rest.split_at(end.unwrap_or(rest.len()));
        pieces.push(piece);
        rest = after;
    }
    pieces
}

/// Emits a text in pieces.
pub(crate) fn emit(cx: &CallContext, request: &ChatRequest<'_>, text: &str) {
    for piece in pieces(text) {
        cx.emit_text(request.audience, piece);
    }
}

/// The last thing the user, or the delegating agent, said.
pub(crate) fn user_text(request: &ChatRequest<'_>) -> Arc<str> {
    let last = request.messages().rev().find(|message| matches!(***message, Message::User { .. }));
    last.map_or_else(|| Arc::from(""), |message| message.text())
}

/// How many times the model was called before in this turn.
pub(crate) fn calls_before(request: &ChatRequest<'_>) -> usize {
    request.turn.iter().filter(|message| matches!(***message, Message::Assistant { .. })).count()
}

/// The words of a request and of its answer, as tokens.
pub(crate) fn usage(request: &ChatRequest<'_>, text: &str, calls: &[ToolCall]) -> Usage {
    let input = request.messages().fold(words(request.system), |sum, message| {
        sum.saturating_add(words(&message.text())).saturating_add(argument_words(message.calls()))
    });
    let output = words(text).saturating_add(argument_words(calls));
    Usage { input_tokens: input, output_tokens: output, model_calls: 0 }
}

/// A whole answer with its words counted.
pub(crate) fn completion(
    request: &ChatRequest<'_>,
    text: impl Into<Arc<str>>,
    calls: Vec<ToolCall>,
) -> Completion {
    let text = text.into();
    let usage = usage(request, &text, &calls);
    Completion { text, calls, usage, ..Completion::default() }
}

/// The first `limit` characters.
pub(crate) fn head(text: &str, limit: usize) -> &str {
    text.char_indices().nth(limit).map_or(text, |(at, _)| text.split_at(at).0)
}

fn words(text: &str) -> u64 {
    u64::try_from(text.split_whitespace().count()).unwrap_or(u64::MAX)
}

fn argument_words(calls: &[ToolCall]) -> u64 {
    calls.iter().fold(0, |sum, call| sum.saturating_add(words(&call.arguments.to_json())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_the_text() {
        for text in ["", " ", "one", "two words", "  led, and  spaced\n\n  lines \n", "naïve 世界 ok"] {
            assert_eq!(pieces(text).concat(), text);
        }
        assert_eq!(pieces("two  words here"), ["two  ", "words ", "here"]);
    }

    #[test]
    fn head_counts_characters() {
        assert_eq!(head("naïve", 3), "naï");
        assert_eq!(head("ab", 3), "ab");
        assert_eq!(head("abc", 0), "");
    }
}
