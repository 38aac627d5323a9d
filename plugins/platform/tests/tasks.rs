//! Tasks: what the agent offers, and what becomes of one.

mod support;

use mas_comm_kit::phases::Phases;
use mas_contracts::{Delivery, ErrorKind};
use mas_platform::{Handle, Letter, Profile, ResponseKind};
use mas_platform_stand_in::{
    Access, AgentSeed, RESPONSE_KIND, Script, SessionSeed, StandIn, Step, Turn, World,
};
use serde_json::json;
use support::{Bench, hello};

fn task() -> Letter {
    Letter { kind: ResponseKind::Task, ..hello() }
}

fn paths(bench: &Bench) -> Vec<String> {
    let short = |path: &str| path.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_owned();
    bench.stand_in.calls().iter().map(|call| format!("{} {}", call.method, short(&call.path))).collect()
}

#[tokio::test(start_paused = true)]
async fn a_task_asks_for_the_profile_before_the_runtime_and_a_message_never_does() {
    let bench = Bench::new();
    let received = bench.send(&task()).await.unwrap();
    assert_eq!((received.kind(), received.task().as_deref()), (ResponseKind::Task, Some("task-1")));
    let uid = StandIn::SESSION;
    let discovered = [
        format!("GET {uid}"),
        "GET agent-1".to_owned(),
        "POST resolve-runtime-access".to_owned(),
        "POST message:send".to_owned(),
    ];
    assert_eq!(paths(&bench), discovered);
    bench.send(&hello()).await.unwrap();
    assert_eq!(paths(&bench).len(), 5);
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_offers_messages_only_gets_no_task() {
    let only = json!({
        "response_kind_extension_uri": RESPONSE_KIND, "supported_response_kinds": ["message"],
        "default_response_kind": "message",
    });
    for profile in [None, Some(only)] {
        let bench = Bench::new();
        let agent = AgentSeed { uid: "agent-1".into(), name: String::new(), profile };
        bench.stand_in.load(World { agents: Some(vec![agent]), ..World::default() });
        let error = bench.fails(&task()).await;
        assert_eq!((error.kind(), error.delivery()), (ErrorKind::Unsupported, Delivery::NotSent));
        assert!(error.message().contains("is not advertised"), "{error}");
        assert_eq!(paths(&bench), [&format!("GET {}", StandIn::SESSION), "GET agent-1"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_without_an_agent_gets_no_task() {
    let bench = Bench::new();
    let session = SessionSeed { uid: StandIn::SESSION.into(), agent_uid: None };
    bench.stand_in.load(World { sessions: Some(vec![session]), ..World::default() });
    let error = bench.fails(&task()).await;
    assert!(error.message().contains("is not advertised"), "{error}");
    assert_eq!(bench.stand_in.calls().len(), 1);
    bench.send(&hello()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_profile_that_is_given_wins() {
    let bench = Bench::new();
    let budget = bench.platform.budget(None);
    let both = json!({
        "response_kind_extension_uri": RESPONSE_KIND, "supported_response_kinds": ["message", "task"],
        "default_response_kind": "message",
    });
    let given = Profile::read(&both, RESPONSE_KIND).unwrap();
    bench.platform.send(&bench.session, &task(), Some(&given), &budget).await.unwrap();
    assert_eq!(paths(&bench), ["POST resolve-runtime-access", "POST message:send"]);
    let only = Profile::default();
    let error = bench.platform.send(&bench.session, &task(), Some(&only), &budget).await.unwrap_err();
    assert!(error.message().contains("is not advertised"), "{error}");
    assert_eq!(bench.stand_in.calls().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn reading_is_repeated_where_the_status_says_that_it_helps() {
    // The stand-in has no agent of this name: 404 is an answer, and no reason to ask again.
    let bench = Bench::new();
    let session = SessionSeed { uid: StandIn::SESSION.into(), agent_uid: Some("nobody".into()) };
    bench.stand_in.load(World { sessions: Some(vec![session]), ..World::default() });
    assert_eq!(bench.fails(&task()).await.kind(), ErrorKind::NotFound);
    assert_eq!(bench.stand_in.calls().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_task_is_asked_for_waited_for_and_cancelled() {
    let bench = Bench::new();
    bench.send(&task()).await.unwrap();
    let before = bench.stand_in.calls().len();
    let budget = bench.platform.budget(None);
    let began = bench.clock.now();
    let done = bench.platform.wait(&bench.session, "task-1", &budget).await.unwrap();
    assert_eq!((done.rests(), &*done.text()), (true, "hello"));
    assert_eq!((bench.clock.now() - began).as_secs_f64(), 1.0, "one pause between two looks");
    bench.send(&task()).await.unwrap();
    let canceled = bench.platform.cancel(&bench.session, "task-2", &budget).await.unwrap();
    assert_eq!(canceled.inner()["status"]["state"], "TASK_STATE_CANCELED");
    let calls = bench.stand_in.calls();
    let of_tasks: Vec<_> = calls[before..].iter().filter(|call| call.path.contains("/tasks/")).collect();
    let shown: Vec<_> = of_tasks.iter().map(|call| format!("{} {}", call.method, call.body.len())).collect();
    assert_eq!(shown, ["GET 0", "GET 0", "POST 0"]);
    assert!(of_tasks.iter().all(|call| call.header("accept") == Some("application/a2a+json")));
    assert!(of_tasks[2].path.ends_with("/api/a2a/v1/tasks/task-2:cancel"));
    let error = bench.platform.cancel(&bench.session, "task-1", &budget).await.unwrap_err();
    assert_eq!(error.delivery(), Delivery::Rejected);
}

#[tokio::test(start_paused = true)]
async fn a_task_that_waits_for_somebody_is_returned() {
    for state in ["TASK_STATE_INPUT_REQUIRED", "TASK_STATE_AUTH_REQUIRED"] {
        let bench = Bench::new();
        let states = ["TASK_STATE_SUBMITTED", "TASK_STATE_WORKING", state].map(str::to_owned);
        bench.stand_in.load(World { task_states: Some(states.into()), ..World::default() });
        bench.send(&task()).await.unwrap();
        let began = bench.clock.now();
        let budget = bench.platform.budget(None);
        let waiting = bench.platform.wait(&bench.session, "task-1", &budget).await.unwrap();
        assert_eq!(waiting.inner()["status"]["state"], state);
        assert_eq!((bench.clock.now() - began).as_secs_f64(), 1.0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_wait_has_one_end() {
    let bench = Bench::new();
    bench.stand_in.load(World { task_states: Some(vec!["TASK_STATE_WORKING".into()]), ..World::default() });
    bench.send(&task()).await.unwrap();
    let began = bench.clock.now();
    let budget = bench.platform.budget(Some(Phases::from_secs(10.5).unwrap()));
    let error = bench.platform.wait(&bench.session, "task-1", &budget).await.unwrap_err();
    assert_eq!((error.kind(), error.code()), (ErrorKind::Timeout, "mas::platform::task_timeout".into()));
    assert_eq!((bench.clock.now() - began).as_secs_f64(), 10.0, "a pause that does not fit is not begun");
    let began = bench.clock.now();
    let budget = bench.platform.budget(Some(Phases::from_secs(5_000.0).unwrap()));
    assert!(bench.platform.wait(&bench.session, "task-1", &budget).await.is_err());
    assert_eq!((bench.clock.now() - began).as_secs_f64(), 899.0, "900 s for a task");
}

#[tokio::test(start_paused = true)]
async fn an_id_that_is_no_segment_of_a_path_is_refused_before_any_request() {
    let bench = Bench::new();
    let budget = bench.platform.budget(None);
    for id in ["", " ", "a/b", "a?b", "a#b", "a%2Fb", "a:cancel", "a b"] {
        for error in [
            bench.platform.task(&bench.session, id, &budget).await.unwrap_err(),
            bench.platform.cancel(&bench.session, id, &budget).await.unwrap_err(),
            bench.platform.wait(&bench.session, id, &budget).await.unwrap_err(),
        ] {
            assert_eq!(error.code(), "mas::platform::request_invalid", "{id:?}");
        }
    }
    assert_eq!(bench.stand_in.calls().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn tasks_go_through_the_gate_and_renew_access_too() {
    let bench = Bench::new();
    bench.send(&task()).await.unwrap();
    bench.stand_in.load(World { rotate: true, ..World::default() });
    let budget = bench.platform.budget(None);
    bench.platform.task(&bench.session, "task-1", &budget).await.unwrap();
    assert_eq!(bench.resolves(), 2);
    bench.stand_in.script(Script::new([Access::blocked("unavailable", None)]), Script::default());
    bench.stand_in.load(World { rotate: true, ..World::default() });
    let error = bench.platform.cancel(&bench.session, "task-1", &budget).await.unwrap_err();
    assert_eq!(error.code(), "mas::platform::submission_blocked");
}

#[tokio::test(start_paused = true)]
async fn a_task_may_take_longer_than_a_message() {
    let bench = Bench::new();
    let slow = Step::from(Turn::Echo).after_ms(120_000);
    bench.stand_in.script(Script::default(), Script::new([slow]));
    assert_eq!(bench.send(&task()).await.unwrap().kind(), ResponseKind::Task);
}

#[tokio::test(start_paused = true)]
async fn a_session_is_found_by_its_handle_and_made_once() {
    let bench = Bench::new();
    let handle = Handle {
        agent_uid: "agent-1".into(),
        handle: "weekly".into(),
        session_name: Some("Weekly".into()),
        parent_session_uid: Some(StandIn::SESSION.into()),
    };
    let budget = bench.platform.budget(None);
    let made = bench.platform.session(&handle, &budget).await.unwrap();
    assert_eq!(bench.platform.session(&handle, &budget).await.unwrap(), made);
    let body = bench.stand_in.calls()[0].json();
    assert_eq!(
        body,
        json!({"handle_unique_id": "weekly", "name": "Weekly", "parent_session_uid": StandIn::SESSION})
    );
    let received = bench.platform.send(&made, &hello(), None, &budget).await.unwrap();
    assert_eq!(received.inner()["contextId"], *made);
}
