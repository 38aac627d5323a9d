//! Webhooks.

use serde_json::{Value, json};

use super::{Kit, NOT_FOUND, assert_refused, finished, id, said, said_to, sent};
use crate::{
    calls::{Binding, call},
    webhook::Webhook,
};

const CREATE: &str = "CreateTaskPushNotificationConfig";
const GET: &str = "GetTaskPushNotificationConfig";
const LIST: &str = "ListTaskPushNotificationConfigs";
const DELETE: &str = "DeleteTaskPushNotificationConfig";

/// A webhook of a finished task: what names it, and what was answered.
fn made(kit: &Kit, binding: Binding) -> (Value, Value) {
    let task = finished(&kit.full, binding);
    let key = json!({"taskId": task["id"], "id": id("push")});
    let mut config = key.clone();
    config["url"] = json!("https://example.com/nobody");
    let made = call(&kit.full, binding, CREATE, &config).expect("it is taken");
    (key, made)
}

pub(super) fn create(kit: &Kit, binding: Binding) {
    let (key, made) = made(kit, binding);
    assert_eq!((&made["id"], &made["taskId"]), (&key["id"], &key["taskId"]));
    assert_eq!(made["url"], "https://example.com/nobody");
}

pub(super) fn kept(kit: &Kit, binding: Binding) {
    let (key, made) = made(kit, binding);
    assert_eq!(call(&kit.full, binding, GET, &key).expect("it is kept"), made);
}

pub(super) fn unknown(kit: &Kit, binding: Binding) {
    let (mut key, _) = made(kit, binding);
    key["id"] = json!("none");
    assert_refused(call(&kit.full, binding, GET, &key), binding, NOT_FOUND);
}

pub(super) fn listed(kit: &Kit, binding: Binding) {
    let (key, made) = made(kit, binding);
    let listed = call(&kit.full, binding, LIST, &json!({"taskId": key["taskId"]})).expect("a list");
    assert_eq!(listed["configs"], json!([made]));
}

pub(super) fn deleted(kit: &Kit, binding: Binding) {
    let (key, _) = made(kit, binding);
    for _ in 0..2 {
        call(&kit.full, binding, DELETE, &key).expect("it is deleted, or was already");
    }
    assert_refused(call(&kit.full, binding, GET, &key), binding, NOT_FOUND);
}

pub(super) fn delivered(kit: &Kit, binding: Binding) {
    let webhook = Webhook::open();
    let mut request = said("tck-input-required", "Hello");
    request["configuration"] = json!({"taskPushNotificationConfig": {
        "id": "mine", "url": webhook.url, "token": "a token",
        "authentication": {"scheme": "Bearer", "credentials": "a secret"},
    }});
    let task = sent(&kit.full, binding, &request);
    sent(&kit.full, binding, &said_to(&task, "tck-complete-task", "on"));
    loop {
        let told = webhook.next();
        assert!(told.head.contains("authorization: Bearer a secret"), "{}", told.head);
        assert!(told.head.contains("x-a2a-notification-token: a token"), "{}", told.head);
        let fields = told.body.as_object().expect("an object");
        let kinds = ["task", "message", "statusUpdate", "artifactUpdate"];
        assert!(
            fields.len() == 1 && fields.keys().all(|kind| kinds.contains(&kind.as_str())),
            "{}",
            told.body
        );
        let update = &told.body["statusUpdate"];
        let state = if update.is_null() { &told.body["task"]["status"] } else { &update["status"] };
        if state["state"] == "TASK_STATE_COMPLETED" {
            return;
        }
    }
}
