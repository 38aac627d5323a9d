//! The rules that only a socket shows: what is slow, cut off, or never answered ends in time.

#![allow(clippy::unwrap_used, clippy::panic, reason = "functions that tests share")]

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use mas_comm_kit::{Secret, access::Expiry, http::Settings, phases::Phases};
use mas_contracts::{Delivery, Error, ErrorKind};
use mas_platform::{Bearer, Caching, Connection, Letter, MESSAGE_LIMIT, Platform, ResponseKind, Terms};
use mas_platform_stand_in::{Access, Manner, Script, Server, StandIn, Step, Turn, World};
use mas_testkit::{
    SeqIds, TokioClock, build_context,
    http::{Act, RawServer},
};

/// How much later than its limit a call may end.
const GRACE: Duration = Duration::from_millis(250);

fn platform(url: &str, terms: Terms) -> Platform {
    let settings = Settings { connect_timeout: terms.timeout.connect(), ..Settings::default() };
    let connection = Connection {
        url: url.to_owned(),
        bearer: Bearer::Token(Secret::new("user-token")),
        transport: settings.connect(&build_context(Path::new("."), &[])).unwrap(),
        clock: TokioClock::shared(),
        ids: Arc::new(SeqIds::default()),
        terms,
        caching: Caching::Memory(Expiry::default()),
    };
    Platform::new(connection).unwrap()
}

async fn server(access: Step<Access>, turn: Step<Turn>) -> Server {
    let server = Server::start("user-token", 0, TokioClock::shared()).await.unwrap();
    server.stand_in().script(Script::new([access]), Script::new([turn]));
    server
}

/// How a send within `limit` milliseconds fails, in time.
async fn fails(server: &Server, limit: u64) -> Error {
    let limit = Duration::from_millis(limit);
    let platform = platform(server.platform_url(), Terms::default());
    let began = Instant::now();
    let budget = platform.budget(Phases::total_of(limit));
    let sent = platform.send(&StandIn::SESSION.into(), &Letter::text("hello"), None, &budget).await;
    let took = began.elapsed();
    assert!(took <= limit + GRACE, "it took {took:?}");
    sent.unwrap_err()
}

#[tokio::test]
async fn a_message_goes_to_the_address_that_the_platform_gives() {
    let server = server(Access::ready().into(), Turn::Echo.into()).await;
    let platform = platform(server.platform_url(), Terms::default());
    let budget = platform.budget(None);
    let session: Arc<str> = StandIn::SESSION.into();
    let received = platform.send(&session, &Letter::text("hello"), None, &budget).await.unwrap();
    assert_eq!(received.text(), "hello");
    let task = Letter { kind: ResponseKind::Task, ..Letter::text("work") };
    let task = platform.send(&session, &task, None, &budget).await.unwrap().task().unwrap();
    server.stand_in().load(World { rotate: true, ..World::default() });
    assert_eq!(platform.wait(&session, &task, &budget).await.unwrap().text(), "work");
}

#[tokio::test]
async fn a_platform_that_drips_ends_in_time() {
    let drip = Step::from(Access::ready()).written(Manner::Drip(20));
    let server = server(drip, Turn::Echo.into()).await;
    let error = fails(&server, 200).await;
    assert_eq!((error.kind(), error.delivery()), (ErrorKind::Timeout, Delivery::NotSent));
    assert_eq!(server.stand_in().executed(), 0);
}

#[tokio::test]
async fn a_runtime_that_drips_ends_in_time() {
    let drip = Step::from(Turn::Echo).written(Manner::Drip(20));
    let server = server(Access::ready().into(), drip).await;
    let error = fails(&server, 200).await;
    assert_eq!((error.kind(), error.delivery()), (ErrorKind::Timeout, Delivery::Unknown));
    assert_eq!(server.stand_in().executed(), 1);
}

#[tokio::test]
async fn a_runtime_that_never_answers_ends_in_time_and_is_not_asked_again() {
    let silent = Step::from(Turn::Echo).written(Manner::Silent);
    let server = server(Access::ready().into(), silent).await;
    let error = fails(&server, 200).await;
    assert_eq!(
        (error.code(), error.delivery()),
        ("mas::platform::outcome_ambiguous".into(), Delivery::Unknown)
    );
    assert_eq!(server.stand_in().executed(), 1);
}

#[tokio::test]
async fn an_answer_that_is_cut_off_is_of_unknown_outcome() {
    let cut = Step::from(Turn::Echo).written(Manner::Cut);
    let server = server(Access::ready().into(), cut).await;
    let error = fails(&server, 5_000).await;
    assert_eq!(
        (error.code(), error.delivery()),
        ("mas::platform::outcome_ambiguous".into(), Delivery::Unknown)
    );
    assert_eq!(server.stand_in().executed(), 1);
}

#[tokio::test]
async fn access_that_is_cut_off_sends_nothing() {
    let cut = Step::from(Access::ready()).written(Manner::Cut);
    let server = server(cut, Turn::Echo.into()).await;
    let error = fails(&server, 5_000).await;
    assert_eq!((error.delivery(), server.stand_in().executed()), (Delivery::NotSent, 0));
}

#[tokio::test]
async fn a_turn_over_the_limit_is_told_as_soon_as_the_runtime_says_so() {
    let slow = Step::from(Turn::Echo).after_ms(60_000);
    let server = server(Access::ready().into(), slow).await;
    server.stand_in().load(World { message_limit_ms: Some(100), ..World::default() });
    let error = fails(&server, 5_000).await;
    assert_eq!(error.code(), MESSAGE_LIMIT);
    assert!(error.context().any(|pair| pair == ("limit_seconds", "0.1")), "{error:?}");
    assert_eq!(server.stand_in().executed(), 1);
}

#[tokio::test]
async fn the_limit_of_a_message_is_known_by_its_shape_without_a_media_type() {
    let limit = r#"{"error": {"code": 504, "details": [{"@type": "type.googleapis.com/google.rpc.ErrorInfo",
        "reason": "MESSAGE_RESPONSE_LIMIT_EXCEEDED", "domain": "mainsequence.ai", "metadata": {"limitSeconds": "90"}}]}}"#;
    let runtime = RawServer::start(move |_, _| {
        let length = limit.len();
        let head = format!("HTTP/1.1 504 X\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n");
        vec![Act::Send([head.as_bytes(), limit.as_bytes()].concat())]
    });
    let runtime = runtime.await.unwrap();
    let patch = serde_json::Map::from_iter([("rpc_url".to_owned(), runtime.url().into())]);
    let server = server(Access::Ready { expires_in: None, patch }.into(), Turn::Echo.into()).await;
    let error = fails(&server, 5_000).await;
    assert_eq!((error.code(), error.delivery()), (MESSAGE_LIMIT.into(), Delivery::Answered));
    assert!(error.context().any(|pair| pair == ("limit_seconds", "90")), "{error:?}");
    assert_eq!(runtime.requests().len(), 1);
}

#[tokio::test]
async fn a_runtime_that_nobody_listens_at_was_not_sent_to() {
    let gone = RawServer::start(|_, _| Vec::new()).await.unwrap();
    let url = format!("{}/rt/", gone.url());
    drop(gone);
    tokio::task::yield_now().await;
    let mut patch = serde_json::Map::new();
    patch.insert("rpc_url".into(), url.into());
    let server = server(Access::Ready { expires_in: None, patch }.into(), Turn::Echo.into()).await;
    let error = fails(&server, 5_000).await;
    assert_eq!((error.kind(), error.delivery()), (ErrorKind::Unavailable, Delivery::NotSent));
}

#[tokio::test]
async fn a_redirect_is_not_followed_with_a_token() {
    let server = RawServer::start(|_, _| {
        let head = "HTTP/1.1 307 X\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
        vec![Act::Send(head.as_bytes().to_vec())]
    })
    .await
    .unwrap();
    let platform = platform(server.url(), Terms::default());
    let budget = platform.budget(None);
    let error =
        platform.send(&StandIn::SESSION.into(), &Letter::text("hello"), None, &budget).await.unwrap_err();
    assert!(error.message().starts_with("307 POST "), "{error}");
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn only_reading_is_repeated() {
    let session = r#"{"agent_uid": "a"}"#;
    let agent = r#"{"a2a_profile": null}"#;
    let server = RawServer::start(move |number, request| {
        let json = "application/json";
        vec![match (number, request.line.starts_with("GET")) {
            (0, true) => Act::answer(503, json, ""),
            (1, true) => Act::answer(429, json, ""),
            (2, true) => Act::answer(200, json, session),
            (3, true) => Act::answer(200, json, agent),
            (_, true) => Act::answer(502, json, ""),
            (_, false) => Act::answer(503, json, ""),
        }]
    })
    .await
    .unwrap();
    let platform = platform(server.url(), Terms::default());
    let session: Arc<str> = StandIn::SESSION.into();
    let budget = platform.budget(None);
    let profile = platform.profile(&session, None, &budget).await.unwrap();
    assert!(!profile.offers(ResponseKind::Task));
    assert_eq!(server.requests().len(), 4);
    let error = platform.profile(&session, Some("a"), &budget).await.unwrap_err();
    assert_eq!((error.kind(), server.requests().len()), (ErrorKind::Unavailable, 7), "three times in all");
    assert!(platform.send(&session, &Letter::text("hello"), None, &budget).await.is_err());
    assert_eq!(server.requests().len(), 8);
}

#[test]
fn a_token_goes_to_no_address_that_shows_it() {
    for url in ["http://platform.example", "https://me:sesame@h", "https://h/?a=1", "no url"] {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let _inside = runtime.enter();
        let connection = Connection {
            url: url.to_owned(),
            bearer: Bearer::Token(Secret::new("user-token")),
            transport: Settings::default().connect(&build_context(Path::new("."), &[])).unwrap(),
            clock: TokioClock::shared(),
            ids: Arc::new(SeqIds::default()),
            terms: Terms::default(),
            caching: Caching::Off,
        };
        let error = Platform::new(connection).err().unwrap();
        assert_eq!(error.code(), "mas::platform::url");
        assert!(!error.message().contains("sesame"), "{error}");
    }
}
