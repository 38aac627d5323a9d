use super::*;
use crate::model::Dialect;

#[tokio::test]
async fn every_path_of_v1_reaches_its_operation_with_and_without_a_tenant() {
    let served = Served::plain();
    let send = message("m").to_string();
    let hook = r#"{"url": "https://example.com/"}"#;
    for (verb, path, body, heard) in [
        ("POST", "/message:send", send.as_str(), "send m false None"),
        ("POST", "/message%3Asend", &send, "send m false None"),
        ("GET", "/tasks/t1", "", "get t1 None"),
        ("GET", "/tasks/t1/?historyLength=2", "", "get t1 Some(2)"),
        ("GET", "/tasks/a%2Fb%20c", "", "get a/b c None"),
        ("HEAD", "/tasks/t1", "", "get t1 None"),
        ("POST", "/tasks/t1:cancel", "", "cancel t1 {}"),
        ("POST", "/tasks/t1:cancel", "{}", "cancel t1 {}"),
        ("POST", "/tasks/t1:cancel", r#"{"metadata": {"a": 1}}"#, r#"cancel t1 {"a":1}"#),
        ("POST", "/tasks/t1:cancel", r#"{"id": "other"}"#, "cancel t1 {}"),
        ("POST", "/tasks/t1/pushNotificationConfigs", hook, "create push t1  https://example.com/"),
        ("GET", "/tasks/t1/pushNotificationConfigs/p1", "", "get push t1 p1"),
        ("GET", "/tasks/t1/pushNotificationConfigs", "", "list push t1"),
        ("DELETE", "/tasks/t1/pushNotificationConfigs/p1", "", "delete push t1 p1"),
        ("GET", "/extendedAgentCard", "", "card"),
    ] {
        for tenant in ["", "/acme"] {
            let got = served.rest(verb, &format!("{tenant}{path}"), body).await;
            assert_eq!(
                (got.status.as_u16(), got.header("content-type")),
                (200, "application/a2a+json"),
                "{path}: {got:?}"
            );
            let asked = served.asked();
            assert_eq!(asked[0].0, heard, "{path}");
            assert_eq!(asked[0].1.tenant.as_deref(), tenant.strip_prefix('/'), "{path}");
        }
    }
}

#[tokio::test]
async fn replies_are_bare_or_named_as_the_protocol_has_it() {
    let served = Served::plain();
    let sent = served.rest("POST", "/message:send", &message("m").to_string()).await.json();
    assert_eq!(sent["task"]["status"]["state"], "TASK_STATE_COMPLETED");
    let sent = served.rest("POST", "/message:send", &message("message").to_string()).await.json();
    assert_eq!(sent["message"]["parts"], json!([{"text": "answer"}]));
    assert_eq!(served.rest("GET", "/tasks/t1", "").await.json()["id"], "t1");
    assert_eq!(served.rest("POST", "/tasks/t1:cancel", "").await.json()["id"], "t1");
    assert_eq!(served.rest("GET", "/tasks", "").await.json()["totalSize"], 1);
    let deleted = served.rest("DELETE", "/tasks/t1/pushNotificationConfigs/p", "").await;
    assert_eq!((deleted.status.as_u16(), deleted.text.as_str()), (200, "{}"));
}

#[tokio::test]
async fn a_listing_is_asked_for_by_query() {
    let served = Served::plain();
    let query = "contextId=c%201&status=TASK_STATE_WORKING&pageSize=7&pageToken=p%2B&historyLength=0\
        &statusTimestampAfter=2025-10-28T10:30:00Z&includeArtifacts=true&unknown=1&tenant=acme";
    served.rest("GET", &format!("/tasks?{query}"), "").await;
    let (what, caller) = served.asked().remove(0);
    assert_eq!(
        what,
        "ListTasks { context: Some(\"c 1\"), state: Some(Working), since: Some(1761647400s), include_artifacts: true, \
         history_length: Some(0), page_size: Some(7), page_token: Some(\"p+\") }"
    );
    assert_eq!(caller.tenant.as_deref(), Some("acme"));
    for query in ["status=&pageSize=", "includeArtifacts=false", "page_size=50"] {
        assert_eq!(served.rest("GET", &format!("/tasks?{query}"), "").await.status, 200, "{query}");
    }
    for (query, field) in [
        ("pageSize=x", "pageSize"),
        ("status=WHAT", "status"),
        ("includeArtifacts=yes", "includeArtifacts"),
        ("historyLength=-1", "historyLength"),
        ("statusTimestampAfter=noon", "statusTimestampAfter"),
    ] {
        let got = served.rest("GET", &format!("/tasks?{query}"), "").await;
        let error = &got.json()["error"];
        assert_eq!((got.status.as_u16(), &error["status"]), (400, &json!("INVALID_ARGUMENT")), "{query}");
        assert_eq!(error["details"][1]["fieldViolations"][0]["field"], field);
    }
    assert_eq!(served.rest("GET", "/tasks?a=%ff", "").await.status, 400);
}

#[tokio::test]
async fn v0_3_is_below_v1_in_its_shape() {
    let served = Served::plain();
    let send =
        json!({"message": {"messageId": "m", "role": "ROLE_USER", "content": [{"text": "hi"}]}}).to_string();
    let hook = r#"{"config": {"pushNotificationConfig": {"id": "p1", "url": "https://h/"}}}"#;
    for (verb, path, body, heard) in [
        ("POST", "/v1/message:send", send.as_str(), "send m false None"),
        ("GET", "/v1/tasks/t1?historyLength=2", "", "get t1 Some(2)"),
        ("POST", "/v1/tasks/t1:cancel", "", "cancel t1 {}"),
        ("POST", "/v1/tasks/t1/pushNotificationConfigs", hook, "create push t1 p1 https://h/"),
        ("GET", "/v1/tasks/t1/pushNotificationConfigs/p1", "", "get push t1 p1"),
        ("GET", "/v1/tasks/t1/pushNotificationConfigs", "", "list push t1"),
        ("DELETE", "/v1/tasks/t1/pushNotificationConfigs/p1", "", "delete push t1 p1"),
        ("GET", "/v1/card", "", "card"),
    ] {
        let got = served.ask(verb, &format!("/a2a/rest{path}"), &[], body.to_owned()).await;
        assert_eq!(got.status, 200, "{path}: {got:?}");
        let asked = served.asked();
        assert_eq!((asked[0].0.as_str(), asked[0].1.dialect), (heard, Dialect::V03), "{path}");
    }
    let got = served.ask("POST", "/a2a/rest/v1/message:send", &[], send).await.json();
    assert_eq!(got["task"]["status"]["state"], "TASK_STATE_COMPLETED");
    let got = served.ask("GET", "/a2a/rest/v1/tasks/nope", &[], "").await;
    assert_eq!((got.status.as_u16(), &got.json()["error"]["status"]), (404, &json!("NOT_FOUND")));
    let got = served.ask("GET", "/a2a/rest/v1/tasks/t", &[("a2a-version", "9.9")], "").await;
    assert_eq!(got.json()["error"]["details"][0]["reason"], "VERSION_NOT_SUPPORTED");
}

#[tokio::test]
async fn json_is_answered_in_the_type_that_the_caller_speaks() {
    let served = Served::plain();
    let send = message("m").to_string();
    for (headers, good, bad) in [
        (&[][..], "application/a2a+json", "application/json"),
        (&[("content-type", "application/json")], "application/json", "application/json"),
        (&[("content-type", "application/a2a+json")], "application/a2a+json", "application/a2a+json"),
        (&[("accept", "application/json")], "application/json", "application/json"),
        (&[("accept", "*/*")], "application/a2a+json", "application/json"),
    ] {
        let mut headers = headers.to_vec();
        headers.push(("a2a-version", "1.0"));
        let got = served.ask("POST", "/a2a/rest/message:send", &headers, send.clone()).await;
        assert_eq!((got.status.as_u16(), got.header("content-type")), (200, good), "{headers:?}");
        let got = served.ask("POST", "/a2a/rest/message:send", &headers, "{}").await;
        assert_eq!((got.status.as_u16(), got.header("content-type")), (400, bad), "{headers:?}");
    }
    let got = served.ask("POST", "/a2a/rest/message:send", &[("content-type", "text/plain")], "hi").await;
    assert_eq!((got.status.as_u16(), &got.json()["error"]["code"]), (415, &json!(415)));
    let headers = [("a2a-version", "1.0"), ("content-type", "text/plain")];
    assert_eq!(
        served.ask("GET", "/a2a/rest/tasks", &headers, "").await.status,
        200,
        "there is no body to be of a type"
    );
    let got = served.ask("GET", "/a2a/rest/tasks", &[("accept", "text/html")], "").await;
    assert_eq!((got.status.as_u16(), &got.json()["error"]["code"]), (406, &json!(406)));
}

#[tokio::test]
async fn paths_know_their_verbs() {
    let served = Served::plain();
    for (path, allow) in [
        ("/message:send", "POST, OPTIONS"),
        ("/message:stream", "POST, OPTIONS"),
        ("/tasks", "GET, HEAD, OPTIONS"),
        ("/tasks/t", "GET, HEAD, OPTIONS"),
        ("/tasks/t:cancel", "POST, OPTIONS"),
        ("/tasks/t:subscribe", "POST, GET, OPTIONS"),
        ("/tasks/t/pushNotificationConfigs", "GET, HEAD, POST, OPTIONS"),
        ("/acme/tasks/t/pushNotificationConfigs/p", "GET, HEAD, DELETE, OPTIONS"),
        ("/extendedAgentCard", "GET, HEAD, OPTIONS"),
    ] {
        let got = served.rest("OPTIONS", path, "").await;
        assert_eq!((got.status.as_u16(), got.header("allow")), (204, allow), "{path}");
        let got = served.rest("PATCH", path, "").await;
        assert_eq!((got.status.as_u16(), got.header("allow")), (405, allow), "{path}");
        let error = &got.json()["error"];
        assert_eq!((&error["code"], &error["status"]), (&json!(405), &json!("UNIMPLEMENTED")), "{path}");
    }
    assert_eq!(served.rest("HEAD", "/tasks/t:subscribe", "").await.status, 405, "a stream has no head");
    assert_eq!(served.heard(), [""; 0]);
}

#[tokio::test]
async fn a_failure_is_a_status_of_google_rpc() {
    let served = Served::plain();
    let got = served.rest("GET", "/tasks/nope", "").await;
    assert_eq!(got.status, 404);
    insta::assert_snapshot!(serde_json::to_string_pretty(&got.json()).unwrap(), @r#"
    {
      "error": {
        "code": 404,
        "status": "NOT_FOUND",
        "message": "there is no task `nope`",
        "details": [
          {
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": "TASK_NOT_FOUND",
            "domain": "a2a-protocol.org",
            "metadata": {
              "taskId": "nope"
            }
          }
        ]
      }
    }
    "#);
    for (reason, code, status) in [
        (Reason::TaskNotFound, 404, "NOT_FOUND"),
        (Reason::TaskNotCancelable, 400, "FAILED_PRECONDITION"),
        (Reason::PushNotificationNotSupported, 400, "FAILED_PRECONDITION"),
        (Reason::UnsupportedOperation, 400, "FAILED_PRECONDITION"),
        (Reason::ContentTypeNotSupported, 400, "INVALID_ARGUMENT"),
        (Reason::ExtendedAgentCardNotConfigured, 400, "FAILED_PRECONDITION"),
        (Reason::ExtensionSupportRequired, 400, "FAILED_PRECONDITION"),
        (Reason::VersionNotSupported, 400, "FAILED_PRECONDITION"),
        (Reason::InvalidParams, 400, "INVALID_ARGUMENT"),
        (Reason::PermissionDenied, 403, "PERMISSION_DENIED"),
        (Reason::ResourceExhausted, 429, "RESOURCE_EXHAUSTED"),
        (Reason::Unavailable, 503, "UNAVAILABLE"),
        (Reason::Internal, 500, "INTERNAL"),
    ] {
        served.fail(Failure::new(reason, "no").retry_after(Duration::from_secs(3)));
        let got = served.rest("POST", "/tasks/t:cancel", "").await;
        let error = &got.json()["error"];
        assert_eq!(
            (got.status.as_u16(), &error["code"], &error["status"]),
            (code, &json!(code), &json!(status))
        );
        assert_eq!(error["details"][0]["reason"], reason.word());
        assert_eq!(got.header("retry-after"), "3");
    }
}

#[tokio::test]
async fn versions_limits_and_malformed_bodies_are_told() {
    let served = Served::with(&json!({"limits": {"body": 100}}));
    for (version, reason) in
        [("", "VERSION_NOT_SUPPORTED"), ("0.3", "VERSION_NOT_SUPPORTED"), ("2.0", "VERSION_NOT_SUPPORTED")]
    {
        let got = served.ask("GET", "/a2a/rest/tasks/t", &[("a2a-version", version)], "").await;
        assert_eq!(
            (got.status.as_u16(), &got.json()["error"]["details"][0]["reason"]),
            (400, &json!(reason))
        );
    }
    assert_eq!(served.ask("GET", "/a2a/rest/tasks/t?A2A-Version=1.0", &[], "").await.status, 200);
    for (body, code, reason) in [
        ("", 400, "PARSE_ERROR"),
        ("{bad", 400, "PARSE_ERROR"),
        ("[]", 400, "INVALID_PARAMS"),
        ("7", 400, "INVALID_PARAMS"),
        ("null", 400, "INVALID_PARAMS"),
        ("{}", 400, "INVALID_PARAMS"),
    ] {
        let got = served.rest("POST", "/message:send", body).await;
        assert_eq!(
            (got.status.as_u16(), &got.json()["error"]["details"][0]["reason"]),
            (code, &json!(reason)),
            "{body}"
        );
    }
    let got = served.rest("POST", "/message:send", &" ".repeat(101)).await;
    assert_eq!((got.status.as_u16(), &got.json()["error"]["code"]), (413, &json!(413)));
    let got = served.rest("POST", "/tasks/t:cancel", "{bad").await;
    assert_eq!(got.status, 400);
}

#[tokio::test]
async fn callers_of_a_platform_have_a_way_of_their_own_where_kinds_are_offered() {
    let served = Served::with(&json!({"response_kinds": ["message", "task"]}));
    for (verb, path, key) in [
        ("POST", "/message:send", "task"),
        ("GET", "/tasks/t1", "task"),
        ("POST", "/tasks/t1:cancel", "task"),
    ] {
        let body = if path == "/message:send" { message("m").to_string() } else { String::new() };
        for version in ["1.0", ""] {
            let headers = [("a2a-version", version)];
            let path = format!("/api/a2a/v1{path}");
            let got = served.ask(verb, &path, &headers, body.clone()).await;
            assert_eq!(got.status.as_u16(), 200, "{path}: {got:?}");
            assert!(got.json()[key]["id"].is_string(), "{path}: {got:?}");
        }
    }
    let got = served.ask("GET", "/api/a2a/v1/tasks/t1", &[("a2a-version", "0.3")], "").await;
    assert_eq!(got.status.as_u16(), 400);
    let got = Served::plain().ask("GET", "/api/a2a/v1/tasks/t1", &[("a2a-version", "1.0")], "").await;
    assert_eq!(got.status.as_u16(), 404, "only where they are");
}

#[tokio::test]
async fn the_limit_of_a_message_is_an_error_of_the_platform() {
    let served = Served::plain();
    served.fail(Failure::new(Reason::MessageLimit, "too long").with("limitSeconds", "90"));
    let got = served.rest("POST", "/message:send", &message("m").to_string()).await;
    assert_eq!(got.status.as_u16(), 504);
    let info = &got.json()["error"]["details"][0];
    assert_eq!(
        *info,
        json!({
            "@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "MESSAGE_RESPONSE_LIMIT_EXCEEDED",
            "domain": "mainsequence.ai", "metadata": {"limitSeconds": "90"},
        })
    );
}
