//! Words of v0.3.

use mas_contracts::{Speaker, TaskState};

use crate::model::Reason;

/// Which JSON of v0.3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// That of JSON-RPC.
    Rpc,
    /// That of HTTP+JSON.
    Rest,
}

impl Shape {
    /// Who says a message.
    pub(super) fn role(self, from: Speaker) -> &'static str {
        match (self, from) {
            (Self::Rpc, Speaker::User) => "user",
            (Self::Rpc, Speaker::Agent) => "agent",
            (Self::Rest, Speaker::User) => "ROLE_USER",
            (Self::Rest, Speaker::Agent) => "ROLE_AGENT",
        }
    }

    /// A state. Protobuf's spelling of "canceled" has two Ls.
    pub(super) fn state(self, state: TaskState) -> &'static str {
        match (self, state) {
            (Self::Rpc, TaskState::Submitted) => "submitted",
            (Self::Rpc, TaskState::Working) => "working",
            (Self::Rpc, TaskState::Completed) => "completed",
            (Self::Rpc, TaskState::Failed) => "failed",
            (Self::Rpc, TaskState::Canceled) => "canceled",
            (Self::Rpc, TaskState::Rejected) => "rejected",
            (Self::Rpc, TaskState::InputRequired) => "input-required",
            (Self::Rpc, TaskState::AuthRequired) => "auth-required",
            (Self::Rest, TaskState::Submitted) => "TASK_STATE_SUBMITTED",
            (Self::Rest, TaskState::Working) => "TASK_STATE_WORKING",
            (Self::Rest, TaskState::Completed) => "TASK_STATE_COMPLETED",
            (Self::Rest, TaskState::Failed) => "TASK_STATE_FAILED",
            (Self::Rest, TaskState::Canceled) => "TASK_STATE_CANCELLED",
            (Self::Rest, TaskState::Rejected) => "TASK_STATE_REJECTED",
            (Self::Rest, TaskState::InputRequired) => "TASK_STATE_INPUT_REQUIRED",
            (Self::Rest, TaskState::AuthRequired) => "TASK_STATE_AUTH_REQUIRED",
        }
    }

    /// The parts of a message.
    pub(crate) fn parts(self) -> &'static str {
        match self {
            Self::Rpc => "parts",
            Self::Rest => "content",
        }
    }
}

/// A role by its word in either shape, or by its number.
pub(crate) fn role(of: Result<&str, i64>) -> Option<Speaker> {
    match of {
        Ok("user" | "ROLE_USER") | Err(1) => Some(Speaker::User),
        Ok("agent" | "ROLE_AGENT") | Err(2) => Some(Speaker::Agent),
        _ => None,
    }
}

/// A state by its word in either shape; one that is unknown, or unspecified, is none.
#[expect(clippy::option_option, reason = "no such value, a value that says nothing, a state")]
pub(crate) fn state(of: Result<&str, i64>) -> Option<Option<TaskState>> {
    let word = match of {
        Ok("unknown") => return Some(None),
        Ok("TASK_STATE_CANCELLED") => return Some(Some(TaskState::Canceled)),
        Ok(word) if word.starts_with("TASK_STATE_") => return crate::v1::state(of),
        Ok(word) => word,
        Err(_) => return crate::v1::state(of),
    };
    let known = [
        TaskState::Submitted,
        TaskState::Working,
        TaskState::Completed,
        TaskState::Failed,
        TaskState::Canceled,
        TaskState::Rejected,
        TaskState::InputRequired,
        TaskState::AuthRequired,
    ];
    known.into_iter().find(|state| Shape::Rpc.state(*state) == word).map(Some)
}

/// The code of an error. What v0.3 has no code for is an internal error to its clients.
pub(crate) fn code(reason: Reason) -> i32 {
    match reason {
        Reason::TaskNotFound => -32001,
        Reason::TaskNotCancelable => -32002,
        Reason::PushNotificationNotSupported => -32003,
        Reason::UnsupportedOperation => -32004,
        Reason::ContentTypeNotSupported | Reason::UnsupportedMediaType => -32005,
        Reason::ExtendedAgentCardNotConfigured => -32007,
        Reason::ParseError => -32700,
        Reason::InvalidRequest | Reason::TooLarge | Reason::MethodNotAllowed | Reason::NotAcceptable => {
            -32600
        }
        Reason::MethodNotFound => -32601,
        Reason::InvalidParams => -32602,
        Reason::ExtensionSupportRequired
        | Reason::VersionNotSupported
        | Reason::Unauthenticated
        | Reason::PermissionDenied
        | Reason::ResourceExhausted
        | Reason::Unavailable
        | Reason::Timeout
        | Reason::MessageLimit
        | Reason::Internal => -32603,
    }
}
