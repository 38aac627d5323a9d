//! What the HTTP library reports, in the terms of mas.

use std::{error::Error as StdError, io};

use mas_contracts::{Delivery, Error, ErrorKind, Retry};
use rustls::{AlertDescription, CertificateError};

use super::shown;
use crate::Secrets;

/// The code of the error for a certificate that is not accepted.
const CERTIFICATE: &str = "mas::http::certificate";

/// Most names of a certificate that an error shows.
const NAMES: usize = 3;

/// No answer came, or not its head. `proxied` says whether the client knows of a proxy.
pub(super) fn unanswered(error: &reqwest::Error, url: &str, proxied: bool, secrets: &Secrets) -> Error {
    // A resolver of the caller's says it in its own words.
    if let Some(told) = causes(error).find_map(|cause| cause.downcast_ref::<Error>()) {
        return told.clone();
    }
    let place = secrets.scrub(&shown(url)).into_owned();
    if let Some(told) = tls_failure(error, &place) {
        return told;
    }
    let cause = match reason(error) {
        Some(reason) => reason.to_owned(),
        None if proxied => {
            format!(
                "{} (for a host that NO_PROXY does not name, by the proxy)",
                secrets.scrub(&innermost(error))
            )
        }
        None => secrets.scrub(&innermost(error)).into_owned(),
    };
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

/// What is wrong with the certificate of the server at `place`, or with that of this side, where that is why an
/// attempt failed.
#[must_use]
pub fn tls_failure(error: &(dyn StdError + 'static), place: &str) -> Option<Error> {
    if let Some(problem) = certificate_problem(error) {
        let what = format!("`{place}` cannot be trusted: {problem}");
        let told = Error::new(ErrorKind::Unavailable, what).with_code(CERTIFICATE);
        return Some(told.with_retry(Retry::Never));
    }
    if wants_certificate(error) {
        let what = format!(
            "`{place}` wants a certificate of this side, or does not take the one it was shown; \
             name files as `client_cert` and `client_key`"
        );
        let told = Error::new(ErrorKind::Unauthenticated, what).with_code("mas::http::client_cert");
        return Some(told.with_delivery(Delivery::Rejected).with_retry(Retry::Never));
    }
    None
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

/// What stands behind a failure that the library has no plain words for.
fn reason(error: &reqwest::Error) -> Option<&'static str> {
    let told = causes(error).skip(1).last()?;
    if matches!(told.downcast_ref(), Some(rustls::Error::InvalidMessage(_))) {
        return Some("it does not speak TLS; is it `http://`, or another port?");
    }
    // The type of this error is not public.
    match told.to_string().strip_prefix("tunnel error: ")? {
        "proxy authorization required" => {
            Some("the proxy wants a name and a password; write it as http://USER:PASSWORD@HOST:PORT")
        }
        _ => Some("the proxy does not let it through; set NO_PROXY for hosts that need none"),
    }
}

type Cause<'a> = &'a (dyn StdError + 'static);

/// Every cause, from the outermost to the innermost.
fn causes<'a>(error: Cause<'a>) -> impl Iterator<Item = Cause<'a>> {
    std::iter::successors(Some(error), |error| below(*error))
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

/// What a server says of the certificate of this side (RFC 8446, section 6.2).
const ALERTS: [AlertDescription; 9] = [
    AlertDescription::CertificateRequired,
    AlertDescription::BadCertificate,
    AlertDescription::UnsupportedCertificate,
    AlertDescription::CertificateRevoked,
    AlertDescription::CertificateExpired,
    AlertDescription::CertificateUnknown,
    AlertDescription::UnknownCA,
    AlertDescription::AccessDenied,
    AlertDescription::DecryptError,
];

/// Whether the server broke off because of the certificate of this side, before it took a request.
fn wants_certificate(error: Cause<'_>) -> bool {
    causes(error).any(|cause| match cause.downcast_ref() {
        Some(rustls::Error::AlertReceived(alert)) => ALERTS.contains(alert),
        Some(_) => false,
        // HTTP/2 keeps only the words of what broke its connection.
        None => cause
            .to_string()
            .strip_prefix("received fatal alert: ")
            .is_some_and(|told| ALERTS.iter().any(|alert| told == format!("{alert:?}"))),
    })
}

fn certificate_problem(error: Cause<'_>) -> Option<String> {
    let error = causes(error).find_map(|cause| cause.downcast_ref::<rustls::Error>())?;
    let rustls::Error::InvalidCertificate(problem) = error else { return None };
    Some(match problem {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "its certificate has expired".to_owned()
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "its certificate is not valid yet; is the clock of this machine right?".to_owned()
        }
        CertificateError::NotValidForNameContext { presented, .. } if !presented.is_empty() => {
            // Each is written with its kind: `DnsName("example.org")`, `IpAddress(127.0.0.1)`.
            let host = |name: &String| {
                let inner = name.split_once('(').map_or(&**name, |(_, inner)| inner);
                inner.trim_matches(['"', ')']).to_owned()
            };
            let hosts: Vec<String> = presented.iter().take(NAMES).map(host).collect();
            let more = if presented.len() > NAMES { ", …" } else { "" };
            format!("its certificate is for another host: {}{more}", hosts.join(", "))
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "its certificate is for another host".to_owned()
        }
        // As `openssl req -x509` makes it by default.
        CertificateError::Other(other) if other.to_string().contains("CaUsedAsEndEntity") => {
            "its certificate is that of an authority, with which no server may show itself; \
             make one for the server (`CA:FALSE`)"
                .to_owned()
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
