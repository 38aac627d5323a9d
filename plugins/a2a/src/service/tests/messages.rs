//! Messages: which task they belong to, and when they are refused.

use std::{sync::Arc, time::Duration};

use mas_contracts::{InterruptionKind, Part, PartMeta, TaskState};
use mas_testkit::Behaviour;
use serde_json::json;
use tokio::join;

use super::{
    super::Options, Bench, SECOND, artifacts, at_once, refused, said, said_in, said_to, status_text,
};
use crate::model::{Caller, GetTask, ListTasks, Operations, Reason, SendReply};

#[tokio::test(start_paused = true)]
async fn a_message_becomes_a_task_of_a_conversation_of_its_own() {
    let bench = Bench::new(Behaviour::Echo);
    let (one, two) = (bench.task(said("m", "hello")).await, bench.task(said("m", "again")).await);
    assert_eq!((one.status.state, artifacts(&one)), (TaskState::Completed, vec!["answer: hello".to_owned()]));
    assert_eq!(artifacts(&two), ["answer: again"]);
    assert!(one.id != two.id && one.context != two.context);
    assert_eq!(one.history.len(), 1);
    assert_eq!(bench.get(&one.id).await.unwrap(), one);
}

#[tokio::test(start_paused = true)]
async fn a_message_that_comes_again_in_its_conversation_runs_nothing() {
    let bench = Bench::new(Behaviour::EchoAfter(SECOND));
    let (one, two) = join!(bench.task(said_in("c", "m", "hello")), bench.task(said_in("c", "m", "hello")));
    assert_eq!(one, two);
    let later = bench.task(said_in("c", "m", "hello")).await;
    assert_eq!((&later.id, later.status.state), (&one.id, TaskState::Completed));
    assert_eq!(bench.host.seen().len(), 1);
    let elsewhere = bench.task(said_in("d", "m", "hello")).await;
    assert_ne!(elsewhere.id, one.id);
    let other = Caller { owner: Some("bob".into()), ..Caller::default() };
    let SendReply::Task(foreign) = bench.service.send(&other, said_in("c", "m", "hello")).await.unwrap()
    else {
        panic!()
    };
    assert_ne!(foreign.task.id, one.id);
    assert_eq!(bench.host.seen().len(), 3);
    let another = bench.task(said_in("c", "m", "something else")).await;
    assert_eq!(
        (another.id != one.id, artifacts(&another)),
        (true, vec!["answer: something else".to_owned()])
    );
}

#[tokio::test(start_paused = true)]
async fn a_message_to_a_task_at_work_queues_and_the_task_ends_when_its_queue_is_empty() {
    let bench = Bench::new(Behaviour::EchoAfter(SECOND));
    let task = bench.task(at_once(said("1", "one"))).await;
    assert_eq!(task.status.state, TaskState::Working);
    let again = bench.task(at_once(said_to(&task, "2", "two"))).await;
    assert_eq!((&again.id, again.status.state), (&task.id, TaskState::Working));
    tokio::time::sleep(SECOND + SECOND / 2).await;
    assert_eq!(bench.get(&task.id).await.unwrap().status.state, TaskState::Working);
    let last = bench.task(said_to(&task, "3", "three")).await;
    assert_eq!(last.status.state, TaskState::Completed);
    assert_eq!(artifacts(&last), ["answer: one", "answer-2: two", "answer-3: three"]);
    assert_eq!(last.history.len(), 3);
    assert_eq!(refused(bench.send(said_to(&task, "4", "four")).await), Reason::UnsupportedOperation);
    assert_eq!(bench.host.seen().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_question_waits_and_its_answer_goes_on_with_the_task() {
    let bench = Bench::new(Behaviour::Ask("which day?".to_owned()));
    let task = bench.task(said("1", "book it")).await;
    assert_eq!((task.status.state, &*status_text(&task)), (TaskState::InputRequired, "which day?"));
    tokio::time::sleep(600 * SECOND).await;
    let answer = said_to(&task, "2", "monday");
    let task = bench.task(answer.clone()).await;
    assert_eq!(
        (task.status.state, artifacts(&task)),
        (TaskState::Completed, vec!["answer: monday".to_owned()])
    );
    // Said again, since its answer got lost: the task is over, and what it became is told.
    assert_eq!(bench.task(answer).await.id, task.id);
    assert_eq!(refused(bench.send(said_to(&task, "3", "tuesday")).await), Reason::UnsupportedOperation);
    let history: Vec<_> = task.history.iter().map(|message| mas_contracts::text_of(&message.parts)).collect();
    assert_eq!(history.iter().map(|text| &**text).collect::<Vec<_>>(), ["book it", "which day?", "monday"]);
    assert!(bench.service.0.lives.all().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_task_is_found_in_its_own_conversation_by_its_owner_only() {
    let bench = Bench::new(Behaviour::EchoAfter(SECOND));
    let task = bench.task(at_once(said_in("c", "1", "one"))).await;
    let mut elsewhere = said_to(&task, "2", "two");
    elsewhere.message.context = Some("d".into());
    let failure = bench.send(elsewhere).await.unwrap_err();
    assert_eq!((failure.reason, &*failure.violations[0].field), (Reason::InvalidParams, "message.contextId"));
    let mut unknown = said("3", "three");
    unknown.message.task = Some("nothing".into());
    assert_eq!(refused(bench.send(unknown).await), Reason::TaskNotFound);

    let bob = Caller { owner: Some("bob".into()), ..Caller::default() };
    let get = GetTask { id: task.id.clone(), history_length: None };
    assert_eq!(refused(bench.service.get(&bob, get).await), Reason::TaskNotFound);
    assert_eq!(refused(bench.service.send(&bob, said_to(&task, "4", "four")).await), Reason::TaskNotFound);
    let list = bench.service.list(&bob, ListTasks::default()).await.unwrap();
    assert_eq!((list.tasks.len(), list.total_size), (0, 0));
    let mine = bench.service.list(&Caller::default(), ListTasks::default()).await.unwrap();
    assert_eq!((mine.tasks.len(), mine.page_size, &*mine.next_page_token), (1, 50, ""));
    assert_eq!(bench.host.seen().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn pages_have_sizes_and_tokens_of_this_server() {
    let bench = Bench::new(Behaviour::Echo);
    for (size, token) in [(Some(0), None), (Some(101), None), (Some(-1), None), (None, Some("x!"))] {
        let request =
            ListTasks { page_size: size, page_token: token.map(str::to_owned), ..ListTasks::default() };
        assert_eq!(refused(bench.service.list(&Caller::default(), request).await), Reason::InvalidParams);
    }
}

#[tokio::test(start_paused = true)]
async fn turns_beyond_the_limit_are_refused_with_when_to_come_again() {
    let bench = Bench::with(Behaviour::EchoAfter(SECOND), Options { turns: 2, ..Options::default() });
    for id in ["1", "2"] {
        bench.task(at_once(said(id, "go"))).await;
    }
    let failure = bench.send(said_in("c", "3", "go")).await.unwrap_err();
    assert_eq!((failure.reason, failure.retry_after), (Reason::ResourceExhausted, Some(SECOND)));
    tokio::time::sleep(2 * SECOND).await;
    // The refusal is not remembered as the message's task.
    assert_eq!(bench.task(said_in("c", "3", "go")).await.status.state, TaskState::Completed);
}

#[tokio::test(start_paused = true)]
async fn media_types_that_the_agent_does_not_take_are_refused() {
    let modes = json!({"input_modes": ["text/*", "application/json"]});
    let bench = Bench::of(Behaviour::Echo, Options::default(), &modes);
    let typed = |media_type: &str| {
        let mut request = said("1", "hello");
        let meta = PartMeta { media_type: Some(media_type.to_owned()), ..PartMeta::default() };
        request.message.parts.push(Part { meta: Some(Box::new(meta)), ..Part::text("typed") });
        request
    };
    assert_eq!(refused(bench.send(typed("image/png")).await), Reason::ContentTypeNotSupported);
    for fine in ["text/markdown", "Application/JSON; charset=utf-8"] {
        assert!(bench.send(typed(fine)).await.is_ok(), "{fine}");
    }
}

#[tokio::test(start_paused = true)]
async fn histories_are_bounded_and_shown_as_asked() {
    let bench = Bench::with(Behaviour::EchoAfter(SECOND), Options { history: 3, ..Options::default() });
    let task = bench.task(at_once(said("1", "go"))).await;
    for id in ["2", "3", "4"] {
        bench.task(at_once(said_to(&task, id, "go"))).await;
    }
    tokio::time::sleep(5 * SECOND).await;
    let ids = |length| {
        let (service, id) = (bench.service.clone(), task.id.clone());
        async move {
            let request = GetTask { id, history_length: length };
            let view = service.get(&Caller::default(), request).await.unwrap();
            view.history().iter().map(|message| message.id.to_string()).collect::<Vec<_>>()
        }
    };
    assert_eq!(ids(None).await, ["2", "3", "4"]);
    assert_eq!(ids(Some(1)).await, ["4"]);
    assert_eq!(ids(Some(0)).await, Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_service_that_closes_takes_nothing_new_and_lets_work_end() {
    let bench = Bench::new(Behaviour::EchoAfter(SECOND));
    let task = bench.task(at_once(said("1", "go"))).await;
    let (service, closing) = (bench.service.clone(), 10 * SECOND);
    let close = tokio::spawn(async move { service.close(closing).await });
    bench.idle().await;
    assert_eq!(refused(bench.send(said("2", "go")).await), Reason::Unavailable);
    let began = tokio::time::Instant::now();
    close.await.unwrap();
    assert!(began.elapsed() < 2 * SECOND);
    assert_eq!(bench.get(&task.id).await.unwrap().status.state, TaskState::Completed);

    let bench = Bench::new(Behaviour::Hang);
    let task = bench.task(at_once(said("1", "go"))).await;
    bench.service.close(SECOND).await;
    assert_eq!(bench.service.running(), 0);
    assert!(bench.get(&task.id).await.unwrap().status.state.is_terminal());
}

#[tokio::test(start_paused = true)]
async fn credentials_are_waited_for_like_answers() {
    let mut reply = mas_contracts::Reply::done(Vec::new());
    reply.end = mas_contracts::End::Interrupted(mas_contracts::Interruption {
        kind: InterruptionKind::Auth,
        question: Arc::from("sign in at the desk"),
        agent: Arc::from("agent"),
        task: None,
    });
    let bench = Bench::new(Behaviour::Give(reply));
    let task = bench.task(said("1", "go")).await;
    assert_eq!(task.status.state, TaskState::AuthRequired);
    assert_eq!(status_text(&task), "sign in at the desk");
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(bench.task(said_to(&task, "2", "done")).await.status.state, TaskState::AuthRequired);
}

#[tokio::test(start_paused = true)]
async fn a_new_task_in_a_conversation_does_not_answer_the_question_of_another() {
    let bench = Bench::new(Behaviour::Ask("which day?".to_owned()));
    let asks = bench.task(said_in("c", "1", "book it")).await;
    let other = bench.task(said_in("c", "2", "something else")).await;
    assert_ne!(asks.id, other.id);
    assert_eq!(other.status.state, TaskState::InputRequired);
    assert_eq!(bench.get(&asks.id).await.unwrap().status.state, TaskState::InputRequired);
}

#[tokio::test(start_paused = true)]
async fn too_many_questions_end_the_one_that_waits_longest() {
    let options = Options { waiting: 2, ..Options::default() };
    let bench = Bench::with(Behaviour::Ask("well?".to_owned()), options);
    let one = bench.task(said("1", "a")).await;
    bench.task(said("2", "b")).await;
    bench.task(said("3", "c")).await;
    assert_eq!(bench.get(&one.id).await.unwrap().status.state, TaskState::Failed);
    assert_eq!(bench.service.0.lives.all().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn the_same_message_id_to_a_task_without_its_conversation_is_a_message_of_its_own() {
    let bench = Bench::new(Behaviour::Ask("which day?".to_owned()));
    let task = bench.task(said("m", "book it")).await;
    let task = bench.task(said_to(&task, "m", "monday")).await;
    assert_eq!(
        (task.status.state, artifacts(&task)),
        (TaskState::Completed, vec!["answer: monday".to_owned()])
    );
    assert_eq!(bench.host.seen().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_message_that_is_too_much_is_refused_with_its_field() {
    let bench = Bench::with(Behaviour::Echo, Options { parts: 2, metadata: 16, ..Options::default() });
    let mut parts = said("1", "a");
    parts.message.parts = vec![Part::text("a"), Part::text("b"), Part::text("c")];
    let mut metadata = said("2", "a");
    metadata.message.metadata.insert("key".to_owned(), json!("more than sixteen bytes"));
    metadata.metadata = metadata.message.metadata.clone();
    let mut fields = Vec::new();
    for request in [parts, metadata] {
        let failure = bench.send(request).await.unwrap_err();
        assert_eq!(failure.reason, Reason::InvalidParams);
        fields.extend(failure.violations.into_iter().map(|violation| violation.field));
    }
    assert_eq!(fields, ["message.parts", "metadata", "message.metadata"]);
    assert!(bench.host.seen().is_empty());
}

#[tokio::test(start_paused = true)]
async fn more_messages_than_may_wait_for_a_task_are_refused() {
    let bench = Bench::with(Behaviour::EchoAfter(SECOND), Options { queue: 1, ..Options::default() });
    let task = bench.task(at_once(said("1", "one"))).await;
    bench.task(at_once(said_to(&task, "2", "two"))).await;
    let refused = bench.send(at_once(said_to(&task, "3", "three"))).await.unwrap_err();
    assert_eq!((refused.reason, refused.retry_after), (Reason::ResourceExhausted, Some(SECOND)));
    tokio::time::sleep(3 * SECOND).await;
    assert_eq!(bench.get(&task.id).await.unwrap().status.state, TaskState::Completed);
    assert_eq!(bench.host.seen().len(), 2);
}
