//! The routes by which a person, or a test in another process, says what happens.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Answer, Asked, Call, StandIn, World};

/// What `/_control/clock` takes.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Advance {
    advance_ms: u64,
}

pub(crate) fn answer(stand_in: &StandIn, path: &str, asked: &Asked) -> Answer {
    match (&*asked.method, path) {
        ("POST", "script") => match serde_json::from_slice::<World>(&asked.body) {
            Ok(world) => {
                stand_in.load(world);
                Answer::json(200, &json!({}))
            }
            Err(error) => Answer::detail(400, &error.to_string()),
        },
        ("GET", "calls") => {
            let calls: Vec<Value> = stand_in.calls().iter().map(Call::to_json).collect();
            let body = json!({"calls": calls, "executed": stand_in.executed(), "legacy": stand_in.legacy()});
            Answer::json(200, &body)
        }
        ("POST", "clock") => match serde_json::from_slice::<Advance>(&asked.body) {
            Ok(Advance { advance_ms }) => {
                let mut state = stand_in.state();
                state.ahead = state.ahead.saturating_add(Duration::from_millis(advance_ms));
                Answer::json(
                    200,
                    &json!({"ahead_ms": u64::try_from(state.ahead.as_millis()).unwrap_or(u64::MAX)}),
                )
            }
            Err(error) => Answer::detail(400, &error.to_string()),
        },
        (_, "script" | "calls" | "clock") => Answer::detail(405, "another method"),
        _ => Answer::detail(404, "there are script, calls and clock"),
    }
}
