//! The events of a task's turns, folded into it.

use std::sync::Arc;

use mas_contracts::{Artifact, Audience, CallId, Event, EventKind, EventSink, Part, TaskState};

use super::live::{Live, State};

impl EventSink for Live {
    fn emit(&self, event: Event) {
        // Those of delegates are told by their turns.
        if event.scope.parent.is_some() {
            return;
        }
        let mut guard = self.lock();
        let state = &mut *guard;
        if state.ended {
            return;
        }
        let delegated = state.is_delegated(event.call);
        match event.kind {
            EventKind::TurnStarted { .. } if state.status.state != TaskState::Working => {
                self.set_status(state, TaskState::Working, None);
            }
            EventKind::TextDelta { audience: Audience::Answer, text } if !delegated && !text.is_empty() => {
                let append = state.streamed.is_some();
                let id = match state.streamed.clone() {
                    Some(id) => id,
                    None => state.answer_id(),
                };
                state.artifacts.text(&id, append, &text);
                state.streamed = Some(id.clone());
                self.tell_held(state, false);
                state.held = Some((Arc::new(Artifact::new(id, vec![Part::text(text)])), append));
                if state.polled > 0 {
                    return;
                }
                self.tell_held(state, false);
            }
            EventKind::ArtifactChunk { artifact, append, last } if !delegated => {
                if append {
                    state.artifacts.append(&artifact);
                } else {
                    state.artifacts.put(artifact.clone());
                }
                self.tell_artifact(state, artifact, append, last);
            }
            EventKind::Status { state: TaskState::Working, text: Some(text) } if !delegated => {
                let message = self.message(vec![Part::text(text)]);
                self.set_status(state, TaskState::Working, Some(message));
            }
            EventKind::DelegationStarted { .. } => state.delegations.push(event.call),
            EventKind::DelegationEnded { .. } => state.delegations.retain(|call| *call != event.call),
            _ => return,
        }
        drop(guard);
        self.wake();
    }
}

impl Live {
    /// Tells of the piece of text that is held. Returns whether there was one.
    pub(super) fn tell_held(&self, state: &mut State, last: bool) -> bool {
        let Some((piece, append)) = state.held.take() else { return false };
        self.tell_artifact(state, piece, append, last);
        true
    }

    /// The piece of text that is held is not told of: all of it is replaced.
    pub(super) fn drop_held(state: &mut State) {
        state.held = None;
    }

    /// A turn is about to be polled.
    pub(super) fn poll_begins(&self) {
        self.lock().polled += 1;
    }

    /// A turn was polled, and waits for something if `pending`.
    pub(super) fn poll_ends(&self, pending: bool) {
        let mut state = self.lock();
        state.polled = state.polled.saturating_sub(1);
        if pending && self.tell_held(&mut state, false) {
            drop(state);
            self.wake();
        }
    }
}

impl State {
    fn is_delegated(&self, call: CallId) -> bool {
        self.delegations.contains(&call)
    }
}
