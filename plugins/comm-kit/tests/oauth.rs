//! Tokens by client credentials, from a server of the test's own.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "functions that tests share")]

use std::{path::Path, sync::Arc, time::Duration};

use mas_comm_kit::{
    Secret,
    auth::{self, ClientAuth, ClientCredentials, Credential, Tokens},
    http::{Request, Settings},
};
use mas_contracts::{BuildContext, Delivery, Error, ErrorKind, Retry};
use mas_testkit::{
    build_context,
    http::{Act, RawServer},
};

const SECRET: &str = "s&cret/ø";

fn cx() -> BuildContext {
    build_context(Path::new("."), &[])
}

fn client(server: &RawServer) -> ClientCredentials {
    ClientCredentials {
        token_url: format!("{}/token", server.url()),
        client_id: "mas desk".to_owned(),
        client_secret: Secret::new(SECRET),
        scopes: Vec::new(),
        audience: None,
        resource: None,
        auth: ClientAuth::Basic,
    }
}

fn tokens(server: &RawServer) -> Arc<Tokens> {
    Tokens::shared(&client(server), &Settings::default(), &cx()).unwrap()
}

/// Gives `token-0`, `token-1` and so on, that say this about themselves.
async fn giving(more: &'static str) -> RawServer {
    RawServer::start(move |number, _| {
        let body = format!(r#"{{"access_token": "token-{number}", "token_type": "bearer"{more}}}"#);
        vec![Act::answer(200, "application/json", &body)]
    })
    .await
    .unwrap()
}

async fn answering(status: u16, body: &str) -> RawServer {
    let body = body.to_owned();
    RawServer::start(move |_, _| vec![Act::answer(status, "application/json", &body)]).await.unwrap()
}

async fn refusal(status: u16, body: &str) -> Error {
    tokens(&answering(status, body).await).get().await.unwrap_err()
}

#[tokio::test]
async fn a_client_shows_itself_in_the_header_or_in_the_body() {
    let server = giving("").await;
    let (basic, mut post) = (client(&server), client(&server));
    post.auth = ClientAuth::Post;
    post.scopes = vec!["a".to_owned(), "b:c".to_owned()];
    post.audience = Some("https://fares.example".to_owned());
    post.resource = Some("https://fares.example/a2a".to_owned());
    let cx = cx();
    for client in [&basic, &post] {
        Tokens::shared(client, &Settings::default(), &cx).unwrap().get().await.unwrap();
    }
    let seen = server.requests();
    assert_eq!(seen[0].line, "POST /token HTTP/1.1");
    // `mas%20desk:s%26cret%2F%C3%B8`
    assert_eq!(seen[0].headers["authorization"], "Basic bWFzJTIwZGVzazpzJTI2Y3JldCUyRiVDMyVCOA==");
    assert_eq!(seen[0].headers["content-type"], "application/x-www-form-urlencoded");
    assert_eq!(seen[0].body, "grant_type=client_credentials");
    assert!(!seen[1].headers.contains_key("authorization"));
    insta::assert_snapshot!(seen[1].body, @"grant_type=client_credentials&scope=a%20b%3Ac&audience=https%3A%2F%2Ffares.example&resource=https%3A%2F%2Ffares.example%2Fa2a&client_id=mas%20desk&client_secret=s%26cret%2F%C3%B8");
}

#[tokio::test(start_paused = true)]
async fn a_token_is_used_until_shortly_before_its_end() {
    for (more, good) in [
        (r#", "expires_in": 3600"#, 3570),
        (r#", "expires_in": "3600""#, 3570),
        (r#", "expires_in": 40"#, 20),
        ("", 270),
    ] {
        let server = giving(more).await;
        let tokens = tokens(&server);
        let mut seen = Vec::new();
        for pause in [0, good - 1, 1] {
            tokio::time::advance(Duration::from_secs(pause)).await;
            seen.push(tokens.get().await.unwrap().reveal().to_owned());
        }
        assert_eq!(seen, ["token-0", "token-0", "token-1"], "{more}");
    }
    for over in [r#", "expires_in": 0"#, r#", "expires_in": -5"#] {
        let server = giving(over).await;
        let tokens = tokens(&server);
        for number in 0..3 {
            assert_eq!(tokens.get().await.unwrap().reveal(), format!("token-{number}"));
        }
    }
}

#[tokio::test]
async fn callers_at_the_same_time_wait_for_one_fetch() {
    let server = giving("").await;
    let cx = cx();
    // Equal ones are one.
    let tokens: Vec<_> =
        (0..20).map(|_| Tokens::shared(&client(&server), &Settings::default(), &cx).unwrap()).collect();
    let got = futures(tokens.iter().map(|tokens| tokens.get())).await;
    assert!(got.into_iter().all(|token| token.unwrap().reveal() == "token-0"));
    assert_eq!(server.requests().len(), 1);
    let mut other = client(&server);
    other.scopes = vec!["more".to_owned()];
    let other = Tokens::shared(&other, &Settings::default(), &cx).unwrap();
    assert_eq!(other.get().await.unwrap().reveal(), "token-1");

    let failing = answering(503, "").await;
    let tokens = Tokens::shared(&client(&failing), &Settings::default(), &cx).unwrap();
    let got = futures((0..20).map(|_| tokens.get())).await;
    assert!(got.into_iter().all(|token| token.unwrap_err().kind() == ErrorKind::Unavailable));
    assert_eq!(failing.requests().len(), 1, "they share the failure");
    tokens.get().await.unwrap_err();
    assert_eq!(failing.requests().len(), 2, "and who comes later asks again");
}

/// Runs them side by side.
async fn futures<T>(all: impl Iterator<Item = impl Future<Output = T>>) -> Vec<T> {
    let mut all: Vec<_> = all.map(Box::pin).collect();
    let mut done: Vec<Option<T>> = all.iter().map(|_| None).collect();
    std::future::poll_fn(|cx| {
        for (future, done) in all.iter_mut().zip(&mut done).filter(|(_, done)| done.is_none()) {
            if let std::task::Poll::Ready(value) = future.as_mut().poll(cx) {
                *done = Some(value);
            }
        }
        if done.iter().all(Option::is_some) { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
    done.into_iter().flatten().collect()
}

#[tokio::test]
async fn who_waited_goes_on_when_the_one_who_fetched_gives_up() {
    let server = RawServer::start(|number, _| match number {
        0 => vec![Act::Hold],
        _ => vec![Act::answer(200, "application/json", r#"{"access_token": "token"}"#)],
    })
    .await
    .unwrap();
    let tokens = tokens(&server);
    let (first, second) = (tokens.clone(), tokens.clone());
    let first = tokio::spawn(async move { first.get().await });
    while server.requests().is_empty() {
        tokio::task::yield_now().await;
    }
    let second = tokio::spawn(async move { second.get().await });
    tokio::task::yield_now().await;
    first.abort();
    assert_eq!(second.await.unwrap().unwrap().reveal(), "token");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_answer_is_not_waited_for() {
    let server = RawServer::start(|_, _| vec![Act::Hold]).await.unwrap();
    let error = tokens(&server).get().await.unwrap_err();
    assert_eq!((error.kind(), error.delivery()), (ErrorKind::Timeout, Delivery::NotSent));
}

#[tokio::test]
async fn what_the_server_says_is_told_without_secrets() {
    let encoded = "s%26cret%2F%C3%B8";
    let echo = format!("no {SECRET}, {encoded} or bWFzJTIwZGVzazpzJTI2Y3JldCUyRiVDMyVCOA==");
    let body = |error: &str, words: &str| {
        format!(r#"{{"error": "{error}", "error_description": "{words}", "error_uri": "{echo}"}}"#)
    };
    let mut told = Vec::new();
    for (status, body) in [
        (401, body("invalid_client", &echo)),
        (400, r#"{"error": "invalid_scope"}"#.to_owned()),
        (200, r#"{"error": "invalid_grant\n"}"#.to_owned()),
        (403, format!("<p>{echo}</p>")),
        (404, String::new()),
        (302, String::new()),
        (429, r#"{"error_description": "slow down"}"#.to_owned()),
        (503, String::new()),
        (200, String::new()),
        (200, "[]".to_owned()),
        (200, r#"{"access_token": ""}"#.to_owned()),
        (200, r#"{"access_token": "a b"}"#.to_owned()),
        (200, r#"{"access_token": "a", "token_type": "DPoP"}"#.to_owned()),
    ] {
        let error = refusal(status, &body).await;
        assert_eq!(error.delivery(), Delivery::NotSent, "{error:?}");
        assert!(!format!("{error:?} {error:#}").contains("cret"), "{error:?}");
        let (_, message) = error.message().split_once("/token ").unwrap();
        told.push(format!("{:?} {message}", error.kind()));
    }
    insta::assert_snapshot!(told.join("\n"), @r"
    Unauthenticated gave no token (HTTP 401): invalid_client: no ***, *** or ***
    Unauthenticated gave no token (HTTP 400): invalid_scope
    Unauthenticated gave no token (HTTP 200): invalid_grant
    Unauthenticated gave no token (HTTP 403)
    Invalid gave no token (HTTP 404); is `token_url` its token endpoint?
    Invalid gave no token (HTTP 302); is `token_url` its token endpoint?
    RateLimited gave no token (HTTP 429): slow down
    Unavailable gave no token (HTTP 503)
    Failed answered is no token: it is no JSON object
    Failed answered is no token: it is no JSON object
    Failed answered is no token: `access_token` is missing
    Failed answered is no token: `access_token` holds characters that no header may
    Failed answered is no token: `token_type` is not `Bearer`, and nothing else is spoken here
    ");
    let long = "long ".repeat(1000);
    assert!(refusal(400, &body("invalid_client", &long)).await.message().len() < 500);
    let huge = "x".repeat(300 * 1024);
    assert_eq!(refusal(400, &huge).await.kind(), ErrorKind::Limit);
    let head = "HTTP/1.1 503 X\r\nretry-after: 7\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    let server = RawServer::start(move |_, _| vec![Act::Send(head.into())]).await.unwrap();
    let error = tokens(&server).get().await.unwrap_err();
    assert_eq!(error.retry(), Retry::After(Duration::from_secs(7)));
}

#[test]
fn a_secret_goes_to_no_server_without_tls_but_this_machine() {
    let connect = |url: &str| {
        let client = ClientCredentials {
            token_url: url.to_owned(),
            client_id: "mas".to_owned(),
            client_secret: Secret::new(SECRET),
            scopes: Vec::new(),
            audience: None,
            resource: None,
            auth: ClientAuth::Basic,
        };
        Tokens::shared(&client, &Settings::default(), &cx())
    };
    for good in ["https://a.example/token", "http://127.0.0.1:8/token", "http://localhost/token"] {
        assert_eq!(format!("{:?}", connect(good).unwrap()), "Tokens");
    }
    for bad in ["http://a.example/token", "a.example/token", "", "ftp://localhost/"] {
        assert_eq!(connect(bad).unwrap_err().code(), "mas::oauth::url", "{bad}");
    }
    insta::assert_snapshot!(connect("http://me:pass@a.example/token").unwrap_err().message(), @"`http://a.example/token` is no token endpoint: it has to begin with https://, for a secret is sent there; http:// will do on this machine only");
}

/// Lets in who has the token of this number.
async fn guarded(number: usize) -> RawServer {
    let wanted = format!("Bearer token-{number}");
    RawServer::start(move |_, request| {
        let known = request.headers.get("authorization").is_some_and(|given| *given == wanted);
        vec![Act::answer(if known { 200 } else { 401 }, "text/plain", "")]
    })
    .await
    .unwrap()
}

#[tokio::test]
async fn a_request_that_a_token_did_not_open_is_sent_once_more_with_a_fresh_one() {
    let connect = || Settings::default().connect(&cx()).unwrap();
    for (good, status, asked) in [(0, 200, 1), (1, 200, 2), (2, 401, 2)] {
        let (server, agent) = (giving("").await, guarded(good).await);
        let credentials = [Credential::Token(tokens(&server))];
        let request = Request { method: "GET".to_owned(), url: agent.url().to_owned(), ..Request::default() };
        let response = auth::send(&*connect(), &credentials, &request).await.unwrap();
        assert_eq!((response.status(), agent.requests().len()), (status, asked));
    }
    // The server has no other token: asking again is of no use.
    let server = answering(200, r#"{"access_token": "the-one"}"#).await;
    let agent = guarded(0).await;
    let request = Request { method: "GET".to_owned(), url: agent.url().to_owned(), ..Request::default() };
    let response = auth::send(&*connect(), &[Credential::Token(tokens(&server))], &request).await.unwrap();
    assert_eq!((response.status(), agent.requests().len(), server.requests().len()), (401, 1, 2));
    // Nor is there anything to renew of what is fixed.
    let fixed = [Credential::Authorization("Bearer", Secret::new("wrong"))];
    let response = auth::send(&*connect(), &fixed, &request).await.unwrap();
    assert_eq!((response.status(), agent.requests().len()), (401, 2));
}

#[tokio::test]
async fn each_credential_has_its_place() {
    let agent = RawServer::start(|_, _| vec![Act::answer(200, "text/plain", "")]).await.unwrap();
    let secret = |text: &str| Secret::new(text);
    let credentials = [
        Credential::Authorization("Bearer", secret("sk-1")),
        Credential::Header("X-Key".to_owned(), secret("sk-2")),
        Credential::Query("k".to_owned(), secret("sk 3")),
        Credential::Cookie("a".to_owned(), secret("sk-4")),
        Credential::Cookie("b".to_owned(), secret("sk-5")),
    ];
    let url = format!("{}/x?y=z", agent.url());
    let request = Request { method: "GET".to_owned(), url, ..Request::default() };
    auth::send(&*Settings::default().connect(&cx()).unwrap(), &credentials, &request).await.unwrap();
    let seen = agent.requests().remove(0);
    assert_eq!(seen.line, "GET /x?y=z&k=sk%203 HTTP/1.1");
    let header = |name: &str| seen.headers[name].as_str();
    assert_eq!(
        (header("authorization"), header("x-key"), header("cookie")),
        ("Bearer sk-1", "sk-2", "a=sk-4; b=sk-5")
    );
    let shown = auth::Shown::of(&credentials).await.unwrap();
    let all = format!("{credentials:?} {shown:?} {:?}", shown.on(&request));
    assert!(!all.contains("sk"), "{all}");
}
