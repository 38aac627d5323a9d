//! What the rules of `agent_comm` do not say: sockets without a peer, peers that say odd things, parameters.

#![allow(
    clippy::panic,
    clippy::expect_used,
    reason = "helpers of tests; the exemption in clippy.toml reaches test functions only"
)]

use std::{path::Path, process::Stdio};

use mas_contracts::{
    AgentCommContract, Builder, Delivery, Error, ErrorKind, Outbound, Part, Peer, Reply, Result, Thread,
    ThreadName,
};
use mas_testkit::{build_context, call_context};
use mas_uds_backend::{Uds, descriptor};
use serde_json::json;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::UnixListener,
    process::Command,
};

async fn send(uds: &dyn AgentCommContract) -> Result<Reply> {
    let thread = Thread { parent: "p".into(), name: ThreadName::Main };
    let message = Outbound { parts: vec![Part::text("hello")], message_id: "m".into(), thread, task: None };
    uds.send(&call_context(), &Peer { id: "peer".into() }, message).await
}

/// What a send gives where the peer answers with these bytes and hangs up.
async fn answered_with(bytes: &[u8]) -> Error {
    let folder = tempfile::tempdir().expect("a folder");
    let socket = folder.path().join("peer.sock");
    let listener = UnixListener::bind(&socket).expect("it can be listened on");
    let peer = async {
        let (mut stream, _) = listener.accept().await.expect("a caller");
        let mut line = String::new();
        BufReader::new(&mut stream).read_line(&mut line).await.expect("a line");
        stream.write_all(bytes).await.expect("it is said");
    };
    let uds = Uds::new(socket.clone());
    let (sent, ()) = tokio::join!(send(&uds), peer);
    sent.expect_err("an error")
}

#[tokio::test]
async fn a_socket_that_is_not_there_is_unavailable_and_nothing_was_sent() {
    let error = send(&Uds::new("/nonexistent/peer.sock".into())).await.expect_err("an error");
    assert_eq!((error.kind(), error.delivery()), (ErrorKind::Unavailable, Delivery::NotSent));
    assert!(error.message().contains("/nonexistent/peer.sock"), "{error}");
}

#[tokio::test]
async fn a_peer_that_hangs_up_or_says_odd_things_may_have_executed_the_message() {
    let answers: [(&[u8], &str); 5] = [
        (b"", "hung up before it replied"),
        (b"{\"text\": \"half", "ends in its middle"),
        (b"hello\n", "none of those that it may say"),
        (b"{\"sing\": 1}\n", "none of those that it may say"),
        (b"{\"agent\": {\"name\": \"me\"}}\n", "the description of an agent"),
    ];
    for (bytes, why) in answers {
        let error = answered_with(bytes).await;
        assert_eq!(error.delivery(), Delivery::Unknown, "{error:?}");
        assert!(error.message().contains(why), "{error:?}");
    }
}

#[tokio::test]
async fn the_peer_in_python_says_what_it_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let socket = folder.path().join("run/echo.sock");
    let mut peer = Command::new("python3")
        .args([Path::new(env!("CARGO_MANIFEST_DIR")).join("peer.py"), socket.clone()])
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("python3 runs");
    let mut lines = BufReader::new(peer.stdout.take().expect("a stdout")).lines();
    assert!(lines.next_line().await.expect("text").is_some_and(|line| line.starts_with("listening on")));
    let uds = Uds::new(socket);
    let probe = uds.probe(&call_context(), &Peer { id: "echo".into() }).await.expect("it is there");
    assert_eq!(probe.name.as_deref(), Some("Echo"));
    assert_eq!(&*send(&uds).await.expect("a reply").text(), "hello");
}

#[test]
fn the_socket_is_a_path_from_the_folder_of_the_file_that_says_it() {
    let descriptor = descriptor();
    assert!((descriptor.check)(&json!({"socket": "run/peer.sock"})).is_empty());
    let missing = (descriptor.check)(&json!({}));
    assert!(missing[0].message.contains("socket"), "{missing:?}");
    let unknown = (descriptor.check)(&json!({"socket": "a", "port": 1}));
    assert!(unknown[0].message.contains("port"), "{unknown:?}");
    assert_eq!((descriptor.check)(&json!({"socket": ""}))[0].path, "socket");
    let Builder::AgentComm(build) = descriptor.builder else { panic!("it builds something else") };
    let built = build.build(&build_context(Path::new("/base"), &[]), &json!({"socket": "run/peer.sock"}));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let error = runtime.block_on(send(&*built.expect("it is built"))).expect_err("nobody is there");
    assert!(error.message().contains("/base/run/peer.sock"), "{error}");
}
