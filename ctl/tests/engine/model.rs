//! The model operation: conversations that are too long, answers of a form.

use std::sync::Arc;

use mas_contracts::{CONTEXT_LENGTH, Error, EventKind};
use mas_testkit::{FnModel, ScriptedModel, says};
use serde_json::json;

use crate::team::{Member, ask, say_in, team};

/// A model that takes no more than this many messages.
fn short_sighted(most: usize) -> Arc<FnModel> {
    Arc::new(FnModel::new(move |_, request| {
        let count = request.messages().count();
        if count > most {
            return Err(Error::invalid("too long").with_code(CONTEXT_LENGTH));
        }
        Ok(says(count.to_string()))
    }))
}

#[tokio::test]
async fn a_conversation_that_is_too_long_is_shown_in_part_and_told() {
    let team = team(vec![Member::new("a", short_sighted(5))]).await;
    let mut answers = Vec::new();
    for _ in 0..4 {
        let (reply, events) = ask(&team, say_in("s", "more")).await;
        let told = events.iter().any(|kind| matches!(kind, EventKind::Notice { .. }));
        answers.push((reply.expect("it answers").text().to_string(), told));
    }
    // The fourth turn would be 7 messages: the later half of the past, from a user's message on, and the turn.
    let expected = [("1", false), ("3", false), ("5", false), ("3", true)];
    assert_eq!(answers, expected.map(|(text, told)| (text.to_owned(), told)));
}

#[tokio::test]
async fn a_turn_that_is_too_long_by_itself_says_what_to_do() {
    let team = team(vec![Member::new("a", short_sighted(0))]).await;
    let error = ask(&team, say_in("s", "hi")).await.0.unwrap_err();
    assert_eq!(error.code(), CONTEXT_LENGTH);
    assert!(error.message().contains("begin a new session"), "{error}");
}

#[tokio::test]
async fn an_answer_has_to_fit_its_schema() {
    let schema = json!({"output_schema": {
        "type": "object", "properties": {"fare": {"type": "number"}}, "required": ["fare"],
    }});
    for pattern in ["react", "single_pass"] {
        let model =
            ScriptedModel::new(vec![says(r#"{"fare": 42}"#), says(r#"{"fare": "much"}"#), says("42 crowns")]);
        let team = team(vec![Member::new("a", Arc::new(model)).with_pattern(pattern, schema.clone())]).await;
        let fits = ask(&team, say_in("s", "1")).await.0.expect("it fits");
        assert_eq!(&*fits.text(), r#"{"fare": 42}"#);
        for _ in 0..2 {
            let error = ask(&team, say_in("s", "2")).await.0.unwrap_err();
            assert_eq!(error.code(), "mas::model::output_schema", "{pattern}: {error}");
        }
    }
}
