//! The client of the official Rust SDK against the agent of the conformance kits:
//! `a2a-peer-rust BASE {JSONRPC|HTTP+JSON|GRPC} 1.0 WEBHOOK`; its server: `a2a-peer-rust serve`

mod serve;

use std::{env::args, sync::Arc, time::Duration};

use a2a::{
    A2AError, CancelTaskRequest, GetTaskRequest, ListTasksRequest, Message, Part, Role,
    SendMessageConfiguration, SendMessageRequest, SendMessageResponse, StreamResponse,
    SubscribeToTaskRequest, Task, TaskPushNotificationConfig, TaskState, error_code, new_message_id,
};
use a2a_client::{A2AClientFactory, BoxStream, agent_card::AgentCardResolver};
use a2a_grpc::GrpcTransportFactory;
use futures_util::{StreamExt, TryStreamExt};

fn said(prefix: &str) -> SendMessageRequest {
    let mut message = Message::new(Role::User, vec![Part::text("hello")]);
    message.message_id = format!("{prefix}-{}", new_message_id());
    SendMessageRequest { message, configuration: None, metadata: None, tenant: None }
}

fn task(reply: SendMessageResponse) -> Task {
    match reply {
        SendMessageResponse::Task(task) => task,
        SendMessageResponse::Message(message) => panic!("no task: {message:?}"),
    }
}

fn kind(event: &StreamResponse) -> &'static str {
    match event {
        StreamResponse::Task(_) => "task",
        StreamResponse::Message(_) => "message",
        StreamResponse::StatusUpdate(_) => "status",
        StreamResponse::ArtifactUpdate(_) => "artifact",
    }
}

async fn kinds(
    events: BoxStream<'static, Result<StreamResponse, A2AError>>,
) -> Result<Vec<&'static str>, A2AError> {
    events.map_ok(|event| kind(&event)).try_collect().await
}

async fn speak(base: &str, binding: &str, webhook: &str) -> Result<(), A2AError> {
    let mut card = AgentCardResolver::new(None).resolve(base).await?;
    card.supported_interfaces.retain(|one| one.protocol_binding == binding && one.protocol_version == "1.0");
    assert_eq!(card.supported_interfaces.len(), 1, "the card has the interface");
    let factory = A2AClientFactory::builder().register(Arc::new(GrpcTransportFactory::new())).build();
    let agent = factory.create_from_card(&card).await?;

    let SendMessageResponse::Message(echoed) = agent.send_message(&said("echo")).await? else {
        panic!("no message")
    };
    assert_eq!(echoed.text(), Some("hello"));
    println!("message");

    let done = task(agent.send_message(&said("tck-artifact-text")).await?);
    assert_eq!(done.status.state, TaskState::Completed);
    let artifacts = done.artifacts.as_deref().unwrap_or_default();
    assert_eq!(artifacts[0].parts, [Part::text("Generated text content")]);
    println!("task");

    let got =
        agent.get_task(&GetTaskRequest { id: done.id.clone(), history_length: None, tenant: None }).await?;
    assert_eq!(got.artifacts, done.artifacts);
    println!("get");

    let listed = ListTasksRequest {
        context_id: Some(done.context_id),
        status: None,
        page_size: None,
        page_token: None,
        history_length: None,
        status_timestamp_after: None,
        include_artifacts: None,
        tenant: None,
    };
    let listed = agent.list_tasks(&listed).await?;
    assert_eq!(listed.tasks.iter().map(|one| &one.id).collect::<Vec<_>>(), [&done.id]);
    assert_eq!((listed.total_size, listed.next_page_token.as_str()), (1, ""));
    println!("list");

    let events = kinds(agent.send_streaming_message(&said("tck-stream-001")).await?).await?;
    assert_eq!(events, ["task", "status", "artifact", "status"]);
    println!("stream");

    let asked = task(agent.send_message(&said("tck-input-required")).await?);
    assert_eq!(asked.status.state, TaskState::InputRequired);
    let mut subscribed =
        agent.subscribe_to_task(&SubscribeToTaskRequest { id: asked.id.clone(), tenant: None }).await?;
    let first = subscribed.next().await.expect("an event")?;
    assert!(matches!(&first, StreamResponse::Task(task) if task.id == asked.id), "{first:?}");
    let cancel = CancelTaskRequest { id: asked.id, metadata: None, tenant: None };
    assert_eq!(agent.cancel_task(&cancel).await?.status.state, TaskState::Canceled);
    println!("cancel");
    assert_eq!(kinds(subscribed).await?, ["status"]);
    println!("subscribe");

    let mut told = said("tck-complete-task");
    told.configuration = Some(SendMessageConfiguration {
        accepted_output_modes: None,
        history_length: None,
        return_immediately: None,
        task_push_notification_config: Some(TaskPushNotificationConfig {
            url: webhook.to_owned(),
            id: Some("mine".to_owned()),
            task_id: String::new(),
            token: Some(format!("rust {binding} 1.0")),
            authentication: None,
            tenant: None,
        }),
    });
    assert_eq!(task(agent.send_message(&told).await?).status.state, TaskState::Completed);
    println!("push");

    let none = GetTaskRequest { id: "none".to_owned(), history_length: None, tenant: None };
    let error = agent.get_task(&none).await.expect_err("there is no such task");
    assert_eq!(error.code, error_code::TASK_NOT_FOUND, "{error:?}");
    println!("error");
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let mut args = args().skip(1).peekable();
    if args.peek().is_some_and(|one| one == "--version") {
        return println!("a2a-client-lf 0.2.9");
    }
    if args.peek().is_some_and(|one| one == "serve") {
        return serve::serve().await;
    }
    let [Some(base), Some(binding), Some(_), Some(webhook)] = [(); 4].map(|()| args.next()) else {
        panic!("usage: a2a-peer-rust BASE BINDING 1.0 WEBHOOK")
    };
    let spoken = tokio::time::timeout(Duration::from_secs(20), speak(&base, &binding, &webhook)).await;
    spoken.expect("it ends in time").expect("every call is answered");
}
