//! Where may be posted to: hosts by their names, and addresses when they are dialled.

use std::{fmt, net::IpAddr, sync::Arc};

use async_trait::async_trait;
use mas_comm_kit::http::Resolver;
use mas_contracts::{Error, ErrorKind, Result, Retry};
use url::{Host, Url};

use super::address::{Reach, covers};
use crate::params::Push;

/// The code of the error for a destination that may not be posted to.
pub(super) const REFUSED: &str = "mas::a2a::webhook_refused";

/// One entry of the list of destinations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// `*`: every host.
    Any,
    /// `hooks.example.com`: this host.
    Host(String),
    /// `*.example.com`: every host below this one; kept with its dot.
    Below(String),
    /// `10.1.0.0/16`, `192.0.2.7`: addresses, also private ones, since they are named.
    Block(IpAddr, u8),
}

impl Entry {
    /// Reads an entry; nothing if it is none.
    pub(crate) fn read(text: &str) -> Option<Self> {
        if text == "*" {
            return Some(Self::Any);
        }
        let (first, bits) = text.split_once('/').unwrap_or((text, ""));
        if let Ok(address) = first.parse::<IpAddr>() {
            let all = if address.is_ipv4() { 32 } else { 128 };
            let bits = if text.contains('/') { bits.parse().ok()? } else { all };
            return (bits <= all).then_some(Self::Block(address, bits));
        }
        let (name, below) = match text.strip_prefix("*.") {
            Some(name) => (name, true),
            None => (text, false),
        };
        // Read as the host of a URL is, so that both are written the same.
        let Ok(Host::Domain(name)) = Host::parse(name) else { return None };
        let name = plain(&name);
        let fits = !name.is_empty() && !name.contains('*');
        fits.then(|| if below { Self::Below(format!(".{name}")) } else { Self::Host(name.to_owned()) })
    }
}

/// Finds the addresses of a name.
#[async_trait]
pub(super) trait Names: Send + Sync {
    /// Every address, in the order they are tried.
    async fn addresses(&self, host: &str) -> std::io::Result<Vec<IpAddr>>;
}

/// The names that the system knows.
pub(super) struct System;

#[async_trait]
impl Names for System {
    async fn addresses(&self, host: &str) -> std::io::Result<Vec<IpAddr>> {
        Ok(tokio::net::lookup_host((host, 0)).await?.map(|found| found.ip()).collect())
    }
}

/// Says where may be posted to. It is asked when a webhook is registered, with nothing looked up, and before each
/// connection, with the addresses that are dialled then.
#[derive(Clone)]
pub(super) struct Guard {
    allowed: Arc<[Entry]>,
    private: bool,
    names: Arc<dyn Names>,
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard").field("allowed", &self.allowed).field("private", &self.private).finish()
    }
}

impl Guard {
    /// The guard that the parameters describe.
    pub(super) fn new(params: &Push, names: Arc<dyn Names>) -> Self {
        let allowed = params.allow.iter().filter_map(|text| Entry::read(text)).collect();
        Self { allowed, private: params.allow_private, names }
    }

    /// What is wrong with the host of a webhook, without looking it up. Names may come to mean something later.
    pub(super) fn objection(&self, url: &Url) -> Option<&'static str> {
        let name = match url.host()? {
            Host::Domain(name) => plain(name),
            Host::Ipv4(address) => return self.objection_to(None, address.into()),
            Host::Ipv6(address) => return self.objection_to(None, address.into()),
        };
        let local = name == "localhost" || name.ends_with(".localhost");
        let some_block = self.allowed.iter().any(|entry| matches!(entry, Entry::Block(..)));
        if local && !self.private && !some_block {
            return Some("is a name of this machine, which may not be posted to");
        }
        (!self.names(name) && !some_block).then_some("is no host that may be posted to")
    }

    /// What is wrong with an address, that of a host with a name or one that is written as such.
    fn objection_to(&self, name: Option<&str>, address: IpAddr) -> Option<&'static str> {
        let address = address.to_canonical();
        let is_block = |entry: &Entry| matches!(entry, Entry::Block(first, bits) if covers(first.to_canonical(), *bits, address));
        if self.allowed.iter().any(is_block) {
            return None;
        }
        if !self.names(name.unwrap_or("")) {
            return Some("is no host that may be posted to");
        }
        match Reach::of(address) {
            Reach::Public => None,
            Reach::Private if self.private => None,
            Reach::Private => {
                Some("is an address of this machine or of a private network, which may not be posted to")
            }
            Reach::Special => Some("is an address of a special kind, which may not be posted to"),
        }
    }

    /// Whether the list says yes to a name; to the empty one if it says yes to every one.
    fn names(&self, name: &str) -> bool {
        self.allowed.is_empty()
            || self.allowed.iter().any(|entry| match entry {
                Entry::Any => true,
                Entry::Host(host) => host == name,
                Entry::Below(suffix) => name.ends_with(suffix),
                Entry::Block(..) => false,
            })
    }
}

#[async_trait]
impl Resolver for Guard {
    async fn resolve(&self, host: &str) -> Result<Vec<IpAddr>> {
        let refused = |objection: &str| {
            let message =
                format!("the host `{host}` {objection}; name it in `a2a.push.allow` if it should be");
            Error::new(ErrorKind::Denied, message).with_code(REFUSED).with_retry(Retry::Never)
        };
        if let Ok(address) = host.parse::<IpAddr>() {
            return match self.objection_to(None, address) {
                Some(objection) => Err(refused(objection)),
                None => Ok(vec![address]),
            };
        }
        let found = self.names.addresses(host).await.map_err(|error| {
            Error::new(ErrorKind::Unavailable, format!("the host `{host}` is not known: {error}"))
                .with_code("mas::a2a::webhook_unknown")
                .with_retry(Retry::Backoff)
        })?;
        let (mut fine, mut objection) = (Vec::new(), "has no address");
        for address in found {
            match self.objection_to(Some(plain(host)), address) {
                None => fine.push(address),
                Some(told) => objection = told,
            }
        }
        if fine.is_empty() { Err(refused(objection)) } else { Ok(fine) }
    }
}

/// A name without the dot of the root.
fn plain(name: &str) -> &str {
    name.strip_suffix('.').unwrap_or(name)
}
