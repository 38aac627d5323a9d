//! SendMessage, GetTask, ListTasks, CancelTask; contexts and histories.

use serde_json::{Value, json};

use super::{
    INVALID, Kit, NO_SUCH_TYPE, NOT_CANCELABLE, NOT_FOUND, UNSUPPORTED, assert_refused, finished, id, said,
    said_to, sent, waiting,
};
use crate::calls::{Binding, call};

pub(super) fn send(kit: &Kit, binding: Binding) {
    let task = finished(&kit.full, binding);
    assert_eq!(task["status"]["message"]["parts"], json!([{"text": "Hello from TCK"}]));
    let echoed = call(&kit.full, binding, "SendMessage", &said("echo", "twice")).expect("a reply");
    assert_eq!(echoed["message"]["parts"], json!([{"text": "twice"}]));
    let rejected = sent(&kit.full, binding, &said("tck-reject-task", "x"));
    assert_eq!(rejected["status"]["state"], "TASK_STATE_REJECTED");
}

pub(super) fn send_to_a_finished_task(kit: &Kit, binding: Binding) {
    let task = finished(&kit.full, binding);
    let again = call(&kit.full, binding, "SendMessage", &said_to(&task, "tck-terminal", "more"));
    assert_refused(again, binding, UNSUPPORTED);
}

pub(super) fn unknown_media_type(kit: &Kit, binding: Binding) {
    let mut request = said("tck-send-003", "");
    request["message"]["parts"] = json!([{"raw": "dGNr", "mediaType": "application/x-unknown"}]);
    let refused = call(&kit.plain, binding, "SendMessage", &request);
    assert_refused(refused, binding, NO_SUCH_TYPE);
    // An agent that takes everything takes this.
    assert_eq!(sent(&kit.full, binding, &request)["status"]["state"], "TASK_STATE_COMPLETED");
}

pub(super) fn get(kit: &Kit, binding: Binding) {
    let task = finished(&kit.full, binding);
    let found = call(&kit.full, binding, "GetTask", &json!({"id": task["id"]})).expect("the task");
    assert_eq!(found, task);
}

pub(super) fn get_unknown(kit: &Kit, binding: Binding) {
    assert_refused(call(&kit.full, binding, "GetTask", &json!({"id": id("none")})), binding, NOT_FOUND);
}

/// Tasks of one context, oldest first.
fn three(kit: &Kit, binding: Binding, prefix: &str) -> (String, Vec<Value>) {
    let context = id("context");
    let task = |number: usize| {
        let mut request = said(prefix, &number.to_string());
        request["message"]["contextId"] = json!(context);
        sent(&kit.full, binding, &request)["id"].clone()
    };
    let tasks = (0..3).map(task).collect();
    (context, tasks)
}

fn list(kit: &Kit, binding: Binding, params: &Value) -> Value {
    call(&kit.full, binding, "ListTasks", params).expect("a list")
}

fn ids(page: &Value) -> Vec<Value> {
    page["tasks"].as_array().expect("tasks").iter().map(|task| task["id"].clone()).collect()
}

pub(super) fn list_of_a_context(kit: &Kit, binding: Binding) {
    let (context, mut tasks) = three(kit, binding, "tck-complete-task");
    let page = list(kit, binding, &json!({"contextId": context}));
    tasks.reverse();
    assert_eq!((ids(&page), &page["totalSize"]), (tasks, &json!(3)));
    assert_eq!(list(kit, binding, &json!({"contextId": id("nobody")}))["tasks"], json!([]));
}

pub(super) fn list_by_pages(kit: &Kit, binding: Binding) {
    let (context, mut tasks) = three(kit, binding, "tck-complete-task");
    let first = list(kit, binding, &json!({"contextId": context, "pageSize": 2}));
    assert_eq!((&first["pageSize"], &first["totalSize"]), (&json!(2), &json!(3)));
    let token = first["nextPageToken"].as_str().expect("a token");
    assert!(!token.is_empty());
    let rest = list(kit, binding, &json!({"contextId": context, "pageSize": 2, "pageToken": token}));
    tasks.reverse();
    assert_eq!([ids(&first), ids(&rest)].concat(), tasks);
    assert_eq!(rest["nextPageToken"], "");
    let wrong = call(&kit.full, binding, "ListTasks", &json!({"pageToken": "nonsense"}));
    assert!(wrong.is_err());
}

pub(super) fn list_newest_first(kit: &Kit, binding: Binding) {
    let (context, tasks) = three(kit, binding, "tck-input-required");
    // What moves last comes first.
    sent(&kit.full, binding, &said_to(&json!({"id": tasks[0]}), "tck-complete-task", "on"));
    let page = list(kit, binding, &json!({"contextId": context}));
    let times: Vec<_> = page["tasks"].as_array().expect("tasks").iter().collect();
    let times: Vec<_> = times.iter().filter_map(|task| task["status"]["timestamp"].as_str()).collect();
    assert!(times.len() == 3 && times.is_sorted_by(|a, b| a >= b), "{times:?}");
    assert_eq!(ids(&page)[0], tasks[0]);
    let waiting = list(kit, binding, &json!({"contextId": context, "status": "TASK_STATE_INPUT_REQUIRED"}));
    assert_eq!(waiting["totalSize"], 2);
}

pub(super) fn list_ends_with_an_empty_token(kit: &Kit, binding: Binding) {
    let page = list(kit, binding, &json!({"contextId": id("nobody"), "pageSize": 100}));
    assert_eq!(page, json!({"tasks": [], "nextPageToken": "", "pageSize": 100, "totalSize": 0}));
    for size in [0, 101] {
        let wrong = call(&kit.full, binding, "ListTasks", &json!({"pageSize": size}));
        assert!(wrong.is_err(), "{size}");
    }
}

pub(super) fn list_without_artifacts(kit: &Kit, binding: Binding) {
    let (context, _) = three(kit, binding, "tck-artifact-text");
    let absent = |params: Value| {
        let page = list(kit, binding, &params);
        page["tasks"].as_array().expect("tasks").iter().all(|task| task.get("artifacts").is_none())
    };
    assert!(absent(json!({"contextId": context})));
    assert!(absent(json!({"contextId": context, "includeArtifacts": false})));
    assert!(!absent(json!({"contextId": context, "includeArtifacts": true})));
}

pub(super) fn cancel(kit: &Kit, binding: Binding) {
    let task = waiting(&kit.full, binding);
    let canceled = call(&kit.full, binding, "CancelTask", &json!({"id": task["id"]})).expect("the task");
    assert_eq!((&canceled["id"], &canceled["status"]["state"]), (&task["id"], &json!("TASK_STATE_CANCELED")));
}

pub(super) fn cancel_a_finished_task(kit: &Kit, binding: Binding) {
    let task = finished(&kit.full, binding);
    let refused = call(&kit.full, binding, "CancelTask", &json!({"id": task["id"]}));
    assert_refused(refused, binding, NOT_CANCELABLE);
}

pub(super) fn cancel_unknown(kit: &Kit, binding: Binding) {
    assert_refused(call(&kit.full, binding, "CancelTask", &json!({"id": id("none")})), binding, NOT_FOUND);
}

pub(super) fn waits(kit: &Kit, binding: Binding) {
    for immediately in [json!(null), json!(false)] {
        let mut request = said("tck-complete-task", "Hello");
        request["configuration"] = json!({"returnImmediately": immediately});
        assert_eq!(sent(&kit.full, binding, &request)["status"]["state"], "TASK_STATE_COMPLETED");
    }
}

pub(super) fn does_not_wait(kit: &Kit, binding: Binding) {
    let mut request = said("test-resubscribe-message-id", "Hello");
    request["configuration"] = json!({"returnImmediately": true});
    let task = sent(&kit.full, binding, &request);
    let state = &task["status"]["state"];
    assert!(state == "TASK_STATE_SUBMITTED" || state == "TASK_STATE_WORKING", "{state}");
    call(&kit.full, binding, "CancelTask", &json!({"id": task["id"]})).expect("it is stopped");
}

pub(super) fn makes_a_context(kit: &Kit, binding: Binding) {
    let (one, two) = (finished(&kit.full, binding), finished(&kit.full, binding));
    assert!(one["contextId"].as_str().is_some_and(|context| !context.is_empty()));
    assert_ne!(one["contextId"], two["contextId"]);
}

pub(super) fn takes_a_context(kit: &Kit, binding: Binding) {
    let mut request = said("tck-complete-task", "Hello");
    request["message"]["contextId"] = json!(id("mine"));
    assert_eq!(sent(&kit.full, binding, &request)["contextId"], request["message"]["contextId"]);
    // One that it does not take is refused, and never another in its place.
    request["message"]["contextId"] = json!("x".repeat(100_000));
    assert!(call(&kit.full, binding, "SendMessage", &request).is_err());
}

pub(super) fn task_ids_differ(kit: &Kit, binding: Binding) {
    let (one, two) = (finished(&kit.full, binding), finished(&kit.full, binding));
    assert_ne!(one["id"], two["id"]);
}

pub(super) fn send_to_an_unknown_task(kit: &Kit, binding: Binding) {
    let request = said_to(&json!({"id": id("none")}), "tck-multi-004", "Hello");
    assert_refused(call(&kit.full, binding, "SendMessage", &request), binding, NOT_FOUND);
}

pub(super) fn context_of_the_task(kit: &Kit, binding: Binding) {
    let task = waiting(&kit.full, binding);
    let next = sent(&kit.full, binding, &said_to(&task, "tck-complete-task", "more"));
    assert_eq!((&next["id"], &next["contextId"]), (&task["id"], &task["contextId"]));
}

pub(super) fn context_of_another_task(kit: &Kit, binding: Binding) {
    let task = waiting(&kit.full, binding);
    let mut request = said_to(&task, "tck-mismatch", "more");
    request["message"]["contextId"] = json!(id("another"));
    assert_refused(call(&kit.full, binding, "SendMessage", &request), binding, INVALID);
}

/// A task to which three messages were said, two under one id, as the kit does.
fn said_three(kit: &Kit, binding: Binding) -> Value {
    let task = waiting(&kit.full, binding);
    let one = id("tck-input-required");
    for text in ["TCK history message 1", "TCK history message 2"] {
        let mut request = said_to(&task, "x", text);
        request["message"]["messageId"] = json!(one);
        sent(&kit.full, binding, &request);
    }
    sent(&kit.full, binding, &said_to(&task, "tck-complete-task", "third"))
}

fn history(kit: &Kit, binding: Binding, length: Option<u32>) -> Option<Vec<Value>> {
    let task = said_three(kit, binding);
    let mut params = json!({"id": task["id"]});
    if let Some(length) = length {
        params["historyLength"] = json!(length);
    }
    let task = call(&kit.full, binding, "GetTask", &params).expect("the task");
    task.get("history").map(|history| history.as_array().expect("messages").clone())
}

pub(super) fn no_history_on_get(kit: &Kit, binding: Binding) {
    assert_eq!(history(kit, binding, Some(0)), None);
}

pub(super) fn some_history_on_get(kit: &Kit, binding: Binding) {
    let last = history(kit, binding, Some(1)).expect("a history");
    assert_eq!((last.len(), &last[0]["parts"]), (1, &json!([{"text": "third"}])));
    assert!(call(&kit.full, binding, "GetTask", &json!({"id": "x", "historyLength": -1})).is_err());
}

pub(super) fn no_history_on_send(kit: &Kit, binding: Binding) {
    let task = waiting(&kit.full, binding);
    let mut request = said_to(&task, "tck-complete-task", "more");
    request["configuration"] = json!({"historyLength": 0});
    assert_eq!(sent(&kit.full, binding, &request).get("history"), None);
}

pub(super) fn history_in_order(kit: &Kit, binding: Binding) {
    let history = history(kit, binding, Some(10)).expect("a history");
    let mine = history.iter().filter(|message| message["role"] == "ROLE_USER");
    let texts: Vec<_> = mine.map(|message| message["parts"][0]["text"].clone()).collect();
    assert_eq!(texts, ["Hello", "TCK history message 1", "TCK history message 2", "third"]);
}
