//! B3.21 to B3.24: tasks that wait for somebody.

use std::sync::Arc;

use mas_comm_kit::turn::{Answer, TurnPolicy, Update};
use mas_contracts::{
    Delivery, End, ErrorKind, Interruption, InterruptionKind, Outbound, Part, Reply, TaskState,
};

use crate::kit::{
    Act, Bench, Scripted, Then, is, outbound, piece, refused, say, secs, task, task_of, tells, turns,
};

use TaskState::{AuthRequired, Completed, InputRequired, Working};

fn asks(kind: InterruptionKind, question: &str) -> End {
    End::Interrupted(Interruption {
        kind,
        question: question.into(),
        agent: "fares".into(),
        task: Some("t1".into()),
    })
}

fn resumes() -> Outbound {
    Outbound { task: Some("t1".into()), ..outbound("m2") }
}

#[tokio::test(start_paused = true)]
async fn b3_21_a_send_that_returns_a_question() {
    for (state, kind) in [(InputRequired, InterruptionKind::Input), (AuthRequired, InterruptionKind::Auth)] {
        let policy = TurnPolicy { auth_wait: Some(secs(0.0)), ..TurnPolicy::default() };
        let answer = Answer::Task(Arc::new(task_of(state, Some("Which day?"), &[])));
        let agent = Arc::new(Scripted::blocking().on_send(Then::now(Ok(answer))));
        let bench = Bench::with(policy);
        let reply = bench.run(&agent).await.unwrap();
        assert_eq!((reply.end.clone(), &*reply.text()), (asks(kind, "Which day?"), "Which day?"));
        assert_eq!(bench.events(), ["accepted t1".to_owned(), format!("{}: Which day?", state.as_str())]);
        assert_eq!(agent.names(), ["send"], "nothing is cancelled");
    }
    let answer = Answer::Task(task(InputRequired, &[]));
    let reply =
        Bench::new().run(&Arc::new(Scripted::blocking().on_send(Then::now(Ok(answer))))).await.unwrap();
    assert_eq!(reply.end, asks(InterruptionKind::Input, "`fares` needs more input"));
}

#[tokio::test(start_paused = true)]
async fn b3_22_a_question_ends_the_turn_though_the_stream_stays_open() {
    let acts = [
        is(Working),
        piece("draft", "so far", false, true),
        tells(InputRequired, "q", "Which day?"),
        Act::Hang,
    ];
    let agent = Arc::new(Scripted::streaming().on_stream(acts));
    let bench = Bench::new();
    let began = bench.cx.clock().now();
    let reply = bench.run(&agent).await.unwrap();
    assert_eq!(
        (reply.end, reply.parts),
        (asks(InterruptionKind::Input, "Which day?"), vec![Part::text("Which day?")])
    );
    assert_eq!(&*reply.artifacts[0].id, "draft");
    assert_eq!((bench.cx.clock().now(), agent.names()), (began, vec!["stream"]));
}

/// Credentials may come from elsewhere: what follows is of the same turn.
#[tokio::test(start_paused = true)]
async fn b3_23_credentials_may_come_from_elsewhere() {
    let acts = [
        is(Working),
        tells(AuthRequired, "q", "Sign in at example.org"),
        Act::Wait(secs(40.0)),
        turns(Working),
        piece("a", "done", false, true),
        turns(Completed),
    ];
    let bench = Bench::new();
    let reply = bench.run(&Arc::new(Scripted::streaming().on_stream(acts))).await.unwrap();
    assert_eq!((reply.end.clone(), &*reply.text()), (End::Done, "done"));
    insta::assert_snapshot!(bench.events().join("\n"), @r#"
    accepted t1
    working
    auth_required: Sign in at example.org
    working
    text "done"
    completed
    "#);

    // The agent may drop the stream meanwhile.
    let agent = Scripted::streaming()
        .on_stream([is(Working), tells(AuthRequired, "q", "Sign in")])
        .on_subscribe_then(Then::now(Err(refused(ErrorKind::Unsupported))))
        .on_get(Then::now(Ok(Arc::new(task_of(AuthRequired, Some("Sign in"), &[])))))
        .on_get(Then::now(Ok(Arc::new(task_of(AuthRequired, Some("Sign in"), &[])))))
        .on_get(Then::now(Ok(task(Completed, &[("a", "done")]))));
    let agent = Arc::new(agent);
    let reply = Bench::new().run(&agent).await.unwrap();
    assert_eq!((&*reply.text(), agent.names()), ("done", vec!["stream", "subscribe", "get", "get", "get"]));
}

/// At the deadline, or when it has waited long enough, the task is told to wait, and it is left alone.
#[tokio::test(start_paused = true)]
async fn b3_23_a_task_that_waits_for_credentials_is_left_alone() {
    for (wait, over) in [(None, 299.75), (Some(secs(20.0)), 20.0)] {
        let policy = TurnPolicy { auth_wait: wait, idle: secs(1000.0), ..TurnPolicy::default() };
        let bench = Bench::with(policy);
        let acts = [is(Working), tells(AuthRequired, "q", "Sign in"), Act::Hang];
        let agent = Arc::new(Scripted::streaming().on_stream(acts));
        let began = bench.cx.clock().now();
        let reply = bench.run(&agent).await.unwrap();
        assert_eq!(reply.end, asks(InterruptionKind::Auth, "Sign in"));
        assert_eq!(bench.cx.clock().now() - began, secs(over));
        bench.engine.close().await;
        assert_eq!(agent.names(), ["stream"]);
    }
}

/// An answer that is not answered is not said again: its task tells whether it arrived.
#[tokio::test(start_paused = true)]
async fn b3_24_an_answer_whose_stream_is_cut_is_looked_for_at_its_task() {
    let agent =
        Scripted::streaming().on_stream([]).on_get(Then::now(Ok(task(Completed, &[("a", "Monday")]))));
    let agent = Arc::new(agent);
    let reply = Bench::new().send(&agent, resumes()).await.unwrap();
    assert_eq!((reply.end.clone(), &*reply.text()), (End::Done, "Monday"));
    assert_eq!(agent.names(), ["stream", "get"]);

    let waits = Ok(Arc::new(task_of(InputRequired, Some("Which day?"), &[])));
    let agent = Arc::new(Scripted::streaming().on_stream([]).on_get(Then::now(waits)));
    let error = Bench::new().send(&agent, resumes()).await.unwrap_err();
    assert_eq!((error.kind(), error.delivery()), (ErrorKind::Unavailable, Delivery::Unknown));
    assert_eq!(agent.names(), ["stream", "get"], "it is not said again");
}

/// An answer to a question names task and conversation; the state from before the answer does not count.
#[tokio::test(start_paused = true)]
async fn b3_24_an_answer_names_the_task_and_the_conversation() {
    let question = Arc::new(task_of(InputRequired, Some("Which day?"), &[("answer", "Hm.")]));
    let acts = [
        say(Update::Task(question)),
        turns(Working),
        piece("answer-2", "Monday it is", false, true),
        turns(Completed),
    ];
    let agent = Arc::new(Scripted::streaming().on_stream(acts));
    let bench = Bench::new();
    let reply = bench.send(&agent, resumes()).await.unwrap();
    assert_eq!(
        (reply.end.clone(), &*reply.text(), &*bench.text()),
        (End::Done, "Monday it is", "Monday it is")
    );
    let sent = agent.messages();
    assert_eq!(sent[0].task.as_deref(), Some("t1"));
    assert!(sent[0].context.is_some());

    // What comes after the answer counts, be it the same question.
    let again = [
        say(Update::Task(Arc::new(task_of(InputRequired, Some("Which day?"), &[])))),
        turns(Working),
        tells(InputRequired, "q", "Which day?"),
        Act::Hang,
    ];
    let agent = Arc::new(Scripted::streaming().on_stream(again));
    assert_eq!(
        Bench::new().send(&agent, resumes()).await.unwrap().end,
        asks(InterruptionKind::Input, "Which day?")
    );
    // Or all there is, and that after a second look.
    let agent = Scripted::streaming()
        .on_stream([say(Update::Task(Arc::new(task_of(InputRequired, Some("Which day?"), &[]))))])
        .on_subscribe([
            say(Update::Task(Arc::new(task_of(InputRequired, Some("Which day?"), &[])))),
            Act::Hang,
        ]);
    let reply: Reply = Bench::new().send(&Arc::new(agent), resumes()).await.unwrap();
    assert_eq!(reply.end, asks(InterruptionKind::Input, "Which day?"));
}

#[tokio::test(start_paused = true)]
async fn b3_24_an_answer_may_name_the_conversation_only() {
    let policy = TurnPolicy { resume_interrupted: false, ..TurnPolicy::default() };
    let agent = Arc::new(Scripted::streaming().on_stream([
        is(Working),
        piece("a", "ok", false, true),
        turns(Completed),
    ]));
    Bench::with(policy).send(&agent, resumes()).await.unwrap();
    assert_eq!(agent.messages()[0].task, None);
    assert!(agent.messages()[0].context.is_some());
}

/// Where the agent knows the waiting task in another conversation, the task alone is named, once.
#[tokio::test(start_paused = true)]
async fn b3_24_a_conversation_that_does_not_match_is_left_out() {
    let refuse = || Then::now(Err(refused(ErrorKind::Invalid)));
    let agent = Scripted::streaming().on_stream_then(refuse()).on_stream([
        is(Working),
        piece("a", "ok", false, true),
        turns(Completed),
    ]);
    let agent = Arc::new(agent);
    Bench::new().send(&agent, resumes()).await.unwrap();
    let named: Vec<_> =
        agent.messages().iter().map(|sent| (sent.task.is_some(), sent.context.is_some())).collect();
    assert_eq!(named, [(true, true), (true, false)]);

    let agent = Arc::new(Scripted::streaming().on_stream_then(refuse()).on_stream_then(refuse()));
    let error = Bench::new().send(&agent, resumes()).await.unwrap_err();
    assert!(error.may_resend() && agent.names().len() == 2, "{error:?}");
}
