//! Clients of the official SDKs against the program, over each binding and in each version.

use std::{path::Path, process::Command};

use crate::{sdk, served::Served, webhook::Webhook};

const BINDINGS: [&str; 3] = ["JSONRPC", "HTTP+JSON", "GRPC"];

/// Runs a peer; what it did, and the token that its webhook was told.
fn speak(served: &Served, mut peer: Command, script: &str, binding: &str, version: &str) -> (String, String) {
    let webhook = Webhook::open();
    if !script.is_empty() {
        peer.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/a2a").join(script));
    }
    peer.arg(format!("http://{}", served.http)).args([binding, version, &webhook.url]);
    let output = peer.output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stdout).replace('\n', " ");
    assert!(
        output.status.success(),
        "{binding} {version}: {said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let head = webhook.next().head;
    let token = head.lines().find_map(|line| {
        line.to_ascii_lowercase().strip_prefix("x-a2a-notification-token:").map(str::to_owned)
    });
    (said.trim_end().to_owned(), token.unwrap_or_default().trim().to_owned())
}

#[test]
fn the_python_sdk_speaks_every_binding_of_both_versions() {
    let Some(python) = sdk::python() else { return };
    let served = Served::start("both-versions.yaml");
    for (version, listed) in [("1.0", " list"), ("0.3", "")] {
        for binding in BINDINGS {
            let (said, token) = speak(&served, python(), "peer.py", binding, version);
            assert_eq!(said, format!("message task get{listed} stream cancel subscribe push error"));
            assert_eq!(token, format!("python {binding} {version}").to_ascii_lowercase());
        }
    }
}

#[test]
fn the_python_sdk_of_v03_speaks_every_binding() {
    let Some(python) = sdk::python_03() else { return };
    let served = Served::start("both-versions.yaml");
    for binding in BINDINGS {
        let (said, token) = speak(&served, python(), "peer03.py", binding, "0.3");
        assert_eq!(said, "message task get stream cancel subscribe push error");
        assert_eq!(token, format!("python {binding} 0.3").to_ascii_lowercase());
    }
}

#[test]
fn the_js_sdk_speaks_every_binding_of_both_versions() {
    let Some(node) = sdk::js() else { return };
    let served = Served::start("both-versions.yaml");
    for (version, listed) in [("1.0", " list"), ("0.3", "")] {
        for binding in BINDINGS {
            let (said, token) = speak(&served, node(), "peer.mjs", binding, version);
            assert_eq!(said, format!("message task get{listed} stream cancel subscribe push error"));
            assert_eq!(token, format!("js {binding} {version}").to_ascii_lowercase());
        }
    }
}

#[test]
fn the_js_sdk_of_v03_speaks_every_binding() {
    let Some(node) = sdk::js_03() else { return };
    let served = Served::start("both-versions.yaml");
    for binding in BINDINGS {
        let (said, token) = speak(&served, node(), "peer03.mjs", binding, "0.3");
        assert_eq!(said, "message task get stream cancel subscribe push error");
        assert_eq!(token, format!("js {binding} 0.3").to_ascii_lowercase());
    }
}

#[test]
fn the_rust_sdk_speaks_every_binding() {
    let Some(peer) = sdk::rust() else { return };
    let served = Served::start("both-versions.yaml");
    for binding in BINDINGS {
        let (said, token) = speak(&served, peer(), "", binding, "1.0");
        assert_eq!(said, "message task get list stream cancel subscribe push error");
        assert_eq!(token, format!("rust {binding} 1.0").to_ascii_lowercase());
    }
}
