//! Keys and headers are in no error, no event, no log and no debug print, wherever a server sends them back.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may stop short")]

#[allow(dead_code, reason = "each test uses a part of it")]
mod support;

use std::path::Path;

use mas_testkit::{
    Log,
    http::{Act, RawServer},
};
use rstest::rstest;
use serde_json::{Value, json};
use support::{Turn, build, build_context, keyed};

const KEY: &str = "sk-the-key-itself";
const HEADER: &str = "the-header-secret";

/// Beginnings of the two, since a cut may go through them.
const HEADS: [&str; 2] = ["sk-the", "the-hea"];

#[track_caller]
fn assert_silent(what: &str, text: &str) {
    for head in HEADS {
        assert!(!text.contains(head), "{what}: {text}");
    }
}

fn data(event: &str) -> Vec<Act> {
    vec![Act::stream(), Act::Send(format!("data: {event}\n\n").into_bytes())]
}

/// Answers that hold this text, each with a name: refusals, and streams that go wrong.
fn answers(echo: &str) -> Vec<(&'static str, Vec<Act>)> {
    let told = json!({"error": {"message": echo, "code": echo, "type": echo, "status": echo}}).to_string();
    let mut all: Vec<_> = [400, 401, 403, 404, 408, 413, 422, 429, 500, 529]
        .into_iter()
        .flat_map(|status| {
            [("JSON", "application/json", &*told), ("text", "text/plain", echo)]
                .map(|(name, kind, body)| (name, vec![Act::answer(status, kind, body)]))
        })
        .collect();
    let head = format!("HTTP/1.1 302 X\r\nlocation: /login?next={echo}\r\ncontent-length: 0\r\n\r\n");
    let unknown = json!({"type": echo, "content_block": {"type": echo}, "index": 0, "delta": {"type": echo}});
    let begun = json!({"type": "content_block_start", "index": 0, "content_block": {"type": echo}});
    let stopped = json!({"type": "message_delta", "delta": {"stop_reason": echo}});
    let part = json!({"candidates": [{"content": {"parts": [{(echo): 1}]}}]});
    let reason = json!({"candidates": [{"finishReason": echo, "finishMessage": echo}]});
    let blocked = json!({"promptFeedback": {"blockReason": echo}});
    let content = json!({"choices": [{"delta": {"content": {(echo): echo}}}]});
    let call = json!({"choices": [{"delta": {"tool_calls": [echo]}}]});
    let arguments = json!({"choices": [{"delta": {"tool_calls": [{"function": {"arguments": [echo]}}]}}]});
    let details = json!({"choices": [{"delta": {"reasoning_details": echo}}]});
    let events = [unknown, begun, stopped, part, reason, blocked, content, call, arguments, details];
    all.push(("a redirect", vec![Act::Send(head.into_bytes())]));
    all.push(("an error in the stream", data(&told)));
    all.push(("a damaged event", data(&format!("{{{echo}"))));
    all.push(("a page", vec![Act::stream(), Act::Send(format!("<p>{echo}").into_bytes())]));
    all.push(("a damaged body", vec![Act::stream(), Act::Send(format!("{{\"{echo}").into_bytes())]));
    all.push(("nothing", Vec::new()));
    all.extend(events.into_iter().map(|event| ("an event", data(&event.to_string()))));
    all
}

#[rstest]
#[tokio::test]
async fn no_secret_is_shown(#[values("openai", "anthropic", "gemini")] provider: &'static str) {
    let (log, _logged) = Log::of_this_thread();
    let mut all = answers(&format!("Bearer {KEY}; X-Team: {HEADER}"));
    // Excerpts of several lengths end within one of the two.
    for padding in (60..125).chain(1980..2060).step_by(9) {
        let echo = format!("{}{KEY}{HEADER}", " ".repeat(padding));
        all.extend(answers(&echo).into_iter().filter(|(_, acts)| !acts.is_empty()));
    }
    let names: Vec<_> = all.iter().map(|(name, _)| *name).collect();
    let server = RawServer::start(move |_, request| {
        let (_, number) = request.body.split_once("answer number ").unwrap();
        let digits: String = number.chars().take_while(char::is_ascii_digit).collect();
        all[digits.parse::<usize>().unwrap()].1.clone()
    })
    .await
    .unwrap();
    let params = json!({"api_base": server.url(), "headers": {"X-Team": HEADER}});
    let retry = json!({"retry": {"attempts": 2, "base": 0.001, "max": 0.001}});
    let model = keyed(provider, KEY, params, &retry);
    for (number, name) in names.into_iter().enumerate() {
        let turn = Turn::new("a", &format!("answer number {number}"));
        let outcome = turn.ask(&*model).await;
        let json = match &outcome {
            Ok(completion) => serde_json::to_string(completion).unwrap(),
            Err(error) => format!("{error} {error:#} {}", serde_json::to_string(error).unwrap()),
        };
        assert_silent(name, &format!("{json} {outcome:?} {:?}", turn.sink.kinds()));
    }
    for sent in server.requests() {
        let carries = |text: &str| sent.headers.values().any(|value| value.contains(text));
        assert!(carries(KEY) && carries(HEADER) && !sent.line.contains(KEY), "{}", sent.line);
    }
    let log = log.text();
    assert!(log.contains("a model call failed") && log.contains("TRACE"), "{log}");
    assert_silent("the log", &log);
}

#[test]
fn a_debug_print_of_what_a_provider_is_built_from_shows_no_key() {
    let cx = build_context(Path::new("."), &[("THE_KEY", KEY)]);
    assert_silent("the context", &format!("{cx:?} {:?}", cx.env));
    for provider in ["openai", "anthropic", "gemini"] {
        let wrong: [Value; 3] = [
            json!({"api_base": format!("http://h:99999999/{HEADER}"), "api_key_env": "THE_KEY"}),
            json!({"api_base": format!("ftp://me:{HEADER}@h"), "api_key_env": "THE_KEY"}),
            json!({"proxy": format!("nowhere://me:{HEADER}@h"), "api_key_env": "THE_KEY", "headers": {"a b": HEADER}}),
        ];
        for params in wrong {
            if let Err(error) = build(provider, &cx, &params) {
                assert_silent(provider, &format!("{error:?} {error:#}"));
            }
        }
    }
}
