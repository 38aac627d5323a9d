//! What goes wrong, in words and in what it proves.

use std::time::Duration;

use mas_contracts::{AgentCommContract, Delivery, ErrorKind, Retry, TaskRef};
use mas_testkit::RecordingSink;

use super::*;

/// The error of a send that is answered like this.
async fn error(binding: &str, acts: Vec<Act>) -> mas_contracts::Error {
    let peer = Peer::new(move |_| acts.clone()).await;
    let error = say(&peer.by(binding, "1.0", false, quick()), "hi").await.unwrap_err();
    assert_eq!(peer.asked().len(), 1, "it was sent again after {error:?}");
    error
}

fn head(status: u16, headers: &str, body: &str) -> Vec<Act> {
    let length = body.len();
    let text = format!(
        "HTTP/1.1 {status} X\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n{body}"
    );
    vec![Act::Send(text.into_bytes())]
}

#[tokio::test]
async fn b3_14_what_was_sent_is_told_from_what_was_not() {
    let nobody = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = nobody.local_addr().unwrap().port();
    drop(nobody);
    for url in [format!("http://127.0.0.1:{port}"), "http://no-such-host.invalid".to_owned()] {
        let found = say(&comm(&url, &json!({})), "hi").await.unwrap_err();
        assert_eq!(
            (found.kind(), found.delivery()),
            (ErrorKind::Unavailable, Delivery::NotSent),
            "{found:?}"
        );
        for binding in ["JSONRPC", "HTTP+JSON", "GRPC"] {
            let card = json!({"supportedInterfaces": [{"url": url, "protocolBinding": binding, "protocolVersion": "1.0"}]});
            let known = say(&comm(&url, &json!({"card": card})), "hi").await.unwrap_err();
            assert_eq!(
                (known.kind(), known.delivery()),
                (ErrorKind::Unavailable, Delivery::NotSent),
                "{known:?}"
            );
        }
    }
    let cut = error("JSONRPC", Vec::new()).await;
    assert_eq!((cut.kind(), cut.delivery()), (ErrorKind::Unavailable, Delivery::Unknown), "{cut:?}");
    let half =
        error("JSONRPC", vec![Act::Send(b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{".to_vec())]).await;
    assert_eq!(half.delivery(), Delivery::Unknown, "{half:?}");
}

#[tokio::test]
async fn statuses_say_what_happened_and_what_they_prove() {
    use Delivery::{Rejected, Unknown};
    let table = [
        (400, ErrorKind::Invalid, Rejected),
        (401, ErrorKind::Unauthenticated, Rejected),
        (403, ErrorKind::Denied, Rejected),
        (404, ErrorKind::NotFound, Rejected),
        (405, ErrorKind::Unsupported, Rejected),
        (408, ErrorKind::Timeout, Unknown),
        (413, ErrorKind::Invalid, Rejected),
        (429, ErrorKind::RateLimited, Rejected),
        (500, ErrorKind::Failed, Unknown),
        (501, ErrorKind::Unsupported, Rejected),
        (502, ErrorKind::Unavailable, Unknown),
        (503, ErrorKind::Unavailable, Unknown),
        (504, ErrorKind::Timeout, Unknown),
    ];
    for (status, kind, delivery) in table {
        for binding in ["JSONRPC", "HTTP+JSON"] {
            // The context id is refused at most once, which is another rule.
            let peer = Peer::new(move |_| vec![Act::answer(status, "text/html", "<h1>oh</h1>")]).await;
            let mut client = quick();
            client["context"] = json!("server");
            let error = say(&peer.by(binding, "1.0", false, client), "hi").await.unwrap_err();
            assert_eq!((error.kind(), error.delivery()), (kind, delivery), "{binding} {status}: {error:?}");
            let text = error.to_string();
            assert!(text.contains(&format!("HTTP {status}")) && text.contains("<h1>oh</h1>"), "{text}");
            assert_eq!(peer.asked().len(), 1);
        }
    }
}

#[tokio::test]
async fn an_agent_says_when_to_come_again_and_how_to_authenticate() {
    let later = error("JSONRPC", head(503, "retry-after: 2\r\n", "<html>")).await;
    assert_eq!(later.retry(), Retry::After(Duration::from_secs(2)));
    let who = error("HTTP+JSON", head(401, "www-authenticate: Bearer realm=\"x\"\r\n", "")).await;
    assert!(who.message().contains("they go in a header, such as `Authorization`"), "{who}");
    assert!(who.context().any(|pair| pair == ("challenge", "Bearer realm=\"x\"")), "{who:?}");
}

#[tokio::test]
async fn b4_the_details_of_an_error_are_kept_whatever_its_type_and_domain() {
    let info = json!({
        "@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "MESSAGE_LIMIT", "domain": "elsewhere.example",
    });
    let rest =
        json!({"error": {"code": 504, "status": "DEADLINE_EXCEEDED", "message": "90 s", "details": [info]}});
    for kind in ["application/json", "application/a2a+json", "application/problem+json; charset=utf-8"] {
        let body = rest.to_string();
        let error = error("HTTP+JSON", vec![Act::answer(504, kind, &body)]).await;
        assert_eq!(
            (error.kind(), error.to_string().contains("90 s")),
            (ErrorKind::Timeout, true),
            "{error:?}"
        );
        assert!(error.context().any(|pair| pair == ("reason", "MESSAGE_LIMIT")), "{error:?}");
    }
    let rpc = json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": "out of order", "data": "text"}});
    let error = error("JSONRPC", vec![Act::answer(500, "application/json", &rpc.to_string())]).await;
    assert_eq!((error.kind(), error.delivery()), (ErrorKind::Failed, Delivery::Unknown));
    assert!(error.to_string().contains("the agent says: out of order"), "{error}");
}

#[tokio::test]
async fn a_redirect_is_not_followed_with_a_message_and_says_where_to() {
    let elsewhere = Peer::new(|_| result(&done())).await;
    let to = format!("location: {}/x?token=hidden\r\n", elsewhere.url());
    let error = error("JSONRPC", head(307, &to, "")).await;
    assert_eq!((error.kind(), error.delivery()), (ErrorKind::Unavailable, Delivery::Rejected), "{error:?}");
    assert!(
        error.to_string().contains(elsewhere.url()) && !format!("{error:?}").contains("hidden"),
        "{error}"
    );
    assert_eq!(elsewhere.asked(), Vec::<String>::new());
}

#[tokio::test]
async fn no_error_repeats_a_secret_or_is_longer_than_a_page() {
    let peer = Peer::new(|asked: &Asked| {
        let token = &asked.raw.headers["authorization"];
        let error = json!({"code": -32603, "message": format!("{token} {}", "x".repeat(1 << 20))});
        let body = json!({"jsonrpc": "2.0", "id": 1, "error": error}).to_string();
        head(500, &format!("www-authenticate: you sent {token}\r\n"), &body)
    })
    .await;
    let card = json!({"supportedInterfaces": [{"url": peer.url(), "protocolBinding": "JSONRPC"}]});
    let row = json!({
        "url": peer.url(), "headers": {"Authorization": "env:TOKEN"}, "a2a": {"client": {"card": card}},
    });
    let build = mas_testkit::build_context("/".as_ref(), &[("TOKEN", "Bearer sk-canary")]);
    let error = say(&Comm::new(&build, &row).unwrap(), "hi").await.unwrap_err();
    let shown = format!("{error:?} {error:#}");
    assert!(!shown.contains("sk-canary") && shown.len() < 16 * 1024, "{shown}");
    assert_eq!(peer.server.requests()[0].headers["authorization"], "Bearer sk-canary");
    let unset = Comm::new(&mas_testkit::build_context("/".as_ref(), &[]), &row).err().unwrap();
    assert_eq!(unset.to_string(), "the variable `TOKEN` is not set");
}

#[tokio::test]
async fn a_task_that_is_over_needs_no_cancel_and_an_unknown_one_is_not_found() {
    let script = |asked: &Asked| match asked.before {
        0 => refusal(-32002),
        1 => refusal(-32001),
        _ => vec![Act::Hold],
    };
    let peer = Peer::new(script).await;
    let comm = peer.json_rpc(true);
    let cx = context(Duration::from_secs(30), &RecordingSink::new());
    let task = TaskRef { peer: "peer".into(), task: "t".into() };
    let stop = mas_contracts::Stop::Cancel;
    comm.cancel(&cx, &task, mas_contracts::Stop::Leave).await.unwrap();
    assert_eq!(peer.asked().len(), 0);
    comm.cancel(&cx, &task, stop).await.unwrap();
    assert_eq!(comm.cancel(&cx, &task, stop).await.unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(comm.cancel(&cx, &task, stop).await.unwrap_err().kind(), ErrorKind::Timeout);
}

#[tokio::test]
async fn states_and_roles_that_nobody_knows_do_not_lose_an_answer() {
    for state in ["completed", "COMPLETED", "TASK_STATE_COMPLETED"] {
        let mut answer = done();
        answer["task"]["status"] =
            json!({"state": state, "message": {"messageId": "m", "role": "oracle", "parts": []}});
        let peer = Peer::new(move |_| result(&answer)).await;
        assert_eq!(&*say(&peer.json_rpc(false), "hi").await.unwrap().text(), "answer", "{state}");
    }
    let paused = |asked: &Asked| match asked.what.as_str() {
        "SendMessage" => result(&json!({"task": task("TASK_STATE_PAUSED")})),
        "GetTask" => result(&task("TASK_STATE_COMPLETED")),
        _ => refusal(-32004),
    };
    let peer = Peer::new(paused).await;
    assert_eq!(&*say(&peer.json_rpc(false), "hi").await.unwrap().text(), "answer");
}
