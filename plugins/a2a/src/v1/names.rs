//! Words of v1.0.

use mas_contracts::{Speaker, TaskState};

use crate::model::Reason;

/// Who says a message.
pub(super) fn role_name(from: Speaker) -> &'static str {
    match from {
        Speaker::User => "ROLE_USER",
        Speaker::Agent => "ROLE_AGENT",
    }
}

/// A role by its word or its number.
pub(crate) fn role(of: Result<&str, i64>) -> Option<Speaker> {
    match of {
        Ok("ROLE_USER") | Err(1) => Some(Speaker::User),
        Ok("ROLE_AGENT") | Err(2) => Some(Speaker::Agent),
        _ => None,
    }
}

/// A state.
pub(crate) fn state_name(state: TaskState) -> &'static str {
    match state {
        TaskState::Submitted => "TASK_STATE_SUBMITTED",
        TaskState::Working => "TASK_STATE_WORKING",
        TaskState::Completed => "TASK_STATE_COMPLETED",
        TaskState::Failed => "TASK_STATE_FAILED",
        TaskState::Canceled => "TASK_STATE_CANCELED",
        TaskState::Rejected => "TASK_STATE_REJECTED",
        TaskState::InputRequired => "TASK_STATE_INPUT_REQUIRED",
        TaskState::AuthRequired => "TASK_STATE_AUTH_REQUIRED",
    }
}

/// A state by its word or its number; the unspecified one is none.
#[expect(clippy::option_option, reason = "no such value, a value that says nothing, a state")]
pub(crate) fn state(of: Result<&str, i64>) -> Option<Option<TaskState>> {
    Some(Some(match of {
        Ok("TASK_STATE_UNSPECIFIED") | Err(0) => return Some(None),
        Ok("TASK_STATE_SUBMITTED") | Err(1) => TaskState::Submitted,
        Ok("TASK_STATE_WORKING") | Err(2) => TaskState::Working,
        Ok("TASK_STATE_COMPLETED") | Err(3) => TaskState::Completed,
        Ok("TASK_STATE_FAILED") | Err(4) => TaskState::Failed,
        Ok("TASK_STATE_CANCELED") | Err(5) => TaskState::Canceled,
        Ok("TASK_STATE_INPUT_REQUIRED") | Err(6) => TaskState::InputRequired,
        Ok("TASK_STATE_REJECTED") | Err(7) => TaskState::Rejected,
        Ok("TASK_STATE_AUTH_REQUIRED") | Err(8) => TaskState::AuthRequired,
        _ => return None,
    }))
}

/// The code of an error over JSON-RPC (sections 5.4 and 9.5). What only HTTP has a word for is a server error of
/// the range that JSON-RPC leaves to implementations.
pub(crate) fn code(reason: Reason) -> i32 {
    match reason {
        Reason::TaskNotFound => -32001,
        Reason::TaskNotCancelable => -32002,
        Reason::PushNotificationNotSupported => -32003,
        Reason::UnsupportedOperation => -32004,
        Reason::ContentTypeNotSupported | Reason::UnsupportedMediaType => -32005,
        Reason::ExtendedAgentCardNotConfigured => -32007,
        Reason::ExtensionSupportRequired => -32008,
        Reason::VersionNotSupported => -32009,
        Reason::ParseError => -32700,
        Reason::InvalidRequest | Reason::TooLarge | Reason::MethodNotAllowed | Reason::NotAcceptable => {
            -32600
        }
        Reason::MethodNotFound => -32601,
        Reason::InvalidParams => -32602,
        Reason::Internal => -32603,
        Reason::Unauthenticated
        | Reason::PermissionDenied
        | Reason::ResourceExhausted
        | Reason::Unavailable
        | Reason::Timeout
        | Reason::MessageLimit => -32000,
    }
}
