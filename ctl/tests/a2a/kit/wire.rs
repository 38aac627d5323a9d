//! Errors, versions, extensions and media types.

use serde_json::{Value, json};

use super::{
    EXTENSION, INVALID, Kit, NO_PUSH, NOT_CANCELABLE, NOT_FOUND, UNSUPPORTED, VERSION, assert_refused,
    finished, id, said, said_to, sent,
};
use crate::calls::{Binding, Refused, call, open, outcome, stream};

pub(super) fn errors_say_what(kit: &Kit, binding: Binding) {
    let unknown = id("none");
    let answer = open(&kit.full, binding, "GetTask", &json!({"id": unknown}), &[]);
    assert!(answer.header("content-type").contains("json"));
    let error = outcome(binding, answer).expect_err("there is none").error;
    assert!(error["message"].as_str().is_some_and(|text| text.contains(&unknown)), "{error}");
    if binding == Binding::Rest {
        assert_eq!((&error["code"], &error["status"]), (&json!(404), &json!("NOT_FOUND")));
    }
}

pub(super) fn input_is_checked(kit: &Kit, binding: Binding) {
    let part = json!([{"text": "x"}]);
    let wrong = [
        (json!({}), "message"),
        (json!({"message": {"role": "ROLE_USER", "parts": part}}), "message.messageId"),
        (json!({"message": {"messageId": "x", "parts": part}}), "message.role"),
        (json!({"message": {"messageId": "x", "role": "ROLE_USER"}}), "message.parts"),
        (json!({"message": {"messageId": "x", "role": "ROLE_USER", "parts": []}}), "message.parts"),
        (json!({"message": {"messageId": "x", "role": "ROLE_USER", "parts": [{}]}}), "message.parts[0]"),
    ];
    for (request, field) in wrong {
        let refused = call(&kit.full, binding, "SendMessage", &request).expect_err("it is refused");
        assert_eq!(refused.code, INVALID.code(binding), "{}", refused.error);
        let details = if binding == Binding::JsonRpc { "data" } else { "details" };
        let named = refused.error[details].as_array().into_iter().flatten().any(|detail| {
            let violations = detail["fieldViolations"].as_array();
            violations.into_iter().flatten().any(|violation| violation["field"] == field)
        });
        assert!(named, "`{field}` is named: {}", refused.error);
    }
}

pub(super) fn no_webhooks(kit: &Kit, binding: Binding) {
    let key = json!({"taskId": "t", "id": "c", "url": "https://example.com"});
    for operation in ["Create", "Get", "Delete"] {
        let operation = format!("{operation}TaskPushNotificationConfig");
        assert_refused(call(&kit.plain, binding, &operation, &key), binding, NO_PUSH);
    }
    let list = call(&kit.plain, binding, "ListTaskPushNotificationConfigs", &json!({"taskId": "t"}));
    assert_refused(list, binding, NO_PUSH);
}

pub(super) fn no_streams(kit: &Kit, binding: Binding) {
    let send = stream(&kit.plain, binding, "SendStreamingMessage", &said("tck-stream-001", "Hello"));
    assert_refused(send, binding, UNSUPPORTED);
    let subscribe = stream(&kit.plain, binding, "SubscribeToTask", &json!({"id": "x"}));
    assert_refused(subscribe, binding, UNSUPPORTED);
}

pub(super) fn no_extended_card(kit: &Kit, binding: Binding) {
    assert_refused(call(&kit.full, binding, "GetExtendedAgentCard", &json!({})), binding, UNSUPPORTED);
}

pub(super) fn required_extension(kit: &Kit, binding: Binding) {
    let request = said("tck-cap-ext", "Hello");
    let refused = call(&kit.strict, binding, "SendMessage", &request);
    assert_refused(refused, binding, EXTENSION);
    let named = [("a2a-extensions", "urn:other, urn:a2a:tck:required-extension")];
    let answer = open(&kit.strict, binding, "SendMessage", &request, &named);
    assert_eq!(answer.header("a2a-extensions"), "urn:a2a:tck:required-extension");
    outcome(binding, answer).expect("it is served");
}

/// Sends with a version.
fn versioned(kit: &Kit, binding: Binding, version: &str) -> Result<Value, Refused> {
    let request = said("tck-complete-task", "Hello");
    outcome(binding, open(&kit.full, binding, "SendMessage", &request, &[("a2a-version", version)]))
}

pub(super) fn version(kit: &Kit, binding: Binding) {
    assert_eq!(
        versioned(kit, binding, "1.0").expect("it is known")["task"]["status"]["state"],
        "TASK_STATE_COMPLETED"
    );
}

pub(super) fn unknown_version(kit: &Kit, binding: Binding) {
    for version in ["99.0", "2.0", "nonsense"] {
        assert_refused(versioned(kit, binding, version), binding, VERSION);
    }
}

pub(super) fn no_version(kit: &Kit, binding: Binding) {
    // Without a version it is 0.3, which knows nothing of that name; over gRPC the name of the service says it.
    assert_eq!(versioned(kit, binding, "").is_ok(), binding == Binding::Grpc);
}

pub(super) fn patch_version(kit: &Kit, binding: Binding) {
    versioned(kit, binding, "1.0.1").expect("a patch does not count");
}

/// A document without what no two tasks share.
fn shape(mut task: Value) -> Value {
    let message = task["history"][0].clone();
    for field in ["id", "contextId", "history"] {
        task.as_object_mut().expect("a task").remove(field);
    }
    task["status"].as_object_mut().expect("a status").remove("timestamp");
    task["history"] = message["parts"].clone();
    task
}

/// When the state of a task began. The JSON of protobuf leaves out a fraction of nothing.
fn moment(task: &Value) -> Value {
    json!(task["status"]["timestamp"].as_str().expect("a time").replace(".000Z", "Z"))
}

pub(super) fn bindings_agree(kit: &Kit, binding: Binding) {
    let other = if binding == Binding::JsonRpc { Binding::Rest } else { Binding::JsonRpc };
    for prefix in ["tck-artifact-text", "tck-artifact-file", "tck-artifact-data"] {
        let mut task = sent(&kit.full, binding, &said(prefix, "Hello"));
        task["status"]["timestamp"] = moment(&task);
        // What is made over one binding is there over the other.
        let params = json!({"id": task["id"]});
        let mut found = call(&kit.full, other, "GetTask", &params).expect("the task");
        found["status"]["timestamp"] = moment(&found);
        assert_eq!(found, task);
        assert_eq!(shape(sent(&kit.full, other, &said(prefix, "Hello"))), shape(task));
    }
}

pub(super) fn errors_of_the_binding(kit: &Kit, binding: Binding) {
    let full = |operation, params| call(&kit.full, binding, operation, &params);
    let task = finished(&kit.full, binding);
    assert_refused(full("GetTask", json!({"id": id("none")})), binding, NOT_FOUND);
    assert_refused(full("CancelTask", json!({"id": id("none")})), binding, NOT_FOUND);
    assert_refused(full("CancelTask", json!({"id": task["id"]})), binding, NOT_CANCELABLE);
    assert_refused(full("SendMessage", said_to(&task, "x", "more")), binding, UNSUPPORTED);
    no_webhooks(kit, binding);
    unknown_version(kit, binding);
}

pub(super) fn json_rpc(kit: &Kit, _: Binding) {
    let headers = [("content-type", "application/json"), ("a2a-version", "1.0")];
    let answer = |path: &str, body: &str| kit.full.open("POST", path, &headers, body).json();
    let code = |body: &str| answer("/", body)["error"]["code"].as_i64();
    assert_eq!(code("{"), Some(-32700));
    assert_eq!(code(r#"{"id": 1, "method": "GetTask"}"#), Some(-32600));
    assert_eq!(code(r#"{"jsonrpc": "1.0", "id": 1, "method": "GetTask"}"#), Some(-32600));
    assert_eq!(code(r#"{"jsonrpc": "2.0", "id": 1, "method": "getTask"}"#), Some(-32601));
    assert_eq!(code(r#"{"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {}}"#), Some(-32602));
    for id in [json!("a"), json!(1), json!(null)] {
        let call = json!({"jsonrpc": "2.0", "id": id, "method": "ListTasks", "params": {}});
        let answered = answer("/", &call.to_string());
        assert_eq!((&answered["jsonrpc"], &answered["id"]), (&json!("2.0"), &id));
    }
}

pub(super) fn media_types(kit: &Kit, binding: Binding) {
    let request = said("tck-complete-task", "Hello");
    for media_type in ["application/json", "application/json; charset=utf-8"] {
        let answer = open(&kit.full, binding, "SendMessage", &request, &[("content-type", media_type)]);
        assert!(answer.header("content-type").starts_with("application/json"));
        outcome(binding, answer).expect("it is taken");
    }
    let refused = open(&kit.full, binding, "SendMessage", &request, &[("content-type", "text/plain")]);
    let status = refused.status;
    let refused = outcome(binding, refused).expect_err("it is refused");
    assert_eq!(
        (status, refused.code),
        if binding == Binding::JsonRpc { (status, -32005) } else { (415, 415) }
    );
}
