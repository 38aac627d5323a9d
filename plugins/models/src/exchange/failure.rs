//! The errors of an exchange.

use std::time::Duration;

use mas_comm_kit::Secrets;
use mas_contracts::{Delivery, Error, ErrorKind, Retry};

use super::attempt::Progress;

/// The same error with another message.
fn reworded(error: &Error, message: String, reword: impl Fn(&str) -> String) -> Error {
    let mut new = Error::new(error.kind(), message)
        .with_code(error.code().into_owned())
        .with_delivery(error.delivery())
        .with_retry(error.retry());
    for (key, value) in error.context() {
        new = new.with(key.to_owned(), reword(value));
    }
    error.causes().iter().fold(new, |new, cause| new.caused_by(reword(cause)))
}

/// The error without the secrets; a cut, with a `…` in its place, may have gone through one.
pub(super) fn scrubbed(error: &Error, secrets: &Secrets) -> Error {
    let scrub = |text: &str| secrets.scrub_cut(text);
    reworded(error, scrub(error.message()), scrub)
}

/// The error of an answer of which a part is out already: it is not asked for again.
pub(super) fn after(error: &Error, progress: &Progress) -> Error {
    let message = format!("{}; it was not tried again, since a part was out: {progress}", error.message());
    reworded(error, message, str::to_owned)
}

/// The error of a call that had to wait longer than it may.
pub(super) fn no_time(error: &Error, pause: Duration, left: Duration) -> Error {
    let message = format!(
        "{}; it was not tried again, since the pause before it is {:.1} s and {:.1} s of the run are left",
        error.message(),
        pause.as_secs_f64(),
        left.as_secs_f64()
    );
    reworded(error, message, str::to_owned)
}

/// The error of an answer that did not come in time. `limit` is the name of the parameter.
pub(super) fn slow(limit: &'static str, time: Duration) -> Error {
    let (what, code) = match limit {
        "first_byte_timeout" => ("did not begin to answer", "mas::llm::first_byte_timeout"),
        "idle_timeout" => {
            ("stopped in the middle of its answer and sent nothing more", "mas::llm::idle_timeout")
        }
        _ => ("did not finish its answer", "mas::llm::timeout"),
    };
    Error::new(ErrorKind::Timeout, format!("the model {what} within {} s (`{limit}`)", time.as_secs_f64()))
        .with_code(code)
        .with_delivery(Delivery::Unknown)
        .with_retry(Retry::Backoff)
}

/// The error of an answer that ended before its terminal marker.
pub(super) fn incomplete(progress: &Progress) -> Error {
    Error::new(
        ErrorKind::Unavailable,
        format!("the model's answer ended before it was complete, after {progress}"),
    )
    .with_code("mas::llm::incomplete")
    .with_delivery(Delivery::Unknown)
    .with_retry(Retry::Backoff)
}

/// The error of a body that is neither a stream of events nor JSON.
pub(super) fn undecodable(what: &str) -> Error {
    Error::new(ErrorKind::Failed, format!("the answer is no answer of a model: {what}"))
        .with_code("mas::llm::undecodable")
        .with_delivery(Delivery::Answered)
}
