//! `openai` over real sockets: every dialect byte for byte, and what goes wrong.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)] // a test may stop short
#![allow(clippy::needless_pass_by_value)] // tables of cases read better with values

#[allow(dead_code, reason = "each test uses a part of it")]
mod support;

use mas_contracts::{
    CONTEXT_LENGTH, Completion, Error, ErrorKind, FinishReason, Message, ModelContract, Result, ToolOutput,
};
use mas_testkit::http::{Act, RawServer};
use rstest::rstest;
use serde_json::{Value, json};
use std::sync::Arc;
use support::{Turn, build, build_context};

const KEY: &str = "sk-a-key-that-nobody-may-see";

fn model(server: &RawServer, more: Value) -> Arc<dyn ModelContract> {
    let cx = build_context(std::path::Path::new("."), &[("THE_KEY", KEY)]);
    let mut params = json!({"api_base": server.url(), "api_key_env": "THE_KEY", "retry": {"attempts": 1}});
    params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    build("openai", &cx, &params).unwrap()
}

/// What came of a stream: the text, the reasoning, the calls, the usage, or the code of the error.
fn seen(result: &Result<Completion>) -> Value {
    match result {
        Ok(done) => {
            let calls: Vec<Value> = done
                .calls
                .iter()
                .map(|call| json!([&*call.id, &*call.name, call.arguments.to_json()]))
                .collect();
            json!({
                "text": &*done.text,
                "reasoning": done.reasoning.as_deref(),
                "calls": calls,
                "usage": [done.usage.input_tokens, done.usage.output_tokens],
                "finish": format!("{:?}", done.finish),
            })
        }
        Err(error) => json!({"error": error.code()}),
    }
}

fn says(text: &str, usage: [u64; 2]) -> Value {
    json!({"text": text, "reasoning": null, "calls": [], "usage": usage, "finish": "Stop"})
}

fn asks(calls: Value) -> Value {
    json!({"text": "", "reasoning": null, "calls": calls, "usage": [0, 0], "finish": "Stop"})
}

fn data(chunks: &[&str]) -> String {
    chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect()
}

fn delta(delta: &str) -> String {
    format!(r#"{{"choices":[{{"index":0,"delta":{delta}}}]}}"#)
}

/// A stream of these tool-call deltas, ended by a reason.
fn calls(deltas: &[&str], reason: &str) -> String {
    let mut chunks: Vec<String> =
        deltas.iter().map(|one| delta(&format!(r#"{{"tool_calls":[{one}]}}"#))).collect();
    chunks.push(format!(r#"{{"choices":[{{"index":0,"delta":{{}},"finish_reason":"{reason}"}}]}}"#));
    chunks.push("[DONE]".to_owned());
    data(&chunks.iter().map(String::as_str).collect::<Vec<_>>())
}

async fn ask(server: &RawServer, turn: &Turn) -> Result<Completion> {
    turn.ask(&*model(server, json!({}))).await
}

/// The stream in one piece, then split at every byte boundary: the same result.
async fn dialect(body: &str, wanted: Value) {
    let bytes = body.as_bytes().to_vec();
    let pieces = bytes.clone();
    let server = RawServer::start(move |number, _| match number {
        0 => vec![Act::stream(), Act::Send(pieces.clone())],
        1 => vec![Act::stream(), Act::Drip(pieces.clone(), 1)],
        cut => {
            let (head, tail) = pieces.split_at(cut - 1);
            vec![Act::stream(), Act::Send(head.to_vec()), Act::Drip(tail.to_vec(), tail.len())]
        }
    })
    .await
    .unwrap();
    let model = model(&server, json!({}));
    for number in 0..bytes.len() {
        let turn = Turn::new("a", "hi");
        let result = turn.ask(&*model).await;
        assert_eq!(seen(&result), wanted, "split {number}");
        if let Ok(done) = &result
            && done.reasoning.is_none()
        {
            assert_eq!(turn.pieces().concat(), *done.text, "split {number}");
        }
    }
}

#[rstest]
#[case::plain(
    data(&[&delta(r#"{"role":"assistant","content":"Grü"}"#), &delta(r#"{"content":"ße"}"#),
        r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
        r#"{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}}"#, "[DONE]"]),
    says("Grüße", [3, 2])
)]
#[case::r71_no_choices_no_delta_no_usage(
    data(&[r#"{"choices":[],"prompt_filter_results":[]}"#, r#"{"choices":[{"index":0,"delta":null}],"usage":null}"#,
        &delta(r#"{"content":"ok"}"#), r#"{"choices":[{"index":0,"delta":null,"finish_reason":"stop"}],"usage":null}"#,
        r#"{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":1}}"#, "[DONE]"]),
    says("ok", [5, 1])
)]
#[case::usage_that_grows_counts_once(
    data(&[r#"{"choices":[{"delta":{"content":"a"}}],"usage":{"prompt_tokens":4,"completion_tokens":1}}"#,
        r#"{"choices":[{"delta":{"content":"b"},"finish_reason":"stop"}],"usage":{"prompt_tokens":4,"completion_tokens":2}}"#]),
    says("ab", [4, 2])
)]
#[case::comments_crlf_no_space_no_done(
    format!(": ping\r\n\r\ndata:{}\r\n\r\nevent: ping\r\ndata: {{}}\r\n\r\ndata: {}\r\n\r\n", delta(r#"{"content":"ok"}"#),
        r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#),
    says("ok", [0, 0])
)]
#[case::r66_arguments_as_an_object(
    calls(&[r#"{"index":0,"id":"x","function":{"name":"t","arguments":{"a":1}}}"#], "tool_calls"),
    asks(json!([["x", "t", r#"{"a":1}"#]]))
)]
#[case::r67_no_arguments(
    calls(&[r#"{"index":0,"id":"x","function":{"name":"t","arguments":""}}"#,
        r#"{"index":1,"id":"y","function":{"name":"u","arguments":null}}"#,
        r#"{"index":2,"id":"z","function":{"name":"v"}}"#,
        r#"{"index":3,"id":"w","function":{"name":"w","arguments":"null"}}"#], "tool_calls"),
    asks(json!([["x", "t", "{}"], ["y", "u", "{}"], ["z", "v", "{}"], ["w", "w", "{}"]]))
)]
#[case::r68_no_index(
    calls(&[r#"{"id":"x","function":{"name":"t","arguments":""}}"#, r#"{"function":{"arguments":"{\"a\":"}}"#,
        r#"{"function":{"arguments":"1}"}}"#, r#"{"id":"y","function":{"name":"u","arguments":"{\"b\""}}"#,
        r#"{"index":null,"function":{"arguments":":2}"}}"#], "stop"),
    asks(json!([["x", "t", r#"{"a":1}"#], ["y", "u", r#"{"b":2}"#]]))
)]
#[case::r69_empty_ids(
    calls(&[r#"{"index":0,"id":"","function":{"name":"t","arguments":"{}"}}"#,
        r#"{"index":1,"id":"","function":{"name":"u","arguments":"{}"}}"#], "tool_calls"),
    asks(json!([["", "t", "{}"], ["", "u", "{}"]]))
)]
#[case::r69_one_id_for_two_calls(
    calls(&[r#"{"index":0,"id":"call_0","function":{"name":"t","arguments":"{\"a\":1}"}}"#,
        r#"{"index":1,"id":"call_0","function":{"name":"t","arguments":"{\"a\":2}"}}"#], "tool_calls"),
    asks(json!([["call_0", "t", r#"{"a":1}"#], ["call_0", "t", r#"{"a":2}"#]]))
)]
#[case::no_index_and_no_ids(
    calls(&[r#"{"function":{"name":"t","arguments":"{\"a\":1}"}}"#, r#"{"function":{"name":"t","arguments":"{\"a\":2}"}}"#], "stop"),
    asks(json!([["", "t", r#"{"a":1}"#], ["", "t", r#"{"a":2}"#]]))
)]
#[case::one_index_for_two_calls(
    calls(&[r#"{"index":0,"id":"x","function":{"name":"t","arguments":"{\"a\":1}"}}"#,
        r#"{"index":0,"id":"y","function":{"name":"u","arguments":"{\"b\":"}}"#,
        r#"{"index":0,"id":"y","function":{"arguments":"2}"}}"#], "tool_calls"),
    asks(json!([["x", "t", r#"{"a":1}"#], ["y", "u", r#"{"b":2}"#]]))
)]
#[case::an_index_that_drifts(
    calls(&[r#"{"index":0,"id":"x","function":{"name":"t","arguments":"{\"a\":"}}"#,
        r#"{"index":1,"id":"x","function":{"arguments":"1"}}"#, r#"{"index":2,"function":{"arguments":"}"}}"#], "tool_calls"),
    asks(json!([["x", "t", r#"{"a":1}"#]]))
)]
#[case::id_and_name_in_every_piece(
    calls(&[r#"{"index":0,"id":"x","function":{"name":"t","arguments":""}}"#,
        r#"{"index":0,"id":"x","function":{"name":"t","arguments":"{\"a\":"}}"#,
        r#"{"index":0,"id":"x","function":{"name":"t","arguments":"1}"}}"#], "tool_calls"),
    asks(json!([["x", "t", r#"{"a":1}"#]]))
)]
#[case::interleaved(
    calls(&[r#"{"index":0,"id":"x","function":{"name":"t","arguments":""}},{"index":1,"id":"y","function":{"name":"u","arguments":""}}"#,
        r#"{"index":1,"function":{"arguments":"{\"b\":2}"}},{"index":0,"function":{"arguments":"{\"a\":1}"}}"#], "tool_calls"),
    asks(json!([["x", "t", r#"{"a":1}"#], ["y", "u", r#"{"b":2}"#]]))
)]
#[case::function_call(
    data(&[&delta(r#"{"function_call":{"name":"t","arguments":"{\"a\""}}"#), &delta(r#"{"function_call":{"arguments":":1}"}}"#),
        r#"{"choices":[{"index":0,"delta":{},"finish_reason":"function_call"}]}"#, "[DONE]"]),
    asks(json!([["", "t", r#"{"a":1}"#]]))
)]
#[case::reasoning_apart(
    data(&[&delta(r#"{"reasoning_content":"hm"}"#), &delta(r#"{"content":[{"type":"text","text":"ok"}]}"#),
        r#"{"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}"#, "[DONE]"]),
    json!({"text": "ok", "reasoning": "hm", "calls": [], "usage": [0, 0], "finish": "Length"})
)]
#[case::whole_instead_of_a_stream(
    r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}"#.to_owned(),
    says("ok", [1, 1])
)]
#[case::cut_off(data(&[&delta(r#"{"content":"half"}"#)]), json!({"error": "mas::llm::incomplete"}))]
#[case::r66_an_undecodable_chunk(data(&[&delta(r#"{"content":"a"}"#), "{nonsense", "[DONE]"]), json!({"error": "mas::llm::unreadable"}))]
#[tokio::test]
async fn a_dialect_split_anywhere_gives_the_same(#[case] body: String, #[case] wanted: Value) {
    dialect(&body, wanted).await;
}

async fn refused(status: u16, body: &'static str) -> (Error, usize) {
    let server =
        RawServer::start(move |_, _| vec![Act::answer(status, "application/json", body)]).await.unwrap();
    let error = ask(&server, &Turn::new("a", "hi")).await.unwrap_err();
    (error, server.requests().len())
}

#[rstest]
#[case(
    401,
    "{\"error\":{\"message\":\"bad key sk-a-key-that-nobody-may-see\"}}",
    ErrorKind::Unauthenticated,
    "mas::run::unauthenticated"
)]
#[case(403, "{}", ErrorKind::Denied, "mas::run::denied")]
#[case(404, "", ErrorKind::NotFound, "mas::run::not_found")]
#[case(
    400,
    "{\"error\":{\"code\":\"context_length_exceeded\",\"message\":\"too long\"}}",
    ErrorKind::Invalid,
    CONTEXT_LENGTH
)]
#[case(
    400,
    "{\"object\":\"error\",\"message\":\"This model's maximum context length is 8 tokens\"}",
    ErrorKind::Invalid,
    CONTEXT_LENGTH
)]
#[case(
    429,
    "{\"error\":{\"code\":\"insufficient_quota\",\"message\":\"pay\"}}",
    ErrorKind::RateLimited,
    "mas::llm::quota"
)]
#[case(500, "oops", ErrorKind::Unavailable, "mas::run::unavailable")]
#[tokio::test]
async fn a_refusal_says_why_and_shows_no_key(
    #[case] status: u16,
    #[case] body: &'static str,
    #[case] kind: ErrorKind,
    #[case] code: &str,
) {
    let (error, requests) = refused(status, body).await;
    assert_eq!((error.kind(), &*error.code(), requests), (kind, code, 1));
    let all = format!("{error:#} {error:?} {}", serde_json::to_string(&error).unwrap());
    assert!(!all.contains(KEY), "{all}");
    if status == 404 {
        assert!(error.message().contains("/v1/chat/completions (HTTP 404); check `api_base`"), "{error}");
    }
}

#[tokio::test]
async fn a_field_that_a_model_does_not_take_is_left_out_and_remembered() {
    const REFUSAL: &str = r#"{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","param":"max_tokens","code":"unsupported_parameter"}}"#;
    let server = RawServer::start(|_, request| {
        if request.body.contains("\"max_tokens\"") {
            return vec![Act::answer(400, "application/json", REFUSAL)];
        }
        let body = data(&[&delta(r#"{"content":"ok"}"#), "[DONE]"]);
        vec![Act::stream(), Act::Send(body.into_bytes())]
    })
    .await
    .unwrap();
    let model = model(&server, json!({}));
    let turn = Turn::new("a", "hi");
    for _ in 0..2 {
        let request = mas_contracts::ChatRequest { max_tokens: Some(7), ..turn.request() };
        assert_eq!(&*model.chat(&turn.cx, request).await.unwrap().text, "ok");
    }
    let sent: Vec<Value> =
        server.requests().iter().map(|request| serde_json::from_str(&request.body).unwrap()).collect();
    assert_eq!(sent.len(), 3, "refused once, then known");
    assert_eq!(
        (&sent[1]["max_completion_tokens"], &sent[2]["max_completion_tokens"]),
        (&json!(7), &json!(7))
    );
}

#[tokio::test]
async fn a_history_with_everything_is_sent_as_the_protocol_wants_it() {
    let server = RawServer::start(|_, _| {
        vec![Act::stream(), Act::Send(data(&[&delta(r#"{"content":"ok"}"#), "[DONE]"]).into_bytes())]
    })
    .await
    .unwrap();
    let mut turn = Turn::new("a", "hi");
    let call = |id: &str, arguments: &str| mas_contracts::ToolCall {
        id: id.into(),
        name: "t".into(),
        arguments: mas_contracts::Arguments::from_text(arguments),
    };
    turn.messages.push(Arc::new(Message::Assistant {
        parts: Vec::new(),
        reasoning: Some("hm".into()),
        calls: vec![call("x", ""), call("y", "{broken")],
        provider_data: Some(Arc::new(json!({"openai": {"reasoning": {"reasoning_content": "hm"}, "calls": [null, {"google": {"thought_signature": "s"}}]}}))),
    }));
    for (id, output) in [("x", ToolOutput::text("1")), ("y", ToolOutput::error("not an object"))] {
        turn.messages.push(Arc::new(Message::Tool { call: id.into(), name: "t".into(), output }));
    }
    ask(&server, &turn).await.unwrap();
    let request = server.requests().remove(0);
    assert_eq!(request.line, "POST /v1/chat/completions HTTP/1.1");
    assert_eq!(request.headers["authorization"], format!("Bearer {KEY}"));
    let body: Value = serde_json::from_str(&request.body).unwrap();
    assert_eq!((&body["stream"], &body["stream_options"]), (&json!(true), &json!({"include_usage": true})));
    let messages = body["messages"].as_array().unwrap();
    assert_eq!(messages[2]["reasoning_content"], "hm");
    assert_eq!(messages[2]["content"], Value::Null);
    let replayed = &messages[2]["tool_calls"];
    assert_eq!(replayed[0]["function"]["arguments"], "{}");
    assert_eq!(replayed[1]["function"]["arguments"], r#"{"malformed":"{broken"}"#);
    assert_eq!(replayed[1]["extra_content"], json!({"google": {"thought_signature": "s"}}));
    assert_eq!(messages[3], json!({"role": "tool", "tool_call_id": "x", "content": "1"}));
    assert_eq!(messages[4], json!({"role": "tool", "tool_call_id": "y", "content": "[error] not an object"}));
}

#[tokio::test]
async fn a_filtered_answer_says_so() {
    let body = data(&[
        &delta(r#"{"refusal":"no"}"#),
        r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#,
        "[DONE]",
    ]);
    let server = RawServer::start(move |_, _| vec![Act::stream(), Act::Send(body.clone().into_bytes())])
        .await
        .unwrap();
    let done = ask(&server, &Turn::new("a", "hi")).await.unwrap();
    assert_eq!((&*done.text, done.finish), ("no", FinishReason::Filtered));
}
