//! The backend, as a team selects it, against the stand-in.

#![allow(clippy::unwrap_used, clippy::panic, reason = "functions that tests share")]

use std::{path::Path, sync::Arc, time::Duration};

use mas_contracts::{
    AgentCommContract, BuildContext, Builder, CallContext, CancelReason, Delivery, Descriptor, End, Error,
    ErrorKind, EventKind, Outbound, Part, Peer, Reply, Result, Stop, TaskRef, TaskState, Thread, ThreadName,
    inventory,
};
use mas_platform::MESSAGE_LIMIT;
use mas_platform_stand_in::{Access, AgentSeed, Manner, Script, Server, StandIn, Step, Turn, World};
use mas_testkit::{CallContextBuilder, RecordingSink, TokioClock, build_context};
use serde_json::{Value, json};

const SEND: &str = "/message:send";

struct Bench {
    server: Server,
    comm: Arc<dyn AgentCommContract>,
    sink: Arc<RecordingSink>,
}

fn context() -> BuildContext {
    build_context(Path::new("."), &[("TOKEN", "user-token")])
}

fn build(params: &Value) -> Result<Arc<dyn AgentCommContract>> {
    let named = |descriptor: &&Descriptor| descriptor.aliases.contains(&"mainsequence");
    let descriptor = inventory::iter::<Descriptor>.into_iter().find(named).unwrap();
    assert_eq!((descriptor.check)(params), []);
    match &descriptor.builder {
        Builder::AgentComm(build) => build.build(&context(), params),
        _ => panic!(),
    }
}

impl Bench {
    async fn new(patch: Value) -> Self {
        let server = Server::start("user-token", 0, TokioClock::shared()).await.unwrap();
        let mut params = json!({
            "url": server.platform_url(), "token_env": "TOKEN", "agent_session_uid": StandIn::SESSION,
        });
        params.as_object_mut().unwrap().extend(patch.as_object().cloned().unwrap_or_default());
        params.as_object_mut().unwrap().retain(|_, value| !value.is_null());
        Self { server, comm: build(&params).unwrap(), sink: RecordingSink::new() }
    }

    fn stand_in(&self) -> &StandIn {
        self.server.stand_in()
    }

    fn cx(&self, seconds: f64) -> CallContext {
        CallContextBuilder::new("desk")
            .sink(self.sink.clone())
            .timeout(Duration::from_secs_f64(seconds))
            .build()
    }

    async fn say(&self, cx: &CallContext, parts: Vec<Part>) -> Result<Reply> {
        let thread = Thread { parent: "parent".into(), name: ThreadName::Main };
        let message = Outbound { parts, message_id: "m1".into(), thread, task: None };
        self.comm.send(cx, &Peer { id: "quarterly".into() }, message).await
    }

    async fn fails(&self, cx: &CallContext) -> Error {
        match self.say(cx, vec![Part::text("hello")]).await {
            Ok(reply) => panic!("a reply instead of an error: {reply:?}"),
            Err(error) => {
                assert!(error.context().any(|pair| pair == ("message_id", "msg-m1")), "{error:?}");
                assert!(
                    !format!("{error:?}").contains("user-token") && !format!("{error:?}").contains("tok-")
                );
                error
            }
        }
    }

    fn posts(&self) -> usize {
        self.stand_in().calls_of(SEND).len()
    }
}

#[tokio::test]
async fn a_delegation_is_a_message_in_the_conversation_of_the_session() {
    let bench = Bench::new(json!({})).await;
    let reply =
        bench.say(&bench.cx(10.0), vec![Part::text("hello"), Part::data(json!({"a": 1}))]).await.unwrap();
    assert_eq!((&*reply.text(), &reply.end), ("hello", &End::Done));
    assert_eq!((reply.context.as_deref(), &reply.task), (Some(StandIn::SESSION), &None));
    let body = bench.stand_in().calls_of(SEND)[0].json();
    assert_eq!(body["message"]["messageId"], "msg-m1");
    assert_eq!(body["message"]["parts"], json!([{"text": "hello"}, {"data": {"a": 1}}]));
    assert_eq!(body["message"]["metadata"]["mas.correlation_id"], "turn");
    assert_eq!(body["message"]["metadata"]["mas.caller_call_id"], "c1");
}

#[tokio::test]
async fn a_dictionary_is_asked_for_where_the_endpoint_says_so() {
    let bench = Bench::new(json!({"output": "dictionary", "json_repair_attempts": 2})).await;
    let reply = bench.say(&bench.cx(10.0), vec![Part::text("hello")]).await.unwrap();
    assert_eq!(
        reply.parts[0].content,
        mas_contracts::Content::Data(json!({"heard": "hello", "repairAttempts": 2}))
    );
}

#[tokio::test]
async fn a_task_is_accepted_and_waited_for() {
    let bench = Bench::new(json!({"response_kind": "task", "task_poll_interval": 0.01})).await;
    let reply = bench.say(&bench.cx(10.0), vec![Part::text("work")]).await.unwrap();
    assert_eq!((&*reply.text(), &reply.end, reply.task.as_deref()), ("work", &End::Done, Some("task-1")));
    let events: Vec<EventKind> = bench.sink.kinds();
    assert!(matches!(&events[0], EventKind::Accepted { task } if &**task == "task-1"), "{events:?}");
    let working = |event: &EventKind| matches!(event, EventKind::Status { state: TaskState::Working, .. });
    assert!(events.iter().any(working), "{events:?}");
}

#[tokio::test]
async fn a_task_that_asks_is_an_interrupted_reply() {
    let bench = Bench::new(json!({"response_kind": "task", "task_poll_interval": 0.01})).await;
    let states = ["TASK_STATE_WORKING", "TASK_STATE_INPUT_REQUIRED"].map(str::to_owned).to_vec();
    bench.stand_in().load(World { task_states: Some(states), ..World::default() });
    let reply = bench.say(&bench.cx(10.0), vec![Part::text("work")]).await.unwrap();
    match reply.end {
        End::Interrupted(asked) => assert_eq!(&*asked.question, "Which one?"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn what_is_not_ready_or_over_the_limit_says_what_to_do() {
    let bench = Bench::new(json!({})).await;
    bench.stand_in().script(Script::new([Access::blocked("waking", Some(60_000))]), Script::default());
    let error = bench.fails(&bench.cx(5.0)).await;
    assert_eq!((error.code(), error.delivery()), ("mas::platform::not_ready".into(), Delivery::NotSent));
    assert!(error.message().contains("send it again later"), "{error}");

    let slow = Step::from(Turn::Echo).after_ms(60_000);
    bench.stand_in().script(Script::default(), Script::new([slow]));
    bench.stand_in().load(World { message_limit_ms: Some(50), ..World::default() });
    let error = bench.fails(&bench.cx(5.0)).await;
    assert_eq!((error.code(), error.delivery()), (MESSAGE_LIMIT.into(), Delivery::Answered));
    assert!(error.message().contains("response_kind=\"task\""), "{error}");
    assert_eq!(bench.posts(), 1);
}

#[tokio::test]
async fn an_unknown_outcome_and_a_refusal_are_never_sent_in_another_form() {
    let bench = Bench::new(json!({})).await;
    let cut = Step::from(Turn::Echo).written(Manner::Cut);
    bench.stand_in().script(Script::default(), Script::new([cut]));
    assert_eq!(bench.fails(&bench.cx(5.0)).await.delivery(), Delivery::Unknown);
    assert_eq!(bench.posts(), 1);
    bench.stand_in().script(Script::default(), Script::new([Turn::Body(400, json!({})), Turn::Echo]));
    assert_eq!(bench.fails(&bench.cx(5.0)).await.kind(), ErrorKind::Invalid);
    assert_eq!(bench.posts(), 2, "not without its conversation either");
    bench.stand_in().script(Script::default(), Script::new([Turn::Body(404, json!({})), Turn::Echo]));
    bench.fails(&bench.cx(5.0)).await;
    assert_eq!(bench.posts(), 3);
}

#[tokio::test]
async fn a_send_ends_with_its_callers_time() {
    let bench = Bench::new(json!({})).await;
    let silent = Step::from(Turn::Echo).written(Manner::Silent);
    bench.stand_in().script(Script::default(), Script::new([silent]));
    let began = std::time::Instant::now();
    let error = bench.fails(&bench.cx(0.2)).await;
    assert!(began.elapsed() < Duration::from_millis(700), "{:?}", began.elapsed());
    assert_eq!((error.kind(), error.delivery()), (ErrorKind::Timeout, Delivery::Unknown));
}

#[tokio::test]
async fn a_cancel_while_it_waits_sends_nothing() {
    let bench = Bench::new(json!({})).await;
    let steps = [Access::blocked("waking", Some(100)), Access::ready()];
    bench.stand_in().script(Script::new(steps), Script::default());
    let cx = bench.cx(10.0);
    let stop = async {
        while bench.stand_in().calls().is_empty() {
            tokio::task::yield_now().await;
        }
        cx.cancel().cancel(CancelReason::Requested);
    };
    let (error, ()) = tokio::join!(bench.fails(&cx), stop);
    assert_eq!((error.kind(), error.delivery()), (ErrorKind::Cancelled, Delivery::NotSent));
    bench.comm.close().await.unwrap();
    assert_eq!(bench.posts(), 0);
}

#[tokio::test]
async fn a_task_nobody_waits_for_is_cancelled() {
    let bench = Bench::new(json!({"response_kind": "task", "task_poll_interval": 0.01})).await;
    bench.stand_in().load(World { task_states: Some(vec!["TASK_STATE_WORKING".into()]), ..World::default() });
    let cx = bench.cx(10.0);
    let stop = async {
        bench.sink.wait_for(|event| matches!(event.kind, EventKind::Accepted { .. })).await;
        cx.cancel().cancel(CancelReason::Requested);
    };
    let (error, ()) = tokio::join!(bench.fails(&cx), stop);
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    bench.comm.close().await.unwrap();
    assert_eq!(bench.stand_in().calls_of("/task-1:cancel").len(), 1);
    assert_eq!(bench.fails(&bench.cx(1.0)).await.kind(), ErrorKind::Unavailable);
}

#[tokio::test]
async fn tasks_are_attached_to_and_cancelled_where_there_are_any() {
    let bench = Bench::new(json!({"response_kind": "task", "task_poll_interval": 0.01})).await;
    let can = bench.comm.capability();
    assert!(can.attach && can.cancel && can.stream && !can.dedupes);
    bench.say(&bench.cx(10.0), vec![Part::text("work")]).await.unwrap();
    let task = |id: &str| TaskRef { peer: "quarterly".into(), task: id.into() };
    let cx = bench.cx(10.0);
    assert_eq!(bench.comm.attach(&cx, &task("task-1")).await.unwrap().end, End::Done);
    for error in [
        bench.comm.attach(&cx, &task("other")).await.unwrap_err(),
        bench.comm.cancel(&cx, &task("other"), Stop::Cancel).await.unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::NotFound);
    }
    bench.comm.cancel(&cx, &task("other"), Stop::Leave).await.unwrap();
    let bench = Bench::new(json!({})).await;
    let error = bench.comm.attach(&cx, &task("task-1")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
}

#[tokio::test]
async fn a_handle_names_a_session_that_is_made_once() {
    let of_handle = json!({"agent_session_uid": null, "agent_uid": "agent-1", "handle": "weekly"});
    let bench = Bench::new(of_handle).await;
    for _ in 0..2 {
        let reply = bench.say(&bench.cx(10.0), vec![Part::text("hello")]).await.unwrap();
        assert!(reply.context.unwrap().starts_with("2222"));
    }
    assert_eq!(bench.stand_in().calls_of("/get-or-create-session/").len(), 1);
}

#[tokio::test]
async fn a_probe_says_how_the_session_is_and_runs_nothing() {
    let bench = Bench::new(json!({"response_kind": "task"})).await;
    let peer = Peer { id: "quarterly".into() };
    let probe = bench.comm.probe(&bench.cx(5.0), &peer).await.unwrap();
    let route: Vec<String> = probe.route.iter().map(|(name, text)| format!("{name}: {text}")).collect();
    insta::assert_snapshot!(route.join("\n"), @r"
    session: 11111111-1111-4111-8111-111111111111
    response kind: task
    state: ready
    can submit: yes
    phase: serving
    service: service-1
    ");
    assert_eq!(bench.stand_in().executed(), 0);
    let bench = Bench::new(json!({"response_kind": "task"})).await;
    let agent = AgentSeed { uid: "agent-1".into(), name: String::new(), profile: None };
    bench.stand_in().load(World { agents: Some(vec![agent]), ..World::default() });
    let error = bench.comm.probe(&bench.cx(5.0), &peer).await.unwrap_err();
    assert_eq!(error.code(), "mas::platform::response_kind_unsupported");
}

#[tokio::test]
async fn a_blank_message_goes_nowhere() {
    let bench = Bench::new(json!({})).await;
    let error = bench.say(&bench.cx(5.0), vec![Part::text(" ")]).await.unwrap_err();
    assert_eq!((error.code(), bench.stand_in().calls().len()), ("mas::platform::request_invalid".into(), 0));
}
