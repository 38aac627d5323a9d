//! What a socket has once: TLS, and the limits of its connections. Endpoints that share it have to agree.

use mas_contracts::{Error, HostedEndpoint, Result, Term};

use super::guest::Guest;
use crate::params::{self, Limits, Params};

/// A limit that belongs to a socket.
struct Limit {
    /// Its name within `a2a.limits`, and in full.
    name: &'static str,
    parameter: &'static str,
    show: fn(&Limits) -> String,
    take: fn(&mut Limits, &Limits),
}

const LIMITS: [Limit; 4] = [
    Limit {
        name: "connections",
        parameter: "a2a.limits.connections",
        show: |limits| limits.connections.to_string(),
        take: |to, from| to.connections = from.connections,
    },
    Limit {
        name: "headers",
        parameter: "a2a.limits.headers",
        show: |limits| limits.headers.to_string(),
        take: |to, from| to.headers = from.headers,
    },
    Limit {
        name: "header_bytes",
        parameter: "a2a.limits.header_bytes",
        show: |limits| limits.header_bytes.to_string(),
        take: |to, from| to.header_bytes = from.header_bytes,
    },
    Limit {
        name: "header_seconds",
        parameter: "a2a.limits.header_seconds",
        show: |limits| limits.header_seconds.to_string(),
        take: |to, from| to.header_seconds = from.header_seconds,
    },
];

/// Whether an endpoint declares a limit, rather than leaving it at its default.
fn declares(endpoint: &HostedEndpoint, limit: &str) -> bool {
    let limits = endpoint.params.pointer("/a2a/limits");
    limits.and_then(|limits| limits.get(limit)).is_some_and(|value| !value.is_null())
}

/// What an endpoint says of its sockets. Every one says whether there is TLS; limits are said where they are declared.
pub(super) fn terms(endpoint: &HostedEndpoint, params: &Params) -> Vec<Term> {
    let tls = match &params.a2a.tls {
        Some(files) => {
            let shown = |path: &std::path::Path| endpoint.base.join(path).display().to_string();
            format!("{} with {}", shown(&files.cert), shown(&files.key))
        }
        None => "none".to_owned(),
    };
    let limits = LIMITS.iter().filter(|limit| declares(endpoint, limit.name));
    let limits =
        limits.map(|limit| Term { parameter: limit.parameter, value: (limit.show)(&params.a2a.limits) });
    std::iter::once(Term { parameter: "a2a.tls", value: tls }).chain(limits).collect()
}

/// The limits of a socket: each is that of the endpoint which declares it.
pub(super) fn limits(here: &[&Guest<'_>]) -> Limits {
    let mut limits = here.first().map(|guest| guest.params.a2a.limits.clone()).unwrap_or_default();
    for limit in &LIMITS {
        if let Some(guest) = here.iter().find(|guest| declares(guest.endpoint, limit.name)) {
            (limit.take)(&mut limits, &guest.params.a2a.limits);
        }
    }
    limits
}

/// The certificate of a socket.
pub(super) fn tls<'a>(here: &[&'a Guest<'_>]) -> Option<&'a params::Tls> {
    here.first().and_then(|guest| guest.params.a2a.tls.as_ref())
}

/// Checks that the endpoints of a socket agree.
///
/// # Errors
/// Which two do not, and on what.
pub(super) fn check(here: &[&Guest<'_>]) -> Result<()> {
    let said = |guest: &&Guest<'_>| (guest.endpoint.agent.clone(), terms(guest.endpoint, &guest.params));
    let all: Vec<_> = here.iter().map(said).collect();
    for (at, (agent, terms)) in all.iter().enumerate() {
        for (other, known) in all.iter().take(at) {
            let differs = |term: &&Term| {
                known.iter().any(|one| one.parameter == term.parameter && one.value != term.value)
            };
            if let Some(term) = terms.iter().find(differs) {
                let message = format!("`{other}` and `{agent}` share a socket, but not `{}`", term.parameter);
                return Err(Error::invalid(message).with_code("mas::a2a::socket"));
            }
        }
    }
    Ok(())
}
