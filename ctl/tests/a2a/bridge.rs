//! gRPC for tests: the stubs of the official Python SDK, asked over HTTP.

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    sync::OnceLock,
};

use crate::sdk;

/// Where the stubs are asked; nothing where the SDK is not here. They end when the test no longer holds their stdin.
pub(crate) fn bridge() -> Option<&'static str> {
    static BRIDGE: OnceLock<Option<(String, Child)>> = OnceLock::new();
    BRIDGE.get_or_init(open).as_ref().map(|(socket, _)| socket.as_str())
}

fn open() -> Option<(String, Child)> {
    let mut python: Command = sdk::python()?();
    python.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/a2a/stubs.py"));
    let mut child = python.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut port = String::new();
    BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut port).expect("it says its port");
    Some((format!("127.0.0.1:{}", port.trim()), child))
}
