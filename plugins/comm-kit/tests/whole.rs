//! Whole calls over real sockets: one limit for all of it, redirects, and connections that are used again.

#![allow(clippy::unwrap_used, reason = "functions that tests share")]

use std::{path::Path, sync::Arc, time::Duration};

use mas_comm_kit::{
    Secret,
    http::{self, Bounds, Client, HeaderText, Request, Settings, Whole},
};
use mas_contracts::{Clock, Delivery, Error, ErrorKind, Result};
use mas_testkit::{
    TokioClock, build_context,
    http::{Act, RawServer},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

fn client() -> Arc<Client> {
    Settings::default().connect(&build_context(Path::new("."), &[])).unwrap()
}

fn get(url: impl Into<String>) -> Request {
    Request { method: "GET".to_owned(), url: url.into(), ..Request::default() }
}

async fn ask(request: &Request, redirects: u8) -> Result<Whole> {
    let clock: Arc<dyn Clock> = Arc::new(TokioClock::default());
    let bounds = Bounds { clock: &*clock, timeout: Duration::from_secs(5), largest: 100, redirects };
    http::ask(&*client(), request, &bounds).await
}

fn to(place: &str) -> Vec<Act> {
    let head =
        format!("HTTP/1.1 307 X\r\nlocation: {place}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    vec![Act::Send(head.into_bytes())]
}

fn told(error: &Error) -> (ErrorKind, String, Delivery) {
    (error.kind(), error.code().into_owned(), error.delivery())
}

#[tokio::test(start_paused = true)]
async fn one_limit_holds_for_head_and_body() {
    let half = b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf".to_vec();
    for acts in [vec![Act::Hold], vec![Act::Send(half), Act::Hold]] {
        let server = RawServer::start(move |_, _| acts.clone()).await.unwrap();
        let mut request = get(server.url());
        request.query = vec![("k".to_owned(), Secret::new("sk-1234"))];
        let error = ask(&request, 0).await.unwrap_err();
        assert_eq!(told(&error), (ErrorKind::Timeout, "mas::http::timeout".to_owned(), Delivery::Unknown));
        assert_eq!(error.message(), format!("`{}` did not answer within 5 s", server.url()));
        server.wait_for_hang_ups(1).await;
        assert_eq!(server.requests()[0].line, "GET /?k=sk-1234 HTTP/1.1");
    }
}

#[tokio::test]
async fn a_body_is_bounded() {
    let server =
        RawServer::start(|_, _| vec![Act::answer(200, "text/plain", &"x".repeat(101))]).await.unwrap();
    let error = ask(&get(server.url()), 0).await.unwrap_err();
    assert_eq!(error.code(), http::BODY_TOO_LARGE);
}

#[tokio::test]
async fn redirects_are_followed_on_demand_and_secrets_stay_at_home() {
    let other = RawServer::start(|_, _| vec![Act::answer(200, "text/plain", "other")]).await.unwrap();
    let far = format!("{}/far", other.url());
    let home = RawServer::start(move |_, request| match request.line.split(' ').nth(1).unwrap_or_default() {
        "/near" | "/near?k=sk-3" => vec![Act::answer(200, "text/plain", "near")],
        "/far?k=sk-3" => to(&far),
        "/loop?k=sk-3" => to("/loop"),
        "/file?k=sk-3" => to("file:///etc/passwd"),
        _ => to("/near"),
    })
    .await
    .unwrap();
    let request = |path: &str| Request {
        headers: vec![
            ("authorization".to_owned(), HeaderText::Secret(Secret::new("Bearer sk-1"))),
            ("x-key".to_owned(), HeaderText::Secret(Secret::new("sk-2"))),
            ("accept".to_owned(), HeaderText::Plain("text/plain".to_owned())),
        ],
        query: vec![("k".to_owned(), Secret::new("sk-3"))],
        ..get(format!("{}{path}", home.url()))
    };
    let stays = ask(&request("/x"), 0).await.unwrap();
    assert_eq!((stays.status, stays.header("location")), (307, Some("/near")));
    let near = ask(&request("/x"), 3).await.unwrap();
    assert_eq!((&*near.body, near.url), (&b"near"[..], format!("{}/near", home.url())));
    let seen = home.requests().pop().unwrap();
    assert_eq!((&*seen.headers["x-key"], &*seen.line), ("sk-2", "GET /near?k=sk-3 HTTP/1.1"));
    assert_eq!(ask(&request("/far"), 3).await.unwrap().body, b"other");
    let seen = other.requests().pop().unwrap();
    assert_eq!((&*seen.line, &*seen.headers["accept"]), ("GET /far HTTP/1.1", "text/plain"));
    assert!(!format!("{seen:?}").contains("sk-"), "{seen:?}");
    for path in ["/loop", "/file"] {
        let error = ask(&request(path), 3).await.unwrap_err();
        assert_eq!(told(&error), (ErrorKind::Failed, "mas::http::redirect".to_owned(), Delivery::Answered));
    }
    let post = Request { method: "POST".to_owned(), ..request("/x") };
    assert_eq!(ask(&post, 3).await.unwrap().status, 307);
}

#[tokio::test]
async fn a_connection_is_used_again() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let server = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        for _ in 0..3 {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(stream.read_u8().await.unwrap());
            }
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi").await.unwrap();
        }
    };
    let (client, clock) = (client(), TokioClock::default());
    let asks = async {
        let bounds = Bounds { clock: &clock, timeout: Duration::from_secs(5), largest: 2, redirects: 0 };
        for _ in 0..3 {
            assert_eq!(http::ask(&*client, &get(url.as_str()), &bounds).await.unwrap().body, b"hi");
        }
    };
    tokio::join!(server, asks);
}
