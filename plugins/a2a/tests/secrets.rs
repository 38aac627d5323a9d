//! Credentials are in no error, no event, no answer, no log and no debug print, wherever an agent sends them back, and
//! those of callers in none of a server's.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "functions that tests share")]

mod support;

use std::{path::Path, sync::Arc};

use mas_a2a::client::{How, Options, Remote, Webhook};
use mas_comm_kit::{
    Secret,
    auth::Credential,
    http::{HeaderText, Settings},
};
use mas_contracts::{AgentCommContract, BuildContext, Outbound, Part, Peer, Thread, ThreadName};
use mas_testkit::{
    Behaviour, CallContextBuilder, Log, RecordingSink, ScriptedHost, build_context,
    http::{Act, RawServer},
};
use rstest::rstest;
use serde_json::{Value, json};
use support::{comm, message, serve};

const SECRET: &str = "sk-the-key/it+self";
const HEADER: &str = "the-header-secret";
const TOKEN: &str = "tok-of-the-server/1";
/// `ann:` and the secret, in base64.
const PAIR: &str = "YW5uOnNrLXRoZS1rZXkvaXQrc2VsZg==";

/// The same as a server of tokens is shown it, encoded as in a form first.
const CLIENT: &str = "YW5uOnNrLXRoZS1rZXklMkZpdCUyQnNlbGY=";

/// Beginnings of all of them, since a cut may go through them.
const HEADS: [&str; 4] = ["sk-the", "the-hea", "tok-of", "YW5uOnNr"];

#[track_caller]
fn assert_silent(what: &str, text: &str) {
    for head in HEADS {
        if let Some(at) = text.find(head) {
            let from = text.floor_char_boundary(at.saturating_sub(300));
            let to = text.floor_char_boundary((at + 100).min(text.len()));
            panic!("{what}: …{}…", &text[from..to]);
        }
    }
}

fn cx() -> BuildContext {
    let env = [("KEY", SECRET), ("PAIR", "ann:sk-the-key/it+self"), ("HEADER", HEADER)];
    build_context(Path::new("."), &env)
}

/// The ways to show who is asking: what the endpoint says, and what the card asks for.
fn credentials(kind: &str, token_url: &str) -> (Value, Value) {
    let key = |place: &str| json!({"apiKeySecurityScheme": {"location": place, "name": "key"}});
    match kind {
        "bearer" => (json!({"bearer": "env:KEY"}), json!({"httpAuthSecurityScheme": {"scheme": "Bearer"}})),
        "basic" => (json!({"secret": "env:PAIR"}), json!({"httpAuthSecurityScheme": {"scheme": "Basic"}})),
        "oauth2" => (
            json!({"oauth2": {"token_url": token_url, "client_id": "ann", "client_secret": "env:KEY"}}),
            json!({"oauth2SecurityScheme": {"flows": {}}}),
        ),
        place => (json!({"api_key": {"key": "env:KEY", "in": place, "name": "key"}}), key(place)),
    }
}

/// Everything that an agent was shown, in each way that it may be written.
fn echo(kind: &str) -> String {
    let forms = |secret: &str| {
        let encoded = secret.replace('/', "%2F").replace('+', "%2B");
        let lower = encoded.replace("%2F", "%2f").replace("%2B", "%2b");
        format!("Bearer {secret}; {encoded}; {lower}; key={secret}")
    };
    match kind {
        "basic" => format!("{}; Basic {PAIR}; {HEADER}", forms(SECRET)),
        "oauth2" => format!("{}; {HEADER}", forms(TOKEN)),
        "tokens" => format!("{}; Basic {CLIENT}", forms(SECRET)),
        _ => format!("{HEADER}; {}", forms(SECRET)),
    }
}

/// Answers that hold this text, each with a name.
fn answers(echo: &str) -> Vec<(&'static str, Vec<Act>)> {
    let rpc = |result: Value| json!({"jsonrpc": "2.0", "id": 1, "result": result}).to_string();
    let refused = |code: i64| {
        let info =
            json!({"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": echo, "domain": echo});
        let error = json!({"code": code, "message": echo, "data": [info, echo]});
        json!({"jsonrpc": "2.0", "id": 1, "error": error}).to_string()
    };
    let said = json!({"messageId": echo, "role": "ROLE_AGENT", "contextId": echo, "metadata": {(echo): echo},
        "parts": [{"text": echo}, {"data": {"a": [echo]}}, {"url": echo, "filename": echo, "mediaType": echo}]});
    let task = |state: &str| {
        json!({"id": "t", "contextId": echo, "status": {"state": state, "message": said},
            "artifacts": [{"artifactId": echo, "name": echo, "parts": [{"text": echo}]}], "history": [said]})
    };
    let whole = |text: &str| Act::answer(200, "application/json", text);
    let head =
        format!("HTTP/1.1 302 X\r\nlocation: /login?next=x\r\nx-told: {echo}\r\ncontent-length: 0\r\n\r\n");
    let event = |item: Value| Act::Send(format!("data: {}\n\n", rpc(item)).into_bytes());
    let update = json!({"statusUpdate": {"taskId": "t", "contextId": echo,
        "status": {"state": "TASK_STATE_WORKING", "message": said}}});
    let piece = json!({"artifactUpdate": {"taskId": "t", "contextId": echo, "lastChunk": true,
        "artifact": {"artifactId": echo, "parts": [{"text": echo}]}}});
    let done = json!({"task": task("TASK_STATE_COMPLETED")});
    let mut all = vec![
        ("a message", vec![whole(&rpc(json!({"message": said})))]),
        ("a task", vec![whole(&rpc(done.clone()))]),
        ("a failed task", vec![whole(&rpc(json!({"task": task("TASK_STATE_FAILED")})))]),
        ("a question", vec![whole(&rpc(json!({"task": task("TASK_STATE_INPUT_REQUIRED")})))]),
        ("a state of its own", vec![whole(&rpc(json!({"task": task(echo)})))]),
        ("a stream", vec![Act::stream(), event(update), event(piece), event(done)]),
        (
            "a stream of errors",
            vec![Act::stream(), Act::Send(format!("data: {}\n\n", refused(-32603)).into())],
        ),
        ("a damaged event", vec![Act::stream(), Act::Send(format!("data: {{{echo}\n\n").into_bytes())]),
        ("a redirect", vec![Act::Send(head.into_bytes())]),
        ("a page", vec![Act::answer(200, "text/html", &format!("<p>{echo}"))]),
        ("a damaged answer", vec![whole(&format!("{{\"{echo}"))]),
        ("a wrong answer", vec![whole(&rpc(json!({(echo): echo})))]),
        ("a wrong answer with slashes escaped", vec![whole(&rpc(json!({(echo): echo})).replace('/', "\\/"))]),
        ("nothing", Vec::new()),
    ];
    all.extend(
        [-32001, -32004, -32602, -32603, -32700].map(|code| ("a refusal", vec![whole(&refused(code))])),
    );
    all.extend([400, 401, 403, 404, 429, 500, 503].into_iter().flat_map(|status| {
        [("JSON", "application/json", refused(-32603)), ("text", "text/plain", echo.to_owned())]
            .map(|(name, kind, body)| (name, vec![Act::answer(status, kind, &body)]))
    }));
    all
}

/// What an agent is shown.
fn secret_of(kind: &str) -> &'static str {
    match kind {
        "basic" => PAIR,
        "oauth2" => TOKEN,
        _ => SECRET,
    }
}

/// Cards that hold this text, for those who ask at `url`.
fn cards(url: &str, scheme: &Value, echo: &str, secret: &str) -> Vec<Vec<Act>> {
    let card = |more: Value| {
        let mut card = json!({"name": echo, "version": echo, "description": echo, "skills": [{"id": echo}],
            "capabilities": {"streaming": true}, "securitySchemes": {"s": scheme},
            "securityRequirements": [{"schemes": {"s": {}}}],
            "supportedInterfaces": [{"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}]});
        card.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
        vec![Act::answer(200, "application/json", &card.to_string())]
    };
    let at = |url: &str, binding: &str| json!({"supportedInterfaces": [{"url": url, "protocolBinding": binding, "protocolVersion": "1.0"}]});
    vec![
        card(json!({})),
        card(json!({"securitySchemes": {(echo): {"httpAuthSecurityScheme": {"scheme": echo}}},
            "securityRequirements": [{"schemes": {(echo): {}}}]})),
        card(at(&format!("https://{HEADER}.example/{echo}"), "JSONRPC")),
        card(at(&format!("{url}/{secret}?x={secret}"), "JSONRPC")),
        card(at(&format!("127.0.0.1:1/{echo}"), "GRPC")),
        card(at(echo, echo)),
        vec![Act::answer(401, "application/json", &json!({"error": echo}).to_string())],
        vec![Act::answer(404, "text/plain", echo)],
        vec![Act::answer(200, "text/html", &format!("<p>{echo}"))],
        vec![Act::Send(
            format!("HTTP/1.1 302 X\r\nlocation: file:///{secret}\r\ncontent-length: 0\r\n\r\n").into(),
        )],
        Vec::new(),
    ]
}

/// A server of tokens that tells what it was told, the first time with a token.
async fn token_server(good: bool) -> RawServer {
    RawServer::start(move |_, _| {
        let echo = echo("tokens");
        let body = if good {
            json!({"access_token": TOKEN, "token_type": "Bearer"})
        } else {
            json!({"error": echo, "error_description": echo})
        };
        vec![Act::answer(if good { 200 } else { 401 }, "application/json", &body.to_string())]
    })
    .await
    .unwrap()
}

/// An endpoint's backend, against an agent that has this card and gives this answer.
struct Told {
    log: String,
    told: String,
    sent: Vec<mas_testkit::http::RawRequest>,
}

async fn tell(params: &Value) -> String {
    let comm = comm(&cx(), params);
    let comm: Arc<dyn AgentCommContract> = match comm {
        Ok(comm) => comm,
        Err(error) => return format!("{error:?} {error:#}"),
    };
    let sink = RecordingSink::new();
    let call = CallContextBuilder::new("root")
        .sink(sink.clone())
        .timeout(std::time::Duration::from_millis(1_500))
        .build();
    let thread = Thread { parent: "parent".into(), name: ThreadName::Main };
    let said = Outbound { parts: vec![Part::text("hello")], message_id: "m1".into(), thread, task: None };
    let peer = Peer { id: "peer".into() };
    let probe = comm.probe(&call, &peer).await;
    let reply = comm.send(&call, &peer, said).await;
    let words =
        |error: &mas_contracts::Error| format!("{error} {error:#} {}", serde_json::to_string(error).unwrap());
    let more = [reply.as_ref().err().map(words), probe.as_ref().err().map(words)];
    format!("{probe:?} {reply:?} {:?} {more:?}", sink.recorded())
}

async fn against(kind: &str, card: usize, answer: Vec<Act>, padding: usize) -> Told {
    let tokens = token_server(true).await;
    let (auth, scheme) = credentials(kind, tokens.url());
    let shown = kind.to_owned();
    let known = Arc::new(std::sync::OnceLock::<String>::new());
    let url = known.clone();
    let server = RawServer::start(move |_, request| {
        let echo = format!("{}{}", " ".repeat(padding), echo(&shown));
        match request.line.starts_with("GET") {
            true => cards(url.get().unwrap(), &scheme, &echo, secret_of(&shown))[card].clone(),
            false => answer.clone(),
        }
    })
    .await
    .unwrap();
    known.set(server.url().to_owned()).unwrap();
    let (log, logged) = Log::of_this_thread();
    let params = json!({"url": server.url(), "headers": {"X-Team": "env:HEADER"},
        "a2a": {"client": {"auth": auth, "verify": false, "reconnect": {"attempts": 0}, "poll": {"tolerate": 0}}}});
    let told = tell(&params).await;
    drop(logged);
    Told { log: log.text(), told, sent: server.requests() }
}

#[rstest]
#[tokio::test]
async fn what_an_agent_sends_back_is_told_to_nobody(
    #[values("bearer", "basic", "oauth2", "header", "query", "cookie")] kind: &str,
) {
    let mut logged = 0;
    for (name, answer) in answers(&echo(kind)) {
        let Told { log, told, sent } = against(kind, 0, answer, 0).await;
        assert_silent(name, &told);
        assert_silent(&format!("the log of {name}"), &log);
        logged += log.len();
        let asked = sent.iter().find(|request| request.line.starts_with("POST")).expect(name);
        let all = format!("{} {:?}", asked.line, asked.headers);
        let shown = if kind == "query" { "key=sk-the-key%2Fit%2Bself" } else { secret_of(kind) };
        assert!(all.contains(shown) && all.contains(HEADER), "{name}: {all}");
    }
    assert!(logged > 10_000, "the log was kept");
}

#[rstest]
#[tokio::test]
async fn what_a_card_sends_back_is_told_to_nobody(
    #[values("bearer", "basic", "oauth2", "query")] kind: &str,
) {
    for card in 0..cards("", &json!({}), "", "").len() {
        // Excerpts of several lengths end within one of the secrets.
        for padding in [0, 110, 130, 150, 170, 190] {
            let done = vec![Act::answer(200, "application/json", "{}")];
            let Told { log, told, .. } = against(kind, card, done, padding).await;
            assert_silent(&format!("card {card}"), &told);
            assert_silent(&format!("the log of card {card}"), &log);
        }
    }
}

#[tokio::test]
async fn what_a_server_of_tokens_sends_back_is_told_to_nobody() {
    let tokens = token_server(false).await;
    let (auth, _) = credentials("oauth2", tokens.url());
    for method in ["basic", "post"] {
        let mut auth = auth.clone();
        auth["oauth2"]["method"] = method.into();
        let (log, logged) = Log::of_this_thread();
        let params = json!({"url": "http://127.0.0.1:9", "a2a": {"client": {"auth": auth}}});
        let told = tell(&params).await;
        drop(logged);
        assert!(told.contains("gave no token (HTTP 401)"), "{told}");
        assert_silent("the error", &told);
        assert_silent("the log", &log.text());
    }
    assert!(tokens.requests()[0].headers["authorization"].contains(CLIENT));
}

#[test]
fn what_a_backend_is_built_from_is_told_to_nobody() {
    let wrong = [
        json!({"url": "http://far.example", "a2a": {"client": {"auth": {"bearer": SECRET}}}}),
        json!({"url": format!("http://ann:{SECRET}@[/"), "headers": {"a b": HEADER}}),
        json!({"url": "https://far.example", "headers": {"x": format!("{HEADER}\n")}}),
        json!({"url": "https://far.example", "a2a": {"client": {"auth": {"bearer": SECRET, "secret": SECRET}}}}),
        json!({"url": "https://far.example", "a2a": {"client": {"auth": {"oauth2":
            {"token_url": format!("http://ann:{SECRET}@far.example"), "client_id": "ann", "client_secret": SECRET}}}}}),
        json!({"url": "https://far.example", "a2a": {"client": {"proxy": format!("nowhere://ann:{SECRET}@h")}}}),
        json!({"url": "https://far.example", "a2a": {"client": {"auth": {"client_cert": "Cargo.toml", "client_key": "Cargo.toml"}}}}),
    ];
    for params in wrong {
        if let Err(error) = comm(&cx(), &params) {
            assert_silent("the error", &format!("{error:?} {error:#}"));
        }
    }
    let options = Options {
        headers: vec![("authorization".to_owned(), HeaderText::Secret(Secret::new(SECRET)))],
        credentials: [Credential::Query("k".to_owned(), Secret::new(SECRET))].into(),
        settings: Settings::default(),
        ..Options::default()
    };
    let webhook = Webhook { url: format!("https://h/{SECRET}"), token: Some(HEADER.to_owned()) };
    let how = How { webhook: Some(webhook), ..How::default() };
    assert_silent("debug prints", &format!("{options:?} {how:?} {:?} {:?}", cx(), cx().env));
}

/// Options of a client that shows this header.
fn showing(name: &str, value: &str, binding: mas_a2a::client::Binding) -> Options {
    let headers = vec![(name.to_owned(), HeaderText::Secret(Secret::new(value)))];
    Options { headers, binding: Some(binding), ..Options::default() }
}

#[rstest]
#[tokio::test]
async fn a_server_tells_nothing_of_what_its_callers_show(#[values("JSONRPC", "REST", "GRPC")] binding: &str) {
    let binding = mas_a2a::client::Binding::parse(binding).unwrap();
    let hook = RawServer::start(|number, request| {
        let echo = format!("{:?}", request.headers);
        vec![Act::answer(if number == 0 { 500 } else { 200 }, "text/plain", &echo)]
    })
    .await
    .unwrap();
    let security = json!({
        "desk": {"bearer": {"tokens": {"ann": "env:KEY"}}},
        "key": {"api_key": {"name": "X-Key", "keys": {"bob": TOKEN}}},
    });
    let a2a = json!({"listen": {"port": 0}, "grpc_port": 0, "security": security,
        "capabilities": {"pushNotifications": true}, "push": {"allow_private": true, "attempts": 2}});
    let (log, logged) = Log::of_this_thread();
    let host = ScriptedHost::new([("peer", Behaviour::Echo)]);
    let (site, endpoint) = serve(&cx(), &host, &a2a).await;
    let socket = site.served().into_iter().find(|served| served.what == "http").unwrap().socket;
    let url = format!("http://{socket}");
    let mut told = format!("{endpoint:?} {:?}", site.served());
    let bearer = format!("Bearer {SECRET}");
    let wrong = format!("Bearer {HEADER}");
    for (name, value, good) in [
        ("authorization", bearer.as_str(), true),
        ("X-Key", TOKEN, true),
        ("authorization", &wrong, false),
        ("x-key", HEADER, false),
    ] {
        let remote = Remote::connect(&url, &showing(name, value, binding), &cx()).await.unwrap();
        let webhook = Webhook { url: hook.url().to_owned(), token: Some(HEADER.to_owned()) };
        let how = How { webhook: Some(webhook), ..How::default() };
        let answer = remote.send(message(name), &how).await;
        assert_eq!(answer.is_ok(), good, "{name}: {answer:?}");
        told.push_str(&format!("{answer:?} {}", remote.card()));
        if let Err(error) = &answer {
            told.push_str(&format!("{error:#} {}", serde_json::to_string(error).unwrap()));
        }
    }
    site.close(std::time::Duration::from_secs(5)).await.unwrap();
    drop(logged);
    assert_silent("what callers are told", &told);
    assert_silent("the log", &log.text());
    assert!(hook.requests().iter().any(|post| post.headers.values().any(|value| value == HEADER)));
}
