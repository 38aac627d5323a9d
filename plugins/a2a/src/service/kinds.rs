//! Answers of the kind that a caller asks for: a message within the limit for one, or a task at once.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use mas_comm_kit::turn::metadata;
use mas_contracts::{Part, Task, TaskMessage, TaskState, text_of};

use super::{Inner, live::Live};
use crate::model::{Caller, Failure, RESPONSE_KIND, Reason, ResponseKind, SendMessage, SendReply, Violation};

/// Where the kind stands in a request.
const FIELD: &str = "configuration.responseKind";

impl Inner {
    /// Answers a message as the kind wants it that it names.
    pub(super) async fn send(
        self: &Arc<Self>,
        caller: &Caller,
        mut request: SendMessage,
    ) -> Result<SendReply, Failure> {
        let seen = OnceLock::new();
        match request.kind {
            None => self.sent(caller, request, &seen).await,
            Some(ResponseKind::Task) => {
                request.return_immediately = true;
                self.sent(caller, request, &seen).await
            }
            Some(ResponseKind::Message) => {
                request.return_immediately = false;
                self.answered(caller, request, &seen).await
            }
        }
    }

    /// A message for an answer. A turn that takes longer than one may is stopped.
    async fn answered(
        self: &Arc<Self>,
        caller: &Caller,
        request: SendMessage,
        seen: &OnceLock<Arc<Live>>,
    ) -> Result<SendReply, Failure> {
        let work = self.sent(caller, request, seen);
        let reply = match self.kit.options.message_limit {
            None => work.await?,
            Some(limit) => match self.within(limit, work).await {
                Some(reply) => reply?,
                None => {
                    if let Some(live) = seen.get() {
                        let turns = live.lock().turns.clone();
                        self.stop(live, turns);
                    }
                    return Err(over_limit(limit));
                }
            },
        };
        match reply {
            SendReply::Message(message) => Ok(SendReply::Message(message)),
            SendReply::Task(view) => as_message(&view.task, self.kit.ids.next_id()),
        }
    }

    /// Whether a message may name the kind that it names.
    ///
    /// # Errors
    /// [`Reason::InvalidParams`] for one that is not offered, or without its extension.
    pub(super) fn check_kind(&self, caller: &Caller, request: &SendMessage) -> Result<(), Failure> {
        let Some(kind) = request.kind else { return Ok(()) };
        let offered = &self.kit.options.kinds;
        let wrong = if offered.is_empty() {
            "is not known here: the card names no such extension".to_owned()
        } else if !offered.contains(&kind) {
            let offered: Vec<&str> = offered.iter().map(|kind| kind.as_str()).collect();
            format!("is `{}`, and this agent offers {}", kind.as_str(), offered.join(", "))
        } else if !caller.extensions.iter().any(|uri| &**uri == RESPONSE_KIND) {
            format!("needs the extension `{RESPONSE_KIND}` in the `A2A-Extensions` header")
        } else {
            return Ok(());
        };
        Err(Failure::invalid(vec![Violation::new(FIELD, wrong)]))
    }
}

/// The failure of a turn that took longer than a message may.
fn over_limit(limit: Duration) -> Failure {
    let seconds = limit.as_secs_f64().to_string();
    let text =
        format!("the turn took longer than {seconds} s and was stopped; ask for the response kind task");
    Failure::new(Reason::MessageLimit, text).with("limitSeconds", seconds)
}

/// What came of a task, as one message.
fn as_message(task: &Task, id: Arc<str>) -> Result<SendReply, Failure> {
    let said = task.status.message.as_ref();
    if matches!(task.status.state, TaskState::Failed | TaskState::Rejected | TaskState::Canceled) {
        let why = said.map(|said| text_of(&said.parts)).filter(|why| !why.is_empty());
        let why = why.unwrap_or_else(|| task.status.state.as_str().into());
        return Err(Failure::new(Reason::Internal, format!("the turn failed: {why}")));
    }
    let is_answer = said.is_some_and(|said| metadata::is_answer(&said.metadata));
    let waits = task.status.state.is_interrupted();
    let mut parts: Vec<Part> = match said {
        Some(said) if is_answer || waits || task.artifacts.is_empty() => said.parts.clone(),
        _ => task.artifacts.iter().flat_map(|artifact| artifact.parts.iter().cloned()).collect(),
    };
    if parts.is_empty() {
        // A message has a part at least (A2A v1.0, section 4.1.4).
        parts.push(Part::text(""));
    }
    Ok(SendReply::Message(Arc::new(TaskMessage {
        id,
        from: mas_contracts::Speaker::Agent,
        context: Some(task.context.clone()),
        task: None,
        parts,
        metadata: serde_json::Map::new(),
        extensions: Vec::new(),
        references: Vec::new(),
    })))
}
