//! The program that serves, and requests to it as bytes.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Child, ChildStderr, Command, Stdio},
    time::Duration,
};

use serde_json::Value;

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
    /// Where it listens for gRPC.
    pub(crate) grpc: String,
    home: tempfile::TempDir,
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Served {
    /// Serves with an infra file of the example, on ports that the system chooses.
    pub(crate) fn start(infra: &str) -> Self {
        let text = std::fs::read_to_string(example(infra)).expect("the example has it");
        Self::with(&text, &[])
    }

    /// Serves with the text of an infra file, and files beside it.
    pub(crate) fn with(infra: &str, files: &[(&str, &str)]) -> Self {
        let home = tempfile::tempdir().expect("a temporary folder");
        let chosen = home.path().join("infra.yaml");
        let text = infra.replace("grpc_port: 9998", "grpc_port: 0");
        std::fs::write(&chosen, text).expect("the file is written");
        for (name, text) in files {
            std::fs::write(home.path().join(name), text).expect("the file is written");
        }
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
        let mut served = Self { child, stderr, http: String::new(), grpc: String::new(), home };
        let mut said = String::new();
        while !said.contains("\nReady.") {
            let mut line = String::new();
            served.stderr.read_line(&mut line).expect("stderr is text");
            assert!(!line.is_empty(), "it ends: {said}");
            for (word, place) in [("(http on ", &mut served.http), ("(grpc on ", &mut served.grpc)] {
                if let Some((_, socket)) = line.split_once(word) {
                    socket.trim_end().trim_end_matches(')').clone_into(place);
                }
            }
            said.push_str(&line);
        }
        served
    }

    /// A file beside its infra file.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    /// Sends a request and leaves its answer to be read.
    pub(crate) fn open(&self, verb: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        request(&self.http, verb, path, headers, body)
    }
}

/// Sends a request to a socket and leaves its answer to be read.
pub(crate) fn request(socket: &str, verb: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
    let mut stream = TcpStream::connect(socket).expect("it listens");
    stream.set_read_timeout(Some(LIMIT)).expect("a limit");
    let mut head = format!("{verb} {path} HTTP/1.0\r\nhost: {socket}\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    if !body.is_empty() {
        head.push_str(&format!("content-length: {}\r\n", body.len()));
    }
    stream.write_all(format!("{head}\r\n{body}").as_bytes()).expect("it is sent");
    Answer::read(stream)
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
