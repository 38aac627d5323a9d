//! Dialects of the stream, as raw bytes.

use std::time::Duration;

use mas_contracts::{CONTEXT_LENGTH, ErrorKind};
use serde_json::json;

use super::*;
use crate::native::testing::{fail, read, read_split};

fn new() -> Box<dyn Reader> {
    Box::new(Answer::default())
}

/// Events with their names, as the API writes them.
fn stream(events: &[Value]) -> String {
    let event = |event: &Value| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap());
    events.iter().map(event).collect()
}

/// A stream whose blocks are these, each with its deltas.
fn message(blocks: &[(Value, &[Value])], stop: &Value) -> String {
    let usage = json!({"input_tokens": 10, "output_tokens": 1});
    let mut events = vec![json!({"type": "message_start", "message": {"content": [], "usage": usage}})];
    for (index, (block, deltas)) in blocks.iter().enumerate() {
        events.push(json!({"type": "content_block_start", "index": index, "content_block": block}));
        let delta = |delta| json!({"type": "content_block_delta", "index": index, "delta": delta});
        events.extend(deltas.iter().map(delta));
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    let delta = json!({"stop_reason": stop});
    events.push(json!({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 9}}));
    events.push(json!({"type": "message_stop"}));
    stream(&events)
}

fn tool(id: &str, name: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": name, "input": {}})
}

fn json_delta(text: &str) -> Value {
    json!({"type": "input_json_delta", "partial_json": text})
}

const THINKING: &str = concat!(
    "event: message_start\r\n",
    r#"data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude","#,
    r#""content":[],"stop_reason":null,"usage":{"input_tokens":3,"cache_creation_input_tokens":100,"#,
    r#""cache_read_input_tokens":2000,"output_tokens":1}}}"#,
    "\r\n\r\n",
    "event: content_block_start\n",
    r#"data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}"#,
    "\n\nevent: ping\ndata: {\"type\": \"ping\"}\n\n: a comment\n\n",
    r#"data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Tw"}}"#,
    "\n\n",
    r#"data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"o tools…"}}"#,
    "\n\n",
    r#"data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"EqQB+/=="}}"#,
    "\n\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
    r#"data: {"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"Zm9v"}}"#,
    "\n\ndata: {\"type\":\"content_block_stop\",\"index\":1}\n\n",
    r#"data: {"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}"#,
    "\n\n",
    r#"data: {"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"Näch"}}"#,
    "\n\n",
    r#"data: {"type":"content_block_delta","index":2,"delta":{"type":"citations_delta","citation":{"url":"u"}}}"#,
    "\n\n",
    r#"data: {"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"ste 🚆"}}"#,
    "\n\ndata: {\"type\":\"content_block_stop\",\"index\":2}\n\n",
    r#"data: {"type":"content_block_start","index":3,"content_block":{"type":"server_tool_use","id":"s","input":{}}}"#,
    "\n\n",
    r#"data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"q\""}}"#,
    "\n\ndata: {\"type\":\"content_block_stop\",\"index\":3}\n\n",
    r#"data: {"type":"content_block_start","index":4,"content_block":{"type":"tool_use","id":"toolu_1","#,
    r#""name":"fares","input":{}}}"#,
    "\n\n",
    r#"data: {"type":"content_block_delta","index":4,"delta":{"type":"input_json_delta","partial_json":""}}"#,
    "\n\n",
    r#"data: {"type":"content_block_delta","index":4,"delta":{"type":"input_json_delta","partial_json":"{\"to\": \"B"}}"#,
    "\n\n",
    r#"data: {"type":"content_block_delta","index":4,"delta":{"type":"input_json_delta","partial_json":"ern\"}"}}"#,
    "\n\n",
    r#"data: {"type":"content_block_delta","index":4,"delta":{"type":"news_delta","partial_json":"x"}}"#,
    "\n\ndata: {\"type\":\"content_block_stop\",\"index\":4}\n\n",
    r#"data: {"type":"content_block_start","index":5,"content_block":{"type":"tool_use","id":"toolu_2","#,
    r#""name":"now","input":{}}}"#,
    "\n\ndata: {\"type\":\"content_block_stop\",\"index\":5}\n\n",
    "event: news\ndata: {\"type\":\"news\",\"of\":\"tomorrow\"}\n\n",
    r#"data: {"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":40}}"#,
    "\n\n",
    r#"data: {"type":"message_delta","delta":{},"usage":{"output_tokens":62}}"#,
    "\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
);

#[test]
fn reasoning_text_and_parallel_calls_split_anywhere() {
    let (pieces, completion) = read_split(new, THINKING);
    assert_eq!(&*completion.text, "Nächste 🚆");
    assert_eq!(completion.reasoning.as_deref(), Some("Two tools…"));
    assert_eq!(pieces.first(), Some(&Piece::Reasoning("Tw".into())));
    let calls: Vec<_> =
        completion.calls.iter().map(|it| (&*it.id, &*it.name, it.arguments.to_json())).collect();
    let expected = [("toolu_1", "fares", r#"{"to":"Bern"}"#.to_owned()), ("toolu_2", "now", "{}".to_owned())];
    assert_eq!(calls, expected);
    assert_eq!(completion.finish, FinishReason::Stop);
    assert_eq!(completion.usage, Usage { input_tokens: 2103, output_tokens: 62, model_calls: 0 });
    let data = json!({"anthropic": [
        {"own": {"type": "thinking", "thinking": "Two tools…", "signature": "EqQB+/=="}},
        {"own": {"type": "redacted_thinking", "data": "Zm9v"}},
        {"text": {"bytes": 13}}, {"call": {}}, {"call": {}},
    ]});
    assert_eq!(completion.provider_data.as_deref(), Some(&data));
}

#[test]
fn an_empty_input_is_no_arguments_and_a_broken_one_is_kept() {
    let blocks: [(Value, &[Value]); 4] = [
        (tool("a", "t"), &[]),
        (tool("b", "t"), &[json_delta("")]),
        (tool("c", "t"), &[json_delta("{\"x\": "), json_delta("oops")]),
        (json!({"type": "tool_use", "id": "d", "name": "t", "input": {"at": "once"}}), &[]),
    ];
    let (_, completion) = read_split(new, &message(&blocks, &json!("tool_use")));
    let arguments: Vec<_> = completion.calls.iter().map(|call| call.arguments.to_json()).collect();
    assert_eq!(arguments, ["{}", "{}", "{\"x\": oops", r#"{"at":"once"}"#]);
    assert!(completion.calls[2].arguments.as_object().is_none());
    assert_eq!(completion.provider_data, None);
}

#[test]
fn a_call_that_the_limit_cut_off_has_no_arguments_to_act_on() {
    for deltas in [&[][..], &[json_delta("{\"to\": \"B")]] {
        let text = message(&[(tool("a", "t"), deltas)], &json!("max_tokens"));
        let (_, completion) = read(new(), &[text.as_bytes()]).unwrap();
        assert_eq!(completion.finish, FinishReason::Length);
        assert!(completion.calls[0].arguments.as_object().is_none());
    }
}

#[test]
fn stop_reasons() {
    let hello = (json!({"type": "text", "text": "Hello"}), &[][..]);
    let finish = |stop: Value| {
        let text = message(std::slice::from_ref(&hello), &stop);
        read(new(), &[text.as_bytes()])
            .map(|(_, completion)| (completion.text.to_string(), completion.finish))
    };
    for (stop, expected) in [
        (json!("end_turn"), FinishReason::Stop),
        (json!("stop_sequence"), FinishReason::Stop),
        (json!(null), FinishReason::Stop),
        (json!("of_tomorrow"), FinishReason::Stop),
        (json!("max_tokens"), FinishReason::Length),
        (json!("model_context_window_exceeded"), FinishReason::Length),
        (json!("refusal"), FinishReason::Filtered),
    ] {
        assert_eq!(finish(stop), Ok(("Hello".to_owned(), expected)));
    }
    assert_eq!(finish(json!("pause_turn")).unwrap_err().code(), "mas::llm::paused");
}

#[test]
fn what_is_of_an_unknown_kind_is_told_and_the_rest_stays() {
    let text = json!({"type": "text", "text": "Hello"});
    let stream = stream(&[
        json!({"type": "content_block_start", "index": 0, "content_block": text, "error": null}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "smell_delta"}}),
        json!({"type": "content_block_start", "index": 1, "content_block": {"type": "hologram"}}),
        json!({"type": "weather"}),
        json!({"type": "message_stop"}),
    ]);
    let (pieces, completion) = read_split(new, &stream);
    assert_eq!(&*completion.text, "Hello");
    let passed = [("a delta", "smell_delta"), ("a block", "hologram"), ("an event", "weather")];
    let told = pieces[1..].iter().zip(passed).all(|(piece, (what, kind))| {
        matches!(piece, Piece::Passed(said, known) if said.starts_with(what) && **known == *kind)
    });
    assert!(told && pieces.len() == 4, "{pieces:?}");
}

#[test]
fn errors_within_the_stream() {
    let cases = [
        ("overloaded_error", "Overloaded", ErrorKind::Unavailable, Retry::Backoff),
        ("rate_limit_error", "slow down", ErrorKind::RateLimited, Retry::After(Duration::from_secs(1))),
        ("api_error", "oops", ErrorKind::Unavailable, Retry::Backoff),
        ("authentication_error", "no", ErrorKind::Unauthenticated, Retry::Unstated),
        ("invalid_request_error", "no", ErrorKind::Invalid, Retry::Unstated),
    ];
    for (kind, message, expected, retry) in cases {
        let event = json!({"type": "error", "error": {"type": kind, "message": message}});
        let error = fail(new(), &stream(&[event]));
        assert_eq!((error.kind(), error.retry()), (expected, retry), "{kind}");
        assert!(error.message().ends_with(&format!(": {message}")), "{error}");
    }
    let long =
        json!({"type": "invalid_request_error", "message": "prompt is too long: 3 tokens > 2 maximum"});
    let error = fail(new(), &stream(&[json!({"type": "error", "error": long})]));
    assert_eq!(error.code(), CONTEXT_LENGTH);
}

#[test]
fn what_does_not_fit_the_protocol_is_an_error() {
    let delta =
        |index: u64, delta: Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
    let text =
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}});
    let cases = [
        "data: {\"type\": \n\n".to_owned(),
        stream(&[delta(0, json!({"type": "text_delta", "text": "x"}))]),
        stream(&[text.clone(), delta(1, json!({"type": "text_delta", "text": "x"}))]),
        stream(&[text.clone(), delta(0, json_delta("{}"))]),
    ];
    for case in cases {
        assert_eq!(fail(new(), &case).code(), "mas::llm::unreadable", "{case}");
    }
    let many = vec![text; BLOCKS + 1];
    assert_eq!(fail(new(), &stream(&many)).code(), "mas::llm::answer_too_large");
}

#[test]
fn without_its_last_event_it_is_not_whole() {
    let mut reader = new();
    let start = json!({"type": "content_block_start", "content_block": {"type": "text", "text": "Hel"}});
    let delta = json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}});
    for event in [start, delta] {
        reader.event(None, &event.to_string()).unwrap();
        assert!(!reader.is_complete());
    }
}

#[test]
fn a_whole_message() {
    let body = json!({
        "type": "message", "stop_reason": "tool_use", "usage": {"input_tokens": 5, "output_tokens": 7},
        "content": [
            {"type": "thinking", "thinking": "Hm.", "signature": "s"},
            {"type": "text", "text": "Now "}, {"type": "text", "text": "this."},
            {"type": "tool_use", "id": "t1", "name": "fares", "input": {"to": "Bern"}},
        ],
    });
    let mut reader = new();
    let pieces = reader.whole(body).unwrap();
    let expected = [
        Piece::Reasoning("Hm.".into()),
        Piece::Text("Now ".into()),
        Piece::Text("this.".into()),
        Piece::Call,
    ];
    assert_eq!(pieces, expected);
    let completion = reader.finish().unwrap();
    assert_eq!((&*completion.text, completion.usage.tokens()), ("Now this.", 12));
    assert_eq!(completion.calls[0].arguments.to_json(), r#"{"to":"Bern"}"#);
    let error = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    assert_eq!(new().whole(error).unwrap_err().kind(), ErrorKind::Unavailable);
    assert_eq!(new().whole(json!({"choices": []})).unwrap_err().code(), "mas::llm::unreadable");
}
