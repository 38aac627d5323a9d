//! Delegation: routing, parallel calls, limits, loops, and what a failure becomes.

use std::{sync::Arc, time::Duration};

use mas_contracts::{
    ChatRequest, Completion, Error, ErrorKind, EventKind, Message, Result, TaskState, TreeLimits,
};
use mas_core::{team::TeamLimits, turn::TurnLimits};
use mas_testkit::{FnModel, RecordingSink, ScriptedModel, asks_for, says};
use serde_json::{Value, json};

use crate::team::{Member, SECOND, ask, delegate, say, say_in, team, team_with};

/// Delegates these calls first, then says what came back, a line per result.
fn relays(calls: Vec<(String, Value)>) -> FnModel {
    FnModel::new(move |_, request| Ok(relay(request, &calls)))
}

fn relay(request: &ChatRequest<'_>, calls: &[(String, Value)]) -> Completion {
    let results: Vec<String> = results(request);
    if results.is_empty() {
        return asks_for(calls.iter().map(|(name, arguments)| (name.as_str(), arguments.clone())));
    }
    says(results.join("\n"))
}

fn results(request: &ChatRequest<'_>) -> Vec<String> {
    let result = |message: &Arc<Message>| match &**message {
        Message::Tool { output, .. } => {
            Some(format!("{}{}", if output.is_error { "ERROR " } else { "" }, message.text()))
        }
        _ => None,
    };
    request.turn.iter().filter_map(result).collect()
}

/// Answers with the user's text.
fn echoes() -> FnModel {
    FnModel::new(|_, request| Ok(says(said(request))))
}

fn said(request: &ChatRequest<'_>) -> Arc<str> {
    request.turn.first().map_or_else(|| "".into(), |message| message.text())
}

fn ended(events: &[EventKind]) -> Vec<(String, TaskState, Option<Error>)> {
    let end = |kind: &EventKind| match kind {
        EventKind::DelegationEnded { to, state, error, .. } => Some((to.to_string(), *state, error.clone())),
        _ => None,
    };
    events.iter().filter_map(end).collect()
}

#[tokio::test]
async fn a_task_goes_to_the_peer_and_its_answer_comes_back() {
    let team = team(vec![
        Member::new("a", Arc::new(relays(vec![delegate("b", "find it")]))).delegating_to(&["b"]),
        Member::new("b", Arc::new(echoes())),
    ])
    .await;
    let (reply, events) = ask(&team, say("go")).await;
    let reply = reply.expect("it answers");
    assert_eq!(&*reply.text(), "find it");
    assert_eq!(reply.usage.model_calls, 3);
    assert_eq!(ended(&events), [("b".to_owned(), TaskState::Completed, None)]);
}

#[tokio::test(start_paused = true)]
async fn ten_parallel_calls_of_one_child_are_answered_apart_and_in_call_order() {
    let calls = (0..10).map(|n| delegate("b", &format!("task {n}"))).collect();
    // Later tasks end first, and each sees its own conversation only.
    let child = FnModel::new(|_, request| {
        assert_eq!(request.messages().count(), 1, "a parallel call shares no history");
        Ok(says(said(request)))
    })
    .thinking(SECOND);
    let team = team(vec![
        Member::new("a", Arc::new(relays(calls))).delegating_to(&["b"]),
        Member::new("b", Arc::new(child)),
    ])
    .await;
    let began = tokio::time::Instant::now();
    let reply = ask(&team, say("go")).await.0.expect("it answers");
    let expected: Vec<String> = (0..10).map(|n| format!("task {n}")).collect();
    assert_eq!(&*reply.text(), expected.join("\n"));
    assert_eq!(began.elapsed(), SECOND, "they run side by side");
    assert_eq!(team.session_count(), 2, "the conversations of the further calls are dropped");
}

#[tokio::test(start_paused = true)]
async fn more_than_the_limit_wait_and_more_than_one_answer_may_hold_fail() {
    let calls = (0..6).map(|n| delegate("b", &format!("{n}"))).collect();
    let limits = TurnLimits { calls_at_once: 2, delegations_per_answer: 4, ..TurnLimits::default() };
    let team = team(vec![
        Member::new("a", Arc::new(relays(calls))).delegating_to(&["b"]).limited(limits),
        Member::new("b", Arc::new(echoes().thinking(SECOND))),
    ])
    .await;
    let began = tokio::time::Instant::now();
    let reply = ask(&team, say("go")).await.0.expect("it answers").text();
    assert_eq!(began.elapsed(), SECOND * 2, "four in twos");
    let lines: Vec<&str> = reply.lines().collect();
    assert_eq!(lines[..4], ["0", "1", "2", "3"]);
    assert!(
        lines[4..].iter().all(|line| line.starts_with("ERROR not delegated: one answer may hold 4")),
        "{lines:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn the_first_token_of_a_child_reaches_the_root_before_the_child_ends() {
    // The child speaks, then works for a minute in a second model call.
    let child = FnModel::new(|number, _| {
        Ok(if number == 0 {
            Completion { text: "thinking".into(), ..asks_for([("nothing", json!({}))]) }
        } else {
            says("end")
        })
    });
    let team = team(vec![
        Member::new("a", Arc::new(relays(vec![delegate("b", "go")]))).delegating_to(&["b"]),
        Member::new("b", Arc::new(child)),
    ])
    .await;
    let sink = RecordingSink::new();
    team.turn(say("go"), Some(sink.clone())).await.expect("it runs").reply.expect("it answers");
    let events = sink.recorded();
    let first = events
        .iter()
        .position(|e| matches!(&e.event.kind, EventKind::TextDelta { text, .. } if &**text == "thinking"))
        .expect("the child's token is there");
    let ended = events
        .iter()
        .position(|e| matches!(&e.event.kind, EventKind::DelegationEnded { .. }))
        .expect("the delegation ends");
    assert!(first < ended);
    let scope = &events[first].event.scope;
    assert_eq!((&*scope.agent, scope.depth, scope.path().join(">")), ("b", 1, "a>b".to_owned()));
}

#[tokio::test]
async fn a_peer_keeps_its_history_from_one_delegation_to_the_next() {
    let child = Arc::new(echoes());
    let team = team(vec![
        Member::new("a", Arc::new(relays(vec![delegate("b", "x")]))).delegating_to(&["b"]),
        Member::new("b", child.clone()),
    ])
    .await;
    for _ in 0..2 {
        ask(&team, say_in("s", "go")).await.0.expect("it answers");
    }
    ask(&team, say_in("other", "go")).await.0.expect("it answers");
    let lengths: Vec<usize> = child.asked().iter().map(|asked| asked.messages.len()).collect();
    assert_eq!(
        lengths,
        [1, 3, 1],
        "the second delegation of a session sees the first; another session does not"
    );
}

#[tokio::test]
async fn a_named_conversation_is_one_of_its_own() {
    let named = |n: usize| {
        vec![(
            "delegate_to_b".to_owned(),
            json!({"task": "x", "context_id": if n == 1 { "two" } else { "one" }}),
        )]
    };
    let turn = std::sync::atomic::AtomicUsize::new(0);
    let parent = FnModel::new(move |_, request| {
        let n = turn.fetch_add(1, std::sync::atomic::Ordering::Relaxed) / 2;
        Ok(relay(request, &named(n)))
    });
    let child = Arc::new(echoes());
    let team =
        team(vec![Member::new("a", Arc::new(parent)).delegating_to(&["b"]), Member::new("b", child.clone())])
            .await;
    for _ in 0..3 {
        ask(&team, say_in("s", "go")).await.0.expect("it answers");
    }
    let lengths: Vec<usize> = child.asked().iter().map(|asked| asked.messages.len()).collect();
    assert_eq!(lengths, [1, 1, 3]);
}

#[tokio::test]
async fn a_loop_stops_with_the_path_in_its_error() {
    let team = team(vec![
        Member::new("a", Arc::new(relays(vec![delegate("b", "go")]))).delegating_to(&["b"]),
        Member::new("b", Arc::new(relays(vec![delegate("a", "back")]))).delegating_to(&["a"]),
    ])
    .await;
    let (reply, events) = ask(&team, say("go")).await;
    assert!(reply.expect("the turn goes on").text().contains("a -> b -> a"));
    let ended = ended(&events);
    let error = ended[0].2.as_ref().expect("the inner delegation fails");
    assert_eq!((&*ended[0].0, error.kind()), ("a", ErrorKind::Loop));
}

#[tokio::test]
async fn a_chain_stops_at_the_depth_limit() {
    let chain = ["a", "b", "c", "d", "e", "f"];
    let members = (0..chain.len()).map(|at| match chain.get(at + 1) {
        Some(next) => Member::new(chain[at], Arc::new(relays(vec![delegate(next, "down")])))
            .delegating_to(&chain[at + 1..at + 2]),
        None => Member::new(chain[at], Arc::new(echoes())),
    });
    let (reply, events) = ask(&*team(members.collect()).await, say("go")).await;
    assert!(
        reply.expect("the turn goes on").text().contains("deeper than 4 levels: a -> b -> c -> d -> e -> f")
    );
    let failed: Vec<_> = ended(&events).into_iter().filter(|(_, _, error)| error.is_some()).collect();
    assert_eq!(failed.len(), 1);
    assert_eq!(
        failed[0].2.as_ref().map(|error| error.code().into_owned()).as_deref(),
        Some("mas::delegation::depth")
    );
}

#[tokio::test]
async fn a_wide_tree_ends_at_the_budget_of_the_whole_run() {
    // Ten by ten: 1 + 10 + 100 agents' turns would take far more calls than the budget allows.
    let ten = |to: &str| (0..10).map(|n| delegate(to, &n.to_string())).collect::<Vec<_>>();
    let limits =
        TeamLimits { tree: TreeLimits { model_calls: 30, ..TreeLimits::default() }, ..TeamLimits::default() };
    let leaf = Arc::new(echoes());
    let members = vec![
        Member::new("a", Arc::new(relays(ten("b")))).delegating_to(&["b"]),
        Member::new("b", Arc::new(relays(ten("c")))).delegating_to(&["c"]),
        Member::new("c", leaf.clone()),
    ];
    let (reply, events) = ask(&*team_with(members, limits, None).await, say("go")).await;
    let error = reply.expect_err("the root cannot answer either");
    assert_eq!((error.kind(), &*error.code()), (ErrorKind::Budget, "mas::budget::model_calls"));
    assert!(leaf.calls() <= 30);
    let calls = events.iter().filter(|kind| matches!(kind, EventKind::ModelStarted { .. })).count();
    assert_eq!(calls, 30);
}

#[rstest::rstest]
#[case::error(Err(Error::new(ErrorKind::Unavailable, "connection refused")), ErrorKind::Unavailable)]
#[case::quota(Err(Error::new(ErrorKind::RateLimited, "quota")), ErrorKind::RateLimited)]
#[tokio::test]
async fn a_failed_delegation_is_a_failure_to_the_model_and_in_the_events(
    #[case] result: Result<Completion>,
    #[case] kind: ErrorKind,
) {
    let message = result.as_ref().expect_err("the case fails").message().to_owned();
    let child = ScriptedModel::with_results(vec![result]);
    let team = team(vec![
        Member::new("a", Arc::new(relays(vec![delegate("b", "go")]))).delegating_to(&["b"]),
        Member::new("b", Arc::new(child)),
    ])
    .await;
    let (reply, events) = ask(&team, say("go")).await;
    let text = reply.expect("the turn goes on").text();
    assert!(text.starts_with("ERROR ") && text.contains(&message), "{text}");
    let ended = ended(&events);
    assert_eq!(ended[0].2.as_ref().map(Error::kind), Some(kind));
}

#[rstest::rstest]
#[case("failed", TaskState::Failed, "quota")]
#[case("rejected", TaskState::Rejected, "not my job")]
#[tokio::test]
async fn a_peer_that_ends_badly_is_a_failure_with_its_state_and_reason(
    #[case] state: &str,
    #[case] expected: TaskState,
    #[case] reason: &str,
) {
    let params = json!({"default": {"text": reason, "task_state": state}});
    let team = team(vec![
        Member::new("a", Arc::new(relays(vec![delegate("b", "go")]))).delegating_to(&["b"]),
        Member::new("b", Arc::new(echoes())).with_pattern("scripted_response", params),
    ])
    .await;
    let (reply, events) = ask(&team, say("go")).await;
    let text = reply.expect("the turn goes on").text();
    assert!(text.starts_with("ERROR ") && text.contains(reason) && text.contains(state), "{text}");
    let ended = ended(&events);
    assert_eq!(ended[0].1, expected);
    assert!(ended[0].2.is_some());
}

#[tokio::test]
async fn an_empty_answer_says_so_and_a_file_is_a_reference() {
    let file = json!({"default": {"text": "", "artifacts": [
        {"kind": "url", "name": "map", "url": "https://example.com/map.png", "filename": "map.png"}]}});
    let calls = vec![delegate("b", "go"), delegate("c", "go")];
    let team = team(vec![
        Member::new("a", Arc::new(relays(calls))).delegating_to(&["b", "c"]),
        Member::new("b", Arc::new(FnModel::new(|_, _| Ok(says(""))))),
        Member::new("c", Arc::new(echoes())).with_pattern("scripted_response", file),
    ])
    .await;
    let text = ask(&team, say("go")).await.0.expect("the turn goes on").text();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].contains("no output") || lines[0].contains("without output"), "{text}");
    assert!(text.contains("https://example.com/map.png"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_slow_peer_is_given_up_at_its_limit_and_the_turn_goes_on() {
    let limits = TurnLimits { delegation: Duration::from_secs(5), ..TurnLimits::default() };
    let team = team(vec![
        Member::new("a", Arc::new(relays(vec![delegate("b", "go")]))).delegating_to(&["b"]).limited(limits),
        Member::new("b", Arc::new(FnModel::new(|_, _| Ok(says("late"))).thinking(SECOND * 60))),
    ])
    .await;
    let began = tokio::time::Instant::now();
    let (reply, events) = ask(&team, say_in("s", "go")).await;
    assert_eq!(began.elapsed(), SECOND * 5);
    let text = reply.expect("the turn goes on").text();
    assert!(text.starts_with("ERROR ") && text.contains("timeout"), "{text}");
    assert_eq!(ended(&events)[0].2.as_ref().map(Error::kind), Some(ErrorKind::Timeout));
}
