//! Many clients, slow ones, and ones that go away.

use std::time::Duration;

use futures_util::StreamExt;
use mas_contracts::{TaskState, TaskStore};
use mas_testkit::Behaviour;

use super::{Bench, SECOND, at_once, said, said_in, text};

/// A small generator, so that every run is the same.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

#[tokio::test(start_paused = true)]
async fn a_thousand_clients_that_are_killed_leave_no_task_stuck_or_lost() {
    let pieces = (0..10).map(|n| format!("{n} ")).collect();
    let bench = Bench::new(Behaviour::Stream(pieces, Duration::from_millis(10)));
    let mut dice = Dice(7);
    let mut clients = Vec::new();
    for n in 0..1000 {
        let patience = Duration::from_millis(dice.below(150));
        let (kind, context) = (dice.below(3), format!("c{}", dice.below(200)));
        // Half of them share a conversation, so that turns wait for one another.
        let id = format!("m{n}");
        let request = if n % 2 == 0 { said(&id, "go") } else { said_in(&context, &id, "go") };
        let service = bench.service.clone();
        clients.push(tokio::spawn(async move {
            let bench = &service;
            let caller = crate::model::Caller::default();
            use crate::model::Operations;
            let work = async {
                match kind {
                    0 => drop(bench.send(&caller, request).await.unwrap()),
                    1 => drop(bench.send(&caller, at_once(request)).await.unwrap()),
                    _ => bench.stream(&caller, request).await.unwrap().for_each(|_| async {}).await,
                }
            };
            // Dropped wherever it is by then.
            let _ = tokio::time::timeout(patience, work).await;
        }));
    }
    for client in clients {
        client.await.unwrap();
    }
    tokio::time::sleep(60 * SECOND).await;
    assert_eq!((bench.service.running(), bench.service.streams()), (0, 0));
    assert!(bench.service.0.lives.all().is_empty());
    let tasks = bench.store.all();
    assert_eq!(tasks.len(), 1000);
    for task in tasks {
        assert_eq!(task.status.state, TaskState::Completed);
        assert_eq!(super::artifacts(&task), ["answer: 0 1 2 3 4 5 6 7 8 9 "]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_thousand_pieces_reach_a_hundred_readers_whole_and_in_order() {
    let pieces: Vec<String> = (0..1000).map(|n| format!("{n},")).collect();
    let whole = pieces.concat();
    let bench = Bench::new(Behaviour::Stream(pieces, Duration::from_millis(1)));
    let first = bench.stream(said("m", "go")).await;
    let id = bench.store.all()[0].id.clone();
    let mut readers = vec![tokio::spawn(text(first))];
    for n in 0..99 {
        if n % 10 == 0 {
            tokio::time::sleep(Duration::from_millis(7)).await;
        }
        readers.push(tokio::spawn(text(bench.subscribe(&id, None).await.unwrap())));
    }
    for reader in readers {
        let (read, state) = reader.await.unwrap();
        assert_eq!(state, TaskState::Completed);
        assert!(read == whole, "{} of {} bytes", read.len(), whole.len());
    }
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_reads_nothing_keeps_nobody_waiting_and_is_given_the_whole_task_later() {
    let pieces: Vec<String> = (0..6000).map(|n| format!("{n},")).collect();
    let whole = pieces.concat();
    let bench = Bench::new(Behaviour::Stream(pieces, Duration::from_millis(1)));
    let mut slow = bench.stream(said("m", "go")).await;
    assert!(slow.next().await.is_some());
    let id = bench.store.all()[0].id.clone();
    let quick = bench.subscribe(&id, None).await.unwrap();
    assert_eq!(text(quick).await, (whole.clone(), TaskState::Completed));
    let (read, state) = text(slow).await;
    assert_eq!(state, TaskState::Completed);
    assert!(read == whole);
}

#[tokio::test(start_paused = true)]
async fn a_very_long_answer_in_one_burst_arrives_whole_though_few_of_its_events_are_kept() {
    let pieces = vec!["piece ".to_owned(); 40_000];
    let bench = Bench::new(Behaviour::Stream(pieces, Duration::ZERO));
    let (read, state) = text(bench.stream(said("m", "go")).await).await;
    assert_eq!((read.len(), state), (240_000, TaskState::Completed));
}

#[tokio::test]
async fn a_task_that_ends_at_once_is_written_once() {
    let bench = Bench::new(Behaviour::Echo);
    for n in 0..100 {
        bench.task(said(&format!("m{n}"), "hello")).await;
    }
    assert_eq!((bench.store.all().len(), bench.store.writes()), (100, 100));
    let scope = bench.store.all()[0].scope();
    let id = bench.store.all()[0].id.clone();
    assert_eq!(bench.store.get(&scope, &id).await.unwrap().unwrap().revision, 1);
}
