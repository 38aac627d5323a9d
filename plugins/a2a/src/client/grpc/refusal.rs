//! Why a call over gRPC has no answer.

use std::error::Error as StdError;

use hyper_util::client::legacy;
use mas_comm_kit::http::{BODY_TOO_LARGE, shown, tls_failure};
use mas_contracts::{Delivery, Error, ErrorKind, Retry};
use tonic::{Code, Status};

use crate::client::failure;

/// An error of the agent, or that there is no connection to it.
pub(super) fn refusal(status: &Status, url: &str) -> Error {
    if let Some(error) = status.source() {
        return unreachable(url, error);
    }
    // The library's own words; nobody else says this of a message that came.
    if status.code() == Code::OutOfRange && status.message().contains("decoded message length too large") {
        return Error::new(ErrorKind::Limit, "the answer of the agent is larger than is read here")
            .with_code(BODY_TOO_LARGE)
            .with_delivery(Delivery::Answered);
    }
    failure::of_status(status)
}

/// Why there is no answer: only an attempt to connect says that nothing was sent.
fn unreachable(url: &str, error: &(dyn StdError + 'static)) -> Error {
    let url = shown(url);
    if let Some(told) = tls_failure(error, &url) {
        return told;
    }
    let causes: Vec<_> = std::iter::successors(Some(error), |error| (*error).source()).collect();
    let connecting = causes.iter().filter_map(|cause| cause.downcast_ref::<legacy::Error>());
    let connecting = connecting.into_iter().any(legacy::Error::is_connect);
    let text = causes.last().map_or_else(String::new, ToString::to_string);
    let text = match text.contains("NoApplicationProtocol") {
        true => "it does not speak HTTP/2 with TLS".to_owned(),
        false => text,
    };
    Error::new(ErrorKind::Unavailable, format!("the agent at {url} cannot be reached over gRPC: {text}"))
        .with_code("mas::a2a::connection")
        .with_delivery(if connecting { Delivery::NotSent } else { Delivery::Unknown })
        .with_retry(Retry::Backoff)
}
