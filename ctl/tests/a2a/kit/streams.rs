//! SendStreamingMessage and SubscribeToTask.

use serde_json::{Value, json};

use super::{Kit, NOT_FOUND, UNSUPPORTED, assert_refused, finished, id, said, said_to, sent, waiting};
use crate::calls::{Binding, Events, call, open, stream};

fn streamed(kit: &Kit, binding: Binding, prefix: &str) -> Vec<Value> {
    let events = stream(&kit.full, binding, "SendStreamingMessage", &said(prefix, "Hello"));
    events.expect("a stream").collect()
}

/// What kind each event is, and the state or the text that it carries.
fn gist(events: &[Value]) -> Vec<String> {
    let one = |event: &Value| {
        let fields = event.as_object().expect("an object");
        assert_eq!(fields.len(), 1, "one of four: {event}");
        let (kind, body) = fields.iter().next().expect("a field");
        let more = match kind.as_str() {
            "task" | "statusUpdate" => &body["status"]["state"],
            "artifactUpdate" => &body["artifact"]["parts"][0]["text"],
            _ => &body["parts"][0]["text"],
        };
        format!("{kind} {}", more.as_str().unwrap_or_default().trim_start_matches("TASK_STATE_"))
    };
    events.iter().map(one).collect()
}

pub(super) fn opens(kit: &Kit, binding: Binding) {
    let events = streamed(kit, binding, "tck-stream-001");
    let due = [
        "task SUBMITTED",
        "statusUpdate WORKING",
        "artifactUpdate Stream hello from TCK",
        "statusUpdate COMPLETED",
    ];
    assert_eq!(gist(&events), due);
}

pub(super) fn message_only(kit: &Kit, binding: Binding) {
    assert_eq!(gist(&streamed(kit, binding, "echo")), ["message Hello"]);
}

pub(super) fn task_first_and_closed_at_its_end(kit: &Kit, binding: Binding) {
    let events = streamed(kit, binding, "tck-stream-003");
    let (first, last) = (&events[0]["task"], &events[events.len() - 1]["statusUpdate"]);
    assert_eq!((&last["taskId"], &last["contextId"]), (&first["id"], &first["contextId"]));
    assert_eq!(last["status"]["state"], "TASK_STATE_COMPLETED");
    // A question ends the stream, too: the task waits for its caller.
    let gist = gist(&streamed(kit, binding, "tck-input-required"));
    assert_eq!(gist.last().map(String::as_str), Some("statusUpdate INPUT_REQUIRED"));
}

pub(super) fn in_order(kit: &Kit, binding: Binding) {
    let due =
        ["task SUBMITTED", "statusUpdate WORKING", "artifactUpdate Ordered output", "statusUpdate COMPLETED"];
    assert_eq!(gist(&streamed(kit, binding, "tck-stream-ordering-001")), due);
    let events = streamed(kit, binding, "tck-stream-artifact-chunked");
    let chunks: Vec<_> = events.iter().filter_map(|event| event.get("artifactUpdate")).collect();
    let text: String =
        chunks.iter().filter_map(|chunk| chunk["artifact"]["parts"][0]["text"].as_str()).collect();
    assert_eq!(text, "chunk-1chunk-2");
    let appends: Vec<_> = chunks.iter().map(|chunk| chunk["append"] == true).collect();
    assert!(!appends[0] && appends[1..].iter().all(|append| *append), "{chunks:?}");
    assert_eq!(chunks[chunks.len() - 1]["lastChunk"], true);
}

fn subscribe(kit: &Kit, binding: Binding, task: &Value) -> Events {
    stream(&kit.full, binding, "SubscribeToTask", &json!({"id": task["id"]})).expect("a stream")
}

pub(super) fn to_all_alike(kit: &Kit, binding: Binding) {
    let task = waiting(&kit.full, binding);
    let mut readers = [subscribe(kit, binding, &task), subscribe(kit, binding, &task)];
    for reader in &mut readers {
        assert_eq!(gist(&[reader.next().expect("the task")]), ["task INPUT_REQUIRED"]);
    }
    sent(&kit.full, binding, &said_to(&task, "tck-stream-001", "on"));
    let [one, two] = readers.map(Iterator::collect::<Vec<_>>);
    assert_eq!(one, two);
    assert_eq!(gist(&one).last().map(String::as_str), Some("statusUpdate COMPLETED"));
}

pub(super) fn one_closes_and_the_other_goes_on(kit: &Kit, binding: Binding) {
    let task = waiting(&kit.full, binding);
    let (mut gone, stays) = (subscribe(kit, binding, &task), subscribe(kit, binding, &task));
    gone.next().expect("the task");
    drop(gone);
    sent(&kit.full, binding, &said_to(&task, "tck-complete-task", "on"));
    assert_eq!(gist(&stays.collect::<Vec<_>>()).last().map(String::as_str), Some("statusUpdate COMPLETED"));
}

pub(super) fn subscribe_begins_with_the_task(kit: &Kit, binding: Binding) {
    let task = waiting(&kit.full, binding);
    let first = subscribe(kit, binding, &task).next().expect("an event");
    assert_eq!((&first["task"]["id"], &first["task"]["status"]), (&task["id"], &task["status"]));
    call(&kit.full, binding, "CancelTask", &json!({"id": task["id"]})).expect("it is stopped");
}

pub(super) fn subscribe_ends_with_the_task(kit: &Kit, binding: Binding) {
    let task = waiting(&kit.full, binding);
    let events = subscribe(kit, binding, &task);
    call(&kit.full, binding, "CancelTask", &json!({"id": task["id"]})).expect("it is stopped");
    assert_eq!(gist(&events.collect::<Vec<_>>()), ["task INPUT_REQUIRED", "statusUpdate CANCELED"]);
}

pub(super) fn subscribe_to_a_finished_task(kit: &Kit, binding: Binding) {
    let task = finished(&kit.full, binding);
    let refused = stream(&kit.full, binding, "SubscribeToTask", &json!({"id": task["id"]}));
    assert_refused(refused, binding, UNSUPPORTED);
}

pub(super) fn subscribe_to_an_unknown_task(kit: &Kit, binding: Binding) {
    let refused = stream(&kit.full, binding, "SubscribeToTask", &json!({"id": id("none")}));
    assert_refused(refused, binding, NOT_FOUND);
}

pub(super) fn media_type(kit: &Kit, binding: Binding) {
    let params = said("tck-stream-001", "Hello");
    let mut answer = open(&kit.full, binding, "SendStreamingMessage", &params, &[]);
    assert_eq!(answer.status, 200);
    assert!(answer.header("content-type").starts_with("text/event-stream"));
    let first = answer.event().expect("an event");
    let task = if binding == Binding::JsonRpc { &first["result"]["task"] } else { &first["task"] };
    assert!(task["id"].is_string(), "{first}");
}
