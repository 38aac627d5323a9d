//! Each step of a turn as a line on stderr.

use mas_contracts::{Event, EventKind, EventSink, Scope, ToolCall};

use crate::console;

/// Most characters of a text on one line.
const SHOWN: usize = 100;

/// How much is traced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Depth {
    /// Delegations and tools: what a person waits for.
    Progress,
    /// Every step but pieces of text.
    Full,
}

/// Prints steps.
#[derive(Debug)]
pub(crate) struct Trace(pub(crate) Depth);

impl EventSink for Trace {
    fn emit(&self, event: Event) {
        if let Some(line) = line(self.0, &event) {
            console::err(&line);
        }
    }
}

fn line(depth: Depth, event: &Event) -> Option<String> {
    let what = match &event.kind {
        EventKind::DelegationStarted { to, route, task, .. } => format!("-> {to} ({route}): {}", short(task)),
        EventKind::DelegationEnded { to, state, error, latency, .. } => {
            let why = error.as_ref().map(|error| format!(": {error}")).unwrap_or_default();
            format!("<- {to} {} in {} ms{why}", state.as_str(), latency.as_millis())
        }
        EventKind::ToolStarted { call } => format!("{}({})", call.name, arguments(call)),
        EventKind::ToolEnded { name, output, latency, .. } => {
            let failed = if output.is_error { "failed " } else { "" };
            let text = mas_contracts::text_of(&output.parts);
            format!("{name} {failed}in {} ms: {}", latency.as_millis(), short(&text))
        }
        EventKind::Notice { text } => text.to_string(),
        // Somebody outside has to do something before an agent elsewhere goes on.
        EventKind::Status { state, text } if state.is_interrupted() => {
            format!("waits ({}): {}", state.as_str(), short(text.as_deref().unwrap_or_default()))
        }
        EventKind::Question(question) => format!("asks: {}", short(&question.question)),
        _ if depth == Depth::Progress => return None,
        EventKind::TurnStarted { input } => format!("turn {}: {}", event.scope.turn, short(&input.text())),
        EventKind::TurnEnded { status, error, usage } => {
            let why = error.as_ref().map(|error| format!(": {error}")).unwrap_or_default();
            format!(
                "turn {} after {} model calls, {} tokens{why}",
                status.as_str(),
                usage.model_calls,
                usage.tokens()
            )
        }
        EventKind::Accepted { task } => format!("task {task}"),
        EventKind::Status { state, text: Some(text) } => format!("{}: {}", state.as_str(), short(text)),
        EventKind::ModelStarted { model, messages } => format!("model {model}: {messages} messages"),
        EventKind::ModelEnded { message, error, latency, .. } => {
            let outcome = match (message, error) {
                (_, Some(error)) => format!("failed: {error}"),
                (Some(message), None) if !message.calls().is_empty() => {
                    let names: Vec<&str> = message.calls().iter().map(|call| &*call.name).collect();
                    format!("calls {}", names.join(", "))
                }
                (Some(message), None) => short(&message.text()),
                (None, None) => "said nothing".to_owned(),
            };
            format!("model in {} ms: {outcome}", latency.as_millis())
        }
        _ => return None,
    };
    Some(format!("{}{} {what}\n", "  ".repeat(level(&event.scope)), event.scope.agent))
}

fn level(scope: &Scope) -> usize {
    usize::from(scope.depth) + 1
}

fn arguments(call: &ToolCall) -> String {
    short(&call.arguments.to_json())
}

fn short(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}…", line.get(..at).unwrap_or_default()),
        None => line,
    }
}
