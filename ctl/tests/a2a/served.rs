//! The program that serves, and requests to it as bytes.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Child, ChildStderr, Command, Stdio},
    time::Duration,
};

use serde_json::{Value, json};

/// No answer takes longer than this.
const LIMIT: Duration = Duration::from_secs(20);

pub(crate) fn example(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/a2a-conformance").join(file)
}

/// A program that serves the agent of the conformance kits. It ends with the test.
pub(crate) struct Served {
    child: Child,
    stderr: BufReader<ChildStderr>,
    /// Where it listens for HTTP, as `host:port`.
    pub(crate) http: String,
    _home: tempfile::TempDir,
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Served {
    /// Serves with an infra file of the example, on a port that the system chooses.
    pub(crate) fn start(infra: &str) -> Self {
        let home = tempfile::tempdir().expect("a temporary folder");
        // The system chooses the ports.
        let text = std::fs::read_to_string(example(infra)).expect("the example has it");
        let text = text.replace("grpc_port: 9998", "grpc_port: 0");
        let chosen = home.path().join("infra.yaml");
        std::fs::write(&chosen, text).expect("the file is written");
        let mut command = Command::new(env!("CARGO_BIN_EXE_mas-ctl"));
        command.arg("serve").arg(example("agent.yaml")).arg("--infra-ref").arg(&chosen);
        command.args(["--listen", "127.0.0.1:0", "--no-events"]);
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", home.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let stderr = BufReader::new(child.stderr.take().expect("it has a stderr"));
        let mut served = Self { child, stderr, http: String::new(), _home: home };
        let mut said = String::new();
        while !said.contains("\nReady.") {
            let mut line = String::new();
            served.stderr.read_line(&mut line).expect("stderr is text");
            assert!(!line.is_empty(), "it ends: {said}");
            if let Some((_, socket)) = line.split_once("(http on ") {
                socket.trim_end().trim_end_matches(')').clone_into(&mut served.http);
            }
            said.push_str(&line);
        }
        served
    }

    /// Sends a request and leaves its answer to be read.
    pub(crate) fn open(&self, verb: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut stream = TcpStream::connect(&self.http).expect("it listens");
        stream.set_read_timeout(Some(LIMIT)).expect("a limit");
        let mut head = format!("{verb} {path} HTTP/1.0\r\nhost: {}\r\n", self.http);
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if !body.is_empty() {
            head.push_str(&format!("content-length: {}\r\n", body.len()));
        }
        stream.write_all(format!("{head}\r\n{body}").as_bytes()).expect("it is sent");
        Answer::read(stream)
    }
}

/// An answer whose head is read.
pub(crate) struct Answer {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    body: BufReader<TcpStream>,
}

impl Answer {
    fn read(stream: TcpStream) -> Self {
        let mut body = BufReader::new(stream);
        let mut line = || {
            let mut line = String::new();
            body.read_line(&mut line).expect("a line of the head");
            line.trim_end().to_owned()
        };
        let status = line().split(' ').nth(1).expect("a status").parse().expect("a number");
        let mut headers = Vec::new();
        loop {
            let line = line();
            let Some((name, value)) = line.split_once(':') else { break };
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        Self { status, headers, body }
    }

    /// A header, or nothing.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }

    /// The whole body as JSON.
    pub(crate) fn json(mut self) -> Value {
        let mut text = String::new();
        self.body.read_to_string(&mut text).expect("the body is text");
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    /// The next event of a stream; nothing at its end.
    pub(crate) fn event(&mut self) -> Option<Value> {
        loop {
            let mut line = String::new();
            if self.body.read_line(&mut line).expect("a line of the stream") == 0 {
                return None;
            }
            if let Some(data) = line.strip_prefix("data:") {
                return Some(serde_json::from_str(data).expect("an event is JSON"));
            }
        }
    }
}

/// A binding over HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Binding {
    JsonRpc,
    Rest,
}

pub(crate) const BINDINGS: [Binding; 2] = [Binding::JsonRpc, Binding::Rest];

/// How an operation failed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    /// The code of JSON-RPC, or the status of HTTP.
    pub(crate) code: i64,
    /// The reason of its `ErrorInfo`.
    pub(crate) reason: String,
    /// The whole error.
    pub(crate) error: Value,
}

/// Opens the answer of an operation of v1.0.
pub(crate) fn open(
    served: &Served,
    binding: Binding,
    operation: &str,
    params: &Value,
    more: &[(&str, &str)],
) -> Answer {
    let mut headers = vec![("content-type", "application/json"), ("a2a-version", "1.0")];
    headers.retain(|(name, _)| more.iter().all(|(other, _)| other != name));
    headers.extend_from_slice(more);
    if binding == Binding::JsonRpc {
        let call = json!({"jsonrpc": "2.0", "id": 7, "method": operation, "params": params});
        return served.open("POST", "/", &headers, &call.to_string());
    }
    let text = |name: &str| params[name].as_str().unwrap_or_default();
    let (verb, path) = match operation {
        "SendMessage" => ("POST", "/message:send".to_owned()),
        "SendStreamingMessage" => ("POST", "/message:stream".to_owned()),
        "GetTask" => ("GET", format!("/tasks/{}", text("id"))),
        "ListTasks" => ("GET", "/tasks".to_owned()),
        "CancelTask" => ("POST", format!("/tasks/{}:cancel", text("id"))),
        "SubscribeToTask" => ("POST", format!("/tasks/{}:subscribe", text("id"))),
        "CreateTaskPushNotificationConfig" => {
            ("POST", format!("/tasks/{}/pushNotificationConfigs", text("taskId")))
        }
        "ListTaskPushNotificationConfigs" => {
            ("GET", format!("/tasks/{}/pushNotificationConfigs", text("taskId")))
        }
        "GetTaskPushNotificationConfig" | "DeleteTaskPushNotificationConfig" => {
            let verb = if operation.starts_with("Get") { "GET" } else { "DELETE" };
            (verb, format!("/tasks/{}/pushNotificationConfigs/{}", text("taskId"), text("id")))
        }
        "GetExtendedAgentCard" => ("GET", "/extendedAgentCard".to_owned()),
        other => panic!("`{other}` is no operation"),
    };
    let mut path = format!("/a2a/rest{path}");
    if verb == "POST" {
        return served.open(verb, &path, &headers, &params.to_string());
    }
    let mut mark = '?';
    for (name, value) in params.as_object().into_iter().flatten() {
        if !matches!(name.as_str(), "id" | "taskId") {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            path.push_str(&format!("{mark}{name}={value}"));
            mark = '&';
        }
    }
    headers.retain(|(name, _)| *name != "content-type");
    served.open(verb, &path, &headers, "")
}

/// What an answer is: a result, or how it failed.
pub(crate) fn outcome(binding: Binding, answer: Answer) -> Result<Value, Refused> {
    let status = answer.status;
    let body = answer.json();
    let error = &body["error"];
    if error.is_null() {
        return Ok(if binding == Binding::JsonRpc { body["result"].clone() } else { body });
    }
    let (code, details) = match binding {
        Binding::JsonRpc => (error["code"].as_i64().expect("a code"), &error["data"]),
        Binding::Rest => {
            assert_eq!(error["code"], status);
            (i64::from(status), &error["details"])
        }
    };
    let info = details.as_array().into_iter().flatten().find(|detail| {
        detail["@type"] == "type.googleapis.com/google.rpc.ErrorInfo"
            && detail["domain"] == "a2a-protocol.org"
    });
    let reason = info.and_then(|info| info["reason"].as_str()).unwrap_or_default().to_owned();
    Err(Refused { code, reason, error: error.clone() })
}

/// Calls an operation that answers once.
pub(crate) fn call(
    served: &Served,
    binding: Binding,
    operation: &str,
    params: &Value,
) -> Result<Value, Refused> {
    outcome(binding, open(served, binding, operation, params, &[]))
}

/// A stream of an operation; how it failed, if there is none.
pub(crate) fn stream(
    served: &Served,
    binding: Binding,
    operation: &str,
    params: &Value,
) -> Result<Events, Refused> {
    let answer = open(served, binding, operation, params, &[]);
    if answer.header("content-type").starts_with("text/event-stream") {
        return Ok(Events { binding, answer });
    }
    Err(outcome(binding, answer).expect_err("an answer that is no stream is a failure"))
}

/// The events of a stream, without what a binding puts around them.
pub(crate) struct Events {
    binding: Binding,
    answer: Answer,
}

impl Iterator for Events {
    type Item = Value;

    fn next(&mut self) -> Option<Value> {
        let event = self.answer.event()?;
        if self.binding == Binding::Rest {
            return Some(event);
        }
        assert_eq!((&event["jsonrpc"], &event["id"]), (&json!("2.0"), &json!(7)), "{event}");
        Some(event["result"].clone())
    }
}
