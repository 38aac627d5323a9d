//! The journal of a running turn: its messages, what is done, what was spent.

use std::sync::Arc;

use mas_contracts::{Arguments, CallContext, EventKind, Message, OpDone, ToolCall, TurnStatus, Usage};

use crate::session::{Admitted, Commit, Paused, close_calls};

/// A turn under way. Dropped before it is closed, it commits what is whole.
pub(super) struct Journal<'a> {
    pub(super) messages: Vec<Arc<Message>>,
    pub(super) done: Vec<OpDone>,
    pub(super) usage: Usage,
    /// What delegations spent, as far as their replies say.
    pub(super) below: Usage,
    cx: &'a CallContext,
    admitted: &'a mut Admitted,
    closed: bool,
}

impl<'a> Journal<'a> {
    pub(super) fn new(cx: &'a CallContext, admitted: &'a mut Admitted, messages: Vec<Arc<Message>>) -> Self {
        Self {
            messages,
            done: Vec::new(),
            usage: Usage::default(),
            below: Usage::default(),
            cx,
            admitted,
            closed: false,
        }
    }

    pub(super) fn admitted(&self) -> &Admitted {
        self.admitted
    }

    /// The messages as they are committed: every call has its result.
    pub(super) fn whole(&mut self) -> Vec<Arc<Message>> {
        let mut messages = std::mem::take(&mut self.messages);
        close_calls(&mut messages);
        messages
    }

    /// Commits the messages of an ended turn.
    pub(super) fn close(&mut self, messages: Vec<Arc<Message>>) {
        self.closed = true;
        self.admitted.commit(Commit { messages, paused: None });
    }

    /// Leaves the turn waiting for a person; its messages are committed when it ends.
    pub(super) fn pause(&mut self, paused: Box<Paused>) {
        self.closed = true;
        self.admitted.commit(Commit { messages: Vec::new(), paused: Some(paused) });
    }
}

impl Drop for Journal<'_> {
    fn drop(&mut self) {
        if !self.closed {
            let messages = self.whole();
            self.close(messages);
            self.cx.emit(EventKind::TurnEnded {
                status: TurnStatus::Cancelled,
                error: None,
                usage: self.usage,
            });
        }
    }
}

/// Gives calls ids that are unique in the conversation; providers send empty and repeated ones.
pub(super) fn name_calls(calls: &mut [ToolCall], history: &[Arc<Message>], turn: &[Arc<Message>]) {
    let taken = |id: &str, before: &[ToolCall]| {
        id.is_empty()
            || before.iter().any(|call| &*call.id == id)
            || turn.iter().chain(history).any(|message| message.calls().iter().any(|call| &*call.id == id))
    };
    for at in 0..calls.len() {
        let (before, rest) = calls.split_at_mut(at);
        let Some(call) = rest.first_mut() else { continue };
        if !taken(&call.id, before) {
            continue;
        }
        let base = if call.id.is_empty() { "call" } else { &call.id };
        let mut n = history.len() + turn.len() + at;
        let mut id = format!("{base}_{n}");
        while taken(&id, before) {
            n += 1;
            id = format!("{base}_{n}");
        }
        call.id = id.into();
    }
}

/// Arguments that are an object, as a JSON value.
pub(super) fn arguments_of(call: &ToolCall) -> Option<serde_json::Value> {
    match &call.arguments {
        Arguments::Object(map) => Some(serde_json::Value::Object((**map).clone())),
        Arguments::Malformed(_) => None,
    }
}
