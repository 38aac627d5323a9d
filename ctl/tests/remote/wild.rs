//! An agent elsewhere that is slow, and says what terminals obey.

use std::{
    io::{BufRead, BufReader, ErrorKind, Read, Write},
    net::{TcpListener, TcpStream},
    sync::mpsc::{Receiver, Sender, channel},
    thread,
    time::Duration,
};

use serde_json::{Value, json};

use crate::{
    bench::Bench,
    kit::{RELAYS, caller, interrupt_at_work},
};

/// How long it takes to hear that a task is given up.
const SLOW: Duration = Duration::from_millis(600);

/// The window of a terminal, renamed.
const RENAME: &str = "\u{1b}]0;owned\u{7}";

/// Serves one agent: what it is sent works for ever where it begins with `wait`, and is refused otherwise. Says, of each
/// task that is given up, whether who gave it up was still there for the answer.
fn wild() -> (String, Receiver<bool>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let socket = listener.local_addr().expect("an address").to_string();
    let (heard, told) = channel();
    let url = format!("http://{socket}/");
    thread::spawn(move || {
        for connection in listener.incoming() {
            let (connection, heard, url) = (connection.expect("a connection"), heard.clone(), url.clone());
            thread::spawn(move || serve(connection, &url, &heard));
        }
    });
    (format!("b=a2a://{socket}"), told)
}

fn serve(connection: TcpStream, url: &str, heard: &Sender<bool>) {
    let mut reader = BufReader::new(connection.try_clone().expect("a second end"));
    let mut writer = connection;
    while let Some((head, body)) = request(&mut reader) {
        let reply = |result: Value| json!({"jsonrpc": "2.0", "id": body["id"], "result": result});
        let task = |state: &str| json!({"id": "t1", "contextId": "c1", "status": {"state": state}});
        if head.starts_with("GET") {
            let way = json!({"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"});
            let card = json!({
                "name": format!("wild\n{RENAME}"), "version": "1", "supportedInterfaces": [way],
                "capabilities": {"streaming": true},
            });
            whole(&mut writer, &card);
            continue;
        }
        match body["method"].as_str() {
            Some("SendStreamingMessage") if body["params"]["message"]["parts"][0]["text"] == "wait" => {
                let event = reply(json!({"task": task("TASK_STATE_WORKING")}));
                let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
                let _ = write!(writer, "{head}data: {event}\n\n");
                // Nothing more is said; who listens goes away some time.
                let _ = reader.read(&mut [0]);
                return;
            }
            Some("CancelTask") => {
                // Who has gone is seen to have gone; who waits says nothing.
                writer.set_read_timeout(Some(SLOW)).expect("a limit");
                let silent = |error: std::io::Error| {
                    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
                };
                let waits = writer.peek(&mut [0]).is_err_and(silent);
                writer.set_read_timeout(None).expect("no limit");
                whole(&mut writer, &reply(task("TASK_STATE_CANCELED")));
                let _ = heard.send(waits);
            }
            _ => {
                let error = json!({"code": -32603, "message": format!("no {RENAME}")});
                whole(&mut writer, &json!({"jsonrpc": "2.0", "id": body["id"], "error": error}));
            }
        }
    }
}

/// The next request: its first line and its body.
fn request(reader: &mut impl BufRead) -> Option<(String, Value)> {
    let (mut first, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().expect("a length");
        }
        if line == "\r\n" {
            break;
        }
        if first.is_empty() {
            first = line;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((first, serde_json::from_slice(&body).unwrap_or_default()))
}

fn whole(writer: &mut impl Write, body: &Value) {
    let body = body.to_string();
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    let _ = writer.write_all(format!("{head}{body}").as_bytes());
}

#[test]
fn who_interrupts_a_run_leaves_no_task_behind_on_a_slow_line() {
    let bench = Bench::new(&[]);
    caller(&bench, RELAYS);
    let (bind, told) = wild();
    let args = ["run-mas", "caller.yaml", "--bind", &bind, "--events-stderr", "-q", "wait"];
    let mut run = bench.command(&args);
    interrupt_at_work(&mut run);
    assert_eq!(told.recv_timeout(Duration::from_secs(10)), Ok(true), "it has gone before it was heard");
}

#[test]
fn what_an_agent_says_does_nothing_to_a_terminal() {
    let bench = Bench::new(&[]);
    caller(&bench, RELAYS);
    let (bind, _told) = wild();
    let plan = bench.run(&["plan", "caller.yaml", "--bind", &bind, "--live"]);
    assert!(
        plan.out.contains("wild ␛]0;owned␇ 1") && !plan.out.contains(RENAME),
        "{} {}",
        plan.out,
        plan.err
    );
    let run = bench.run(&["run-mas", "caller.yaml", "--bind", &bind, "--no-events", "-q", "hello"]);
    assert!(run.err.contains("no ␛]0;owned␇") && !run.err.contains(RENAME), "{}", run.err);
}
