//! Errors that say where a turn was.

use std::sync::Arc;

use mas_contracts::{Delivery, Error};

/// Where a turn is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rung {
    /// The message goes out, and its stream is open or its answer awaited.
    Send,
    /// The task is listened to again.
    Subscribe,
    /// The task is asked for.
    Get,
}

impl Rung {
    fn as_str(self) -> &'static str {
        match self {
            Self::Send => "send",
            Self::Subscribe => "subscribe",
            Self::Get => "get",
        }
    }
}

/// The error with where it happened: kind, code, advice and causes stay. Once there is a task, the message has arrived,
/// whatever became of a later call.
pub(super) fn told(
    error: &Error,
    rung: Rung,
    agent: &str,
    task: Option<&Arc<str>>,
    partial: Option<String>,
) -> Error {
    let message = match task {
        Some(task) => format!("`{agent}` ({}, task `{task}`): {}", rung.as_str(), error.message()),
        None => format!("`{agent}` ({}): {}", rung.as_str(), error.message()),
    };
    let delivery = match error.delivery() {
        Delivery::Answered => Delivery::Answered,
        _ if task.is_some() => Delivery::Unknown,
        delivery => delivery,
    };
    let mut out = Error::new(error.kind(), message)
        .with_code(error.code().into_owned())
        .with_delivery(delivery)
        .with_retry(error.retry())
        .with("rung", rung.as_str())
        .with("agent", agent);
    for (key, value) in error.context() {
        out = out.with(key.to_owned(), value);
    }
    for (key, value) in [("task", task.map(ToString::to_string)), ("partial", partial)] {
        out = value.into_iter().fold(out, |out, value| out.with(key, value));
    }
    error.causes().iter().fold(out, Error::caused_by)
}
