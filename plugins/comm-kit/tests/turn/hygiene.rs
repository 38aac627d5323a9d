//! B3.25, B3.26 and what goes with every message.

use std::sync::Arc;

use mas_comm_kit::turn::{Answer, Ask, TurnPolicy, metadata};
use mas_contracts::{CallContext, Clock, ErrorKind, NoEvents, Scope, Speaker, TaskState, Tree, TreeLimits};
use mas_testkit::TokioClock;
use serde_json::json;

use crate::kit::{Bench, Call, Scripted, Then, refused, secs, task};

use TaskState::{Completed, Working};

/// The media types of the policy, in their order, and no history, on every send, streaming too, and every question.
#[tokio::test(start_paused = true)]
async fn b3_25_b3_26_modes_and_no_history_on_every_send() {
    let modes = vec!["text/markdown".to_owned(), "text/plain".to_owned(), "application/json".to_owned()];
    let policy = TurnPolicy { output_modes: modes.clone(), ..TurnPolicy::default() };
    let agent = Scripted::streaming()
        .on_stream_then(Then::now(Err(refused(ErrorKind::Unsupported))))
        .on_send(Then::now(Ok(Answer::Task(task(Working, &[])))))
        .on_subscribe_then(Then::now(Err(refused(ErrorKind::Unsupported))))
        .on_get(Then::now(Ok(task(Completed, &[("a", "done")]))));
    let agent = Arc::new(agent);
    Bench::with(policy).run(&agent).await.unwrap();
    let wanted = Ask { output_modes: modes, history_length: Some(0), traceparent: None };
    for (_, call) in agent.timed() {
        match call {
            Call::Send(_, ask) | Call::Stream(_, ask) => assert_eq!(ask, wanted),
            Call::Get(task, history) => assert_eq!((&*task, history), ("t1", Some(0))),
            Call::Subscribe(task) | Call::Cancel(task) => assert_eq!(task, "t1"),
        }
    }
    assert_eq!(agent.names(), ["stream", "send", "subscribe", "get"]);
}

/// Where a message comes from, how long is left, and the trace it belongs to.
#[tokio::test(start_paused = true)]
async fn a_message_says_where_it_comes_from() {
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let clock: Arc<dyn Clock> = TokioClock::shared();
    let tree =
        Tree::new(TreeLimits::default(), clock.clone()).below(vec!["far".into()]).traced(Some(trace.into()));
    let scope = |agent: &str, turn: &str, tree: Arc<Tree>, parent: Option<Arc<Scope>>| {
        Arc::new(Scope {
            session: "s1".into(),
            turn: turn.into(),
            agent: agent.into(),
            depth: if parent.is_some() { 2 } else { 1 },
            parent,
            caller: None,
            sink: Arc::new(NoEvents),
            tree,
        })
    };
    let tree = Arc::new(tree);
    let root = scope("root", "t-root", tree.clone(), None);
    let desk = scope("desk", "t-desk", tree, Some(root));
    let cx = CallContext::new(desk, clock.now() + secs(12.5));
    let bench = Bench { cx, ..Bench::new() };
    let agent =
        Arc::new(Scripted::blocking().on_send(Then::now(Ok(Answer::Task(task(Completed, &[("a", "x")]))))));
    bench.run(&agent).await.unwrap();
    let Some((_, Call::Send(message, ask))) = agent.timed().into_iter().next() else {
        panic!("nothing was sent")
    };
    assert_eq!((&*message.id, message.from, ask.traceparent.as_deref()), ("m1", Speaker::User, Some(trace)));
    assert_eq!(
        serde_json::Value::Object(message.metadata.clone()),
        json!({
            "mas.caller_call_id": "c1",
            "mas.correlation_id": "t-root",
            "mas.path": ["far", "root", "desk"],
            "mas.depth": 3,
            "mas.budget_ms": 12500,
        })
    );
    let origin = metadata::read(&message.metadata).unwrap();
    assert_eq!((origin.depth, origin.budget), (3, Some(secs(12.5))));
}
