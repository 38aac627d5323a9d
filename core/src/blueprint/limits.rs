//! The limits that a MAS states, and flags over them.

use super::types::Limits;
use crate::manifest::{TeamDocument, reading};

/// The limits of a team: a flag wins over the document, number by number.
pub(super) fn limits_of(team: Option<&TeamDocument>, flags: &Limits) -> Limits {
    let block = team.and_then(|team| team.document.get("x-mas-limits"));
    let count = |name: &str| reading::int(block?.get(name)).map(|count| count.value.unsigned_abs());
    let size = |name: &str| count(name).map(|count| usize::try_from(count).unwrap_or(usize::MAX));
    let word = block.and_then(|block| reading::filled(block.get("on_question")));
    Limits {
        depth: flags.depth.or_else(|| count("depth").map(|depth| u16::try_from(depth).unwrap_or(u16::MAX))),
        calls_at_once: flags.calls_at_once.or_else(|| size("calls_at_once")),
        delegations_per_answer: flags.delegations_per_answer.or_else(|| size("delegations_per_answer")),
        delegation_seconds: flags.delegation_seconds.or_else(|| count("delegation_seconds")),
        model_calls: flags.model_calls.or_else(|| count("model_calls")),
        tokens: flags.tokens.or_else(|| count("tokens")),
        run_seconds: flags.run_seconds.or_else(|| count("run_seconds")),
        question_to_model: flags.question_to_model.or_else(|| word.map(|word| word.value == "model")),
    }
}
