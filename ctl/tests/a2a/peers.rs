//! Clients of the official SDKs against the program, over each binding and in each version.
//!
//! The SDKs are optional: `MAS_A2A_PYTHON` is a Python with `a2a-sdk[http-server,grpc]` 1.x (default `python3`),
//! `MAS_A2A_PYTHON_03` one with 0.3.x, `MAS_A2A_JS` a directory with `@a2a-js/sdk` 1.x in its `node_modules`, and
//! 0.3.x as `a2a-js-03`, `MAS_A2A_RUST` the program that `peer-rust` builds. Where `MAS_REQUIRE` names `a2a-python`,
//! `a2a-python-03`, `a2a-js`, `a2a-js-03` or `a2a-rust`, a test does not skip.

use std::{path::Path, process::Command};

use crate::{served::Served, webhook::Webhook};

const BINDINGS: [&str; 3] = ["JSONRPC", "HTTP+JSON", "GRPC"];

/// Whether a peer is there; required where `MAS_REQUIRE` names it.
fn is_here(name: &str, probe: &mut Command) -> bool {
    let found = probe.output().is_ok_and(|output| output.status.success());
    let required = std::env::var("MAS_REQUIRE").unwrap_or_default();
    assert!(
        found || !required.split(',').any(|one| one == name),
        "MAS_REQUIRE names {name}, and it is not here"
    );
    if !found {
        eprintln!("skipped: {name} is not here");
    }
    found
}

/// The Python of the SDK, if it is here.
pub(crate) fn has_python() -> Option<Command> {
    let mut probe = program("MAS_A2A_PYTHON", "python3");
    let here = is_here("a2a-python", probe.args(["-c", "import a2a.compat.v0_3, grpc"]));
    here.then(|| program("MAS_A2A_PYTHON", "python3"))
}

fn program(variable: &str, default: &str) -> Command {
    Command::new(std::env::var(variable).unwrap_or_else(|_| default.to_owned()))
}

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
    if has_python().is_none() {
        return;
    }
    let served = Served::start("both-versions.yaml");
    for (version, listed) in [("1.0", " list"), ("0.3", "")] {
        for binding in BINDINGS {
            let peer = program("MAS_A2A_PYTHON", "python3");
            let (said, token) = speak(&served, peer, "peer.py", binding, version);
            assert_eq!(said, format!("message task get{listed} stream cancel subscribe push error"));
            assert_eq!(token, format!("python {binding} {version}").to_ascii_lowercase());
        }
    }
}

#[test]
fn the_python_sdk_of_v03_speaks_every_binding() {
    let mut probe = program("MAS_A2A_PYTHON_03", "python3");
    if !is_here("a2a-python-03", probe.args(["-c", "import grpc; from a2a.client import legacy"])) {
        return;
    }
    let served = Served::start("both-versions.yaml");
    for binding in BINDINGS {
        let peer = program("MAS_A2A_PYTHON_03", "python3");
        let (said, token) = speak(&served, peer, "peer03.py", binding, "0.3");
        assert_eq!(said, "message task get stream cancel subscribe push error");
        assert_eq!(token, format!("python {binding} 0.3").to_ascii_lowercase());
    }
}

/// Whether a package of JS is there.
pub(crate) fn has_package(name: &str, package: &str) -> bool {
    let probe =
        format!("require('node:module').createRequire(process.env.MAS_A2A_JS + '/x.js')('{package}')");
    is_here(name, Command::new("node").args(["-e", &probe]))
}

#[test]
fn the_js_sdk_speaks_every_binding_of_both_versions() {
    if !has_package("a2a-js", "@a2a-js/sdk") {
        return;
    }
    let served = Served::start("both-versions.yaml");
    for (version, listed) in [("1.0", " list"), ("0.3", "")] {
        for binding in BINDINGS {
            let (said, token) = speak(&served, Command::new("node"), "peer.mjs", binding, version);
            assert_eq!(said, format!("message task get{listed} stream cancel subscribe push error"));
            assert_eq!(token, format!("js {binding} {version}").to_ascii_lowercase());
        }
    }
}

#[test]
fn the_js_sdk_of_v03_speaks_every_binding() {
    if !has_package("a2a-js-03", "a2a-js-03") {
        return;
    }
    let served = Served::start("both-versions.yaml");
    for binding in BINDINGS {
        let (said, token) = speak(&served, Command::new("node"), "peer03.mjs", binding, "0.3");
        assert_eq!(said, "message task get stream cancel subscribe push error");
        assert_eq!(token, format!("js {binding} 0.3").to_ascii_lowercase());
    }
}

#[test]
fn the_rust_sdk_speaks_every_binding() {
    let peer = || program("MAS_A2A_RUST", "a2a-peer-rust");
    if !is_here("a2a-rust", peer().arg("--version")) {
        return;
    }
    let served = Served::start("both-versions.yaml");
    for binding in BINDINGS {
        let (said, token) = speak(&served, peer(), "", binding, "1.0");
        assert_eq!(said, "message task get list stream cancel subscribe push error");
        assert_eq!(token, format!("rust {binding} 1.0").to_ascii_lowercase());
    }
}
