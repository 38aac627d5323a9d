//! The rules of a script.

use mas_contracts::{ErrorKind, Problem};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

/// A rule: conditions, all of which must hold, and a reply.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Rule {
    /// Condition: the agent's handle.
    #[serde(default)]
    pub(super) agent: Option<String>,
    /// Condition: the model's name.
    #[serde(default)]
    pub(super) model: Option<String>,
    /// Condition: the user's text, exactly.
    #[serde(default)]
    pub(super) equals: Option<String>,
    /// Condition: a part of the user's text, whatever the case.
    #[serde(default)]
    pub(super) contains: Option<String>,
    /// Condition: a pattern of the user's text, whatever the case; `*` is any text, `?` any character.
    #[serde(default)]
    pub(super) matches: Option<String>,
    /// Condition: this tool has a result in this turn.
    #[serde(default)]
    pub(super) after_tool: Option<String>,
    /// Condition: each of these tools has a result in this turn. Default none.
    #[serde(default)]
    pub(super) after: Vec<String>,
    /// Condition: the last result of this tool in this turn is a failure.
    #[serde(default)]
    pub(super) tool_failed: Option<String>,
    /// Condition: the number of the model call in the turn, from 1.
    #[serde(default)]
    pub(super) call: Option<usize>,

    /// Reply: the text.
    #[serde(default)]
    pub(super) say: Option<String>,
    /// Reply: the text as these pieces.
    #[serde(default)]
    pub(super) chunks: Option<Vec<String>>,
    /// Reply: tool calls. Default none.
    #[serde(default)]
    pub(super) calls: Vec<Call>,
    /// Reply: milliseconds before the first piece; default 0.
    #[serde(default)]
    pub(super) delay_ms: u64,
    /// Reply: milliseconds between two pieces; default 0.
    #[serde(default)]
    pub(super) chunk_delay_ms: u64,
    /// Reply: a failure.
    #[serde(default)]
    pub(super) error: Option<Failure>,
    /// Reply: tokens, instead of counted words.
    #[serde(default)]
    pub(super) usage: Option<Tokens>,
}

/// A tool call.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Call {
    /// The tool.
    pub(super) tool: String,
    /// Its arguments. Default none.
    #[serde(default)]
    pub(super) arguments: Map<String, Value>,
    /// The id of the call; default `call_<n>_<m>`.
    #[serde(default)]
    pub(super) id: Option<String>,
}

/// A failure of the model.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Failure {
    /// What went wrong, such as unavailable, rate_limited, timeout, failed.
    #[schemars(with = "String")]
    pub(super) kind: ErrorKind,
    /// One sentence.
    pub(super) message: String,
}

/// Tokens spent.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Tokens {
    /// Read; default 0.
    #[serde(default)]
    pub(super) input_tokens: u64,
    /// Written; default 0.
    #[serde(default)]
    pub(super) output_tokens: u64,
}

/// What the types alone cannot say about a script.
pub(super) fn problems(rules: &[Rule]) -> Vec<Problem> {
    if rules.is_empty() {
        return vec![Problem::new("a script needs at least one rule").at("rules")];
    }
    let mut problems = Vec::new();
    for (at, rule) in rules.iter().enumerate() {
        let path = format!("rules[{at}]");
        let texts = rule.say.is_some() || rule.chunks.is_some();
        if rule.say.is_some() && rule.chunks.is_some() {
            problems.push(
                Problem::new("`say` and `chunks` are both the text; give one")
                    .at(format!("{path}.chunks"))
                    .help("`chunks` together are the text"),
            );
        }
        match &rule.error {
            Some(_) if texts || !rule.calls.is_empty() => {
                problems.push(
                    Problem::new("`error` stands instead of text and calls").at(format!("{path}.error")),
                );
            }
            None if !texts && rule.calls.is_empty() => problems.push(
                Problem::new("the rule has no reply")
                    .at(path.clone())
                    .help("give `say`, `chunks`, `calls` or `error`"),
            ),
            _ => {}
        }
        if rule.call == Some(0) {
            problems.push(Problem::new("model calls are counted from 1").at(format!("{path}.call")));
        }
    }
    problems
}
