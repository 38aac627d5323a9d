//! The conversation on stdout, streamed.

use std::sync::{Mutex, PoisonError};

use mas_contracts::{Audience, CallId, Event, EventKind, EventSink, Reply};

use crate::{console, prompts::YOU};

/// Prints the answer of the root agent as it comes.
#[derive(Debug)]
pub(crate) struct Screen {
    speaker: String,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// What was printed since the last model call began.
    said: String,
    /// Whether the speaker was named and the line is still open.
    open: bool,
    /// Delegations under way: what an agent elsewhere says is told in the turn that waits for it.
    delegations: Vec<CallId>,
}

impl Screen {
    /// A screen on which the answers are `speaker`'s.
    pub(crate) fn new(speaker: &str) -> Self {
        Self { speaker: speaker.to_owned(), state: Mutex::default() }
    }

    /// Begins a turn; prints what is said to the agent, unless it stands there already.
    pub(crate) fn prompt(&self, text: &str, shown: bool) {
        if !shown {
            console::out(&format!("{YOU}{text}\n"));
        }
        *self.lock() = State::default();
    }

    /// Prints what of the reply was not streamed, and ends its line.
    pub(crate) fn answer(&self, reply: Option<&Reply>) {
        let mut state = self.lock();
        if let Some(reply) = reply {
            let text = reply.text();
            let rest = match text.strip_prefix(state.said.as_str()) {
                Some(rest) => rest,
                None => {
                    console::fresh_line();
                    &text
                }
            };
            if !rest.is_empty() || !state.open {
                self.say(&mut state, rest);
            }
        }
        console::fresh_line();
        *state = State::default();
    }

    /// Leaves a blank line after a turn.
    pub(crate) fn gap(&self) {
        console::out("\n");
    }

    fn say(&self, state: &mut State, text: &str) {
        if state.open {
            console::out(text);
        } else {
            console::out(&format!("{}: {text}", self.speaker));
            state.open = true;
        }
        state.said.push_str(text);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl EventSink for Screen {
    fn emit(&self, event: Event) {
        if event.scope.parent.is_some() {
            return;
        }
        match &event.kind {
            EventKind::TextDelta { audience: Audience::Answer, text } if !text.is_empty() => {
                let mut state = self.lock();
                if !state.delegations.contains(&event.call) {
                    self.say(&mut state, text);
                }
            }
            EventKind::DelegationStarted { .. } => self.lock().delegations.push(event.call),
            EventKind::DelegationEnded { .. } => self.lock().delegations.retain(|call| *call != event.call),
            // What was said before a tool call stands on a line of its own.
            EventKind::ModelStarted { .. } => {
                let mut state = self.lock();
                if state.open {
                    console::fresh_line();
                }
                *state = State::default();
            }
            _ => {}
        }
    }
}
