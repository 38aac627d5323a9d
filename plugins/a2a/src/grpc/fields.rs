//! Fields that the messages of both versions have.

use std::sync::Arc;

use mas_contracts::{PartMeta, Speaker, TaskState};

use super::proto::v1 as proto;
use crate::json::{Path, Problems};

/// A text, or nothing where it is empty: protobuf has no other word for absent.
pub(super) fn filled<T: From<String>>(text: String) -> Option<T> {
    (!text.is_empty()).then(|| text.into())
}

/// A text that has to be there.
pub(super) fn required(text: String, path: Path<'_>, problems: &mut Problems) -> String {
    if text.is_empty() {
        problems.add(path, "is required");
    }
    text
}

/// A message that has to be there.
pub(super) fn present<T>(message: Option<T>, path: Path<'_>, problems: &mut Problems) -> Option<T> {
    if message.is_none() {
        problems.add(path, "is required");
    }
    message
}

/// A number that counts something: not below zero.
pub(super) fn count(number: Option<i32>, path: Path<'_>, problems: &mut Problems) -> Option<u32> {
    let number = number?;
    if number < 0 {
        problems.add(path, "is negative");
    }
    u32::try_from(number).ok()
}

/// Who says a message.
pub(super) fn role(number: i32, path: Path<'_>, problems: &mut Problems) -> Option<Speaker> {
    let (role, wrong) = match proto::Role::try_from(number) {
        Ok(proto::Role::User) => (Some(Speaker::User), None),
        Ok(proto::Role::Agent) => (Some(Speaker::Agent), None),
        Ok(proto::Role::Unspecified) => (None, Some("is required")),
        Err(_) => (None, Some("is not one of the values of its type")),
    };
    if let Some(wrong) = wrong {
        problems.add(path, wrong);
    }
    role
}

/// Who says a message, if its number says so.
pub(super) fn role_or(number: i32, otherwise: Speaker) -> Speaker {
    match proto::Role::try_from(number) {
        Ok(proto::Role::User) => Speaker::User,
        Ok(proto::Role::Agent) => Speaker::Agent,
        Ok(proto::Role::Unspecified) | Err(_) => otherwise,
    }
}

/// The number of who says a message.
pub(super) fn role_number(from: Speaker) -> i32 {
    match from {
        Speaker::User => proto::Role::User,
        Speaker::Agent => proto::Role::Agent,
    }
    .into()
}

/// A state; the unspecified one is none.
pub(super) fn state(number: i32, path: Path<'_>, problems: &mut Problems) -> Option<TaskState> {
    Some(match proto::TaskState::try_from(number) {
        Ok(proto::TaskState::Unspecified) => return None,
        Ok(proto::TaskState::Submitted) => TaskState::Submitted,
        Ok(proto::TaskState::Working) => TaskState::Working,
        Ok(proto::TaskState::Completed) => TaskState::Completed,
        Ok(proto::TaskState::Failed) => TaskState::Failed,
        Ok(proto::TaskState::Canceled) => TaskState::Canceled,
        Ok(proto::TaskState::InputRequired) => TaskState::InputRequired,
        Ok(proto::TaskState::Rejected) => TaskState::Rejected,
        Ok(proto::TaskState::AuthRequired) => TaskState::AuthRequired,
        Err(_) => {
            problems.add(path, "is not one of the values of its type");
            return None;
        }
    })
}

/// The number of a state.
pub(crate) fn state_number(state: TaskState) -> i32 {
    match state {
        TaskState::Submitted => proto::TaskState::Submitted,
        TaskState::Working => proto::TaskState::Working,
        TaskState::Completed => proto::TaskState::Completed,
        TaskState::Failed => proto::TaskState::Failed,
        TaskState::Canceled => proto::TaskState::Canceled,
        TaskState::Rejected => proto::TaskState::Rejected,
        TaskState::InputRequired => proto::TaskState::InputRequired,
        TaskState::AuthRequired => proto::TaskState::AuthRequired,
    }
    .into()
}

/// What is said about a part, if anything.
pub(super) fn boxed(meta: PartMeta) -> Option<Box<PartMeta>> {
    (meta != PartMeta::default()).then(|| Box::new(meta))
}

/// Texts that are shared from here on.
pub(super) fn shared(texts: Vec<String>) -> Vec<Arc<str>> {
    texts.into_iter().map(Into::into).collect()
}

/// An id that may be absent.
pub(super) fn text(of: Option<&Arc<str>>) -> String {
    of.map(|text| text.to_string()).unwrap_or_default()
}

/// Texts as the wire has them.
pub(super) fn texts(of: &[Arc<str>]) -> Vec<String> {
    of.iter().map(|text| text.to_string()).collect()
}
