use std::{path::Path, sync::Arc};

use futures_util::StreamExt;
use mas_comm_kit::{
    Secret,
    auth::{ClientAuth, ClientCredentials, Tokens},
    http::{Proxying, Settings},
};
use mas_contracts::{Delivery, Part, Speaker, TaskMessage, TaskState};
use mas_testkit::{
    build_context,
    http::{Act, RawServer},
};
use serde_json::{Map, json};

use super::*;
use crate::{
    client::{Binding, How, Listed, Options},
    grpc::tests::Port,
};

mod over_tls;

fn channel(url: &str, version: Version, headers: &[(&str, &str)]) -> Channel {
    let text = |value: &str| mas_comm_kit::http::HeaderText::Plain(value.to_owned());
    let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), text(value))).collect();
    let options = Options { headers, ..Options::default() };
    by(url, version, &options, Path::new(".")).expect("a channel")
}

/// A channel by options, with files of a folder.
fn by(url: &str, version: Version, options: &Options, base: &Path) -> Result<Channel> {
    let interface = Interface { url: url.to_owned(), binding: Binding::Grpc, version, tenant: None };
    let wire = Wire::new(options, &build_context(base, &[])).expect("a wire");
    Channel::new(&interface, &wire, 1024 * 1024, 512)
}

fn showing(credential: Credential) -> Options {
    Options { credentials: [credential].into(), ..Options::default() }
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
    assert_eq!(error.delivery(), Delivery::NotSent);
    let told = error.to_string();
    assert!(told.starts_with(&format!("the agent at {url} cannot be reached over gRPC: ")), "{told}");
}

#[test]
fn an_address_is_host_and_port_with_or_without_tls() {
    for url in ["h:1", "http://h:1", "HTTP://h:1/", "grpc://h:1", "a2a://h:1"] {
        assert_eq!(origin(url).expect("an address").to_string(), "http://h:1/");
    }
    for url in ["https://h:1", "grpcs://h:1/", "a2as://h:1"] {
        assert_eq!(origin(url).expect("an address").to_string(), "https://h:1/");
    }
    let error = origin("unix:///h").expect_err("another scheme");
    insta::assert_snapshot!(error, @"gRPC over `unix://` is not spoken here; choose another binding of the card");
    let error = origin("h:1/x y").expect_err("no address");
    insta::assert_snapshot!(error, @"the card names `h:1/x y` for gRPC, which is no `host:port`");
}

#[tokio::test]
async fn credentials_go_along_as_metadata() {
    let keys = json!({"api_key": {"name": "X-Key", "keys": {"ann": "sesame"}}});
    let cookies = json!({"api_key": {"in": "cookie", "name": "key", "keys": {"ann": "sesame"}}});
    let bearer = json!({"bearer": {"tokens": {"ann": "sesame"}}});
    let secret = |text| Secret::new(text);
    let get = Call::Get { id: "t", history_length: None };
    for (scheme, good, bad) in [
        (
            bearer,
            Credential::Authorization("Bearer", secret("sesame")),
            Credential::Authorization("Bearer", secret("no")),
        ),
        (
            keys,
            Credential::Header("X-Key".to_owned(), secret("sesame")),
            Credential::Header("x-other".to_owned(), secret("sesame")),
        ),
        (
            cookies,
            Credential::Cookie("key".to_owned(), secret("sesame")),
            Credential::Cookie("key".to_owned(), secret("no")),
        ),
    ] {
        let port = Port::with(json!({"security": {"s": scheme}})).await;
        let url = port.socket.to_string();
        for version in [Version::V1, Version::V03] {
            let channel = by(&url, version, &showing(good.clone()), Path::new(".")).unwrap();
            channel.task(&get).await.unwrap();
            let channel = by(&url, version, &showing(bad.clone()), Path::new(".")).unwrap();
            let error = channel.task(&get).await.expect_err("refused");
            assert_eq!(error.kind(), ErrorKind::Unauthenticated);
        }
    }
    let query = showing(Credential::Query("key".to_owned(), secret("sesame")));
    let error = by("h:1", Version::V1, &query, Path::new(".")).err().expect("no query");
    insta::assert_snapshot!(error, @"the credentials go into the query, which gRPC has none of; choose another binding of the card");
}

#[tokio::test]
async fn a_call_that_a_token_did_not_open_is_made_once_more_with_a_fresh_one() {
    let server = RawServer::start(|number, _| {
        vec![Act::answer(200, "application/json", &format!(r#"{{"access_token": "token-{number}"}}"#))]
    })
    .await
    .unwrap();
    let client = ClientCredentials {
        token_url: server.url().to_owned(),
        client_id: "mas".to_owned(),
        client_secret: Secret::new("sesame"),
        scopes: Vec::new(),
        audience: None,
        resource: None,
        auth: ClientAuth::Basic,
    };
    let cx = build_context(Path::new("."), &[]);
    let tokens = Tokens::shared(&client, &Settings::default(), &cx).unwrap();
    let port = Port::with(json!({"security": {"b": {"bearer": {"tokens": {"ann": "token-1"}}}}})).await;
    let url = port.socket.to_string();
    let channel = by(&url, Version::V1, &showing(Credential::Token(tokens)), Path::new(".")).unwrap();
    channel.task(&Call::Get { id: "t", history_length: None }).await.unwrap();
    let mut events = channel.open(&Call::Subscribe { id: "t1" }).await.unwrap();
    assert!(events.next().await.unwrap().is_ok());
    assert_eq!(server.requests().len(), 2);
    assert_eq!(port.served["fares"].heard().len(), 2, "what was refused reached no agent");
}

#[tokio::test]
async fn the_server_is_told_how_long_its_caller_waits() {
    let channel = channel("h:1", Version::V1, &[]);
    let (how, told) =
        (How::default(), |call: &Call<'_>| channel.head(call).unwrap()[deadline::HEADER].clone());
    for (budget, expected) in [(Some(1_500), "1500m"), (None, "600000m")] {
        let mut message = (*message("m")).clone();
        message.metadata.extend(budget.map(|budget: u64| (BUDGET.to_owned(), budget.into())));
        let call = Call::Send { message: &Arc::new(message), how: &how, stream: false };
        assert_eq!(told(&call), expected);
    }
    assert_eq!(told(&Call::Cancel { id: "t" }), "600000m");
}

#[tokio::test]
async fn an_answer_that_is_too_large_is_an_answer() {
    let port = Port::plain().await;
    let interface = Interface {
        url: port.socket.to_string(),
        binding: Binding::Grpc,
        version: Version::V1,
        tenant: None,
    };
    let wire = Wire::new(&Options::default(), &build_context(Path::new("."), &[])).unwrap();
    let channel = Channel::new(&interface, &wire, 4, 4).unwrap();
    let get = Call::Get { id: "t", history_length: None };
    let error = channel.task(&get).await.expect_err("too large");
    assert_eq!((error.kind(), error.delivery()), (ErrorKind::Limit, Delivery::Answered));
    let mut events = channel.open(&Call::Subscribe { id: "t1" }).await.unwrap();
    assert_eq!(events.next().await.unwrap().expect_err("too large").kind(), ErrorKind::Limit);
}

#[test]
fn a_proxy_for_every_host_is_refused() {
    let settings = Settings { proxying: Proxying::Through(Secret::new("http://h:1")), ..Settings::default() };
    let options = Options { settings, ..Options::default() };
    let error = by("h:1", Version::V1, &options, Path::new(".")).err().expect("a proxy");
    insta::assert_snapshot!(error, @"gRPC goes through no proxy here; choose another binding of the card, or no `proxy`");
}
