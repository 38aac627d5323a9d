//! Endpoints that are bound on the loopback, as callers find them.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests; the exemption in clippy.toml reaches test functions only"
)]

use std::{path::Path, sync::Arc, time::Duration};

use async_trait::async_trait;
use mas_contracts::{
    AgentHost, AgentProfile, Claim, Exposure, HostedEndpoint, Serving, Task, TaskPage, TaskQuery, TaskScope,
    TaskStore,
};
use mas_testkit::{Behaviour, ScriptedHost, build_context};
use rstest::rstest;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::TcpStream,
};

use super::{claim, neighbour, open};

/// A store that keeps nothing.
struct Nothing;

#[async_trait]
impl TaskStore for Nothing {
    async fn put(&self, _task: Arc<Task>) -> mas_contracts::Result<()> {
        Ok(())
    }

    async fn get(&self, _scope: &TaskScope, _id: &str) -> mas_contracts::Result<Option<Arc<Task>>> {
        Ok(None)
    }

    async fn list(&self, _scope: &TaskScope, _query: &TaskQuery) -> mas_contracts::Result<TaskPage> {
        Ok(TaskPage::default())
    }
}

/// An endpoint that deploys; `entry` where it is named `a`.
fn endpoint(agent: &str, params: Value) -> HostedEndpoint {
    let mut params = params;
    params["usage"] = json!("deploy");
    HostedEndpoint {
        agent: agent.into(),
        entry: agent == "a",
        profile: AgentProfile {
            id: agent.into(),
            name: format!("agent {agent}").into(),
            version: "1.0.0".into(),
            description: "Does what it does.".into(),
            ..AgentProfile::default()
        },
        params,
        base: "/".into(),
    }
}

fn serving(base: &Path, foreground: bool) -> Serving {
    let host: Arc<dyn AgentHost> =
        ScriptedHost::new(["a", "b", "odd/name"].map(|name| (name, Behaviour::Echo)));
    Serving { build: build_context(base, &[]), host, tasks: Arc::new(Nothing), foreground }
}

async fn opened(endpoints: &[HostedEndpoint]) -> open::Site {
    open::open(&serving(Path::new("/"), true), endpoints).await.unwrap()
}

/// What comes back for a request whose head ends here, without the lines that differ in time.
async fn exchange(stream: &mut (impl AsyncRead + AsyncWrite + Unpin), head: &str) -> (u16, String, String) {
    stream.write_all(format!("{head}\r\nhost: x\r\nconnection: close\r\n\r\n").as_bytes()).await.unwrap();
    let mut text = Vec::new();
    stream.read_to_end(&mut text).await.unwrap();
    let text = String::from_utf8(text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), head.to_ascii_lowercase(), body.to_owned())
}

async fn ask(site: &open::Site, head: &str) -> (u16, String, String) {
    exchange(&mut TcpStream::connect(site.served()[0].socket).await.unwrap(), head).await
}

async fn card(site: &open::Site, path: &str) -> Value {
    let (status, _, body) = ask(site, &format!("GET {path}/.well-known/agent-card.json HTTP/1.1")).await;
    assert_eq!(status, 200, "{path}: {body}");
    serde_json::from_str(&body).unwrap()
}

fn claimed(endpoint: &HostedEndpoint, foreground: bool) -> Vec<(String, u16, &'static str, String)> {
    let tell = |claim: Claim| (claim.host, claim.port, claim.what, claim.path);
    claim::claims(endpoint, foreground).unwrap().into_iter().map(tell).collect()
}

#[test]
fn an_endpoint_claims_the_sockets_that_it_declares() {
    let url = endpoint("b", json!({"url": "http://127.0.0.1:9006/x/y", "a2a": {"grpc_port": 7}}));
    let (http, grpc) = (
        ("127.0.0.1".to_owned(), 9006, "http", "/x/y".to_owned()),
        ("127.0.0.1".to_owned(), 7, "grpc", "b".to_owned()),
    );
    assert_eq!(claimed(&url, true), [http.clone(), grpc]);
    assert_eq!(claimed(&url, false), [http]);
    let listen = json!({"a2a": {"listen": {"host": "::1", "port": 5}}});
    assert_eq!(claimed(&endpoint("a", listen.clone()), true), [("::1".to_owned(), 5, "http", String::new())]);
    assert_eq!(claimed(&endpoint("odd/name", listen), true)[0].3, "/agents/odd%2Fname");
    let behind = json!({"url": "https://far", "a2a": {"listen": {"host": "0.0.0.0", "port": 5}}});
    assert_eq!(claimed(&endpoint("a", behind), true), [("0.0.0.0".to_owned(), 5, "http", String::new())]);
}

#[rstest]
#[case::own("http://h:1/agents/b", None)]
#[case::others("http://h:1/agents/c", Some("the path `/agents/c` is the server's own"))]
#[case::health("http://h:1/healthz", Some("the path `/healthz` is the server's own"))]
#[case::below("http://h:1/metrics/x", Some("the path `/metrics/x` is the server's own"))]
#[case::like("http://h:1/agents-of-ours", None)]
fn paths_of_the_server_are_kept_free(#[case] url: &str, #[case] problem: Option<&str>) {
    let problems = claim::claims(&endpoint("b", json!({"url": url})), true).err().unwrap_or_default();
    assert_eq!(problems.first().map(|problem| problem.message.as_str()), problem);
    assert!(problems.iter().all(|problem| problem.path == "url" && problem.help.is_some()));
}

#[test]
fn what_is_wrong_with_an_endpoint_is_told_at_once() {
    let wrong = endpoint("a", json!({"url": "ftp://x", "a2a": {"limits": {"body": 0}}}));
    let problems = claim::claims(&wrong, true).unwrap_err();
    let paths: Vec<&str> = problems.iter().map(|problem| problem.path.as_str()).collect();
    assert_eq!(paths, ["url", "a2a.limits.body"]);
}

#[tokio::test]
async fn a_limit_of_a_socket_counts_whoever_declares_it() {
    let at = |limits: Value| json!({"a2a": {"listen": {"port": 0}, "limits": limits}});
    // The first says nothing of headers, and gets what the second asks for.
    let endpoints = [endpoint("a", at(json!({"body": 7}))), endpoint("b", at(json!({"headers": 2})))];
    let said = |endpoint: &HostedEndpoint| {
        let claims = claim::claims(endpoint, true).unwrap();
        claims[0].terms.iter().map(|term| format!("{}={}", term.parameter, term.value)).collect::<Vec<_>>()
    };
    assert_eq!(said(&endpoints[0]), ["a2a.tls=none"]);
    assert_eq!(said(&endpoints[1]), ["a2a.tls=none", "a2a.limits.headers=2"]);
    let site = opened(&endpoints).await;
    let few = ask(&site, "GET /healthz HTTP/1.1").await;
    let many = ask(&site, "GET /healthz HTTP/1.1\r\nx-one: 1\r\nx-two: 2\r\nx-three: 3").await;
    assert_eq!((few.0, many.0), (200, 431));
    let other = endpoint("c", at(json!({"headers": 3})));
    let refused = open::open(&serving(Path::new("/"), true), &[endpoints[1].clone(), other]).await.err();
    assert_eq!(refused.unwrap().message(), "`b` and `c` share a socket, but not `a2a.limits.headers`");
}

#[tokio::test]
async fn agents_of_one_socket_are_found_by_name_and_by_path() {
    let port0 = json!({"a2a": {"listen": {"port": 0}}});
    let mut own = port0.clone();
    own["url"] = json!("http://far.example/deep/path");
    let site = opened(&[endpoint("a", port0.clone()), endpoint("b", own), endpoint("odd/name", port0)]).await;
    let socket = site.served()[0].socket;
    let urls: Vec<String> = site.served().into_iter().map(|served| served.url).collect();
    let expected = [
        format!("http://{socket}"),
        "http://far.example/deep/path".to_owned(),
        format!("http://{socket}/agents/odd%2Fname"),
    ];
    assert_eq!(urls, expected);
    for (path, name) in [
        ("", "agent a"),
        ("/agents/a", "agent a"),
        ("/agents/b", "agent b"),
        ("/deep/path", "agent b"),
        ("/agents/odd%2Fname", "agent odd/name"),
        ("/agents/%6Fdd%2fname", "agent odd/name"),
    ] {
        assert_eq!(card(&site, path).await["name"], name, "{path}");
    }
    for path in ["/deep/pathology", "/deep", "/agents/odd", "/agents/odd/name", "/agents/%ff", "/agents//"] {
        let (status, head, body) = ask(&site, &format!("GET {path} HTTP/1.1")).await;
        let body: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(
            (status, &body["error"]["details"][0]["reason"]),
            (404, &json!("METHOD_NOT_FOUND")),
            "{path}"
        );
        assert!(head.contains("content-type: application/json"), "{head}");
    }
    site.close(Duration::from_secs(5)).await.unwrap();
    assert!(TcpStream::connect(socket).await.is_err());
}

#[tokio::test]
async fn the_only_agent_of_a_socket_has_its_root() {
    let site = opened(&[endpoint("b", json!({"a2a": {"listen": {"port": 0}}}))]).await;
    assert_eq!(card(&site, "").await["name"], "agent b");
    assert_eq!(site.served()[0].url, format!("http://{}", site.served()[0].socket));
}

#[tokio::test]
async fn grpc_is_told_where_it_is_listened_on_and_by_tenant() {
    let grpc = json!({"a2a": {"listen": {"port": 0}, "grpc_port": 0}});
    let endpoints = [endpoint("a", grpc.clone()), endpoint("b", grpc)];
    // The same declared port is the same socket, so HTTP and gRPC share one here.
    let site = opened(&endpoints).await;
    let socket = site.served()[0].socket;
    assert!(site.served().iter().all(|served| served.socket == socket));
    let interface = |card: &Value| {
        let all = card["supportedInterfaces"].as_array().unwrap().clone();
        all.into_iter().find(|one| one["protocolBinding"] == "GRPC").unwrap_or_default()
    };
    let (a, b) = (interface(&card(&site, "").await), interface(&card(&site, "/agents/b").await));
    assert_eq!((&a["url"], &a["tenant"]), (&json!(socket.to_string()), &Value::Null));
    assert_eq!((&b["url"], &b["tenant"]), (&json!(socket.to_string()), &json!("b")));
    let beside = open::open(&serving(Path::new("/"), false), &endpoints).await.unwrap();
    assert_eq!(interface(&card(&beside, "").await), Value::Null);
}

#[tokio::test]
async fn pages_may_call_only_where_an_endpoint_names_them() {
    let open_to = |origins: Value| json!({"a2a": {"listen": {"port": 0}, "cors": {"origins": origins}}});
    let named = opened(&[endpoint("a", open_to(json!(["https://app.example"])))]).await;
    let get = "GET /.well-known/agent-card.json HTTP/1.1\r\norigin: ";
    let allowed = |head: &str| {
        let line = head.lines().find_map(|line| line.strip_prefix("access-control-allow-origin: "));
        line.map(str::to_owned)
    };
    let (_, head, _) = ask(&named, &format!("{get}https://app.example")).await;
    assert_eq!(allowed(&head).as_deref(), Some("https://app.example"));
    assert!(head.contains("vary: origin") && !head.contains("allow-credentials"), "{head}");
    assert_eq!(allowed(&ask(&named, &format!("{get}https://evil.example")).await.1), None);
    let preflight = "OPTIONS / HTTP/1.1\r\naccess-control-request-method: POST\r\norigin: ";
    let (status, head, body) = ask(&named, &format!("{preflight}https://app.example")).await;
    assert_eq!((status, body.as_str()), (204, ""));
    assert!(head.contains("access-control-allow-headers: accept, authorization,"), "{head}");
    assert_eq!(allowed(&ask(&named, &format!("{preflight}https://evil.example")).await.1), None);
    let any = opened(&[endpoint("a", open_to(json!(["*"])))]).await;
    assert_eq!(allowed(&ask(&any, &format!("{get}https://x")).await.1).as_deref(), Some("*"));
    let off = opened(&[endpoint("a", json!({"a2a": {"listen": {"port": 0}}}))]).await;
    assert!(!ask(&off, &format!("{get}https://app.example")).await.1.contains("access-control"));
}

#[tokio::test]
async fn a_neighbour_is_known_by_its_card() {
    let site = opened(&[endpoint("a", json!({"a2a": {"listen": {"port": 0}}}))]).await;
    let build = build_context(Path::new("/"), &[]);
    let url = site.served()[0].url.clone();
    let at = |agent: &str, url: &str| endpoint(agent, json!({"url": url}));
    assert!(neighbour::serves(&build, &at("a", &url)).await.unwrap());
    assert!(!neighbour::serves(&build, &at("b", &url)).await.unwrap(), "another agent");
    let elsewhere =
        json!({"url": "http://far.example", "a2a": {"listen": {"port": site.served()[0].socket.port()}}});
    assert!(!neighbour::serves(&build, &endpoint("a", elsewhere)).await.unwrap(), "another address");
    assert!(!neighbour::serves(&build, &at("a", &format!("{url}/nobody"))).await.unwrap());
    drop(site);
    assert!(neighbour::serves(&build, &at("a", &url)).await.is_err(), "nobody");
}

mod over_tls {
    use rcgen::{CertifiedKey, generate_simple_self_signed};
    use rustls::{ClientConfig, RootCertStore, crypto::ring, pki_types::ServerName};
    use tokio_rustls::TlsConnector;

    use super::*;

    fn files(folder: &Path) -> ClientConfig {
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        std::fs::write(folder.join("cert.pem"), cert.pem()).unwrap();
        std::fs::write(folder.join("key.pem"), signing_key.serialize_pem()).unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(cert.der().clone()).unwrap();
        ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth()
    }

    fn secure(base: &Path, cert: &str) -> HostedEndpoint {
        let tls = json!({"cert": cert, "key": "key.pem"});
        let params = json!({"a2a": {"listen": {"port": 0}, "tls": tls, "limits": {"header_seconds": 0.2}}});
        HostedEndpoint { base: base.to_owned(), ..endpoint("a", params) }
    }

    #[tokio::test]
    async fn an_agent_is_served_with_a_certificate_from_files() {
        let folder = tempfile::tempdir().unwrap();
        let client = files(folder.path());
        let serving = serving(Path::new("/nowhere"), true);
        let site = open::open(&serving, &[secure(folder.path(), "cert.pem")]).await.unwrap();
        let socket = site.served()[0].socket;
        assert_eq!(site.served()[0].url, format!("https://{socket}"));
        let stream = TcpStream::connect(socket).await.unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        let mut stream = TlsConnector::from(Arc::new(client)).connect(name, stream).await.unwrap();
        let (status, _, body) = exchange(&mut stream, "GET /healthz HTTP/1.1").await;
        assert_eq!((status, body.as_str()), (200, r#"{"status":"ok"}"#));
        // A caller that never greets is cut off as one that sends no headers is.
        let mut silent = TcpStream::connect(socket).await.unwrap();
        assert_eq!(silent.read(&mut [0; 16]).await.unwrap_or(0), 0);
    }

    #[tokio::test]
    async fn files_that_make_no_server_are_named() {
        let folder = tempfile::tempdir().unwrap();
        files(folder.path());
        std::fs::write(folder.path().join("empty.pem"), "").unwrap();
        let serving = serving(Path::new("/"), true);
        for (cert, said) in
            [("gone.pem", "cannot be read"), ("empty.pem", "no certificate"), ("key.pem", "no certificate")]
        {
            let error = open::open(&serving, &[secure(folder.path(), cert)]).await.err().unwrap();
            assert_eq!(error.code(), "mas::a2a::tls", "{error}");
            assert!(error.message().contains(said) && error.message().contains(cert), "{error}");
        }
        let plain = endpoint("b", json!({"a2a": {"listen": {"port": 0}}}));
        let mixed = open::open(&serving, &[secure(folder.path(), "cert.pem"), plain]).await.err().unwrap();
        assert_eq!(mixed.message(), "`a` and `b` share a socket, but not `a2a.tls`");
    }
}
