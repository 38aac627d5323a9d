//! B3.16: one text in every way that it may come.

use std::sync::Arc;

use mas_comm_kit::turn::Update;
use mas_contracts::TaskState;
use proptest::prelude::*;

use crate::kit::{Act, Bench, Scripted, is, piece, say, task, tells, turns};

use TaskState::{Completed, Working};

/// The ways in which a text may come.
#[derive(Clone, Copy, Debug)]
enum Way {
    /// Each piece goes on.
    Pieces,
    /// Each says all so far.
    Whole,
    /// Each is the task as it is.
    Tasks,
    /// All of these in turn, with tasks that keep no artifacts between them.
    Mixed,
    /// Statuses of one message that grows.
    Statuses,
}

fn in_way(way: Way, pieces: &[String]) -> Vec<Act> {
    let mut all = String::new();
    let mut acts = vec![is(Working)];
    for (at, part) in pieces.iter().enumerate() {
        all.push_str(part);
        acts.push(match (way, at % 3) {
            (Way::Pieces, _) | (Way::Mixed, 0) => piece("a", part, at > 0, false),
            (Way::Whole, _) | (Way::Mixed, 1) => piece("a", &all, false, false),
            (Way::Tasks | Way::Mixed, _) => say(Update::Task(task(Working, &[("a", &all)]))),
            (Way::Statuses, _) => tells(Working, "m", &all),
        });
        if matches!(way, Way::Mixed) {
            acts.push(is(Working));
        }
    }
    acts
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// However a text comes, cut off anywhere, said again at the end or not: the reply is that text, and so is what
    /// was streamed.
    #[test]
    fn b3_16_any_way_gives_the_same_text(
        pieces in prop::collection::vec("[ab \\nü🦀]{1,6}", 1..12),
        way in prop::sample::select(vec![Way::Pieces, Way::Whole, Way::Tasks, Way::Mixed, Way::Statuses]),
        again in any::<bool>(),
        cut in 1usize..12,
    ) {
        let text = pieces.concat();
        let statuses = matches!(way, Way::Statuses);
        let mut acts = in_way(way, &pieces);
        let rest = acts.split_off(cut.min(acts.len()));
        let end = match (again, statuses) {
            (true, false) => say(Update::Task(task(Completed, &[("a", &text)]))),
            (true, true) => tells(Completed, "m", &text),
            (false, _) => turns(Completed),
        };
        let agent = if rest.is_empty() || statuses {
            Scripted::streaming().on_stream(acts.into_iter().chain(rest).chain([end]))
        } else {
            // After a cut, the task as it is comes first.
            let now = say(Update::Task(task(Working, &[("a", &text)])));
            Scripted::streaming().on_stream(acts).on_subscribe([now, end])
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        let (reply, streamed) = runtime.expect("a runtime").block_on(async {
            let bench = Bench::new();
            (bench.run(&Arc::new(agent)).await, bench.text())
        });
        prop_assert_eq!((&*reply.expect("a reply").text(), &*streamed), (&*text, &*text));
    }
}
