//! A turn of one agent: the loop, tools, failures of the model.

use std::sync::Arc;

use async_trait::async_trait;
use mas_contracts::{
    Arguments, CallContext, Completion, Error, ErrorKind, EventKind, Message, Result, ToolCall, ToolContract,
    ToolOutput, ToolSpec, TurnStatus,
};
use mas_testkit::{FnModel, ScriptedModel, asks_for, says};
use serde_json::json;

use crate::team::{Member, SECOND, ask, say, say_in, team};

/// Says back its argument; `slow` waits for ever.
struct Echo;

#[async_trait]
impl ToolContract for Echo {
    async fn list(&self) -> Result<Vec<ToolSpec>> {
        let spec = |name: &str| ToolSpec {
            name: name.into(),
            description: "".into(),
            parameters: json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}),
            idempotent: true,
            timeout: Some(SECOND * 30),
        };
        Ok(vec![spec("echo"), spec("slow"), spec("broken")])
    }

    async fn call(&self, _cx: &CallContext, call: &ToolCall) -> Result<ToolOutput> {
        match &*call.name {
            "slow" => std::future::pending().await,
            "broken" => Err(Error::new(ErrorKind::Unavailable, "the disk is gone")),
            _ => Ok(ToolOutput::text(call.arguments.to_json())),
        }
    }
}

fn results(messages: &[Arc<Message>]) -> Vec<(String, bool)> {
    let result = |message: &Arc<Message>| match &**message {
        Message::Tool { output, .. } => Some((message.text().to_string(), output.is_error)),
        _ => None,
    };
    messages.iter().filter_map(result).collect()
}

#[tokio::test]
async fn an_answer_is_streamed_and_returned() {
    let team = team(vec![Member::new("a", Arc::new(ScriptedModel::new(vec![says("hello")])))]).await;
    let (reply, events) = ask(&team, say("hi")).await;
    let reply = reply.expect("it answers");
    assert_eq!(&*reply.text(), "hello");
    assert_eq!(reply.usage.model_calls, 1);
    assert!(
        events.iter().any(|kind| matches!(kind, EventKind::TextDelta { text, .. } if &**text == "hello"))
    );
    assert!(matches!(events.last(), Some(EventKind::TurnEnded { status: TurnStatus::Completed, .. })));
}

#[tokio::test]
async fn tools_run_and_their_results_reach_the_model() {
    let model = Arc::new(ScriptedModel::new(vec![
        asks_for([("echo", json!({"text": "x"})), ("echo", json!({"text": "y"}))]),
        says("done"),
    ]));
    let team = team(vec![Member::new("a", model.clone()).with_tool(Arc::new(Echo))]).await;
    assert_eq!(&*ask(&team, say("go")).await.0.expect("it answers").text(), "done");
    let seen = &model.asked()[1].messages;
    assert_eq!(results(seen), [(r#"{"text":"x"}"#.to_owned(), false), (r#"{"text":"y"}"#.to_owned(), false)]);
}

#[tokio::test(start_paused = true)]
async fn what_goes_wrong_with_a_tool_is_told_to_the_model() {
    let malformed = |name: &str| Completion {
        calls: vec![ToolCall { id: "m".into(), name: name.into(), arguments: Arguments::from_text("[1]") }],
        ..Completion::default()
    };
    let model = Arc::new(ScriptedModel::new(vec![
        asks_for([("ecko", json!({}))]),
        asks_for([("echo", json!({"text": 1}))]),
        asks_for([("echo", json!({}))]),
        malformed("echo"),
        asks_for([("broken", json!({"text": ""}))]),
        asks_for([("slow", json!({"text": ""}))]),
        says("sorry"),
    ]));
    let team = team(vec![Member::new("a", model.clone()).with_tool(Arc::new(Echo))]).await;
    assert_eq!(&*ask(&team, say("go")).await.0.expect("it answers").text(), "sorry");
    let told = results(&model.asked()[6].messages);
    assert!(told.iter().all(|(_, is_error)| *is_error), "{told:?}");
    let told: Vec<&str> = told.iter().map(|(text, _)| text.as_str()).collect();
    insta::assert_snapshot!(told.join("\n"), @r#"
    no tool is named `ecko`; there are: echo, slow, broken
    the arguments of `echo` do not fit its schema: 1 is not of type "string" at `/text`
    the arguments of `echo` do not fit its schema: "text" is a required property
    the arguments of `echo` must be a JSON object, not [1]
    `broken` failed (unavailable): the disk is gone
    `slow` failed (timeout): no result within 30 s
    "#);
}

#[tokio::test]
async fn empty_and_repeated_call_ids_become_unique_across_turns() {
    let calls = |ids: &[&str]| Completion {
        calls: ids
            .iter()
            .map(|id| ToolCall {
                id: (*id).into(),
                name: "echo".into(),
                arguments: Arguments::from_value(json!({"text": *id})),
            })
            .collect(),
        ..Completion::default()
    };
    let model = Arc::new(ScriptedModel::new(vec![
        calls(&["", ""]),
        says("one"),
        calls(&["call_0", "call_0"]),
        says("two"),
        calls(&["call_0"]),
        says("three"),
    ]));
    let team = team(vec![Member::new("a", model.clone()).with_tool(Arc::new(Echo))]).await;
    for _ in 0..3 {
        ask(&team, say_in("s", "go")).await.0.expect("it answers");
    }
    let last = &model.asked()[5].messages;
    let asked: Vec<_> = last.iter().flat_map(|message| message.calls()).map(|call| call.id.clone()).collect();
    let answered: Vec<_> = last
        .iter()
        .filter_map(|message| match &**message {
            Message::Tool { call, .. } => Some(call.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(asked, answered, "each call has its result, in order");
    let distinct: std::collections::HashSet<_> = asked.iter().collect();
    assert_eq!(distinct.len(), 5, "{asked:?}");
}

#[tokio::test]
async fn a_failing_model_fails_the_turn_and_the_session_goes_on() {
    let model = ScriptedModel::with_results(vec![
        Err(Error::new(ErrorKind::Unavailable, "the provider is down")),
        Ok(says("back")),
    ]);
    let team = team(vec![Member::new("a", Arc::new(model))]).await;
    let (reply, events) = ask(&team, say_in("s", "one")).await;
    assert_eq!(reply.expect_err("it fails").message(), "the provider is down");
    assert!(matches!(
        events.last(),
        Some(EventKind::TurnEnded { status: TurnStatus::Failed, error: Some(_), .. })
    ));
    assert_eq!(&*ask(&team, say_in("s", "two")).await.0.expect("it answers").text(), "back");
}

#[tokio::test]
async fn a_panic_is_an_error_of_its_turn() {
    let model = FnModel::new(|number, _| if number == 0 { panic!("scripted") } else { Ok(says("alive")) });
    let team = team(vec![Member::new("a", Arc::new(model))]).await;
    let error = ask(&team, say_in("s", "one")).await.0.expect_err("it fails");
    assert_eq!((error.kind(), error.message()), (ErrorKind::Internal, "agent `a` panicked"));
    assert_eq!(&*ask(&team, say_in("s", "two")).await.0.expect("it answers").text(), "alive");
}

#[tokio::test]
async fn react_stops_with_a_typed_error_at_its_step_limit() {
    let model = FnModel::new(|_, _| Ok(asks_for([("echo", json!({"text": "again"}))])));
    let member = Member::new("a", Arc::new(model)).with_tool(Arc::new(Echo));
    let team = team(vec![member.with_pattern("react", json!({"max_steps": 3}))]).await;
    let error = ask(&team, say("go")).await.0.expect_err("it stops");
    assert_eq!((error.kind(), &*error.code()), (ErrorKind::Limit, "mas::pattern::max_steps"));
}

/// Gives a notice before it answers, as a provider that fell back to another model does.
struct Noticing;

#[async_trait]
impl mas_contracts::ModelContract for Noticing {
    async fn chat(&self, cx: &CallContext, request: mas_contracts::ChatRequest<'_>) -> Result<Completion> {
        cx.emit(EventKind::Notice { text: "fell back to another model".into() });
        cx.emit_text(request.audience, "42");
        Ok(says("42"))
    }
}

#[tokio::test]
async fn a_notice_is_an_event_and_never_part_of_an_answer() {
    let team = team(vec![Member::new("a", Arc::new(Noticing))]).await;
    let (reply, events) = ask(&team, say_in("s", "go")).await;
    assert!(events.iter().any(|kind| matches!(kind, EventKind::Notice { .. })));
    let reply = reply.expect("it answers");
    assert_eq!((&*reply.text(), reply.artifacts.len()), ("42", 0));
    let key = mas_contracts::SessionKey { owner: None, agent: "a".into(), session: "s".into() };
    let history = team.session(&key).expect("it is there").history();
    assert!(history.iter().all(|message| !message.text().contains("fell back")));
}
