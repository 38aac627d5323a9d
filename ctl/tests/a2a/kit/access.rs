//! Who may ask, and tasks that wait for a permission.

use serde_json::{Value, json};

use super::{Due, Kit, NOT_FOUND, assert_refused, id, said, said_to, sent};
use crate::calls::{Binding, Refused, call, open, outcome, stream};

/// The error of a caller who is not known. JSON-RPC has no code for it: the status of HTTP says it.
const UNKNOWN: &Due = &Due("UNAUTHENTICATED", 401, 401, 16);

fn asked(
    kit: &Kit,
    binding: Binding,
    token: Option<&str>,
    operation: &str,
    params: &Value,
) -> Result<Value, Refused> {
    let token = token.map(|token| format!("Bearer {token}"));
    let headers: Vec<_> = token.iter().map(|token| ("authorization", token.as_str())).collect();
    let answer = open(&kit.guarded, binding, operation, params, &headers);
    if binding == Binding::JsonRpc && answer.status == 401 {
        assert!(answer.header("www-authenticate").starts_with("Bearer "));
        let error = answer.json();
        return Err(Refused { code: 401, reason: "UNAUTHENTICATED".to_owned(), error });
    }
    outcome(binding, answer)
}

/// Every operation, with what it may be asked.
fn operations(task: &Value) -> [(&'static str, Value); 10] {
    let config = json!({"taskId": task, "id": "c", "url": "https://example.com"});
    [
        ("SendMessage", said("tck-complete-task", "Hello")),
        ("SendStreamingMessage", said("tck-stream-001", "Hello")),
        ("GetTask", json!({"id": task})),
        ("ListTasks", json!({})),
        ("CancelTask", json!({"id": task})),
        ("SubscribeToTask", json!({"id": task})),
        ("CreateTaskPushNotificationConfig", config),
        ("GetTaskPushNotificationConfig", json!({"taskId": task, "id": "c"})),
        ("ListTaskPushNotificationConfigs", json!({"taskId": task})),
        ("DeleteTaskPushNotificationConfig", json!({"taskId": task, "id": "c"})),
    ]
}

pub(super) fn every_call(kit: &Kit, binding: Binding) {
    for token in [None, Some("of-nobody")] {
        for (operation, params) in operations(&json!("t")) {
            assert_refused(asked(kit, binding, token, operation, &params), binding, UNKNOWN);
        }
    }
}

pub(super) fn same_schemes(kit: &Kit, binding: Binding) {
    let card = kit.guarded.open("GET", "/.well-known/agent-card.json", &[], "").json();
    assert_eq!(card["securitySchemes"]["token"]["httpAuthSecurityScheme"]["scheme"], "Bearer");
    let send = said("tck-complete-task", "Hello");
    assert_refused(asked(kit, binding, None, "SendMessage", &send), binding, UNKNOWN);
    asked(kit, binding, Some("of-bob"), "SendMessage", &send).expect("bob is known");
}

pub(super) fn extended_card(kit: &Kit, binding: Binding) {
    let card = |token| asked(kit, binding, token, "GetExtendedAgentCard", &json!({}));
    assert_refused(card(None), binding, UNKNOWN);
    let card = card(Some("of-alice")).expect("alice is known");
    assert_eq!(card["description"], "For those who are let in.");
}

pub(super) fn own_tasks_only(kit: &Kit, binding: Binding) {
    let mut send = said("tck-input-required", "Hello");
    send["message"]["contextId"] = json!(id("context"));
    let made = asked(kit, binding, Some("of-alice"), "SendMessage", &send).expect("a task");
    let task = &made["task"]["id"];
    let list = |token| {
        let params = json!({"contextId": send["message"]["contextId"]});
        asked(kit, binding, Some(token), "ListTasks", &params).expect("a list")["totalSize"].clone()
    };
    assert_eq!((list("of-alice"), list("of-bob")), (json!(1), json!(0)));
    for (operation, params) in operations(task) {
        let is_named = params["id"] == *task || params["taskId"] == *task;
        // What is not there is deleted already.
        if is_named && operation != "DeleteTaskPushNotificationConfig" {
            assert_refused(asked(kit, binding, Some("of-bob"), operation, &params), binding, NOT_FOUND);
        }
    }
    let more = said_to(&json!({"id": task}), "tck-complete-task", "more");
    assert_refused(asked(kit, binding, Some("of-bob"), "SendMessage", &more), binding, NOT_FOUND);
    let done = asked(kit, binding, Some("of-alice"), "SendMessage", &more).expect("it is hers");
    assert_eq!(done["task"]["status"]["state"], "TASK_STATE_COMPLETED");
}

/// A task that waits for a permission.
fn waiting(kit: &Kit, binding: Binding) -> Value {
    let task = sent(&kit.full, binding, &said("auth-required", "Hello"));
    assert_eq!(task["status"]["state"], "TASK_STATE_AUTH_REQUIRED");
    task
}

pub(super) fn asks(kit: &Kit, binding: Binding) {
    let task = waiting(kit, binding);
    let said = task["status"]["message"]["parts"][0]["text"].as_str().expect("it says what is needed");
    assert_eq!(said, "Somebody has to allow this");
    let found = call(&kit.full, binding, "GetTask", &json!({"id": task["id"]})).expect("the task");
    assert_eq!(found["status"]["state"], task["status"]["state"]);
}

pub(super) fn stream_stays_open(kit: &Kit, binding: Binding) {
    let request = said("auth-required", "Hello");
    let mut events = stream(&kit.full, binding, "SendStreamingMessage", &request).expect("a stream");
    let task = events.next().expect("the task")["task"].clone();
    let mut states =
        events.filter_map(|event| event["statusUpdate"]["status"]["state"].as_str().map(str::to_owned));
    assert!(states.any(|state| state == "TASK_STATE_AUTH_REQUIRED"));
    sent(&kit.full, binding, &said_to(&task, "tck-complete-task", "allowed"));
    assert_eq!(states.last().as_deref(), Some("TASK_STATE_COMPLETED"));
}

pub(super) fn takes_messages(kit: &Kit, binding: Binding) {
    let task = waiting(kit, binding);
    let next = sent(&kit.full, binding, &said_to(&task, "tck-complete-task", "allowed"));
    assert_eq!((&next["id"], &next["status"]["state"]), (&task["id"], &json!("TASK_STATE_COMPLETED")));
}
