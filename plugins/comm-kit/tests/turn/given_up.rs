//! B3.13: what happens to a task that nobody waits for any more.

use std::{sync::Arc, time::Duration};

use mas_comm_kit::turn::{Answer, TurnPolicy};
use mas_contracts::{CancelReason, Delivery, ErrorKind, TaskState};

use crate::kit::{
    Act, Bench, Call, Scripted, Then, broken, is, message, outbound, piece, refused, secs, task, tells, turns,
};

use TaskState::{Canceled, Completed, InputRequired, Working};

/// How a turn is given up.
#[derive(Clone, Copy, Debug, PartialEq)]
enum How {
    Deadline,
    Dropped,
    Cancelled(CancelReason),
}

const ALL: [How; 4] = [
    How::Deadline,
    How::Dropped,
    How::Cancelled(CancelReason::Requested),
    How::Cancelled(CancelReason::Abandoned),
];

/// Runs a turn, and gives it up after two seconds. Returns how long the turn went on after that.
async fn give_up(bench: &Bench, agent: &Arc<Scripted>, how: How) -> Duration {
    let at = bench.cx.clock().now() + secs(2.0);
    match how {
        How::Deadline => {
            let error = bench.run(agent).await.expect_err("it ends");
            assert_eq!((error.kind(), error.delivery()), (ErrorKind::Timeout, Delivery::Unknown));
        }
        How::Dropped => {
            let dropped = tokio::time::timeout(secs(2.0), bench.run(agent)).await;
            assert!(dropped.is_err(), "it ended by itself: {dropped:?}");
        }
        How::Cancelled(reason) => {
            let cancel = async {
                tokio::time::sleep(secs(2.0)).await;
                bench.cx.cancel().cancel(reason);
            };
            let (ended, ()) = tokio::join!(bench.run(agent), cancel);
            let error = ended.expect_err("it ends");
            let kind =
                if reason == CancelReason::Deadline { ErrorKind::Timeout } else { ErrorKind::Cancelled };
            assert_eq!((error.kind(), error.delivery()), (kind, Delivery::Unknown));
        }
    }
    let took = bench.cx.clock().now() - at;
    bench.engine.close().await;
    took
}

fn bench(how: How, policy: TurnPolicy) -> Bench {
    if how == How::Deadline { Bench::within(policy, secs(2.0)) } else { Bench::with(policy) }
}

/// One cancel, on its own time, that the end does not wait for.
#[tokio::test(start_paused = true)]
async fn b3_13_a_task_that_is_given_up_is_cancelled_once() {
    for how in ALL {
        let agents = [
            Scripted::streaming().on_stream([is(Working), piece("a", "x", false, false), Act::Hang]),
            Scripted::streaming().on_stream([is(Working)]).on_subscribe([Act::Hang]),
            Scripted::blocking()
                .on_send(Then::now(Ok(Answer::Task(task(Working, &[])))))
                .on_get(Then::now(Ok(task(Working, &[])))),
        ];
        for agent in agents {
            let agent = Arc::new(agent.on_cancel(Then::after(secs(3.0), Ok(task(Canceled, &[])))));
            let bench = bench(how, TurnPolicy::default());
            assert_eq!(give_up(&bench, &agent, how).await, Duration::ZERO, "{how:?}");
            let cancels = agent.timed().into_iter().filter(|(_, call)| matches!(call, Call::Cancel(_)));
            assert_eq!(cancels.collect::<Vec<_>>(), [(secs(2.0), Call::Cancel("t1".to_owned()))], "{how:?}");
        }
    }
}

/// The cancel has a limit of its own, and its failure is nobody's.
#[tokio::test(start_paused = true)]
async fn b3_13_a_cancel_has_its_own_limit() {
    for end in [
        Then::never(),
        Then::now(Err(refused(ErrorKind::Conflict))),
        Then::now(Err(refused(ErrorKind::NotFound))),
        Then::now(Err(broken())),
    ] {
        let agent = Arc::new(Scripted::streaming().on_stream([is(Working), Act::Hang]).on_cancel(end));
        let bench = bench(How::Dropped, TurnPolicy::default());
        let began = bench.cx.clock().now();
        give_up(&bench, &agent, How::Dropped).await;
        assert!(bench.cx.clock().now() - began <= secs(7.0));
        assert_eq!(agent.names(), ["stream", "cancel"]);
    }
}

/// Without a word yet, the message is heard a little longer, to learn which task is to be cancelled.
#[tokio::test(start_paused = true)]
async fn b3_13_the_first_word_is_waited_for() {
    for how in ALL {
        let late = [Act::Wait(secs(4.0)), is(Working), Act::Hang];
        let agents = [
            Scripted::streaming().on_stream(late.clone()),
            Scripted::streaming().on_stream_then(Then::after(secs(4.0), Ok(vec![is(Working)]))),
            Scripted::blocking().on_send(Then::after(secs(4.0), Ok(Answer::Task(task(Working, &[]))))),
        ];
        for agent in agents {
            let agent = Arc::new(agent.on_cancel(Then::now(Ok(task(Canceled, &[])))));
            let bench = bench(how, TurnPolicy::default());
            assert_eq!(give_up(&bench, &agent, how).await, Duration::ZERO);
            assert_eq!(agent.names()[1..], ["cancel"], "{how:?}");
            assert_eq!(agent.timed()[1].0, secs(4.0));
        }
    }
}

/// Not longer than a cancel may take; and a first word that names nothing to cancel ends it.
#[tokio::test(start_paused = true)]
async fn b3_13_the_first_word_is_not_waited_for_forever() {
    let ends = [
        Scripted::streaming().on_stream([Act::Wait(secs(8.0)), is(Working)]),
        Scripted::streaming().on_stream([Act::Wait(secs(4.0)), is(Completed)]),
        Scripted::streaming().on_stream([Act::Wait(secs(4.0)), is(InputRequired)]),
        Scripted::streaming().on_stream_then(Then::after(secs(4.0), Err(refused(ErrorKind::Unsupported)))),
        Scripted::blocking().on_send(Then::after(secs(4.0), Ok(Answer::Message(message("m", "hello"))))),
        Scripted::blocking().on_send(Then::after(secs(4.0), Ok(Answer::Task(task(Completed, &[]))))),
    ];
    for agent in ends {
        let agent = Arc::new(agent);
        let bench = Bench::new();
        let began = bench.cx.clock().now();
        give_up(&bench, &agent, How::Dropped).await;
        assert!(bench.cx.clock().now() - began <= secs(7.0));
        assert_eq!(agent.names().len(), 1, "nothing is cancelled, and nothing sent again");
    }
}

/// No cancel on a shutdown, where the policy says no, for a task that waits for a person, nor after an end.
#[tokio::test(start_paused = true)]
async fn b3_13_tasks_that_are_not_cancelled() {
    let running = || Arc::new(Scripted::streaming().on_stream([is(Working), Act::Hang]));
    let silent = || Arc::new(Scripted::streaming().on_stream([Act::Wait(secs(4.0)), is(Working)]));
    let shutdown = How::Cancelled(CancelReason::Shutdown);
    for agent in [running(), silent()] {
        give_up(&Bench::new(), &agent, shutdown).await;
        assert_eq!(agent.names(), ["stream"]);
    }
    let never = TurnPolicy { cancel_on_drop: false, cancel_on_timeout: false, ..TurnPolicy::default() };
    for how in ALL {
        for agent in [running(), silent()] {
            give_up(&bench(how, never.clone()), &agent, how).await;
            assert_eq!(agent.names(), ["stream"], "{how:?}");
        }
    }
    let late = TurnPolicy { cancel_on_timeout: false, ..TurnPolicy::default() };
    for how in [How::Deadline, How::Cancelled(CancelReason::Deadline)] {
        let agent = running();
        give_up(&bench(how, late.clone()), &agent, how).await;
        assert_eq!(agent.names(), ["stream"], "{how:?}");
    }
    // It waits for a person.
    let acts = [is(Working), tells(TaskState::AuthRequired, "q", "Sign in"), Act::Hang];
    let agent = Arc::new(Scripted::streaming().on_stream(acts));
    give_up(&Bench::new(), &agent, How::Dropped).await;
    assert_eq!(agent.names(), ["stream"]);
    // It ended.
    for end in [turns(Completed), turns(TaskState::Failed), turns(InputRequired)] {
        let agent = Arc::new(Scripted::streaming().on_stream([
            is(Working),
            piece("a", "x", false, true),
            end,
            Act::Hang,
        ]));
        let bench = Bench::new();
        bench.run(&agent).await.unwrap();
        bench.engine.close().await;
        assert_eq!(agent.names(), ["stream"]);
    }
}

/// What was stopped or is too late before it began is not sent.
#[tokio::test(start_paused = true)]
async fn b3_13_what_is_over_before_it_begins_is_not_sent() {
    let agent = Arc::new(Scripted::streaming());
    let bench = Bench::within(TurnPolicy::default(), Duration::ZERO);
    let error = bench.send(&agent, outbound("m1")).await.unwrap_err();
    assert_eq!((error.kind(), error.delivery()), (ErrorKind::Timeout, Delivery::NotSent));
    let bench = Bench::new();
    bench.cx.cancel().cancel(CancelReason::Requested);
    let error = bench.run(&agent).await.unwrap_err();
    assert_eq!((error.kind(), error.delivery()), (ErrorKind::Cancelled, Delivery::NotSent));
    assert!(agent.names().is_empty());
}

/// A turn that ends with its runtime leaves nothing behind and breaks nothing.
#[test]
fn a_runtime_that_ends_takes_its_turns_with_it() {
    let agent = Arc::new(Scripted::streaming().on_stream([is(Working), Act::Hang]));
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    let turn = agent.clone();
    runtime.block_on(async {
        tokio::spawn(async move { Bench::new().run(&turn).await });
        tokio::time::sleep(secs(1.0)).await;
    });
    drop(runtime);
    assert_eq!(agent.names(), ["stream"]);
}
