//! Scripts: conditions, replies, templates, waits and what is said about a broken one.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)] // a test may stop short

#[allow(dead_code, reason = "each test uses a part of it")]
mod support;

use std::{path::Path, sync::Arc, time::Duration};

use mas_contracts::{CancelReason, Error, ErrorKind, Message, ModelContract, ToolOutput};
use rstest::rstest;
use serde_json::{Value, json};
use support::{Turn, build, build_context, descriptor};

fn script(yaml: &str) -> Arc<dyn ModelContract> {
    try_script(yaml).unwrap()
}

fn try_script(yaml: &str) -> Result<Arc<dyn ModelContract>, Error> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("script.yaml"), yaml).unwrap();
    build("scripted", &build_context(folder.path(), &[]), &json!({"path": "script.yaml"}))
}

fn result(tool: &str, text: &str, failed: bool) -> Arc<Message> {
    let output = if failed { ToolOutput::error(text) } else { ToolOutput::text(text) };
    Arc::new(Message::Tool { call: "c".into(), name: tool.into(), output })
}

async fn text(model: &dyn ModelContract, turn: &Turn) -> String {
    turn.ask(model).await.unwrap().text.to_string()
}

/// The example of the module's documentation.
fn documented() -> String {
    let source = include_str!("../src/scripted.rs");
    let (_, from) = source.split_once("//! ```yaml\n").unwrap();
    let (yaml, _) = from.split_once("//! ```\n").unwrap();
    yaml.lines().map(|line| format!("{}\n", line.strip_prefix("//! ").unwrap())).collect()
}

#[tokio::test(start_paused = true)]
async fn the_documented_script_plays() {
    let model = script(&documented());
    let mut turn = Turn::new("moderator", "Plan a Trip");
    let answer = turn.ask(&*model).await.unwrap();
    assert_eq!(&*answer.calls[0].id, "call_1_1");
    assert_eq!(answer.calls[0].arguments.to_json(), r#"{"task":"Fare for: Plan a Trip"}"#);
    turn.asks.turn.push(result("delegate_to_fares", "42 EUR", false));
    assert_eq!(text(&*model, &turn).await, "The fare desk says: 42 EUR");
    turn.asks.turn.push(result("delegate_to_fares", "timeout", true));
    assert_eq!(text(&*model, &turn).await, "I could not reach fares.");
    let fares = Turn::new("fares", "Fare for: x");
    assert_eq!(text(&*model, &fares).await, "42 EUR");
    assert_eq!(fares.pieces(), ["42 ", "EUR"]);
    assert_eq!(fares.times()[1] - fares.times()[0], Duration::from_millis(200));
    let error = Turn::new("any", "fail").ask(&*model).await.err().unwrap();
    assert_eq!((error.kind(), error.message()), (ErrorKind::Unavailable, "the model is down"));
    assert_eq!(text(&*model, &Turn::new("any", "hi")).await, "You said: hi");
}

#[rstest]
#[case("agent: qa", true)]
#[case("agent: other", false)]
#[case("model: gpt-4o", true)]
#[case("model: gpt", false)]
#[case("equals: Plan it", true)]
#[case("equals: plan it", false)]
#[case("contains: 'PLAN'", true)]
#[case("contains: trip", false)]
#[case("matches: 'plan ?t'", true)]
#[case("matches: 'pl'", false)]
#[case("after_tool: calc", true)]
#[case("after_tool: find", false)]
#[case("after: [calc, search]", true)]
#[case("after: [calc, find]", false)]
#[case("tool_failed: search", true)]
#[case("tool_failed: calc", false)]
#[case("call: 2", true)]
#[case("call: 1", false)]
#[case("agent: qa\n    call: 1", false)]
#[tokio::test(start_paused = true)]
async fn conditions(#[case] condition: &str, #[case] holds: bool) {
    let model = script(&format!("rules:\n  - {condition}\n    say: 'yes'\n  - say: 'no'\n"));
    let mut turn = Turn::new("qa", "Plan it");
    turn.asks.history = vec![result("find", "old turn", true)];
    turn.asks.turn.push(Arc::new(Message::assistant("let me see")));
    turn.asks.turn.push(result("calc", "broken", true));
    turn.asks.turn.push(result("calc", "4", false));
    turn.asks.turn.push(result("search", "broken", true));
    assert_eq!(text(&*model, &turn).await, if holds { "yes" } else { "no" });
}

#[tokio::test(start_paused = true)]
async fn a_text_streams_word_by_word_and_usage_can_be_given() {
    let model = script("rules: [{say: 'three plain words', usage: {input_tokens: 7, output_tokens: 3}}]");
    let turn = Turn::new("qa", "hi");
    let answer = turn.ask(&*model).await.unwrap();
    assert_eq!(turn.pieces(), ["three ", "plain ", "words"]);
    assert_eq!((answer.usage.input_tokens, answer.usage.output_tokens), (7, 3));
    assert_eq!(answer, Turn::new("qa", "hi").ask(&*model).await.unwrap(), "the same again");
}

#[tokio::test(start_paused = true)]
async fn a_wait_ends_by_cancel_or_deadline() {
    let model = script("rules: [{say: late, delay_ms: 5000}]");
    let turn = Turn::new("qa", "hi");
    let start = tokio::time::Instant::now();
    turn.ask(&*model).await.unwrap();
    assert_eq!(start.elapsed(), Duration::from_secs(5));

    let turn = Turn::new("qa", "hi");
    let stop = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        turn.cx.cancel().cancel(CancelReason::Requested);
    };
    let start = tokio::time::Instant::now();
    let (answer, ()) = tokio::join!(turn.ask(&*model), stop);
    assert_eq!(answer.err().unwrap().kind(), ErrorKind::Cancelled);
    assert_eq!(start.elapsed(), Duration::from_secs(1));

    let mut turn = Turn::new("qa", "hi");
    turn.cx = turn.cx.clone().within(turn.cx.clock().now(), Duration::from_secs(2));
    assert_eq!(turn.ask(&*model).await.err().unwrap().kind(), ErrorKind::Timeout);
}

#[tokio::test(start_paused = true)]
async fn no_rule_names_agent_and_text() {
    let model = script("rules: [{agent: other, say: x}]");
    let mut turn = Turn::new("qa", &"word ".repeat(30));
    turn.asks.turn.push(result("calc", "4", false));
    let error = turn.ask(&*model).await.err().unwrap();
    assert_eq!(error.code(), "mas::scripted::no_rule");
    assert_eq!(
        error.message(),
        format!(
            "no rule of the script fits agent `qa` in model call 1 of the turn; the user's text is `{}…`; tool \
             results of calc",
            "word ".repeat(12)
        )
    );
    let model = script("rules: [{say: '{tool:calc}'}]");
    let error = Turn::new("qa", "hi").ask(&*model).await.err().unwrap();
    assert_eq!(error.message(), "the script says {tool:calc}, but `calc` has no result in this turn");
}

#[rstest]
#[case("rules: [{say: x, sya: y}]", "unknown field `sya`")]
#[case("rule: []", "unknown field `rule`")]
#[case("rules: []", "at least one rule")]
#[case("rules: [{agent: x}]", "rules[0]: the rule has no reply")]
#[case("rules: [{say: x, chunks: [y]}]", "rules[0].chunks: `say` and `chunks`")]
#[case("rules: [{say: x}, {error: {kind: failed, message: m}, say: x}]", "rules[1].error")]
#[case("rules: [{error: {kind: odd, message: m}}]", "unknown variant `odd`")]
#[case("rules: [{say: x, call: 0}]", "counted from 1")]
#[case("rules: [", "line 1")]
fn broken_scripts_say_what_is_wrong(#[case] yaml: &str, #[case] part: &str) {
    let error = try_script(yaml).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    let shown = format!("{error:#}");
    assert!(shown.contains(part), "{shown}");
    assert!(shown.contains("script.yaml"), "{shown}");
}

#[test]
fn params_take_a_path_or_rules() {
    let check = descriptor("scripted").check;
    assert!(check(&Value::Null)[0].message.contains("needs `path` or `rules`"));
    assert!(check(&json!({"path": "a", "rules": [{"say": "x"}]}))[0].message.contains("not both"));
    assert_eq!(check(&json!({"rules": [{"say": "x"}, {}]}))[0].path, "rules[1]");
    assert!(check(&json!({"rules": [{"say": "x"}]})).is_empty());
    let cx = build_context(Path::new("."), &[]);
    let missing = build("scripted", &cx, &json!({"path": "no/such.yaml"})).err().unwrap();
    assert_eq!(missing.kind(), ErrorKind::NotFound);
    assert!(missing.message().contains("no/such.yaml"));
}
