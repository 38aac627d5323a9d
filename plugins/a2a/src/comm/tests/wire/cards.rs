//! Cards: found, kept, asked for again.

use std::{sync::Arc, time::Duration};

use mas_contracts::{AgentCommContract, Delivery, ErrorKind};
use mas_testkit::RecordingSink;

use super::*;

const NEW: &str = "GET /.well-known/agent-card.json";
const OLD: &str = "GET /.well-known/agent.json";

/// A card of the server that is asked, with this path in its address.
fn card_of(asked: &Asked, path: &str) -> Value {
    let url = format!("http://{}{path}", asked.raw.headers["host"]);
    json!({
        "name": "Fares", "version": "2.1.0", "capabilities": {"streaming": false},
        "supportedInterfaces": [{"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
    })
}

fn card(asked: &Asked) -> Vec<Act> {
    answer(&card_of(asked, ""))
}

fn with_headers(headers: &str, body: &Value) -> Vec<Act> {
    let body = body.to_string();
    let length = body.len();
    let head = format!("HTTP/1.1 200 OK\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n");
    vec![Act::Send(format!("{head}{body}").into_bytes())]
}

#[tokio::test]
async fn b4_both_well_known_names_are_tried() {
    for (status, kind) in [(404, "text/html"), (405, "text/plain"), (410, "text/plain"), (200, "text/html")] {
        let script = move |asked: &Asked| match asked.what.as_str() {
            NEW => vec![Act::answer(status, kind, "<html>")],
            OLD => card(asked),
            _ => result(&done()),
        };
        let peer = Peer::new(script).await;
        assert_eq!(&*say(&comm(peer.url(), &json!({})), "hi").await.unwrap().text(), "answer");
        assert_eq!(peer.asked(), [NEW, OLD, "SendMessage"], "{status}");
    }
    let credentials =
        "is shown only to callers with credentials (HTTP 401); they go in a header, such as `Authorization`";
    for (status, kind, why) in [
        (401, ErrorKind::Unauthenticated, credentials),
        (403, ErrorKind::Denied, "is not shown to this caller (HTTP 403)"),
        (500, ErrorKind::Failed, "cannot be had (HTTP 500)"),
    ] {
        let peer = Peer::new(move |_| vec![Act::answer(status, "text/plain", "")]).await;
        let error = say(&comm(peer.url(), &json!({})), "hi").await.unwrap_err();
        assert_eq!((error.kind(), error.delivery()), (kind, Delivery::NotSent), "{error:?}");
        let url = peer.url();
        assert_eq!(error.to_string(), format!("the card at {url}/.well-known/agent-card.json {why}"));
        assert_eq!(peer.asked(), [NEW]);
    }
    let peer = Peer::new(|_| vec![Act::answer(404, "text/plain", "")]).await;
    let error = say(&comm(peer.url(), &json!({})), "hi").await.unwrap_err();
    assert_eq!((error.kind(), error.delivery()), (ErrorKind::NotFound, Delivery::NotSent));
    assert_eq!(
        error.to_string(),
        format!("there is no card at {}/.well-known/agent-card.json (HTTP 404)", peer.url())
    );
}

#[tokio::test]
async fn a_card_of_the_host_is_taken_only_if_it_is_that_of_the_agent() {
    let script = |asked: &Asked| match asked.what.as_str() {
        NEW => answer(&card_of(asked, "/a")),
        what if what.starts_with("GET ") => vec![Act::answer(404, "text/plain", "")],
        _ => result(&done()),
    };
    let peer = Peer::new(script).await;
    let at = |path: &str| comm(&format!("{}{path}", peer.url()), &json!({}));
    assert_eq!(&*say(&at("/a"), "hi").await.unwrap().text(), "answer");
    let error = say(&at("/ab"), "hi").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error:?}");
}

#[tokio::test]
async fn a_card_is_fetched_once_for_all_who_ask_and_kept() {
    let script = |asked: &Asked| match asked.what.as_str() {
        NEW => {
            let mut acts = vec![Act::Pause(Duration::from_millis(50))];
            acts.extend(card(asked));
            acts
        }
        _ => result(&done()),
    };
    let peer = Peer::new(script).await;
    let comm = comm(peer.url(), &json!({}));
    let (one, two, three) = tokio::join!(say(&comm, "1"), say(&comm, "2"), say(&comm, "3"));
    assert!(one.is_ok() && two.is_ok() && three.is_ok());
    say(&comm, "4").await.unwrap();
    assert_eq!(peer.asked(), [NEW, "SendMessage", "SendMessage", "SendMessage", "SendMessage"]);
}

#[tokio::test]
async fn a_card_that_is_not_fresh_is_asked_for_by_its_tag() {
    for (headers, ttl) in [
        ("etag: \"v1\"\r\n", 0),
        ("etag: \"v1\"\r\ncache-control: public, max-age=0\r\n", 300),
        ("etag: \"v1\"\r\nCache-Control: no-cache\r\n", 300),
    ] {
        let script = move |asked: &Asked| match asked.what.as_str() {
            NEW if asked.raw.headers.get("if-none-match").is_some_and(|tag| tag == "\"v1\"") => {
                vec![Act::Send(b"HTTP/1.1 304 Not Modified\r\nconnection: close\r\n\r\n".to_vec())]
            }
            NEW => with_headers(headers, &card_of(asked, "")),
            _ => result(&done()),
        };
        let peer = Peer::new(script).await;
        let comm = comm(peer.url(), &json!({"card_ttl": ttl}));
        for _ in 0..3 {
            say(&comm, "hi").await.unwrap();
        }
        assert_eq!(peer.asked(), [NEW, "SendMessage", NEW, "SendMessage", NEW, "SendMessage"], "{headers}");
        let tags: Vec<_> =
            peer.server.requests().iter().map(|it| it.headers.contains_key("if-none-match")).collect();
        assert_eq!(tags, [false, false, true, false, true, false]);
    }
    // A card that may be kept for longer than is wanted here.
    let script = |asked: &Asked| match asked.what.as_str() {
        NEW => with_headers("cache-control: max-age=86400\r\n", &card_of(asked, "")),
        _ => result(&done()),
    };
    let peer = Peer::new(script).await;
    let comm = comm(peer.url(), &json!({"card_ttl": 0}));
    say(&comm, "hi").await.unwrap();
    say(&comm, "hi").await.unwrap();
    assert_eq!(peer.asked().iter().filter(|what| *what == NEW).count(), 2);
}

#[tokio::test]
async fn a_card_that_changed_is_taken_and_one_that_cannot_be_had_again_is_used_as_it_is() {
    let script = |asked: &Asked| match (asked.what.as_str(), asked.before) {
        (NEW, 0) => answer(&card_of(asked, "/old")),
        (NEW, 1) => answer(&card_of(asked, "/new")),
        (NEW, _) => vec![Act::answer(503, "text/plain", "")],
        _ => result(&done()),
    };
    let peer = Peer::new(script).await;
    let comm = comm(peer.url(), &json!({"card_ttl": 0}));
    for _ in 0..3 {
        say(&comm, "hi").await.unwrap();
    }
    let lines: Vec<_> = peer.server.requests().iter().map(|request| request.line.clone()).collect();
    assert_eq!(lines[1], "POST /old HTTP/1.1");
    assert_eq!((&*lines[3], &*lines[5]), ("POST /new HTTP/1.1", "POST /new HTTP/1.1"));
}

#[tokio::test]
async fn a_failure_to_find_an_agent_is_not_kept() {
    let script = |asked: &Asked| match (asked.what.as_str(), asked.before) {
        (NEW, 0) => vec![Act::answer(503, "text/plain", "")],
        (NEW, _) => card(asked),
        _ => result(&done()),
    };
    let peer = Peer::new(script).await;
    let comm = comm(peer.url(), &json!({}));
    assert_eq!(say(&comm, "hi").await.unwrap_err().kind(), ErrorKind::Unavailable);
    assert_eq!(&*say(&comm, "hi").await.unwrap().text(), "answer");
}

#[tokio::test]
async fn an_agent_without_a_card_is_called_where_the_row_says_how() {
    let script = |asked: &Asked| match asked.what.as_str() {
        what if what.starts_with("GET ") => vec![Act::answer(404, "text/plain", "")],
        _ => result(&task("completed")),
    };
    let peer = Peer::new(script).await;
    let client = json!({"protocol": 0.3, "bindings": ["jsonrpc"], "stream": "never"});
    assert_eq!(&*say(&comm(peer.url(), &client), "hi").await.unwrap().text(), "answer");
    assert_eq!(peer.asked(), [NEW, OLD, "message/send"]);
}

#[tokio::test]
async fn a_card_is_taken_from_the_row_from_a_file_or_from_an_address() {
    let folder = tempfile::tempdir().unwrap();
    let peer = Peer::new(|asked: &Asked| match asked.what.as_str() {
        "GET /elsewhere/card" => card(asked),
        _ => result(&done()),
    })
    .await;
    let given = json!({"url": peer.url(), "protocolVersion": "1.0"});
    std::fs::write(folder.path().join("card.json"), given.to_string()).unwrap();
    std::fs::write(folder.path().join("bad.json"), "[1]").unwrap();
    let build = mas_testkit::build_context(folder.path(), &[]);
    let with = |card: Value| {
        Comm::new(&build, &json!({"url": "http://127.0.0.1:1", "a2a": {"client": {"card": card}}}))
    };
    let elsewhere = json!(format!("{}/elsewhere/card", peer.url()));
    for card in [given.clone(), json!("card.json"), elsewhere] {
        let reply = say(&with(card.clone()).unwrap(), "hi").await;
        assert_eq!(reply.map(|reply| reply.text()).as_deref(), Ok("answer"), "{card}");
    }
    for (card, problem) in [("none.json", "cannot be read"), ("bad.json", "is no card")] {
        let error = with(json!(card)).err().unwrap();
        assert!(error.to_string().contains(problem), "{error}");
    }
}

#[tokio::test]
async fn a_card_is_bounded_in_size_and_in_time() {
    let large =
        |_: &Asked| vec![Act::answer(200, "application/json", &format!("\"{}\"", "x".repeat(4 << 20)))];
    let peer = Peer::new(large).await;
    let error = say(&comm(peer.url(), &json!({})), "hi").await.unwrap_err();
    assert_eq!((error.kind(), error.delivery()), (ErrorKind::Limit, Delivery::NotSent), "{error:?}");
    let peer = Peer::new(|_| vec![Act::Hold]).await;
    let comm = comm(peer.url(), &json!({}));
    // On a busy machine a short limit may be over before the request is out; a longer one tells the same.
    for limit in [100, 1_000, 10_000, 60_000] {
        let cx = context(Duration::from_millis(limit), &RecordingSink::new());
        let error = say_in(&cx, &comm, "hi").await.unwrap_err();
        assert_eq!((error.kind(), error.delivery()), (ErrorKind::Timeout, Delivery::NotSent), "{error:?}");
        if !peer.server.requests().is_empty() {
            break;
        }
    }
    peer.server.wait_for_hang_ups(1).await;
}

#[tokio::test]
async fn a_redirect_of_a_card_takes_no_secret_elsewhere() {
    let elsewhere = Arc::new(
        Peer::new(|asked: &Asked| match asked.what.as_str() {
            "GET /card" => card(asked),
            _ => result(&done()),
        })
        .await,
    );
    let to = format!("HTTP/1.1 302 X\r\nlocation: {}/card\r\nconnection: close\r\n\r\n", elsewhere.url());
    let peer = Peer::new(move |_| vec![Act::Send(to.clone().into_bytes())]).await;
    let row = json!({"url": peer.url(), "headers": {"X-Key": "sk-canary"}});
    let comm = Comm::new(&mas_testkit::build_context("/".as_ref(), &[]), &row).unwrap();
    let cx = context(Duration::from_secs(30), &RecordingSink::new());
    comm.probe(&cx, &mas_contracts::Peer { id: "peer".into() }).await.unwrap();
    assert_eq!(peer.server.requests()[0].headers["x-key"], "sk-canary");
    assert!(!elsewhere.server.requests()[0].headers.contains_key("x-key"));
}

#[tokio::test]
async fn a_probe_says_what_a_send_would_use_and_sends_nothing() {
    let peer = Peer::new(card).await;
    let cx = context(Duration::from_secs(30), &RecordingSink::new());
    let probe =
        comm(peer.url(), &json!({})).probe(&cx, &mas_contracts::Peer { id: "peer".into() }).await.unwrap();
    assert_eq!(
        (probe.name.as_deref(), probe.version.as_deref(), probe.stream),
        (Some("Fares"), Some("2.1.0"), false)
    );
    let route: Vec<_> = probe.route.iter().map(|(name, value)| format!("{name}: {value}")).collect();
    let expected = [
        format!("card: {}/.well-known/agent-card.json", peer.url()),
        format!("interface: {}", peer.url()),
        "binding: JSONRPC".to_owned(),
        "protocol: 1.0".to_owned(),
        "because: the card names no other that is spoken here".to_owned(),
    ];
    assert_eq!(route, expected);
    assert_eq!(peer.asked(), [NEW]);
}
