//! The official SDKs, where they are here.
//!
//! They are optional: `MAS_A2A_PYTHON` is a Python with `a2a-sdk[http-server,grpc]` 1.x and `uvicorn` (default
//! `python3`), `MAS_A2A_PYTHON_03` one with 0.3.x, `MAS_A2A_JS` a directory with `@a2a-js/sdk` 1.x in its
//! `node_modules`, and 0.3.x as `a2a-js-03`, `MAS_A2A_RUST` the program that `peer-rust` builds. Where `MAS_REQUIRE`
//! names `a2a-python`, `a2a-python-03`, `a2a-js`, `a2a-js-03` or `a2a-rust`, a test does not skip.

use std::process::Command;

/// What starts `program`, if `probe` of it succeeds; it has to where `MAS_REQUIRE` names `name`.
fn found(name: &str, program: String, probe: &[&str]) -> Option<impl Fn() -> Command + use<>> {
    let found = Command::new(&program).args(probe).output().is_ok_and(|output| output.status.success());
    let required = std::env::var("MAS_REQUIRE").unwrap_or_default();
    assert!(
        found || !required.split(',').any(|one| one == name),
        "MAS_REQUIRE names {name}, and it is not here"
    );
    if !found {
        eprintln!("skipped: {name} is not here");
    }
    found.then_some(move || Command::new(&program))
}

fn program(variable: &str, default: &str) -> String {
    std::env::var(variable).unwrap_or_else(|_| default.to_owned())
}

/// The Python with the SDK 1.x.
pub(crate) fn python() -> Option<impl Fn() -> Command> {
    let python = program("MAS_A2A_PYTHON", "python3");
    found("a2a-python", python, &["-c", "import a2a.compat.v0_3, grpc, uvicorn"])
}

/// The Python with the SDK 0.3.x.
pub(crate) fn python_03() -> Option<impl Fn() -> Command> {
    let python = program("MAS_A2A_PYTHON_03", "python3");
    found("a2a-python-03", python, &["-c", "import grpc, uvicorn; from a2a.client import legacy"])
}

/// Node with the SDK 1.x.
pub(crate) fn js() -> Option<impl Fn() -> Command> {
    node("a2a-js", "@a2a-js/sdk")
}

/// Node with the SDK 0.3.x.
pub(crate) fn js_03() -> Option<impl Fn() -> Command> {
    node("a2a-js-03", "a2a-js-03")
}

fn node(name: &str, package: &str) -> Option<impl Fn() -> Command + use<>> {
    let probe =
        format!("require('node:module').createRequire(process.env.MAS_A2A_JS + '/x.js')('{package}')");
    found(name, "node".to_owned(), &["-e", &probe])
}

/// The program over the Rust SDK.
pub(crate) fn rust() -> Option<impl Fn() -> Command> {
    found("a2a-rust", program("MAS_A2A_RUST", "a2a-peer-rust"), &["--version"])
}
