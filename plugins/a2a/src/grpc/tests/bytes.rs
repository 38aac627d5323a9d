//! Bytes that the official Python SDK writes (`fixtures.py`): read into what they say, and written the same.

use std::{sync::Arc, time::Duration};

use mas_contracts::TaskState;
use prost::Message;
use serde_json::{Map, json};

use super::said;
use crate::{
    grpc::{
        proto::{self, card},
        v1, v03,
    },
    model::{
        CancelTask, Dialect, Failure, GetTask, ListTasks, Listing, PushConfig, PushKey, SendMessage,
        SendReply, StreamItem, SubscribeToTask,
    },
};

fn bytes(name: &str) -> Vec<u8> {
    let line =
        include_str!("fixtures.txt").lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    let hex = line.expect(name).as_bytes();
    let digit = |at: u8| char::from(at).to_digit(16).and_then(|it| u8::try_from(it).ok()).expect("hex");
    hex.chunks_exact(2).map(|pair| digit(pair[0]) * 16 + digit(pair[1])).collect()
}

/// Reads the message, and writes it again to see that every field is known.
fn read<M: Message + Default>(name: &str) -> M {
    let bytes = bytes(name);
    let message = M::decode(bytes.as_slice()).expect(name);
    assert_eq!(message.encode_to_vec(), bytes, "{name}");
    message
}

fn same<M: Message + std::fmt::Debug>(name: &str, message: &M) {
    assert_eq!(message.encode_to_vec(), bytes(name), "{name}: {message:?}");
}

fn asked<T>(of: Result<T, Failure>) -> T {
    of.expect("a request")
}

#[test]
fn requests_of_v1_are_read_as_the_python_sdk_writes_them() {
    let send: proto::v1::SendMessageRequest = read("v1.send");
    assert_eq!(send.tenant, "x");
    let expected = SendMessage {
        message: said::message(Dialect::V1),
        accepted_output_modes: vec!["text/plain".into()],
        push: Some(PushConfig { task: "".into(), ..said::push(Dialect::V1) }),
        history_length: Some(0),
        return_immediately: true,
        kind: None,
        metadata: said::object(&json!({"r": 1})),
    };
    assert_eq!(asked(v1::send(send)), expected);
    let expected = GetTask { id: "t1".into(), history_length: Some(3) };
    assert_eq!(asked(v1::get_task(read("v1.get"))), expected);
    let expected = ListTasks {
        context: Some("c1".into()),
        state: Some(TaskState::Working),
        since: Some(Duration::from_millis(1_761_647_400_007)),
        include_artifacts: true,
        history_length: Some(2),
        page_size: Some(7),
        page_token: Some("p".into()),
    };
    assert_eq!(asked(v1::list_tasks(read("v1.list"))), expected);
    let expected = CancelTask { id: "t1".into(), metadata: said::object(&json!({"why": "enough"})) };
    assert_eq!(asked(v1::cancel(read("v1.cancel"))), expected);
    let expected = SubscribeToTask { id: "t1".into(), after: Some(4) };
    assert_eq!(asked(v1::subscribe(read("v1.subscribe"), Some(4))), expected);
    assert_eq!(asked(v1::create_push(read("v1.push"))), said::push(Dialect::V1));
    let expected = PushKey { task: "t1".into(), id: "p1".into() };
    assert_eq!(asked(v1::push_key(read("v1.get_push"))), expected);
    assert_eq!(asked(v1::push_key(read("v1.delete_push"))), expected);
    assert_eq!(&*asked(v1::list_push(read("v1.list_push"))), "t1");
    assert_eq!(read::<proto::v1::GetExtendedAgentCardRequest>("v1.extended").tenant, "x");
}

#[test]
fn requests_of_v03_are_read_as_the_python_sdk_writes_them() {
    let expected = SendMessage {
        message: said::message(Dialect::V03),
        accepted_output_modes: vec!["text/plain".into()],
        push: Some(PushConfig { task: "".into(), ..said::push(Dialect::V03) }),
        history_length: Some(2),
        return_immediately: false,
        kind: None,
        metadata: said::object(&json!({"r": 1})),
    };
    assert_eq!(asked(v03::send(read("v03.send"))), expected);
    let expected = GetTask { id: "t1".into(), history_length: Some(3) };
    assert_eq!(asked(v03::get_task(&read("v03.get"))), expected);
    let expected = CancelTask { id: "t1".into(), metadata: Map::new() };
    assert_eq!(asked(v03::cancel(&read("v03.cancel"))), expected);
    let expected = SubscribeToTask { id: "t1".into(), after: None };
    assert_eq!(asked(v03::subscribe(&read("v03.subscribe"), None)), expected);
    assert_eq!(asked(v03::create_push(read("v03.create_push"))), said::push(Dialect::V03));
    let expected = PushKey { task: "t1".into(), id: "p1".into() };
    assert_eq!(asked(v03::push_key(&read("v03.get_push"), false)), expected);
    assert_eq!(asked(v03::push_key(&read("v03.delete_push"), true)), expected);
    assert_eq!(&*asked(v03::list_push(&read("v03.list_push"))), "t1");
}

#[test]
fn answers_of_v1_are_written_as_the_python_sdk_writes_them() {
    let (task, message) = (said::task(Dialect::V1), Arc::new(said::message(Dialect::V1)));
    same("v1.sent", &v1::sent(&SendReply::Task(task.clone())));
    same("v1.sent_message", &v1::sent(&SendReply::Message(message.clone())));
    same("v1.event_task", &v1::event(&StreamItem::Task(task.clone())));
    same("v1.event_message", &v1::event(&StreamItem::Message(message)));
    same("v1.event_status", &v1::event(&StreamItem::Status(said::status_update(Dialect::V1))));
    same("v1.event_artifact", &v1::event(&StreamItem::Artifact(said::artifact_update())));
    let listing = Listing { tasks: vec![task], next_page_token: "n".into(), page_size: 1, total_size: 2 };
    same("v1.listing", &v1::listing(&listing));
    same("v1.push", &v1::push_config(&said::push(Dialect::V1)));
    same("v1.pushes", &v1::push_configs(&[said::push(Dialect::V1)]));
}

#[test]
fn answers_of_v03_are_written_as_the_python_sdk_writes_them() {
    let (task, message) = (said::task(Dialect::V03), Arc::new(said::message(Dialect::V03)));
    same("v03.sent", &v03::sent(&SendReply::Task(task.clone())));
    same("v03.sent_message", &v03::sent(&SendReply::Message(message.clone())));
    same("v03.event_task", &v03::event(&StreamItem::Task(task)));
    same("v03.event_message", &v03::event(&StreamItem::Message(message)));
    same("v03.event_status", &v03::event(&StreamItem::Status(said::status_update(Dialect::V03))));
    same("v03.event_artifact", &v03::event(&StreamItem::Artifact(said::artifact_update())));
    same("v03.push", &v03::push_config(&said::push(Dialect::V03)));
    same("v03.pushes", &v03::push_configs(&[said::push(Dialect::V03)]));
}

#[test]
fn cards_are_written_from_their_json_as_the_python_sdk_writes_them() {
    let skills = json!([{
        "id": "s", "name": "S", "description": "d", "tags": ["t"], "examples": ["e"], "inputModes": ["text/plain"],
    }]);
    let card = json!({
        "name": "N", "description": "D", "version": "1.2.3",
        "supportedInterfaces": [
            {"url": "http://h/", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
            {"url": "h:1", "protocolBinding": "GRPC", "protocolVersion": "1.0", "tenant": "x"},
        ],
        "provider": {"url": "https://example.com", "organization": "O"},
        "documentationUrl": "https://example.com/doc", "iconUrl": "https://example.com/icon",
        "capabilities": {
            "streaming": true, "pushNotifications": false, "extendedAgentCard": true,
            "extensions": [{"uri": "urn:x", "description": "d", "required": true, "params": {"n": 1}}],
        },
        "securitySchemes": {
            "b": {"httpAuthSecurityScheme": {"scheme": "Bearer", "bearerFormat": "JWT"}},
            "k": {"apiKeySecurityScheme": {"location": "header", "name": "x-key"}},
            "m": {"mtlsSecurityScheme": {"description": "d"}},
            "o": {"oauth2SecurityScheme": {
                "flows": {"clientCredentials": {"tokenUrl": "https://t", "scopes": {"s": "d"}}},
                "oauth2MetadataUrl": "https://m",
            }},
            "p": {"openIdConnectSecurityScheme": {"openIdConnectUrl": "https://o"}},
        },
        "securityRequirements": [{"schemes": {"b": {"list": ["s"]}}}, {"schemes": {"k": {"list": ["r"]}}}],
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"], "skills": skills,
        "signatures": [{"protected": "p", "signature": "s", "header": {"kid": "k"}}],
    });
    same("v1.card", &v1::card(&card).expect("a card"));
    read::<card::AgentCard>("v1.card");
    let card = json!({
        "name": "N", "description": "D", "version": "1.2.3", "protocolVersion": "0.3.0", "url": "http://h/",
        "preferredTransport": "JSONRPC", "additionalInterfaces": [{"url": "h:1", "transport": "GRPC"}],
        "provider": {"url": "https://example.com", "organization": "O"},
        "documentationUrl": "https://example.com/doc", "iconUrl": "https://example.com/icon",
        "capabilities": {
            "streaming": true, "pushNotifications": true, "extensions": [{"uri": "urn:x", "required": true}],
        },
        "securitySchemes": {
            "b": {"type": "http", "scheme": "Bearer", "bearerFormat": "JWT"},
            "k": {"type": "apiKey", "in": "header", "name": "x-key"},
        },
        "security": [{"b": ["s"]}, {"k": ["r"]}],
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"], "skills": skills,
        "supportsAuthenticatedExtendedCard": true,
    });
    same("v03.card", &v03::card(&card).expect("a card"));
    read::<card::OldAgentCard>("v03.card");
    let failure = v1::card(&json!({"name": 1})).expect_err("no card");
    assert!(failure.message.starts_with("the card cannot be told over gRPC: "), "{}", failure.message);
}

#[test]
fn everything_that_is_wrong_with_a_request_is_told_by_its_name_in_json() {
    fn told<T: std::fmt::Debug>(of: Result<T, Failure>) -> Vec<String> {
        let failure = of.expect_err("a failure");
        failure.violations.iter().map(|it| format!("{} {}", it.field, it.description)).collect()
    }
    assert_eq!(told(v1::send(Default::default())), ["message is required"]);
    let parts = vec![
        proto::v1::Part::default(),
        proto::v1::Part { content: Some(proto::v1::Content::Url(String::new())), ..Default::default() },
    ];
    let message = proto::v1::Message { parts, role: 7, ..Default::default() };
    let configuration = proto::v1::SendMessageConfiguration {
        history_length: Some(-1),
        task_push_notification_config: Some(proto::v1::TaskPushNotificationConfig {
            authentication: Some(Default::default()),
            ..Default::default()
        }),
        ..Default::default()
    };
    let send = proto::v1::SendMessageRequest {
        message: Some(message),
        configuration: Some(configuration),
        ..Default::default()
    };
    assert_eq!(
        told(v1::send(send)),
        [
            "message.messageId is required",
            "message.role is not one of the values of its type",
            "message.parts[0] has to carry exactly one of `text`, `raw`, `url` and `data`",
            "message.parts[1].url is empty",
            "configuration.taskPushNotificationConfig.url is required",
            "configuration.taskPushNotificationConfig.authentication.scheme is required",
            "configuration.historyLength is negative",
        ]
    );
    let list = proto::v1::ListTasksRequest { status: 99, ..Default::default() };
    assert_eq!(told(v1::list_tasks(list)), ["status is not one of the values of its type"]);
    assert_eq!(told(v1::push_key(Default::default())), ["taskId is required", "id is required"]);
    let of = |name: &str| proto::v03::Named { name: name.into() };
    assert_eq!(told(v03::cancel(&of("t1"))), ["name is not `tasks/{id}`"]);
    for wrong in ["tasks/t1", "tasks//pushNotificationConfigs/p", "tasks/t/pushNotificationConfigsp"] {
        let expected = ["name is not `tasks/{id}/pushNotificationConfigs/{id}`"];
        assert_eq!(told(v03::push_key(&of(wrong), false)), expected, "{wrong}");
    }
    assert!(v03::push_key(&of("tasks/t/pushNotificationConfigs"), true).is_err());
    let first = v03::push_key(&of("tasks/t/pushNotificationConfigs"), false).expect("the first");
    assert_eq!(&*first.id, "");
    assert_eq!(told(v03::send(Default::default())), ["request is required"]);
}
