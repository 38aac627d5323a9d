//! Dialects of the stream, as raw bytes.

use mas_contracts::CONTEXT_LENGTH;
use serde_json::json;

use super::*;
use crate::native::testing::{fail, read, read_split};

fn new() -> Box<dyn Reader> {
    Box::new(Answer::default())
}

fn stream(chunks: &[Value]) -> String {
    chunks.iter().map(|chunk| format!("data: {chunk}\r\n\r\n")).collect()
}

/// A chunk of these parts, with a reason to end or null.
fn chunk(parts: &Value, finish: &Value) -> Value {
    json!({"candidates": [{"content": {"parts": parts, "role": "model"}, "finishReason": finish, "index": 0}]})
}

const THINKING: &str = concat!(
    r#"data: {"candidates": [{"content": {"parts": [{"text": "I need ","thought": true}],"role": "model"},"index": 0}],"#,
    r#""usageMetadata": {"promptTokenCount": 10,"totalTokenCount": 10},"modelVersion": "gemini"}"#,
    "\r\n\r\n",
    r#"data: {"candidates": [{"content": {"parts": [{"text": "two tools…","thought": true},"#,
    r#"{"thought": true,"text": "","thoughtSignature": "VA=="}],"role": "model"},"index": 0}],"#,
    r#""usageMetadata": {"promptTokenCount": 10,"thoughtsTokenCount": 5,"totalTokenCount": 15}}"#,
    "\r\n\r\n",
    r#"data: {"candidates": [{"content": {"parts": [{"text": "Näch"}],"role": "model"},"index": 0}]}"#,
    "\r\n\r\n",
    r#"data: {"candidates": [{"content": {"parts": [{"text": "ste 🚆"},{"executableCode": {"code": "1"}},"#,
    r#"{"functionCall": {"name": "fares","args": {"to": "Bern"},"id": "c1"},"thoughtSignature": "UQ=="}],"#,
    r#""role": "model"},"index": 0},{"content": {"parts": [{"text": "another"}]},"index": 1}]}"#,
    "\r\n\r\ndata: {\"candidates\": []}\r\n\r\n",
    r#"data: {"candidates": [{"content": {"parts": [{"functionCall": {"name": "now"}}],"role": "model"},"#,
    r#""finishReason": "STOP","index": 0}],"usageMetadata": {"promptTokenCount": 10,"candidatesTokenCount": 20,"#,
    r#""thoughtsTokenCount": 7,"toolUsePromptTokenCount": 2,"totalTokenCount": 39}}"#,
    "\r\n\r\n",
    r#"data: {"candidates": [{"content": {"parts": [{"text": "","thoughtSignature": "ZQ=="}]},"finishReason": "STOP"}],"#,
    r#""usageMetadata": {"promptTokenCount": 10,"candidatesTokenCount": 21,"thoughtsTokenCount": 7}}"#,
    "\r\n\r\n",
);

#[test]
fn thoughts_text_and_parallel_calls_split_anywhere() {
    let (pieces, completion) = read_split(new, THINKING);
    assert_eq!(&*completion.text, "Nächste 🚆");
    assert_eq!(completion.reasoning.as_deref(), Some("I need two tools…"));
    assert_eq!(pieces.iter().filter(|piece| **piece == Piece::Call).count(), 2);
    let calls: Vec<_> =
        completion.calls.iter().map(|it| (&*it.id, &*it.name, it.arguments.to_json())).collect();
    assert_eq!(calls, [("c1", "fares", r#"{"to":"Bern"}"#.to_owned()), ("", "now", "{}".to_owned())]);
    assert_eq!(completion.finish, FinishReason::Stop);
    assert_eq!(completion.usage, Usage { input_tokens: 10, output_tokens: 28, model_calls: 0 });
    let data = json!({"gemini": [
        {"own": {"thought": true, "text": "", "thoughtSignature": "VA=="}},
        {"text": {"bytes": 13}},
        {"call": {"mark": {"thoughtSignature": "UQ==", "id": "c1"}}},
        {"call": {}},
        {"text": {"bytes": 0, "mark": {"thoughtSignature": "ZQ=="}}},
    ]});
    assert_eq!(completion.provider_data.as_deref(), Some(&data));
}

#[test]
fn arguments_in_each_form() {
    let parts = json!([
        {"functionCall": {"name": "t", "args": {}}},
        {"functionCall": {"name": "t", "args": null}},
        {"functionCall": {"name": "t", "args": "{\"a\": 1}"}},
        {"functionCall": {"name": "t", "args": [1]}},
    ]);
    let (_, completion) = read_split(new, &stream(&[chunk(&parts, &json!("STOP"))]));
    let arguments: Vec<_> = completion.calls.iter().map(|call| call.arguments.to_json()).collect();
    assert_eq!(arguments, ["{}", "{}", r#"{"a":1}"#, "[1]"]);
    assert_eq!(completion.provider_data, None);
}

#[test]
fn finish_reasons() {
    let parts = json!([{"text": "Hello"}]);
    for (reason, expected) in [
        ("STOP", FinishReason::Stop),
        ("MAX_TOKENS", FinishReason::Length),
        ("SAFETY", FinishReason::Filtered),
        ("RECITATION", FinishReason::Filtered),
        ("PROHIBITED_CONTENT", FinishReason::Filtered),
    ] {
        let text = stream(&[chunk(&parts, &json!(reason))]);
        let (_, completion) = read(new(), &[text.as_bytes()]).unwrap();
        assert_eq!((&*completion.text, completion.finish), ("Hello", expected), "{reason}");
    }
    for reason in ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "OTHER", "OF_TOMORROW"] {
        let error = fail(new(), &stream(&[chunk(&json!([]), &json!(reason))]));
        assert_eq!((error.code(), error.retry()), ("mas::llm::broken_off".into(), Retry::Backoff));
        assert_eq!(error.message(), format!("gemini ended its answer before it was whole ({reason})"));
    }
}

#[test]
fn a_blocked_prompt_is_an_answer_without_text() {
    let blocked =
        json!({"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 4}});
    let (pieces, completion) = read_split(new, &stream(&[blocked]));
    let why = vec![Piece::Passed("a prompt that was blocked", "SAFETY".into())];
    assert_eq!((pieces, &*completion.text, completion.finish), (why, "", FinishReason::Filtered));
    assert_eq!(completion.usage.input_tokens, 4);
}

#[test]
fn a_part_of_an_unknown_kind_is_told_and_the_rest_stays() {
    let parts = json!([{"text": "Hel"}, {"executableCode": {"code": "1"}}, {}, {"text": "lo"}]);
    let body = json!({"error": null, "candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}]});
    let (pieces, completion) = read_split(new, &stream(&[body]));
    assert_eq!(&*completion.text, "Hello");
    let passed = |kind: &str| Piece::Passed("a part of a kind that is not known", kind.into());
    assert_eq!(pieces[1..3], [passed("executableCode"), passed("")]);
}

#[test]
fn errors_within_the_stream() {
    let error = |code: u64, message: &str| {
        let status = json!({"error": {"code": code, "message": message, "status": "X"}});
        fail(new(), &stream(&[chunk(&json!([{"text": "Hel"}]), &Value::Null), status]))
    };
    let overloaded = error(503, "The model is overloaded.");
    assert_eq!((overloaded.kind(), overloaded.retry()), (ErrorKind::Unavailable, Retry::Backoff));
    assert_eq!(overloaded.message(), "gemini breaks its answer off: The model is overloaded.");
    assert_eq!(error(400, "no").kind(), ErrorKind::Invalid);
    let long = error(400, "The input token count (9) exceeds the maximum number of tokens allowed (8).");
    assert_eq!(long.code(), CONTEXT_LENGTH);
    assert_eq!(fail(new(), "data: {\"candidates\": [\n\n").code(), "mas::llm::unreadable");
}

#[test]
fn without_a_reason_to_end_it_is_not_whole() {
    let mut reader = new();
    reader.event(None, &chunk(&json!([{"text": "Hel"}]), &Value::Null).to_string()).unwrap();
    assert!(!reader.is_complete());
}

#[test]
fn a_whole_response() {
    let mut reader = new();
    let body = chunk(&json!([{"text": "Hello"}, {"functionCall": {"name": "t"}}]), &json!("STOP"));
    assert_eq!(reader.whole(body).unwrap(), [Piece::Text("Hello".into()), Piece::Call]);
    assert_eq!(reader.finish().unwrap().calls.len(), 1);
    assert_eq!(new().whole(json!({"choices": []})).unwrap_err().code(), "mas::llm::unreadable");
    assert_eq!(new().whole(json!({"error": {"code": 500}})).unwrap_err().kind(), ErrorKind::Unavailable);
}

#[test]
fn the_parts_that_are_kept_are_bounded() {
    let parts: Vec<Value> = (0..=KEPT).map(|_| json!({"functionCall": {"name": "t"}})).collect();
    let error = fail(new(), &stream(&[chunk(&Value::Array(parts), &json!("STOP"))]));
    assert_eq!(error.code(), "mas::llm::answer_too_large");
}
