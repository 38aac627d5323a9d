//! `openai` against a server of the test's own, over real sockets: every dialect byte by byte, a cancel, secrets.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "functions that tests share")]

use std::{path::Path, sync::Arc, time::Duration};

use mas_contracts::{
    Audience, BuildContext, Builder, CallContext, CancelReason, ChatRequest, Completion, Descriptor, Error,
    ErrorKind, EventKind, Message, ModelContract, Result, Usage, inventory,
};
use mas_models as _; // links the registrations
use mas_testkit::{
    CallContextBuilder, RecordingSink, build_context,
    http::{Act, RawServer},
};
use serde_json::{Value, json};

const KEY: &str = "sk-the-key-itself";
const HEADER: &str = "the-header-secret";

fn build(name: &str, cx: &BuildContext, params: &Value) -> Result<Arc<dyn ModelContract>> {
    let found = inventory::iter::<Descriptor>().find(|descriptor| descriptor.name == name).unwrap();
    match &found.builder {
        Builder::Model(build) => build.build(cx, params),
        other => Err(Error::internal(other.category().as_str())),
    }
}

fn model(params: &Value) -> Arc<dyn ModelContract> {
    build("openai", &build_context(Path::new("."), &[("OUR_KEY", KEY)]), params).unwrap()
}

async fn ask(model: &dyn ModelContract, cx: &CallContext) -> Result<Completion> {
    let turn = [Arc::new(Message::user("go"))];
    let name = Arc::from("m");
    let request = ChatRequest {
        model: &name,
        system: "be brief",
        history: &[],
        turn: &turn,
        prompt: &[],
        tools: &[],
        audience: Audience::Answer,
        temperature: None,
        max_tokens: None,
        output_schema: None,
    };
    model.chat(cx, request).await
}

/// The answer in short: text, reasoning, calls, tokens.
fn shown(completion: &Completion) -> String {
    let calls: Vec<String> = completion
        .calls
        .iter()
        .map(|call| format!("{}:{}{}", call.id, call.name, call.arguments.to_json()))
        .collect();
    let Usage { input_tokens, output_tokens, .. } = completion.usage;
    let reasoning = completion.reasoning.as_deref().unwrap_or("-");
    format!("{:?} {reasoning} [{}] {input_tokens}/{output_tokens}", completion.text, calls.join(" "))
}

const END: &str =
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n";

/// A stream of these entries of `tool_calls`, one chunk each.
fn calls(entries: &[&str]) -> String {
    let chunk = |entry: &&str| {
        format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"tool_calls\":[{entry}]}}}}]}}\n\n")
    };
    entries.iter().map(chunk).collect::<String>() + END
}

fn dialects() -> Vec<(&'static str, String, &'static str)> {
    let text = |chunks: &[&str]| chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect::<String>();
    vec![
        (
            "plain, CRLF, comments and no space",
            ": hi\r\n\r\ndata:{\"choices\":[{\"delta\":{\"content\":\"né\"}}]}\r\n\r\ndata:\r\n\r\ndata: {\"choices\":[{\"delta\":{\"content\":\" o\"},\"finish_reason\":\"stop\"}]}\r\n\r\ndata: [DONE]\r\n\r\n".to_owned(),
            "\"né o\" - [] 0/0",
        ),
        (
            "R71: no choices, null delta, null usage, usage twice and last",
            text(&[
                r#"{"choices":[],"prompt_filter_results":[]}"#,
                r#"{"choices":[{"index":0,"delta":null}],"usage":null}"#,
                r#"{"choices":[{"index":0,"delta":{"content":"a"}}],"usage":{"prompt_tokens":3,"completion_tokens":1}}"#,
                r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop","usage":{"prompt_tokens":3,"completion_tokens":2}}]}"#,
                r#"{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":4}}"#,
                "[DONE]",
            ]),
            "\"a\" - [] 3/4",
        ),
        (
            "no [DONE], reasoning in a field of its own, text in parts",
            text(&[
                r#"{"choices":[{"delta":{"reasoning_content":"hm","reasoning":"hm"}}]}"#,
                r#"{"choices":[{"delta":{"content":[{"type":"text","text":"<think>a"}]}}]}"#,
                r#"{"choices":[{"delta":{"content":null},"finish_reason":"stop"}]}"#,
            ]),
            "\"<think>a\" hm [] 0/0",
        ),
        (
            "pieces by index, name once, id repeated",
            calls(&[
                r#"{"index":0,"id":"x","type":"function","function":{"name":"t","arguments":""}}"#,
                r#"{"index":1,"id":"y","function":{"name":"u","arguments":"{\"b\""}}"#,
                r#"{"index":0,"id":"x","function":{"arguments":"{\"a\":"}}"#,
                r#"{"index":1,"function":{"arguments":":2}"}}"#,
                r#"{"index":0,"function":{"name":null,"arguments":"1}"}}"#,
            ]),
            r#""" - [x:t{"a":1} y:u{"b":2}] 0/0"#,
        ),
        (
            "R66: arguments as an object and as null",
            calls(&[
                r#"{"index":0,"id":"x","function":{"name":"t","arguments":{"a":1}}}"#,
                r#"{"index":1,"id":"y","function":{"name":"u","arguments":null}}"#,
            ]),
            r#""" - [x:t{"a":1} y:u{}] 0/0"#,
        ),
        (
            "R67: empty, blank, null and absent arguments",
            calls(&[
                r#"{"index":0,"id":"a","function":{"name":"t","arguments":""}}"#,
                r#"{"index":1,"id":"b","function":{"name":"t","arguments":" "}}"#,
                r#"{"index":2,"id":"c","function":{"name":"t","arguments":"null"}}"#,
                r#"{"index":3,"id":"d","function":{"name":"t"}}"#,
            ]),
            r#""" - [a:t{} b:t{} c:t{} d:t{}] 0/0"#,
        ),
        (
            "R68: no index",
            calls(&[
                r#"{"id":"x","function":{"name":"t","arguments":"{\"a\""}}"#,
                r#"{"function":{"arguments":":1}"}}"#,
                r#"{"index":null,"id":"y","function":{"name":"t","arguments":"{\"b\""}}"#,
                r#"{"index":null,"function":{"arguments":":2}"}}"#,
            ]),
            r#""" - [x:t{"a":1} y:t{"b":2}] 0/0"#,
        ),
        (
            "R69: empty ids, equal ids, index repeated",
            calls(&[
                r#"{"index":0,"id":"","function":{"name":"t","arguments":"{\"a\":1}"}}"#,
                r#"{"index":0,"id":"","function":{"name":"t","arguments":"{\"a\":2}"}}"#,
                r#"{"index":0,"id":"call_0","function":{"name":"u","arguments":"{\"b\":1}"}}"#,
                r#"{"index":1,"id":"call_0","function":{"name":"u","arguments":"{\"b\":2}"}}"#,
            ]),
            r#""" - [:t{"a":1} :t{"a":2} call_0:u{"b":1} call_0:u{"b":2}] 0/0"#,
        ),
        (
            "function_call, the form before",
            text(&[
                r#"{"choices":[{"delta":{"function_call":{"name":"t","arguments":"{\"a\""}}}]}"#,
                r#"{"choices":[{"delta":{"function_call":{"arguments":":1}"}},"finish_reason":"function_call"}]}"#,
                "[DONE]",
            ]),
            r#""" - [:t{"a":1}] 0/0"#,
        ),
        (
            "a whole body where a stream was asked for",
            r#"{"choices":[{"message":{"content":"a","tool_calls":[{"id":"x","function":{"name":"t","arguments":"{}"}}]},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}"#.to_owned(),
            r#""a" - [x:t{}] 1/2"#,
        ),
    ]
}

#[tokio::test]
async fn every_dialect_gives_the_same_answer_wherever_it_is_split() {
    let mut all = tokio::task::JoinSet::new();
    for (name, bytes, expected) in dialects() {
        all.spawn(split_everywhere(name, bytes, expected));
    }
    while let Some(played) = all.join_next().await {
        played.unwrap();
    }
}

async fn split_everywhere(name: &'static str, bytes: String, expected: &'static str) {
    let played = bytes.clone();
    // Request n is answered in two pieces that are split at byte n; the last one byte by byte.
    let server = RawServer::start(move |number, _| {
        let bytes = played.as_bytes();
        match bytes.split_at_checked(number).filter(|_| number < bytes.len()) {
            Some((one, two)) => {
                vec![
                    Act::stream(),
                    Act::Send(one.to_vec()),
                    Act::Pause(Duration::from_micros(50)),
                    Act::Send(two.to_vec()),
                ]
            }
            None => vec![Act::stream(), Act::Drip(bytes.to_vec(), 1)],
        }
    })
    .await
    .unwrap();
    let model = model(&json!({"api_base": server.url()}));
    for split in 0..=bytes.len() {
        let sink = RecordingSink::new();
        let cx = CallContextBuilder::new("a").sink(sink.clone()).build();
        let completion = ask(&*model, &cx).await.unwrap();
        assert_eq!(shown(&completion), expected, "{name}, split at {split}");
        assert_eq!(sink.text(Audience::Answer), &*completion.text, "{name}, split at {split}");
    }
    assert_eq!(server.requests()[0].line, "POST /v1/chat/completions HTTP/1.1");
}

#[tokio::test]
async fn what_cannot_be_read_is_an_error() {
    for (bytes, code) in [
        (
            "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: {\"cho\n\ndata: [DONE]\n\n",
            "mas::llm::unreadable",
        ),
        ("data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n", "mas::llm::incomplete"),
        ("data: {\"choices\":[{\"delta\":{\"content\":7}}]}\n\n", "mas::llm::unreadable"),
        ("<html>please log in</html>", "mas::llm::undecodable"),
    ] {
        let server =
            RawServer::start(move |_, _| vec![Act::stream(), Act::Send(bytes.into())]).await.unwrap();
        let error =
            ask(&*model(&json!({"api_base": server.url()})), &mas_testkit::call_context()).await.unwrap_err();
        assert_eq!((error.code().as_ref(), server.requests().len()), (code, 1), "{error:?}");
    }
}

#[tokio::test]
async fn a_cancel_in_the_middle_of_a_stream_ends_it_at_once_and_hangs_up() {
    let first = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n";
    let server =
        RawServer::start(move |_, _| vec![Act::stream(), Act::Send(first.into()), Act::Hold]).await.unwrap();
    let model = model(&json!({"api_base": server.url()}));
    let sink = RecordingSink::new();
    let cx = CallContextBuilder::new("a").sink(sink.clone()).build();
    let call = tokio::spawn({
        let cx = cx.clone();
        async move { ask(&*model, &cx).await }
    });
    sink.wait_for(|event| matches!(event.kind, EventKind::TextDelta { .. })).await;
    let began = std::time::Instant::now();
    cx.cancel().cancel(CancelReason::Requested);
    let error = call.await.unwrap().unwrap_err();
    server.wait_for_hang_ups(1).await;
    assert!(began.elapsed() < Duration::from_millis(200), "{:?}", began.elapsed());
    assert_eq!(error.kind(), ErrorKind::Cancelled);
}

fn secretive(what: &str, errors: &[Error], events: &[EventKind]) {
    let all = format!(
        "{errors:?} {events:?} {:#?}",
        errors.iter().map(|error| format!("{error:#}")).collect::<Vec<_>>()
    );
    assert!(!all.contains(KEY) && !all.contains(HEADER), "{what}: {all}");
}

#[tokio::test]
async fn keys_are_in_no_error_no_event_and_no_log() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter("mas_models=trace,mas_comm_kit=trace")
        .with_writer(move || writer.clone())
        .finish();
    let _logged = tracing::subscriber::set_default(subscriber);
    let echo = format!("Authorization: Bearer {KEY}; X-Team: {HEADER}");
    let in_stream = format!("data: {}\n\n", json!({"error": {"message": echo}}));
    let damaged = format!("data: {{ {echo}\n\n");
    let json_error = json!({"error": {"message": echo, "code": echo}}).to_string();
    let acts: Vec<(&str, Vec<Act>)> = vec![
        ("400", vec![Act::answer(400, "application/json", &json_error)]),
        ("401", vec![Act::answer(401, "text/plain", &echo)]),
        ("403", vec![Act::answer(403, "application/json", &json_error)]),
        ("404", vec![Act::answer(404, "text/html", &echo)]),
        ("429", vec![Act::answer(429, "application/json", &json_error)]),
        ("500", vec![Act::answer(500, "application/json", &json_error)]),
        ("in the stream", vec![Act::stream(), Act::Send(in_stream.into())]),
        ("damaged", vec![Act::stream(), Act::Send(damaged.into())]),
        ("a page", vec![Act::stream(), Act::Send(format!("<p>{echo}").into())]),
        ("nothing", vec![]),
    ];
    for (what, acts) in acts {
        let server = RawServer::start(move |_, _| acts.clone()).await.unwrap();
        let params = json!({
            "api_base": server.url(), "api_key_env": "OUR_KEY", "headers": {"X-Team": HEADER},
            "retry": {"attempts": 2, "base": 0.001},
        });
        let sink = RecordingSink::new();
        let cx = CallContextBuilder::new("a").sink(sink.clone()).build();
        let error = ask(&*model(&params), &cx).await.unwrap_err();
        let seen = server.requests().remove(0);
        assert_eq!(
            (&*seen.headers["authorization"], &*seen.headers["x-team"]),
            (&*format!("Bearer {KEY}"), HEADER)
        );
        secretive(what, &[error], &sink.kinds());
    }
    let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(log.contains("a model call failed"), "nothing was logged: {log}");
    assert!(!log.contains(KEY) && !log.contains(HEADER), "{log}");
}

// R74 and R72, with limits that a test can wait for.
#[tokio::test]
async fn refusals_and_stalls_are_tried_again_by_the_rule_and_told() {
    let good = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let refused = |status: u16, pause: &str| {
        let head = format!(
            "HTTP/1.1 {status} X\r\nretry-after: {pause}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
        );
        vec![Act::Send(head.into_bytes())]
    };
    let silent = vec![Act::stream(), Act::Hold];
    let answered = vec![Act::stream(), Act::Send(good.into())];
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
        let answered = answered.clone();
        let script = move |number: usize, _: &_| if number == 0 { first.clone() } else { answered.clone() };
        let server = RawServer::start(script).await.unwrap();
        let retry = json!({"base": 0.001});
        let params = json!({"api_base": server.url(), "first_byte_timeout": 0.2, "retry": retry});
        let sink = RecordingSink::new();
        let cx = CallContextBuilder::new("a").sink(sink.clone()).build();
        let outcome = ask(&*model(&params), &cx).await;
        assert_eq!(server.requests().len(), requests, "case {number}: {outcome:?}");
        let notices =
            sink.kinds().into_iter().filter(|kind| matches!(kind, EventKind::Notice { .. })).count();
        assert_eq!(notices, requests - 1, "case {number}");
        match failure {
            None => assert_eq!(&*outcome.unwrap().text, "a", "case {number}"),
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

/// Keeps what is logged.
#[derive(Clone, Default)]
struct Log(Arc<std::sync::Mutex<Vec<u8>>>);

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
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
