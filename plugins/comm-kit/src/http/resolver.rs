//! Who finds the addresses of hosts, where it is not the system.

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use async_trait::async_trait;
use mas_contracts::Result;
use reqwest::{
    Url,
    dns::{Addrs, Name, Resolve, Resolving},
};

/// Finds the addresses of hosts, and so decides which may be dialled.
///
/// It is asked before each connection, and what it gives is what is dialled: a name cannot mean one address when it
/// is checked and another when it is used. A host that is written as an address is asked for too, before each request.
#[async_trait]
pub trait Resolver: Send + Sync {
    /// The addresses of a host, in the order they are tried; an IPv6 address comes without brackets.
    ///
    /// # Errors
    /// Why there is none, or none that may be dialled; the request fails with this error as it is.
    async fn resolve(&self, host: &str) -> Result<Vec<IpAddr>>;
}

/// A resolver as the HTTP library takes it.
pub(super) struct Adapted(pub(super) Arc<dyn Resolver>);

impl Resolve for Adapted {
    fn resolve(&self, name: Name) -> Resolving {
        let resolver = self.0.clone();
        Box::pin(async move {
            let found = resolver.resolve(name.as_str()).await?;
            // Port 0 stands for the port of the URL.
            let found: Addrs = Box::new(found.into_iter().map(|address| SocketAddr::new(address, 0)));
            Ok(found)
        })
    }
}

/// Asks the resolver for a host that is an address, for the HTTP library dials those without asking.
pub(super) async fn admit(resolver: &dyn Resolver, url: &str) -> Result<()> {
    let Ok(url) = Url::parse(url) else { return Ok(()) };
    let host = url.host_str().unwrap_or_default();
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    if host.parse::<IpAddr>().is_ok() {
        resolver.resolve(host).await?;
    }
    Ok(())
}
