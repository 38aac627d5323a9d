//! A TLS server of the test's own, on the loopback.

#![allow(dead_code, reason = "each test uses a part of it")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "functions that tests share")]

use std::{path::Path, sync::Arc};

use mas_comm_kit::http::{Client, Request, Settings, Transport};
use mas_contracts::{BuildContext, Error};
use mas_testkit::{
    build_context,
    http::{Act, RawServer},
};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::{
    ConfigBuilder, RootCertStore, ServerConfig, WantsVerifier,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    server::WebPkiClientVerifier,
};
use tempfile::TempDir;
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};
use tokio_rustls::TlsAcceptor;

/// A certificate with its key.
pub(crate) type Identity = (CertificateDer<'static>, PrivateKeyDer<'static>);

/// An authority of the test's own, with its certificate in the file `ca.pem` of a folder.
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pub(crate) folder: TempDir,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "the authority of a test");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("ca.pem"), certificate.pem()).unwrap();
        Self { issuer: Issuer::new(params, key), folder }
    }

    pub(crate) fn signs(&self, params: &CertificateParams) -> Identity {
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        (certificate.der().clone(), PrivateKeyDer::try_from(key.serialize_der()).unwrap())
    }

    /// Writes a certificate that it signs, and its key, to files of its folder.
    pub(crate) fn writes(&self, cert: &str, key: &str) {
        let pair = KeyPair::generate().unwrap();
        let certificate = named(&["client.example"]).signed_by(&pair, &self.issuer).unwrap();
        std::fs::write(self.base().join(cert), certificate.pem()).unwrap();
        std::fs::write(self.base().join(key), pair.serialize_pem()).unwrap();
    }

    pub(crate) fn base(&self) -> &Path {
        self.folder.path()
    }
}

pub(crate) fn named(hosts: &[&str]) -> CertificateParams {
    CertificateParams::new(hosts.iter().map(|host| (*host).to_owned()).collect::<Vec<_>>()).unwrap()
}

pub(crate) fn self_signed(params: &CertificateParams) -> (Identity, String) {
    let key = KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap();
    let identity = (certificate.der().clone(), PrivateKeyDer::try_from(key.serialize_der()).unwrap());
    (identity, certificate.pem())
}

/// A port of the loopback in front of something else. It closes when it is dropped.
pub(crate) struct Front {
    pub(crate) port: u16,
    task: JoinHandle<()>,
}

impl Drop for Front {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Front {
    pub(crate) async fn open<F: Future<Output = Option<()>> + Send + 'static>(
        serve: impl Fn(TcpStream) -> F + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream));
            }
        });
        Self { port, task }
    }
}

/// TLS with this certificate in front of a server.
pub(crate) async fn tls(identity: Identity, behind: &RawServer) -> Front {
    let config = builder().with_no_client_auth();
    front(config.with_single_cert(vec![identity.0], identity.1).unwrap(), behind).await
}

fn builder() -> ConfigBuilder<ServerConfig, WantsVerifier> {
    let provider = Arc::new(ring::default_provider());
    ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap()
}

/// The same, for those only who show a certificate of the authority.
pub(crate) async fn mutual_tls(identity: Identity, authority: &Authority, behind: &RawServer) -> Front {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(authority.base().join("ca.pem")).unwrap()).unwrap();
    let provider = Arc::new(ring::default_provider());
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build().unwrap();
    let config = builder().with_client_cert_verifier(verifier);
    front(config.with_single_cert(vec![identity.0], identity.1).unwrap(), behind).await
}

async fn front(config: ServerConfig, behind: &RawServer) -> Front {
    let (acceptor, behind) = (TlsAcceptor::from(Arc::new(config)), port_of(behind));
    Front::open(move |stream| {
        let acceptor = acceptor.clone();
        async move {
            let mut near = acceptor.accept(stream).await.ok()?;
            let mut far = TcpStream::connect(("127.0.0.1", behind)).await.ok()?;
            copy_bidirectional(&mut near, &mut far).await.ok().map(|_| ())
        }
    })
    .await
}

pub(crate) fn port_of(server: &RawServer) -> u16 {
    server.url().rsplit(':').next().unwrap().parse().unwrap()
}

pub(crate) async fn server() -> RawServer {
    RawServer::start(|_, _| vec![Act::answer(200, "text/plain", "hello")]).await.unwrap()
}

pub(crate) fn context(authority: &Authority, env: &[(&str, &str)]) -> BuildContext {
    build_context(authority.base(), env)
}

pub(crate) fn trusting() -> Settings {
    Settings { ca_file: Some("ca.pem".into()), ..Settings::default() }
}

pub(crate) async fn get(client: &Client, url: String) -> Result<String, Error> {
    let request = Request { method: "GET".to_owned(), url, ..Request::default() };
    let mut response = client.send(&request).await?;
    Ok(String::from_utf8(response.read(100).await?).unwrap())
}
