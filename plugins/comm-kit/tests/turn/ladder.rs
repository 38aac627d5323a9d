//! B3.7 to B3.15: which call follows which.

use std::sync::Arc;

use mas_comm_kit::turn::{Answer, Update};
use mas_contracts::{Delivery, End, Error, ErrorKind, Retry, TaskState};

use crate::kit::{
    Act, Bench, Call, Scripted, Then, broken, is, message, piece, refused, say, secs, status, task, task_of,
    tells, turns, update,
};
use mas_comm_kit::turn::TurnPolicy;

use TaskState::{Completed, Working};

/// A stream where the agent streams and the policy wants it; else one call with the same text at the end.
#[tokio::test(start_paused = true)]
async fn b3_07_a_stream_where_there_is_one() {
    let acts =
        || [is(Working), piece("a", "one ", false, false), piece("a", "two", true, true), turns(Completed)];
    let agent = Arc::new(Scripted::streaming().on_stream(acts()));
    let bench = Bench::new();
    let reply = bench.run(&agent).await.unwrap();
    assert_eq!((agent.names(), &*reply.text()), (vec!["stream"], "one two"));
    assert_eq!(bench.text(), "one two");

    let whole = || Then::now(Ok(Answer::Task(task(Completed, &[("a", "one two")]))));
    for (agent, policy) in [
        (Scripted::blocking(), TurnPolicy::default()),
        (Scripted::streaming(), TurnPolicy { stream: false, ..TurnPolicy::default() }),
    ] {
        let agent = Arc::new(agent.on_send(whole()));
        let bench = Bench::with(policy);
        let reply = bench.run(&agent).await.unwrap();
        assert_eq!((agent.names(), &*reply.text()), (vec!["send"], "one two"));
        assert_eq!(bench.text(), "one two");
    }
}

/// A refusal before any event leads to one send, also one that comes over the open stream.
#[tokio::test(start_paused = true)]
async fn b3_08_a_refused_stream_is_a_send() {
    for kind in [ErrorKind::Unsupported, ErrorKind::NotFound] {
        for over_stream in [false, true] {
            let agent = match over_stream {
                true => Scripted::streaming().on_stream([Act::Alive, Act::Fail(refused(kind))]),
                false => Scripted::streaming().on_stream_then(Then::now(Err(refused(kind)))),
            };
            let agent =
                Arc::new(agent.on_send(Then::now(Ok(Answer::Task(task(Completed, &[("a", "done")]))))));
            let reply = Bench::new().run(&agent).await.unwrap();
            assert_eq!((agent.names(), &*reply.text()), (vec!["stream", "send"], "done"));
            let sent = agent.messages();
            assert_eq!(sent[0].id, sent[1].id, "the same message");
        }
    }
}

/// A refusal that proves nothing is never followed by another send.
#[tokio::test(start_paused = true)]
async fn b3_08_a_refusal_without_proof_is_no_send() {
    let error = refused(ErrorKind::Unsupported).with_delivery(Delivery::Unknown);
    let agent = Arc::new(Scripted::streaming().on_stream_then(Then::now(Err(error))));
    let error = Bench::new().run(&agent).await.unwrap_err();
    assert_eq!((agent.names(), error.delivery()), (vec!["stream"], Delivery::Unknown));
}

/// A stream that ends, breaks or falls silent is taken up again, with a pause; signs of life are life.
#[tokio::test(start_paused = true)]
async fn b3_09_a_broken_stream_is_taken_up_again() {
    let ends: [Vec<Act>; 3] = [vec![], vec![Act::Fail(broken())], vec![Act::Hang]];
    for (index, end) in ends.into_iter().enumerate() {
        let begin = [is(Working), piece("a", "one ", false, false), Act::Wait(secs(50.0)), Act::Alive];
        let agent =
            Scripted::streaming().on_stream(begin.into_iter().chain([Act::Wait(secs(50.0))]).chain(end));
        let rest = [say(Update::Task(task(Working, &[("a", "one two ")]))), piece("a", "three", true, true)];
        let agent = Arc::new(agent.on_subscribe(rest.into_iter().chain([turns(Completed)])));
        let bench = Bench::new();
        let reply = bench.run(&agent).await.unwrap();
        assert_eq!((agent.names(), &*reply.text()), (vec!["stream", "subscribe"], "one two three"));
        assert_eq!(bench.text(), "one two three");
        let at = agent.timed()[1].0;
        let broke = if index == 2 { secs(110.0) } else { secs(100.0) };
        assert!(at >= broke + secs(0.25) && at <= broke + secs(0.5), "{at:?}");
    }
}

/// What is taken up in vain is tried a few times, with growing pauses, and then asked for; news begin anew.
#[tokio::test(start_paused = true)]
async fn b3_09_tries_are_bounded_and_spaced() {
    let vain = || [say(Update::Task(task(Working, &[("a", "x")])))];
    let agent = Scripted::streaming()
        .on_stream([is(Working)])
        .on_subscribe(vain())
        .on_subscribe(vain())
        .on_subscribe_then(Then::now(Err(broken())))
        .on_subscribe(vain())
        .on_get(Then::now(Ok(task(Completed, &[("a", "xy")]))));
    let agent = Arc::new(agent);
    let reply = Bench::new().run(&agent).await.unwrap();
    let wanted = ["stream", "subscribe", "subscribe", "subscribe", "subscribe", "get"];
    assert_eq!((agent.names(), &*reply.text()), (wanted.to_vec(), "xy"));
    let times: Vec<_> = agent.timed().iter().map(|(at, _)| *at).collect();
    for (index, full) in [(1, 0.5), (2, 0.5), (3, 1.0), (4, 2.0)] {
        let pause = times[index] - times[index - 1];
        assert!(pause >= secs(full / 2.0) && pause <= secs(full), "{index}: {pause:?}");
    }
}

/// A refused subscription is no failure by itself: the task may just have ended.
#[tokio::test(start_paused = true)]
async fn b3_10_a_refused_subscription_leads_to_questions() {
    for kind in [ErrorKind::Unsupported, ErrorKind::NotFound, ErrorKind::Conflict, ErrorKind::Denied] {
        let agent = Scripted::streaming()
            .on_stream([is(Working), piece("a", "ha", false, false)])
            .on_subscribe_then(Then::now(Err(refused(kind))))
            .on_get(Then::now(Ok(task(Completed, &[("a", "half")]))));
        let agent = Arc::new(agent);
        let bench = Bench::new();
        let reply = bench.run(&agent).await.unwrap();
        assert_eq!((agent.names(), &*reply.text()), (vec!["stream", "subscribe", "get"], "half"));
        assert_eq!(bench.text(), "half");
        assert_eq!(agent.timed()[2].1, Call::Get("t1".to_owned(), Some(0)));
        assert_eq!(agent.timed()[2].0, agent.timed()[1].0, "the first question comes at once");
    }
}

/// The pauses of the questions: 1 s, by one and a half, 10 s at most; what the agent asks for is kept, and a few
/// failures in a row are passed over.
#[tokio::test(start_paused = true)]
async fn b3_10_questions_are_spaced_and_failures_passed_over() {
    let working = || Then::now(Ok(task(Working, &[])));
    let fails = |retry| Then::now(Err(broken().with_retry(retry)));
    let mut agent = Scripted::streaming()
        .on_stream([is(Working)])
        .on_subscribe_then(Then::now(Err(refused(ErrorKind::Unsupported))));
    for _ in 0..9 {
        agent = agent.on_get(working());
    }
    agent = agent
        .on_get(fails(Retry::Unstated))
        .on_get(fails(Retry::After(secs(20.0))))
        .on_get(fails(Retry::After(secs(2.0))))
        .on_get(Then::now(Ok(task(Completed, &[("a", "done")]))));
    let agent = Arc::new(agent);
    let reply = Bench::new().run(&agent).await.unwrap();
    assert_eq!(&*reply.text(), "done");
    let times: Vec<_> = agent.timed().into_iter().skip(2).map(|(at, _)| at).collect();
    let pauses: Vec<_> = times.windows(2).map(|pair| (pair[1] - pair[0]).as_secs_f64()).collect();
    let wanted = [1.0, 1.5, 2.25, 3.375, 5.0625, 7.59375, 10.0, 10.0, 10.0, 10.0, 20.0, 10.0];
    assert_eq!(pauses.len(), wanted.len());
    for (pause, wanted) in pauses.iter().zip(wanted) {
        assert!((pause - wanted).abs() < 0.01, "{pauses:?}");
    }
}

/// Too many failures in a row, or a refusal, end it: with what is known of the task, and without a cancel.
#[tokio::test(start_paused = true)]
async fn b3_10_questions_that_fail_end_the_turn() {
    let polled = || {
        Scripted::streaming()
            .on_stream([is(Working), piece("a", "half", false, false)])
            .on_subscribe_then(Then::now(Err(refused(ErrorKind::Unsupported))))
    };
    let agent = Arc::new(polled().on_get(Then::now(Err(broken()))));
    let error = Bench::new().run(&agent).await.unwrap_err();
    assert_eq!(agent.names().iter().filter(|name| **name == "get").count(), 4);
    assert_eq!((error.kind(), error.delivery()), (ErrorKind::Unavailable, Delivery::Unknown));
    insta::assert_snapshot!(format!("{error:?}"), @"`fares` (get, task `t1`): the connection broke [mas::run::unavailable, Unknown] rung=get agent=fares task=t1 partial=half");

    let agent = Arc::new(polled().on_get(Then::now(Err(refused(ErrorKind::NotFound)))));
    let error = Bench::new().run(&agent).await.unwrap_err();
    assert_eq!(agent.names(), ["stream", "subscribe", "get"]);
    insta::assert_snapshot!(format!("{error:?}"), @"`fares` (get, task `t1`): no [mas::a2a::refused, Unknown] rung=get agent=fares task=t1 partial=half");
}

/// The task as it is after a reconnect takes the place of what was heard: only news are told, and what does not go on
/// with what was told is told anew.
#[tokio::test(start_paused = true)]
async fn b3_11_a_snapshot_takes_the_place_of_what_was_heard() {
    let agent = |again: &str| {
        Arc::new(
            Scripted::streaming().on_stream([is(Working), piece("a", "one ", false, false)]).on_subscribe([
                say(Update::Task(task(Working, &[("a", again)]))),
                piece("a", "!", true, true),
                turns(Completed),
            ]),
        )
    };
    let bench = Bench::new();
    let reply = bench.run(&agent("one two")).await.unwrap();
    assert_eq!((&*reply.text(), &*bench.text()), ("one two!", "one two!"));
    insta::assert_snapshot!(bench.events().join("\n"), @r#"
    accepted t1
    working
    text "one "
    text "two"
    text "!"
    completed
    "#);

    let bench = Bench::new();
    let reply = bench.run(&agent("anew")).await.unwrap();
    assert_eq!(&*reply.text(), "anew!");
    insta::assert_snapshot!(bench.events().join("\n"), @r#"
    accepted t1
    working
    text "one "
    artifact a = "anew"
    artifact a + "!".
    completed
    "#);
}

/// A task that a blocking send returns before it is over is followed, by a stream where there is one.
#[tokio::test(start_paused = true)]
async fn b3_12_a_task_that_is_not_over_is_followed() {
    let working = || Then::now(Ok(Answer::Task(task(Working, &[]))));
    let agent =
        Scripted::blocking().on_send(working()).on_get(Then::now(Ok(task(Completed, &[("a", "done")]))));
    let agent = Arc::new(agent);
    let reply = Bench::new().run(&agent).await.unwrap();
    assert_eq!((agent.names(), &*reply.text()), (vec!["send", "get"], "done"));
    assert_eq!(agent.timed()[1].0, secs(1.0), "it was seen just now");

    let agent = Scripted::streaming()
        .on_stream_then(Then::now(Err(refused(ErrorKind::Unsupported))))
        .on_send(working())
        .on_subscribe([is(Working), piece("a", "done", false, true), turns(Completed)]);
    let agent = Arc::new(agent);
    let reply = Bench::new().run(&agent).await.unwrap();
    assert_eq!((agent.names(), &*reply.text()), (vec!["stream", "send", "subscribe"], "done"));
}

/// Without a task, a connection that dies leaves the outcome unknown, and nothing is sent again; one that never was is
/// not sent.
#[tokio::test(start_paused = true)]
async fn b3_14_an_unknown_outcome_is_never_sent_again() {
    let refused = Error::new(ErrorKind::Unavailable, "connection refused").with_delivery(Delivery::NotSent);
    let cases: [(Scripted, Delivery); 5] = [
        (Scripted::streaming().on_stream([]), Delivery::Unknown),
        (Scripted::streaming().on_stream([Act::Alive, Act::Fail(broken())]), Delivery::Unknown),
        (Scripted::streaming().on_stream_then(Then::now(Err(broken()))), Delivery::Unknown),
        (Scripted::blocking().on_send(Then::now(Err(broken()))), Delivery::Unknown),
        (Scripted::blocking().on_send(Then::now(Err(refused))), Delivery::NotSent),
    ];
    for (agent, delivery) in cases {
        let agent = Arc::new(agent);
        let error = Bench::new().run(&agent).await.unwrap_err();
        assert_eq!(
            (agent.names().len(), error.kind(), error.delivery()),
            (1, ErrorKind::Unavailable, delivery)
        );
        assert!(error.message().starts_with("`fares` (send): "), "{error:?}");
    }
}

/// Every rung ends in time, and says where it was.
#[tokio::test(start_paused = true)]
async fn b3_15_every_rung_has_its_deadline() {
    let cancelled = || Then::now(Err(refused(ErrorKind::Conflict)));
    let stuck: [(Scripted, &str); 5] = [
        (Scripted::blocking().on_send(Then::never()), "`fares` (send): no end within 300 s"),
        (Scripted::streaming().on_stream_then(Then::never()), "`fares` (send): no end within 300 s"),
        (Scripted::streaming().on_stream([Act::Hang]), "`fares` (send): no end within 300 s"),
        (
            Scripted::streaming()
                .on_stream([is(Working), Act::Hang])
                .on_subscribe_then(Then::never())
                .on_subscribe_then(Then::never())
                .on_subscribe_then(Then::never())
                .on_get(Then::now(Ok(task(Working, &[]))))
                .on_cancel(cancelled()),
            "`fares` (get, task `t1`): no end within 300 s",
        ),
        (
            Scripted::blocking()
                .on_send(Then::now(Ok(Answer::Task(task(Working, &[])))))
                .on_get(Then::never())
                .on_cancel(cancelled()),
            "`fares` (get, task `t1`): nothing was heard for 30 s",
        ),
    ];
    for (agent, wanted) in stuck {
        let agent = Arc::new(agent);
        let bench = Bench::new();
        let error = bench.run(&agent).await.unwrap_err();
        assert_eq!(
            (error.kind(), error.delivery(), error.message()),
            (ErrorKind::Timeout, Delivery::Unknown, wanted)
        );
        assert!(bench.cx.clock().now() <= bench.cx.deadline());
        bench.engine.close().await;
    }
}

/// A task that ends just before the deadline is seen to.
#[tokio::test(start_paused = true)]
async fn b3_15_a_last_look_before_the_deadline() {
    let ends = secs(297.5);
    let mut agent = Scripted::blocking().on_send(Then::now(Ok(Answer::Task(task(Working, &[])))));
    let mut at = 1.0;
    let mut pause = 1.0;
    while secs(at) < ends {
        agent = agent.on_get(Then::now(Ok(task(Working, &[]))));
        pause = f64::min(pause * 1.5, 10.0);
        at += pause;
    }
    let agent = Arc::new(agent.on_get(Then::now(Ok(task(Completed, &[("a", "late")])))));
    let reply = Bench::new().run(&agent).await.unwrap();
    assert_eq!(&*reply.text(), "late");
    assert!(agent.timed().last().unwrap().0 <= secs(299.0));
}

/// A task that is attached to is listened to at once, or asked for.
#[tokio::test(start_paused = true)]
async fn a_task_that_is_there_is_attached_to() {
    let agent = Scripted::streaming().on_subscribe([
        say(Update::Task(task(Working, &[("a", "one ")]))),
        piece("a", "two", true, true),
        turns(Completed),
    ]);
    let agent = Arc::new(agent);
    let bench = Bench::new();
    let reply = bench.attach(&agent).await.unwrap();
    assert_eq!((agent.names(), &*reply.text(), &*bench.text()), (vec!["subscribe"], "one two", "one two"));
    assert_eq!(bench.events().first().map(String::as_str), Some("accepted t1"));

    let over = Arc::new(task_of(Completed, Some("said"), &[]));
    for streams in [true, false] {
        let agent = if streams { Scripted::streaming() } else { Scripted::blocking() };
        let agent = Arc::new(
            agent
                .on_subscribe_then(Then::now(Err(refused(ErrorKind::Unsupported))))
                .on_get(Then::now(Ok(over.clone()))),
        );
        let reply = Bench::new().attach(&agent).await.unwrap();
        assert_eq!((&*reply.text(), reply.end), ("said", End::Done));
        assert_eq!(agent.timed().last().unwrap().0, secs(0.0), "asked at once");
    }

    let agent = Scripted::streaming()
        .on_subscribe_then(Then::now(Err(refused(ErrorKind::NotFound))))
        .on_get(Then::now(Err(refused(ErrorKind::NotFound))));
    let bench = Bench::new();
    let error = bench.attach(&Arc::new(agent)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(bench.events().is_empty(), "nothing is known of an unknown task");
}

/// A stream that the agent says to end is not waited for, whatever the state.
#[tokio::test(start_paused = true)]
async fn b3_19_a_last_update_ends_a_stream() {
    let agent = Scripted::streaming()
        .on_stream([is(Working), say(update(status(Working, None), true)), Act::Hang])
        .on_subscribe_then(Then::now(Err(refused(ErrorKind::Unsupported))))
        .on_get(Then::now(Ok(task(Completed, &[("a", "done")]))));
    let agent = Arc::new(agent);
    let reply = Bench::new().run(&agent).await.unwrap();
    assert_eq!((agent.names(), &*reply.text()), (vec!["stream", "subscribe", "get"], "done"));
    assert!(agent.timed()[1].0 < secs(1.0));

    let last = say(update(status(Completed, Some("all")), true));
    let agent = Arc::new(Scripted::streaming().on_stream([tells(Working, "m", "al"), last, Act::Hang]));
    assert_eq!(&*Bench::new().run(&agent).await.unwrap().text(), "all");
}

/// The messages of a task that ended well and gave nothing are asked for, once.
#[tokio::test(start_paused = true)]
async fn b3_07_what_only_the_history_holds_is_found() {
    let asked =
        mas_contracts::TaskMessage { from: mas_contracts::Speaker::User, ..(*message("m1", "go")).clone() };
    let mut kept = task_of(Completed, None, &[]);
    kept.history = vec![message("m0", "old"), Arc::new(asked), message("m2", "Found"), message("m3", "it.")];
    let agent = Scripted::blocking()
        .on_send(Then::now(Ok(Answer::Task(task(Completed, &[])))))
        .on_get(Then::now(Ok(Arc::new(kept))));
    let agent = Arc::new(agent);
    let bench = Bench::new();
    let reply = bench.run(&agent).await.unwrap();
    assert_eq!((&*reply.text(), &*bench.text()), ("Found\nit.", "Found\nit."));
    assert_eq!(agent.timed()[1].1, Call::Get("t1".to_owned(), None));

    // That it cannot be had changes nothing about the end.
    let agent =
        Scripted::blocking().on_send(Then::now(Ok(Answer::Task(task(Completed, &[]))))).on_get(Then::never());
    let reply = Bench::new().run(&Arc::new(agent)).await.unwrap();
    assert_eq!((reply.end, &*reply.parts), (End::Done, &[][..]));
}
