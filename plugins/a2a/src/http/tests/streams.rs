use std::pin::pin;

use futures_util::{FutureExt, StreamExt};

use super::*;

#[tokio::test]
async fn a_stream_is_one_event_an_item_in_the_envelope_of_json_rpc() {
    let served = Served::plain();
    let got = served.rpc(&request("SendStreamingMessage", &message("m"))).await;
    assert_eq!((got.status.as_u16(), got.header("content-type")), (200, "text/event-stream"));
    assert_eq!(got.header("cache-control"), "no-cache");
    insta::assert_snapshot!(got.text, @r#"
    id: 1
    data: {"jsonrpc":"2.0","id":1,"result":{"task":{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_WORKING","timestamp":"2025-10-28T10:30:00.000Z"}}}}

    id: 2
    data: {"jsonrpc":"2.0","id":1,"result":{"artifactUpdate":{"taskId":"t1","contextId":"c1","artifact":{"artifactId":"a1","parts":[{"text":"hello"}]},"append":false,"lastChunk":true}}}

    id: 3
    data: {"jsonrpc":"2.0","id":1,"result":{"statusUpdate":{"taskId":"t1","contextId":"c1","status":{"state":"TASK_STATE_COMPLETED","timestamp":"2025-10-28T10:30:00.000Z"}}}}
    "#);
    assert_eq!(served.heard(), ["stream m"]);
}

#[tokio::test]
async fn over_http_a_stream_is_bare_and_v0_3_has_its_own_shapes() {
    let served = Served::plain();
    let got = served.rest("POST", "/message:stream", &message("m").to_string()).await;
    assert_eq!(got.header("content-type"), "text/event-stream");
    let events: Vec<&str> = got.text.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
    assert_eq!(events.len(), 3);
    let last: Value = serde_json::from_str(events[2]).unwrap();
    assert_eq!(last["statusUpdate"]["status"]["state"], "TASK_STATE_COMPLETED");
    let old = request("message/stream", &old_message("m")).to_string();
    let got = served.ask("POST", "/", &[], old).await;
    insta::assert_snapshot!(got.text.lines().rfind(|line| line.starts_with("data")).unwrap(), @r#"data: {"jsonrpc":"2.0","id":1,"result":{"kind":"status-update","taskId":"t1","contextId":"c1","status":{"state":"completed","timestamp":"2025-10-28T10:30:00.000Z"},"final":true}}"#);
}

#[tokio::test]
async fn a_subscription_says_what_it_has() {
    let served = Served::plain();
    let headers = [("a2a-version", "1.0"), ("last-event-id", "41")];
    let body = request("SubscribeToTask", &json!({"id": "t1"})).to_string();
    served.ask("POST", "/", &headers, body).await;
    for verb in ["POST", "GET"] {
        let got = served.ask(verb, "/a2a/rest/acme/tasks/t1:subscribe", &headers, "").await;
        assert_eq!(got.header("content-type"), "text/event-stream");
    }
    served
        .ask("POST", "/", &headers[1..], request("tasks/resubscribe", &json!({"id": "t1"})).to_string())
        .await;
    served.rest("GET", "/tasks/t1:subscribe", "").await;
    assert_eq!(served.heard()[..4], ["subscribe t1 Some(41)"; 4]);
}

#[tokio::test]
async fn what_fails_before_the_first_event_is_no_stream() {
    let served = Served::plain();
    served.fail(Failure::new(Reason::UnsupportedOperation, "the task has ended"));
    let got = served.rpc(&request("SendStreamingMessage", &message("m"))).await;
    assert_eq!(
        (got.header("content-type"), &got.json()["error"]["code"]),
        ("application/json", &json!(-32004))
    );
    let got = served.rest("POST", "/tasks/t:subscribe", "").await;
    assert_eq!((got.status.as_u16(), got.header("content-type")), (400, "application/json"));
}

#[tokio::test(start_paused = true)]
async fn a_silent_stream_is_kept_open_and_events_go_out_at_once() {
    let served = Served::plain();
    let (send, receive) = tokio::sync::mpsc::channel::<Item>(8);
    let source =
        stream::unfold(receive, |mut receive| async { receive.recv().await.map(|item| (item, receive)) });
    *served.script.items.lock().unwrap() = Some(Box::pin(source));
    let headers = [("a2a-version", "1.0")];
    let response = served.open("POST", "/a2a/rest/tasks/t1:subscribe", &headers, "").await;
    let mut body = pin!(response.into_body().into_data_stream());
    let mut items = items().into_iter();
    send.send(items.next().unwrap()).await.unwrap();
    let text = |bytes: Option<Result<Bytes, _>>| {
        bytes.map(|bytes: Result<Bytes, std::convert::Infallible>| {
            String::from_utf8(bytes.unwrap().to_vec()).unwrap()
        })
    };
    assert!(text(body.next().await).unwrap().starts_with("id: 1\ndata: {\"task\""));
    let begun = tokio::time::Instant::now();
    assert!(body.next().now_or_never().is_none());
    assert_eq!(text(body.next().await).as_deref(), Some(": keep-alive\n\n"));
    assert_eq!(begun.elapsed(), Duration::from_secs(15));
    // An event puts the next sign of life off.
    tokio::time::advance(Duration::from_secs(10)).await;
    send.send(items.next().unwrap()).await.unwrap();
    assert!(matches!(body.next().now_or_never(), Some(Some(_))));
    assert_eq!(text(body.next().await).as_deref(), Some(": keep-alive\n\n"));
    assert_eq!(begun.elapsed(), Duration::from_secs(40));
    send.send(items.next().unwrap()).await.unwrap();
    drop(send);
    assert!(text(body.next().await).unwrap().starts_with("id: 3\n"));
    assert_eq!(text(body.next().await), None);
}

#[tokio::test]
async fn what_waits_goes_out_together_within_a_bound_and_in_order() {
    let served = Served::plain();
    let many = (1..=5_000).map(|seq| Item { seq, item: items().remove(1).item });
    *served.script.items.lock().unwrap() = Some(Box::pin(stream::iter(many)));
    let response = served.open("POST", "/a2a/rest/tasks/t1:subscribe", &[("a2a-version", "1.0")], "").await;
    let mut body = pin!(response.into_body().into_data_stream());
    let mut seen = 0;
    while let Some(bytes) = body.next().await {
        let bytes = bytes.unwrap();
        assert!(bytes.len() < 20_000);
        for line in
            String::from_utf8(bytes.to_vec()).unwrap().lines().filter_map(|line| line.strip_prefix("id: "))
        {
            seen += 1;
            assert_eq!(line, seen.to_string());
        }
    }
    assert_eq!(seen, 5_000);
}
