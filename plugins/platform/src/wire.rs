//! Messages and tasks of A2A v1.0 in the terms of mas.

use std::{sync::Arc, time::Duration};

use mas_contracts::{Artifact, Speaker, Task, TaskMessage, TaskState, TaskStatus};
use serde_json::{Map, Value};

use crate::{answer::state_of, parts};

/// A message that was checked.
pub(crate) fn message(value: &Value) -> TaskMessage {
    let from = match value.get("role").and_then(Value::as_str) {
        Some("ROLE_USER") => Speaker::User,
        _ => Speaker::Agent,
    };
    TaskMessage {
        id: text(value, "messageId").unwrap_or_default(),
        from,
        context: text(value, "contextId"),
        task: text(value, "taskId"),
        parts: parts::read_all(value.get("parts")),
        metadata: object(value, "metadata"),
        extensions: texts(value, "extensions"),
        references: texts(value, "referenceTaskIds"),
    }
}

/// A task that was checked. A state of later days is one in which it works.
pub(crate) fn task(value: &Value) -> Task {
    let status = value.get("status").unwrap_or(&Value::Null);
    let state = status.get("state").and_then(Value::as_str).and_then(state_of).unwrap_or(TaskState::Working);
    let said = status.get("message").filter(|said| said.is_object());
    let history = value.get("history").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let artifacts = value.get("artifacts").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    Task {
        id: text(value, "id").unwrap_or_default(),
        owner: None,
        agent: Arc::default(),
        context: text(value, "contextId").unwrap_or_default(),
        revision: 0,
        status: TaskStatus {
            state,
            message: said.map(|said| Arc::new(message(said))),
            since: Duration::ZERO,
        },
        history: history.iter().map(|said| Arc::new(message(said))).collect(),
        artifacts: artifacts.iter().map(|artifact| Arc::new(self::artifact(artifact))).collect(),
        metadata: object(value, "metadata"),
    }
}

fn artifact(value: &Value) -> Artifact {
    Artifact {
        id: text(value, "artifactId").unwrap_or_default(),
        name: text(value, "name"),
        description: text(value, "description"),
        parts: parts::read_all(value.get("parts")),
        metadata: object(value, "metadata"),
        extensions: texts(value, "extensions"),
    }
}

fn text(value: &Value, name: &str) -> Option<Arc<str>> {
    value.get(name).and_then(Value::as_str).filter(|text| !text.is_empty()).map(Into::into)
}

fn texts(value: &Value, name: &str) -> Vec<Arc<str>> {
    let list = value.get(name).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    list.iter().filter_map(Value::as_str).map(Into::into).collect()
}

fn object(value: &Value, name: &str) -> Map<String, Value> {
    value.get(name).and_then(Value::as_object).cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use mas_contracts::text_of;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_task_is_read_with_all_that_it_holds() {
        let task = task(&json!({
            "id": "t1", "contextId": "s", "metadata": {"a": 1},
            "status": {
                "state": "TASK_STATE_INPUT_REQUIRED",
                "message": {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "Which?"}], "taskId": "t1"},
            },
            "history": [{"messageId": "q", "role": "ROLE_USER", "contextId": "s", "parts": [{"text": "go"}]}],
            "artifacts": [{"artifactId": "a", "name": "n", "parts": [{"data": 1}], "extensions": ["urn:x"]}],
        }));
        assert_eq!((&*task.id, &*task.context, task.status.state), ("t1", "s", TaskState::InputRequired));
        let said = task.status.message.unwrap();
        assert_eq!((&*text_of(&said.parts), said.task.as_deref()), ("Which?", Some("t1")));
        assert_eq!((task.history[0].from, &*task.artifacts[0].id), (Speaker::User, "a"));
        assert_eq!((task.artifacts[0].name.as_deref(), task.metadata.len()), (Some("n"), 1));
    }

    #[test]
    fn what_is_absent_or_of_later_days_is_no_panic() {
        let task =
            task(&json!({"id": 1, "status": {"state": "TASK_STATE_LATER", "message": 7}, "artifacts": [1]}));
        assert_eq!((&*task.id, task.status.state), ("", TaskState::Working));
        assert_eq!(message(&json!(null)).parts, []);
    }
}
