//! Errors of agents elsewhere, as errors of ours.

use mas_contracts::{Delivery, Error, ErrorKind};
use prost::Message;
use tonic::Code;

use crate::{
    grpc::proto::rpc,
    json::{Node, Object, Path, Problems},
    model::Failure,
};

/// The word of an A2A error: the reason of its `ErrorInfo` before its number, since several share one (A2A v1.0,
/// section 5.4).
#[derive(Debug, Default)]
struct Told {
    code: Option<i32>,
    message: String,
    reason: Option<String>,
    fields: Vec<String>,
}

/// The error object of JSON-RPC, or of HTTP+JSON under the status it came with.
pub(super) fn of(error: Node<'_>, status: Option<u16>) -> Error {
    let mut problems = Problems::default();
    let mut told = Told::default();
    if let Some(mut object) = Object::of(error, Path::Root, &mut problems) {
        told.code = object.int("code", &mut problems);
        told.message = object.filled("message", &mut problems).unwrap_or_default().into_owned();
        for name in ["data", "details"] {
            if let Some(Node::List(details)) = object.value(name) {
                details.into_iter().for_each(|detail| told.detail(detail));
            }
        }
    }
    told.into_error(status)
}

/// The status of a call over gRPC.
pub(super) fn of_status(status: &tonic::Status) -> Error {
    let mut told = Told { message: status.message().to_owned(), ..Told::default() };
    let details = rpc::Status::decode(status.details()).unwrap_or_default().details;
    for detail in &details {
        if let Ok(info) = detail.to_msg::<rpc::ErrorInfo>() {
            told.reason.get_or_insert(info.reason);
        } else if let Ok(wrong) = detail.to_msg::<rpc::BadRequest>() {
            let violations = wrong.field_violations.into_iter();
            told.fields.extend(violations.map(|it| format!("`{}` {}", it.field, it.description)));
        }
    }
    // The status of HTTP that says the same (google/rpc/code.proto).
    told.into_error(Some(match status.code() {
        Code::InvalidArgument | Code::FailedPrecondition | Code::OutOfRange => 400,
        Code::Unauthenticated => 401,
        Code::PermissionDenied => 403,
        Code::NotFound => 404,
        Code::ResourceExhausted => 429,
        Code::Unimplemented => 501,
        Code::Unavailable => 503,
        Code::DeadlineExceeded => 504,
        _ => 500,
    }))
}

/// An answer that is none of the protocol.
pub(super) fn unreadable(what: impl Into<String>) -> Error {
    Error::new(ErrorKind::Failed, what).with_code("mas::a2a::answer").with_delivery(Delivery::Unknown)
}

/// An answer with members that are wrong.
pub(super) fn invalid(failure: &Failure) -> Error {
    let told: Vec<String> =
        failure.violations.iter().map(|it| format!("`{}` {}", it.field, it.description)).collect();
    unreadable(format!("the answer of the agent cannot be read: {}", told.join("; ")))
}

impl Told {
    fn into_error(self, status: Option<u16>) -> Error {
        let kind = self.kind(status);
        let mut text = match self.message.as_str() {
            "" => "the agent refused without a word".to_owned(),
            message => format!("the agent says: {message}"),
        };
        if !self.fields.is_empty() {
            text = format!("{text} ({})", self.fields.join("; "));
        }
        let error = Error::new(kind, text).with_code("mas::a2a::refused").with_delivery(match kind {
            ErrorKind::Internal | ErrorKind::Failed | ErrorKind::Unavailable => Delivery::Unknown,
            _ => Delivery::Rejected,
        });
        let error = self.reason.iter().fold(error, |error, reason| error.with("reason", reason));
        self.code.iter().fold(error, |error, code| error.with("code", code))
    }

    fn detail(&mut self, detail: Node<'_>) {
        let mut problems = Problems::default();
        let Some(mut object) = Object::of(detail, Path::Root, &mut problems) else { return };
        if let Some(reason) = object.filled("reason", &mut problems) {
            self.reason.get_or_insert_with(|| reason.into_owned());
        }
        for violation in object.list("fieldViolations", &mut problems) {
            let Some(mut object) = Object::of(violation, Path::Root, &mut problems) else { continue };
            let field = object.filled("field", &mut problems).unwrap_or_default();
            let description = object.filled("description", &mut problems).unwrap_or_default();
            self.fields.push(format!("`{field}` {description}"));
        }
    }

    fn kind(&self, status: Option<u16>) -> ErrorKind {
        match self.reason.as_deref() {
            Some("TASK_NOT_FOUND") => return ErrorKind::NotFound,
            Some("TASK_NOT_CANCELABLE") => return ErrorKind::Conflict,
            Some(
                "UNSUPPORTED_OPERATION"
                | "PUSH_NOTIFICATION_NOT_SUPPORTED"
                | "VERSION_NOT_SUPPORTED"
                | "EXTENSION_SUPPORT_REQUIRED"
                | "EXTENDED_AGENT_CARD_NOT_CONFIGURED"
                | "CONTENT_TYPE_NOT_SUPPORTED"
                | "METHOD_NOT_FOUND",
            ) => return ErrorKind::Unsupported,
            _ => {}
        }
        match (self.code, status) {
            (Some(-32001), _) => ErrorKind::NotFound,
            (Some(-32002), _) => ErrorKind::Conflict,
            (Some(-32009..=-32003 | -32601), _) => ErrorKind::Unsupported,
            (Some(-32602 | -32600 | -32700), _) => ErrorKind::Invalid,
            (_, Some(401)) => ErrorKind::Unauthenticated,
            (_, Some(403)) => ErrorKind::Denied,
            (_, Some(404)) => ErrorKind::NotFound,
            (_, Some(408 | 504)) => ErrorKind::Timeout,
            (_, Some(429)) => ErrorKind::RateLimited,
            (_, Some(501)) => ErrorKind::Unsupported,
            (_, Some(502 | 503)) => ErrorKind::Unavailable,
            (_, Some(400..=499)) => ErrorKind::Invalid,
            _ => ErrorKind::Failed,
        }
    }
}
