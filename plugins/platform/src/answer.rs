//! What a session answered: exactly a message, or exactly a task, as it came.

use std::sync::Arc;

use bytes::Bytes;
use mas_contracts::{Delivery, Error, ErrorKind, Result, Retry};
use serde_json::Value;

use crate::{kind::ResponseKind, parts};

/// The code of the error for an answer that is not as the contract has it.
pub(crate) const INVALID: &str = "mas::platform::response_invalid";

/// An answer. What is not known here is kept as it came.
#[derive(Clone, Debug, PartialEq)]
pub struct Received {
    kind: ResponseKind,
    /// The message or the task.
    inner: Value,
    body: Bytes,
}

impl Received {
    /// Reads the body of a success. Its kind must be the one that was asked for, its conversation the session.
    ///
    /// # Errors
    /// [`INVALID`], or `mas::platform::response_kind_mismatch`; the session executed the message.
    pub(crate) fn read(body: Bytes, kind: ResponseKind, session: &str) -> Result<Self> {
        let document = match serde_json::from_slice(&body) {
            Ok(Value::Object(document)) => document,
            Ok(_) => return Err(invalid("is no JSON object")),
            Err(_) if body.is_empty() => return Err(invalid("is empty")),
            Err(_) => return Err(invalid("is no JSON")),
        };
        // Null is how some writers say that there is none.
        let member = |name: &str| document.get(name).filter(|member| !member.is_null());
        let (message, task) = (member("message"), member("task"));
        let (given, inner) = match (message, task) {
            (Some(message), None) => (ResponseKind::Message, message),
            (None, Some(task)) => (ResponseKind::Task, task),
            (Some(_), Some(_)) => return Err(invalid("holds both a message and a task")),
            (None, None) => return Err(invalid("holds neither a message nor a task")),
        };
        if given != kind {
            let text = format!("the session answered with a {given} where a {kind} was asked for");
            return Err(answered(text, "mas::platform::response_kind_mismatch"));
        }
        let inner = inner.clone();
        match given {
            ResponseKind::Message => check_message(&inner, session)?,
            ResponseKind::Task => check_task(&inner, session)?,
        }
        Ok(Self { kind, inner, body })
    }

    /// What it is.
    #[must_use]
    pub fn kind(&self) -> ResponseKind {
        self.kind
    }

    /// The message or the task, with all that it holds.
    #[must_use]
    pub fn inner(&self) -> &Value {
        &self.inner
    }

    /// The whole answer as it came: a JSON object.
    #[must_use]
    pub fn body(&self) -> &Bytes {
        &self.body
    }

    /// The text of a message, or that of the artifacts of a task: texts only, one after the other.
    #[must_use]
    pub fn text(&self) -> String {
        match self.kind {
            ResponseKind::Message => parts::text_of(self.inner.get("parts")),
            ResponseKind::Task => {
                let artifacts = self.inner.get("artifacts").and_then(Value::as_array);
                let artifacts = artifacts.map_or(&[][..], Vec::as_slice);
                artifacts.iter().map(|artifact| parts::text_of(artifact.get("parts"))).collect()
            }
        }
    }

    /// The id of a task.
    #[must_use]
    pub fn task(&self) -> Option<Arc<str>> {
        let id = self.inner.get("id").filter(|_| self.kind == ResponseKind::Task);
        id.and_then(Value::as_str).map(Into::into)
    }

    /// Whether it is a task that is over, or that waits for somebody: nothing comes by itself any more.
    #[must_use]
    pub fn rests(&self) -> bool {
        let state = self.inner.get("status").and_then(|status| status.get("state")).and_then(Value::as_str);
        state.and_then(state_of).is_some_and(|state| state.is_terminal() || state.is_interrupted())
    }
}

/// A state in either spelling: `TASK_STATE_WORKING`, or `working`.
pub(crate) fn state_of(word: &str) -> Option<mas_contracts::TaskState> {
    use mas_contracts::TaskState as State;
    let word = word.strip_prefix("TASK_STATE_").unwrap_or(word).to_ascii_lowercase().replace('-', "_");
    Some(match &*word {
        "submitted" => State::Submitted,
        "working" => State::Working,
        "completed" => State::Completed,
        "failed" => State::Failed,
        "canceled" | "cancelled" => State::Canceled,
        "rejected" => State::Rejected,
        "input_required" => State::InputRequired,
        "auth_required" => State::AuthRequired,
        _ => return None,
    })
}

fn check_message(message: &Value, session: &str) -> Result<()> {
    if !message.is_object() {
        return Err(invalid("holds a message that is no object"));
    }
    match message.get("role").and_then(Value::as_str) {
        Some("ROLE_AGENT") => {}
        _ => return Err(invalid("holds a message whose `role` is not ROLE_AGENT")),
    }
    filled(message, "messageId")?;
    if message.get("parts").and_then(Value::as_array).is_none_or(Vec::is_empty) {
        return Err(invalid("holds a message without `parts`"));
    }
    check_context(message, session)
}

fn check_task(task: &Value, session: &str) -> Result<()> {
    if !task.is_object() {
        return Err(invalid("holds a task that is no object"));
    }
    filled(task, "id")?;
    let status = task.get("status").unwrap_or(&Value::Null);
    filled(status, "state")?;
    if task.get("kind").is_some_and(|kind| kind != "task") {
        return Err(invalid("holds a task whose `kind` is another"));
    }
    if task.get("artifacts").is_some_and(|artifacts| !artifacts.is_array() && !artifacts.is_null()) {
        return Err(invalid("holds a task whose `artifacts` are no list"));
    }
    check_context(task, session)
}

fn check_context(inner: &Value, session: &str) -> Result<()> {
    if inner.get("contextId").and_then(Value::as_str) == Some(session) {
        return Ok(());
    }
    Err(invalid("is of another conversation: its `contextId` is not the session"))
}

fn filled(inner: &Value, name: &str) -> Result<()> {
    let text = inner.get(name).and_then(Value::as_str);
    if text.is_some_and(|text| !text.trim().is_empty()) {
        return Ok(());
    }
    Err(invalid(&format!("has no `{name}`")))
}

fn invalid(what: &str) -> Error {
    answered(format!("the answer of the session {what}"), INVALID)
}

fn answered(text: String, code: &'static str) -> Error {
    Error::new(ErrorKind::Failed, text)
        .with_code(code)
        .with_delivery(Delivery::Answered)
        .with_retry(Retry::Never)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn message() -> Value {
        json!({"message": {
            "messageId": "r1", "role": "ROLE_AGENT", "contextId": "s", "kept": [1],
            "parts": [{"text": "a"}, {"data": {"x": 1}}, {"video": 1}, {"text": "b"}], "extensions": ["urn:x"],
        }})
    }

    fn task() -> Value {
        json!({"task": {
            "id": "t1", "contextId": "s", "status": {"state": "TASK_STATE_WORKING"}, "kept": {"a": 1},
            "artifacts": [{"artifactId": "a", "parts": [{"text": "c"}]}],
        }})
    }

    fn read(document: &Value, kind: ResponseKind) -> Result<Received> {
        Received::read(document.to_string().into(), kind, "s")
    }

    #[test]
    fn a_message_or_a_task_is_kept_as_it_came() {
        let received = read(&message(), ResponseKind::Message).unwrap();
        assert_eq!((received.inner(), &*received.text()), (&message()["message"], "ab"));
        assert_eq!(received.body(), &Bytes::from(message().to_string()));
        let received = read(&task(), ResponseKind::Task).unwrap();
        assert_eq!((received.task().as_deref(), &*received.text()), (Some("t1"), "c"));
        for (state, rests) in [
            ("TASK_STATE_SUBMITTED", false),
            ("working", false),
            ("TASK_STATE_LATER", false),
            ("TASK_STATE_COMPLETED", true),
            ("failed", true),
            ("canceled", true),
            ("TASK_STATE_REJECTED", true),
            ("TASK_STATE_INPUT_REQUIRED", true),
            ("input-required", true),
            ("auth_required", true),
        ] {
            let mut task = task();
            task["task"]["status"]["state"] = state.into();
            assert_eq!(read(&task, ResponseKind::Task).unwrap().rests(), rests, "{state}");
        }
    }

    #[test]
    fn an_answer_that_is_not_as_the_contract_has_it_is_refused() {
        let mut cases = vec![
            (ResponseKind::Message, json!([])),
            (ResponseKind::Message, json!({})),
            (ResponseKind::Message, json!({"message": message()["message"], "task": task()["task"]})),
            (ResponseKind::Message, json!({"message": "text"})),
            (ResponseKind::Task, json!({"task": null})),
        ];
        for (field, value) in [
            ("role", Value::Null),
            ("role", json!("ROLE_REQUESTER")),
            ("role", json!("ROLE_RESPONDER")),
            ("role", json!("ROLE_USER")),
            ("role", json!("agent")),
            ("messageId", json!(" ")),
            ("messageId", json!(1)),
            ("parts", json!([])),
            ("parts", json!({})),
            ("contextId", json!("other")),
            ("contextId", Value::Null),
        ] {
            let mut document = message();
            document["message"][field] = value;
            cases.push((ResponseKind::Message, document));
        }
        for (field, value) in [
            ("id", Value::Null),
            ("status", json!({})),
            ("status", json!("TASK_STATE_WORKING")),
            ("kind", json!("message")),
            ("artifacts", json!({})),
            ("contextId", json!("other")),
        ] {
            let mut document = task();
            document["task"][field] = value;
            cases.push((ResponseKind::Task, document));
        }
        for (kind, document) in cases {
            let error = read(&document, kind).unwrap_err();
            assert_eq!((error.code(), error.delivery()), (INVALID.into(), Delivery::Answered), "{document}");
        }
        for body in ["", "no json", "{"] {
            let error = Received::read(body.into(), ResponseKind::Message, "s").unwrap_err();
            assert_eq!(error.code(), INVALID);
        }
    }

    #[test]
    fn the_kind_is_the_one_that_was_asked_for() {
        let mut with_null = message();
        with_null["task"] = Value::Null;
        assert_eq!(read(&with_null, ResponseKind::Message).unwrap().kind(), ResponseKind::Message);
        for (document, kind) in [(message(), ResponseKind::Task), (task(), ResponseKind::Message)] {
            let error = read(&document, kind).unwrap_err();
            assert_eq!(error.code(), "mas::platform::response_kind_mismatch");
        }
        let mut same = task();
        same["task"]["kind"] = "task".into();
        assert!(read(&same, ResponseKind::Task).is_ok());
    }
}
