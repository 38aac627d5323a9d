//! The client against a TLS server of the test's own, on the loopback, also through a proxy.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "functions that tests share")]

mod support;

use std::sync::{Arc, Mutex};

use mas_comm_kit::http::{Proxying, Settings};
use mas_contracts::{Delivery, Retry};
use rcgen::{BasicConstraints, IsCa, date_time_ymd};
use support::{Authority, Front, context, get, named, port_of, self_signed, server, tls, trusting};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional},
    net::TcpStream,
};

const HOST: &str = "far.invalid";
const PASSWORD: &str = "sk-1234";

/// A proxy that reaches this port, whatever host is asked for, and keeps the heads that it was sent.
async fn proxy(to: u16, answer: &'static str) -> (Front, Arc<Mutex<Vec<String>>>) {
    let heads = Arc::<Mutex<Vec<String>>>::default();
    let kept = heads.clone();
    let front = Front::open(move |mut stream| {
        let kept = kept.clone();
        async move {
            let (mut head, mut byte) = (Vec::new(), [0]);
            while !head.ends_with(b"\r\n\r\n") {
                stream.read_exact(&mut byte).await.ok()?;
                head.push(byte[0]);
            }
            kept.lock().unwrap().push(String::from_utf8(head).unwrap());
            stream.write_all(answer.as_bytes()).await.ok()?;
            let mut far = TcpStream::connect(("127.0.0.1", to)).await.ok()?;
            copy_bidirectional(&mut stream, &mut far).await.ok().map(|_| ())
        }
    })
    .await;
    (front, heads)
}

const CONNECTED: &str = "HTTP/1.1 200 Connected\r\n\r\n";

#[tokio::test]
async fn an_authority_of_ones_own_is_named_by_a_parameter_or_a_variable() {
    let (authority, server) = (Authority::new(), server().await);
    let front = tls(authority.signs(&named(&["localhost", "127.0.0.1"])), &server).await;
    for (settings, env) in [(trusting(), vec![]), (Settings::default(), vec![("SSL_CERT_FILE", "ca.pem")])] {
        let client = settings.connect(&context(&authority, &env)).unwrap();
        for host in ["localhost", "127.0.0.1"] {
            assert_eq!(get(&client, format!("https://{host}:{}/", front.port)).await.unwrap(), "hello");
        }
    }
    assert_eq!(server.requests().len(), 4);
    // A certificate that signs itself is its own authority.
    let (identity, pem) = self_signed(&named(&["localhost"]));
    std::fs::write(authority.base().join("ca.pem"), pem).unwrap();
    let front = tls(identity, &server).await;
    let client = trusting().connect(&context(&authority, &[])).unwrap();
    assert_eq!(get(&client, format!("https://localhost:{}/", front.port)).await.unwrap(), "hello");
}

#[tokio::test]
async fn a_certificate_that_cannot_be_trusted_is_refused_with_what_to_do() {
    let (authority, server) = (Authority::new(), server().await);
    let (mut expired, mut early) = (named(&["localhost"]), named(&["localhost"]));
    (expired.not_before, expired.not_after) = (date_time_ymd(2020, 1, 1), date_time_ymd(2021, 1, 1));
    early.not_before = date_time_ymd(4000, 1, 1);
    // As `openssl req -x509` makes it: its own authority.
    let mut own = named(&["localhost"]);
    own.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let (own, pem) = self_signed(&own);
    std::fs::write(authority.base().join("own.pem"), pem).unwrap();
    let trusting_own = Settings { ca_file: Some("own.pem".into()), ..Settings::default() };
    let mut told = Vec::new();
    for (identity, settings) in [
        (authority.signs(&named(&["localhost"])), Settings::default()),
        (self_signed(&named(&["localhost"])).0, trusting()),
        (authority.signs(&expired), trusting()),
        (authority.signs(&early), trusting()),
        (authority.signs(&named(&["other.example", "127.0.0.2"])), trusting()),
        (authority.signs(&named(&["a.example", "b.example", "*.c.example", "d.example"])), trusting()),
        (own, trusting_own),
    ] {
        let front = tls(identity, &server).await;
        let client = settings.connect(&context(&authority, &[])).unwrap();
        let error = get(&client, format!("https://localhost:{}/", front.port)).await.unwrap_err();
        assert_eq!((&*error.code(), error.retry()), ("mas::http::certificate", Retry::Never), "{error:?}");
        assert_eq!(error.delivery(), Delivery::NotSent);
        told.push(error.message().replace(&front.port.to_string(), "PORT"));
    }
    insta::assert_snapshot!(told.join("\n"), @r"
    `https://localhost:PORT/` cannot be trusted: its certificate is signed by an authority that this machine does not know; name the file of that authority's certificate as `ca_file`, or in SSL_CERT_FILE
    `https://localhost:PORT/` cannot be trusted: its certificate is signed by an authority that this machine does not know; name the file of that authority's certificate as `ca_file`, or in SSL_CERT_FILE
    `https://localhost:PORT/` cannot be trusted: its certificate has expired
    `https://localhost:PORT/` cannot be trusted: its certificate is not valid yet; is the clock of this machine right?
    `https://localhost:PORT/` cannot be trusted: its certificate is for another host: other.example, 127.0.0.2
    `https://localhost:PORT/` cannot be trusted: its certificate is for another host: a.example, b.example, *.c.example, …
    `https://localhost:PORT/` cannot be trusted: its certificate is that of an authority, with which no server may show itself; make one for the server (`CA:FALSE`)
    ");
    assert!(server.requests().is_empty(), "nothing is sent to who is not trusted");
}

#[tokio::test]
async fn without_verifying_any_certificate_will_do() {
    let (authority, server) = (Authority::new(), server().await);
    let front = tls(self_signed(&named(&["other.example"])).0, &server).await;
    let settings = Settings { verify: false, ..Settings::default() };
    let client = settings.connect(&context(&authority, &[])).unwrap();
    assert_eq!(get(&client, format!("https://localhost:{}/", front.port)).await.unwrap(), "hello");
}

#[tokio::test]
async fn a_server_that_speaks_no_tls_is_told_so() {
    let authority = Authority::new();
    let plain = Front::open(|mut stream| async move {
        stream.read_exact(&mut [0]).await.ok()?;
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n").await.ok()
    })
    .await;
    let client = trusting().connect(&context(&authority, &[])).unwrap();
    let error = get(&client, format!("https://127.0.0.1:{}/", plain.port)).await.unwrap_err();
    insta::assert_snapshot!(error.message().replace(&plain.port.to_string(), "PORT"), @"no connection to `https://127.0.0.1:PORT/`: it does not speak TLS; is it `http://`, or another port?");
    assert_eq!(error.delivery(), Delivery::NotSent);
}

#[tokio::test]
async fn a_proxy_is_asked_to_connect_and_sees_nothing_more() {
    let (authority, server) = (Authority::new(), server().await);
    let front = tls(authority.signs(&named(&[HOST])), &server).await;
    let (proxy, heads) = proxy(front.port, CONNECTED).await;
    let url = format!("http://me:{PASSWORD}@127.0.0.1:{}", proxy.port);
    for name in ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"] {
        let client = trusting().connect(&context(&authority, &[(name, &url)])).unwrap();
        assert_eq!(get(&client, format!("https://{HOST}/path?key=hidden")).await.unwrap(), "hello");
        let head = heads.lock().unwrap().pop().unwrap();
        assert!(head.starts_with(&format!("CONNECT {HOST}:443 HTTP/1.1\r\n")), "{head}");
        // The user's name and password, in base64.
        assert!(head.to_lowercase().contains("proxy-authorization: basic bwu6c2stmtizna=="), "{head}");
        assert!(!head.contains("hidden") && !format!("{client:?}").contains(PASSWORD), "{head}");
    }
    let through = Proxying::Through(mas_comm_kit::Secret::new(url.as_str()));
    let client = Settings { proxying: through, ..trusting() }.connect(&context(&authority, &[])).unwrap();
    assert_eq!(get(&client, format!("https://{HOST}/")).await.unwrap(), "hello");
    // What is behind a proxy is verified as if there were none.
    let client = Settings::default().connect(&context(&authority, &[("HTTPS_PROXY", &url)])).unwrap();
    let error = get(&client, format!("https://{HOST}/")).await.unwrap_err();
    assert_eq!(error.code(), "mas::http::certificate");

    let before = heads.lock().unwrap().len();
    // An address of this machine that is not one of those which are never asked for by a proxy.
    let near = tls(authority.signs(&named(&["0.0.0.0"])), &server).await;
    for skipped in ["0.0.0.0", "*", "a.example, 0.0.0.0", "0.0.0.0/8"] {
        let env = [("HTTPS_PROXY", &*url), ("NO_PROXY", skipped)];
        let client = trusting().connect(&context(&authority, &env)).unwrap();
        assert_eq!(
            get(&client, format!("https://0.0.0.0:{}/", near.port)).await.unwrap(),
            "hello",
            "{skipped}"
        );
    }
    let near = tls(authority.signs(&named(&["localhost"])), &server).await;
    let client = trusting().connect(&context(&authority, &[("HTTPS_PROXY", &url)])).unwrap();
    assert_eq!(get(&client, format!("https://localhost:{}/", near.port)).await.unwrap(), "hello");
    assert_eq!(heads.lock().unwrap().len(), before, "what is not for the proxy went to it");
}

#[tokio::test]
async fn a_proxy_that_refuses_is_told_without_its_password() {
    let (authority, server) = (Authority::new(), server().await);
    let mut told = Vec::new();
    for answer in [
        "HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n",
        "HTTP/1.1 403 Forbidden me:sk-1234\r\ncontent-length: 0\r\n\r\n",
        "nonsense\r\n\r\n",
    ] {
        let (proxy, heads) = proxy(port_of(&server), answer).await;
        let url = format!("http://me:{PASSWORD}@127.0.0.1:{}", proxy.port);
        let client = trusting().connect(&context(&authority, &[("HTTPS_PROXY", &url)])).unwrap();
        let error = get(&client, format!("https://{HOST}/")).await.unwrap_err();
        let all = format!("{error:?} {error:#} {error}");
        assert!(!all.contains(PASSWORD) && !all.contains("bWU6"), "{all}");
        assert_eq!(error.delivery(), Delivery::NotSent, "{error:?}");
        assert_eq!(heads.lock().unwrap().len(), 1);
        told.push(error.message().to_owned());
    }
    insta::assert_snapshot!(told.join("\n"), @r"
    no connection to `https://far.invalid/`: the proxy wants a name and a password; write it as http://USER:PASSWORD@HOST:PORT
    no connection to `https://far.invalid/`: the proxy does not let it through; set NO_PROXY for hosts that need none
    no connection to `https://far.invalid/`: the proxy does not let it through; set NO_PROXY for hosts that need none
    ");
    // A proxy that is not there.
    let url = format!("http://me:{PASSWORD}@127.0.0.1:1");
    let client = trusting().connect(&context(&authority, &[("HTTPS_PROXY", &url)])).unwrap();
    let error = get(&client, format!("https://{HOST}/")).await.unwrap_err();
    assert!(!format!("{error:?}").contains(PASSWORD), "{error:?}");
    insta::assert_snapshot!(error.message(), @"no connection to `https://far.invalid/`: Connection refused (os error 111) (for a host that NO_PROXY does not name, by the proxy)");
}
