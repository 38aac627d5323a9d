//! Signed cards, TLS, and the duties of a caller: those of `mas-ctl` are held, too.

use std::{
    process::{Command, Output},
    sync::LazyLock,
};

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use serde_json::{Value, json};

use super::{Kit, id, said};
use crate::{
    bridge::bridge,
    calls::{Binding, call, open, outcome},
    served::{Served, request},
};

/// The key of RFC 7515, appendix A.3.
pub(super) static KEY: LazyLock<Value> = LazyLock::new(|| {
    json!({
        "kty": "EC", "crv": "P-256", "kid": "appendix-a3",
        "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU", "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
        "d": "jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI",
    })
});

/// Runs the program as a caller.
fn ctl(args: &[&str]) -> Output {
    let mut program = Command::new(env!("CARGO_BIN_EXE_mas-ctl"));
    program.args(args).env_clear().env("HOME", std::env::temp_dir()).output().expect("it runs")
}

/// Whether a card has a signature of a key, as `card verify` sees it.
fn is_signed(card: &str, key: &Value) -> bool {
    let dir = tempfile::tempdir().expect("a folder");
    let (document, trusted) = (dir.path().join("card.json"), dir.path().join("key.jwk"));
    std::fs::write(&document, card).expect("the file is written");
    std::fs::write(&trusted, key.to_string()).expect("the file is written");
    let path = |path: &std::path::Path| path.display().to_string();
    ctl(&["card", "verify", &path(&document), "--key", &path(&trusted)]).status.success()
}

fn public() -> Value {
    let mut key = KEY.clone();
    key.as_object_mut().expect("a key").remove("d");
    key
}

fn card(served: &Served) -> Value {
    served.open("GET", "/.well-known/agent-card.json", &[], "").json()
}

pub(super) fn signed(kit: &Kit, _: Binding) {
    let mut card = card(&kit.guarded);
    let signatures = card["signatures"].as_array().expect("signatures").clone();
    assert!(!signatures.is_empty());
    for one in &signatures {
        let header =
            BASE64_URL_SAFE_NO_PAD.decode(one["protected"].as_str().expect("a text")).expect("base64url");
        let header: Value = serde_json::from_slice(&header).expect("JSON");
        assert_eq!(header, json!({"alg": "ES256", "kid": "appendix-a3", "typ": "JOSE"}));
    }
    // Neither the order of members, nor spaces, nor other signatures count.
    let fields = card.as_object_mut().expect("an object");
    fields.sort_keys();
    fields["signatures"]
        .as_array_mut()
        .expect("signatures")
        .insert(0, json!({"protected": "e30", "signature": "AA"}));
    assert!(is_signed(&format!("{card:#}"), &public()));
    card["description"] = json!("Another");
    assert!(!is_signed(&card.to_string(), &public()));
}

pub(super) fn key_that_is_not_trusted(kit: &Kit, _: Binding) {
    // A key that was withdrawn is no longer among those that a caller trusts, whatever the card names it.
    let other = json!({
        "kty": "OKP", "crv": "Ed25519", "kid": "appendix-a3", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
    });
    let card = card(&kit.guarded).to_string();
    assert!(is_signed(&card, &public()));
    assert!(!is_signed(&card, &other));
}

/// Says something over TLS, as `mas-ctl` does.
fn sent_over_tls(kit: &Kit, binding: Binding, more: &[&str]) -> Output {
    let url = format!("https://{}", kit.secure.http);
    let binding = if binding == Binding::Rest { "rest" } else { "jsonrpc" };
    let id = id("echo");
    ctl(&[&["a2a", "send", &url, "over TLS", "--binding", binding, "--message-id", &id], more].concat())
}

pub(super) fn tls(kit: &Kit, binding: Binding) {
    let cert = kit.secure.file("cert.pem").display().to_string();
    if binding == Binding::Grpc {
        let path = format!("/{}/SendMessage", kit.secure.grpc);
        let headers = [("a2a-version", "1.0"), ("x-trust", cert.as_str())];
        let bridge = bridge().expect("the stubs are here");
        let answer = request(bridge, "POST", &path, &headers, &said("echo", "over TLS").to_string());
        let reply = outcome(binding, answer).expect("a reply");
        assert_eq!(reply["message"]["parts"], json!([{"text": "over TLS"}]));
        return;
    }
    let said = sent_over_tls(kit, binding, &["--ca-file", &cert]);
    assert!(String::from_utf8_lossy(&said.stdout).contains("over TLS"), "{said:?}");
}

pub(super) fn versions_of_tls(kit: &Kit, _: Binding) {
    let script = "
import socket, ssl, sys, warnings
warnings.simplefilter('ignore')
host, port = sys.argv[1].split(':')
def version(newest):
    context = ssl.create_default_context(cafile=sys.argv[2])
    context.minimum_version, context.maximum_version = ssl.TLSVersion.TLSv1, newest
    context.set_ciphers('DEFAULT:@SECLEVEL=0')
    with socket.create_connection((host, int(port)), 20) as plain:
        with context.wrap_socket(plain, server_hostname=host) as secure:
            return secure.version()
assert version(ssl.TLSVersion.MAXIMUM_SUPPORTED) == 'TLSv1.3'
assert version(ssl.TLSVersion.TLSv1_2) == 'TLSv1.2'
try:
    old = version(ssl.TLSVersion.TLSv1_1)
except (ssl.SSLError, ConnectionResetError):
    old = None
assert old is None, old
";
    let cert = kit.secure.file("cert.pem");
    let mut python = Command::new("python3");
    let said = python.args(["-c", script, &kit.secure.http]).arg(cert).output().expect("python3 is here");
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
}

pub(super) fn caller_checks_the_certificate(kit: &Kit, binding: Binding) {
    let refused = sent_over_tls(kit, binding, &[]);
    assert!(!refused.status.success());
    assert!(String::from_utf8_lossy(&refused.stderr).contains("mas::http::certificate"), "{refused:?}");
}

pub(super) fn caller_sends_the_version(kit: &Kit, binding: Binding) {
    // Who sends none is refused, so whoever is served has sent it.
    let request = said("tck-complete-task", "Hello");
    let none = open(&kit.full, binding, "SendMessage", &request, &[("a2a-version", "")]);
    assert!(outcome(binding, none).is_err());
    let task = call(&kit.full, binding, "SendMessage", &said("tck-input-required", "x")).expect("a task");
    let task = task["task"]["id"].as_str().expect("an id").to_owned();
    let url = format!("http://{}", kit.full.http);
    let calls: [&[&str]; 5] = [
        &["send", &url, "Hello"],
        &["stream", &url, "Hello"],
        &["task", "get", &url, &task],
        &["task", "list", &url],
        &["task", "cancel", &url, &task],
    ];
    let binding = format!("{binding:?}").to_ascii_lowercase();
    for one in calls {
        let said = ctl(&[&["a2a"], one, &["--binding", &binding]].concat());
        assert!(said.status.success(), "{one:?}: {said:?}");
    }
}
