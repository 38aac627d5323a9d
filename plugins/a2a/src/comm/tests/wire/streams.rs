//! Streams: refused, broken, strange.

use std::time::Duration;

use mas_contracts::{Delivery, End, ErrorKind, EventKind};
use mas_testkit::RecordingSink;

use super::*;

#[tokio::test]
async fn b3_07_an_agent_that_does_not_stream_is_sent_to() {
    let peer = Peer::new(|_| result(&done())).await;
    assert_eq!(&*say(&peer.json_rpc(false), "hi").await.unwrap().text(), "answer");
    let never = peer.by("JSONRPC", "1.0", true, json!({"stream": "never"}));
    assert_eq!(&*say(&never, "hi").await.unwrap().text(), "answer");
    assert_eq!(peer.asked(), ["SendMessage", "SendMessage"]);
}

#[tokio::test]
async fn b3_08_a_refused_stream_is_asked_for_once_and_then_sent_without() {
    let refusals: [fn() -> Vec<Act>; 9] = [
        || refusal(-32601),
        || refusal(-32004),
        || vec![Act::answer(404, "text/html", "<html>nothing here</html>")],
        || vec![Act::answer(405, "text/plain", "")],
        || vec![Act::answer(501, "application/json", "{}")],
        || {
            let body = json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32601, "message": "no"}});
            vec![Act::answer(404, "application/json; charset=utf-8", &body.to_string())]
        },
        // The refusal as the first event of a stream that is open already.
        || {
            let error = json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -32004, "message": "no"}});
            vec![Act::stream(), Act::Send(format!("data: {error}\n\n").into_bytes())]
        },
        // No content type at all.
        || {
            let body =
                json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -32004, "message": "no"}}).to_string();
            let head =
                format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
            vec![Act::Send(format!("{head}{body}").into_bytes())]
        },
        || {
            let info = json!({
                "@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "UNSUPPORTED_OPERATION",
                "domain": "a2a-protocol.org",
            });
            let error = json!({"code": -32000, "message": "no", "data": [info]});
            answer(&json!({"jsonrpc": "2.0", "id": 1, "error": error}))
        },
    ];
    for refused in refusals {
        let script = move |asked: &Asked| match asked.what.as_str() {
            "SendStreamingMessage" => refused(),
            _ => result(&done()),
        };
        let peer = Peer::new(script).await;
        let reply = say(&peer.json_rpc(true), "hi").await;
        assert_eq!(peer.asked(), ["SendStreamingMessage", "SendMessage"], "{reply:?}");
        assert_eq!(&*reply.unwrap().text(), "answer");
    }
    let rest = |asked: &Asked| match asked.what.as_str() {
        "POST /message:stream" => vec![Act::answer(404, "text/html", "nothing")],
        _ => vec![Act::answer(200, "application/a2a+json", &done().to_string())],
    };
    let peer = Peer::new(rest).await;
    let comm = peer.by("HTTP+JSON", "1.0", true, quick());
    assert_eq!(&*say(&comm, "hi").await.unwrap().text(), "answer");
    assert_eq!(peer.asked(), ["POST /message:stream", "POST /message:send"]);
}

#[tokio::test]
async fn a_stream_that_is_refused_after_the_agent_began_is_an_error_and_nothing_is_sent_again() {
    let said = "Received statusUpdate before initial 'Message'/'Task' event.";
    let error = json!({"code": -32004, "message": said});
    let peer = Peer::new(move |_| answer(&json!({"jsonrpc": "2.0", "id": 1, "error": error}))).await;
    let error = say(&peer.json_rpc(true), "hi").await.unwrap_err();
    assert_eq!((error.kind(), error.delivery()), (ErrorKind::Failed, Delivery::Unknown), "{error:?}");
    assert!(error.to_string().contains(said), "{error}");
    assert_eq!(peer.asked(), ["SendStreamingMessage"]);
}

#[tokio::test]
async fn b3_08_a_stream_that_may_have_been_executed_is_not_sent_again() {
    let unclear: [fn() -> Vec<Act>; 4] = [
        || refusal(-32603),
        || refusal(-32000),
        || vec![Act::answer(502, "text/html", "<html>bad gateway</html>")],
        || vec![Act::Send(b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{".to_vec())],
    ];
    for unclear in unclear {
        let peer = Peer::new(move |_| unclear()).await;
        let error = say(&peer.json_rpc(true), "hi").await.unwrap_err();
        assert_eq!(error.delivery(), Delivery::Unknown, "{error:?}");
        assert_eq!(peer.asked(), ["SendStreamingMessage"]);
    }
}

#[tokio::test]
async fn b3_09_a_stream_that_breaks_is_taken_up_by_a_subscription() {
    let chunk = |text: &str, append: bool| {
        let artifact = json!({"artifactId": "a", "parts": [{"text": text}]});
        json!({"artifactUpdate": {"taskId": "t", "contextId": "c", "artifact": artifact, "append": append}})
    };
    let script = move |asked: &Asked| match asked.what.as_str() {
        "SendStreamingMessage" => events(&[working(), chunk("ans", false)]),
        "SubscribeToTask" if asked.before == 0 => vec![Act::stream()],
        "SubscribeToTask" => events(&[working(), chunk("ans", false), chunk("wer", true), done()]),
        _ => refusal(-32001),
    };
    let (peer, sink) = (Peer::new(script).await, RecordingSink::new());
    let cx = context(Duration::from_secs(30), &sink);
    let reply = say_in(&cx, &peer.json_rpc(true), "hi").await.unwrap();
    assert_eq!(&*reply.text(), "answer");
    let text: String = sink.pieces().iter().map(|(_, piece)| &**piece).collect();
    assert_eq!(text, "answer");
    assert_eq!(peer.asked()[..2], ["SendStreamingMessage", "SubscribeToTask"]);
}

#[tokio::test]
async fn b3_10_a_refused_subscription_is_followed_by_questions() {
    for refused in [-32004, -32001, -32601] {
        let script = move |asked: &Asked| match asked.what.as_str() {
            "SendStreamingMessage" => events(&[working()]),
            "GetTask" if asked.before == 0 => result(&task("TASK_STATE_WORKING")),
            "GetTask" if asked.before == 1 => vec![Act::answer(503, "text/html", "later")],
            "GetTask" => result(&task("TASK_STATE_COMPLETED")),
            _ => refusal(refused),
        };
        let peer = Peer::new(script).await;
        assert_eq!(&*say(&peer.json_rpc(true), "hi").await.unwrap().text(), "answer", "{refused}");
        assert_eq!(peer.asked()[..3], ["SendStreamingMessage", "SubscribeToTask", "GetTask"]);
    }
}

#[tokio::test]
async fn b3_13_a_task_that_nobody_waits_for_is_cancelled_once() {
    let script = |asked: &Asked| match asked.what.as_str() {
        "SendStreamingMessage" => {
            let mut acts = events(&[working()]);
            acts.push(Act::Hold);
            acts
        }
        _ => result(&task("TASK_STATE_CANCELED")),
    };
    let peer = Peer::new(script).await;
    let comm = peer.json_rpc(true);
    let sink = RecordingSink::new();
    let cx = context(Duration::from_secs(30), &sink);
    tokio::select! {
        done = say_in(&cx, &comm, "hi") => panic!("it ended by itself: {done:?}"),
        () = sink.wait_for(|event| matches!(event.kind, EventKind::Accepted { .. })) => {}
    }
    peer.server.wait_for_hang_ups(1).await;
    mas_contracts::AgentCommContract::close(&comm).await.unwrap();
    assert_eq!(peer.asked(), ["SendStreamingMessage", "CancelTask"]);
    assert_eq!(peer.bodies()[1]["params"], json!({"id": "t"}));
}

#[tokio::test]
async fn b3_18_a_single_message_ends_the_stream_and_closes_it() {
    let script = |_: &Asked| {
        let mut acts = events(&[message("answer")]);
        acts.push(Act::Hold);
        acts
    };
    let peer = Peer::new(script).await;
    let reply = say(&peer.json_rpc(true), "hi").await.unwrap();
    assert_eq!((&*reply.text(), &reply.end, reply.task), ("answer", &End::Done, None));
    peer.server.wait_for_hang_ups(1).await;
    assert_eq!(peer.asked(), ["SendStreamingMessage"]);
}

#[tokio::test]
async fn b3_20_what_is_no_stream_is_an_error_and_no_empty_answer() {
    let page = format!("<html><title>Welcome</title>{}</html>", "x".repeat(100_000));
    let html = move |_: &Asked| vec![Act::answer(200, "text/html", &page)];
    let error = say(&Peer::new(html).await.json_rpc(true), "hi").await.unwrap_err();
    assert_eq!((error.delivery(), &*error.code()), (Delivery::Unknown, "mas::a2a::answer"));
    let text = error.to_string();
    assert!(text.contains("HTTP 200 (text/html)") && text.contains("Welcome") && text.len() < 4096, "{text}");

    let empty = say(&Peer::new(|_| vec![Act::stream()]).await.json_rpc(true), "hi").await.unwrap_err();
    assert_eq!((empty.kind(), empty.delivery()), (ErrorKind::Unavailable, Delivery::Unknown));

    let nothing = |_: &Asked| vec![Act::answer(200, "application/json", "")];
    let error = say(&Peer::new(nothing).await.json_rpc(true), "hi").await.unwrap_err();
    assert_eq!(error.delivery(), Delivery::Unknown);

    let odd = |_: &Asked| result(&json!({"surprise": 1}));
    let error = say(&Peer::new(odd).await.json_rpc(true), "hi").await.unwrap_err();
    assert_eq!(error.delivery(), Delivery::Unknown);
}

#[tokio::test]
async fn an_agent_that_answers_a_stream_with_the_whole_is_understood() {
    let peer = Peer::new(|_| result(&done())).await;
    assert_eq!(&*say(&peer.json_rpc(true), "hi").await.unwrap().text(), "answer");
    let peer = Peer::new(|_| vec![Act::answer(200, "application/a2a+json", &done().to_string())]).await;
    let comm = peer.by("HTTP+JSON", "1.0", true, quick());
    assert_eq!(&*say(&comm, "hi").await.unwrap().text(), "answer");
}

#[tokio::test]
async fn b4_a_stream_is_read_in_every_form_of_its_bytes() {
    let data = |result: &Value| json!({"jsonrpc": "2.0", "id": 1, "result": result});
    let pretty = serde_json::to_string_pretty(&data(&working())).unwrap().replace('\n', "\r\ndata: ");
    let bytes = format!(
        "\u{feff}: hello\r\n\r\n:\r\rdata:\n\nevent: ping\ndata: {{}}\n\nid: 7\nretry: 3000\nevent: message\ndata: {pretty}\r\n\r\n\
         data:{}",
        data(&done()),
    );
    for size in [1, 7, 100_000] {
        let bytes = bytes.clone().into_bytes();
        let peer = Peer::new(move |_| vec![Act::stream(), Act::Drip(bytes.clone(), size)]).await;
        let reply = say(&peer.json_rpc(true), "hi").await.unwrap();
        // The last event is whole, though the stream was cut before the blank line behind it.
        assert_eq!((&*reply.text(), peer.asked().len()), ("answer", 1));
    }
    // A piece of an event is none.
    let cut = |asked: &Asked| match asked.what.as_str() {
        "SendStreamingMessage" => {
            let mut acts = events(&[working()]);
            acts.push(Act::Send(b"data: {\"jsonrpc\": \"2.0\", \"id\": 1, \"resu".to_vec()));
            acts
        }
        _ => result(&task("TASK_STATE_COMPLETED")),
    };
    let peer = Peer::new(cut).await;
    assert_eq!(&*say(&peer.json_rpc(true), "hi").await.unwrap().text(), "answer");
}

#[tokio::test]
async fn what_stands_before_an_error_in_one_piece_is_told_before_it() {
    let script = |asked: &Asked| match asked.what.as_str() {
        "SendStreamingMessage" => {
            let data = json!({"jsonrpc": "2.0", "id": 1, "result": working()});
            vec![Act::stream(), Act::Send(format!("data: {data}\n\ndata: nonsense\n\n").into_bytes())]
        }
        "SubscribeToTask" => events(&[done()]),
        _ => refusal(-32001),
    };
    let peer = Peer::new(script).await;
    assert_eq!(&*say(&peer.json_rpc(true), "hi").await.unwrap().text(), "answer");
    assert_eq!(peer.asked(), ["SendStreamingMessage", "SubscribeToTask"]);
}

#[tokio::test]
async fn events_and_answers_are_bounded() {
    let bounded = || json!({"max_event_bytes": 2048, "max_reply_bytes": 2048, "reconnect": {"attempts": 0}});
    for version in ["1.0", "0.3"] {
        let peer = Peer::new(|_| vec![Act::stream(), Act::Drip(b"x".repeat(1 << 20), 16 * 1024)]).await;
        let error = say(&peer.by("JSONRPC", version, true, bounded()), "hi").await.unwrap_err();
        assert_eq!((error.kind(), error.delivery()), (ErrorKind::Limit, Delivery::Unknown), "{error:?}");
        for binding in ["JSONRPC", "HTTP+JSON"] {
            let long = format!("{{\"result\": \"{}\"}}", "x".repeat(1 << 20));
            let peer = Peer::new(move |_| vec![Act::answer(200, "application/json", &long)]).await;
            let error = say(&peer.by(binding, version, false, bounded()), "hi").await.unwrap_err();
            assert_eq!((error.kind(), error.may_resend()), (ErrorKind::Limit, false), "{error:?}");
        }
    }
}
