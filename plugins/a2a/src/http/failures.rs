//! Failures as HTTP tells them: statuses, `ErrorInfo` and `BadRequest` (A2A v1.0.1, sections 5.4, 9.5 and 11.6).

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use serde::{Serialize, Serializer, ser::SerializeMap};

use super::{body::Answer, media::Json};
use crate::{
    json,
    model::{Failure, RESPONSE_KIND_DOMAIN, Reason, Violation},
};

/// What most answers fit in.
const ROOM: usize = 1024;

/// Whose a reason is.
pub(crate) fn domain(reason: Reason) -> &'static str {
    match reason {
        Reason::MessageLimit => RESPONSE_KIND_DOMAIN,
        _ => "a2a-protocol.org",
    }
}

/// The status of HTTP, and the name of that of gRPC which goes with it.
pub(crate) fn status(reason: Reason) -> (StatusCode, &'static str) {
    match reason {
        Reason::TaskNotFound => (StatusCode::NOT_FOUND, "NOT_FOUND"),
        Reason::TaskNotCancelable
        | Reason::PushNotificationNotSupported
        | Reason::UnsupportedOperation
        | Reason::ExtendedAgentCardNotConfigured
        | Reason::ExtensionSupportRequired
        | Reason::VersionNotSupported => (StatusCode::BAD_REQUEST, "FAILED_PRECONDITION"),
        Reason::ContentTypeNotSupported
        | Reason::ParseError
        | Reason::InvalidRequest
        | Reason::InvalidParams => (StatusCode::BAD_REQUEST, "INVALID_ARGUMENT"),
        Reason::Internal => (StatusCode::INTERNAL_SERVER_ERROR, "INTERNAL"),
        Reason::MethodNotFound => (StatusCode::NOT_FOUND, "NOT_FOUND"),
        Reason::MethodNotAllowed => (StatusCode::METHOD_NOT_ALLOWED, "UNIMPLEMENTED"),
        Reason::UnsupportedMediaType => (StatusCode::UNSUPPORTED_MEDIA_TYPE, "INVALID_ARGUMENT"),
        Reason::NotAcceptable => (StatusCode::NOT_ACCEPTABLE, "INVALID_ARGUMENT"),
        Reason::TooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "RESOURCE_EXHAUSTED"),
        Reason::Unauthenticated => (StatusCode::UNAUTHORIZED, "UNAUTHENTICATED"),
        Reason::PermissionDenied => (StatusCode::FORBIDDEN, "PERMISSION_DENIED"),
        Reason::ResourceExhausted => (StatusCode::TOO_MANY_REQUESTS, "RESOURCE_EXHAUSTED"),
        Reason::Unavailable => (StatusCode::SERVICE_UNAVAILABLE, "UNAVAILABLE"),
        Reason::Timeout => (StatusCode::REQUEST_TIMEOUT, "DEADLINE_EXCEEDED"),
        Reason::MessageLimit => (StatusCode::GATEWAY_TIMEOUT, "DEADLINE_EXCEEDED"),
    }
}

/// Whether a failure is one of HTTP, so that its status shows through JSON-RPC, whose errors are else 200.
pub(super) fn is_of_http(reason: Reason) -> bool {
    matches!(
        reason,
        Reason::MethodNotAllowed
            | Reason::UnsupportedMediaType
            | Reason::NotAcceptable
            | Reason::TooLarge
            | Reason::Unauthenticated
            | Reason::PermissionDenied
            | Reason::ResourceExhausted
            | Reason::Unavailable
            | Reason::Timeout
    )
}

/// What a failure says in headers.
pub(crate) fn headers(failure: &Failure, headers: &mut HeaderMap) {
    if let Some(wait) = failure.retry_after {
        // Whole seconds, and never 0, which would be at once.
        let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
        headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds.max(1)));
    }
    if let Some(challenge) = failure.challenge.as_deref().and_then(|it| HeaderValue::from_str(it).ok()) {
        headers.insert(header::WWW_AUTHENTICATE, challenge);
    }
}

/// The details of a failure: `ErrorInfo`, and `BadRequest` where fields are wrong.
pub(super) struct Details<'a>(pub(super) &'a Failure);

impl Serialize for Details<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(untagged)]
        enum Detail<'a> {
            Info(Info<'a>),
            BadRequest(BadRequest<'a>),
        }
        let info = Detail::Info(Info(self.0));
        let fields = Some(self.0.violations.as_slice()).filter(|violations| !violations.is_empty());
        let fields = fields.map(|violations| Detail::BadRequest(BadRequest::of(violations)));
        serializer.collect_seq([info].into_iter().chain(fields))
    }
}

/// `google.rpc.ErrorInfo`.
struct Info<'a>(&'a Failure);

impl Serialize for Info<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("@type", "type.googleapis.com/google.rpc.ErrorInfo")?;
        map.serialize_entry("reason", self.0.reason.word())?;
        map.serialize_entry("domain", domain(self.0.reason))?;
        if !self.0.metadata.is_empty() {
            map.serialize_entry("metadata", &Metadata(&self.0.metadata))?;
        }
        map.end()
    }
}

struct Metadata<'a>(&'a [(&'static str, String)]);

impl Serialize for Metadata<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

/// `google.rpc.BadRequest`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct BadRequest<'a> {
    #[serde(rename = "@type")]
    kind: &'static str,
    field_violations: Vec<FieldViolation<'a>>,
}

#[derive(Serialize)]
struct FieldViolation<'a> {
    field: &'a str,
    description: &'a str,
}

impl<'a> BadRequest<'a> {
    fn of(violations: &'a [Violation]) -> Self {
        let violation = |it: &'a Violation| FieldViolation { field: &it.field, description: &it.description };
        Self {
            kind: "type.googleapis.com/google.rpc.BadRequest",
            field_violations: violations.iter().map(violation).collect(),
        }
    }
}

/// A failure as `google.rpc.Status`, in JSON of this type.
pub(super) fn over_http(failure: &Failure, json: Json) -> Response<Answer> {
    #[derive(Serialize)]
    struct Body<'a> {
        error: Status<'a>,
    }
    #[derive(Serialize)]
    struct Status<'a> {
        code: u16,
        status: &'a str,
        message: &'a str,
        details: Details<'a>,
    }
    let (code, name) = status(failure.reason);
    let error =
        Status { code: code.as_u16(), status: name, message: &failure.message, details: Details(failure) };
    let mut response = whole(&Body { error }, json);
    *response.status_mut() = code;
    headers(failure, response.headers_mut());
    response
}

/// The failure of a verb that a path does not know, with those that it knows.
pub(super) fn wrong_verb(allow: &'static str, json: Json) -> Response<Answer> {
    let message = format!("this path takes: {allow}");
    let mut response = over_http(&Failure::new(Reason::MethodNotAllowed, message), json);
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static(allow));
    response
}

/// An answer of 200 with this body.
pub(super) fn whole<T: Serialize>(body: &T, json: Json) -> Response<Answer> {
    let mut bytes = Vec::with_capacity(ROOM);
    let written = json::write(body, &mut bytes);
    let mut response = Response::new(Answer::Whole(Bytes::from(bytes)));
    if written.is_err() {
        // Only a map with keys that are no text can do this, and there is none.
        *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
        *response.body_mut() = Answer::Whole(Bytes::from_static(br#"{"error":{"code":500,"status":"INTERNAL","message":"the answer cannot be written as JSON","details":[]}}"#));
    }
    response.headers_mut().insert(header::CONTENT_TYPE, json.content_type());
    response
}
