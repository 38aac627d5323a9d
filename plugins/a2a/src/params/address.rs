//! Addresses: what is bound, and what callers are told.

use super::{Listen, Params};

/// Where an endpoint is found: what its URL says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    /// Whether it is https.
    pub(crate) secure: bool,
    /// Host, as written; an IPv6 address with its brackets.
    pub(crate) host: String,
    /// Port, that of the scheme if none is written.
    pub(crate) port: u16,
    /// The path, without a slash at its end; empty for the root.
    pub(crate) path: String,
}

impl Address {
    /// Reads an absolute http or https URL without user, query and fragment.
    pub(crate) fn parse(url: &str) -> Result<Self, &'static str> {
        let scheme = |word: &str| url.get(..word.len()).filter(|begin| begin.eq_ignore_ascii_case(word));
        let (secure, rest) = match (scheme("https://"), scheme("http://")) {
            (Some(begin), _) => (true, url.get(begin.len()..)),
            (None, Some(begin)) => (false, url.get(begin.len()..)),
            (None, None) => return Err("expected an absolute http or https address"),
        };
        let rest = rest.unwrap_or_default();
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let (host, port) = host_and_port(authority)?;
        let port = port.unwrap_or(if secure { 443 } else { 80 });
        let path = path.trim_end_matches('/');
        let plain = |c: char| c.is_ascii_alphanumeric() || "-._~".contains(c);
        let segment = |segment: &str| {
            !segment.is_empty() && !matches!(segment, "." | "..") && segment.chars().all(plain)
        };
        match path.strip_prefix('/') {
            Some(segments) if !segments.split('/').all(segment) => {
                Err("a path is made of letters, digits, `-`, `.`, `_`, `~` and single slashes")
            }
            _ => Ok(Self { secure, host, port, path: path.to_owned() }),
        }
    }

    /// The URL again, the port only if it is not that of the scheme, and no slash at the end.
    pub(crate) fn url(&self) -> String {
        let (scheme, usual) = if self.secure { ("https", 443) } else { ("http", 80) };
        let port = if self.port == usual { String::new() } else { format!(":{}", self.port) };
        format!("{scheme}://{}{port}{}", self.host, self.path)
    }

    /// The host without the brackets of an IPv6 address, as it is bound.
    pub(crate) fn bare_host(&self) -> &str {
        self.host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(&self.host)
    }
}

/// Where gRPC is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GrpcAddress {
    /// The socket to bind.
    pub(crate) listen: Listen,
    /// What callers are told, as `host:port` (A2A v1.0, section 4.4.6); none if the port is still to be chosen.
    pub(crate) told: Option<String>,
}

impl Params {
    /// The address that callers are told. One that is not declared is that of the socket; port 0 there means that
    /// it is known only after the bind.
    pub(crate) fn address(&self) -> Option<Address> {
        match &self.url {
            Some(url) => Address::parse(url.trim()).ok(),
            None => self.a2a.listen.as_ref().map(|listen| Address {
                secure: self.a2a.tls.is_some(),
                host: told_host(&listen.host),
                port: listen.port,
                path: String::new(),
            }),
        }
    }

    /// The socket to bind.
    pub(crate) fn listen(&self) -> Option<Listen> {
        let declared = self.a2a.listen.clone();
        declared
            .or_else(|| self.address().map(|at| Listen { host: at.bare_host().to_owned(), port: at.port }))
    }

    /// Where gRPC is found; none if it is not declared.
    pub(crate) fn grpc(&self) -> Option<GrpcAddress> {
        let declared = self.a2a.grpc_url.as_deref().and_then(|url| grpc_host_and_port(url).ok());
        let port = self.a2a.grpc_port.or(declared.as_ref().map(|(_, port)| *port))?;
        let host = self.listen()?.host;
        let told = match declared {
            Some((host, port)) => Some(format!("{host}:{port}")),
            None if port == 0 => None,
            None => self.address().map(|at| format!("{}:{port}", at.host)),
        };
        Some(GrpcAddress { listen: Listen { host, port }, told })
    }
}

/// Reads `host:port`, with a scheme before it or without, as agents of several SDKs write it.
pub(super) fn grpc_host_and_port(url: &str) -> Result<(String, u16), &'static str> {
    let url = url.trim();
    let rest =
        ["https://", "http://", "grpcs://", "grpc://"].iter().find_map(|scheme| url.strip_prefix(scheme));
    let rest = rest.unwrap_or(url).trim_end_matches('/');
    match host_and_port(rest)? {
        (host, Some(port)) if port > 0 => Ok((host, port)),
        _ => Err("the port is missing: write `host:port`"),
    }
}

fn host_and_port(authority: &str) -> Result<(String, Option<u16>), &'static str> {
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (authority, None),
    };
    let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let valid = match inner {
        Some(inner) => inner.parse::<std::net::Ipv6Addr>().is_ok(),
        None => !host.is_empty() && host.chars().all(|c| c.is_alphanumeric() || "-._".contains(c)),
    };
    if !valid {
        return Err("the host is missing or malformed");
    }
    let port = port.map(str::parse::<u16>).transpose().map_err(|_| "the port is not a number up to 65535")?;
    Ok((host.to_owned(), port))
}

/// A host that callers on this machine can dial, for a socket that is bound to it.
fn told_host(host: &str) -> String {
    match host.parse::<std::net::IpAddr>() {
        Ok(address) if address.is_unspecified() => "127.0.0.1".to_owned(),
        Ok(std::net::IpAddr::V6(address)) => format!("[{address}]"),
        _ => host.to_owned(),
    }
}
