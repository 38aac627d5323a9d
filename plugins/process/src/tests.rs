//! The backend keeps the rules of `agent_comm`, over lines in memory.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use mas_contracts::{AgentHost, CancelReason, Event, EventKind, EventSink, Part, Thread, ThreadName};
use mas_testkit::{
    Behaviour, CallContextBuilder, ScriptedHost, build_context, call_context, comm::CommHarness,
};
use serde_json::json;
use tokio::{
    io::{AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf, split},
    sync::mpsc,
};

use super::*;

type Here = (BufReader<ReadHalf<DuplexStream>>, WriteHalf<DuplexStream>);

fn process() -> Process {
    let params = ProcessParams { command: vec!["none".to_owned()], env: Vec::new(), params: Value::Null };
    Process::new(&build_context("".as_ref(), &[]), params).unwrap()
}

fn pipe() -> (Here, Here) {
    let (here, there) = tokio::io::duplex(4096);
    let half = |stream| {
        let (read, write) = split(stream);
        (BufReader::new(read), write)
    };
    (half(here), half(there))
}

/// A backend whose program is on the other end of lines.
async fn linked((read, write): Here) -> Arc<Process> {
    let process = process();
    let (link, carried) = Link::open(read, write, &json!({"greeting": "hi"})).await.unwrap();
    let attended = tokio::spawn(carried);
    *process.running.lock().await =
        Running { link: Some(link), attended: Some(attended), began: None, failures: 0 };
    Arc::new(process)
}

/// Tells text as events.
#[derive(Debug)]
struct Told(u64, mpsc::UnboundedSender<Value>);

impl EventSink for Told {
    fn emit(&self, event: Event) {
        if let EventKind::TextDelta { text, .. } = event.kind {
            let _ = self.1.send(json!({"event": {"id": self.0, "text": text}}));
        }
    }
}

/// Speaks the messages for scripted agents, as a program would.
async fn speak(host: Arc<ScriptedHost>, (mut read, mut write): Here) {
    let (say, mut said) = mpsc::unbounded_channel::<Value>();
    tokio::spawn(async move {
        while let Some(line) = said.recv().await {
            if write.write_all(format!("{line}\n").as_bytes()).await.is_err() {
                return;
            }
        }
    });
    let calls: Arc<Mutex<HashMap<u64, CallContext>>> = Arc::default();
    let mut line = String::new();
    while let Ok(1..) = read.read_line(&mut line).await {
        let told: Value = serde_json::from_str(&line).unwrap();
        line.clear();
        if told.get("hello").is_some() {
            assert_eq!(told["hello"], json!({"version": 1, "features": [], "params": {"greeting": "hi"}}));
            say.send(json!({"hello": {"version": 1, "name": "scripted"}})).unwrap();
        } else if let Some(call) = told.get("call") {
            let id = call["id"].as_u64().unwrap();
            if let Some(probe) = call.get("probe") {
                let to = probe["to"].as_str().unwrap();
                let known = host.describe(to).is_some();
                let error = json!({"kind": "not_found", "message": "nobody"});
                let _ = say.send(if known {
                    json!({"end": {"id": id, "probe": {"name": to}}})
                } else {
                    json!({"fail": {"id": id, "error": error}})
                });
                continue;
            }
            let send = call["send"].clone();
            let sink = Arc::new(Told(id, say.clone()));
            let cx = CallContextBuilder::new("there").sink(sink).timeout(Duration::from_secs(3600)).build();
            calls.lock().unwrap().insert(id, cx.clone());
            let (host, say) = (host.clone(), say.clone());
            tokio::spawn(async move {
                let thread =
                    Thread { parent: send["thread"].as_str().unwrap().into(), name: ThreadName::Main };
                let parts: Vec<Part> = serde_json::from_value(send["parts"].clone()).unwrap();
                let message_id = send["message_id"].as_str().unwrap().into();
                let message = Outbound { parts, message_id, thread, task: None };
                let _ = say.send(match host.run(&cx, send["to"].as_str().unwrap(), message).await {
                    Ok(reply) => json!({"end": {"id": id, "reply": reply}}),
                    Err(error) => json!({"fail": {"id": id, "error": error}}),
                });
            });
        } else if let Some(cancel) = told.get("cancel") {
            let reason: CancelReason = serde_json::from_value(cancel["reason"].clone()).unwrap();
            if let Some(cx) = calls.lock().unwrap().get(&cancel["id"].as_u64().unwrap()) {
                cx.cancel().cancel(reason);
            }
        }
    }
}

struct InMemory;

#[async_trait]
impl CommHarness for InMemory {
    fn tells_peers(&self, _comm: &dyn AgentCommContract) -> bool {
        true
    }

    async fn connect(&self, host: Arc<ScriptedHost>) -> Arc<dyn AgentCommContract> {
        let (here, there) = pipe();
        tokio::spawn(speak(host, there));
        linked(here).await
    }
}

mod rules {
    use super::InMemory;
    mas_testkit::comm_conformance!(InMemory);
}

fn message(id: &str) -> Outbound {
    let thread = Thread { parent: "p".into(), name: ThreadName::Main };
    Outbound { parts: vec![Part::text("hello")], message_id: id.into(), thread, task: None }
}

fn peer() -> Peer {
    Peer { id: "a".into() }
}

/// What a send ends with if the program says these lines after its hello and the call.
async fn after(lines: &str) -> Error {
    let ((read, write), (mut there_read, mut there)) = pipe();
    let lines = lines.to_owned();
    tokio::spawn(async move {
        there.write_all(b"{\"hello\": {\"version\": 1}}\n").await.unwrap();
        let mut line = String::new();
        for _ in 0..2 {
            there_read.read_line(&mut line).await.unwrap();
        }
        let _ = there.write_all(lines.as_bytes()).await;
    });
    let process = process();
    let (link, carried) = Link::open(read, write, &Value::Null).await.unwrap();
    tokio::spawn(carried);
    process.running.lock().await.link = Some(link);
    process.send(&call_context(), &peer(), message("m1")).await.unwrap_err()
}

#[tokio::test(start_paused = true)]
async fn a_program_that_breaks_a_rule_or_ends_leaves_no_call_open() {
    let event = "{\"event\": {\"id\": 1, \"text\": \"x\"}}\n";
    let lines = [
        (String::new(), "it ended"),
        ("? what\n".to_owned(), "it said what is no message: expected value at line 1 column 1"),
        ("{\"hello\": {\"version\": 1}}\n".to_owned(), "it said `hello` twice"),
        ("{\"end\": {\"id\": 1".to_owned(), "it ended within a line"),
        (event.repeat(500), "it sent more events than it had credit for"),
    ];
    for (lines, why) in lines {
        let error = after(&lines).await;
        assert_eq!((error.kind(), error.delivery()), (ErrorKind::Unavailable, Delivery::Unknown), "{why}");
        assert_eq!(error.causes(), [why]);
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_of_the_wrong_kind_is_an_error_and_one_of_nobodys_call_is_passed_over() {
    let error =
        after("{\"end\": {\"id\": 99}}\n{\"what\": 1}\n{\"end\": {\"id\": 1, \"probe\": {}}}\n").await;
    assert_eq!(error.kind(), ErrorKind::Unavailable, "a line that is no message ends it");
    let error = after("{\"end\": {\"id\": 99}}\n\n{\"end\": {\"id\": 1, \"probe\": {}}}\n").await;
    assert_eq!((error.kind(), error.delivery()), (ErrorKind::Internal, Delivery::Unknown));
}

#[tokio::test(start_paused = true)]
async fn a_long_stream_gets_its_credit() {
    let pieces: Vec<String> = (0..1000).map(|n| format!("{n} ")).collect();
    let gap = Duration::from_millis(1);
    let host = ScriptedHost::new([("a", Behaviour::Stream(pieces.clone(), gap))]);
    let comm = InMemory.connect(host).await;
    let sink = mas_testkit::RecordingSink::new();
    let cx = CallContextBuilder::new("root").sink(sink.clone()).build();
    let reply = comm.send(&cx, &peer(), message("m1")).await.unwrap();
    assert_eq!(*reply.text(), *pieces.concat());
    let got: String = sink.pieces().iter().map(|(_, piece)| &**piece).collect();
    assert_eq!(got, pieces.concat());
}

#[test]
fn parameters_are_checked() {
    let problem = |params: Value| {
        let problem = (descriptor().check)(&params).remove(0);
        format!("{}: {}", problem.path, problem.message)
    };
    assert_eq!(problem(json!({"command": []})), "command: a program is expected, and its arguments");
    assert!(problem(json!({"command": ["x"], "url": "y"})).contains("unknown field `url`"));
    assert!(problem(json!({})).contains("missing field `command`"));
}
