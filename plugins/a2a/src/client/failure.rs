//! Errors of agents elsewhere, as errors of ours.

use std::time::Duration;

use mas_comm_kit::{Secrets, http::EXCERPT};
use mas_contracts::{Delivery, Error, ErrorKind, Retry};
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
pub(super) struct Told {
    code: Option<i32>,
    message: String,
    reason: Option<String>,
    fields: Vec<String>,
    wait: Option<Duration>,
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
        } else if let Ok(retry) = detail.to_msg::<rpc::RetryInfo>() {
            told.wait = retry.retry_delay.and_then(|delay| delay.try_into().ok());
        }
    }
    // The status of HTTP that says the same (google/rpc/code.proto).
    let status = match status.code() {
        Code::InvalidArgument | Code::FailedPrecondition | Code::OutOfRange => 400,
        Code::Unauthenticated => 401,
        Code::PermissionDenied => 403,
        Code::NotFound => 404,
        Code::ResourceExhausted => 429,
        Code::Unimplemented => 501,
        Code::Unavailable => 503,
        Code::DeadlineExceeded => 504,
        _ => 500,
    };
    told.into_error(Some(status), &Secrets::new())
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

/// What a status of HTTP alone says.
pub(super) fn kind_of(status: u16) -> ErrorKind {
    match status {
        401 | 407 => ErrorKind::Unauthenticated,
        403 => ErrorKind::Denied,
        404 | 410 => ErrorKind::NotFound,
        405 | 501 => ErrorKind::Unsupported,
        408 | 504 => ErrorKind::Timeout,
        429 => ErrorKind::RateLimited,
        300..=399 | 502 | 503 => ErrorKind::Unavailable,
        400..=499 => ErrorKind::Invalid,
        _ => ErrorKind::Failed,
    }
}

/// What a status of HTTP alone proves: an agent that refuses has executed nothing, but a server between may have given
/// up on one that works.
pub(super) fn delivery_of(status: u16) -> Delivery {
    match status {
        303 | 408 => Delivery::Unknown,
        300..=499 | 501 => Delivery::Rejected,
        _ => Delivery::Unknown,
    }
}

impl Told {
    /// The error object of JSON-RPC, or of HTTP+JSON.
    pub(super) fn of(error: Node<'_>) -> Self {
        let mut problems = Problems::default();
        let mut told = Self::default();
        if let Node::Text(text) = &error {
            told.message = text.clone().into_owned();
        } else if let Some(mut object) = Object::of(error, Path::Root, &mut problems) {
            told.code = object.int("code", &mut problems);
            told.message = object.filled("message", &mut problems).unwrap_or_default().into_owned();
            for name in ["data", "details"] {
                if let Some(Node::List(details)) = object.value(name) {
                    details.into_iter().for_each(|detail| told.detail(detail));
                }
            }
        }
        told
    }

    /// The error, under the status that it came with.
    pub(super) fn into_error(self, status: Option<u16>, secrets: &Secrets) -> Error {
        let (kind, delivery) = self.meaning(status);
        let mut text = match self.message.as_str() {
            "" => "the agent refused without a word".to_owned(),
            message => format!("the agent says: {message}"),
        };
        if !self.fields.is_empty() {
            text = format!("{text} ({})", self.fields.join("; "));
        }
        let text = secrets.excerpt(&text, EXCERPT, true);
        let mut error = Error::new(kind, text).with_code("mas::a2a::refused").with_delivery(delivery);
        if let Some(reason) = &self.reason {
            error = error.with("reason", secrets.excerpt(reason, EXCERPT, true));
        }
        if let Some(code) = self.code {
            error = error.with("code", code);
        }
        match self.wait {
            Some(wait) => error.with_retry(Retry::After(wait)),
            None => error,
        }
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

    /// Whether it is about what the agent did with the message. The server of `@a2a-js/sdk` 1.x says in these words,
    /// and by the number of what is not supported, that an agent which works began with something else than its task.
    fn is_of_a_turn(&self) -> bool {
        self.message.starts_with("Received ") && self.message.contains(" before initial ")
    }

    /// What went wrong, and what it proves.
    fn meaning(&self, status: Option<u16>) -> (ErrorKind, Delivery) {
        use Delivery::{Rejected, Unknown};
        if self.is_of_a_turn() {
            return (ErrorKind::Failed, Unknown);
        }
        match self.reason.as_deref() {
            Some("TASK_NOT_FOUND") => return (ErrorKind::NotFound, Rejected),
            Some("TASK_NOT_CANCELABLE") => return (ErrorKind::Conflict, Rejected),
            Some(
                "UNSUPPORTED_OPERATION"
                | "PUSH_NOTIFICATION_NOT_SUPPORTED"
                | "VERSION_NOT_SUPPORTED"
                | "EXTENSION_SUPPORT_REQUIRED"
                | "EXTENDED_AGENT_CARD_NOT_CONFIGURED"
                | "CONTENT_TYPE_NOT_SUPPORTED"
                | "METHOD_NOT_FOUND",
            ) => return (ErrorKind::Unsupported, Rejected),
            // The agent answered, and its server could not read it.
            Some("INVALID_AGENT_RESPONSE") => return (ErrorKind::Failed, Unknown),
            _ => {}
        }
        match (self.code, status) {
            (_, Some(status @ (401 | 403 | 429))) => (kind_of(status), Rejected),
            (Some(-32001), _) => (ErrorKind::NotFound, Rejected),
            (Some(-32002), _) => (ErrorKind::Conflict, Rejected),
            (Some(-32006 | -32603), _) => (ErrorKind::Failed, Unknown),
            (Some(-32009..=-32003 | -32601), _) => (ErrorKind::Unsupported, Rejected),
            (Some(-32602 | -32600 | -32700), _) => (ErrorKind::Invalid, Rejected),
            // An error of JSON-RPC under 200 says no more than that something went wrong.
            _ => match status.filter(|status| !(200..=299).contains(status)) {
                Some(status) => (kind_of(status), delivery_of(status)),
                None => (ErrorKind::Failed, Unknown),
            },
        }
    }
}
