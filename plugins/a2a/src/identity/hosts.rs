//! Hosts, as addresses of agents name them.

use std::{borrow::Cow, fmt};

use mas_comm_kit::http::is_loopback;
use url::Url;

/// Schemes with TLS.
const SECURE: [&str; 3] = ["https", "grpcs", "a2as"];

/// A host, with a port where one is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Host {
    name: String,
    port: Option<u16>,
}

impl Host {
    /// The host of an address; of one without a scheme, such as `host:port`, too.
    pub(super) fn of(address: &str) -> Option<Self> {
        let url = Url::parse(&plain(address)).ok()?;
        Some(Self { name: url.host_str()?.trim_end_matches('.').to_owned(), port: url.port() })
    }

    /// The host of a word such as `fares.example` or `fares.example:8443`.
    pub(super) fn named(word: &str) -> Option<Self> {
        let url = Url::parse(&format!("http://{word}/")).ok()?;
        let bare = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
        let bare = bare && url.username().is_empty() && url.password().is_none() && !word.contains('/');
        Self::of(word).filter(|_| bare && !word.trim().is_empty())
    }

    /// Whether both are the same machine, by name; its ports may be those of several bindings.
    pub(super) fn is_same_machine(&self, other: &Self) -> bool {
        self.name == other.name
    }

    /// Whether this word means that host: any port of it where the word names none.
    pub(super) fn covers(&self, other: &Self) -> bool {
        self.name == other.name && (self.port.is_none() || self.port == other.port)
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            Some(port) => write!(f, "{}:{port}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// Whether nobody reads along on the way to an address: it has TLS, or is on this machine.
pub(super) fn is_private(address: &str) -> bool {
    let scheme = address.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
    scheme.is_some_and(|scheme| SECURE.contains(&scheme.as_str())) || is_loopback(&plain(address))
}

/// The address in words of HTTP, whose rules all of them are read by.
fn plain(address: &str) -> Cow<'_, str> {
    match address.split_once("://") {
        Some((scheme, _)) if scheme.eq_ignore_ascii_case("http") => Cow::Borrowed(address),
        Some((_, rest)) => Cow::Owned(format!("http://{rest}")),
        None => Cow::Owned(format!("http://{address}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_read_from_every_kind_of_address() {
        let host = |address: &str| Host::of(address).map(|host| host.to_string());
        for (address, expected) in [
            ("https://Fares.Example/a2a", Some("fares.example")),
            ("https://fares.example.:8443/", Some("fares.example:8443")),
            ("a2as://fares.example:8443", Some("fares.example:8443")),
            ("fares.example:50051", Some("fares.example:50051")),
            ("grpc://[::1]:1", Some("[::1]:1")),
            ("https://other.example\\@fares.example/", Some("other.example")),
            ("https://fares.example@other.example/", Some("other.example")),
            ("http://0x7f.1/", Some("127.0.0.1")),
            ("https://", None),
            ("", None),
        ] {
            assert_eq!(host(address).as_deref(), expected, "{address}");
        }
        for wrong in ["", "https://h", "h/x", "a@h", "h?x", "h:x", "h#", " "] {
            assert_eq!(Host::named(wrong), None, "{wrong}");
        }
        let (any, one) = (Host::named("h").unwrap(), Host::named("H:1").unwrap());
        let at = |address| Host::of(address).unwrap();
        assert!(any.covers(&at("h:1")) && one.covers(&at("grpc://h:1")) && !one.covers(&at("h:2")));
        assert!(!any.covers(&at("h.example")));
    }

    #[test]
    fn tls_and_this_machine_are_private() {
        for private in [
            "https://h",
            "HTTPS://h",
            "a2as://h",
            "grpcs://h:1",
            "http://localhost",
            "127.0.0.1:8",
            "[::1]:8",
        ] {
            assert!(is_private(private), "{private}");
        }
        for open in ["http://h", "h:1", "grpc://h", "a2a://h", "http://https://h", "httpss://h", ""] {
            assert!(!is_private(open), "{open}");
        }
    }
}
