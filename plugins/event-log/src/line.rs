//! Events as lines.

use std::{
    collections::{HashMap, HashSet},
    fmt::Write,
    sync::Arc,
    time::Duration,
};

use mas_contracts::{CallId, Error, EventKind, Message, ToolOutput, Usage, text_of};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::queue::Waiting;

/// The kinds of lines, in the order of the table of the crate.
pub const KINDS: [&str; 17] = [
    "execution_start",
    "execution_end",
    "llm_call_start",
    "llm_call_end",
    "tool_call_start",
    "tool_call_end",
    "delegation_start",
    "delegation_end",
    "task_accepted",
    "task_status",
    "artifact",
    "user_response",
    "wait_state_start",
    "notice",
    "lagged",
    "other",
    "dropped",
];

/// How many messages are known to be written; beyond it all are forgotten, and written once more.
const SEEN_LIMIT: usize = 65_536;

/// Makes lines; remembers which messages are written and which models are at work.
pub(crate) struct Lines {
    run: Arc<str>,
    seen: HashSet<String>,
    models: HashMap<(Arc<str>, CallId), Arc<str>>,
}

impl Lines {
    pub(crate) fn new(run: Arc<str>) -> Self {
        Self { run, seen: HashSet::new(), models: HashMap::new() }
    }

    pub(crate) fn dropped(&self, ts: Duration, count: u64) -> Map<String, Value> {
        let mut line = self.begin(ts, "dropped");
        put(&mut line, "count", json!(count));
        line
    }

    pub(crate) fn event(&mut self, event: &Waiting) -> Map<String, Value> {
        let mut line = self.begin(event.ts, kind(&event.kind));
        put(&mut line, "agent_id", json!(event.agent));
        put(&mut line, "session_id", json!(event.session));
        put(&mut line, "turn_id", json!(event.turn));
        put(&mut line, "root_turn_id", json!(event.root_turn));
        put(&mut line, "call_id", json!(event.call.to_string()));
        put(&mut line, "parent_call_id", json!(event.parent_call.map(|call| call.to_string())));
        put(&mut line, "depth", json!(event.depth));
        self.fields(&mut line, event);
        line
    }

    fn begin(&self, ts: Duration, kind: &str) -> Map<String, Value> {
        let mut line = Map::new();
        put(&mut line, "ts", json!(ts.as_secs_f64()));
        put(&mut line, "run_id", json!(self.run));
        put(&mut line, "kind", json!(kind));
        line
    }

    fn fields(&mut self, line: &mut Map<String, Value>, event: &Waiting) {
        let model_key = || (event.turn.clone(), event.call);
        match &event.kind {
            EventKind::TurnStarted { input } => self.message(line, input),
            EventKind::TurnEnded { status, error, usage } => {
                put(line, "status", json!(status.as_str()));
                put(line, "error", shown(error.as_ref()));
                put(line, "usage", tokens(usage));
            }
            EventKind::ModelStarted { model, messages } => {
                if self.models.len() >= SEEN_LIMIT {
                    self.models.clear();
                }
                self.models.insert(model_key(), model.clone());
                put(line, "model", json!(model));
                put(line, "messages", json!(messages));
            }
            EventKind::TextDelta { .. } => {}
            EventKind::ModelEnded { message, error, usage, latency } => {
                put(line, "model", json!(self.models.remove(&model_key())));
                if let Some(message) = message {
                    self.message(line, message);
                }
                put(line, "error", shown(error.as_ref()));
                put(line, "usage", tokens(usage));
                put(line, "latency_ms", millis(*latency));
            }
            EventKind::ToolStarted { call } => {
                put(line, "tool_call_id", json!(call.id));
                put(line, "tool", json!(call.name));
                put(line, "arguments", json!(call.arguments));
            }
            EventKind::ToolEnded { id, name, output, latency } => {
                put(line, "tool_call_id", json!(id));
                put(line, "tool", json!(name));
                let output = ToolOutput::clone(output);
                put(line, "is_error", json!(output.is_error));
                self.message(line, &Message::Tool { call: id.clone(), name: name.clone(), output });
                put(line, "latency_ms", millis(*latency));
            }
            EventKind::DelegationStarted { to, route, tool_call, task } => {
                put(line, "to", json!(to));
                put(line, "route", json!(route));
                put(line, "tool_call_id", json!(tool_call));
                self.message(line, &Message::user(task.clone()));
            }
            EventKind::DelegationEnded { to, route, tool_call, state, error, latency } => {
                put(line, "to", json!(to));
                put(line, "route", json!(route));
                put(line, "tool_call_id", json!(tool_call));
                put(line, "state", json!(state.as_str()));
                put(line, "error", shown(error.as_ref()));
                put(line, "latency_ms", millis(*latency));
            }
            EventKind::Accepted { task } => put(line, "task", json!(task)),
            EventKind::Status { state, text } => {
                put(line, "state", json!(state.as_str()));
                put(line, "text", json!(text));
            }
            EventKind::ArtifactChunk { artifact, append, last } => {
                put(line, "artifact_id", json!(artifact.id));
                put(line, "name", json!(artifact.name));
                put(line, "content", json!(text_of(&artifact.parts)));
                put(line, "append", json!(append));
                put(line, "last", json!(last));
            }
            EventKind::Answer { parts } => {
                let message = Message::Assistant {
                    parts: parts.clone(),
                    reasoning: None,
                    calls: Vec::new(),
                    provider_data: None,
                };
                self.message(line, &message);
            }
            EventKind::Question(question) => put(line, "question", json!(question)),
            EventKind::Notice { text } => put(line, "text", json!(text)),
            EventKind::Lagged { missed } => put(line, "missed", json!(missed)),
            other => put(line, "event", json!(format!("{other:?}"))),
        }
    }

    /// Refers to a message; holds it if it is new.
    fn message(&mut self, line: &mut Map<String, Value>, message: &Message) {
        let Ok(content) = serde_json::to_value(message) else { return };
        let id = digest(&content.to_string());
        put(line, "message_id", json!(id));
        if self.seen.len() >= SEEN_LIMIT {
            self.seen.clear();
        }
        if self.seen.insert(id) {
            put(line, "message", content);
        }
    }
}

/// The kind of an event's line.
fn kind(kind: &EventKind) -> &'static str {
    match kind {
        EventKind::TurnStarted { .. } => "execution_start",
        EventKind::TurnEnded { .. } => "execution_end",
        EventKind::ModelStarted { .. } => "llm_call_start",
        EventKind::ModelEnded { .. } => "llm_call_end",
        EventKind::ToolStarted { .. } => "tool_call_start",
        EventKind::ToolEnded { .. } => "tool_call_end",
        EventKind::DelegationStarted { .. } => "delegation_start",
        EventKind::DelegationEnded { .. } => "delegation_end",
        EventKind::Accepted { .. } => "task_accepted",
        EventKind::Status { .. } => "task_status",
        EventKind::ArtifactChunk { .. } => "artifact",
        EventKind::Answer { .. } => "user_response",
        EventKind::Question(_) => "wait_state_start",
        EventKind::Notice { .. } => "notice",
        EventKind::Lagged { .. } => "lagged",
        _ => "other",
    }
}

fn put(line: &mut Map<String, Value>, key: &str, value: Value) {
    if !value.is_null() {
        line.insert(key.to_owned(), value);
    }
}

fn shown(error: Option<&Error>) -> Value {
    error.map_or(Value::Null, |error| json!({"code": error.code(), "message": format!("{error:#}")}))
}

fn tokens(usage: &Usage) -> Value {
    json!({"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens})
}

fn millis(latency: Duration) -> Value {
    json!((latency.as_secs_f64() * 1e6).round() / 1e3)
}

fn digest(content: &str) -> String {
    let mut id = String::with_capacity(32);
    for byte in Sha256::digest(content.as_bytes()).iter().take(16) {
        let _ = write!(id, "{byte:02x}");
    }
    id
}

#[cfg(test)]
mod tests {
    use super::KINDS;

    #[test]
    fn the_table_of_the_crate_is_the_list_of_kinds() {
        let documented: Vec<&str> = include_str!("lib.rs")
            .lines()
            .filter_map(|line| line.strip_prefix("//! | `")?.split_once('`'))
            .map(|(kind, _)| kind)
            .collect();
        assert_eq!(documented, KINDS);
        // Every kind that the code names is in the list.
        let (_, code) = include_str!("line.rs").split_once("fn kind(kind").unwrap();
        let (code, _) = code.split_once("\n}\n").unwrap();
        let named: Vec<&str> = code.split('"').skip(1).step_by(2).collect();
        assert_eq!(named, KINDS[..16]);
    }
}
