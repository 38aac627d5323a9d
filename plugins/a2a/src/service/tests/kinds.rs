//! Messages whose callers say whether they want a message or a task.

use mas_contracts::{Stop, TaskState, text_of};
use mas_testkit::Behaviour;

use super::{super::Options, Bench, SECOND, said_in};
use crate::model::{
    Caller, Failure, Operations, RESPONSE_KIND, Reason, ResponseKind, SendMessage, SendReply,
};

fn bench(behaviour: Behaviour) -> Bench {
    let kinds = vec![ResponseKind::Message, ResponseKind::Task];
    Bench::with(behaviour, Options { kinds, message_limit: Some(90 * SECOND), ..Options::default() })
}

fn of_kind(kind: ResponseKind) -> SendMessage {
    SendMessage { kind: Some(kind), ..said_in("conversation", "1", "go") }
}

fn caller() -> Caller {
    Caller { extensions: [RESPONSE_KIND.into()].into(), ..Caller::default() }
}

async fn send(bench: &Bench, request: SendMessage) -> Result<SendReply, Failure> {
    bench.service.send(&caller(), request).await
}

#[tokio::test(start_paused = true)]
async fn a_message_is_answered_with_a_message_in_its_conversation() {
    for (behaviour, text) in [
        (Behaviour::Echo, "go"),
        (Behaviour::EchoAfter(60 * SECOND), "go"),
        (Behaviour::Ask("Which one?".to_owned()), "Which one?"),
    ] {
        let bench = bench(behaviour);
        let SendReply::Message(message) = send(&bench, of_kind(ResponseKind::Message)).await.unwrap() else {
            panic!("a task");
        };
        assert_eq!((&*text_of(&message.parts), message.context.as_deref()), (text, Some("conversation")));
        assert_eq!(message.task, None);
    }
    let failing = bench(Behaviour::Fail(TaskState::Failed, "quota".to_owned()));
    let failure = send(&failing, of_kind(ResponseKind::Message)).await.unwrap_err();
    assert_eq!((failure.reason, &*failure.message), (Reason::Internal, "the turn failed: quota"));
}

#[tokio::test(start_paused = true)]
async fn a_task_is_answered_at_once_with_a_task() {
    for behaviour in [Behaviour::Echo, Behaviour::EchoAfter(600 * SECOND), Behaviour::Hang] {
        let bench = bench(behaviour);
        let began = tokio::time::Instant::now();
        let SendReply::Task(view) = send(&bench, of_kind(ResponseKind::Task)).await.unwrap() else {
            panic!("a message");
        };
        assert_eq!((&*view.task.context, began.elapsed().as_secs()), ("conversation", 0));
    }
}

#[tokio::test(start_paused = true)]
async fn a_turn_over_the_limit_is_stopped_and_never_becomes_a_task() {
    let bench = bench(Behaviour::Hang);
    let began = tokio::time::Instant::now();
    let failure = send(&bench, of_kind(ResponseKind::Message)).await.unwrap_err();
    assert_eq!((failure.reason, began.elapsed()), (Reason::MessageLimit, 90 * SECOND));
    assert_eq!(failure.metadata, [("limitSeconds", "90".to_owned())]);
    bench.idle().await;
    let seen = bench.host.seen();
    assert_eq!(seen.iter().map(|seen| seen.stopped).collect::<Vec<_>>(), [Some(Stop::Cancel)]);
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_is_not_offered_or_without_its_extension_is_refused() {
    let only = Options { kinds: vec![ResponseKind::Message], ..Options::default() };
    for (bench, caller, request) in [
        (bench(Behaviour::Echo), Caller::default(), of_kind(ResponseKind::Message)),
        (Bench::with(Behaviour::Echo, only), caller(), of_kind(ResponseKind::Task)),
        (Bench::new(Behaviour::Echo), caller(), of_kind(ResponseKind::Message)),
    ] {
        let failure = bench.service.send(&caller, request).await.unwrap_err();
        assert_eq!(failure.reason, Reason::InvalidParams);
        assert_eq!(failure.violations[0].field, "configuration.responseKind");
        assert!(bench.host.seen().is_empty());
    }
    let failure = bench(Behaviour::Echo).service.stream(&caller(), of_kind(ResponseKind::Task)).await.err();
    assert_eq!(failure.map(|failure| failure.reason), Some(Reason::InvalidParams));
}
