//! The sockets that an endpoint claims, and its place at them. Pure.

use std::fmt::Write;

use mas_contracts::{Claim, HostedEndpoint, Problem};

use super::{front::OWN, shared};
use crate::params::Params;

/// The sockets of an endpoint: HTTP, and gRPC where the program is there to serve.
pub(super) fn claims(endpoint: &HostedEndpoint, foreground: bool) -> Result<Vec<Claim>, Vec<Problem>> {
    let problems = Params::check(&endpoint.params);
    if !problems.is_empty() {
        return Err(problems);
    }
    let params =
        Params::read(&endpoint.params).map_err(|error| vec![Problem::new(error.message().to_owned())])?;
    let path = path_of(endpoint, &params);
    if let Some(problem) = reserved(endpoint, &path) {
        return Err(vec![problem]);
    }
    let listen = params.listen().ok_or_else(|| {
        vec![
            Problem::new("nothing says where to listen").at("url").help("write `url: http://127.0.0.1:9006`"),
        ]
    })?;
    let terms = shared::terms(endpoint, &params);
    let mut claims =
        vec![Claim { host: listen.host, port: listen.port, what: "http", path, terms: terms.clone() }];
    if let Some(grpc) = params.grpc().filter(|_| foreground) {
        // Callers of gRPC name the agent as their tenant.
        let path = endpoint.agent.to_string();
        claims.push(Claim { host: grpc.listen.host, port: grpc.listen.port, what: "grpc", path, terms });
    }
    Ok(claims)
}

/// The path of an endpoint: that of its url; without one the root for the entry agent, and a place of their own
/// for the others.
pub(super) fn path_of(endpoint: &HostedEndpoint, params: &Params) -> String {
    match (&params.url, endpoint.entry) {
        (Some(_), _) => params.address().map(|address| address.path).unwrap_or_default(),
        (None, true) => String::new(),
        (None, false) => below(&endpoint.agent),
    }
}

/// The path at which every agent is found.
pub(super) fn below(agent: &str) -> String {
    let mut path = String::from("/agents/");
    for byte in agent.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                path.push(char::from(byte));
            }
            other => {
                let _ = write!(path, "%{other:02X}");
            }
        }
    }
    path
}

fn reserved(endpoint: &HostedEndpoint, path: &str) -> Option<Problem> {
    let first = path.get(1..).and_then(|rest| rest.split('/').next()).map(|first| format!("/{first}"))?;
    if path == below(&endpoint.agent) || !OWN.contains(&first.as_str()) {
        return None;
    }
    let message = format!("the path `{path}` is the server's own");
    let help = format!("choose another, or `{}`, where the agent is found anyway", below(&endpoint.agent));
    Some(Problem::new(message).at("url").help(help))
}
