//! Signed cards of the program, fetched and verified by the official SDKs.

use std::{
    io::{BufRead, BufReader, Write},
    net::TcpListener,
    path::Path,
    process::{Command, Output},
    thread,
};

use serde_json::{Value, json};

use crate::{sdk, served::Served};

const INFRA: &str = "
apiVersion: infra/v1
kind: Application
metadata: {name: signed}
spec:
  endpoints:
    a2a-conformance:
      protocol: a2a
      usage: deploy
      url: http://127.0.0.1:9999
      a2a: {grpc_port: 9998, signing: {key: card.jwk}}
";

/// The keys of RFC 7515, appendix A.3, and of RFC 8037, appendix A.
fn keys() -> [Value; 2] {
    [
        json!({
            "kty": "EC", "crv": "P-256", "kid": "appendix-a3", "alg": "ES256",
            "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU", "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
            "d": "jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI",
        }),
        json!({
            "kty": "OKP", "crv": "Ed25519", "kid": "ed", "alg": "EdDSA",
            "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo", "d": "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A",
        }),
    ]
}

/// An address where another card is found: what it says elsewhere is the same.
fn forger(served: &Served) -> String {
    let mut card = served.open("GET", "/.well-known/agent-card.json", &[], "").json();
    card["supportedInterfaces"][0]["url"] = json!("http://elsewhere");
    let body = card.to_string();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let base = format!("http://{}", listener.local_addr().expect("an address"));
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let mut stream = BufReader::new(stream);
            let mut line = String::new();
            while stream.read_line(&mut line).is_ok_and(|read| read > 2) {
                line.clear();
            }
            let stream = stream.get_mut();
            let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n";
            let _ = write!(stream, "{head}content-length: {}\r\n\r\n{body}", body.len());
        }
    });
    base
}

/// Has a peer verify the cards of both kinds of keys, and what became of them on the way.
fn verify_all(peer: impl Fn() -> Command, script: &str) {
    for mut key in keys() {
        let served = Served::with(INFRA, &[("card.jwk", &key.to_string())]);
        key.as_object_mut().expect("a key").remove("d");
        let ask = |base: &str| -> Output {
            let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/a2a").join(script);
            peer().arg(script).args([base, &key.to_string()]).output().expect("it runs")
        };
        let right = ask(&format!("http://{}", served.http));
        assert!(right.status.success(), "{}", String::from_utf8_lossy(&right.stderr));
        assert_eq!(String::from_utf8_lossy(&right.stdout), "a2a-conformance\n");
        let forged = ask(&forger(&served));
        assert!(!forged.status.success(), "a card that says else than what was signed is taken");
        assert!(
            String::from_utf8_lossy(&forged.stderr).to_ascii_lowercase().contains("signature"),
            "{forged:?}"
        );
    }
}

#[test]
fn the_python_sdk_verifies_what_is_served() {
    let Some(python) = sdk::python() else { return };
    verify_all(python, "verify.py");
}

#[test]
fn the_js_sdk_verifies_what_is_served() {
    let Some(node) = sdk::js() else { return };
    verify_all(node, "verify.mjs");
}
