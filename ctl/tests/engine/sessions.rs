//! Sessions: apart from one another, one turn at a time, never with an open call.

use std::{collections::HashSet, sync::Arc};

use futures_util::StreamExt;
use mas_contracts::{AgentHost, CancelReason, ErrorKind, EventKind, Message, Part, SessionKey, TurnRequest};
use mas_testkit::{FnModel, says};
use serde_json::json;

use crate::team::{Member, SECOND, ask, delegate, say_in, team};

fn key(agent: &str, session: &str) -> SessionKey {
    SessionKey { owner: None, agent: agent.into(), session: session.into() }
}

fn last_user(request: &mas_contracts::ChatRequest<'_>) -> Arc<str> {
    request.turn.first().map_or_else(|| "".into(), |message| message.text())
}

#[tokio::test(start_paused = true)]
async fn a_thousand_sessions_at_once_are_answered_apart() {
    let parent = FnModel::new(|_, request| {
        Ok(match request.turn.last().map(|message| (&**message, message.text())) {
            Some((Message::Tool { .. }, text)) => says(format!("answer to {text}")),
            _ => mas_testkit::asks_for([("delegate_to_b", json!({"task": last_user(request)}))]),
        })
    })
    .thinking(SECOND);
    let child = FnModel::new(|_, request| Ok(says(last_user(request)))).thinking(SECOND);
    let team = team(vec![
        Member::new("a", Arc::new(parent)).delegating_to(&["b"]),
        Member::new("b", Arc::new(child)),
    ])
    .await;
    let began = tokio::time::Instant::now();
    let tickets: Vec<_> = (0..1000)
        .map(|n| {
            let request = say_in(&format!("s{n}"), &format!("question {n}"));
            (n, team.submit(request).expect("it is let in"))
        })
        .collect();
    for (n, ticket) in tickets {
        assert_eq!(&*ticket.reply.await.expect("it answers").text(), format!("answer to question {n}"));
    }
    assert_eq!(began.elapsed(), SECOND * 3);
    assert_eq!(team.session_count(), 2000);
}

#[tokio::test(start_paused = true)]
async fn turns_of_one_session_run_one_by_one_in_order() {
    let model = Arc::new(FnModel::new(|_, request| Ok(says(last_user(request)))).thinking(SECOND));
    let team = team(vec![Member::new("a", model.clone())]).await;
    let tickets: Vec<_> =
        (0..5).map(|n| team.submit(say_in("s", &n.to_string())).expect("it is let in")).collect();
    let session = team.session(&key("a", "s")).expect("it is there");
    let (revision, queue) = session.queue();
    assert_eq!(queue.len(), 4);
    // The queue is data: the last is moved to the front, another one says something else by now.
    let revision = session.reorder(revision, &queue[3].turn, 0).expect("nobody else changed it");
    session.change(revision, &queue[0].turn, vec![Part::text("one, changed")]).expect("it still waits");
    let stale = session.reorder(revision, &queue[1].turn, 0).expect_err("the revision is stale");
    assert_eq!(stale.kind(), ErrorKind::Conflict);
    for ticket in tickets {
        ticket.reply.await.expect("it answers");
    }
    let said: Vec<String> = session
        .history()
        .iter()
        .filter(|m| matches!(***m, Message::User { .. }))
        .map(|m| m.text().to_string())
        .collect();
    assert_eq!(said, ["0", "4", "one, changed", "2", "3"]);
}

#[tokio::test(start_paused = true)]
async fn a_turn_id_seen_before_returns_its_turn_and_runs_nothing() {
    let model = Arc::new(FnModel::new(|number, _| Ok(says(format!("run {number}")))).thinking(SECOND));
    let team = team(vec![Member::new("a", model.clone())]).await;
    let request = TurnRequest { turn: Some("m1".into()), ..say_in("s", "hi") };
    let running = team.submit(request.clone()).expect("it is let in");
    let twin = team.submit(request.clone()).expect("it is known");
    assert_eq!(&*running.reply.await.expect("it answers").text(), "run 0");
    assert_eq!(&*twin.reply.await.expect("it answers").text(), "run 0");
    assert_eq!(&*ask(&team, request).await.0.expect("it is known").text(), "run 0");
    assert_eq!(model.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_full_queue_refuses() {
    let model = FnModel::new(|_, _| Ok(says("x"))).thinking(SECOND);
    let team = team(vec![Member::new("a", Arc::new(model))]).await;
    let results: Vec<_> = (0..70).map(|_| team.submit(say_in("s", "x")).map(|_| ())).collect();
    let refused: HashSet<_> =
        results.iter().filter_map(|r| r.as_ref().err()).map(|e| e.code().into_owned()).collect();
    assert_eq!(refused, HashSet::from(["mas::session::queue_full".to_owned()]));
    assert_eq!(results.iter().filter(|r| r.is_ok()).count(), 65);
}

#[tokio::test(start_paused = true)]
async fn dropping_a_turn_frees_the_session_and_leaves_no_open_call() {
    let parent = Arc::new(FnModel::new(|number, request| {
        Ok(if number == 0 {
            mas_testkit::asks_for(
                [delegate("b", "x"), delegate("b", "y")].iter().map(|(n, a)| (n.as_str(), a.clone())),
            )
        } else {
            says(format!("{} messages", request.messages().count()))
        })
    }));
    let child = FnModel::new(|_, _| Ok(says("late"))).thinking(SECOND * 60);
    let team =
        team(vec![Member::new("a", parent.clone()).delegating_to(&["b"]), Member::new("b", Arc::new(child))])
            .await;
    let dropped = tokio::time::timeout(SECOND, team.turn(say_in("s", "go"), None)).await;
    assert!(dropped.is_err(), "it was dropped while its children worked");
    let history = team.session(&key("a", "s")).expect("it is there").history();
    let calls: Vec<_> = history.iter().flat_map(|m| m.calls().iter().map(|c| c.id.clone())).collect();
    let answered: Vec<_> = history
        .iter()
        .filter_map(|m| match &**m {
            Message::Tool { call, output, .. } if output.is_error => Some(call.clone()),
            _ => None,
        })
        .collect();
    assert_eq!((calls.len(), calls), (2, answered));
    assert_eq!(&*ask(&team, say_in("s", "again")).await.0.expect("it answers").text(), "5 messages");
}

#[tokio::test(start_paused = true)]
async fn cancelling_stops_the_turn_and_the_peers_below_and_the_next_one_runs() {
    let parent = FnModel::new(|number, _| {
        let (name, arguments) = delegate("b", "x");
        Ok(if number == 0 { mas_testkit::asks_for([(name.as_str(), arguments)]) } else { says("next") })
    });
    let child = FnModel::new(|_, _| Ok(says("late"))).thinking(SECOND * 60);
    let team = team(vec![
        Member::new("a", Arc::new(parent)).delegating_to(&["b"]),
        Member::new("b", Arc::new(child)),
    ])
    .await;
    let running = team.submit(say_in("s", "go")).expect("it is let in");
    let waiting = team.submit(say_in("s", "then")).expect("it waits");
    let given_up = team.submit(say_in("s", "never")).expect("it waits");
    let mut events = team.subscribe(&running.key, 0).expect("it runs");
    while let Some(next) = events.next().await {
        if matches!(next.event.kind, EventKind::ModelStarted { .. }) && next.event.scope.depth == 1 {
            break;
        }
    }
    let began = tokio::time::Instant::now();
    assert!(team.cancel(&given_up.key, CancelReason::Requested));
    assert!(team.cancel(&running.key, CancelReason::Requested));
    let error = running.reply.await.expect_err("it was stopped");
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    assert!(began.elapsed() < SECOND / 5, "{:?}", began.elapsed());
    assert_eq!(given_up.reply.await.expect_err("it was taken out").kind(), ErrorKind::Cancelled);
    assert_eq!(&*waiting.reply.await.expect("it runs").text(), "next");
    assert!(!team.cancel(&waiting.key, CancelReason::Requested), "there is nothing left to stop");
}

#[tokio::test]
async fn a_session_that_is_forgotten_begins_anew_with_everything_below_it() {
    let parent = FnModel::new(|_, request| {
        let (name, arguments) = delegate("b", "x");
        let asked = request.turn.iter().any(|message| matches!(**message, Message::Tool { .. }));
        Ok(if asked {
            says(format!("{} {}", request.history.len(), request.turn[2].text()))
        } else {
            mas_testkit::asks_for([(name.as_str(), arguments)])
        })
    });
    let child = FnModel::new(|_, request| Ok(says(request.history.len().to_string())));
    let team = team(vec![
        Member::new("a", Arc::new(parent)).delegating_to(&["b"]),
        Member::new("b", Arc::new(child)),
    ])
    .await;
    let answer = |team: Arc<mas_core::team::Team>| async move {
        ask(&team, say_in("s", "go")).await.0.expect("it answers").text().to_string()
    };
    assert_eq!(answer(team.clone()).await, "0 0");
    assert_eq!(answer(team.clone()).await, "4 2");
    team.forget("a", "s").await.expect("it is forgotten");
    assert_eq!(team.session_count(), 0);
    assert_eq!(answer(team.clone()).await, "0 0");
}

#[tokio::test]
async fn a_late_subscriber_gets_what_is_kept_and_a_slow_one_loses_no_text() {
    let model = FnModel::new(|_, _| Ok(says("x")));
    let params = json!({"default": {"text": "end", "stream_chunks": vec!["0123456789"; 9000]}});
    let team = team(vec![Member::new("a", Arc::new(model)).with_pattern("scripted_response", params)]).await;
    let ticket = team.submit(say_in("s", "go")).expect("it is let in");
    let mut events = team.subscribe(&ticket.key, 0).expect("it runs");
    ticket.reply.await.expect("it answers");
    let (mut text, mut last) = (0, 0);
    while let Some(next) = events.next().await {
        assert!(next.seq > last, "in order");
        last = next.seq;
        match next.event.kind {
            EventKind::TextDelta { text: piece, .. } => text += piece.len(),
            EventKind::Lagged { missed } => panic!("{missed} events were lost"),
            _ => {}
        }
    }
    assert_eq!(text, 90_000);
}
