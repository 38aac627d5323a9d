//! `scripted`: plays rules from a YAML file.
//!
//! A script is an ordered list of rules. The first rule whose conditions all hold replies; where none does, the
//! call fails and says what it looked for. So a rule that continues after a tool stands before the rule that
//! calls it, or the latter says `call: 1`.
//!
//! ```yaml
//! rules:
//!   - agent: moderator                       # the agent's handle
//!     tool_failed: delegate_to_fares         # its last result in this turn is a failure
//!     say: "I could not reach fares."
//!   - agent: moderator
//!     after: [delegate_to_fares]             # results of these tools are in this turn already
//!     say: "The fare desk says: {tool:delegate_to_fares}"
//!   - agent: moderator
//!     contains: trip                         # part of the user's text, whatever the case
//!     calls:
//!       - tool: delegate_to_fares
//!         arguments: {task: "Fare for: {input}"}
//!   - agent: fares
//!     chunks: ["42 ", "EUR"]                 # streamed as these pieces
//!     chunk_delay_ms: 200
//!   - equals: fail                           # no `agent`: any agent
//!     error: {kind: unavailable, message: the model is down}
//!   - say: "You said: {input}"               # no condition: everything else
//! ```
//!
//! | condition | holds when |
//! |---|---|
//! | `agent` | the agent's handle is this |
//! | `model` | the model's name is this |
//! | `equals` | the user's text is exactly this |
//! | `contains` | the user's text contains this, whatever the case |
//! | `matches` | the user's text fits this pattern, whatever the case: `*` is any text, `?` any character |
//! | `after_tool`, `after` | this tool has, or these tools have, a result in this turn |
//! | `tool_failed` | the last result of this tool in this turn is a failure |
//! | `call` | this is the n-th model call of the turn, from 1 |
//!
//! The user's text is the last user message of the request. In a delegated turn it is the task.
//!
//! | reply | is |
//! |---|---|
//! | `say` | the text, streamed word by word |
//! | `chunks` | the text as these pieces, instead of `say` |
//! | `calls` | tool calls: `tool`, `arguments` (an object), `id` (default `call_<n>_<m>`, the m-th call of the n-th model call) |
//! | `delay_ms` | a wait before the first piece; ended by a cancel of the run and by its deadline |
//! | `chunk_delay_ms` | a wait between pieces |
//! | `error` | a failure of `kind` with `message`, instead of text and calls |
//! | `usage` | `input_tokens` and `output_tokens`, instead of counted words |
//!
//! In `say`, `chunks`, and every string of `arguments`, `{input}` stands for the user's text and `{tool:NAME}` for
//! the text of the last result of that tool in this turn. Everything else in braces is left as it is, and what is
//! put in is not read again.

mod play;
mod rule;
mod template;

use std::{borrow::Cow, fmt::Write, fs::File, io::Read, path::Path, sync::Arc};

use async_trait::async_trait;
use mas_contracts::{
    Build, BuildContext, Builder, CallContext, ChatRequest, Completion, Descriptor, Error, ErrorKind,
    ModelContract, Problem, Result, check_params, inventory, parse_params, schema_of,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::speech;
use play::Situation;
use rule::Rule;

/// A larger script is refused.
const LIMIT: u64 = 16 * 1024 * 1024;

/// Parameters of `scripted`: exactly one of the two.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Params {
    /// The script file, relative to the manifest: YAML with the key `rules`.
    #[serde(default)]
    path: Option<String>,
    /// The rules themselves.
    #[serde(default)]
    rules: Option<Vec<Rule>>,
}

/// The script file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Script {
    rules: Vec<Rule>,
}

impl Params {
    fn problems(&self) -> Vec<Problem> {
        match (&self.path, &self.rules) {
            (None, None) => vec![
                Problem::new("`scripted` needs `path` or `rules`")
                    .help("`path: script.yaml` for a file, `rules: [{say: Hello}]` in place"),
            ],
            (Some(_), Some(_)) => {
                vec![Problem::new("`scripted` takes `path` or `rules`, not both").at("rules")]
            }
            (Some(_), None) => Vec::new(),
            (None, Some(rules)) => rule::problems(rules),
        }
    }
}

inventory::submit! {
    Descriptor {
        name: Cow::Borrowed("scripted"),
        aliases: Cow::Borrowed(&[]),
        origin: Cow::Borrowed(env!("CARGO_PKG_NAME")),
        version: Cow::Borrowed(env!("CARGO_PKG_VERSION")),
        summary: Cow::Borrowed("Plays rules from a YAML file: text, tool calls, delays, failures."),
        example: Cow::Borrowed("model_access:\n  provider: scripted\n  params: {path: script.yaml}\n"),
        schema: schema_of::<Params>,
        check: |params| {
            let problems = check_params::<Params>(params);
            if !problems.is_empty() {
                return problems;
            }
            parse_params::<Params>(params).map(|params| params.problems()).unwrap_or_default()
        },
        builder: Builder::Model(Build::Linked(|cx, params| Ok(Arc::new(Scripted::open(cx, params)?)))),
    }
}

/// The model `scripted`.
#[derive(Debug)]
pub struct Scripted {
    rules: Vec<Rule>,
    origin: String,
}

impl Scripted {
    /// The model with the script that the parameters give or name.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for a script with an error, [`ErrorKind::NotFound`] for a missing file.
    pub fn open(cx: &BuildContext, params: &Value) -> Result<Self> {
        let params: Params = parse_params(params)?;
        let problems = params.problems();
        if !problems.is_empty() {
            return Err(invalid("the parameters of `scripted`", &problems));
        }
        match params.path {
            Some(path) => Self::read(&cx.base.join(path)),
            None => Ok(Self { rules: params.rules.unwrap_or_default(), origin: "its parameters".to_owned() }),
        }
    }

    /// The model with the script of a file.
    ///
    /// # Errors
    /// As [`Scripted::open`].
    pub fn read(path: &Path) -> Result<Self> {
        let shown = path.display();
        let open = |error: std::io::Error| {
            let kind = match error.kind() {
                std::io::ErrorKind::NotFound => ErrorKind::NotFound,
                std::io::ErrorKind::InvalidData => ErrorKind::Invalid,
                _ => ErrorKind::Unavailable,
            };
            Error::new(kind, format!("the script `{shown}` cannot be read"))
                .with_code("mas::scripted::unreadable")
                .caused_by(error)
        };
        let mut text = String::new();
        let file = File::open(path).map_err(open)?;
        file.take(LIMIT.saturating_add(1)).read_to_string(&mut text).map_err(open)?;
        if u64::try_from(text.len()).unwrap_or(u64::MAX) > LIMIT {
            return Err(Error::invalid(format!("the script `{shown}` is larger than {LIMIT} bytes"))
                .with_code("mas::scripted::invalid"));
        }
        let script: Script = serde_saphyr::from_str(&text).map_err(|error| {
            Error::invalid(format!("the script `{shown}` has an error"))
                .with_code("mas::scripted::invalid")
                .caused_by(error.without_snippet())
        })?;
        let problems = rule::problems(&script.rules);
        if !problems.is_empty() {
            return Err(invalid(&format!("the script `{shown}`"), &problems));
        }
        Ok(Self { rules: script.rules, origin: format!("`{shown}`") })
    }

    fn no_rule(&self, situation: &Situation<'_>) -> Error {
        let start = speech::head(situation.input(), 60);
        let dots = if start.len() < situation.input().len() { "…" } else { "" };
        let mut message = format!(
            "no rule of the script fits agent `{}` in model call {} of the turn; the user's text is \
             `{start}{dots}`",
            situation.agent, situation.call,
        );
        let tools = situation.tools();
        if !tools.is_empty() {
            let _ = write!(message, "; tool results of {}", tools.join(", "));
        }
        Error::new(ErrorKind::NotFound, message)
            .with_code("mas::scripted::no_rule")
            .with("script", &self.origin)
    }
}

fn invalid(what: &str, problems: &[Problem]) -> Error {
    let error = Error::invalid(format!("{what} cannot be played")).with_code("mas::scripted::invalid");
    problems.iter().fold(error, |error, problem| {
        let help = problem.help.as_ref().map(|help| format!(" ({help})")).unwrap_or_default();
        error.caused_by(format!("{}: {}{help}", problem.path, problem.message))
    })
}

#[async_trait]
impl ModelContract for Scripted {
    async fn chat(&self, cx: &CallContext, request: ChatRequest<'_>) -> Result<Completion> {
        let situation = Situation::new(cx, &request);
        let Some((at, rule)) = self.rules.iter().enumerate().find(|(_, rule)| situation.fits(rule)) else {
            return Err(self.no_rule(&situation));
        };
        situation
            .play(cx, rule)
            .await
            .map_err(|error| error.with("script", &self.origin).with("rule", at.saturating_add(1)))
    }
}
