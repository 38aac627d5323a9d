//! Errors of operations, as every binding tells them (A2A v1.0.1, sections 3.3.2 and 5.4).

use std::{borrow::Cow, time::Duration};

/// Why an operation is refused; the word that clients decide by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Reason {
    /// No such task for this caller.
    TaskNotFound,
    /// The task is in a terminal state.
    TaskNotCancelable,
    /// The card says no to push notifications.
    PushNotificationNotSupported,
    /// Not in this state, or not by this agent.
    UnsupportedOperation,
    /// A part's media type is not taken.
    ContentTypeNotSupported,
    /// The card promises an extended card, and there is none.
    ExtendedAgentCardNotConfigured,
    /// The card requires an extension that the caller does not ask for.
    ExtensionSupportRequired,
    /// Another version of the protocol.
    VersionNotSupported,
    /// The body is no JSON.
    ParseError,
    /// The request is no request of the binding.
    InvalidRequest,
    /// There is no such method or path.
    MethodNotFound,
    /// The path knows another verb.
    MethodNotAllowed,
    /// A field is missing or wrong.
    InvalidParams,
    /// The request's media type is not taken.
    UnsupportedMediaType,
    /// No media type of the answer is one that the caller takes.
    NotAcceptable,
    /// The body is larger than the limit.
    TooLarge,
    /// Who calls is not known.
    Unauthenticated,
    /// Who calls may not.
    PermissionDenied,
    /// Too many at once, or too fast.
    ResourceExhausted,
    /// Not now: shutting down, or overloaded.
    Unavailable,
    /// The request took too long to arrive.
    Timeout,
    /// The turn took longer than a message may, and was stopped.
    MessageLimit,
    /// A defect of the server.
    Internal,
}

impl Reason {
    /// The word that tells a program why (`ErrorInfo.reason`).
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::TaskNotFound => "TASK_NOT_FOUND",
            Self::TaskNotCancelable => "TASK_NOT_CANCELABLE",
            Self::PushNotificationNotSupported => "PUSH_NOTIFICATION_NOT_SUPPORTED",
            Self::UnsupportedOperation => "UNSUPPORTED_OPERATION",
            Self::ContentTypeNotSupported => "CONTENT_TYPE_NOT_SUPPORTED",
            Self::ExtendedAgentCardNotConfigured => "EXTENDED_AGENT_CARD_NOT_CONFIGURED",
            Self::ExtensionSupportRequired => "EXTENSION_SUPPORT_REQUIRED",
            Self::VersionNotSupported => "VERSION_NOT_SUPPORTED",
            Self::ParseError => "PARSE_ERROR",
            Self::InvalidRequest => "INVALID_REQUEST",
            Self::MethodNotFound => "METHOD_NOT_FOUND",
            Self::MethodNotAllowed => "METHOD_NOT_ALLOWED",
            Self::InvalidParams => "INVALID_PARAMS",
            Self::UnsupportedMediaType => "UNSUPPORTED_MEDIA_TYPE",
            Self::NotAcceptable => "NOT_ACCEPTABLE",
            Self::TooLarge => "REQUEST_TOO_LARGE",
            Self::Unauthenticated => "UNAUTHENTICATED",
            Self::PermissionDenied => "PERMISSION_DENIED",
            Self::ResourceExhausted => "RESOURCE_EXHAUSTED",
            Self::Unavailable => "UNAVAILABLE",
            Self::Timeout => "TIMEOUT",
            Self::MessageLimit => "MESSAGE_RESPONSE_LIMIT_EXCEEDED",
            Self::Internal => "INTERNAL_ERROR",
        }
    }
}

/// What is wrong with one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Violation {
    /// The field, in the words of the protocol, such as `message.parts[0].raw`.
    pub(crate) field: String,
    /// What is wrong with it.
    pub(crate) description: Cow<'static, str>,
}

/// A refused or failed operation.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Failure {
    /// Why.
    pub(crate) reason: Reason,
    /// One sentence for a person; no secret, nothing of other callers.
    pub(crate) message: Cow<'static, str>,
    /// The fields that are wrong.
    pub(crate) violations: Vec<Violation>,
    /// What it is about, for a program.
    pub(crate) metadata: Vec<(&'static str, String)>,
    /// When to try again.
    pub(crate) retry_after: Option<Duration>,
    /// How to authenticate (`WWW-Authenticate`).
    pub(crate) challenge: Option<String>,
}

impl Failure {
    /// A failure with a sentence.
    pub(crate) fn new(reason: Reason, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            reason,
            message: message.into(),
            violations: Vec::new(),
            metadata: Vec::new(),
            retry_after: None,
            challenge: None,
        }
    }

    /// No such task, or none that this caller may know of.
    pub(crate) fn no_task(id: &str) -> Self {
        Self::new(Reason::TaskNotFound, format!("there is no task `{id}`")).with("taskId", id)
    }

    /// Fields that are missing or wrong; the sentence names the first.
    pub(crate) fn invalid(violations: Vec<Violation>) -> Self {
        let message = match violations.as_slice() {
            [] => Cow::Borrowed("the parameters are invalid"),
            [one] => format!("`{}` {}", one.field, one.description).into(),
            [one, rest @ ..] => {
                format!("`{}` {} (and {} more)", one.field, one.description, rest.len()).into()
            }
        };
        Self { violations, ..Self::new(Reason::InvalidParams, message) }
    }

    /// Says what it is about.
    pub(crate) fn with(mut self, key: &'static str, value: impl Into<String>) -> Self {
        self.metadata.push((key, value.into()));
        self
    }

    /// Says when to try again.
    pub(crate) fn retry_after(mut self, wait: Duration) -> Self {
        self.retry_after = Some(wait);
        self
    }
}

impl Violation {
    /// What is wrong with a field.
    pub(crate) fn new(field: impl Into<String>, description: impl Into<Cow<'static, str>>) -> Self {
        Self { field: field.into(), description: description.into() }
    }
}
