//! What replies become: artifacts, statuses, messages, failures.

use std::time::Duration;

use mas_contracts::{Artifact, End, Form, Part, Reply, TaskState};
use mas_testkit::Behaviour;
use rstest::rstest;

use super::{Bench, all, artifacts, refused, said, said_in, status_text};
use crate::model::{Reason, SendReply};

fn reply(text: &str, form: Form, end: End) -> Reply {
    Reply { form, end, ..Reply::done(vec![Part::text(text)]) }
}

#[tokio::test(start_paused = true)]
async fn a_text_that_is_all_there_is_is_a_message_and_no_task() {
    let bench = Bench::new(Behaviour::Give(reply("pong", Form::Message, End::Done)));
    let SendReply::Message(message) = bench.send(said_in("c", "1", "ping")).await.unwrap() else { panic!() };
    assert_eq!((message.context.as_deref(), &message.task), (Some("c"), &None));
    assert_eq!(message.parts, [Part::text("pong")]);
    assert_eq!(all(bench.stream(said("2", "ping")).await).await, ["1 message pong"]);
    let SendReply::Message(again) = bench.send(said_in("c", "1", "ping")).await.unwrap() else { panic!() };
    assert_eq!(again, message);
    assert!(bench.store.all().is_empty() && bench.service.0.lives.all().is_empty());
    assert_eq!(bench.host.seen().len(), 2);
}

#[rstest]
#[case(Form::Status, End::Done, TaskState::Completed)]
#[case(Form::Message, End::Failed(TaskState::Rejected), TaskState::Rejected)]
#[case(Form::Artifact, End::Failed(TaskState::Failed), TaskState::Failed)]
#[tokio::test(start_paused = true)]
async fn a_text_about_the_end_is_the_message_of_the_status(
    #[case] form: Form,
    #[case] end: End,
    #[case] state: TaskState,
) {
    let bench = Bench::new(Behaviour::Give(reply("so it is", form, end)));
    let task = bench.task(said("1", "go")).await;
    assert_eq!((task.status.state, &*status_text(&task)), (state, "so it is"));
    assert!(task.artifacts.is_empty());
    let message = task.status.message.as_ref().unwrap();
    assert_eq!((message.task.as_ref(), message.context.as_ref()), (Some(&task.id), Some(&task.context)));
}

#[tokio::test(start_paused = true)]
async fn outputs_beside_the_answer_are_artifacts_after_it() {
    let mut reply = reply("see the file", Form::Artifact, End::Done);
    reply.artifacts = vec![Artifact::new("file", vec![Part::text("content")])];
    let bench = Bench::new(Behaviour::Give(reply));
    let task = bench.task(said("1", "go")).await;
    assert_eq!(artifacts(&task), ["answer: see the file", "file: content"]);
}

#[rstest]
#[case(Behaviour::Crash, TaskState::Failed)]
#[case(Behaviour::Panic, TaskState::Failed)]
#[case(Behaviour::Refuse("not today".to_owned()), TaskState::Rejected)]
#[tokio::test(start_paused = true)]
async fn an_agent_that_breaks_down_ends_its_task(#[case] behaviour: Behaviour, #[case] state: TaskState) {
    let bench = Bench::new(behaviour);
    let task = bench.task(said("1", "go")).await;
    assert_eq!(task.status.state, state);
    assert!(!status_text(&task).is_empty());
    assert_eq!(bench.store.all()[0].status.state, state);
    let lines = all(bench.stream(said("2", "go")).await).await;
    assert!(lines[0].starts_with("0 task submitted"), "{lines:?}");
    assert!(lines.last().unwrap().ends_with(" last"), "{lines:?}");
    assert_eq!(bench.service.running(), 0);
}

#[tokio::test(start_paused = true)]
async fn streamed_text_is_one_artifact_in_pieces() {
    let pieces = ["one ", "two ", "three"].map(str::to_owned).to_vec();
    let bench = Bench::new(Behaviour::Stream(pieces, Duration::from_millis(5)));
    let lines = all(bench.stream(said("1", "go")).await).await;
    assert_eq!(
        lines,
        [
            "0 task submitted []",
            "1 working",
            "2 answer \"one \"",
            "3 +answer \"two \"",
            "4 +answer \"three\"",
            "5 +answer \"\" last",
            "6 completed last",
        ]
    );
    assert_eq!(artifacts(&bench.store.all()[0]), ["answer: one two three"]);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_differs_from_what_was_streamed_replaces_it() {
    let pieces = ["one ", "two"].map(str::to_owned).to_vec();
    let other = Reply::done(vec![Part::text("three")]);
    let bench = Bench::new(Behaviour::StreamThen(pieces, Duration::from_millis(5), other));
    let lines = all(bench.stream(said("1", "go")).await).await;
    assert_eq!(
        lines[2..],
        ["2 answer \"one \"", "3 +answer \"two\"", "4 answer \"three\" last", "5 completed last"]
    );
    assert_eq!(artifacts(&bench.store.all()[0]), ["answer: three"]);
}

#[tokio::test(start_paused = true)]
async fn without_configuration_there_is_no_extended_card_and_there_are_no_webhooks() {
    use crate::model::{Caller, Operations, PushKey};
    let bench = Bench::new(Behaviour::Echo);
    let caller = Caller::default();
    assert_eq!(refused(bench.service.extended_card(&caller).await), Reason::UnsupportedOperation);
    let key = || PushKey { task: "t".into(), id: "c".into() };
    assert_eq!(refused(bench.service.get_push(&caller, key()).await), Reason::PushNotificationNotSupported);
    assert_eq!(
        refused(bench.service.list_push(&caller, "t".into()).await),
        Reason::PushNotificationNotSupported
    );
    assert_eq!(
        refused(bench.service.delete_push(&caller, key()).await),
        Reason::PushNotificationNotSupported
    );
}

#[tokio::test(start_paused = true)]
async fn the_last_piece_says_so_where_the_answer_ends_with_it() {
    let pieces = ["one ", "two"].map(str::to_owned).to_vec();
    let bench = Bench::new(Behaviour::Stream(pieces, Duration::ZERO));
    let lines = all(bench.stream(said("1", "go")).await).await;
    assert_eq!(lines[2..], ["2 answer \"one \"", "3 +answer \"two\" last", "4 completed last"]);
    let one = Bench::new(Behaviour::Stream(vec!["one".to_owned()], Duration::ZERO));
    let lines = all(one.stream(said("1", "go")).await).await;
    assert_eq!(lines[2..], ["2 answer \"one\" last", "3 completed last"]);
}
