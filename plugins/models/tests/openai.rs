//! `openai` over real sockets: refusals and stalls, what is sent, a cancel; the dialects are in `dialects.rs`, the
//! secrets in `secrets.rs`.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)] // a test may stop short

#[allow(dead_code, reason = "each test uses a part of it")]
mod support;

use std::{path::Path, sync::Arc, time::Duration};

use mas_contracts::{
    Arguments, CONTEXT_LENGTH, CancelReason, ChatRequest, Completion, ErrorKind, EventKind, Message,
    ModelContract, Result, ToolCall, ToolOutput,
};
use mas_testkit::http::{Act, RawServer};
use rstest::rstest;
use serde_json::{Value, json};
use support::{Turn, build, build_context, keyed};

const KEY: &str = "sk-a-key-that-nobody-may-see";

const OK: &str =
    "data: {\"choices\":[{\"delta\":{\"content\":\"ok\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

/// The provider at this server, with a short pause between attempts.
fn model(server: &RawServer, more: &Value) -> Arc<dyn ModelContract> {
    keyed("openai", KEY, json!({"api_base": server.url(), "retry": {"base": 0.001}}), more)
}

/// A server that answers `ok` unless `script` says otherwise.
async fn server(script: impl Fn(usize, &str) -> Option<Vec<Act>> + Send + Sync + 'static) -> RawServer {
    let ok = || vec![Act::stream(), Act::Send(OK.into())];
    RawServer::start(move |number, request| script(number, &request.body).unwrap_or_else(ok)).await.unwrap()
}

async fn ask(server: &RawServer, turn: &Turn) -> Result<Completion> {
    turn.ask(&*model(server, &json!({}))).await
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
    let server = server(move |_, _| Some(vec![Act::answer(status, "application/json", body)])).await;
    let quick = json!({"retry": {"attempts": 1}});
    let error = Turn::new("a", "hi").ask(&*model(&server, &quick)).await.unwrap_err();
    assert_eq!((error.kind(), &*error.code(), server.requests().len()), (kind, code, 1));
    let all = format!("{error:#} {error:?} {}", serde_json::to_string(&error).unwrap());
    assert!(!all.contains(KEY), "{all}");
    if status == 404 {
        assert!(error.message().contains("/v1/chat/completions (HTTP 404); check `api_base`"), "{error}");
    }
}

#[tokio::test]
async fn a_field_that_a_model_does_not_take_is_left_out_and_remembered() {
    const REFUSAL: &str = r#"{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","param":"max_tokens","code":"unsupported_parameter"}}"#;
    let server = server(|_, body| {
        body.contains("\"max_tokens\"").then(|| vec![Act::answer(400, "application/json", REFUSAL)])
    })
    .await;
    let model = model(&server, &json!({}));
    let turn = Turn::new("a", "hi");
    for _ in 0..2 {
        let request = ChatRequest { max_tokens: Some(7), ..turn.request() };
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
async fn a_schema_that_a_server_does_not_take_is_told_instead() {
    const REFUSAL: &str = r#"{"error":{"message":"This response_format type is unavailable now"}}"#;
    let server = server(|_, body| {
        body.contains("\"response_format\"").then(|| vec![Act::answer(400, "application/json", REFUSAL)])
    })
    .await;
    let schema = json!({"type": "object"});
    let (model, turn) = (model(&server, &json!({})), Turn::new("a", "hi"));
    for _ in 0..2 {
        let request = ChatRequest { output_schema: Some(&schema), ..turn.request() };
        assert_eq!(&*model.chat(&turn.cx, request).await.unwrap().text, "ok");
    }
    let sent = server.requests();
    assert_eq!(sent.len(), 3, "refused once, then known");
    assert!(
        sent.iter().skip(1).all(|request| request.body.contains(r#"JSON schema: {\"type\":\"object\"}"#))
    );
}

#[tokio::test]
async fn what_the_user_adds_is_sent_once_and_wins() {
    let server = server(|_, _| None).await;
    let body = json!({"seed": 7, "stream_options": {"extra": true}});
    let more = json!({"headers": {"Authorization": "Basic of-the-proxy"}, "body": body});
    Turn::new("a", "hi").ask(&*model(&server, &more)).await.unwrap();
    let sent = server.requests().remove(0);
    assert_eq!(sent.headers["authorization"], "Basic of-the-proxy");
    let body: Value = serde_json::from_str(&sent.body).unwrap();
    let options = json!({"include_usage": true, "extra": true});
    assert_eq!((&body["seed"], &body["stream_options"]), (&json!(7), &options));
}

#[test]
fn parameters_that_cannot_work_are_problems() {
    let cases = [
        (json!({"api_base": "localhost:8000"}), "api_base: it is no URL"),
        (json!({"api_base": "http://h/v1#top"}), "api_base: it has a fragment, which is never sent"),
        (json!({"headers": {"a b": "x"}}), "headers.a b: it is no name of a header"),
        (json!({"headers": {"x": "a\nb"}}), "headers.x: its value holds a character that no header may"),
        (json!({"idle_timeout": 0}), "idle_timeout: it is no time from 0.001 to 86400 seconds"),
        (json!({"retry": {"attempts": 0}}), "retry.attempts: it is no number from 1 to 20"),
    ];
    for provider in ["openai", "ollama", "anthropic", "gemini"] {
        for (params, problem) in &cases {
            let found = (support::descriptor(provider).check)(params);
            let found: Vec<_> = found.iter().map(|it| format!("{}: {}", it.path, it.message)).collect();
            assert_eq!(found, [*problem], "{provider}");
            let error = build(provider, &build_context(Path::new("."), &[]), params).err().unwrap();
            assert_eq!(error.code(), "mas::params::invalid", "{provider}");
        }
        assert!((support::descriptor(provider).check)(&json!({"headers": {"X-Team": "ü"}})).is_empty());
    }
}

#[tokio::test]
async fn a_history_with_everything_is_sent_as_the_protocol_wants_it() {
    let server = server(|_, _| None).await;
    let mut turn = Turn::new("a", "hi");
    let call = |id: &str, arguments: &str| ToolCall {
        id: id.into(),
        name: "t".into(),
        arguments: Arguments::from_text(arguments),
    };
    turn.asks.turn.push(Arc::new(Message::Assistant {
        parts: Vec::new(),
        reasoning: Some("hm".into()),
        calls: vec![call("x", ""), call("y", "{broken")],
        provider_data: Some(Arc::new(json!({"openai": {"reasoning": {"reasoning_content": "hm"}, "calls": [null, {"google": {"thought_signature": "s"}}]}}))),
    }));
    for (id, output) in [("x", ToolOutput::text("1")), ("y", ToolOutput::error("not an object"))] {
        turn.asks.turn.push(Arc::new(Message::Tool { call: id.into(), name: "t".into(), output }));
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
async fn a_cancel_in_the_middle_of_a_stream_ends_it_at_once_and_hangs_up() {
    let first = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n";
    let server = server(move |_, _| Some(vec![Act::stream(), Act::Send(first.into()), Act::Hold])).await;
    let model = model(&server, &json!({}));
    let turn = Arc::new(Turn::new("a", "hi"));
    let call = tokio::spawn({
        let turn = turn.clone();
        async move { turn.ask(&*model).await }
    });
    turn.sink.wait_for(|event| matches!(event.kind, EventKind::TextDelta { .. })).await;
    let began = std::time::Instant::now();
    turn.cx.cancel().cancel(CancelReason::Requested);
    let error = call.await.unwrap().unwrap_err();
    server.wait_for_hang_ups(1).await;
    assert!(began.elapsed() < Duration::from_millis(200), "{:?}", began.elapsed());
    assert_eq!(error.kind(), ErrorKind::Cancelled);
}

// R74 and R72, with limits that a test can wait for.
#[tokio::test]
async fn refusals_and_stalls_are_tried_again_by_the_rule_and_told() {
    let refused = |status: u16, pause: &str| {
        let head = format!(
            "HTTP/1.1 {status} X\r\nretry-after: {pause}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
        );
        vec![Act::Send(head.into_bytes())]
    };
    let silent = vec![Act::stream(), Act::Hold];
    // What the first request gets, how many are sent, the code of the error if it is one.
    let cases = [
        (refused(429, "0"), 2, None),
        (refused(503, "soon"), 2, None),
        (refused(408, "Thu, 01 Jan 2026 00:00:00 GMT"), 2, None),
        (silent, 2, None),
        (vec![], 2, None),
        (refused(429, "99999"), 1, Some("no time")),
        (refused(401, "0"), 1, Some("401")),
        (refused(400, "0"), 1, Some("400")),
        (refused(302, "0"), 1, Some("302")),
    ];
    for (number, (first, requests, failure)) in cases.into_iter().enumerate() {
        let server = server(move |number, _| (number == 0).then(|| first.clone())).await;
        let turn = Turn::new("a", "hi");
        let outcome = turn.ask(&*model(&server, &json!({"first_byte_timeout": 0.2}))).await;
        assert_eq!(server.requests().len(), requests, "case {number}: {outcome:?}");
        assert_eq!(turn.notices(), requests - 1, "case {number}");
        match failure {
            None => assert_eq!(&*outcome.unwrap().text, "ok", "case {number}"),
            Some("no time") => {
                let error = outcome.unwrap_err();
                assert!(error.message().contains("it was not tried again, since the pause"), "{error:?}");
            }
            Some(status) => {
                let error = outcome.unwrap_err();
                assert!(error.message().contains(status), "case {number}: {error:?}");
            }
        }
    }
}

#[test]
fn a_key_that_is_not_there_is_named() {
    let cx = build_context(Path::new("."), &[]);
    for (params, name) in
        [(json!({}), "OPENAI_API_KEY"), (json!({"api_base": "http://h", "api_key_env": "OURS"}), "OURS")]
    {
        let Err(error) = build("openai", &cx, &params) else { panic!("{name}") };
        assert_eq!(error.code(), "mas::llm::no_key");
        assert!(error.message().contains(name), "{error:?}");
    }
    assert!(build("openai", &cx, &json!({"api_base": "http://h"})).is_ok());
    assert!(build("ollama", &cx, &json!({})).is_ok());
}
