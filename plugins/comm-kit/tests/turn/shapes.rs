//! B3.16 to B3.20: the forms in which agents give an answer.

use std::sync::Arc;

use mas_comm_kit::turn::{Answer, Update};
use mas_contracts::{
    Artifact, Content, End, ErrorKind, Form, Part, PartMeta, Reply, TaskMessage, TaskState, TaskStatus,
};
use serde_json::{Value, json};

use crate::kit::{
    Act, Bench, Scripted, Then, is, message, message_of, piece, piece_of, refused, say, status, task,
    task_of, tells, turns, update,
};

use TaskState::{Completed, Working};

async fn streamed(acts: impl IntoIterator<Item = Act>) -> (Reply, Bench) {
    let bench = Bench::new();
    let reply = bench.run(&Arc::new(Scripted::streaming().on_stream(acts))).await.expect("a reply");
    (reply, bench)
}

/// What is streamed as text is the text of the reply, however the pieces come.
async fn same_text(acts: impl IntoIterator<Item = Act>, wanted: &str) {
    let (reply, bench) = streamed(acts).await;
    assert_eq!((&*mas_contracts::text_of(&reply.parts), &*bench.text()), (wanted, wanted));
}

#[tokio::test(start_paused = true)]
async fn b3_16_pieces_of_an_artifact() {
    let plain = [
        is(Working),
        piece("a", "Hel", false, false),
        piece("a", "lo", true, false),
        piece("a", " there\n", true, false),
        piece("a", "x", true, true),
        turns(Completed),
    ];
    let (reply, bench) = streamed(plain).await;
    assert_eq!(reply.parts, [Part::text("Hello there\nx")], "text that goes on is one part");
    assert_eq!((reply.form, reply.end), (Form::Artifact, End::Done));
    insta::assert_snapshot!(bench.events().join("\n"), @r#"
    accepted t1
    working
    text "Hel"
    text "lo"
    text " there\n"
    text "x"
    completed
    "#);

    // A piece that continues what was never begun is its beginning.
    same_text([piece("a", "one ", true, false), piece("a", "two", true, true), turns(Completed)], "one two")
        .await;
    // Pieces, and then all of it again.
    same_text(
        [
            piece("a", "A", false, false),
            piece("a", "B", true, false),
            piece("a", "AB", false, true),
            turns(Completed),
        ],
        "AB",
    )
    .await;
    // All of it, again and again.
    same_text(
        [
            piece("a", "A", false, false),
            piece("a", "AB", false, false),
            piece("a", "ABC", false, true),
            turns(Completed),
        ],
        "ABC",
    )
    .await;
    // The last piece ends the artifact, not the stream; nothing may be in it.
    same_text([piece("a", "A", false, false), piece("a", "", true, true), Act::Alive, turns(Completed)], "A")
        .await;
    // The task at the end says it all again.
    let whole = say(Update::Task(task(Completed, &[("a", "AB")])));
    same_text([is(Working), piece("a", "A", false, false), piece("a", "B", true, true), whole], "AB").await;
    // The task at the end has kept none of it.
    same_text([is(Working), piece("a", "A", false, true), is(Completed)], "A").await;
    // It comes with the task only.
    same_text([is(Working), say(Update::Task(task(Completed, &[("a", "A")])))], "A").await;
}

#[tokio::test(start_paused = true)]
async fn b3_16_artifacts_side_by_side_keep_their_order() {
    let acts = [
        is(Working),
        piece("b", "one ", false, false),
        piece("a", "x", false, false),
        piece("b", "two", true, true),
        piece("a", "y", true, true),
        turns(Completed),
    ];
    let (reply, bench) = streamed(acts).await;
    assert_eq!(&*reply.text(), "one two\nxy");
    assert_eq!(reply.artifacts, [Artifact::new("a", vec![Part::text("xy")])]);
    insta::assert_snapshot!(bench.events().join("\n"), @r#"
    accepted t1
    working
    text "one "
    artifact a = "x"
    text "two"
    artifact a + "y".
    completed
    "#);

    // One artifact for each piece: all of them, in order.
    let acts = ["a", "b", "c"].map(|id| piece(id, id, false, true));
    let (reply, bench) = streamed(acts.into_iter().chain([turns(Completed)])).await;
    assert_eq!(&*reply.text(), "a\nb\nc");
    assert_eq!(bench.text(), "a");
}

/// The answer of an agent of mas is the artifact that it calls so, wherever it stands.
#[tokio::test(start_paused = true)]
async fn b3_16_the_answer_that_is_called_so() {
    let acts = [
        is(Working),
        piece("report", "table", false, true),
        piece("answer", "See ", false, false),
        piece("answer", "table.", true, true),
        turns(Completed),
    ];
    let (reply, bench) = streamed(acts).await;
    assert_eq!((&*reply.text(), &*bench.text()), ("See table.\ntable", "See table."));
    assert_eq!(reply.artifacts, [Artifact::new("report", vec![Part::text("table")])]);

    // One that was taken for it, since it came in pieces, is told as what it is.
    let acts = [
        piece("report", "ta", false, false),
        piece("report", "ble", true, true),
        piece("answer", "See.", false, true),
        turns(Completed),
    ];
    let (reply, bench) = streamed(acts).await;
    assert_eq!(&*reply.text(), "See.\ntable");
    insta::assert_snapshot!(bench.events().join("\n"), @r#"
    accepted t1
    text "ta"
    text "ble"
    artifact report = "table".
    artifact answer = "See.".
    completed
    "#);
}

/// Files, data and references stay what they are, and so does what is said of them.
#[tokio::test(start_paused = true)]
async fn b3_16_what_is_no_text_is_kept() {
    let file = Part {
        content: Content::Raw(Arc::from(&b"\x89PNG"[..])),
        meta: Some(Box::new(PartMeta {
            media_type: Some("image/png".into()),
            filename: Some("map.png".into()),
            ..PartMeta::default()
        })),
    };
    let link = Part { content: Content::Url("https://files.example/1".into()), meta: None };
    let data = Part::data(json!({"fare": 12.5}));
    let parts = vec![Part::text("See:"), file.clone(), data.clone(), link.clone()];
    let acts = [
        is(Working),
        piece_of(Artifact::new("a", parts[..1].to_vec()), false, false),
        piece_of(Artifact::new("a", parts[1..].to_vec()), true, true),
        turns(Completed),
    ];
    let (reply, bench) = streamed(acts).await;
    assert_eq!(reply.parts, parts);
    insta::assert_snapshot!(bench.events().join("\n"), @r#"
    accepted t1
    working
    text "See:"
    artifact a = "[map.png: 4 bytes]"
    artifact a + "{\"fare\":12.5}"
    artifact a + "[file: https://files.example/1]"
    completed
    "#);
    let answer = Then::now(Ok(Answer::Message(message_of("m", parts.clone()))));
    let bench = Bench::new();
    let reply = bench.run(&Arc::new(Scripted::blocking().on_send(answer))).await.unwrap();
    assert_eq!((reply.parts, bench.text()), (parts, reply_text()));
    fn reply_text() -> String {
        "See:\n[map.png: 4 bytes]\n{\"fare\":12.5}\n[file: https://files.example/1]".to_owned()
    }
}

/// What statuses say, as snapshots and as increments, and which of it is the answer.
#[tokio::test(start_paused = true)]
async fn b3_17_what_statuses_say() {
    // The same message, longer: a snapshot.
    same_text(
        [tells(Working, "m", "A"), tells(Working, "m", "AB"), tells(Working, "m", "ABC"), turns(Completed)],
        "ABC",
    )
    .await;
    // The same message, not longer: it goes on. The very same: said already.
    same_text(
        [
            tells(Working, "m", "Hel"),
            tells(Working, "m", "lo"),
            tells(Working, "m", "Hello"),
            turns(Completed),
        ],
        "Hello",
    )
    .await;
    // All of it again under fresh ids.
    same_text(
        [tells(Working, "1", "A"), tells(Working, "2", "AB"), tells(Working, "3", "ABC"), turns(Completed)],
        "ABC",
    )
    .await;
    // Increments, on lines of their own unless there is a space.
    same_text(
        [
            tells(Working, "1", "one "),
            tells(Working, "2", "two"),
            tells(Working, "3", "three"),
            turns(Completed),
        ],
        "one two\nthree",
    )
    .await;
    // The last status is the answer if it says anything.
    same_text([tells(Working, "1", "Searching…"), tells(Completed, "2", "Found.")], "Found.").await;
    same_text([tells(Working, "1", "A"), tells(Working, "2", "B"), tells(Completed, "3", "AB")], "AB").await;

    let (reply, bench) = streamed([
        tells(Working, "m", "Search"),
        tells(Working, "m", "Searching"),
        tells(Completed, "n", "Found."),
    ])
    .await;
    assert_eq!(reply.form, Form::Status);
    insta::assert_snapshot!(bench.events().join("\n"), @r#"
    accepted t1
    working: Search
    working: ing
    text "Found."
    completed
    "#);
}

/// Where there are artifacts, what statuses say is progress.
#[tokio::test(start_paused = true)]
async fn b3_17_artifacts_win_over_what_statuses_say() {
    let acts = [
        tells(Working, "1", "Searching"),
        tells(Working, "2", "Writing"),
        piece("a", "The answer", false, true),
        tells(Completed, "3", "Done!"),
    ];
    let (reply, bench) = streamed(acts).await;
    assert_eq!((&*reply.text(), &*bench.text()), ("The answer", "The answer"));
    insta::assert_snapshot!(bench.events().join("\n"), @r#"
    accepted t1
    working: Searching
    working: Writing
    text "The answer"
    completed: Done!
    "#);

    // Deltas as statuses, and all of it as an artifact at the end.
    let acts =
        [tells(Working, "1", "A"), tells(Working, "2", "B"), piece("a", "AB", false, true), turns(Completed)];
    same_text(acts, "AB").await;
}

/// An agent of mas may say that the status is the answer beside its artifacts.
#[tokio::test(start_paused = true)]
async fn b3_17_a_status_that_is_the_answer() {
    let mut says = TaskMessage::clone(&message("m", "See the table."));
    says.metadata.insert("mas.answer".to_owned(), Value::Bool(true));
    let last = TaskStatus { message: Some(Arc::new(says)), ..status(Completed, None) };
    let (reply, bench) = streamed([piece("table", "1 2", false, true), say(update(last, true))]).await;
    assert_eq!(&*reply.text(), "See the table.\n1 2");
    assert_eq!(reply.artifacts, [Artifact::new("table", vec![Part::text("1 2")])]);
    insta::assert_snapshot!(bench.events().join("\n"), @r#"
    accepted t1
    artifact table = "1 2".
    text "See the table."
    completed
    "#);
}

/// A single message is all there is: the stream is not waited for.
#[tokio::test(start_paused = true)]
async fn b3_18_a_single_message() {
    let only = || say(Update::Message(message("m", "Hello")));
    let (reply, bench) = streamed([only(), Act::Hang]).await;
    assert_eq!((&*reply.text(), reply.form, reply.task.clone()), ("Hello", Form::Message, None));
    assert_eq!(bench.events(), [r#"text "Hello""#]);
    // Not allowed, and seen: a task, and then a message.
    let (reply, bench) = streamed([is(Working), only(), Act::Hang]).await;
    assert_eq!((&*reply.text(), reply.end, &*bench.text()), ("Hello", End::Done, "Hello"));
}

/// Failed, rejected and canceled tasks are ends with their reason; what they gave is kept.
#[tokio::test(start_paused = true)]
async fn b3_19_bad_ends() {
    for state in [TaskState::Failed, TaskState::Rejected, TaskState::Canceled] {
        let (reply, bench) =
            streamed([is(Working), piece("a", "half", false, false), tells(state, "m", "quota")]).await;
        assert_eq!(reply.end, End::Failed(state));
        assert_eq!(reply.parts, [Part::text("quota")]);
        assert_eq!(reply.artifacts, [Artifact::new("a", vec![Part::text("half")])]);
        assert_eq!(bench.events().last(), Some(&format!("{}: quota", state.as_str())));
        let answer = Answer::Task(Arc::new(task_of(state, Some("quota"), &[])));
        let agent = Scripted::blocking().on_send(Then::now(Ok(answer)));
        let reply = Bench::new().run(&Arc::new(agent)).await.unwrap();
        assert_eq!((reply.end.clone(), &*reply.text()), (End::Failed(state), "quota"));
    }
}

/// An agent of mas that does not begin, since it would loop or is too deep, is an error of that kind; no other agent
/// has a say in our errors.
#[tokio::test(start_paused = true)]
async fn what_was_not_begun_is_an_error() {
    let ends = |state: TaskState, code: &str| {
        let mut says = TaskMessage::clone(&message("m", "delegation would loop: a -> b -> a"));
        says.metadata.insert("mas.error".to_owned(), Value::from(code));
        say(update(TaskStatus { message: Some(Arc::new(says)), ..status(state, None) }, true))
    };
    let codes = [("mas::delegation::loop", ErrorKind::Loop), ("mas::delegation::depth", ErrorKind::Limit)];
    for (code, kind) in codes {
        let agent = Arc::new(Scripted::streaming().on_stream([is(Working), ends(TaskState::Failed, code)]));
        let bench = Bench::new();
        let error = bench.run(&agent).await.unwrap_err();
        assert_eq!((error.kind(), &*error.code(), error.may_resend()), (kind, code, true));
        assert_eq!(error.message(), "`fares`: delegation would loop: a -> b -> a");
        bench.engine.close().await;
        assert_eq!(agent.names(), ["stream"]);
    }
    for acts in [
        vec![ends(TaskState::Failed, "mas::host::closed")],
        vec![piece("a", "done", false, true), ends(TaskState::Failed, codes[0].0)],
    ] {
        let (reply, _) = streamed(acts).await;
        assert_eq!(reply.end, End::Failed(TaskState::Failed));
    }
}

/// What is no stream is an error, never an empty answer.
#[tokio::test(start_paused = true)]
async fn b3_20_no_stream_is_no_answer() {
    let page = refused(ErrorKind::Failed).with_delivery(mas_contracts::Delivery::Unknown);
    for agent in [
        Scripted::streaming().on_stream([]),
        Scripted::streaming().on_stream([Act::Alive, Act::Alive]),
        Scripted::streaming().on_stream_then(Then::now(Err(page))),
    ] {
        let agent = Arc::new(agent);
        let error = Bench::new().run(&agent).await.unwrap_err();
        assert!(!error.may_resend() && agent.names() == ["stream"], "{error:?}");
    }
}

/// What is told again after the end changes nothing, nor does what is told of another task.
#[tokio::test(start_paused = true)]
async fn updates_of_other_tasks_are_passed_over() {
    let other = Update::Status {
        task: "t2".into(),
        context: "".into(),
        status: status(Completed, Some("no")),
        last: true,
    };
    let unnamed =
        Update::Status { task: "".into(), context: "".into(), status: status(Working, None), last: false };
    same_text(
        [is(Working), say(other), say(unnamed), piece("a", "yes", false, true), turns(Completed)],
        "yes",
    )
    .await;
}

/// Messages of which the agent names none are as many as there are; what is only said again is one.
#[tokio::test(start_paused = true)]
async fn b3_17_messages_without_an_id_do_not_take_each_others_place() {
    let said =
        [tells(Working, "", "Hi"), tells(Working, "", "Hello there"), tells(Working, "", "Hello there")];
    let acts = [is(Working)].into_iter().chain(said).chain([tells(Working, "", "Bye"), turns(Completed)]);
    same_text(acts, "Hi\nHello there\nBye").await;
}
