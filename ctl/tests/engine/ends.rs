//! Whatever ends a turn: what began tells that it ended, and nothing is lost or mixed up.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

use async_trait::async_trait;
use mas_contracts::{
    AgentHost, CancelReason, Delivery, Error, ErrorKind, EventKind, Message, Record, Result, SessionKey,
    StoreContract, TurnRequest,
};
use mas_core::{team::TeamLimits, turn::TurnLimits};
use mas_testkit::{FnModel, RecordingSink, ScriptedModel, asks_for, says};

use crate::team::{Member, SECOND, ask, delegate, say, say_in, team, team_with};

/// Began less ended, by kind: turns, model calls, tools, delegations.
fn open(events: &[EventKind]) -> [i32; 4] {
    let mut open = [0; 4];
    for event in events {
        match event {
            EventKind::TurnStarted { .. } => open[0] += 1,
            EventKind::TurnEnded { .. } => open[0] -= 1,
            EventKind::ModelStarted { .. } => open[1] += 1,
            EventKind::ModelEnded { .. } => open[1] -= 1,
            EventKind::ToolStarted { .. } => open[2] += 1,
            EventKind::ToolEnded { .. } => open[2] -= 1,
            EventKind::DelegationStarted { .. } => open[3] += 1,
            EventKind::DelegationEnded { .. } => open[3] -= 1,
            _ => {}
        }
    }
    open
}

/// Delegates two tasks to `b` on the first call, then says how many messages it saw.
fn broker() -> FnModel {
    FnModel::new(|_, request| {
        let has_results = request.turn.iter().any(|m| matches!(**m, Message::Tool { .. }));
        let calls = [delegate("b", "x"), delegate("b", "y")];
        Ok(if has_results {
            says(request.turn.iter().skip(2).map(|m| m.text().to_string()).collect::<Vec<_>>().join("|"))
        } else {
            asks_for(calls.iter().map(|(name, arguments)| (name.as_str(), arguments.clone())))
        })
    })
}

fn slow() -> FnModel {
    FnModel::new(|_, _| Ok(says("late"))).thinking(SECOND * 600)
}

#[tokio::test(start_paused = true)]
async fn what_began_ends_in_the_events_however_the_turn_is_ended() {
    let members = || {
        vec![Member::new("a", Arc::new(broker())).delegating_to(&["b"]), Member::new("b", Arc::new(slow()))]
    };
    // Stopped by its deadline.
    let (reply, events) =
        ask(&*team(members()).await, TurnRequest { timeout: Some(SECOND), ..say("go") }).await;
    assert_eq!(reply.expect_err("it is over").kind(), ErrorKind::Timeout);
    assert_eq!(open(&events), [0; 4], "deadline");

    // Stopped by a cancel, with siblings under way.
    let cancelled = team(members()).await;
    let sink = RecordingSink::new();
    let turn = cancelled.turn(say("go"), Some(sink.clone()));
    let stop = async {
        sink.wait_for(|event| event.scope.depth == 1 && matches!(event.kind, EventKind::ModelStarted { .. }))
            .await;
        cancelled.stop(CancelReason::Requested);
    };
    let (outcome, ()) = tokio::join!(turn, stop);
    assert_eq!(outcome.expect("it ran").reply.expect_err("it was stopped").kind(), ErrorKind::Cancelled);
    assert_eq!(open(&sink.kinds()), [0; 4], "cancel");

    // Dropped.
    let sink = RecordingSink::new();
    let dropped = team(members()).await;
    let cut = tokio::time::timeout(SECOND, dropped.turn(say("go"), Some(sink.clone()))).await;
    assert!(cut.is_err());
    assert_eq!(open(&sink.kinds()), [0; 4], "drop");

    // A peer given up at its limit.
    let limits = TurnLimits { delegation: SECOND, ..TurnLimits::default() };
    let limited = team(vec![
        Member::new("a", Arc::new(broker())).delegating_to(&["b"]).limited(limits),
        Member::new("b", Arc::new(slow())),
    ])
    .await;
    let (reply, events) = ask(&limited, say("go")).await;
    reply.expect("the turn goes on");
    assert_eq!(open(&events), [0; 4], "limit");
}

#[tokio::test]
async fn a_conversation_for_one_call_never_comes_back() {
    let child = Arc::new(FnModel::new(|_, request| Ok(says(request.messages().count().to_string()))));
    let team =
        team(vec![Member::new("a", Arc::new(broker())).delegating_to(&["b"]), Member::new("b", child)]).await;
    assert_eq!(&*ask(&team, say_in("s", "1")).await.0.expect("it answers").text(), "1|1");
    assert_eq!(&*ask(&team, say_in("s", "2")).await.0.expect("it answers").text(), "3|1");
    assert_eq!(team.session_count(), 2);
}

#[tokio::test]
async fn the_same_session_of_two_owners_is_two_sessions_below_it_too() {
    let child = Arc::new(FnModel::new(|_, request| Ok(says(request.messages().count().to_string()))));
    let team =
        team(vec![Member::new("a", Arc::new(broker())).delegating_to(&["b"]), Member::new("b", child)]).await;
    for owner in ["one", "two"] {
        let request = TurnRequest { owner: Some(owner.into()), ..say_in("s", "1") };
        assert_eq!(&*ask(&team, request).await.0.expect("it answers").text(), "1|1", "{owner}");
    }
}

#[tokio::test]
async fn agents_of_other_processes_count_for_loops_and_depth() {
    let team = team(vec![Member::new("a", Arc::new(FnModel::new(|_, _| Ok(says("x")))))]).await;
    let from = |agents: &[&str]| TurnRequest {
        ancestry: agents.iter().map(|agent| (*agent).into()).collect(),
        ..say("go")
    };
    let again = team.turn(from(&["x", "a", "y"]), None).await.expect_err("a is on the path");
    assert_eq!((again.kind(), again.delivery()), (ErrorKind::Loop, Delivery::Rejected));
    assert!(again.message().contains("x -> a -> y -> a"));
    let deep = team.turn(from(&["1", "2", "3", "4", "5"]), None).await.expect_err("it is too deep");
    assert_eq!(deep.kind(), ErrorKind::Limit);
    assert!(team.turn(from(&["1", "2", "3", "4"]), None).await.is_ok());
    // A depth that is said counts where the path says less, and never for less than the path.
    let said = team.turn(TurnRequest { depth: 5, ..from(&["1"]) }, None).await.expect_err("it says so");
    assert_eq!(said.kind(), ErrorKind::Limit);
    let forged = TurnRequest { depth: 0, ..from(&["1", "2", "3", "4", "5"]) };
    assert_eq!(team.turn(forged, None).await.expect_err("the path says so").kind(), ErrorKind::Limit);
}

#[tokio::test]
async fn an_error_of_a_peer_that_ran_never_reads_as_not_sent() {
    let child = ScriptedModel::with_results(vec![Err(Error::new(ErrorKind::Unavailable, "down"))]);
    let team = team(vec![
        Member::new("a", Arc::new(broker())).delegating_to(&["b"]),
        Member::new("b", Arc::new(child)),
    ])
    .await;
    let (_, events) = ask(&team, say("go")).await;
    let deliveries: Vec<_> = events
        .iter()
        .filter_map(|kind| match kind {
            EventKind::DelegationEnded { error: Some(error), .. } => Some(error.delivery()),
            _ => None,
        })
        .collect();
    assert_eq!(deliveries, [Delivery::Answered; 2]);
}

#[tokio::test]
async fn the_events_of_an_ended_turn_are_let_go() {
    let model: Arc<FnModel> = Arc::new(FnModel::new(|_, _| Ok(says("x"))));
    let team = team(vec![Member::new("a", model)]).await;
    let mut scopes = Vec::new();
    for n in 0..3 {
        let ticket = team.submit(say_in(&n.to_string(), "go")).expect("it is let in");
        let mut events = team.subscribe(&ticket.key, 0).expect("it runs");
        ticket.reply.await.expect("it answers");
        while let Some(event) = futures_util::StreamExt::next(&mut events).await {
            scopes.push(Arc::downgrade(&event.event.scope));
        }
    }
    assert!(!scopes.is_empty());
    assert!(scopes.iter().all(|scope| scope.upgrade().is_none()), "nothing holds a turn that has ended");
}

/// Keeps records in memory; its `n`th append fails.
#[derive(Default)]
struct Failing {
    records: Mutex<Vec<Record>>,
    appends: AtomicUsize,
    fails_at: usize,
}

#[async_trait]
impl StoreContract for Failing {
    async fn append(&self, _session: &SessionKey, records: &[Record]) -> Result<()> {
        if self.appends.fetch_add(1, Relaxed) + 1 == self.fails_at {
            return Err(Error::new(ErrorKind::Unavailable, "the disk is full"));
        }
        self.records.lock().expect("nobody panics").extend_from_slice(records);
        Ok(())
    }

    async fn load(&self, _session: &SessionKey) -> Result<Vec<Record>> {
        Ok(Vec::new())
    }

    async fn forget(&self, _session: &SessionKey) -> Result<()> {
        self.records.lock().expect("nobody panics").clear();
        Ok(())
    }
}

#[tokio::test]
async fn a_turn_is_recorded_as_intents_and_outcomes_and_no_failing_append_loses_it() {
    for fails_at in 0..=4 {
        let store = Arc::new(Failing { fails_at, ..Failing::default() });
        let model = FnModel::new(|_, request| Ok(says(request.messages().count().to_string())));
        let member = Member::new("a", Arc::new(model));
        let team = team_with(vec![member], TeamLimits::default(), Some(store.clone())).await;
        let (reply, events) = ask(&team, say_in("s", "one")).await;
        assert_eq!(open(&events), [0; 4], "append {fails_at}");
        if fails_at == 0 {
            reply.expect("it answers");
            let records = store.records.lock().expect("nobody panics");
            let kinds: Vec<&str> = records
                .iter()
                .map(|record| match record {
                    Record::Turn { .. } => "turn",
                    Record::Started { .. } => "started",
                    Record::Done { .. } => "done",
                    Record::Ended { .. } => "ended",
                })
                .collect();
            assert_eq!(kinds, ["turn", "started", "done", "ended"]);
        } else {
            assert_eq!(reply.expect_err("it is told").message(), "the disk is full");
        }
        // The session goes on; what was said is in its history once the turn began.
        let next = ask(&team, say_in("s", "two")).await.0.expect("it answers").text();
        let expected = match fails_at {
            1 => "1",
            2 | 3 => "2",
            _ => "3",
        };
        // An outcome that could not be recorded is one all the same.
        assert!(*next == *expected || (fails_at == 3 && *next == *"3"), "append {fails_at}: {next}");
    }
}
