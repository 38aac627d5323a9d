//! What the HTTP library reports, in the terms of mas.

use std::{error::Error as StdError, io};

use mas_contracts::{Delivery, Error, ErrorKind, Retry};
use rustls::CertificateError;

use super::shown;
use crate::Secrets;

/// The code of the error for a certificate that is not accepted.
const CERTIFICATE: &str = "mas::http::certificate";

/// No answer came, or not its head.
pub(super) fn unanswered(error: &reqwest::Error, url: &str, secrets: &Secrets) -> Error {
    let place = secrets.scrub(&shown(url)).into_owned();
    if let Some(problem) = certificate_problem(error) {
        let what = format!("`{place}` cannot be trusted: {problem}");
        return Error::new(ErrorKind::Unavailable, what).with_code(CERTIFICATE).with_retry(Retry::Never);
    }
    let cause = secrets.scrub(&innermost(error)).into_owned();
    if error.is_builder() {
        let what = format!("the request to `{place}` cannot be made: {cause}");
        return Error::invalid(what).with_code("mas::http::request").with_retry(Retry::Never);
    }
    if error.is_connect() {
        let slow = error.is_timeout();
        let kind = if slow { ErrorKind::Timeout } else { ErrorKind::Unavailable };
        let what = match (slow, error.is_dns()) {
            (true, _) => format!("connecting to `{place}` took too long"),
            (false, true) => format!("the host of `{place}` is not known: {cause}"),
            (false, false) => format!("no connection to `{place}`: {cause}"),
        };
        return Error::new(kind, what).with_code("mas::http::connect").with_retry(Retry::Backoff);
    }
    let what = format!("`{place}` closed the connection before it answered: {cause}");
    Error::new(ErrorKind::Unavailable, what)
        .with_code("mas::http::closed")
        .with_delivery(Delivery::Unknown)
        .with_retry(Retry::Backoff)
}

/// The body of an answer was cut off.
pub(super) fn cut(error: &reqwest::Error, url: &str, secrets: &Secrets) -> Error {
    let place = secrets.scrub(&shown(url)).into_owned();
    let cause = secrets.scrub(&innermost(error)).into_owned();
    Error::new(ErrorKind::Unavailable, format!("the answer of `{place}` was cut off: {cause}"))
        .with_code("mas::http::cut")
        .with_delivery(Delivery::Unknown)
        .with_retry(Retry::Backoff)
}

type Cause<'a> = &'a (dyn StdError + 'static);

/// Every cause, from the outermost to the innermost.
fn causes(error: &reqwest::Error) -> impl Iterator<Item = Cause<'_>> {
    std::iter::successors(Some(error as Cause<'_>), |error| below(*error))
}

/// The cause below this one. What an I/O error wraps is no source of it, but a cause.
fn below(error: Cause<'_>) -> Option<Cause<'_>> {
    let wrapped = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    wrapped.map(|inner| inner as Cause<'_>).or_else(|| error.source())
}

fn innermost(error: &reqwest::Error) -> String {
    // Of an error without a cause only the library's own words are left, and those may hold the URL.
    causes(error).skip(1).last().map_or_else(|| "no reason is given".to_owned(), ToString::to_string)
}

fn certificate_problem(error: &reqwest::Error) -> Option<String> {
    let error = causes(error).find_map(|cause| cause.downcast_ref::<rustls::Error>())?;
    let rustls::Error::InvalidCertificate(problem) = error else { return None };
    Some(match problem {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "its certificate has expired".to_owned()
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "its certificate is not valid yet; is the clock of this machine right?".to_owned()
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "its certificate is for another host".to_owned()
        }
        CertificateError::UnknownIssuer => {
            "its certificate is signed by an authority that this machine does not know; \
             name the file of that authority's certificate as `ca_file`, or in SSL_CERT_FILE"
                .to_owned()
        }
        CertificateError::Revoked => "its certificate is revoked".to_owned(),
        other => format!("its certificate is not accepted: {other}"),
    })
}
