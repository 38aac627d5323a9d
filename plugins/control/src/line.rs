//! Events and sessions as JSON.

use std::time::Duration;

use mas_contracts::{Audience, Error, EventKind, SequencedEvent, SessionView, text_of};
use serde_json::{Map, Value, json};

use crate::wire::error_record;

/// An event as a record: `seq`, `kind`, where it happened, and what it says. `kind` is the name of the
/// [`EventKind`] in snake case.
#[must_use]
pub fn event_record(event: &SequencedEvent) -> Value {
    let scope = &event.event.scope;
    let (kind, fields) = said(&event.event.kind);
    let mut record = Map::new();
    record.insert("seq".to_owned(), json!(event.seq));
    record.insert("kind".to_owned(), json!(kind));
    record.insert("agent".to_owned(), json!(scope.agent));
    record.insert("session".to_owned(), json!(scope.session));
    record.insert("turn".to_owned(), json!(scope.turn));
    record.insert("depth".to_owned(), json!(scope.depth));
    record.insert("call".to_owned(), json!(event.event.call.to_string()));
    if let Value::Object(fields) = fields {
        record.extend(fields.into_iter().filter(|(_, value)| !value.is_null()));
    }
    Value::Object(record)
}

/// A session as a record: its key, what it is at, and its counts.
#[must_use]
pub fn session_record(view: &SessionView) -> Value {
    serde_json::to_value(view).unwrap_or_default()
}

fn said(kind: &EventKind) -> (&'static str, Value) {
    match kind {
        EventKind::TurnStarted { input } => ("turn_started", json!({"input": input})),
        EventKind::TurnEnded { status, error, usage } => {
            ("turn_ended", json!({"status": status.as_str(), "error": failure(error), "usage": usage}))
        }
        EventKind::ModelStarted { model, messages } => {
            ("model_started", json!({"model": model, "messages": messages}))
        }
        EventKind::TextDelta { audience, text } => {
            let audience = match audience {
                Audience::Answer => "answer",
                Audience::Reasoning => "reasoning",
            };
            ("text_delta", json!({"audience": audience, "text": text}))
        }
        EventKind::ModelEnded { message, error, usage, latency } => {
            let fields = json!({"message": message, "error": failure(error), "usage": usage, "latency_ms": millis(*latency)});
            ("model_ended", fields)
        }
        EventKind::ToolStarted { call } => ("tool_started", json!({"tool_call": call})),
        EventKind::ToolEnded { id, name, output, latency } => {
            let fields =
                json!({"tool_call": id, "tool": name, "output": output, "latency_ms": millis(*latency)});
            ("tool_ended", fields)
        }
        EventKind::DelegationStarted { to, route, tool_call, task } => {
            ("delegation_started", json!({"to": to, "route": route, "tool_call": tool_call, "task": task}))
        }
        EventKind::DelegationEnded { to, route, tool_call, state, error, latency } => {
            let fields = json!({
                "to": to,
                "route": route,
                "tool_call": tool_call,
                "state": state,
                "error": failure(error),
                "latency_ms": millis(*latency),
            });
            ("delegation_ended", fields)
        }
        EventKind::Accepted { task } => ("accepted", json!({"task": task})),
        EventKind::Status { state, text } => ("status", json!({"state": state, "text": text})),
        EventKind::ArtifactChunk { artifact, append, last } => {
            ("artifact_chunk", json!({"artifact": artifact, "append": append, "last": last}))
        }
        EventKind::Answer { parts } => ("answer", json!({"text": text_of(parts), "parts": parts})),
        EventKind::Question(question) => ("question", json!({"question": question})),
        EventKind::Notice { text } => ("notice", json!({"text": text})),
        EventKind::Lagged { missed } => ("lagged", json!({"missed": missed})),
        other => ("other", json!({"text": format!("{other:?}")})),
    }
}

fn failure(error: &Option<Error>) -> Option<Value> {
    error.as_ref().map(error_record)
}

fn millis(latency: Duration) -> u64 {
    u64::try_from(latency.as_millis()).unwrap_or(u64::MAX)
}
