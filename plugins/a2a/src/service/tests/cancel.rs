//! CancelTask.

use std::time::Duration;

use mas_contracts::{Stop, TaskState};
use mas_testkit::Behaviour;

use super::{
    super::{OnCancel, Options},
    Bench, SECOND, at_once, refused, said, said_to,
};
use crate::model::{Caller, CancelTask, Operations, Reason};

#[tokio::test(start_paused = true)]
async fn a_cancel_stops_the_turn_and_what_queues_behind_it() {
    let bench = Bench::new(Behaviour::Hang);
    let task = bench.task(at_once(said("1", "go"))).await;
    bench.task(at_once(said_to(&task, "2", "more"))).await;
    let (service, request) = (bench.service.clone(), said_to(&task, "3", "and more"));
    let waits = tokio::spawn(async move { service.send(&Caller::default(), request).await });
    bench.idle().await;
    let canceled = bench.cancel(&task.id).await.unwrap();
    assert_eq!(canceled.status.state, TaskState::Canceled);
    let crate::model::SendReply::Task(view) = waits.await.unwrap().unwrap() else { panic!() };
    assert_eq!(view.task.status.state, TaskState::Canceled);
    assert_eq!(bench.host.seen().iter().map(|seen| seen.stopped).collect::<Vec<_>>(), [Some(Stop::Cancel)]);
    assert_eq!(bench.store.all()[0].status.state, TaskState::Canceled);
    assert_eq!(refused(bench.cancel(&task.id).await), Reason::TaskNotCancelable);
    assert_eq!(bench.service.running(), 0);
}

#[tokio::test(start_paused = true)]
async fn what_is_over_unknown_or_anothers_cannot_be_cancelled() {
    let bench = Bench::new(Behaviour::Echo);
    let task = bench.task(said("1", "go")).await;
    assert_eq!(refused(bench.cancel(&task.id).await), Reason::TaskNotCancelable);
    assert_eq!(refused(bench.cancel(&"nothing".into()).await), Reason::TaskNotFound);
    let bob = Caller { owner: Some("bob".into()), ..Caller::default() };
    let request = CancelTask { id: task.id.clone(), metadata: serde_json::Map::new() };
    assert_eq!(refused(bench.service.cancel(&bob, request).await), Reason::TaskNotFound);
}

#[tokio::test(start_paused = true)]
async fn a_question_is_cancelled_at_once() {
    let bench = Bench::new(Behaviour::Ask("well?".to_owned()));
    let task = bench.task(said("1", "go")).await;
    let began = tokio::time::Instant::now();
    assert_eq!(bench.cancel(&task.id).await.unwrap().status.state, TaskState::Canceled);
    assert_eq!(began.elapsed(), Duration::ZERO);
    assert_eq!(refused(bench.send(said_to(&task, "2", "late")).await), Reason::UnsupportedOperation);
}

#[tokio::test(start_paused = true)]
async fn detached_work_goes_on_and_is_told_to_nobody() {
    let options = Options { cancel: OnCancel::Detach, ..Options::default() };
    let bench = Bench::with(Behaviour::EchoAfter(60 * SECOND), options);
    let (service, request) = (bench.service.clone(), said("1", "go"));
    let waits = tokio::spawn(async move { service.send(&Caller::default(), request).await });
    bench.idle().await;
    let task = bench.store.all()[0].clone();
    let began = tokio::time::Instant::now();
    assert_eq!(bench.cancel(&task.id).await.unwrap().status.state, TaskState::Canceled);
    let crate::model::SendReply::Task(view) = waits.await.unwrap().unwrap() else { panic!() };
    assert_eq!(view.task.status.state, TaskState::Canceled);
    assert!(began.elapsed() < SECOND, "the caller waited {:?} for work that is not its own", began.elapsed());
    assert!(!bench.host.seen()[0].ended);
    tokio::time::sleep(61 * SECOND).await;
    assert_eq!((bench.host.seen()[0].ended, bench.host.seen()[0].stopped), (true, None));
    let kept = bench.get(&task.id).await.unwrap();
    assert_eq!((kept.status.state, kept.artifacts.len()), (TaskState::Canceled, 0));
    assert_eq!(bench.service.running(), 0);
}
