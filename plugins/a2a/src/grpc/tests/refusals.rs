use prost_types::Any;
use tonic::Code;

use super::*;
use crate::{
    grpc::proto::{rpc, v1, v03},
    model::{Failure, Reason},
};

const GET: &str = "lf.a2a.v1.A2AService/GetTask";

fn get(id: &str) -> v1::GetTaskRequest {
    v1::GetTaskRequest { id: id.into(), ..v1::GetTaskRequest::default() }
}

/// The details of a status, which say the same code and message again.
fn details(of: &Status) -> Vec<Any> {
    let status = rpc::Status::decode(of.details()).expect("details");
    assert_eq!((status.code, status.message.as_str()), (i32::from(of.code()), of.message()));
    status.details
}

fn info(of: &Status) -> rpc::ErrorInfo {
    details(of)[0].to_msg().expect("an ErrorInfo first")
}

#[tokio::test]
async fn every_reason_has_its_code_and_is_told_in_the_details() {
    let port = Port::plain().await;
    let mut told = Vec::new();
    for reason in [
        Reason::TaskNotFound,
        Reason::TaskNotCancelable,
        Reason::PushNotificationNotSupported,
        Reason::UnsupportedOperation,
        Reason::ContentTypeNotSupported,
        Reason::ExtendedAgentCardNotConfigured,
        Reason::ExtensionSupportRequired,
        Reason::VersionNotSupported,
        Reason::InvalidRequest,
        Reason::InvalidParams,
        Reason::ResourceExhausted,
        Reason::Unavailable,
        Reason::PermissionDenied,
        Reason::Internal,
    ] {
        port.served["fares"].fail(Failure::new(reason, "no").with("taskId", "t7"));
        let status = port.ask::<_, v1::Task>(GET, get("t7")).await.unwrap_err();
        let info = info(&status);
        assert_eq!((info.domain.as_str(), info.metadata["taskId"].as_str()), ("a2a-protocol.org", "t7"));
        told.push(format!("{} {:?}", info.reason, status.code()));
    }
    insta::assert_snapshot!(told.join("\n"), @"
    TASK_NOT_FOUND NotFound
    TASK_NOT_CANCELABLE FailedPrecondition
    PUSH_NOTIFICATION_NOT_SUPPORTED FailedPrecondition
    UNSUPPORTED_OPERATION FailedPrecondition
    CONTENT_TYPE_NOT_SUPPORTED InvalidArgument
    EXTENDED_AGENT_CARD_NOT_CONFIGURED FailedPrecondition
    EXTENSION_SUPPORT_REQUIRED FailedPrecondition
    VERSION_NOT_SUPPORTED FailedPrecondition
    INVALID_REQUEST InvalidArgument
    INVALID_PARAMS InvalidArgument
    RESOURCE_EXHAUSTED ResourceExhausted
    UNAVAILABLE Unavailable
    PERMISSION_DENIED PermissionDenied
    INTERNAL_ERROR Internal
    ");
}

#[tokio::test]
async fn wrong_fields_and_waits_are_told_in_the_details() {
    let port = Port::plain().await;
    let status = port.ask::<_, v1::Task>(GET, get("")).await.unwrap_err();
    assert_eq!((status.code(), status.message()), (Code::InvalidArgument, "`id` is required"));
    let wrong: rpc::BadRequest = details(&status)[1].to_msg().unwrap();
    let violation = rpc::FieldViolation { field: "id".into(), description: "is required".into() };
    assert_eq!(wrong.field_violations, [violation]);
    let wait = std::time::Duration::from_millis(1_500);
    port.served["fares"].fail(Failure::new(Reason::Unavailable, "later").retry_after(wait));
    let status = port.ask::<_, v1::Task>(GET, get("t")).await.unwrap_err();
    let retry: rpc::RetryInfo = details(&status)[1].to_msg().unwrap();
    assert_eq!(retry.retry_delay, Some(prost_types::Duration { seconds: 1, nanos: 500_000_000 }));
    assert_eq!(value(status.metadata(), "retry-after"), "2");
}

#[tokio::test]
async fn the_gate_is_that_of_http() {
    let bearer = json!({"security": {"b": {"bearer": {"tokens": {"ann": "sesame"}}}}});
    let several = Port::of([("fares", bearer.clone()), ("hotels", json!({}))]).await;
    let hotel = v1::GetTaskRequest { tenant: "hotels".into(), ..get("t7") };
    let _: v1::Task = several.ask(GET, hotel).await.unwrap();
    for port in [&Port::with(bearer).await, &several] {
        for headers in [&[][..], &[("authorization", "Bearer x")], &[("authorization", "Basic sesame")]] {
            let status = port.ask_with::<_, v1::Task>(GET, headers, get("")).await.unwrap_err();
            assert_eq!(status.code(), Code::Unauthenticated, "{status:?}");
            assert_eq!(info(&status).reason, "UNAUTHENTICATED");
            assert!(value(status.metadata(), "www-authenticate").starts_with("Bearer realm"));
        }
        let headers = [("authorization", "Bearer sesame")];
        port.ask_with::<_, v1::Task>(GET, &headers, get("t7")).await.unwrap();
        let (_, caller) = port.served["fares"].asked().remove(0);
        assert_eq!(caller.owner.as_deref(), Some("ann"));
    }
}

#[tokio::test]
async fn the_package_names_the_version_and_another_one_is_refused() {
    let port = Port::plain().await;
    let old = format!("{}/CancelTask", v03::SERVICE);
    let named = || v03::Named { name: "tasks/t7".into() };
    for version in ["1.0", "1.0.3", ""] {
        port.ask_with::<_, v1::Task>(GET, &[("a2a-version", version)], get("t7")).await.unwrap();
    }
    for version in ["0.3", "0.3.0"] {
        port.ask_with::<_, v03::Task>(&old, &[("a2a-version", version)], named()).await.unwrap();
        let wrong = port.ask_with::<_, v1::Task>(GET, &[("a2a-version", version)], get("t7")).await;
        assert_eq!(info(&wrong.unwrap_err()).reason, "VERSION_NOT_SUPPORTED");
    }
    for version in ["1.1", "2.0", "99.0"] {
        let wrong = port.ask_with::<_, v1::Task>(GET, &[("a2a-version", version)], get("t7")).await;
        let status = wrong.unwrap_err();
        assert_eq!(status.code(), Code::FailedPrecondition);
        assert_eq!(info(&status).reason, "VERSION_NOT_SUPPORTED");
    }
}

#[tokio::test]
async fn a_required_extension_has_to_be_asked_for_and_is_echoed() {
    let extensions = json!([{"uri": "urn:a", "required": true}, {"uri": "urn:b"}]);
    let port = Port::with(json!({"capabilities": {"extensions": extensions}})).await;
    let status = port.ask::<_, v1::Task>(GET, get("t7")).await.unwrap_err();
    assert_eq!(info(&status).reason, "EXTENSION_SUPPORT_REQUIRED");
    let headers = [("a2a-extensions", "urn:b"), ("a2a-extensions", "urn:a, urn:unknown")];
    let answer = port.ask_with::<_, v1::Task>(GET, &headers, get("t7")).await.unwrap();
    assert_eq!(value(answer.metadata(), "a2a-extensions"), "urn:a, urn:b");
}

#[tokio::test]
async fn broken_and_large_messages_are_refused() {
    let port = Port::with(json!({"limits": {"body": 200}})).await;
    let status = port.ask::<_, v1::Task>(GET, get(&"x".repeat(300))).await.unwrap_err();
    assert_eq!(status.code(), Code::ResourceExhausted);
    assert_eq!(info(&status).reason, "REQUEST_TOO_LARGE");
    let broken = |body: &'static [u8]| {
        let agents = port.agents.clone();
        async move { status_of(answer(&agents, direct(GET, &[], Bytes::from_static(body))).await).await }
    };
    let status = broken(&[0, 0, 0, 0, 2, 0x12, 9]).await;
    assert_eq!((status.code(), info(&status).reason.as_str()), (Code::InvalidArgument, "PARSE_ERROR"));
    for torn in [&b""[..], &[0], &[0, 0, 0, 0, 9, 1], &[1, 0, 0, 0, 0], &[0, 255, 255, 255, 255]] {
        assert_ne!(broken(torn).await.code(), Code::Ok, "{torn:?}");
    }
    // Two hundred objects within each other: more than any implementation of protobuf reads.
    let mut value = prost_types::Value { kind: None };
    for _ in 0..200 {
        let fields = [("a".to_owned(), value)].into_iter().collect();
        let object = prost_types::Struct { fields };
        value = prost_types::Value { kind: Some(prost_types::value::Kind::StructValue(object)) };
    }
    let fields = [("a".to_owned(), value)].into_iter().collect();
    let metadata = Some(prost_types::Struct { fields });
    let cancel = v1::CancelTaskRequest { tenant: String::new(), id: "t".into(), metadata };
    let plain = Port::plain().await;
    let status = plain.ask::<_, v1::Task>("lf.a2a.v1.A2AService/CancelTask", cancel).await.unwrap_err();
    assert_eq!((status.code(), info(&status).reason.as_str()), (Code::InvalidArgument, "PARSE_ERROR"));
    assert_eq!(plain.heard("fares"), <[&str; 0]>::default());
}

#[tokio::test]
async fn a_method_that_is_not_there_is_unimplemented() {
    let port = Port::plain().await;
    for method in [
        "lf.a2a.v1.A2AService/Nothing",
        "lf.a2a.v1.A2AService/TaskSubscription",
        "a2a.v1.A2AService/ListTasks",
        "a2a.v1.A2AService/SubscribeToTask",
        "grpc.health.v1.Health/Watch",
        "other.Service/GetTask",
    ] {
        let status = port.ask::<_, v1::Task>(method, get("t7")).await.unwrap_err();
        assert_eq!((status.code(), info(&status).reason.as_str()), (Code::Unimplemented, "METHOD_NOT_FOUND"));
    }
    let status = port.ask_with::<_, v1::Task>(GET, &[("grpc-timeout", "soon")], get("t7")).await.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
}

#[tokio::test]
async fn what_is_no_grpc_is_told_so_in_http() {
    let port = Port::plain().await;
    let status = |request: Request<Full<Bytes>>| {
        let agents = port.agents.clone();
        async move { answer(&agents, request).await.status().as_u16() }
    };
    let of = |verb: &str, kind: &str| {
        let request = Request::builder().method(verb).uri(format!("http://agent/{GET}"));
        request.header("content-type", kind).body(Full::new(framed(&get("t7").encode_to_vec()))).unwrap()
    };
    assert_eq!(status(of("GET", "application/grpc")).await, 405);
    for kind in ["application/json", "application/grpc-web", "application/grpc+json", ""] {
        assert_eq!(status(of("POST", kind)).await, 415, "{kind}");
    }
    for kind in ["application/grpc", "application/grpc+proto", "application/grpc; x=y"] {
        assert_eq!(status(of("POST", kind)).await, 200, "{kind}");
    }
}
