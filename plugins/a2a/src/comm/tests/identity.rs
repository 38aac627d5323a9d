//! Agents that want to know who asks, behind TLS and with signed cards.

use mas_contracts::{Delivery, ErrorKind};
use mas_testkit::{
    Behaviour,
    http::{Act, RawServer},
};
use rcgen::{CertifiedKey, KeyPair, generate_simple_self_signed};
use rstest::rstest;
use tempfile::TempDir;

use super::*;
use crate::card::sign_card;

/// A folder with a certificate for this machine, a key that signs cards, and its public half.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    write("cert.pem", &cert.pem());
    write("key.pem", &signing_key.serialize_pem());
    for name in ["card", "other"] {
        let key = KeyPair::generate().unwrap().serialize_pem();
        write(&format!("{name}.pem"), &key);
        let card = json!({"name": "x", "description": "x", "version": "1", "skills": [], "capabilities": {},
            "supportedInterfaces": [], "defaultInputModes": [], "defaultOutputModes": []});
        let signed = sign_card(card, &key, Some("desk"), None).unwrap();
        write(&format!("{name}.jwk"), &signed.public_key.to_string());
    }
    folder
}

async fn secured(host: &Arc<ScriptedHost>, security: Value, base: &Path) -> Arc<dyn Exposure> {
    let more = json!({"security": {"s": security}, "tls": {"cert": "cert.pem", "key": "key.pem"},
        "signing": {"key": "card.pem", "kid": "desk"}});
    serve_by(host, &more, base).await
}

fn calling(site: &dyn Exposure, client: &Value, base: &Path) -> Result<Comm> {
    let row = json!({"url": url_of(site, "peer").replace("http://", "https://"), "a2a": {"client": client}});
    Comm::new(&build_context(base, &[("KEY", "sesame")]), &row)
}

#[rstest]
#[tokio::test]
async fn a_secret_opens_an_agent_whose_card_is_signed(
    #[values("jsonrpc", "http+json", "grpc")] binding: &str,
    #[values("bearer", "header", "query", "cookie")] place: &str,
) {
    if (binding, place) == ("grpc", "query") {
        return;
    }
    let folder = folder();
    let security = match place {
        "bearer" => json!({"bearer": {"tokens": {"ann": "sesame"}}}),
        place => json!({"api_key": {"in": place, "name": "key", "keys": {"ann": "sesame"}}}),
    };
    let host = ScriptedHost::new([("peer", Behaviour::Echo)]);
    let site = secured(&host, security, folder.path()).await;
    let client = json!({"bindings": [binding], "ca_file": "cert.pem", "auth": {"secret": "env:KEY"},
        "signatures": {"check": "require", "keys": ["card.jwk"]}});
    let comm = calling(&*site, &client, folder.path()).unwrap();
    assert_eq!(&*say(&comm, "hello").await.unwrap().text(), "hello");
    assert_eq!(host.seen().len(), 1);
}

#[tokio::test]
async fn nothing_is_sent_to_whom_this_side_cannot_show_itself_or_does_not_trust() {
    let folder = folder();
    let host = ScriptedHost::new([("peer", Behaviour::Echo)]);
    let site = secured(&host, json!({"bearer": {"tokens": {"ann": "sesame"}}}), folder.path()).await;
    let signed = |key: &str| json!({"check": "require", "keys": [key]});
    for (client, code) in [
        (json!({"ca_file": "cert.pem"}), "mas::a2a::credentials"),
        (
            json!({"ca_file": "cert.pem", "auth": {"api_key": {"key": "env:KEY", "name": "x-key"}}}),
            "mas::a2a::credentials",
        ),
        (
            json!({"ca_file": "cert.pem", "auth": {"secret": "env:KEY"}, "signatures": signed("other.jwk")}),
            "mas::a2a::signature",
        ),
        (json!({"auth": {"secret": "env:KEY"}}), "mas::http::certificate"),
    ] {
        let comm = calling(&*site, &client, folder.path()).unwrap();
        let error = say(&comm, "hello").await.unwrap_err();
        assert_eq!((&*error.code(), error.delivery()), (code, Delivery::NotSent), "{error:?}");
        let cx = context(Duration::from_secs(60), &RecordingSink::new());
        let probed = comm.probe(&cx, &Peer { id: "peer".into() }).await.unwrap_err();
        assert_eq!(probed.code(), code, "{probed:?}");
    }
    // A wrong one is refused there.
    let wrong = json!({"ca_file": "cert.pem", "auth": {"secret": "open"}});
    let error = say(&calling(&*site, &wrong, folder.path()).unwrap(), "hello").await.unwrap_err();
    assert_eq!((error.kind(), error.delivery()), (ErrorKind::Unauthenticated, Delivery::Rejected));
    assert!(host.seen().is_empty(), "{:?}", host.seen());
}

#[tokio::test]
async fn a_card_that_leads_elsewhere_is_given_no_credentials() {
    let other = RawServer::start(|_, _| vec![Act::answer(200, "application/json", "{}")]).await.unwrap();
    let elsewhere = other.url().replace("127.0.0.1", "localhost");
    let card = json!({"name": "x", "supportedInterfaces":
        [{"url": elsewhere, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}]});
    let server = {
        let card = card.to_string();
        RawServer::start(move |_, _| vec![Act::answer(200, "application/json", &card)]).await.unwrap()
    };
    let build = build_context(Path::new("/"), &[("KEY", "sesame")]);
    for (row, goes) in [
        (json!({"headers": {"x-team": "env:KEY"}}), false),
        (json!({"a2a": {"client": {"auth": {"bearer": "env:KEY"}}}}), false),
        (json!({"a2a": {"client": {"auth": {"bearer": "env:KEY", "trusted_hosts": ["localhost"]}}}}), true),
        (json!({"headers": {"x-team": "blue"}}), true),
    ] {
        let mut row = row;
        row["url"] = server.url().into();
        let before = other.requests().len();
        let error = say(&Comm::new(&build, &row).unwrap(), "hello").await.unwrap_err();
        assert_eq!(other.requests().len() > before, goes, "{row}: {error:?}");
        let told = (&*error.code(), error.delivery());
        assert_eq!(told == ("mas::a2a::credentials", Delivery::NotSent), !goes, "{error:?}");
    }
    assert!(server.requests().iter().all(|request| request.line.starts_with("GET")));
}
