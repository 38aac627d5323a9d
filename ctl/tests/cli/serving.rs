//! A program that serves, until the test is over.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Child, ChildStderr, Command, Stdio},
};

use serde_json::{Value, json};

use crate::bench::Bench;

/// A program that serves. It ends with the test.
pub(crate) struct Serving {
    pub(crate) child: Child,
    stderr: BufReader<ChildStderr>,
    /// The address of each agent, in order.
    pub(crate) places: Vec<(String, String)>,
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Serving {
    /// Starts it and waits until it says that it listens.
    pub(crate) fn start(bench: &Bench, args: &[&str]) -> Self {
        let mut command = bench.command(args);
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = child.spawn().expect("it starts");
        let stderr = BufReader::new(child.stderr.take().expect("it has a stderr"));
        let mut serving = Self { child, stderr, places: Vec::new() };
        let mut said = String::new();
        loop {
            let line = serving.line();
            assert!(!line.is_empty(), "it ends: {said}");
            said.push_str(&line);
            if let Some((agent, rest)) = line.split_once("` is served at ") {
                let socket = rest.split_once(" on ").and_then(|(_, end)| end.trim_end().strip_suffix(')'));
                let place = (agent.trim_start_matches('`').to_owned(), socket.unwrap_or_default().to_owned());
                serving.places.push(place);
            }
            let last =
                if args[0] == "serve" { line.starts_with("Ready.") } else { !serving.places.is_empty() };
            if last {
                return serving;
            }
        }
    }

    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.stderr.read_line(&mut line).expect("stderr is text");
        line
    }

    pub(crate) fn connect(&self) -> TcpStream {
        TcpStream::connect(self.socket()).expect("it listens")
    }

    /// Status, head and body of an answer.
    pub(crate) fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> (u16, String, String) {
        answer(send(self.connect(), method, path, body))
    }

    pub(crate) fn get(&self, path: &str) -> (u16, Value) {
        let (status, _, body) = self.ask("GET", path, None);
        (status, serde_json::from_str(&body).unwrap_or(Value::String(body)))
    }

    pub(crate) fn call(&self, path: &str, method: &str, params: &Value) -> Value {
        let call = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
        let (status, _, body) = self.ask("POST", path, Some(&call));
        assert_eq!(status, 200, "{body}");
        serde_json::from_str(&body).unwrap_or(Value::String(body))
    }

    /// The address of its first agent.
    pub(crate) fn socket(&self) -> &str {
        &self.places[0].1
    }

    /// Its process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill").args(["-s", name, &self.id().to_string()]).status();
        assert!(sent.expect("kill runs").success());
    }

    /// The exit code, and what it still said on stderr.
    pub(crate) fn end(mut self) -> (Option<i32>, String) {
        let code = self.child.wait().expect("it ends").code();
        let mut rest = String::new();
        self.stderr.read_to_string(&mut rest).expect("stderr is text");
        (code, rest)
    }
}

pub(crate) fn send(mut stream: TcpStream, method: &str, path: &str, body: Option<&Value>) -> TcpStream {
    let body = body.map(Value::to_string).unwrap_or_default();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\na2a-version: 1.0\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all((head + &body).as_bytes()).expect("it is sent");
    stream
}

fn answer(mut stream: TcpStream) -> (u16, String, String) {
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("the answer is text");
    let (head, body) = text.split_once("\r\n\r\n").expect("the answer has a head");
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    (status, head.to_ascii_lowercase(), body.to_owned())
}
