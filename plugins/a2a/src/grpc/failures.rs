//! Failures as gRPC tells them: a status, with `ErrorInfo`, `BadRequest` and `RetryInfo` in
//! `grpc-status-details-bin` (A2A v1.0.1, sections 5.4 and 10.6).

use http::HeaderMap;
use prost::Message;
use prost_types::Any;
use tonic::{Code, Status, metadata::MetadataMap};

use super::proto::rpc::{self, BadRequest, ErrorInfo, FieldViolation, RetryInfo};
use crate::{
    http::failures,
    model::{Failure, Reason},
};

/// The code of a reason.
pub(super) fn code(reason: Reason) -> Code {
    if reason == Reason::MethodNotFound {
        // HTTP has no word for it but "not found"; here that would be a task's.
        return Code::Unimplemented;
    }
    match failures::status(reason).1 {
        "NOT_FOUND" => Code::NotFound,
        "FAILED_PRECONDITION" => Code::FailedPrecondition,
        "INVALID_ARGUMENT" => Code::InvalidArgument,
        "UNIMPLEMENTED" => Code::Unimplemented,
        "RESOURCE_EXHAUSTED" => Code::ResourceExhausted,
        "UNAUTHENTICATED" => Code::Unauthenticated,
        "PERMISSION_DENIED" => Code::PermissionDenied,
        "UNAVAILABLE" => Code::Unavailable,
        "DEADLINE_EXCEEDED" => Code::DeadlineExceeded,
        _ => Code::Internal,
    }
}

/// A failure as a status.
pub(super) fn status(failure: &Failure) -> Status {
    let code = code(failure.reason);
    let info = ErrorInfo {
        reason: failure.reason.word().to_owned(),
        domain: failures::domain(failure.reason).to_owned(),
        metadata: failure.metadata.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect(),
    };
    let mut details = vec![any(&info)];
    if !failure.violations.is_empty() {
        let violations = failure.violations.iter();
        let field_violations = violations
            .map(|it| FieldViolation { field: it.field.clone(), description: it.description.to_string() });
        details.push(any(&BadRequest { field_violations: field_violations.collect() }));
    }
    if let Some(wait) = failure.retry_after {
        details.push(any(&RetryInfo { retry_delay: wait.try_into().ok() }));
    }
    let details = rpc::Status { code: code.into(), message: failure.message.to_string(), details };
    let mut headers = HeaderMap::new();
    failures::headers(failure, &mut headers);
    Status::with_details_and_metadata(
        code,
        failure.message.as_ref(),
        details.encode_to_vec().into(),
        MetadataMap::from_headers(headers),
    )
}

fn any<M: Message + prost::Name>(message: &M) -> Any {
    Any { type_url: M::type_url(), value: message.encode_to_vec() }
}
