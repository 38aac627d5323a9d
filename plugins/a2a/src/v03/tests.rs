use std::{sync::Arc, time::Duration};

use mas_contracts::{Artifact, Content, Part, PartMeta, Speaker, Task, TaskMessage, TaskState, TaskStatus};
use serde_json::{Value, json};

use super::*;
use crate::model::{
    ArtifactUpdate, Authentication, Dialect, Failure, PushConfig, SendReply, StatusUpdate, StreamItem,
    TaskView,
};

fn rpc_message() -> Value {
    json!({
        "kind": "message", "messageId": "m1", "role": "user", "contextId": "c1", "taskId": "t1",
        "parts": [
            {"kind": "text", "text": "hi", "metadata": {"a": 1}},
            {"kind": "file", "file": {"bytes": "AP8=", "mimeType": "image/png", "name": "p.png"}},
            {"kind": "file", "file": {"uri": "https://example.com/x"}},
            {"kind": "data", "data": {"big": 9_007_199_254_740_993_i64}},
            {"kind": "data", "data": {"value": [1, null]}, "metadata": {"data_part_compat": true}},
        ],
        "metadata": {"k": "v"}, "extensions": ["urn:x"], "referenceTaskIds": ["t0"],
    })
}

fn rest_message() -> Value {
    json!({
        "messageId": "m1", "role": "ROLE_USER", "contextId": "c1", "taskId": "t1",
        "content": [
            {"text": "hi", "metadata": {"a": 1}},
            {"file": {"fileWithBytes": "AP8=", "mimeType": "image/png", "name": "p.png"}},
            {"file": {"fileWithUri": "https://example.com/x"}},
            {"data": {"data": {"big": 9_007_199_254_740_993_i64}}},
            {"data": {"data": {"value": [1, null]}}, "metadata": {"data_part_compat": true}},
        ],
        "metadata": {"k": "v"}, "extensions": ["urn:x"], "referenceTaskIds": ["t0"],
    })
}

fn message() -> TaskMessage {
    let meta = |metadata: Value| PartMeta {
        metadata: metadata.as_object().cloned().unwrap_or_default(),
        ..PartMeta::default()
    };
    let part = |content, meta: Option<PartMeta>| Part { content, meta: meta.map(Box::new) };
    let png = PartMeta {
        media_type: Some("image/png".into()),
        filename: Some("p.png".into()),
        ..PartMeta::default()
    };
    TaskMessage {
        id: "m1".into(),
        from: Speaker::User,
        context: Some("c1".into()),
        task: Some("t1".into()),
        parts: vec![
            part(Content::Text("hi".into()), Some(meta(json!({"a": 1})))),
            part(Content::Raw(vec![0, 255].into()), Some(png)),
            part(Content::Url("https://example.com/x".into()), None),
            part(Content::Data(json!({"big": 9_007_199_254_740_993_i64})), None),
            part(Content::Data(json!([1, null])), None),
        ],
        metadata: json!({"k": "v"}).as_object().cloned().unwrap_or_default(),
        extensions: vec!["urn:x".into()],
        references: vec!["t0".into()],
    }
}

fn told(failure: &Failure) -> Vec<String> {
    failure.violations.iter().map(|it| format!("{} {}", it.field, it.description)).collect()
}

#[test]
fn a_message_is_read_from_both_shapes_into_the_same_thing() {
    for (shape, value) in [(Shape::Rpc, rpc_message()), (Shape::Rest, rest_message())] {
        let request = send(json!({ "message": value }).into(), shape).expect("a request");
        assert_eq!(request.message, message(), "{shape:?}");
        assert!(!request.return_immediately, "who does not say `blocking` waits");
    }
}

#[test]
fn a_message_is_written_as_it_was_read() {
    let reply = SendReply::Message(Arc::new(message()));
    assert_eq!(serde_json::to_value(Sent(Shape::Rpc, &reply)).expect("JSON"), rpc_message());
    let mut rest = rest_message();
    // The protobuf message of the version has no such field.
    rest.as_object_mut().expect("an object").remove("referenceTaskIds");
    assert_eq!(serde_json::to_value(Sent(Shape::Rest, &reply)).expect("JSON"), json!({ "message": rest }));
}

#[test]
fn what_a_send_is_configured_with() {
    let text = json!({"messageId": "m", "role": "user", "parts": [{"kind": "text", "text": ""}]});
    let request = send(
        json!({"message": text, "configuration": {
            "blocking": false, "historyLength": 0, "acceptedOutputModes": ["text/plain"],
            "pushNotificationConfig": {"url": "https://h/x", "token": "t",
                "authentication": {"schemes": ["Bearer", "Basic"], "credentials": "c"}},
        }, "metadata": {"a": 1}})
        .into(),
        Shape::Rpc,
    )
    .expect("a request");
    assert!(request.return_immediately);
    assert_eq!(request.history_length, None, "0 is all of it in v0.3");
    assert_eq!(request.accepted_output_modes, ["text/plain"]);
    let push = request.push.expect("a webhook");
    assert_eq!((push.url.as_str(), push.dialect), ("https://h/x", Dialect::V03));
    assert_eq!(push.authentication.expect("authentication").scheme, "Bearer");
    let rest = json!({"message": {"messageId": "m", "role": 1, "content": [{"text": "x"}]},
        "configuration": {"historyLength": 3, "pushNotification": {"url": "https://h/y"}}});
    let request = send(rest.into(), Shape::Rest).expect("a request");
    assert_eq!(request.history_length, Some(3));
    assert_eq!(request.push.expect("a webhook").url, "https://h/y");
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    let failure = send(
        json!({"message": {"kind": "task", "role": "boss", "parts": [
            {"kind": "text", "data": {}}, {"kind": "video", "text": "x"}, {"text": "a", "data": {}},
            {"kind": "file", "file": {"bytes": "AA==", "uri": "u"}}, {"kind": "data", "data": [1]}, 7,
            {"kind": "file", "file": {"bytes": "*"}},
        ]}, "configuration": {"blocking": "no"}})
        .into(),
        Shape::Rpc,
    )
    .expect_err("a failure");
    assert_eq!(
        told(&failure),
        [
            "message.kind is not `message`",
            "message.messageId is required",
            "message.role is not one of the values of its type",
            "message.parts[0] is of the kind `text` and has to carry `text`, and nothing else",
            "message.parts[1].kind is not `text`, `file` or `data`",
            "message.parts[2] has to carry exactly one of `text`, `file` and `data`",
            "message.parts[3].file has to carry exactly one of `bytes` and `uri`",
            "message.parts[4].data is a list, not an object",
            "message.parts[5] is a number, not an object",
            "message.parts[6].file.bytes is not base64",
            "configuration.blocking is a text, not true or false",
        ]
    );
    let failure =
        send(json!({"message": {"messageId": "m", "role": "user", "parts": []}}).into(), Shape::Rpc)
            .expect_err("a failure");
    assert_eq!(told(&failure), ["message.parts is empty"]);
    let failure = send(json!({}).into(), Shape::Rest).expect_err("a failure");
    assert_eq!(told(&failure), ["message is required"]);
    let failure = send(json!([]).into(), Shape::Rpc).expect_err("a failure");
    assert_eq!(told(&failure), [" is a list, not an object"]);
}

#[test]
fn requests_about_tasks() {
    let request = get_task(json!({"id": "t", "historyLength": 2}).into()).expect("a request");
    assert_eq!((&*request.id, request.history_length), ("t", Some(2)));
    assert_eq!(cancel(json!({"id": "t"}).into()).expect("a request").id.as_ref(), "t");
    assert_eq!(resubscribe(json!({"id": "t"}).into(), Some(4)).expect("a request").after, Some(4));
    assert_eq!(
        told(&get_task(json!({"historyLength": -1}).into()).expect_err("a failure")),
        ["id is required", "historyLength is negative"]
    );
}

#[test]
fn requests_about_webhooks() {
    let params = json!({"taskId": "t", "pushNotificationConfig": {"id": "p", "url": "https://h"}});
    let config = set_push(params.into()).expect("a config");
    assert_eq!((&*config.task, &*config.id, config.url.as_str()), ("t", "p", "https://h"));
    assert_eq!(
        told(&set_push(json!({"taskId": "t"}).into()).expect_err("a failure")),
        ["pushNotificationConfig is required"]
    );
    let key = push_key(json!({"id": "t"}).into(), false).expect("a key");
    assert_eq!((&*key.task, &*key.id), ("t", ""));
    assert!(push_key(json!({"id": "t"}).into(), true).is_err());
    assert_eq!(&*list_push(json!({"id": "t"}).into()).expect("a task"), "t");
    for body in [
        json!({"taskId": "t", "pushNotificationConfig": {"id": "p", "url": "https://h"}}),
        json!({"taskId": "t", "parent": "tasks/t", "configId": "p",
            "config": {"name": "tasks/t/pushNotificationConfigs/p",
                "pushNotificationConfig": {"url": "https://h"}}}),
    ] {
        let config = create_push(body.into()).expect("a config");
        assert_eq!((&*config.task, &*config.id, config.url.as_str()), ("t", "p", "https://h"));
    }
}

fn task() -> TaskView {
    let said = TaskMessage { parts: vec![Part::text("hi")], ..message() };
    let answer = TaskMessage {
        id: "a1".into(),
        from: Speaker::Agent,
        parts: vec![Part::text("which?")],
        metadata: serde_json::Map::new(),
        extensions: Vec::new(),
        references: Vec::new(),
        ..message()
    };
    let status = TaskStatus {
        state: TaskState::InputRequired,
        message: Some(Arc::new(answer)),
        since: Duration::from_millis(1_761_647_400_007),
    };
    TaskView::whole(Arc::new(Task {
        id: "t1".into(),
        owner: Some("nobody else's business".into()),
        agent: "a".into(),
        context: "c1".into(),
        revision: 2,
        status,
        history: vec![Arc::new(TaskMessage {
            context: None,
            task: None,
            metadata: serde_json::Map::new(),
            extensions: Vec::new(),
            references: Vec::new(),
            ..said
        })],
        artifacts: vec![Arc::new(Artifact::new("r1", vec![Part::text("so far")]))],
        metadata: serde_json::Map::new(),
    }))
}

#[test]
fn a_task_in_both_shapes() {
    let rpc = serde_json::to_value(TaskShown(Shape::Rpc, &task())).expect("JSON");
    assert_eq!(
        rpc,
        json!({"kind": "task", "id": "t1", "contextId": "c1",
            "status": {"state": "input-required", "timestamp": "2025-10-28T10:30:00.007Z", "message":
                {"kind": "message", "messageId": "a1", "role": "agent", "contextId": "c1", "taskId": "t1",
                 "parts": [{"kind": "text", "text": "which?"}]}},
            "artifacts": [{"artifactId": "r1", "parts": [{"kind": "text", "text": "so far"}]}],
            "history": [{"kind": "message", "messageId": "m1", "role": "user",
                "parts": [{"kind": "text", "text": "hi"}]}]})
    );
    let rest = serde_json::to_value(TaskShown(Shape::Rest, &task())).expect("JSON");
    assert_eq!(
        rest,
        json!({"id": "t1", "contextId": "c1",
            "status": {"state": "TASK_STATE_INPUT_REQUIRED", "timestamp": "2025-10-28T10:30:00.007Z", "message":
                {"messageId": "a1", "role": "ROLE_AGENT", "contextId": "c1", "taskId": "t1",
                 "content": [{"text": "which?"}]}},
            "artifacts": [{"artifactId": "r1", "parts": [{"text": "so far"}]}],
            "history": [{"messageId": "m1", "role": "ROLE_USER", "content": [{"text": "hi"}]}]})
    );
}

#[test]
fn events_in_both_shapes() {
    let status = TaskStatus {
        state: TaskState::Canceled,
        message: None,
        since: Duration::from_millis(1_761_647_400_007),
    };
    let status =
        StreamItem::Status(StatusUpdate { task: "t".into(), context: "c".into(), status, last: true });
    let artifact = StreamItem::Artifact(ArtifactUpdate {
        task: "t".into(),
        context: "c".into(),
        artifact: Arc::new(Artifact::new("r", vec![Part::text("x")])),
        append: true,
        last_chunk: false,
    });
    let written = |shape, item| serde_json::to_value(Event(shape, item)).expect("JSON");
    assert_eq!(
        written(Shape::Rpc, &status),
        json!({"kind": "status-update", "taskId": "t", "contextId": "c", "final": true,
            "status": {"state": "canceled", "timestamp": "2025-10-28T10:30:00.007Z"}})
    );
    assert_eq!(
        written(Shape::Rest, &status),
        json!({"statusUpdate": {"taskId": "t", "contextId": "c", "final": true,
            "status": {"state": "TASK_STATE_CANCELLED", "timestamp": "2025-10-28T10:30:00.007Z"}}})
    );
    assert_eq!(
        written(Shape::Rpc, &artifact),
        json!({"kind": "artifact-update", "taskId": "t", "contextId": "c", "append": true, "lastChunk": false,
            "artifact": {"artifactId": "r", "parts": [{"kind": "text", "text": "x"}]}})
    );
    assert_eq!(
        written(Shape::Rest, &artifact),
        json!({"artifactUpdate": {"taskId": "t", "contextId": "c", "append": true, "lastChunk": false,
            "artifact": {"artifactId": "r", "parts": [{"text": "x"}]}}})
    );
}

#[test]
fn webhooks_in_both_shapes() {
    let config = PushConfig {
        id: "p".into(),
        task: "t".into(),
        url: "https://h".into(),
        token: Some("tok".into()),
        authentication: Some(Authentication { scheme: "Bearer".into(), credentials: Some("c".into()) }),
        dialect: Dialect::V03,
    };
    let webhook = json!({"id": "p", "url": "https://h", "token": "tok",
        "authentication": {"schemes": ["Bearer"], "credentials": "c"}});
    let rpc = json!({"taskId": "t", "pushNotificationConfig": webhook});
    let rest = json!({"name": "tasks/t/pushNotificationConfigs/p", "pushNotificationConfig": webhook});
    let configs = [config];
    let [config] = &configs;
    assert_eq!(serde_json::to_value(PushShown(Shape::Rpc, config)).expect("JSON"), rpc);
    assert_eq!(serde_json::to_value(PushShown(Shape::Rest, config)).expect("JSON"), rest);
    assert_eq!(serde_json::to_value(Pushes(Shape::Rpc, &configs)).expect("JSON"), json!([rpc]));
    assert_eq!(
        serde_json::to_value(Pushes(Shape::Rest, &configs)).expect("JSON"),
        json!({"configs": [rest]})
    );
}
