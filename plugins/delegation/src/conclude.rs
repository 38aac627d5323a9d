//! What a model reads about a delegation.

use std::{sync::Arc, time::Duration};

use mas_contracts::{
    Delivery, End, Error, Interruption, InterruptionKind, Reply, Retry, TaskState, ToolCall, ToolOutput,
    text_of,
};

use crate::surface::context_of;

/// The result of a delegation that the peer answered.
pub(crate) fn replied(peer: &str, call: &ToolCall, reply: &Reply) -> ToolOutput {
    match &reply.end {
        End::Done => done(peer, reply),
        End::Failed(state) => ended(peer, *state, reply),
        End::Interrupted(question) => asked(peer, call, question, reply),
    }
}

/// The result of a delegation that no reply came of.
pub(crate) fn failed(peer: &str, error: &Error) -> ToolOutput {
    let told = format!("{error:#}");
    // More may follow, so that a sentence of the other side does not end here.
    let told = told.trim_end().trim_end_matches('.');
    let mut text = format!("delegation to `{peer}` failed ({}): {told}", error.kind().as_str());
    if error.delivery() == Delivery::Unknown {
        text.push_str("; the agent may have done some of the work");
    }
    match error.retry() {
        Retry::Unstated => {}
        Retry::Never => text.push_str("; do not repeat the same call"),
        Retry::Backoff => text.push_str("; it may work later"),
        Retry::After(pause) => text.push_str(&format!("; it may work after {}", seconds(pause))),
    }
    ToolOutput::error(text)
}

fn done(peer: &str, reply: &Reply) -> ToolOutput {
    let text = content(reply);
    if text.trim().is_empty() {
        return ToolOutput::text(format!("agent `{peer}` finished without output"));
    }
    ToolOutput::text(text)
}

fn ended(peer: &str, state: TaskState, reply: &Reply) -> ToolOutput {
    let reason = content(reply);
    let reason = match reason.trim() {
        "" => "the agent gave no reason",
        reason => reason,
    };
    ToolOutput::error(format!("delegation to `{peer}` failed (state {}): {reason}", state.as_str()))
}

fn asked(peer: &str, call: &ToolCall, asked: &Interruption, reply: &Reply) -> ToolOutput {
    let mut text = match asked.kind {
        InterruptionKind::Input => format!("agent `{peer}` is not done, it asks: {}", asked.question),
        InterruptionKind::Auth => {
            format!("agent `{peer}` is not done, it needs credentials: {}", asked.question)
        }
    };
    let said = content(reply);
    if !said.trim().is_empty() && said.trim() != asked.question.trim() {
        text.push_str("\nSo far it said: ");
        text.push_str(&said);
    }
    text.push_str(&match asked.kind {
        InterruptionKind::Input => {
            let same =
                context_of(call).map(|name| format!(" and \"context_id\": \"{name}\"")).unwrap_or_default();
            format!("\nTo answer, call `{}` again with the answer as \"task\"{same}.", call.name)
        }
        InterruptionKind::Auth => {
            "\nOnly a person can give them; say so instead of calling it again.".to_owned()
        }
    });
    ToolOutput::error(text)
}

/// The parts, then the artifacts that hold anything, each on a line of its own.
fn content(reply: &Reply) -> Arc<str> {
    let answer = text_of(&reply.parts);
    let artifacts = reply.artifacts.iter().map(|artifact| text_of(&artifact.parts));
    let mut pieces: Vec<_> =
        std::iter::once(answer).chain(artifacts).filter(|piece| !piece.trim().is_empty()).collect();
    match pieces.len() {
        0 => Arc::from(""),
        1 => pieces.swap_remove(0),
        _ => pieces.join("\n").into(),
    }
}

fn seconds(pause: Duration) -> String {
    format!("{} s", pause.as_millis().div_ceil(1000).max(1))
}
