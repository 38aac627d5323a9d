//! What requests carry.

use super::*;

/// Asks in every way: a blocking send that does not end at once, so that the task is asked for.
fn slowly(asked: &Asked) -> Vec<Act> {
    let v1 = |value: Value| result(&value);
    let rest = |value: &Value| vec![Act::answer(200, "application/a2a+json", &value.to_string())];
    match asked.what.as_str() {
        "SendMessage" => v1(working()),
        "GetTask" => v1(task("TASK_STATE_COMPLETED")),
        "message/send" => v1(task("working")),
        "tasks/get" => v1(task("completed")),
        "SendStreamingMessage" => events(&[working()]),
        "message/stream" => events(&[task("working")]),
        "SubscribeToTask" | "tasks/resubscribe" => refusal(-32004),
        what if what.ends_with("/message:send") => rest(&working()),
        what if what.starts_with("GET ") => rest(&task("TASK_STATE_COMPLETED")),
        _ => vec![Act::answer(404, "text/plain", "")],
    }
}

#[tokio::test]
async fn b3_25_output_modes_go_out_with_every_send_in_their_order() {
    let modes = json!({"accepted_output_modes": ["image/png", "text/plain"], "poll": {"initial": 0.01}});
    for (version, streams) in [("1.0", false), ("1.0", true), ("0.3", false), ("0.3", true)] {
        let peer = Peer::new(slowly).await;
        say(&peer.by("JSONRPC", version, streams, modes.clone()), "hi").await.unwrap();
        let sent = &peer.bodies()[0]["params"]["configuration"]["acceptedOutputModes"];
        assert_eq!(*sent, json!(["image/png", "text/plain"]), "{version} {streams}");
    }
    let peer = Peer::new(slowly).await;
    say(&peer.json_rpc(false), "hi").await.unwrap();
    assert_eq!(peer.bodies()[0]["params"]["configuration"]["acceptedOutputModes"], json!(["text/plain"]));
}

#[tokio::test]
async fn b3_26_no_history_is_asked_for_in_so_many_words_and_not_of_v03() {
    for (version, length) in [("1.0", json!(0)), ("0.3", Value::Null)] {
        for streams in [false, true] {
            let peer = Peer::new(slowly).await;
            say(&peer.by("JSONRPC", version, streams, quick()), "hi").await.unwrap();
            let (bodies, asked) = (peer.bodies(), peer.asked());
            assert_eq!(bodies[0]["params"]["configuration"]["historyLength"], length, "{asked:?}");
            let get = bodies.last().unwrap();
            assert!(["GetTask", "tasks/get"].contains(&&*asked.last().unwrap().clone()), "{asked:?}");
            assert_eq!(get["params"]["historyLength"], length, "{asked:?}");
        }
    }
    let peer = Peer::new(slowly).await;
    say(&peer.by("HTTP+JSON", "1.0", false, quick()), "hi").await.unwrap();
    assert_eq!(peer.asked().last().unwrap(), "GET /tasks/t?historyLength=0");
}

#[tokio::test]
async fn b3_27_the_tenant_of_the_interface_is_in_every_request_and_no_other() {
    let card = |peer: &Peer, binding: &str, tenant: Option<&str>| {
        let mut interface = json!({"url": peer.url(), "protocolBinding": binding, "protocolVersion": "1.0"});
        if let Some(tenant) = tenant {
            interface["tenant"] = json!(tenant);
        }
        let mut client = quick();
        client["card"] = json!({"supportedInterfaces": [interface]});
        comm(peer.url(), &client)
    };
    for (tenant, told) in [(Some("a/b"), json!("a/b")), (None, Value::Null)] {
        let peer = Peer::new(slowly).await;
        say(&card(&peer, "JSONRPC", tenant), "hi").await.unwrap();
        let bodies = peer.bodies();
        assert_eq!(bodies.len(), 2);
        assert!(bodies.iter().all(|body| body["params"]["tenant"] == told), "{bodies:?}");
    }
    let peer = Peer::new(slowly).await;
    say(&card(&peer, "HTTP+JSON", Some("a/b")), "hi").await.unwrap();
    assert_eq!(peer.asked(), ["POST /a%2Fb/message:send", "GET /a%2Fb/tasks/t?historyLength=0"]);
}

#[tokio::test]
async fn b3_28_the_version_goes_with_every_request() {
    for version in ["1.0", "0.3"] {
        let peer = Peer::new(slowly).await;
        say(&peer.by("JSONRPC", version, true, quick()), "hi").await.unwrap();
        let told: Vec<_> =
            peer.server.requests().iter().map(|request| request.headers["a2a-version"].clone()).collect();
        assert!(told.len() >= 3 && told.iter().all(|told| told == version), "{told:?}");
    }
}

#[tokio::test]
async fn b3_29_agents_of_v03_are_asked_in_their_words() {
    let peer = Peer::new(slowly).await;
    say(&peer.by("JSONRPC", "0.3", true, quick()), "hi").await.unwrap();
    assert_eq!(peer.asked()[..2], ["message/stream", "tasks/resubscribe"]);
    assert_eq!(peer.asked().last().unwrap(), "tasks/get");
    let sent = &peer.bodies()[0]["params"];
    assert_eq!((&sent["message"]["role"], &sent["message"]["kind"]), (&json!("user"), &json!("message")));
    assert_eq!(sent["message"]["parts"], json!([{"kind": "text", "text": "hi"}]));
    assert_eq!(sent["configuration"]["blocking"], true);
    assert!(sent.get("tenant").is_none() && sent["configuration"].get("returnImmediately").is_none());

    let asks = |_: &Asked| {
        let said = json!({"kind": "message", "messageId": "q", "role": "agent", "parts": [{"kind": "text", "text": "when?"}]});
        let status = json!({"state": "input-required", "message": said});
        events(&[
            json!({"kind": "status-update", "taskId": "t", "contextId": "c", "status": status, "final": true}),
        ])
    };
    let peer = Peer::new(asks).await;
    let reply = say(&peer.by("JSONRPC", "0.3", true, quick()), "hi").await.unwrap();
    assert!(
        matches!(&reply.end, mas_contracts::End::Interrupted(asked) if &*asked.question == "when?"),
        "{reply:?}"
    );

    // The last word of a stream, which the server leaves open.
    let last = |asked: &Asked| match asked.what.as_str() {
        "message/stream" => {
            let status = json!({"state": "completed"});
            let over = json!({"kind": "status-update", "taskId": "t", "contextId": "c", "status": status, "final": true});
            let artifact = json!({"artifactId": "a", "parts": [{"kind": "text", "text": "answer"}]});
            let piece =
                json!({"kind": "artifact-update", "taskId": "t", "contextId": "c", "artifact": artifact});
            let mut acts = events(&[task("working"), piece, over]);
            acts.push(Act::Hold);
            acts
        }
        _ => refusal(-32001),
    };
    let peer = Peer::new(last).await;
    let comm = peer.by("JSONRPC", "0.3", true, quick());
    assert_eq!(&*say(&comm, "hi").await.unwrap().text(), "answer");
    peer.server.wait_for_hang_ups(1).await;

    let rest = |asked: &Asked| match asked.what.as_str() {
        "POST /v1/message:send" => {
            let answer = json!({"task": {"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_COMPLETED"},
                "artifacts": [{"artifactId": "a", "parts": [{"text": "answer"}]}]}});
            vec![Act::answer(200, "application/json", &answer.to_string())]
        }
        _ => vec![Act::answer(404, "text/plain", "")],
    };
    let peer = Peer::new(rest).await;
    assert_eq!(&*say(&peer.by("HTTP+JSON", "0.3", false, quick()), "hi").await.unwrap().text(), "answer");
}

#[tokio::test]
async fn b4_a_subscription_over_http_json_is_tried_by_both_verbs_and_the_one_that_works_is_kept() {
    let stream = |items: &[Value]| {
        let mut acts = vec![Act::stream()];
        acts.extend(items.iter().map(|item| Act::Send(format!("data: {item}\n\n").into_bytes())));
        acts
    };
    for refused in [404, 405] {
        let script = move |asked: &Asked| match asked.what.as_str() {
            "POST /message:stream" => stream(&[working()]),
            "GET /tasks/t:subscribe" => stream(&[done()]),
            _ => vec![Act::answer(refused, "text/plain", "")],
        };
        let peer = Peer::new(script).await;
        let comm = peer.by("HTTP+JSON", "1.0", true, quick());
        for _ in 0..2 {
            assert_eq!(&*say(&comm, "hi").await.unwrap().text(), "answer");
        }
        let (post, get) = ("POST /tasks/t:subscribe", "GET /tasks/t:subscribe");
        assert_eq!(peer.asked(), ["POST /message:stream", post, get, "POST /message:stream", get]);
    }
}

#[tokio::test]
async fn the_trace_of_a_turn_goes_with_its_message() {
    use mas_contracts::{CallContext, NoEvents, Scope, Tree, TreeLimits};
    let peer = Peer::new(|_| result(&done())).await;
    let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let clock = mas_testkit::TokioClock::shared();
    let end = clock.now() + std::time::Duration::from_secs(30);
    let tree = Tree::new(TreeLimits::default(), clock).traced(Some(trace.into()));
    let scope = Scope {
        session: "s".into(),
        turn: "t".into(),
        agent: "root".into(),
        depth: 0,
        parent: None,
        caller: None,
        sink: std::sync::Arc::new(NoEvents),
        tree: std::sync::Arc::new(tree),
    };
    let cx = CallContext::new(std::sync::Arc::new(scope), end);
    say_in(&cx, &peer.json_rpc(false), "hi").await.unwrap();
    assert_eq!(peer.server.requests()[0].headers["traceparent"], trace);
    let sent = &peer.bodies()[0]["params"]["message"];
    assert_eq!(sent["metadata"]["mas.path"], json!(["root"]));
}
