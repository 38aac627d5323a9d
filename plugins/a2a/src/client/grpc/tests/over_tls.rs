//! Servers with certificates from files, as endpoints name them.

use mas_comm_kit::http::Settings;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::{
    RootCertStore, ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    server::WebPkiClientVerifier,
};
use tempfile::TempDir;
use tokio::{io::AsyncReadExt, net::TcpListener};
use tokio_rustls::TlsAcceptor;

use super::*;
use crate::{params::Tls, site::tls};

/// A folder with an authority, and what it signs.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, "the authority of a test");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    let write = |name: &str, text: String| std::fs::write(folder.path().join(name), text).unwrap();
    write("ca.pem", params.self_signed(&key).unwrap().pem());
    let issuer = Issuer::new(params, key);
    for (name, host) in [("server", "localhost"), ("me", "client.example")] {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new([host.to_owned()]).unwrap();
        write(&format!("{name}.pem"), params.signed_by(&key, &issuer).unwrap().pem());
        write(&format!("{name}.key"), key.serialize_pem());
    }
    folder
}

fn acceptor(folder: &Path) -> TlsAcceptor {
    tls::acceptor(&Tls { cert: "server.pem".into(), key: "server.key".into() }, folder).unwrap()
}

/// One that lets in only who shows a certificate of the authority.
fn mutual(folder: &Path) -> TlsAcceptor {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(folder.join("ca.pem")).unwrap()).unwrap();
    let provider = Arc::new(ring::default_provider());
    let verifier =
        WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone()).build().unwrap();
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_client_cert_verifier(verifier)
        .with_single_cert(
            vec![CertificateDer::from_pem_file(folder.join("server.pem")).unwrap()],
            PrivateKeyDer::from_pem_file(folder.join("server.key")).unwrap(),
        )
        .unwrap();
    config.alpn_protocols = vec![b"h2".to_vec()];
    TlsAcceptor::from(Arc::new(config))
}

fn trusting() -> Settings {
    Settings { ca_file: Some("ca.pem".into()), ..Settings::default() }
}

async fn ask(url: &str, settings: Settings, base: &Path) -> Result<TaskView> {
    let options = Options { settings, ..Options::default() };
    let channel = by(url, Version::V1, &options, base)?;
    channel.task(&Call::Get { id: "t7", history_length: None }).await
}

#[tokio::test]
async fn a_server_with_tls_is_called_and_an_authority_of_ones_own_is_trusted() {
    let folder = folder();
    let port = Port::secure(json!({}), acceptor(folder.path())).await;
    let address = format!("localhost:{}", port.socket.port());
    for scheme in ["https", "a2as"] {
        let view = ask(&format!("{scheme}://{address}"), trusting(), folder.path()).await.unwrap();
        assert_eq!(&*view.task.id, "t7");
    }
    let options = Options { settings: trusting(), ..Options::default() };
    let channel = by(&format!("https://{address}"), Version::V1, &options, folder.path()).unwrap();
    let events: Vec<_> = channel.open(&Call::Subscribe { id: "t1" }).await.unwrap().collect().await;
    assert!(events.len() == 3 && events.iter().all(Result::is_ok), "{events:?}");
    let all = Settings { verify: false, ..Settings::default() };
    ask(&format!("https://{address}"), all, folder.path()).await.unwrap();
}

#[tokio::test]
async fn a_server_that_cannot_be_trusted_is_sent_nothing() {
    let folder = folder();
    let port = Port::secure(json!({}), acceptor(folder.path())).await;
    let number = port.socket.port();
    for (url, settings) in [
        (format!("https://localhost:{number}"), Settings::default()),
        (format!("https://127.0.0.1:{number}"), trusting()),
    ] {
        let error = ask(&url, settings, folder.path()).await.expect_err("not trusted");
        assert_eq!(
            (&*error.code(), error.delivery()),
            ("mas::http::certificate", Delivery::NotSent),
            "{error:?}"
        );
    }
    // Without TLS where there is some, and the other way round.
    let error = ask(&format!("http://localhost:{number}"), trusting(), folder.path()).await.unwrap_err();
    assert_eq!(error.code(), "mas::a2a::connection");
    let plain = Port::plain().await;
    let url = format!("https://localhost:{}", plain.socket.port());
    let error = ask(&url, trusting(), folder.path()).await.unwrap_err();
    assert_eq!((&*error.code(), error.delivery()), ("mas::a2a::connection", Delivery::NotSent), "{error:?}");
    assert!(port.served["fares"].heard().is_empty() && plain.served["fares"].heard().is_empty());
}

#[tokio::test]
async fn a_certificate_of_this_side_is_shown() {
    let folder = folder();
    let port = Port::secure(json!({}), mutual(folder.path())).await;
    let url = format!("https://localhost:{}", port.socket.port());
    let me = Settings { client_cert: Some("me.pem".into()), client_key: Some("me.key".into()), ..trusting() };
    ask(&url, me, folder.path()).await.unwrap();
    let error = ask(&url, trusting(), folder.path()).await.expect_err("no certificate");
    assert_eq!(error.kind(), ErrorKind::Unauthenticated, "{error:?}");
    assert_eq!((&*error.code(), error.delivery()), ("mas::http::client_cert", Delivery::Rejected));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_greets_nobody_is_given_up() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let url = format!("https://localhost:{}", listener.local_addr().unwrap().port());
    let silent = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        while !matches!(stream.read(&mut [0; 512]).await, Ok(0) | Err(_)) {}
    });
    let folder = folder();
    let error = ask(&url, trusting(), folder.path()).await.expect_err("silence");
    assert_eq!((error.kind(), error.delivery()), (ErrorKind::Unavailable, Delivery::NotSent));
    assert!(error.message().ends_with("connecting took longer than 10 s"), "{error:?}");
    silent.await.unwrap();
}
