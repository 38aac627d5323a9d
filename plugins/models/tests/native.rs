//! `anthropic` and `gemini` over a socket: what is sent, what comes of what is answered.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may stop short")]

#[allow(dead_code, reason = "other tests look at the times, too")]
mod support;

use std::{path::Path, sync::Arc};

use mas_contracts::{
    Arguments, CONTEXT_LENGTH, ChatRequest, Completion, Content, ErrorKind, FinishReason, Message,
    ModelContract, Part, PartMeta, ToolCall, ToolOutput, ToolSpec,
};
use mas_testkit::http::{Act, RawServer};
use serde_json::{Map, Value, json};
use support::{Turn, build, build_context};

const KEY: &str = "sk-very-secret-0123";

/// The provider at this server, with a key and a secret header, and a short pause between attempts.
fn model(provider: &str, server: &RawServer, more: &Value) -> Arc<dyn ModelContract> {
    let mut params = json!({
        "api_base": server.url(), "api_key_env": "SOME_KEY", "headers": {"x-team": "hidden-header-77"},
        "retry": {"base": 0.001, "max": 0.002},
    });
    params.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap_or_default());
    build(provider, &build_context(Path::new("."), &[("SOME_KEY", KEY)]), &params).unwrap()
}

fn stream(body: &str) -> Vec<Act> {
    vec![Act::stream(), Act::Drip(body.as_bytes().to_vec(), 1)]
}

fn refusal(status: u16, body: &Value) -> Vec<Act> {
    vec![Act::answer(status, "application/json", &body.to_string())]
}

fn events(events: &[Value]) -> String {
    events.iter().map(|event| format!("data: {event}\n\n")).collect()
}

/// An answer of signed reasoning, text and two calls, the second without an id where the protocol allows it.
fn calls(provider: &str) -> String {
    if provider == "gemini" {
        let parts = json!([
            {"text": "Think.", "thought": true}, {"text": "Two "},
            {"functionCall": {"name": "fares", "args": {"to": "Bern"}, "id": "c1"}, "thoughtSignature": "U0lH"},
            {"functionCall": {"name": "now"}},
        ]);
        let usage = json!({"promptTokenCount": 8, "candidatesTokenCount": 3, "thoughtsTokenCount": 1});
        let candidate = json!({"content": {"parts": parts}, "finishReason": "STOP"});
        return events(&[json!({"candidates": [candidate], "usageMetadata": usage})]);
    }
    let start = |index: u64, block: Value| json!({"type": "content_block_start", "index": index, "content_block": block});
    events(&[
        json!({"type": "message_start", "message": {"usage": {"input_tokens": 8}}}),
        start(0, json!({"type": "thinking", "thinking": "Think.", "signature": "U0lH"})),
        start(1, json!({"type": "text", "text": "Two "})),
        start(2, json!({"type": "tool_use", "id": "c1", "name": "fares", "input": {"to": "Bern"}})),
        start(3, json!({"type": "tool_use", "id": "", "name": "now", "input": {}})),
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 4}}),
        json!({"type": "message_stop"}),
    ])
}

fn hello(provider: &str) -> String {
    if provider == "gemini" {
        let candidate = json!({"content": {"parts": [{"text": "Hello"}]}, "finishReason": "STOP"});
        return events(&[json!({"candidates": [candidate]})]);
    }
    events(&[
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "Hello"}}),
        json!({"type": "message_stop"}),
    ])
}

fn body(server: &RawServer, number: usize) -> Value {
    serde_json::from_str(&server.requests()[number].body).unwrap()
}

/// The message of a completion, as core keeps it: with its own ids.
fn said(completion: &Completion, ids: &[&str]) -> Arc<Message> {
    let mut calls = completion.calls.clone();
    for (call, id) in calls.iter_mut().zip(ids) {
        call.id = (*id).into();
    }
    Arc::new(Message::Assistant {
        parts: vec![Part::text(completion.text.clone())],
        reasoning: completion.reasoning.clone(),
        calls,
        provider_data: completion.provider_data.clone(),
    })
}

fn result(call: &str, name: &str, output: ToolOutput) -> Arc<Message> {
    Arc::new(Message::Tool { call: call.into(), name: name.into(), output })
}

fn image() -> Part {
    let meta = PartMeta { media_type: Some("image/png".to_owned()), ..PartMeta::default() };
    Part { content: Content::Raw([1, 2, 3].as_slice().into()), meta: Some(Box::new(meta)) }
}

fn call(id: &str, arguments: Arguments) -> ToolCall {
    ToolCall { id: id.into(), name: "fares".into(), arguments }
}

/// A turn with everything that is awkward to write.
fn awkward() -> Turn {
    let mut turn = Turn::new("a", "Now?");
    turn.asks.model = "m".into();
    let calls = vec![
        call("one.1", Arguments::object(Map::from_iter([("to".to_owned(), json!("Bern"))]))),
        call("two", Arguments::Malformed("{\"to\": ".into())),
    ];
    turn.asks.history = vec![
        Arc::new(Message::User { parts: vec![Part::text("Look"), image(), Part::text(" ")] }),
        Arc::new(Message::Assistant { parts: vec![], reasoning: None, calls, provider_data: None }),
        result("one.1", "fares", ToolOutput { parts: vec![image()], is_error: false }),
        result("two", "fares", ToolOutput { parts: vec![], is_error: true }),
        Arc::new(Message::assistant("")),
    ];
    turn.asks.tools = vec![Arc::new(ToolSpec {
        name: "fares".into(),
        description: "Fares.".into(),
        parameters: json!({}),
        idempotent: true,
        timeout: None,
    })];
    turn
}

async fn sent(provider: &'static str, request: ChatRequest<'_>, turn: &Turn) -> Value {
    let server = RawServer::start(move |_, _| stream(&hello(provider))).await.unwrap();
    model(provider, &server, &json!({"body": {"top_k": 5}})).chat(&turn.cx, request).await.unwrap();
    body(&server, 0)
}

#[tokio::test]
async fn anthropic_writes_its_requests() {
    let turn = awkward();
    let schema = json!({"type": "object", "properties": {"price": {"type": "number", "minimum": 0}}});
    let request = ChatRequest { temperature: Some(0.5), output_schema: Some(&schema), ..turn.request() };
    let image =
        json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AQID"}});
    let closed = json!({
        "type": "object", "additionalProperties": false,
        "properties": {"price": {"type": "number", "description": "(minimum: 0)"}},
    });
    let input = json!({"malformed": "{\"to\": "});
    let expected = json!({
        "model": "m", "max_tokens": 16384, "stream": true, "system": "You help.", "temperature": 0.5, "top_k": 5,
        "tools": [{"name": "fares", "description": "Fares.", "input_schema": {"type": "object", "properties": {}}}],
        "output_config": {"format": {"type": "json_schema", "schema": closed}},
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Look"}, image]},
            {"role": "assistant", "content": [
                {"type": "tool_use", "id": "one_2e1", "name": "fares", "input": {"to": "Bern"}},
                {"type": "tool_use", "id": "two", "name": "fares", "input": input},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "one_2e1", "content": [image]},
                {"type": "tool_result", "tool_use_id": "two", "content": "the tool failed and said nothing",
                 "is_error": true},
                {"type": "text", "text": "Now?"},
            ]},
        ],
    });
    assert_eq!(sent("anthropic", request, &turn).await, expected);
    // Without tools on offer, those of the past are declared and may not be called.
    let bare = sent("anthropic", ChatRequest { tools: &[], ..turn.request() }, &turn).await;
    assert_eq!(bare["tools"], json!([{"name": "fares", "input_schema": {"type": "object"}}]));
    assert_eq!(bare["tool_choice"], json!({"type": "none"}));
    let open = json!({"type": "object"});
    let told = sent("anthropic", ChatRequest { output_schema: Some(&open), ..turn.request() }, &turn).await;
    assert!(told.get("output_config").is_none());
    assert!(told["system"].as_str().unwrap().ends_with(r#"this JSON schema: {"type":"object"}"#), "{told}");
}

#[tokio::test]
async fn gemini_writes_its_requests() {
    let turn = awkward();
    let schema = json!({"type": "object", "properties": {"price": {"type": "number", "minimum": 0}}});
    let request = ChatRequest {
        temperature: Some(0.5),
        max_tokens: Some(9),
        output_schema: Some(&schema),
        ..turn.request()
    };
    let image = json!({"inlineData": {"mimeType": "image/png", "data": "AQID"}});
    let parameters = json!({"type": "object", "properties": {}});
    let args = json!({"malformed": "{\"to\": "});
    let expected = json!({
        "systemInstruction": {"parts": [{"text": "You help."}]}, "top_k": 5,
        "tools": [{"functionDeclarations": [
            {"name": "fares", "description": "Fares.", "parametersJsonSchema": parameters},
        ]}],
        "generationConfig": {
            "temperature": 0.5, "maxOutputTokens": 9, "responseMimeType": "application/json",
            "responseJsonSchema": schema,
        },
        "contents": [
            {"role": "user", "parts": [{"text": "Look"}, image, {"text": " "}]},
            {"role": "model", "parts": [
                {"functionCall": {"name": "fares", "args": {"to": "Bern"}}},
                {"functionCall": {"name": "fares", "args": args}},
            ]},
            {"role": "user", "parts": [
                {"functionResponse": {"name": "fares", "response": {"output": "[file: 3 bytes]"}}},
                {"functionResponse": {"name": "fares", "response": {"error": ""}}},
                image,
            ]},
            {"role": "user", "parts": [{"text": "Now?"}]},
        ],
    });
    assert_eq!(sent("gemini", request, &turn).await, expected);
}

#[tokio::test]
async fn what_an_answer_was_signed_with_is_sent_back() {
    for provider in ["anthropic", "gemini"] {
        let script =
            move |number, _: &_| stream(&if number == 0 { calls(provider) } else { hello(provider) });
        let server = RawServer::start(script).await.unwrap();
        let model = model(provider, &server, &json!({}));
        let mut turn = Turn::new("a", "Fares?");
        turn.asks.model = "m".into();
        let first = turn.ask(&*model).await.unwrap();
        assert_eq!((&*first.text, first.reasoning.as_deref()), ("Two ", Some("Think.")), "{provider}");
        assert_eq!(turn.pieces().concat(), "Think.Two ");
        assert_eq!((first.usage.input_tokens, first.usage.output_tokens), (8, 4));
        let named = said(&first, &["c1", "call_9"]);
        turn.asks.turn.push(named.clone());
        turn.asks.turn.push(result("c1", "fares", ToolOutput::text("42")));
        turn.asks.turn.push(result("call_9", "now", ToolOutput::error("no clock")));
        turn.ask(&*model).await.unwrap();
        let second = body(&server, 1);
        let (past, results) = if provider == "gemini" {
            let contents = &second["contents"];
            (contents[1]["parts"].clone(), contents[2]["parts"].clone())
        } else {
            (second["messages"][1]["content"].clone(), second["messages"][2]["content"].clone())
        };
        let expected = if provider == "gemini" {
            let signed = json!({"id": "c1", "name": "fares", "args": {"to": "Bern"}});
            json!([
                {"text": "Two "}, {"functionCall": signed, "thoughtSignature": "U0lH"},
                {"functionCall": {"name": "now", "args": {}}},
                {"functionResponse": {"id": "c1", "name": "fares", "response": {"output": "42"}}},
                {"functionResponse": {"name": "now", "response": {"error": "no clock"}}},
            ])
        } else {
            json!([
                {"type": "thinking", "thinking": "Think.", "signature": "U0lH"}, {"type": "text", "text": "Two "},
                {"type": "tool_use", "id": "c1", "name": "fares", "input": {"to": "Bern"}},
                {"type": "tool_use", "id": "call_9", "name": "now", "input": {}},
                {"type": "tool_result", "tool_use_id": "c1", "content": "42"},
                {"type": "tool_result", "tool_use_id": "call_9", "content": "no clock", "is_error": true},
            ])
        };
        let both: Vec<Value> = [past, results].iter().flat_map(|it| it.as_array().unwrap().clone()).collect();
        assert_eq!(Value::Array(both), expected);
        // Of an earlier turn, Anthropic wants no reasoning; Gemini wants its signatures always.
        let mut later = Turn::new("a", "Thanks");
        later.asks.model = "m".into();
        later.asks.history = turn.asks.turn.clone();
        later.ask(&*model).await.unwrap();
        assert_eq!(server.requests()[2].body.contains("U0lH"), provider == "gemini");
    }
}

#[tokio::test]
async fn the_key_is_a_header_and_shows_nowhere() {
    let echo = json!({"error": {"message": format!("bad key {KEY}, x-team hidden-header-77"), "code": 401}});
    for (provider, header) in [("anthropic", "x-api-key"), ("gemini", "x-goog-api-key")] {
        let answer = echo.clone();
        let server = RawServer::start(move |number, _| match number {
            0 => refusal(401, &answer),
            _ => stream(&events(std::slice::from_ref(&answer))),
        });
        let server = server.await.unwrap();
        let model = model(provider, &server, &json!({}));
        let turn = Turn::new("a", "Hello");
        for _ in 0..2 {
            let error = turn.ask(&*model).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unauthenticated, "{error:?}");
            let shown = format!("{error:?} {error:#} {}", serde_json::to_string(&error).unwrap());
            assert!(!shown.contains("sk-very") && !shown.contains("hidden-header"), "{shown}");
        }
        let request = &server.requests()[0];
        assert_eq!(request.headers[header], KEY);
        assert_eq!(request.headers["x-team"], "hidden-header-77");
        assert!(!request.line.contains(KEY) && !request.body.contains(KEY), "{}", request.line);
        let unset = build_context(Path::new("."), &[]);
        let error = build(provider, &unset, &json!({})).err().unwrap();
        assert_eq!(error.code(), "mas::llm::no_key");
    }
}

#[tokio::test]
async fn refusals_before_the_first_token() {
    let anthropic =
        |kind: &str, message: &str| json!({"type": "error", "error": {"type": kind, "message": message}});
    let gemini =
        |message: &str| json!({"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}});
    let long = "The input token count (9) exceeds the maximum number of tokens allowed (8).";
    let daily =
        json!({"error": {"code": 429, "message": "quota", "details": [{"quotaId": "RequestsPerDay"}]}});
    let cases = [
        (
            "anthropic",
            401,
            anthropic("authentication_error", "invalid x-api-key"),
            ErrorKind::Unauthenticated,
            "",
        ),
        ("anthropic", 403, anthropic("permission_error", "no"), ErrorKind::Denied, ""),
        ("anthropic", 404, anthropic("not_found_error", "model: m"), ErrorKind::NotFound, ""),
        (
            "anthropic",
            400,
            anthropic("invalid_request_error", "prompt is too long: 9"),
            ErrorKind::Invalid,
            CONTEXT_LENGTH,
        ),
        ("anthropic", 413, anthropic("request_too_large", "too large"), ErrorKind::Invalid, CONTEXT_LENGTH),
        (
            "gemini",
            400,
            gemini("API key not valid. Please pass a valid API key."),
            ErrorKind::Unauthenticated,
            "",
        ),
        ("gemini", 400, gemini(long), ErrorKind::Invalid, CONTEXT_LENGTH),
        ("gemini", 429, daily, ErrorKind::RateLimited, ""),
    ];
    for (provider, status, body, kind, code) in cases {
        let server = RawServer::start(move |_, _| refusal(status, &body)).await.unwrap();
        let turn = Turn::new("a", "Hello");
        let error = turn.ask(&*model(provider, &server, &json!({}))).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{error:?}");
        assert!(code.is_empty() || error.code() == code, "{error:?}");
        assert_eq!(server.requests().len(), 1, "{error:?}");
    }
}

#[tokio::test]
async fn an_address_where_nothing_is_is_named_whole() {
    for (provider, path) in
        [("anthropic", "/v1/messages"), ("gemini", "/v1beta/models/gpt-4o:streamGenerateContent?alt=sse")]
    {
        let server = RawServer::start(|_, _| refusal(404, &json!({}))).await.unwrap();
        let error = Turn::new("a", "Hello").ask(&*model(provider, &server, &json!({}))).await.unwrap_err();
        let url = format!("{provider} has nothing at {}{path} (HTTP 404); check `api_base`", server.url());
        assert!(error.message().starts_with(&url), "{error}");
    }
}

#[tokio::test]
async fn what_passes_is_tried_again_and_what_was_begun_is_not() {
    let overloaded = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    let delay = json!({"error": {"code": 429, "message": "slow", "details": [{"retryDelay": "0.002s"}]}});
    for (provider, status, told) in [("anthropic", 529, overloaded), ("gemini", 429, delay)] {
        let server = RawServer::start(move |number, _| match number {
            0 => refusal(status, &told),
            1 if provider == "anthropic" => stream(&events(std::slice::from_ref(&told))),
            _ => stream(&hello(provider)),
        });
        let server = server.await.unwrap();
        let turn = Turn::new("a", "Hello");
        let completion = turn.ask(&*model(provider, &server, &json!({}))).await.unwrap();
        assert_eq!((&*completion.text, completion.finish), ("Hello", FinishReason::Stop));
        // An answer that is cut off after its text is an error.
        let whole = calls(provider);
        let marker = if provider == "gemini" { "\"finishReason\"" } else { "message_delta" };
        let cut = whole.split(marker).next().unwrap().to_owned();
        let server = RawServer::start(move |_, _| stream(&cut)).await.unwrap();
        let quick = json!({"retry": {"attempts": 1}});
        let error = turn.ask(&*model(provider, &server, &quick)).await.unwrap_err();
        assert_eq!(error.code(), "mas::llm::incomplete", "{error:?}");
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test]
async fn a_model_that_takes_less_is_asked_for_less() {
    let schema = json!({"type": "object", "properties": {}});
    let anthropic = json!({"error": {"type": "invalid_request_error",
        "message": "`temperature` is deprecated for this model."}});
    let gemini = json!({"error": {"code": 400,
        "message": "Function calling with a response mime type: 'application/json' is unsupported"}});
    for (provider, told, field) in
        [("anthropic", anthropic, "\"temperature\""), ("gemini", gemini, "\"responseMimeType\"")]
    {
        let server = RawServer::start(move |number, _| match number {
            0 => refusal(400, &told),
            _ => stream(&hello(provider)),
        });
        let server = server.await.unwrap();
        let (turn, model) = (awkward(), model(provider, &server, &json!({})));
        let request = ChatRequest { temperature: Some(1.0), output_schema: Some(&schema), ..turn.request() };
        for _ in 0..2 {
            model.chat(&turn.cx, request).await.unwrap();
        }
        let holds: Vec<bool> = server.requests().iter().map(|it| it.body.contains(field)).collect();
        assert_eq!(holds, [true, false, false], "{provider}");
    }
}

#[tokio::test]
async fn without_a_stream_the_whole_answer_is_read() {
    let gemini = json!({"candidates": [{"content": {"parts": [{"text": "Hello"}]}, "finishReason": "STOP"}]});
    let anthropic = json!({"type": "message", "content": [{"type": "text", "text": "Hello"}]});
    for (provider, answer, path) in [
        ("anthropic", anthropic, "/v1/messages"),
        ("gemini", gemini, "/v1beta/models/gpt-4o:generateContent"),
    ] {
        let server = RawServer::start(move |_, _| refusal(200, &answer)).await.unwrap();
        let turn = Turn::new("a", "Hi");
        let completion = turn.ask(&*model(provider, &server, &json!({"stream": false}))).await.unwrap();
        assert_eq!(&*completion.text, "Hello");
        assert_eq!(server.requests()[0].line, format!("POST {path} HTTP/1.1"));
    }
}
