//! What the end of a turn makes of its task.

use std::sync::Arc;

use mas_comm_kit::turn::metadata;
use mas_contracts::{
    Artifact, Delivery, End, Error, ErrorKind, Form, InterruptionKind, Part, Reply, Result, TaskMessage,
    TaskState,
};

use serde_json::Value;

use super::live::{Live, State};

/// Whether a turn was refused for the agents that it came through, so that nothing was done for it.
pub(super) fn is_refusal(error: &Error) -> bool {
    matches!(&*error.code(), "mas::delegation::loop" | "mas::delegation::depth")
        && error.delivery() == Delivery::Rejected
}

/// A message with one more pair of metadata, for callers that are of this kind too.
fn marked(message: Arc<TaskMessage>, key: &str, value: Value) -> Arc<TaskMessage> {
    let mut message = Arc::unwrap_or_clone(message);
    message.metadata.insert(key.to_owned(), value);
    Arc::new(message)
}

impl Live {
    /// Takes in how a turn ended. The task ends with the last turn of its queue.
    pub(super) fn turn_ended(&self, turn: &str, result: Result<Reply>) {
        let mut guard = self.lock();
        let state = &mut *guard;
        state.turns.retain(|open| &**open != turn);
        if !state.ended {
            match result {
                Ok(reply) => self.replied(state, turn, reply),
                Err(error) => self.failed(state, &error),
            }
        }
        drop(guard);
        self.wake();
    }

    /// Ends the task from outside its turns.
    pub(super) fn end(&self, to: TaskState, message: Option<Arc<TaskMessage>>) {
        let mut guard = self.lock();
        if !guard.ended {
            self.close_stream(&mut guard);
            self.conclude(&mut guard, to, message);
        }
        drop(guard);
        self.wake();
    }

    fn replied(&self, state: &mut State, turn: &str, reply: Reply) {
        let Reply { parts, artifacts, end, form, .. } = reply;
        let only = state.turns.is_empty() && !state.public && state.revision == 0;
        // A message has a part at least (A2A v1.0, section 4.1.4).
        let only = only && state.artifacts.is_empty() && !parts.is_empty();
        if form == Form::Message && only && end == End::Done {
            let message = TaskMessage { task: None, ..Arc::unwrap_or_clone(self.message(parts)) };
            state.said = Some(Arc::new(message));
            state.ended = true;
            return;
        }
        let (to, says) = match end {
            End::Done if form == Form::Artifact => {
                self.answer(state, parts);
                (TaskState::Completed, Vec::new())
            }
            End::Done => (TaskState::Completed, parts),
            End::Failed(to) => (to, parts),
            End::Interrupted(question) => {
                state.asked = Some(turn.into());
                let to = match question.kind {
                    InterruptionKind::Input => TaskState::InputRequired,
                    InterruptionKind::Auth => TaskState::AuthRequired,
                };
                (to, if parts.is_empty() { vec![Part::text(question.question)] } else { parts })
            }
        };
        self.close_stream(state);
        for artifact in artifacts {
            if !state.artifacts.contains(&artifact) {
                let artifact = Arc::new(artifact);
                state.artifacts.put(artifact.clone());
                self.tell_artifact(state, artifact, false, true);
            }
        }
        let beside = form == Form::Status && to == TaskState::Completed && !state.artifacts.is_empty();
        let message = (!says.is_empty()).then(|| {
            let message = self.message(says);
            if beside { marked(message, metadata::ANSWER, true.into()) } else { message }
        });
        self.conclude(state, to, message);
    }

    fn failed(&self, state: &mut State, error: &Error) {
        self.close_stream(state);
        let to = match error.kind() {
            _ if state.canceling => TaskState::Canceled,
            ErrorKind::Cancelled => TaskState::Canceled,
            ErrorKind::Rejected | ErrorKind::Denied => TaskState::Rejected,
            _ => TaskState::Failed,
        };
        let message = (to != TaskState::Canceled).then(|| {
            let message = self.message(vec![Part::text(error.to_string())]);
            if is_refusal(error) { marked(message, metadata::ERROR, error.code().into()) } else { message }
        });
        self.conclude(state, to, message);
    }

    /// Sets the state that a turn ended in, or stays at work for the turns behind it.
    fn conclude(&self, state: &mut State, to: TaskState, message: Option<Arc<TaskMessage>>) {
        let more = !state.turns.is_empty() && !state.canceling;
        if more && message.is_none() {
            return;
        }
        let to = if more { TaskState::Working } else { to };
        state.ended = to.is_terminal();
        self.set_status(state, to, message);
    }

    /// The answer as an artifact: the streamed one if there is one, completed or replaced.
    fn answer(&self, state: &mut State, parts: Vec<Part>) {
        if parts.is_empty() {
            return;
        }
        let id = match state.streamed.clone() {
            Some(id) if state.artifacts.is_text(&id, &parts) => return,
            Some(id) => id,
            None => state.answer_id(),
        };
        state.streamed = None;
        Self::drop_held(state);
        let artifact = Arc::new(Artifact::new(id, parts));
        state.artifacts.put(artifact.clone());
        self.tell_artifact(state, artifact, false, true);
    }

    /// Says that the streamed text is complete, with its last piece if that is held. Else nothing is left to say,
    /// and an artifact needs a part.
    fn close_stream(&self, state: &mut State) {
        let held = self.tell_held(state, true);
        if let Some(id) = state.streamed.take().filter(|_| !held) {
            self.tell_artifact(state, Arc::new(Artifact::new(id, vec![Part::text("")])), true, true);
        }
    }
}
