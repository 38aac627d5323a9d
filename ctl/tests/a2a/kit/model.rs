//! What tasks, messages and parts look like.

use serde_json::{Value, json};

use super::{Kit, finished, said, sent};
use crate::calls::{Binding, call};

/// Calls a function with every key and value of a document.
fn walk(value: &Value, see: &mut impl FnMut(&str, &Value)) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, value)| {
            see(name, value);
            walk(value, see);
        }),
        Value::Array(items) => items.iter().for_each(|item| walk(item, see)),
        _ => {}
    }
}

/// Replies of every kind.
fn replies(kit: &Kit, binding: Binding) -> Vec<Value> {
    let prefixes = ["tck-complete-task", "tck-artifact-file", "tck-input-required", "tck-message-response"];
    let reply = |prefix| call(&kit.full, binding, "SendMessage", &said(prefix, "Hello")).expect("a reply");
    prefixes.into_iter().map(reply).collect()
}

pub(super) fn task(kit: &Kit, binding: Binding) {
    let task = finished(&kit.full, binding);
    for field in [&task["id"], &task["contextId"], &task["status"]["state"]] {
        assert!(field.as_str().is_some_and(|text| !text.is_empty()), "{task}");
    }
}

pub(super) fn states(kit: &Kit, binding: Binding) {
    for reply in replies(kit, binding) {
        walk(&reply, &mut |name, value| match name {
            "state" => assert!(value.as_str().is_some_and(|text| text.starts_with("TASK_STATE_")), "{value}"),
            "role" => assert!(value == "ROLE_USER" || value == "ROLE_AGENT", "{value}"),
            _ => {}
        });
    }
}

pub(super) fn message(kit: &Kit, binding: Binding) {
    let reply = call(&kit.full, binding, "SendMessage", &said("tck-message-response", "Hello"));
    let message = &reply.expect("a reply")["message"];
    assert_eq!(
        (&message["role"], &message["parts"]),
        (&json!("ROLE_AGENT"), &json!([{"text": "Direct message response"}]))
    );
    assert!(message["messageId"].as_str().is_some_and(|id| !id.is_empty()));
    assert!(
        message["contextId"].as_str().is_some_and(|id| !id.is_empty()) && message.get("taskId").is_none()
    );
}

pub(super) fn parts(kit: &Kit, binding: Binding) {
    let file = json!({"filename": "output.txt", "mediaType": "text/plain"});
    let with = |name: &str, value: &str| {
        let mut part = file.clone();
        part[name] = json!(value);
        part
    };
    let due = [
        ("tck-artifact-text", json!({"text": "Generated text content"})),
        ("tck-artifact-file", with("raw", "R2VuZXJhdGVkIGZpbGUgY29udGVudA==")),
        ("tck-artifact-file-url", with("url", "https://example.com/output.txt")),
        ("tck-artifact-data", json!({"data": {"key": "value", "count": 42}})),
    ];
    for (prefix, part) in due {
        let task = sent(&kit.full, binding, &said(prefix, "Hello"));
        let artifact = &task["artifacts"][0];
        assert!(artifact["artifactId"].as_str().is_some_and(|id| !id.is_empty()), "{task}");
        let mut shown = artifact["parts"][0].clone();
        let fields = shown.as_object_mut().expect("a part");
        if prefix == "tck-artifact-data" {
            fields.remove("mediaType");
        }
        assert_eq!((shown, &task["status"]["state"]), (part, &json!("TASK_STATE_COMPLETED")));
    }
}

pub(super) fn names(kit: &Kit, binding: Binding) {
    for reply in replies(kit, binding) {
        walk(&reply, &mut |name, _| assert!(!name.contains('_'), "{name}"));
    }
}

pub(super) fn times(kit: &Kit, binding: Binding) {
    let mut seen = 0;
    for reply in replies(kit, binding) {
        walk(&reply, &mut |name, value| {
            if name == "timestamp" {
                let text = value.as_str().expect("a text");
                assert!(text.len() == 24 && text.ends_with('Z') && text.as_bytes()[10] == b'T', "{text}");
                seen += 1;
            }
        });
    }
    assert!(seen > 0);
}

pub(super) fn unknown_fields(kit: &Kit, binding: Binding) {
    let mut request = said("tck-dm-serial", "Hello");
    request["message"]["nobodyKnows"] = json!("this");
    request["norThis"] = json!(42);
    sent(&kit.full, binding, &request);
}
