use super::*;
use crate::model::Dialect;

#[tokio::test]
async fn every_method_of_v1_reaches_its_operation() {
    let served = Served::plain();
    let key = json!({"taskId": "t1", "id": "p1"});
    let config = json!({"taskId": "t1", "url": "https://example.com/"});
    let shown = json!({"id": "p1", "taskId": "t1", "url": "https://example.com/"});
    let work = |state: &str| {
        json!({"id": "t1", "contextId": "c1", "status": {"state": state, "timestamp": "2025-10-28T10:30:00.000Z"},
            "artifacts": [{"artifactId": "a1", "parts": [{"text": "hello"}]}]})
    };
    let listed = json!({"id": "t1", "contextId": "c1", "status": work("TASK_STATE_WORKING")["status"]});
    for (method, params, heard, result) in [
        ("SendMessage", message("m"), "send m false None", json!({"task": work("TASK_STATE_COMPLETED")})),
        (
            "SendMessage",
            message("message"),
            "send message false None",
            json!({"message": {"messageId": "m2", "contextId": "c1", "role": "ROLE_AGENT", "parts": [{"text": "answer"}]}}),
        ),
        ("GetTask", json!({"id": "t1", "historyLength": 3}), "get t1 Some(3)", work("TASK_STATE_WORKING")),
        (
            "ListTasks",
            json!({}),
            "ListTasks { context: None, state: None, since: None, include_artifacts: false, history_length: None, page_size: None, page_token: None }",
            json!({"tasks": [listed], "nextPageToken": "", "pageSize": 50, "totalSize": 1}),
        ),
        (
            "CancelTask",
            json!({"id": "t1", "metadata": {"a": 1}}),
            "cancel t1 {\"a\":1}",
            work("TASK_STATE_CANCELED"),
        ),
        ("CreateTaskPushNotificationConfig", config, "create push t1  https://example.com/", shown.clone()),
        ("GetTaskPushNotificationConfig", key.clone(), "get push t1 p1", shown.clone()),
        (
            "ListTaskPushNotificationConfigs",
            json!({"taskId": "t1"}),
            "list push t1",
            json!({"configs": [shown], "nextPageToken": ""}),
        ),
        ("DeleteTaskPushNotificationConfig", key, "delete push t1 p1", json!({})),
        ("GetExtendedAgentCard", json!({}), "card", json!({"name": "more"})),
    ] {
        let got = served.rpc(&request(method, &params)).await;
        assert_eq!((got.status.as_u16(), got.header("content-type")), (200, "application/json"), "{method}");
        assert_eq!(got.json(), json!({"jsonrpc": "2.0", "id": 1, "result": result}), "{method}");
        assert_eq!(served.heard(), [heard]);
    }
}

#[tokio::test]
async fn methods_of_v0_3_are_served_at_the_same_place_in_their_shape() {
    let served = Served::plain();
    let webhook =
        json!({"taskId": "t1", "pushNotificationConfig": {"id": "p1", "url": "https://example.com/"}});
    let key = json!({"id": "t1", "pushNotificationConfigId": "p1"});
    for (method, params, heard) in [
        ("message/send", old_message("m"), "send m false None"),
        ("tasks/get", json!({"id": "t1"}), "get t1 None"),
        ("tasks/cancel", json!({"id": "t1"}), "cancel t1 {}"),
        ("tasks/pushNotificationConfig/set", webhook.clone(), "create push t1 p1 https://example.com/"),
        ("tasks/pushNotificationConfig/get", key.clone(), "get push t1 p1"),
        ("tasks/pushNotificationConfig/list", json!({"id": "t1"}), "list push t1"),
        ("tasks/pushNotificationConfig/delete", key, "delete push t1 p1"),
        ("agent/getAuthenticatedExtendedCard", json!({}), "card"),
    ] {
        for version in
            [&[][..], &[("a2a-version", "0.3")], &[("a2a-version", "0.3.0")], &[("a2a-version", "")]]
        {
            let got = served.ask("POST", "/", version, request(method, &params).to_string()).await;
            let json = got.json();
            assert!(json.get("result").is_some(), "{method} {json}");
            let asked = served.asked();
            assert_eq!((asked[0].0.as_str(), asked[0].1.dialect), (heard, Dialect::V03), "{method}");
            match method {
                "message/send" | "tasks/get" | "tasks/cancel" => assert_eq!(json["result"]["kind"], "task"),
                "tasks/pushNotificationConfig/set" => assert_eq!(json["result"], webhook),
                "tasks/pushNotificationConfig/delete" => assert_eq!(json["result"], Value::Null),
                _ => {}
            }
        }
    }
}

#[tokio::test]
async fn an_id_comes_back_as_it_was() {
    let served = Served::plain();
    for id in [
        "1",
        "\"1\"",
        "0",
        "-5",
        "9007199254740993",
        "18446744073709551615",
        "\"550e8400-e29b\"",
        "\"\"",
        "null",
        "\"\\u0041\\n\"",
    ] {
        let body = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"GetTask\",\"params\":{{\"id\":\"t1\"}}}}"
        );
        let got = served.ask("POST", "/", &[("a2a-version", "1.0")], body).await;
        let id = id.replace("\\u0041", "A");
        assert!(
            got.text.starts_with(&format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":")),
            "{id}: {}",
            got.text
        );
    }
    for id in ["1.5", "1.0", "true", "{}", "[]", "18446744073709551616"] {
        let body = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"GetTask\",\"params\":{{\"id\":\"t1\"}}}}"
        );
        let json = served.ask("POST", "/", &[("a2a-version", "1.0")], body).await.json();
        assert_eq!((&json["id"], &json["error"]["code"]), (&Value::Null, &json!(-32600)), "{id}");
    }
    let notification = json!({"jsonrpc": "2.0", "method": "GetTask", "params": {"id": "t1"}});
    assert_eq!(served.rpc(&notification).await.json()["id"], Value::Null);
}

#[tokio::test]
async fn what_is_wrong_has_the_code_of_json_rpc_and_status_200() {
    let served = Served::plain();
    let wrong = |params: Value| request("SendMessage", &params).to_string();
    for (body, code, id) in [
        ("{bad".to_owned(), -32700, json!(null)),
        (String::new(), -32700, json!(null)),
        ("{} {}".to_owned(), -32700, json!(null)),
        ("{\"a\":".repeat(100_000), -32700, json!(null)),
        ("{\"jsonrpc\":\"2.0\",\"id\":\"\u{0}\"}".to_owned(), -32700, json!(null)),
        ("7".to_owned(), -32600, json!(null)),
        ("[]".to_owned(), -32600, json!(null)),
        (format!("[{}]", request("GetTask", &json!({"id": "t"}))), -32600, json!(null)),
        ("{\"jsonrpc\":\"2.0\",\"id\":1}".to_owned(), -32600, json!(1)),
        ("{\"id\":\"x\",\"method\":\"GetTask\"}".to_owned(), -32600, json!("x")),
        ("{\"jsonrpc\":2.0,\"id\":1,\"method\":\"GetTask\"}".to_owned(), -32600, json!(1)),
        ("{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"GetTask\"}".to_owned(), -32600, json!(null)),
        ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}".to_owned(), -32600, json!(1)),
        (request("Nope", &json!({})).to_string(), -32601, json!(1)),
        (request("sendmessage", &json!({})).to_string(), -32601, json!(1)),
        (request("message/send", &old_message("m")).to_string(), -32601, json!(1)),
        (wrong(json!("x")), -32602, json!(1)),
        (wrong(json!([1])), -32602, json!(1)),
        (wrong(json!(null)), -32602, json!(1)),
        (wrong(json!({})), -32602, json!(1)),
        (wrong(json!({"message": {"messageId": "m", "role": "ROLE_USER", "parts": []}})), -32602, json!(1)),
        (
            wrong(json!({"message": {"messageId": "m", "role": "robot", "parts": [{"text": ""}]}})),
            -32602,
            json!(1),
        ),
    ] {
        let got = served.ask("POST", "/", &[("a2a-version", "1.0")], body.clone()).await;
        let json = got.json();
        assert_eq!((got.status.as_u16(), got.header("content-type")), (200, "application/json"));
        let body: String = body.chars().take(80).collect();
        assert_eq!(
            (&json["jsonrpc"], &json["id"], &json["error"]["code"]),
            (&json!("2.0"), &id, &json!(code)),
            "{body}"
        );
        assert_eq!(json["error"]["data"][0]["@type"], "type.googleapis.com/google.rpc.ErrorInfo");
    }
    assert_eq!(served.heard(), [""; 0], "nothing of it reached the agent");
}

#[tokio::test]
async fn a_failure_names_its_reason_and_the_fields() {
    let served = Served::plain();
    let got = served.rpc(&request("GetTask", &json!({"id": "", "historyLength": -1}))).await;
    insta::assert_snapshot!(serde_json::to_string_pretty(&got.json()).unwrap(), @r#"
    {
      "jsonrpc": "2.0",
      "id": 1,
      "error": {
        "code": -32602,
        "message": "`id` is empty (and 1 more)",
        "data": [
          {
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": "INVALID_PARAMS",
            "domain": "a2a-protocol.org"
          },
          {
            "@type": "type.googleapis.com/google.rpc.BadRequest",
            "fieldViolations": [
              {
                "field": "id",
                "description": "is empty"
              },
              {
                "field": "historyLength",
                "description": "is negative"
              }
            ]
          }
        ]
      }
    }
    "#);
    let got = served.rpc(&request("GetTask", &json!({"id": "nope"}))).await.json();
    assert_eq!(got["error"]["code"], -32001);
    assert_eq!(got["error"]["data"][0]["metadata"], json!({"taskId": "nope"}));
}

#[tokio::test]
async fn reasons_have_the_codes_of_v1_and_of_v0_3() {
    let served = Served::plain();
    for (reason, v1, v03, status) in [
        (Reason::TaskNotFound, -32001, -32001, 200),
        (Reason::TaskNotCancelable, -32002, -32002, 200),
        (Reason::PushNotificationNotSupported, -32003, -32003, 200),
        (Reason::UnsupportedOperation, -32004, -32004, 200),
        (Reason::ContentTypeNotSupported, -32005, -32005, 200),
        (Reason::ExtendedAgentCardNotConfigured, -32007, -32007, 200),
        (Reason::ExtensionSupportRequired, -32008, -32603, 200),
        (Reason::InvalidParams, -32602, -32602, 200),
        (Reason::Internal, -32603, -32603, 200),
        (Reason::Unauthenticated, -32000, -32603, 401),
        (Reason::PermissionDenied, -32000, -32603, 403),
        (Reason::ResourceExhausted, -32000, -32603, 429),
        (Reason::Unavailable, -32000, -32603, 503),
    ] {
        served.fail(Failure::new(reason, "no").retry_after(Duration::from_millis(1500)));
        let got = served.rpc(&request("GetTask", &json!({"id": "t"}))).await;
        let old = served.ask("POST", "/", &[], request("tasks/get", &json!({"id": "t"})).to_string()).await;
        let code = |got: &Got| (got.status.as_u16(), got.json()["error"]["code"].as_i64().unwrap());
        assert_eq!((code(&got), code(&old)), ((status, v1), (status, v03)), "{reason:?}");
        assert_eq!(got.json()["error"]["data"][0]["reason"], reason.word());
        assert_eq!(got.header("retry-after"), "2");
    }
}

#[tokio::test]
async fn a_version_is_asked_for_by_header_or_query() {
    let served = Served::plain();
    let new = request("GetTask", &json!({"id": "t1"})).to_string();
    let old = request("tasks/get", &json!({"id": "t1"})).to_string();
    for (path, version, body, code) in [
        ("/", Some("1.0"), &new, None),
        ("/", Some("1.0.1"), &new, None),
        ("/?A2A-Version=1.0", None, &new, None),
        ("/", None, &new, Some(-32009)),
        ("/", Some(""), &new, Some(-32009)),
        ("/", Some("0.3"), &new, Some(-32009)),
        ("/", Some("1.1"), &new, Some(-32009)),
        ("/", Some("99.0"), &new, Some(-32009)),
        ("/?A2A-Version=2.0", None, &new, Some(-32009)),
        ("/", None, &old, None),
        ("/", Some("0.3"), &old, None),
        ("/", Some("1.0"), &old, Some(-32601)),
        ("/", Some("99.0"), &old, Some(-32009)),
    ] {
        let headers: Vec<_> = version.map(|version| ("A2A-Version", version)).into_iter().collect();
        let json = served.ask("POST", path, &headers, body.clone()).await.json();
        let told = json["error"]["code"].as_i64();
        assert_eq!(told, code, "{path} {version:?} {body} {json}");
    }
}

#[tokio::test]
async fn required_extensions_are_asked_for_and_active_ones_echoed() {
    let served = Served::with(&json!({"capabilities": {"extensions": [
        {"uri": "urn:must", "required": true}, {"uri": "urn:may"},
    ]}}));
    let body = request("GetTask", &json!({"id": "t1"})).to_string();
    let got = served.ask("POST", "/", &[("a2a-version", "1.0")], body.clone()).await;
    assert_eq!(got.json()["error"]["code"], -32008);
    assert_eq!(got.json()["error"]["data"][0]["metadata"]["extension"], "urn:must");
    let headers = [
        ("a2a-version", "1.0"),
        ("a2a-extensions", "urn:must/v2"),
        ("a2a-extensions", "urn:other,urn:may ,urn:must"),
    ];
    let got = served.ask("POST", "/", &headers, body.clone()).await;
    assert!(got.json().get("result").is_some());
    assert_eq!((got.header("a2a-extensions"), got.header("x-a2a-extensions")), ("urn:must, urn:may", ""));
    assert_eq!(served.asked()[0].1.extensions.len(), 4);
    let old = request("tasks/get", &json!({"id": "t1"})).to_string();
    let got = served.ask("POST", "/", &[("x-a2a-extensions", "urn:must")], old).await;
    assert!(got.json().get("result").is_some());
    assert_eq!((got.header("a2a-extensions"), got.header("x-a2a-extensions")), ("", "urn:must"));
}

#[tokio::test]
async fn only_json_is_taken_and_only_by_post() {
    let served = Served::plain();
    let body = request("GetTask", &json!({"id": "t1"})).to_string();
    for kind in
        ["application/json", "application/json; charset=UTF-8", "Application/JSON", "application/a2a+json"]
    {
        let got =
            served.ask("POST", "/", &[("a2a-version", "1.0"), ("content-type", kind)], body.clone()).await;
        assert_eq!((got.status.as_u16(), got.header("content-type")), (200, "application/json"), "{kind}");
    }
    let got = served.ask("POST", "/", &[("content-type", "text/plain")], "{'a': 1}").await;
    assert_eq!((got.status.as_u16(), got.json()["error"]["code"].as_i64()), (415, Some(-32005)));
    let got = served.ask("POST", "/", &[("accept", "text/html")], body).await;
    assert_eq!((got.status.as_u16(), got.json()["error"]["code"].as_i64()), (406, Some(-32600)));
    for verb in ["GET", "PUT", "DELETE", "PATCH", "TRACE", "BREW"] {
        let got = served.ask(verb, "/", &[], "").await;
        assert_eq!((got.status.as_u16(), got.header("allow")), (405, "POST, OPTIONS"), "{verb}");
        assert_eq!(got.json()["error"]["status"], "UNIMPLEMENTED");
    }
    assert_eq!(served.ask("OPTIONS", "/", &[], "").await.header("allow"), "POST, OPTIONS");
}

#[tokio::test]
async fn a_body_has_a_size_a_depth_and_a_time() {
    let served = Served::with(&json!({"limits": {"body": 1000, "nesting": 8}}));
    let mut params = message("m");
    params["message"]["parts"][0]["text"] = json!("x".repeat(1000));
    let got = served.rpc(&request("SendMessage", &params)).await;
    assert_eq!((got.status.as_u16(), got.json()["error"]["code"].as_i64()), (413, Some(-32600)));
    assert_eq!(got.json()["error"]["data"][0]["reason"], "REQUEST_TOO_LARGE");
    params["message"]["parts"][0] = json!({"data": [[[1]]]});
    assert_eq!(served.rpc(&request("SendMessage", &params)).await.json()["error"], Value::Null);
    params["message"]["parts"][0] = json!({"data": [[[[1]]]]});
    assert_eq!(served.rpc(&request("SendMessage", &params)).await.json()["error"]["code"], -32700);
    let whole = request("GetTask", &json!({"id": "t1"})).to_string();
    // In pieces of one byte, without its length; and one that is larger than it may be.
    for (body, status) in [(whole, 200), ("x".repeat(1001), 413)] {
        let bytes = body.into_bytes().into_iter();
        let frames =
            bytes.map(|byte| Ok::<_, std::io::Error>(http_body::Frame::data(Bytes::from(vec![byte]))));
        let body = http_body_util::StreamBody::new(stream::iter(frames));
        let request = Request::post("/").header("a2a-version", "1.0").body(body).unwrap();
        assert_eq!(answer(served.agent.clone(), request, 0).await.status(), status);
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_does_not_come_or_breaks_off_is_told() {
    let served = Served::with(&json!({"limits": {"body_seconds": 5}}));
    let never =
        http_body_util::StreamBody::new(stream::pending::<Result<http_body::Frame<Bytes>, std::io::Error>>());
    let begun = tokio::time::Instant::now();
    let response = answer(served.agent.clone(), Request::post("/").body(never).unwrap(), 0).await;
    assert_eq!((response.status().as_u16(), begun.elapsed()), (408, Duration::from_secs(5)));
    let broken = http_body_util::StreamBody::new(stream::iter([Err::<http_body::Frame<Bytes>, _>(
        std::io::Error::other("gone"),
    )]));
    let response = answer(served.agent.clone(), Request::post("/").body(broken).unwrap(), 0).await;
    let text = response.into_body().collect().await.unwrap().to_bytes();
    assert!(String::from_utf8_lossy(&text).contains("broke off"));
}

#[tokio::test]
async fn nobody_gets_in_without_a_key() {
    let served = Served::with(&json!({"security": {"team": {"bearer": {"tokens": {"ann": "sesame"}}}}}));
    let body = request("GetTask", &json!({"id": "t1"})).to_string();
    let mut headers = vec![("a2a-version", "1.0")];
    let got = served.ask("POST", "/", &headers, body.clone()).await;
    assert_eq!((got.status.as_u16(), got.header("www-authenticate")), (401, "Bearer realm=\"a2a\""));
    assert_eq!(got.json()["error"]["data"][0]["reason"], "UNAUTHENTICATED");
    let got = served.rest("GET", "/tasks/t1", "").await;
    assert_eq!((got.status.as_u16(), got.header("www-authenticate")), (401, "Bearer realm=\"a2a\""));
    assert_eq!(got.json()["error"]["status"], "UNAUTHENTICATED");
    headers.push(("authorization", "Bearer sesame"));
    assert_eq!(served.ask("POST", "/", &headers, body).await.status, 200);
    let asked = served.asked();
    assert!(asked.len() == 1 && asked[0].1.owner.is_some());
    assert_eq!(
        served.ask("GET", "/.well-known/agent-card.json", &[], "").await.status,
        200,
        "the card is public"
    );
}

#[tokio::test]
async fn a_caller_has_tenant_trace_and_extensions() {
    let served = Served::plain();
    let headers = [
        ("a2a-version", "1.0"),
        ("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
        ("a2a-extensions", "urn:a, urn:b"),
    ];
    let body = request("GetTask", &json!({"id": "t1", "tenant": "acme"})).to_string();
    served.ask("POST", "/", &headers, body).await;
    let caller = served.asked().remove(0).1;
    assert_eq!(caller.tenant.as_deref(), Some("acme"));
    assert_eq!(caller.traceparent.as_deref(), Some(headers[1].1));
    assert_eq!(caller.extensions, ["urn:a".into(), "urn:b".into()]);
    assert_eq!((caller.owner, caller.dialect), (None, Dialect::V1));
}
