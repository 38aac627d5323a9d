//! Programs in Python: the example, and some that misbehave.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "helpers of tests")]

use std::{fs, path::Path, sync::Arc, time::Duration};

use mas_contracts::{
    AgentCommContract, Audience, Delivery, ErrorKind, Outbound, Part, Peer, Reply, Result, Thread, ThreadName,
};
use mas_process::descriptor;
use mas_testkit::{CallContextBuilder, RecordingSink, build_context};
use serde_json::{Value, json};

fn built(dir: &Path, params: &Value) -> Arc<dyn AgentCommContract> {
    let path = std::env::var("PATH").unwrap();
    let mas_contracts::Builder::AgentComm(build) = descriptor().builder else { unreachable!() };
    build.build(&build_context(dir, &[("PATH", &path)]), params).unwrap()
}

async fn send(comm: &dyn AgentCommContract, to: &str, text: &str, timeout: Duration) -> Result<Reply> {
    let sink = RecordingSink::new();
    let cx = CallContextBuilder::new("root").timeout(timeout).sink(sink.clone()).build();
    let thread = Thread { parent: "p".into(), name: ThreadName::Main };
    let message = Outbound { parts: vec![Part::text(text)], message_id: "m1".into(), thread, task: None };
    let reply = comm.send(&cx, &Peer { id: to.into() }, message).await?;
    assert_eq!(sink.text(Audience::Answer).trim_end(), &*reply.text());
    Ok(reply)
}

const LONG: Duration = Duration::from_secs(20);

fn example() -> Arc<dyn AgentCommContract> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/python-backend");
    built(&dir, &json!({"command": ["python3", "backend.py"], "params": {"greeting": "Hi"}}))
}

#[tokio::test]
async fn the_example_answers_streams_and_ends_with_its_stdin() {
    let comm = example();
    assert_eq!(&*send(&*comm, "echo", "there", LONG).await.unwrap().text(), "Hi: there");
    let error = send(&*comm, "ghost", "there", LONG).await.unwrap_err();
    assert_eq!((error.kind(), error.delivery()), (ErrorKind::NotFound, Delivery::NotSent));
    let cx = CallContextBuilder::new("root").build();
    let probe = comm.probe(&cx, &Peer { id: "echo".into() }).await.unwrap();
    assert_eq!(probe.name.as_deref(), Some("Echo"));
    let began = std::time::Instant::now();
    comm.close().await.unwrap();
    assert!(began.elapsed() < Duration::from_secs(2), "it ended by itself");
    let error = send(&*comm, "echo", "late", LONG).await.unwrap_err();
    assert_eq!((error.kind(), error.delivery()), (ErrorKind::Unavailable, Delivery::NotSent));
}

/// A program that says hello, then does this for each line in `line`; its number of starts is in `starts`.
fn program(body: &str) -> (tempfile::TempDir, Arc<dyn AgentCommContract>) {
    let dir = tempfile::tempdir().unwrap();
    let text = format!(
        "import json, os, sys, time\nopen('starts', 'a').write('x')\nstarts = len(open('starts').read())\n\
         sys.stdin.readline()\nprint('{{\"hello\": {{\"version\": 1}}}}', flush=True)\nfor line in sys.stdin:\n    \
         message = json.loads(line)\n    open('lines', 'a').write(line)\n    {body}\n"
    );
    fs::write(dir.path().join("p.py"), text).unwrap();
    let comm = built(dir.path(), &json!({"command": ["python3", "p.py"]}));
    (dir, comm)
}

const DONE: &str = "print(json.dumps({'event': {'id': message['call']['id'], 'text': 'ok'}})); \
                    print(json.dumps({'end': {'id': message['call']['id'], 'reply': {'parts': [{'text': 'ok'}], 'end': 'done'}}}), flush=True)";

#[tokio::test]
async fn one_that_is_killed_leaves_no_call_open_and_is_started_again() {
    let (dir, comm) = program(&format!("os.kill(os.getpid(), 9) if starts == 1 else None; {DONE}"));
    let error = send(&*comm, "a", "x", LONG).await.unwrap_err();
    assert_eq!((error.kind(), error.delivery()), (ErrorKind::Unavailable, Delivery::Unknown));
    assert_eq!(&*send(&*comm, "a", "x", LONG).await.unwrap().text(), "ok");
    assert_eq!(fs::read_to_string(dir.path().join("starts")).unwrap(), "xx");
}

#[tokio::test]
async fn a_call_of_one_that_hangs_ends_at_its_budget_and_is_cancelled() {
    let (dir, comm) = program("pass");
    let error = send(&*comm, "a", "x", Duration::from_millis(1500)).await.unwrap_err();
    assert_eq!((error.kind(), error.delivery()), (ErrorKind::Timeout, Delivery::Unknown));
    comm.close().await.unwrap();
    let lines = fs::read_to_string(dir.path().join("lines")).unwrap();
    let last: Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
    assert_eq!(last, json!({"cancel": {"id": 1, "reason": "deadline", "stop": "cancel"}}));
}

#[tokio::test]
async fn what_cannot_be_started_or_speaks_otherwise_says_why() {
    let dir = tempfile::tempdir().unwrap();
    for (command, why) in [
        (json!(["no-such-program-here"]), "`no-such-program-here` cannot be started"),
        (json!(["python3", "-c", "pass"]), "it ended before it said `hello`"),
        (json!(["python3", "-c", "print('{\"hello\": {\"version\": 7}}')"]), "it speaks version 7"),
        (json!(["python3", "-c", "print('Welcome!')"]), "it said what is no message"),
    ] {
        let comm = built(dir.path(), &json!({"command": command}));
        let error = send(&*comm, "a", "x", LONG).await.unwrap_err();
        assert_eq!((error.kind(), error.delivery()), (ErrorKind::Unavailable, Delivery::NotSent));
        assert!(error.causes()[0].contains(why), "{error:#}");
    }
}
