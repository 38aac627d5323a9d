//! The client against a server of the test's own, over real sockets.

#![allow(clippy::unwrap_used, reason = "functions that tests share")]

use std::{net::IpAddr, path::Path, sync::Arc, time::Duration};

use async_trait::async_trait;

use mas_comm_kit::{
    Secret,
    http::{Client, HeaderText, Proxying, Request, Resolver, Settings, Transport},
};
use mas_contracts::{BuildContext, Delivery, Error, ErrorKind, Result};
use mas_testkit::{
    build_context,
    http::{Act, RawServer},
};

fn context(env: &[(&str, &str)]) -> BuildContext {
    build_context(Path::new("."), env)
}

fn client(env: &[(&str, &str)]) -> Arc<Client> {
    Settings::default().connect(&context(env)).unwrap()
}

fn get(url: impl Into<String>) -> Request {
    Request { method: "GET".to_owned(), url: url.into(), ..Request::default() }
}

async fn fails(client: &Client, request: &Request) -> Error {
    client.send(request).await.unwrap_err()
}

/// A URL that nobody listens at.
fn dead_url() -> String {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

#[tokio::test]
async fn a_request_and_its_answer_go_over_as_they_are() {
    let server = RawServer::start(|_, _| vec![Act::answer(404, "text/plain", "not here")]).await.unwrap();
    let mut request = get(format!("{}/a?b=c", server.url()));
    request.method = "POST".to_owned();
    request.body = Some("{}".into());
    request.headers = vec![("X-Key".to_owned(), HeaderText::Secret(Secret::new("sk-1234")))];
    let mut response = client(&[]).send(&request).await.unwrap();
    assert_eq!((response.status(), response.header("content-type")), (404, Some("text/plain")));
    assert_eq!(response.read(100).await.unwrap(), b"not here");
    let seen = server.requests().remove(0);
    assert_eq!((&*seen.line, &*seen.body), ("POST /a?b=c HTTP/1.1", "{}"));
    assert_eq!(seen.headers["x-key"], "sk-1234");
    assert_eq!(seen.headers["user-agent"], concat!("mas/", env!("CARGO_PKG_VERSION")));
    assert!(!seen.headers.contains_key("accept-encoding"));
}

#[tokio::test]
async fn a_redirect_is_an_answer_like_any_other() {
    let script = |_: usize, _: &_| {
        vec![Act::Send(b"HTTP/1.1 302 X\r\nlocation: /b\r\ncontent-length: 0\r\n\r\n".to_vec())]
    };
    let server = RawServer::start(script).await.unwrap();
    let response = client(&[]).send(&get(server.url())).await.unwrap();
    assert_eq!((response.status(), response.header("location")), (302, Some("/b")));
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn errors_say_what_was_sent_and_never_what_is_secret() {
    let url = dead_url().replace("http://", "http://me:sk-9999@");
    let error = fails(&client(&[]), &get(format!("{url}/v1?key=sk-1234"))).await;
    assert_eq!((error.delivery(), error.code()), (Delivery::NotSent, "mas::http::connect".into()));
    assert!(error.message().contains("refused") && !format!("{error:?}").contains("sk-"), "{error:?}");

    let closing = RawServer::start(|_, _| Vec::new()).await.unwrap();
    let error = fails(&client(&[]), &get(closing.url())).await;
    assert_eq!((error.delivery(), error.code()), (Delivery::Unknown, "mas::http::closed".into()));
    assert_eq!(closing.requests().len(), 1, "the client sends nothing again by itself");

    let half = b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf".to_vec();
    let cutting = RawServer::start(move |_, _| vec![Act::Send(half.clone())]).await.unwrap();
    let mut response = client(&[]).send(&get(cutting.url())).await.unwrap();
    let error = response.read(100).await.unwrap_err();
    assert_eq!((error.delivery(), error.code()), (Delivery::Unknown, "mas::http::cut".into()));

    let error = fails(&client(&[]), &get("http://nowhere.invalid/")).await;
    assert_eq!((error.delivery(), error.kind()), (Delivery::NotSent, ErrorKind::Unavailable));
    let error = fails(&client(&[]), &get("no url")).await;
    assert_eq!(error.code(), "mas::http::request");
    let mut request = get(closing.url());
    request.headers = vec![("x".to_owned(), HeaderText::Secret(Secret::new("sk-12\n34")))];
    let error = fails(&client(&[]), &request).await;
    assert!(error.message().starts_with("the header `x` cannot be sent"), "{error:?}");
}

// R99
#[tokio::test]
async fn a_proxy_of_the_environment_is_used_but_not_for_this_machine() {
    let proxy = RawServer::start(|_, _| vec![Act::answer(200, "text/plain", "by proxy")]).await.unwrap();
    let server = RawServer::start(|_, _| vec![Act::answer(200, "text/plain", "direct")]).await.unwrap();
    let with_password = proxy.url().replace("http://", "http://me:sk-1234@");
    for name in ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"] {
        let client = client(&[(name, &with_password), ("NO_PROXY", ".svc, other.example")]);
        let mut far = client.send(&get("http://far.example/x")).await.unwrap();
        assert_eq!(far.read(100).await.unwrap(), b"by proxy");
        let mut near = client.send(&get(server.url())).await.unwrap();
        assert_eq!(near.read(100).await.unwrap(), b"direct");
        for skipped in ["http://a.svc.invalid.svc/", "http://other.example/"] {
            let before = proxy.requests().len();
            let _ = client.send(&get(skipped)).await;
            assert_eq!(proxy.requests().len(), before, "{skipped}");
        }
    }
    let seen = proxy.requests().remove(0);
    assert_eq!(seen.line, "GET http://far.example/x HTTP/1.1");
    assert_eq!(seen.headers["proxy-authorization"], "Basic bWU6c2stMTIzNA==");

    let client = client(&[("HTTPS_PROXY", &with_password)]);
    let error = fails(&client, &get("https://far.example/")).await;
    assert_eq!(proxy.requests().last().unwrap().line, "CONNECT far.example:443 HTTP/1.1");
    assert!(!format!("{error:?}").contains("sk-"), "{error:?}");
}

#[tokio::test]
async fn a_proxy_of_the_settings_is_used_for_every_host() {
    let proxy = RawServer::start(|_, _| vec![Act::answer(200, "text/plain", "by proxy")]).await.unwrap();
    let through = Proxying::Through(Secret::new(proxy.url()));
    let settings = Settings { proxying: through, ..Settings::default() };
    let client = settings.connect(&context(&[])).unwrap();
    let mut near = client.send(&get("http://127.0.0.1:1/")).await.unwrap();
    assert_eq!(near.read(100).await.unwrap(), b"by proxy");

    let settings = Settings { proxying: Proxying::Direct, ..Settings::default() };
    let client = settings.connect(&context(&[("HTTP_PROXY", proxy.url())])).unwrap();
    assert!(client.send(&get("http://far.invalid/")).await.is_err());
    assert_eq!(proxy.requests().len(), 1);
}

#[test]
fn settings_that_cannot_be_used_are_refused_without_secrets() {
    let refused = |settings: Settings, env: &[(&str, &str)]| {
        let error = settings.connect(&context(env)).unwrap_err();
        assert!(!format!("{error:?}").contains("sk-"), "{error:?}");
        (error.code().into_owned(), error.message().to_owned())
    };
    let (code, message) = refused(Settings::default(), &[("HTTPS_PROXY", "ftp://me:sk-1@h")]);
    assert_eq!(code, "mas::http::proxy");
    insta::assert_snapshot!(message, @"HTTPS_PROXY is no URL of a proxy: `ftp://h`; write http://HOST:PORT, or http://USER:PASSWORD@HOST:PORT");
    let through = Proxying::Through(Secret::new("http://"));
    let (_, message) = refused(Settings { proxying: through, ..Settings::default() }, &[]);
    insta::assert_snapshot!(message, @"`proxy` is no URL of a proxy; write http://HOST:PORT, or http://USER:PASSWORD@HOST:PORT");
    let ca_file = Some("no-such.pem".into());
    let (code, message) = refused(Settings { ca_file, ..Settings::default() }, &[]);
    assert_eq!(code, "mas::http::ca_file");
    assert!(message.starts_with("the file of certificates `./no-such.pem` (ca_file) cannot be read: "));
    let (_, message) = refused(Settings::default(), &[("SSL_CERT_FILE", "Cargo.toml")]);
    insta::assert_snapshot!(message, @"the file `./Cargo.toml` (SSL_CERT_FILE) holds no certificate in PEM form");
}

#[test]
fn equal_settings_share_one_client() {
    let cx = context(&[]);
    let one = Settings::default().connect(&cx).unwrap();
    assert!(Arc::ptr_eq(&one, &Settings::default().connect(&cx).unwrap()));
    let other = Settings { connect_timeout: Duration::from_secs(1), ..Settings::default() };
    assert!(!Arc::ptr_eq(&one, &other.connect(&cx).unwrap()));
}

/// Knows one name, and no address but the loopback's.
struct OneName;

#[async_trait]
impl Resolver for OneName {
    async fn resolve(&self, host: &str) -> Result<Vec<IpAddr>> {
        match host {
            "one.test" | "127.0.0.1" => Ok(vec![[127, 0, 0, 1].into()]),
            _ => Err(Error::new(ErrorKind::Denied, format!("not {host}")).with_code("test::denied")),
        }
    }
}

#[tokio::test]
async fn a_resolver_says_what_is_dialled() {
    let server = RawServer::start(|_, _| vec![Act::answer(200, "text/plain", "ok")]).await.unwrap();
    // The proxy of the environment is not asked, for it would look up names by itself.
    let cx = context(&[("HTTP_PROXY", &dead_url())]);
    let client = Settings::default().connect_by(Arc::new(OneName), &cx).unwrap();
    let port = server.url().rsplit(':').next().unwrap().to_owned();
    for host in ["one.test", "ONE.test", "127.0.0.1", "0x7f.1", "2130706433"] {
        let response = client.send(&get(format!("http://{host}:{port}/"))).await.unwrap();
        assert_eq!(response.status(), 200, "{host}");
    }
    for host in ["two.test", "127.0.0.2", "[::1]", "[::ffff:127.0.0.1]", "localhost", "0"] {
        let error = fails(&client, &get(format!("http://{host}:{port}/"))).await;
        assert_eq!((error.kind(), &*error.code()), (ErrorKind::Denied, "test::denied"), "{host}");
    }
    assert_eq!(server.requests().len(), 5);
}
