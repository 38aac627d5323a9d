use std::{sync::Arc, time::Duration};

use mas_contracts::{Artifact, Content, Part, PartMeta, Speaker, Task, TaskMessage, TaskState, TaskStatus};
use serde_json::{Value, json};

use super::*;
use crate::model::{
    ArtifactUpdate, Authentication, Dialect, Failure, ListTasks, Listing, PushConfig, Reason, SendReply,
    StatusUpdate, StreamItem, TaskView,
};

fn told(failure: &Failure) -> Vec<String> {
    failure.violations.iter().map(|it| format!("{} {}", it.field, it.description)).collect()
}

fn message() -> TaskMessage {
    let file = PartMeta {
        media_type: Some("image/png".into()),
        filename: Some("p.png".into()),
        metadata: json!({"a": 1}).as_object().cloned().unwrap_or_default(),
    };
    TaskMessage {
        id: "m1".into(),
        from: Speaker::User,
        context: Some("c1".into()),
        task: Some("t1".into()),
        parts: vec![
            Part::text("hi"),
            Part { content: Content::Raw(vec![0, 255].into()), meta: Some(Box::new(file)) },
            Part { content: Content::Url("https://example.com/x".into()), meta: None },
            Part::data(json!({"big": 9_007_199_254_740_993_i64})),
            Part::data(Value::Null),
        ],
        metadata: json!({"k": "v"}).as_object().cloned().unwrap_or_default(),
        extensions: vec!["urn:x".into()],
        references: vec!["t0".into()],
    }
}

fn message_json() -> Value {
    json!({
        "messageId": "m1", "contextId": "c1", "taskId": "t1", "role": "ROLE_USER",
        "parts": [
            {"text": "hi"},
            {"raw": "AP8=", "metadata": {"a": 1}, "filename": "p.png", "mediaType": "image/png"},
            {"url": "https://example.com/x"},
            {"data": {"big": 9_007_199_254_740_993_i64}},
            {"data": null},
        ],
        "metadata": {"k": "v"}, "extensions": ["urn:x"], "referenceTaskIds": ["t0"],
    })
}

fn shown<T: Write>(it: &T) -> Value {
    serde_json::to_value(Shown(it)).expect("JSON")
}

#[test]
fn a_message_is_read_and_written_as_it_is() {
    let request = send(json!({"message": message_json(), "tenant": "x"}).into()).expect("a request");
    assert_eq!(request.tenant.as_deref(), Some("x"));
    assert_eq!(request.asked.message, message());
    assert!(!request.asked.return_immediately);
    assert_eq!(shown(&message()), message_json());
}

#[test]
fn protobuf_s_other_spellings_are_read_too() {
    let request = json!({
        "message": {
            "message_id": "m1", "context_id": "c1", "task_id": "t1", "role": 1, "kind": "message",
            "parts": [
                {"kind": "text", "text": "hi", "raw": null},
                {"raw": "AP8", "metadata": {"a": 1}, "filename": "p.png", "media_type": "image/png"},
                {"url": "https://example.com/x"},
                {"data": {"big": 9_007_199_254_740_993_i64}},
                {"data": null},
            ],
            "metadata": {"k": "v"}, "extensions": ["urn:x"], "reference_task_ids": ["t0"],
        },
        "configuration": null,
    });
    assert_eq!(send(request.into()).expect("a request").asked.message, message());
}

#[test]
fn a_send_is_configured() {
    let request = json!({
        "message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": ""}]},
        "configuration": {
            "acceptedOutputModes": ["text/plain"], "historyLength": 0, "returnImmediately": true,
            "taskPushNotificationConfig": {
                "id": "p", "url": "https://example.com/", "token": "t",
                "authentication": {"scheme": "Bearer", "credentials": "c"},
            },
        },
        "metadata": {"a": [1]},
    });
    let asked = send(request.into()).expect("a request").asked;
    assert_eq!(asked.accepted_output_modes, ["text/plain"]);
    assert_eq!((asked.history_length, asked.return_immediately), (Some(0), true));
    assert_eq!(asked.metadata.len(), 1);
    let authentication = Authentication { scheme: "Bearer".into(), credentials: Some("c".into()) };
    let push = PushConfig {
        id: "p".into(),
        task: "".into(),
        url: "https://example.com/".into(),
        token: Some("t".into()),
        authentication: Some(authentication),
        dialect: Dialect::V1,
    };
    assert_eq!(asked.push, Some(push));
}

#[test]
fn everything_that_is_wrong_with_a_send_is_told_with_its_place() {
    let wrong = |params: Value| {
        let failure = send(params.into()).expect_err("a failure");
        assert_eq!(failure.reason, Reason::InvalidParams);
        told(&failure)
    };
    assert_eq!(wrong(json!({})), ["message is required"]);
    assert_eq!(wrong(json!("x")), [" is a text, not an object"]);
    assert_eq!(wrong(json!({"message": []})), ["message is a list, not an object"]);
    assert_eq!(
        wrong(json!({
            "message": {"role": "robot", "parts": [
                {}, {"text": "a", "url": "b"}, {"raw": "*"}, {"text": 1}, 7, {"url": ""}, {"text": "x", "metadata": 1},
            ]},
            "configuration": {"historyLength": -1, "returnImmediately": "yes",
                "taskPushNotificationConfig": {"authentication": {}}},
            "metadata": 3,
        })),
        [
            "message.messageId is required",
            "message.role is not one of the values of its type",
            "message.parts[0] has to carry exactly one of `text`, `raw`, `url` and `data`",
            "message.parts[1] has to carry exactly one of `text`, `raw`, `url` and `data`",
            "message.parts[2].raw is not base64",
            "message.parts[3].text is a number, not a text",
            "message.parts[4] is a number, not an object",
            "message.parts[5].url is empty",
            "message.parts[6].metadata is a number, not an object",
            "metadata is a number, not an object",
            "configuration.historyLength is negative",
            "configuration.returnImmediately is a text, not true or false",
            "configuration.taskPushNotificationConfig.authentication.scheme is required",
            "configuration.taskPushNotificationConfig.url is required",
        ]
    );
    assert_eq!(
        wrong(json!({"message": {"messageId": "m", "role": "ROLE_UNSPECIFIED", "parts": []}})),
        ["message.role is not one of the values of its type", "message.parts is empty"]
    );
}

#[test]
fn tasks_are_asked_for() {
    let request = get_task(json!({"id": "t", "historyLength": "2"}).into()).expect("a request").asked;
    assert_eq!((request.id.as_ref(), request.history_length), ("t", Some(2)));
    assert_eq!(told(&get_task(json!({"historyLength": -1}).into()).expect_err("a failure")).len(), 2);
    let request = list_tasks(
        json!({
            "contextId": "c", "status": "TASK_STATE_WORKING", "pageSize": 7, "pageToken": "p",
            "historyLength": 0, "statusTimestampAfter": "2025-10-28T10:30:00Z", "includeArtifacts": true,
        })
        .into(),
    );
    assert_eq!(
        request.expect("a request").asked,
        ListTasks {
            context: Some("c".into()),
            state: Some(TaskState::Working),
            since: Some(Duration::from_secs(1_761_647_400)),
            include_artifacts: true,
            history_length: Some(0),
            page_size: Some(7),
            page_token: Some("p".into()),
        }
    );
    assert_eq!(list_tasks(json!({"status": 0}).into()).expect("a request").asked, ListTasks::default());
    assert_eq!(
        told(&list_tasks(json!({"status": "WORKING", "pageSize": "x"}).into()).expect_err("a failure")).len(),
        2
    );
    let request = cancel(json!({"id": "t", "metadata": {"why": 1}}).into()).expect("a request").asked;
    assert_eq!((request.id.as_ref(), request.metadata.len()), ("t", 1));
    assert_eq!(subscribe(json!({"id": "t"}).into(), Some(3)).expect("a request").asked.after, Some(3));
    assert!(extended_card(json!(null).into()).is_ok());
}

#[test]
fn webhooks_are_read_and_written() {
    let json = json!({
        "id": "p", "taskId": "t", "url": "https://example.com/", "token": "k",
        "authentication": {"scheme": "Bearer", "credentials": "c"},
    });
    let config = create_push(json.clone().into()).expect("a config").asked;
    assert_eq!(shown(&config), json);
    assert_eq!(shown(&vec![config]), json!({"configs": [json], "nextPageToken": ""}));
    assert_eq!(
        told(&create_push(json!({}).into()).expect_err("a failure")),
        ["taskId is required", "url is required"]
    );
    let key = push_key(json!({"taskId": "t", "id": "p"}).into()).expect("a key").asked;
    assert_eq!((key.task.as_ref(), key.id.as_ref()), ("t", "p"));
    assert_eq!(told(&push_key(json!({"taskId": "t"}).into()).expect_err("a failure")), ["id is required"]);
    assert_eq!(list_push(json!({"taskId": "t"}).into()).expect("a task").asked.as_ref(), "t");
    assert!(list_push(json!({"taskId": "t", "pageToken": "2"}).into()).is_err());
}

fn task() -> Arc<Task> {
    let answer = TaskMessage {
        id: "m2".into(),
        from: Speaker::Agent,
        context: None,
        task: None,
        parts: vec![Part::text("done")],
        metadata: serde_json::Map::new(),
        extensions: Vec::new(),
        references: Vec::new(),
    };
    Arc::new(Task {
        id: "t1".into(),
        owner: Some("nobody's business".into()),
        agent: "a".into(),
        context: "c1".into(),
        revision: 3,
        status: TaskStatus {
            state: TaskState::InputRequired,
            message: Some(Arc::new(answer)),
            since: Duration::from_millis(1_761_647_400_007),
        },
        history: vec![Arc::new(message())],
        artifacts: vec![Arc::new(Artifact::new("r", vec![Part::text("x")]))],
        metadata: serde_json::Map::new(),
    })
}

#[test]
fn a_task_is_written_with_what_its_caller_asked_for() {
    let status = json!({
        "state": "TASK_STATE_INPUT_REQUIRED",
        "message": {"messageId": "m2", "role": "ROLE_AGENT", "parts": [{"text": "done"}]},
        "timestamp": "2025-10-28T10:30:00.007Z",
    });
    let artifacts = json!([{"artifactId": "r", "parts": [{"text": "x"}]}]);
    let whole = TaskView::whole(task());
    let json = json!({
        "id": "t1", "contextId": "c1", "status": status, "artifacts": artifacts, "history": [message_json()],
    });
    assert_eq!(shown(&whole), json);
    assert_eq!(shown(&SendReply::Task(whole.clone())), json!({"task": json}));
    let short = TaskView { history_length: Some(0), artifacts: false, ..whole };
    let json = json!({"id": "t1", "contextId": "c1", "status": status});
    assert_eq!(shown(&short), json);
    assert_eq!(shown(&StreamItem::Task(short.clone())), json!({"task": json}));
    let listing =
        Listing { tasks: vec![short], next_page_token: String::new(), page_size: 50, total_size: 1 };
    assert_eq!(
        shown(&listing),
        json!({"tasks": [json], "nextPageToken": "", "pageSize": 50, "totalSize": 1})
    );
    let update =
        StatusUpdate { task: "t1".into(), context: "c1".into(), status: task().status.clone(), last: true };
    assert_eq!(
        shown(&StreamItem::Status(update)),
        json!({"statusUpdate": {"taskId": "t1", "contextId": "c1", "status": status}})
    );
    let update = ArtifactUpdate {
        task: "t1".into(),
        context: "c1".into(),
        artifact: task().artifacts[0].clone(),
        append: false,
        last_chunk: true,
    };
    assert_eq!(
        shown(&StreamItem::Artifact(update)),
        json!({"artifactUpdate": {
            "taskId": "t1", "contextId": "c1", "artifact": artifacts[0], "append": false, "lastChunk": true,
        }})
    );
    assert_eq!(shown(&SendReply::Message(Arc::new(message()))), json!({"message": message_json()}));
}
