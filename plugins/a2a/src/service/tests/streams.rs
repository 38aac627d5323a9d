//! Streams: what they begin with, how they go on after a break, when they end.

use std::time::Duration;

use futures_util::{FutureExt, StreamExt};
use mas_contracts::TaskState;
use mas_testkit::Behaviour;
use serde_json::json;

use super::{super::Options, Bench, SECOND, all, at_once, refused, said, said_to, shown};
use crate::model::{Caller, Dialect, Operations, Reason, SubscribeToTask};

fn pieces() -> Behaviour {
    Behaviour::Stream(["a", "b", "c", "d"].map(str::to_owned).to_vec(), SECOND)
}

#[tokio::test(start_paused = true)]
async fn a_subscription_begins_with_the_task_and_tells_all_that_follows() {
    let bench = Bench::new(pieces());
    let task = bench.task(at_once(said("1", "go"))).await;
    tokio::time::sleep(SECOND + SECOND / 2).await;
    let lines = all(bench.subscribe(&task.id, None).await.unwrap()).await;
    assert_eq!(lines.len(), 5, "{lines:?}");
    assert!(lines[0].ends_with("task working [answer: ab]"), "{lines:?}");
    let tail: Vec<_> = lines[1..].iter().map(|line| line.split_once(' ').unwrap().1).collect();
    assert_eq!(tail, ["+answer \"c\"", "+answer \"d\"", "+answer \"\" last", "completed last"]);
    assert_eq!(refused(bench.subscribe(&task.id, None).await), Reason::UnsupportedOperation);
    assert_eq!(refused(bench.subscribe(&"nothing".into(), None).await), Reason::TaskNotFound);
}

#[tokio::test(start_paused = true)]
async fn a_broken_stream_goes_on_behind_the_last_event() {
    let bench = Bench::new(pieces());
    let mut stream = bench.stream(said("1", "go")).await;
    let mut seen = Vec::new();
    for _ in 0..3 {
        seen.push(stream.next().await.unwrap());
    }
    drop(stream);
    let id = bench.store.all()[0].id.clone();
    tokio::time::sleep(SECOND + SECOND / 2).await;
    let after = seen.last().unwrap().seq;
    assert_eq!(shown(&seen.last().unwrap().item), "answer \"a\"");
    let lines = all(bench.subscribe(&id, Some(after)).await.unwrap()).await;
    assert_eq!(lines[0], format!("{after} task working [hidden]"));
    assert_eq!(
        lines[1..],
        ["3 +answer \"b\"", "4 +answer \"c\"", "5 +answer \"d\"", "6 +answer \"\" last", "7 completed last"]
    );
}

#[tokio::test(start_paused = true)]
async fn a_place_that_never_was_is_answered_with_the_whole_task() {
    let bench = Bench::new(pieces());
    let task = bench.task(at_once(said("1", "go"))).await;
    let lines = all(bench.subscribe(&task.id, Some(u64::MAX)).await.unwrap()).await;
    assert!(lines[0].contains("task working [answer: a]"), "{lines:?}");
    assert!(lines.last().unwrap().ends_with("completed last"));
}

#[tokio::test(start_paused = true)]
async fn the_stream_of_a_message_ends_at_a_question_and_a_subscription_goes_on() {
    let bench = Bench::new(Behaviour::Ask("which?".to_owned()));
    let lines = all(bench.stream(said("1", "go")).await).await;
    assert_eq!(lines, ["0 task submitted []", "1 working", "2 input_required \"which?\" last"]);
    let task = bench.store.all()[0].clone();
    let mut subscription = bench.subscribe(&task.id, None).await.unwrap();
    assert_eq!(shown(&subscription.next().await.unwrap().item), "task input_required []");
    assert!(subscription.next().now_or_never().is_none());
    let answer = all(bench.stream(said_to(&task, "2", "this")).await).await;
    assert!(answer[0].ends_with("task working []"), "{answer:?}");
    let rest = all(subscription).await;
    let told: Vec<_> = rest.iter().map(|line| line.split_once(' ').unwrap().1).collect();
    assert_eq!(told, ["working", "answer \"this\" last", "completed last"]);
}

#[tokio::test(start_paused = true)]
async fn a_status_is_the_last_of_a_stream_that_ends_with_it_and_of_no_other() {
    let bench = Bench::new(Behaviour::EchoAfter(SECOND));
    let task = bench.task(at_once(said("1", "go"))).await;
    let subscription = bench.subscribe(&task.id, None).await.unwrap();
    let live = bench.service.0.lives.all().remove(0);
    live.set_status(&mut live.lock(), TaskState::InputRequired, None);
    live.set_status(&mut live.lock(), TaskState::Working, None);
    let lines = all(subscription).await;
    let told: Vec<_> = lines[1..].iter().map(|line| line.split_once(' ').unwrap().1).collect();
    assert_eq!(told, ["input_required", "working", "answer \"go\" last", "completed last"]);
}

#[tokio::test(start_paused = true)]
async fn a_reader_who_falls_behind_what_is_kept_is_given_the_whole_task() {
    let bench = Bench::with(pieces(), Options { events: 2, ..Options::default() });
    let mut stream = bench.stream(said("1", "go")).await;
    assert_eq!(shown(&stream.next().await.unwrap().item), "task submitted []");
    tokio::time::sleep(10 * SECOND).await;
    let rest = all(stream).await;
    assert!(rest[0].ends_with("task completed [answer: abcd]"), "{rest:?}");
}

#[tokio::test(start_paused = true)]
async fn a_reader_of_v03_is_shown_a_task_that_is_over() {
    let bench = Bench::new(Behaviour::Echo);
    let task = bench.task(said("1", "go")).await;
    let caller = Caller { dialect: Dialect::V03, ..Caller::default() };
    let request = SubscribeToTask { id: task.id.clone(), after: None };
    let lines = all(bench.service.subscribe(&caller, request).await.unwrap()).await;
    assert_eq!(lines, ["1 task completed [answer: go]"]);
}

#[tokio::test(start_paused = true)]
async fn streams_are_counted_against_a_limit_and_can_be_switched_off() {
    let bench = Bench::with(pieces(), Options { streams: 1, ..Options::default() });
    let stream = bench.stream(said("1", "go")).await;
    let refusal = bench.service.stream(&Caller::default(), said("2", "go")).await;
    let refusal = refusal.err().unwrap();
    assert_eq!((refusal.reason, refusal.retry_after), (Reason::ResourceExhausted, Some(SECOND)));
    drop(stream);
    assert_eq!(bench.service.streams(), 0);
    drop(bench.stream(said("2", "go")).await);
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(bench.service.running(), 0);

    let bench = Bench::of(pieces(), Options::default(), &json!({"capabilities": {"streaming": false}}));
    let refusal = bench.service.stream(&Caller::default(), said("1", "go")).await;
    assert_eq!(refused(refusal), Reason::UnsupportedOperation);
    assert_eq!(refused(bench.subscribe(&"any".into(), None).await), Reason::UnsupportedOperation);
    assert!(bench.host.seen().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_message_that_comes_again_after_its_question_is_told_of_it_and_its_stream_ends() {
    let bench = Bench::new(Behaviour::Ask("which?".to_owned()));
    let mut request = said("1", "go");
    request.message.context = Some("c".into());
    all(bench.stream(request.clone()).await).await;
    let again = tokio::time::timeout(SECOND, all(bench.stream(request).await)).await;
    assert_eq!(again.expect("the stream ends"), ["2 task input_required []"]);
}
