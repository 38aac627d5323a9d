use std::sync::Arc;

use futures_util::StreamExt;
use mas_contracts::{Part, Speaker, TaskMessage, TaskState};
use serde_json::{Map, json};

use super::*;
use crate::{
    client::{Binding, How, Listed},
    grpc::tests::Port,
};

fn channel(url: &str, version: Version, headers: &[(&str, &str)]) -> Channel {
    let interface = Interface { url: url.to_owned(), binding: Binding::Grpc, version, tenant: None };
    let text = |value: &str| mas_comm_kit::http::HeaderText::Plain(value.to_owned());
    let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), text(value))).collect();
    Channel::new(&interface, &Options { headers, ..Options::default() }, 1024 * 1024).expect("a channel")
}

fn message(id: &str) -> Arc<TaskMessage> {
    Arc::new(TaskMessage {
        id: id.into(),
        from: Speaker::User,
        context: None,
        task: None,
        parts: vec![Part::text("hi")],
        metadata: Map::new(),
        extensions: Vec::new(),
        references: Vec::new(),
    })
}

#[tokio::test]
async fn every_call_is_made_in_both_versions() {
    let port = Port::plain().await;
    for version in [Version::V1, Version::V03] {
        let channel = channel(&port.socket.to_string(), version, &[]);
        let how = How { immediately: true, history_length: Some(3), ..How::default() };
        let said = message("m");
        let sent = channel.send(&Call::Send { message: &said, how: &how, stream: false }).await.unwrap();
        let SendReply::Task(view) = sent else { panic!("no task: {sent:?}") };
        assert_eq!((&*view.task.id, view.task.status.state), ("t1", TaskState::Completed));
        assert_eq!(view.task.artifacts.len(), 1);
        let said = message("message");
        let sent = channel.send(&Call::Send { message: &said, how: &how, stream: false }).await.unwrap();
        let SendReply::Message(answer) = sent else { panic!("no message: {sent:?}") };
        assert_eq!(answer.parts, [Part::text("answer")]);
        let view = channel.task(&Call::Get { id: "t7", history_length: Some(2) }).await.unwrap();
        assert_eq!(&*view.task.id, "t7");
        let view = channel.task(&Call::Cancel { id: "t7" }).await.unwrap();
        assert_eq!(view.task.status.state, TaskState::Canceled);
        let mut events = channel.open(&Call::Subscribe { id: "t1" }).await.unwrap();
        let mut kinds = Vec::new();
        while let Some(item) = events.next().await {
            kinds.push(match item.unwrap().unwrap() {
                StreamItem::Task(view) => format!("task {}", view.task.id),
                StreamItem::Artifact(update) => format!("artifact {}", update.last_chunk),
                StreamItem::Status(update) => format!("{} {}", update.status.state.as_str(), update.last),
                StreamItem::Message(_) => "message".to_owned(),
            });
        }
        assert_eq!(kinds, ["task t1", "artifact true", "completed true"]);
        let heard = port.served["fares"].heard();
        let expected = ["send m true Some(3)", "send message true Some(3)", "get t7 Some(2)", "cancel t7 {}"];
        assert_eq!(heard[..4], expected);
    }
    let channel = channel(&format!("http://{}", port.socket), Version::V1, &[]);
    let listed = Listed { state: Some(TaskState::Working), page_size: Some(7), ..Listed::default() };
    let listing = channel.listing(&Call::List(&listed)).await.unwrap();
    assert_eq!((listing.tasks.len(), listing.page_size, listing.total_size), (1, 50, 1));
    let heard = port.served["fares"].heard().remove(0);
    assert!(heard.contains("state: Some(Working)") && heard.contains("page_size: Some(7)"), "{heard}");
}

#[tokio::test]
async fn errors_are_those_of_the_protocol() {
    let port = Port::with(json!({"security": {"b": {"bearer": {"tokens": {"ann": "sesame"}}}}})).await;
    let url = port.socket.to_string();
    let get = |id| Call::Get { id, history_length: None };
    let error = channel(&url, Version::V1, &[]).task(&get("t")).await.expect_err("no token");
    assert_eq!(error.kind(), ErrorKind::Unauthenticated);
    for version in [Version::V1, Version::V03] {
        let channel = channel(&url, version, &[("authorization", "Bearer sesame")]);
        let error = channel.task(&get("nope")).await.expect_err("no such task");
        assert_eq!(error.kind(), ErrorKind::NotFound);
        assert_eq!(error.to_string(), "the agent says: there is no task `nope`");
        let error = channel.open(&Call::Subscribe { id: "" }).await.err().expect("no id");
        assert_eq!(error.kind(), ErrorKind::Invalid);
    }
}

#[tokio::test]
async fn an_agent_that_is_not_there_is_not_reached() {
    let bound = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = bound.local_addr().unwrap().to_string();
    drop(bound);
    let call = Call::Get { id: "t", history_length: None };
    let error = channel(&url, Version::V1, &[]).task(&call).await.expect_err("nobody");
    assert_eq!((error.kind(), &*error.code()), (ErrorKind::Unavailable, "mas::a2a::connection"));
    let told = error.to_string();
    assert!(told.starts_with(&format!("the agent at {url} cannot be reached over gRPC: ")), "{told}");
}

#[test]
fn an_address_is_host_and_port_without_tls() {
    for url in ["h:1", "http://h:1", "http://h:1/"] {
        assert_eq!(origin(url).expect("an address").to_string(), "http://h:1/");
    }
    let error = origin("https://h:1").expect_err("TLS");
    insta::assert_snapshot!(error, @"gRPC with TLS (`https://`) is not spoken here; choose another binding of the card");
    let error = origin("h:1/x y").expect_err("no address");
    insta::assert_snapshot!(error, @"the card names `h:1/x y` for gRPC, which is no `host:port`");
}
