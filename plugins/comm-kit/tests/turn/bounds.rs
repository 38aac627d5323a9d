//! How large an answer may be.

use std::sync::Arc;

use mas_comm_kit::turn::{TurnPolicy, Update};
use mas_contracts::{ErrorKind, TaskState};

use crate::kit::{Act, Bench, Scripted, Then, is, message, piece, say, task, tells, turns};

use TaskState::{Completed, Working};

/// An answer that is larger than it may be is given up, and its task cancelled.
#[tokio::test(start_paused = true)]
async fn an_answer_is_bounded() {
    let large = "x".repeat(600);
    let endless = [
        vec![is(Working), piece("a", &large, false, false), piece("a", &large, true, false), Act::Hang],
        vec![is(Working), tells(Working, "1", &large), tells(Working, "2", &large), Act::Hang],
        (0..20).map(|n| piece(&n.to_string(), "", false, false)).collect(),
        (0..20).map(|n| tells(Working, &n.to_string(), "x")).collect(),
        vec![say(Update::Task(task(Working, &[("a", &large), ("b", &large)])))],
    ];
    for acts in endless {
        let agent =
            Scripted::streaming().on_stream(acts).on_cancel(Then::now(Ok(task(TaskState::Canceled, &[]))));
        let agent = Arc::new(agent);
        let bench = Bench::with(TurnPolicy { largest: 1000, ..TurnPolicy::default() });
        let error = bench.run(&agent).await.unwrap_err();
        assert_eq!(
            (error.kind(), error.message()),
            (ErrorKind::Limit, "the answer of `fares` is larger than 1000 bytes")
        );
        bench.engine.close().await;
        assert_eq!(agent.names(), ["stream", "cancel"]);
    }
}

/// What a last status says, and a message that is all there is, count as well.
#[tokio::test(start_paused = true)]
async fn the_last_word_is_bounded_too() {
    let large = "x".repeat(1001);
    let ends = [
        vec![say(Update::Message(message("m", &large)))],
        vec![is(Working), tells(TaskState::InputRequired, "1", &large)],
        vec![is(Working), tells(Completed, "1", &large)],
    ];
    for acts in ends {
        let bench = Bench::with(TurnPolicy { largest: 1000, ..TurnPolicy::default() });
        let error = bench.run(&Arc::new(Scripted::streaming().on_stream(acts))).await.unwrap_err();
        assert_eq!(&*error.code(), "mas::turn::too_large");
    }
}

/// What takes the place of what was there is no more than that, however often it comes.
#[tokio::test(start_paused = true)]
async fn an_answer_that_is_told_again_and_again_is_no_larger_for_it() {
    let whole = "x".repeat(600);
    let grows = |n: usize| &whole[..n * 30];
    let ways: [Vec<Act>; 4] = [
        (1..=20).map(|n| tells(Working, &n.to_string(), grows(n))).collect(),
        (1..=20).map(|n| tells(Working, "1", grows(n))).collect(),
        (1..=20).map(|n| piece("a", grows(n), false, false)).collect(),
        (1..=20).map(|n| say(Update::Task(task(Working, &[("a", grows(n))])))).collect(),
    ];
    for acts in ways {
        let acts = [is(Working)].into_iter().chain(acts).chain([turns(Completed)]);
        let bench = Bench::with(TurnPolicy { largest: 1000, ..TurnPolicy::default() });
        let reply = bench.run(&Arc::new(Scripted::streaming().on_stream(acts))).await.expect("a reply");
        assert_eq!(&*mas_contracts::text_of(&reply.parts), whole);
    }
}
