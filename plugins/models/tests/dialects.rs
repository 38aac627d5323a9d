//! `openai` over real sockets: every dialect that is out there, split at every byte.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)] // a test may stop short
#![allow(clippy::needless_pass_by_value)] // tables of cases read better with values

#[allow(dead_code, reason = "each test uses a part of it")]
mod support;

use mas_contracts::{Audience, Completion, Result};
use mas_testkit::http::{Act, RawServer};
use rstest::rstest;
use serde_json::{Value, json};
use support::{Turn, keyed};

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
    let quick = json!({"retry": {"attempts": 1}});
    let model = keyed("openai", "sk-a-key", json!({"api_base": server.url()}), &quick);
    for number in 0..bytes.len() {
        let turn = Turn::new("a", "hi");
        let result = turn.ask(&*model).await;
        assert_eq!(seen(&result), wanted, "split {number}");
        if let Ok(done) = &result {
            let thought = turn.sink.text(Audience::Reasoning);
            assert_eq!(
                (turn.said(), thought.as_str()),
                (done.text.to_string(), done.reasoning.as_deref().unwrap_or("")),
                "split {number}"
            );
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
        r#"{"index":3,"id":"w","function":{"name":"w","arguments":"null"}}"#,
        r#"{"index":4,"id":"v","function":{"name":"v","arguments":" "}}"#], "tool_calls"),
    asks(json!([["x", "t", "{}"], ["y", "u", "{}"], ["z", "v", "{}"], ["w", "w", "{}"], ["v", "v", "{}"]]))
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
#[case::pieces_by_index_with_the_id_repeated(
    calls(&[r#"{"index":0,"id":"x","type":"function","function":{"name":"t","arguments":""}}"#,
        r#"{"index":1,"id":"y","function":{"name":"u","arguments":"{\"b\""}}"#,
        r#"{"index":0,"id":"x","function":{"arguments":"{\"a\":"}}"#, r#"{"index":1,"function":{"arguments":":2}"}}"#,
        r#"{"index":0,"function":{"name":null,"arguments":"1}"}}"#], "tool_calls"),
    asks(json!([["x", "t", r#"{"a":1}"#], ["y", "u", r#"{"b":2}"#]]))
)]
#[case::r69_empty_ids_under_one_index(
    calls(&[r#"{"index":0,"id":"","function":{"name":"t","arguments":"{\"a\":1}"}}"#,
        r#"{"index":0,"id":"","function":{"name":"t","arguments":"{\"a\":2}"}}"#], "tool_calls"),
    asks(json!([["", "t", r#"{"a":1}"#], ["", "t", r#"{"a":2}"#]]))
)]
#[case::usage_beside_the_choice(
    data(&[r#"{"choices":[{"index":0,"delta":{"content":"a"}}],"usage":{"prompt_tokens":3,"completion_tokens":1}}"#,
        r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop","usage":{"prompt_tokens":3,"completion_tokens":2}}]}"#, "[DONE]"]),
    says("a", [3, 2])
)]
#[case::reasoning_twice_is_meant_once(
    data(&[&delta(r#"{"reasoning_content":"hm","reasoning":"hm"}"#), &delta(r#"{"reasoning":"!","reasoning_details":[{"type":"reasoning.text","text":"!"}]}"#),
        &delta(r#"{"content":"<think>a"}"#), "[DONE]"]),
    json!({"text": "<think>a", "reasoning": "hm!", "calls": [], "usage": [0, 0], "finish": "Stop"})
)]
#[case::reasoning_in_parts_of_the_content(
    data(&[&delta(r#"{"content":[{"type":"thinking","thinking":[{"type":"text","text":"h"},{"type":"text","text":"m"}]}]}"#),
        &delta(r#"{"content":[{"type":"text","text":"a"},{"type":"reference","reference_ids":[1]},"b"]}"#), "[DONE]"]),
    json!({"text": "ab", "reasoning": "hm", "calls": [], "usage": [0, 0], "finish": "Stop"})
)]
#[case::reasoning_in_details(
    data(&[&delta(r#"{"reasoning_details":[{"type":"reasoning.summary","summary":"h"},{"type":"reasoning.encrypted","data":"eA=="}]}"#),
        &delta(r#"{"content":"a"}"#), "[DONE]"]),
    json!({"text": "a", "reasoning": "h", "calls": [], "usage": [0, 0], "finish": "Stop"})
)]
#[case::a_refusal(
    data(&[&delta(r#"{"refusal":"no"}"#), r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#, "[DONE]"]),
    json!({"text": "no", "reasoning": null, "calls": [], "usage": [0, 0], "finish": "Filtered"})
)]
#[case::a_whole_answer_with_a_call(
    r#"{"choices":[{"message":{"content":"a","tool_calls":[{"id":"x","function":{"name":"t","arguments":"{}"}}]},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}"#.to_owned(),
    json!({"text": "a", "reasoning": null, "calls": [["x", "t", "{}"]], "usage": [1, 2], "finish": "Stop"})
)]
#[case::a_content_that_is_a_number(data(&[&delta(r#"{"content":7}"#), "[DONE]"]), json!({"error": "mas::llm::unreadable"}))]
#[case::a_part_of_no_known_kind(
    data(&[&delta(r#"{"content":[{"type":"image_url","image_url":{"url":"u"}}]}"#), "[DONE]"]),
    json!({"error": "mas::llm::unreadable"})
)]
#[case::a_page(" <html>please log in</html>".to_owned(), json!({"error": "mas::llm::undecodable"}))]
#[case::cut_off(data(&[&delta(r#"{"content":"half"}"#)]), json!({"error": "mas::llm::incomplete"}))]
#[case::r66_an_undecodable_chunk(data(&[&delta(r#"{"content":"a"}"#), "{nonsense", "[DONE]"]), json!({"error": "mas::llm::unreadable"}))]
#[tokio::test]
async fn a_dialect_split_anywhere_gives_the_same(#[case] body: String, #[case] wanted: Value) {
    dialect(&body, wanted).await;
}
