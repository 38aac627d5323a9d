//! What the views hold, for histories with parallel calls.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)] // a test may stop short

use std::{borrow::Cow, sync::Arc};

use mas_context::{SlidingWindow, Stack};
use mas_contracts::{
    Arguments, ContextManagerContract, Descriptor, Message, ToolCall, ToolOutput, View, inventory,
};
use serde_json::{Value, json};

fn calls(ids: &[&str]) -> Arc<Message> {
    let call =
        |id: &&str| ToolCall { id: (*id).into(), name: "calc".into(), arguments: Arguments::from_text("") };
    let calls = ids.iter().map(call).collect();
    Arc::new(Message::Assistant { parts: vec![], reasoning: None, calls, provider_data: None })
}

fn result(id: &str) -> Arc<Message> {
    Arc::new(Message::Tool { call: id.into(), name: "calc".into(), output: ToolOutput::text("4") })
}

fn user(text: &str) -> Arc<Message> {
    Arc::new(Message::user(text))
}

fn model(text: &str) -> Arc<Message> {
    Arc::new(Message::assistant(text))
}

/// Four turns, twelve messages: parallel calls, and a user's word between calls and their results.
fn history() -> Vec<Arc<Message>> {
    vec![
        user("1"),
        calls(&["a", "b"]),
        result("b"),
        result("a"),
        model("one"),
        user("2"),
        model("two"),
        user("3"),
        calls(&["c", "d"]),
        user("an answer in between"),
        result("c"),
        result("d"),
        model("three"),
        user("4"),
        model("four"),
    ]
}

fn assert_whole(view: &View<'_>) {
    assert!(matches!(view, Cow::Borrowed(_)), "nothing is copied");
    if let Some(first) = view.first() {
        assert!(matches!(**first, Message::User { .. }), "begins with a user message");
    }
    let mut open = Vec::new();
    for message in view.iter() {
        open.extend(message.calls().iter().map(|call| call.id.clone()));
        if let Message::Tool { call, .. } = &**message {
            let at = open.iter().position(|id| id == call).expect("a result without its call");
            open.remove(at);
        }
    }
    assert!(open.is_empty(), "a call without its result");
}

#[test]
fn no_window_splits_a_call_from_its_result() {
    let history = history();
    for limit in 0..=history.len() + 1 {
        for window in [
            SlidingWindow::new(Some(limit), None),
            SlidingWindow::new(None, Some(limit)),
            SlidingWindow::new(Some(2), Some(limit)),
        ] {
            // Every length of the past, as it is at the end of each turn.
            for end in [0, 5, 7, 13, 15] {
                let view = window.view(&history[..end]);
                assert_whole(&view);
                assert_eq!(view.last().is_none(), view.is_empty());
            }
        }
    }
}

#[test]
fn windows_take_the_last_turns_whole() {
    let history = history();
    let len = |turns, messages| SlidingWindow::new(turns, messages).view(&history).len();
    assert_eq!(len(Some(0), None), 0);
    assert_eq!(len(Some(1), None), 2);
    assert_eq!(len(Some(2), None), 8);
    assert_eq!(len(Some(3), None), 10);
    assert_eq!(len(Some(9), None), 15);
    assert_eq!(len(None, Some(1)), 0);
    assert_eq!(len(None, Some(7)), 2);
    assert_eq!(len(None, Some(8)), 8);
    assert_eq!(len(Some(3), Some(9)), 8);
    let long: Vec<_> = (0..30).flat_map(|_| [user("q"), model("a")]).collect();
    assert_eq!(SlidingWindow::default().view(&long).len(), 20);
    assert_eq!(SlidingWindow::new(None, Some(60)).view(&long).len(), 60);
}

#[test]
fn the_stack_takes_everything() {
    let history = history();
    assert_eq!(Stack.view(&history).len(), 15);
    assert!(matches!(Stack.view(&history), Cow::Borrowed(_)));
    assert_eq!(Stack.view(&history[4..]).len(), 10, "begins with a user message");
    assert!(Stack.view(&[]).is_empty());
}

#[test]
fn params_are_strict() {
    let check = |name: &str, params: &Value| {
        let by_name = |d: &&Descriptor| d.name == name || d.aliases.contains(&name);
        (inventory::iter::<Descriptor>().find(by_name).unwrap().check)(params)
    };
    for name in ["stack", "full-history", "sliding-window"] {
        assert!(check(name, &Value::Null).is_empty());
        let problems = check(name, &json!({"token_budget": 1, "summary_threshold": 2}));
        assert_eq!(problems.len(), 2);
        assert!(problems[0].message.contains("does not implement `token_budget`"));
        assert!(check(name, &json!({"odd": 1}))[0].message.contains("unknown field `odd`"));
    }
    assert_eq!(check("stack", &json!({"max_turns": 1}))[0].path, "max_turns");
    assert!(
        check("sliding-window", &json!({"max_turns": 1, "window_size": 4, "max_messages": 4})).is_empty()
    );
    assert_eq!(check("sliding-window", &json!({"max_turns": -1}))[0].path, "max_turns");
}
