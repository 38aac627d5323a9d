//! What a client is made from.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use mas_contracts::{BuildContext, Result};
use rustls::ClientConfig;

use super::{Client, Resolver, tls};
use crate::Secret;

/// Which proxy is used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Proxying {
    /// What `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY` say, in upper or lower case. This machine
    /// itself (`localhost`, `127.0.0.0/8`, `::1`) is reached directly.
    #[default]
    Environment,
    /// None.
    Direct,
    /// This one, for every host.
    Through(Secret),
}

/// What a client is made from. Equal settings make one client per team.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How long connecting may take, TLS included; default 10 seconds.
    pub connect_timeout: Duration,
    /// A file of certificates (PEM) that are trusted beside those of the machine; relative to the base of the
    /// build context.
    pub ca_file: Option<PathBuf>,
    /// Whether certificates are verified; default yes.
    pub verify: bool,
    /// A file with the certificate (PEM) that this side shows to servers which ask for one, those that vouch for it
    /// behind it; relative to the base of the build context. It needs `client_key`.
    pub client_cert: Option<PathBuf>,
    /// The file with the private key (PEM) of `client_cert`.
    pub client_key: Option<PathBuf>,
    /// Which proxy is used; default the environment's.
    pub proxying: Proxying,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(10),
            ca_file: None,
            verify: true,
            client_cert: None,
            client_key: None,
            proxying: Proxying::default(),
        }
    }
}

impl Settings {
    /// The client for these settings: the team's if it has one, else a new one. It also trusts the certificates
    /// of the file that `SSL_CERT_FILE` names, and of the folders that `SSL_CERT_DIR` names.
    ///
    /// # Errors
    /// `mas::http::ca_file` for a file of certificates that cannot be used, `mas::http::client_cert` for a
    /// certificate of this side that cannot, `mas::http::proxy` for a proxy that cannot.
    pub fn connect(&self, cx: &BuildContext) -> Result<Arc<Client>> {
        let tls = self.tls(cx)?;
        cx.shared.get_or_make(&self.key(&cx.base), || Client::new(self, &tls, None, cx))
    }

    /// A client of its own for these settings, which dials only what `resolver` gives and goes through no proxy,
    /// for a proxy would find the addresses by itself.
    ///
    /// # Errors
    /// As [`connect`](Self::connect).
    pub fn connect_by(&self, resolver: Arc<dyn Resolver>, cx: &BuildContext) -> Result<Client> {
        let direct = Self { proxying: Proxying::Direct, ..self.clone() };
        Client::new(&direct, &*direct.tls(cx)?, Some(resolver), cx)
    }

    /// The TLS of these settings, for who speaks HTTP by himself; it names no protocol (ALPN) yet. Equal settings share
    /// it within a team.
    ///
    /// # Errors
    /// As [`connect`](Self::connect), but for proxies.
    pub fn tls(&self, cx: &BuildContext) -> Result<Arc<ClientConfig>> {
        cx.shared.get_or_make(&self.key(&cx.base), || tls::config(self, cx))
    }

    pub(crate) fn key(&self, base: &Path) -> String {
        let proxy = match &self.proxying {
            Proxying::Through(proxy) => proxy.reveal(),
            Proxying::Environment => "env",
            Proxying::Direct => "none",
        };
        let files = [&self.ca_file, &self.client_cert, &self.client_key];
        let files = files.map(|file| file.as_ref().map(|file| base.join(file)));
        format!("{:?} {files:?} {} {proxy}", self.connect_timeout, self.verify)
    }
}
