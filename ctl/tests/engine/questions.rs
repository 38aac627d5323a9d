//! A question anywhere in the tree surfaces at the root; the answer goes on where it stopped.

use std::sync::Arc;

use mas_contracts::{End, EventKind, Interruption, Message, Reply};
use mas_core::turn::{OnQuestion, TurnLimits};
use mas_testkit::{FnModel, asks_for, says};
use serde_json::json;

use crate::team::{Member, ask, delegate, say_in, team};

fn parent() -> FnModel {
    FnModel::new(|_, request| {
        let results: Vec<_> =
            request.turn.iter().filter(|m| matches!(***m, Message::Tool { .. })).map(|m| m.text()).collect();
        Ok(if results.is_empty() {
            let calls = [delegate("b", "book"), delegate("c", "look")];
            asks_for(calls.iter().map(|(name, arguments)| (name.as_str(), arguments.clone())))
        } else {
            says(results.join(" + "))
        })
    })
}

fn asks() -> serde_json::Value {
    json!({
        "rules": [
            {"prompt": "window", "response": {"text": "booked a window seat"}},
            {"prompt": "middle", "response": {"text": "there is no middle: window or aisle?", "task_state": "input_required"}},
        ],
        "default": {"text": "window or aisle?", "task_state": "input_required"},
    })
}

fn question(reply: &Reply) -> &Interruption {
    match &reply.end {
        End::Interrupted(question) => question,
        other => panic!("it does not wait: {other:?}"),
    }
}

#[tokio::test]
async fn a_childs_question_reaches_the_root_and_the_answer_resumes_it() {
    let sibling = Arc::new(FnModel::new(|_, _| Ok(says("looked"))));
    let model = Arc::new(parent());
    let team = team(vec![
        Member::new("a", model.clone()).delegating_to(&["b", "c"]),
        Member::new("b", Arc::new(FnModel::new(|_, _| Ok(says("")))))
            .with_pattern("scripted_response", asks()),
        Member::new("c", sibling.clone()),
    ])
    .await;
    let (reply, events) = ask(&team, say_in("s", "plan")).await;
    let reply = reply.expect("it waits");
    assert_eq!(&*question(&reply).question, "window or aisle?");
    assert_eq!(&*question(&reply).agent, "b");
    assert!(events.iter().any(|kind| matches!(kind, EventKind::Question(_))));

    // A wrong answer is asked again; nothing else runs twice.
    let again = ask(&team, say_in("s", "middle")).await.0.expect("it still waits");
    assert_eq!(&*question(&again).question, "there is no middle: window or aisle?");
    let (reply, _) = ask(&team, say_in("s", "window")).await;
    assert_eq!(&*reply.expect("it answers").text(), "booked a window seat + looked");
    assert_eq!((model.calls(), sibling.calls()), (2, 1));
}

#[tokio::test]
async fn the_model_gets_the_question_where_the_manifest_says_so() {
    let limits = TurnLimits { on_question: OnQuestion::Model, ..TurnLimits::default() };
    let team = team(vec![
        Member::new("a", Arc::new(parent())).delegating_to(&["b", "c"]).limited(limits),
        Member::new("b", Arc::new(FnModel::new(|_, _| Ok(says("")))))
            .with_pattern("scripted_response", asks()),
        Member::new("c", Arc::new(FnModel::new(|_, _| Ok(says("looked"))))),
    ])
    .await;
    let reply = ask(&team, say_in("s", "plan")).await.0.expect("the turn goes on");
    assert_eq!(reply.end, End::Done);
    assert!(reply.text().contains("window or aisle?"), "{}", reply.text());
}
