//! Every operation, by a client of each version.

use super::*;
use crate::grpc::proto::{card, rpc, v1, v03};

const NEW: &str = v1::SERVICE;
const OLD: &str = v03::SERVICE;

fn said(id: &str) -> v1::SendMessageRequest {
    let part = v1::Part { content: Some(v1::Content::Text("hi".into())), ..v1::Part::default() };
    let message = v1::Message { message_id: id.into(), role: 1, parts: vec![part], ..v1::Message::default() };
    v1::SendMessageRequest { message: Some(message), ..v1::SendMessageRequest::default() }
}

fn named(name: &str) -> v03::Named {
    v03::Named { name: name.into() }
}

#[tokio::test]
async fn every_operation_of_v1_is_there() {
    let port = Port::plain().await;
    let ask = |method: &str| format!("{NEW}/{method}");
    let sent: v1::SendMessageResponse = port.ask(&ask("SendMessage"), said("m")).await.unwrap();
    let Some(v1::Sent::Task(task)) = sent.payload else { panic!("no task: {sent:?}") };
    assert_eq!((task.id.as_str(), task.context_id.as_str()), ("t1", "c1"));
    assert_eq!(task.status.unwrap().state(), v1::TaskState::Completed);
    let sent: v1::SendMessageResponse = port.ask(&ask("SendMessage"), said("message")).await.unwrap();
    assert!(matches!(sent.payload, Some(v1::Sent::Message(_))), "{sent:?}");
    let get = v1::GetTaskRequest { id: "t7".into(), history_length: Some(2), ..Default::default() };
    let task: v1::Task = port.ask(&ask("GetTask"), get).await.unwrap();
    assert_eq!(task.id, "t7");
    let page: v1::ListTasksResponse =
        port.ask(&ask("ListTasks"), v1::ListTasksRequest::default()).await.unwrap();
    assert_eq!((page.tasks.len(), page.page_size, page.total_size), (1, 50, 1));
    assert_eq!(page.tasks[0].artifacts, []);
    let cancel = v1::CancelTaskRequest { id: "t7".into(), ..Default::default() };
    let task: v1::Task = port.ask(&ask("CancelTask"), cancel).await.unwrap();
    assert_eq!(task.status.unwrap().state(), v1::TaskState::Canceled);
    let push = v1::TaskPushNotificationConfig {
        task_id: "t7".into(),
        url: "https://example.com/".into(),
        ..Default::default()
    };
    let push: v1::TaskPushNotificationConfig =
        port.ask(&ask("CreateTaskPushNotificationConfig"), push).await.unwrap();
    assert_eq!((push.id.as_str(), push.task_id.as_str()), ("p1", "t7"));
    let key = v1::PushNotificationConfigKey { task_id: "t7".into(), id: "p1".into(), ..Default::default() };
    let push: v1::TaskPushNotificationConfig =
        port.ask(&ask("GetTaskPushNotificationConfig"), key.clone()).await.unwrap();
    assert_eq!(push.id, "p1");
    let list = v1::ListTaskPushNotificationConfigsRequest { task_id: "t7".into(), ..Default::default() };
    let pushes: v1::ListTaskPushNotificationConfigsResponse =
        port.ask(&ask("ListTaskPushNotificationConfigs"), list).await.unwrap();
    assert_eq!(pushes.configs.len(), 1);
    let () = port.ask(&ask("DeleteTaskPushNotificationConfig"), key).await.unwrap();
    let card: card::AgentCard =
        port.ask(&ask("GetExtendedAgentCard"), v1::GetExtendedAgentCardRequest::default()).await.unwrap();
    assert_eq!(card.name, "more");
    insta::assert_debug_snapshot!(port.heard("fares"), @r#"
    [
        "send m false None",
        "send message false None",
        "get t7 Some(2)",
        "ListTasks { context: None, state: None, since: None, include_artifacts: false, history_length: None, page_size: None, page_token: None }",
        "cancel t7 {}",
        "create push t7  https://example.com/",
        "get push t7 p1",
        "list push t7",
        "delete push t7 p1",
        "card",
    ]
    "#);
}

#[tokio::test]
async fn every_operation_of_v03_is_there() {
    let port = Port::plain().await;
    let ask = |method: &str| format!("{OLD}/{method}");
    let part = v03::Part { part: Some(v03::Content::Text("hi".into())), metadata: None };
    let message = v03::Message { message_id: "m".into(), role: 1, content: vec![part], ..Default::default() };
    let send = v03::SendMessageRequest { request: Some(message), ..Default::default() };
    let sent: v03::SendMessageResponse = port.ask(&ask("SendMessage"), send.clone()).await.unwrap();
    let Some(v03::Sent::Task(task)) = sent.payload else { panic!("no task: {sent:?}") };
    assert_eq!(task.status.unwrap().state(), v1::TaskState::Completed);
    let at_once = v03::SendMessageConfiguration { history_length: 0, ..Default::default() };
    let send = v03::SendMessageRequest { configuration: Some(at_once), ..send };
    let _: v03::SendMessageResponse = port.ask(&ask("SendMessage"), send).await.unwrap();
    let get = v03::GetTaskRequest { name: "tasks/t7".into(), history_length: 0 };
    let task: v03::Task = port.ask(&ask("GetTask"), get).await.unwrap();
    assert_eq!(task.id, "t7");
    let task: v03::Task = port.ask(&ask("CancelTask"), named("tasks/t7")).await.unwrap();
    assert_eq!(task.status.unwrap().state(), v1::TaskState::Canceled);
    let config = v03::PushNotificationConfig { url: "https://example.com/".into(), ..Default::default() };
    let create = v03::CreateTaskPushNotificationConfigRequest {
        parent: "tasks/t7".into(),
        config_id: "p9".into(),
        config: Some(v03::TaskPushNotificationConfig {
            push_notification_config: Some(config),
            ..Default::default()
        }),
    };
    let push: v03::TaskPushNotificationConfig =
        port.ask(&ask("CreateTaskPushNotificationConfig"), create).await.unwrap();
    assert_eq!(push.name, "tasks/t7/pushNotificationConfigs/p1");
    let key = named("tasks/t7/pushNotificationConfigs/p1");
    let push: v03::TaskPushNotificationConfig =
        port.ask(&ask("GetTaskPushNotificationConfig"), key.clone()).await.unwrap();
    assert_eq!(push.push_notification_config.unwrap().url, "https://example.com/");
    let list = v03::ListTaskPushNotificationConfigRequest { parent: "tasks/t7".into(), ..Default::default() };
    let pushes: v03::ListTaskPushNotificationConfigResponse =
        port.ask(&ask("ListTaskPushNotificationConfig"), list).await.unwrap();
    assert_eq!(pushes.configs.len(), 1);
    let () = port.ask(&ask("DeleteTaskPushNotificationConfig"), key).await.unwrap();
    let card: card::OldAgentCard = port.ask(&ask("GetAgentCard"), ()).await.unwrap();
    assert_eq!(card.name, "more");
    insta::assert_debug_snapshot!(port.heard("fares"), @r#"
    [
        "send m false None",
        "send m true None",
        "get t7 None",
        "cancel t7 {}",
        "create push t7 p9 https://example.com/",
        "get push t7 p1",
        "list push t7",
        "delete push t7 p1",
        "card",
    ]
    "#);
}

#[tokio::test]
async fn the_tenant_tells_several_agents_apart() {
    let port = Port::of([("fares", json!({})), ("hotels", json!({}))]).await;
    let get =
        |tenant: &str| v1::GetTaskRequest { tenant: tenant.into(), id: "t7".into(), ..Default::default() };
    let method = format!("{NEW}/GetTask");
    for (tenant, agent) in [("", "fares"), ("fares", "fares"), ("hotels", "hotels")] {
        let _: v1::Task = port.ask(&method, get(tenant)).await.unwrap();
        let (what, caller) = port.served[agent].asked().remove(0);
        assert_eq!((what.as_str(), caller.tenant.as_deref().unwrap_or_default()), ("get t7 None", tenant));
    }
    let list = v1::ListTaskPushNotificationConfigsRequest {
        tenant: "hotels".into(),
        task_id: "t".into(),
        ..Default::default()
    };
    let _: v1::ListTaskPushNotificationConfigsResponse =
        port.ask(&format!("{NEW}/ListTaskPushNotificationConfigs"), list).await.unwrap();
    assert_eq!(port.heard("hotels"), ["list push t"]);
    let _: v03::Task = port.ask(&format!("{OLD}/CancelTask"), named("tasks/t7")).await.unwrap();
    assert_eq!(port.heard("fares"), ["cancel t7 {}"]);
    let status = port.ask::<_, v1::Task>(&method, get("nobody")).await.unwrap_err();
    assert_eq!(status.code(), tonic::Code::InvalidArgument);
    assert_eq!(status.message(), "`tenant` is no agent of this server: the agents' cards name their tenants");
    let alone = Port::plain().await;
    let _: v1::Task = alone.ask(&method, get("anything")).await.unwrap();
    assert_eq!(alone.heard("fares"), ["get t7 None"]);
}

#[tokio::test]
async fn health_is_asked_for_by_service_until_the_end_begins() {
    let port = Port::plain().await;
    let method = format!("{}/Check", rpc::HEALTH);
    let of = |service: &str| rpc::HealthCheckRequest { service: service.into() };
    for service in ["", NEW, OLD] {
        let health: rpc::HealthCheckResponse = port.ask(&method, of(service)).await.unwrap();
        assert_eq!(health.status(), rpc::ServingStatus::Serving);
    }
    let status = port.ask::<_, rpc::HealthCheckResponse>(&method, of("x")).await.unwrap_err();
    assert_eq!(status.code(), tonic::Code::NotFound);
    port.agents.unready();
    let health: rpc::HealthCheckResponse = port.ask(&method, of("")).await.unwrap();
    assert_eq!(health.status(), rpc::ServingStatus::NotServing);
}
