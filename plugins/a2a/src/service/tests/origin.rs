//! Where messages come from: what a caller says of it makes limits tighter, and never wider.

use mas_contracts::{Part, Reply, TaskState};
use mas_testkit::Behaviour;
use serde_json::{Map, Value, json};

use super::{super::Options, Bench, SECOND, all, said, said_in, status_text};
use crate::model::{Reason, SendMessage};

fn with(metadata: Value, mut request: SendMessage) -> SendMessage {
    let Value::Object(metadata) = metadata else { panic!("{metadata}") };
    request.message.metadata = metadata;
    request
}

#[tokio::test(start_paused = true)]
async fn a_message_that_came_through_the_agent_is_a_task_that_failed() {
    let bench = Bench::new(Behaviour::Echo);
    let path = json!({"mas.path": ["desk", "agent", "scribe"], "mas.depth": 3});
    for request in [said("m1", "hi"), said_in("c", "m2", "hi")] {
        let task = bench.task(with(path.clone(), request)).await;
        assert_eq!(task.status.state, TaskState::Failed);
        assert_eq!(status_text(&task), "delegation would loop: desk -> agent -> scribe -> agent");
        let said = &task.status.message.as_ref().unwrap().metadata;
        assert_eq!(said["mas.error"], "mas::delegation::loop");
        assert_eq!(bench.get(&task.id).await.unwrap(), task, "it is kept");
    }
    let again = bench.task(with(path.clone(), said_in("c", "m2", "hi"))).await;
    assert_eq!(again.status.state, TaskState::Failed);
    let stream = all(bench.stream(with(path, said("m3", "hi"))).await).await;
    assert!(stream[0].contains("task failed"), "{stream:?}");
    assert!(bench.host.seen().is_empty(), "nothing ran");
}

#[tokio::test(start_paused = true)]
async fn depth_counts_by_the_path_or_by_what_is_said_whichever_is_more() {
    let bench = Bench::new(Behaviour::Echo);
    let state = async |metadata| bench.task(with(metadata, said("m", "hi"))).await.status.state;
    assert_eq!(state(json!({"mas.depth": 5})).await, TaskState::Failed);
    assert_eq!(state(json!({"mas.depth": 5, "mas.path": ["a"]})).await, TaskState::Failed);
    assert_eq!(
        state(json!({"mas.depth": 0, "mas.path": ["a", "b", "c", "d", "e"]})).await,
        TaskState::Failed
    );
    assert_eq!(state(json!({"mas.depth": 4, "mas.path": ["a"]})).await, TaskState::Completed);
    assert_eq!(state(json!({"mas.depth": null, "other": [1]})).await, TaskState::Completed);
}

#[tokio::test(start_paused = true)]
async fn a_budget_is_the_smaller_of_the_callers_and_the_servers() {
    let options = Options { turn: SECOND * 10, ..Options::default() };
    let bench = Bench::with(Behaviour::EchoAfter(SECOND * 5), options);
    let state = async |budget: Value| {
        bench.task(with(json!({"mas.budget_ms": budget}), said("m", "hi"))).await.status.state
    };
    assert_eq!(state(json!(1000)).await, TaskState::Failed);
    assert_eq!(state(json!(0)).await, TaskState::Failed);
    assert_eq!(state(json!(6000)).await, TaskState::Completed);
    let options = Options { turn: SECOND, ..Options::default() };
    let bench = Bench::with(Behaviour::EchoAfter(SECOND * 5), options);
    let task = bench.task(with(json!({"mas.budget_ms": 3_600_000}), said("m", "hi"))).await;
    assert_eq!(task.status.state, TaskState::Failed, "a large budget lifts nothing");
}

#[tokio::test(start_paused = true)]
async fn what_makes_no_sense_is_refused_and_names_its_key() {
    let bench = Bench::new(Behaviour::Echo);
    for metadata in [
        json!({"mas.path": "desk"}),
        json!({"mas.path": [1]}),
        json!({"mas.depth": -1}),
        json!({"mas.budget_ms": "soon"}),
    ] {
        let key = metadata.as_object().unwrap().keys().next().unwrap().clone();
        let failure = bench.send(with(metadata, said("m", "hi"))).await.unwrap_err();
        assert_eq!(failure.reason, Reason::InvalidParams);
        assert!(failure.violations[0].description.contains(&key), "{:?}", failure.violations);
    }
    assert!(bench.host.seen().is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_said_beside_results_is_marked() {
    let reply = |artifacts| {
        let mut reply = Reply::done(vec![Part::text("see there")]);
        (reply.form, reply.artifacts) = (mas_contracts::Form::Status, artifacts);
        reply
    };
    let artifact = mas_contracts::Artifact::new("file", vec![Part::text("x")]);
    let marked = async |reply: Reply| {
        let task = Bench::new(Behaviour::Give(reply)).task(said("m", "hi")).await;
        task.status.message.as_ref().unwrap().metadata.clone()
    };
    assert_eq!(marked(reply(vec![artifact])).await["mas.answer"], true);
    assert_eq!(marked(reply(Vec::new())).await, Map::new());
}
