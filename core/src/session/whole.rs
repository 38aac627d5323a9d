//! Whole histories: every call has its result.

use std::{collections::HashSet, sync::Arc};

use mas_contracts::{Message, ToolOutput};

/// What a result says of a call that was given up.
const INTERRUPTED: &str = "interrupted: the turn ended before this call did";

/// Gives every call without a result one that says so, right after the results of its message.
pub(crate) fn close_calls(messages: &mut Vec<Arc<Message>>) {
    let answered: HashSet<Arc<str>> = messages.iter().filter_map(answers).cloned().collect();
    let is_open = |message: &Arc<Message>| message.calls().iter().any(|call| !answered.contains(&call.id));
    if !messages.iter().any(is_open) {
        return;
    }
    let mut whole: Vec<Arc<Message>> = Vec::with_capacity(messages.len() + 1);
    let mut open: Vec<Arc<Message>> = Vec::new();
    for message in messages.drain(..) {
        if answers(&message).is_none() {
            whole.append(&mut open);
        }
        let missing = message.calls().iter().filter(|call| !answered.contains(&call.id));
        open.extend(missing.map(|call| {
            let output = ToolOutput::error(INTERRUPTED);
            Arc::new(Message::Tool { call: call.id.clone(), name: call.name.clone(), output })
        }));
        whole.push(message);
    }
    whole.append(&mut open);
    *messages = whole;
}

fn answers(message: &Arc<Message>) -> Option<&Arc<str>> {
    match &**message {
        Message::Tool { call, .. } => Some(call),
        _ => None,
    }
}
