//! What tools give back, and how they fail.

use std::sync::Arc;

use mas_contracts::ToolContract;
use mas_testkit::call_context;
use serde_json::{Value, json};

use crate::support::{Bench, Call, result, try_call};

async fn odd(bench: &Bench) -> Arc<dyn ToolContract> {
    let source = bench.tool(&json!({"module_path": "odd/results.py", "class_name": "Results"}));
    source.list().await.unwrap();
    source
}

#[tokio::test]
async fn a_result_of_any_kind_is_shown_as_json() {
    let bench = Bench::new();
    let source = odd(&bench).await;
    let table = [
        ("generator", json!([1, {"two": 2}])),
        ("coroutine", json!(["2026-01-02", "1.50"])),
        ("stream", json!(["a", "b"])),
        ("generator_later", json!([0, 1])),
        ("views", json!([["a"], [1], [0, 1], [3]])),
        ("mapping", json!({"a": {"b": 1}})),
        ("arrays", json!([[1, 2], "raw", "[2 bytes that are not text in UTF-8]"])),
        ("opaque", json!({"it": "opaque"})),
    ];
    for (name, expected) in table {
        let shown = result(&*source, name, json!({})).await.unwrap();
        assert_eq!(serde_json::from_str::<Value>(&shown).unwrap(), expected, "{name}");
        assert_eq!(shown, serde_json::to_string_pretty(&expected).unwrap(), "{name}");
    }
    assert_eq!(result(&*source, "not_a_number", json!({})).await.unwrap(), "{\n  \"it\": NaN\n}");
}

#[tokio::test]
async fn a_result_that_cannot_be_shown_is_a_failure_that_says_why() {
    let bench = Bench::new();
    let source = odd(&bench).await;
    let table = [
        ("bad_keys", "the result cannot be written as JSON: keys must be str, int, float, bool or None"),
        ("deep", "the result cannot be written as JSON: maximum recursion depth exceeded"),
        ("endless", "the result has more than 1000000 items"),
        ("endless_stream", "the result has more than 1000000 items"),
        ("endless_sequence", "the result has more than 1000000 items"),
        ("late_failure", "ValueError: half way (results.py:"),
        ("unshowable", "Unshowable (results.py:"),
        ("exit_later", "the tool called sys.exit('enough') (results.py:"),
        ("interrupt", "KeyboardInterrupt (results.py:"),
        ("line", "EOFError: EOF when reading a line (results.py:"),
    ];
    for (name, expected) in table {
        let failure = result(&*source, name, json!({})).await.unwrap_err();
        assert!(failure.starts_with(&format!("`{name}` failed: {expected}")), "{failure}");
    }
    // None of them ends the process.
    assert_eq!(result(&*source, "opaque", json!({})).await.unwrap(), "{\n  \"it\": \"opaque\"\n}");
}

#[tokio::test]
async fn a_tool_that_closes_the_channel_ends_its_process_with_a_reason() {
    let bench = Bench::new();
    let source = odd(&bench).await;
    let error = try_call(&*source, &call_context(), Call::new("closed", json!({}))).await.err().unwrap();
    assert_eq!(
        error.message(),
        "the call was interrupted: its Python process was ended by the signal SIGKILL; the last that it printed:\na \
         tool has closed what it has not opened: [Errno 9] Bad file descriptor; it may be tried again"
    );
    assert!(result(&*source, "opaque", json!({})).await.is_ok());
}
