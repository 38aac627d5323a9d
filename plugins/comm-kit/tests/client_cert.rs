//! Certificates of this side, and folders of certificates that are trusted.

#![allow(clippy::unwrap_used, reason = "functions that tests share")]

mod support;

use mas_comm_kit::http::Settings;
use mas_contracts::{Delivery, ErrorKind};
use support::{Authority, context, get, mutual_tls, named, server, tls, trusting};

fn showing(cert: &str, key: &str) -> Settings {
    Settings { client_cert: Some(cert.into()), client_key: Some(key.into()), ..trusting() }
}

#[tokio::test]
async fn a_server_that_asks_for_a_certificate_is_shown_it() {
    let (authority, server) = (Authority::new(), server().await);
    authority.writes("me.pem", "me.key");
    let front = mutual_tls(authority.signs(&named(&["localhost"])), &authority, &server).await;
    let url = format!("https://localhost:{}/", front.port);
    let client = showing("me.pem", "me.key").connect(&context(&authority, &[])).unwrap();
    assert_eq!(get(&client, url).await.unwrap(), "hello");
}

#[tokio::test]
async fn a_server_that_is_shown_none_or_another_is_told_of() {
    let (authority, server) = (Authority::new(), server().await);
    let stranger = Authority::new();
    stranger.writes("me.pem", "me.key");
    let strange = |name: &str| std::fs::copy(stranger.base().join(name), authority.base().join(name));
    strange("me.pem").and(strange("me.key")).unwrap();
    let front = mutual_tls(authority.signs(&named(&["localhost"])), &authority, &server).await;
    for settings in [trusting(), showing("me.pem", "me.key")] {
        let client = settings.connect(&context(&authority, &[])).unwrap();
        let error = get(&client, format!("https://localhost:{}/", front.port)).await.unwrap_err();
        let told = (error.kind(), &*error.code(), error.delivery());
        assert_eq!(
            told,
            (ErrorKind::Unauthenticated, "mas::http::client_cert", Delivery::Rejected),
            "{error:?}"
        );
        let told = error.message().replace(&front.port.to_string(), "PORT");
        insta::allow_duplicates! { insta::assert_snapshot!(told, @"`https://localhost:PORT/` wants a certificate of this side, or does not take the one it was shown; name files as `client_cert` and `client_key`"); }
    }
    assert!(server.requests().is_empty());
}

#[test]
fn files_of_no_use_are_named_and_never_quoted() {
    let authority = Authority::new();
    authority.writes("me.pem", "me.key");
    authority.writes("other.pem", "other.key");
    let write = |name: &str, text: &str| std::fs::write(authority.base().join(name), text).unwrap();
    write("text", "sk-1234");
    write("broken.key", "-----BEGIN PRIVATE KEY-----\nsk-1234 !\n-----END PRIVATE KEY-----\n");
    write(
        "locked.key",
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\nc2stMTIzNA==\n-----END ENCRYPTED PRIVATE KEY-----\n",
    );
    write("odd.key", "-----BEGIN PRIVATE KEY-----\nc2stMTIzNA==\n-----END PRIVATE KEY-----\n");
    let mut told = Vec::new();
    for settings in [
        showing("none.pem", "me.key"),
        showing("me.pem", "none.key"),
        showing("text", "me.key"),
        showing("me.pem", "text"),
        showing("me.pem", "broken.key"),
        showing("me.pem", "locked.key"),
        showing("me.pem", "odd.key"),
        showing("me.pem", "other.key"),
        Settings { client_cert: Some("me.pem".into()), ..Settings::default() },
        Settings { client_key: Some("me.key".into()), ..Settings::default() },
    ] {
        let error = settings.connect(&context(&authority, &[])).unwrap_err();
        assert_eq!(error.code(), "mas::http::client_cert");
        let all = format!("{error:?} {error:#}");
        assert!(!all.contains("sk-1234") && !all.contains("c2stMT"), "{all}");
        told.push(error.message().replace(authority.base().to_str().unwrap(), "FOLDER"));
    }
    insta::assert_snapshot!(told.join("\n"), @r"
    the file `FOLDER/none.pem` (client_cert) cannot be read: No such file or directory (os error 2)
    the file `FOLDER/none.key` (client_key) cannot be read: No such file or directory (os error 2)
    the file `FOLDER/text` (client_cert) holds no certificate in PEM form
    the file `FOLDER/text` (client_key) holds no private key in PEM form
    the file `FOLDER/broken.key` (client_key) is damaged
    the key in `FOLDER/locked.key` (client_key) is encrypted; write it without a password: openssl pkey -in KEY -out PLAIN
    the certificate `FOLDER/me.pem` (client_cert) and the key `FOLDER/odd.key` (client_key) do not go together: unexpected error: failed to parse private key as RSA, ECDSA, or EdDSA
    the certificate `FOLDER/me.pem` (client_cert) and the key `FOLDER/other.key` (client_key) do not go together: keys may not be consistent: KeyMismatch
    `client_cert` needs `client_key`, the file of its key
    `client_key` needs `client_cert`, its certificate
    ");
}

#[tokio::test]
async fn folders_of_certificates_are_read() {
    let (authority, server) = (Authority::new(), server().await);
    let front = tls(authority.signs(&named(&["localhost"])), &server).await;
    let base = authority.base();
    for folder in ["certs", "empty"] {
        std::fs::create_dir(base.join(folder)).unwrap();
    }
    std::fs::rename(base.join("ca.pem"), base.join("certs/1234.0")).unwrap();
    std::fs::write(base.join("certs/README"), "no certificate").unwrap();
    std::fs::create_dir(base.join("certs/more")).unwrap();
    let url = format!("https://localhost:{}/", front.port);
    for folders in ["certs", "empty:certs"] {
        let client = Settings::default().connect(&context(&authority, &[("SSL_CERT_DIR", folders)])).unwrap();
        assert_eq!(get(&client, url.clone()).await.unwrap(), "hello");
    }
    let client = Settings::default().connect(&context(&authority, &[("SSL_CERT_DIR", "empty")])).unwrap();
    assert_eq!(get(&client, url).await.unwrap_err().code(), "mas::http::certificate");
    let error =
        Settings::default().connect(&context(&authority, &[("SSL_CERT_DIR", "nowhere")])).unwrap_err();
    let told = error.message().replace(base.to_str().unwrap(), "FOLDER");
    insta::assert_snapshot!(told, @"the folder of certificates `FOLDER/nowhere` (SSL_CERT_DIR) cannot be read: No such file or directory (os error 2)");
}
