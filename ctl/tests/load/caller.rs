//! A caller: one connection, its requests, and its answers as they come.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
    time::timeout,
};

/// How much of an answer is read at once; small, for there are many callers.
const BUFFER: usize = 2 * 1024;

/// A connection.
pub(crate) struct Caller {
    stream: BufReader<TcpStream>,
    /// What came of a stream, and how much of it was read.
    text: String,
    read: usize,
}

impl Caller {
    pub(crate) async fn connect(socket: &str) -> Self {
        let stream = TcpStream::connect(socket).await.expect("it listens");
        stream.set_nodelay(true).expect("a socket of TCP");
        Self { stream: BufReader::with_capacity(BUFFER, stream), text: String::new(), read: 0 }
    }

    pub(crate) async fn write(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).await.expect("it is sent");
    }

    /// Reads this many bytes of whatever comes, or what comes before the time is up.
    pub(crate) async fn read_some(&mut self, bytes: u64, time: Duration) {
        let mut some = Vec::new();
        let mut most = (&mut self.stream).take(bytes);
        let read = most.read_to_end(&mut some);
        if let Ok(read) = timeout(time, read).await {
            read.expect("it is read");
        }
    }

    /// The body of an answer that is not a stream.
    pub(crate) async fn answer(&mut self) -> String {
        let head = self.head().await;
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let length: usize = length.and_then(|length| length.parse().ok()).unwrap_or_else(|| panic!("{head}"));
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).await.expect("a whole body");
        String::from_utf8(body).expect("text")
    }

    pub(crate) async fn call(&mut self, method: &str, params: &Value) -> Value {
        self.write(&request(method, params)).await;
        let body = self.answer().await;
        let answer: Value = serde_json::from_str(&body).expect("JSON");
        assert!(answer["error"].is_null(), "{body}");
        answer["result"].clone()
    }

    /// Asks for a stream, and waits until it is open.
    pub(crate) async fn open(&mut self, method: &str, params: &Value) {
        self.write(&request(method, params)).await;
        let head = self.head().await;
        assert!(head.contains("text/event-stream"), "{head}");
    }

    /// The next event of a stream; none at its end.
    pub(crate) async fn event(&mut self) -> Option<Value> {
        loop {
            let left = &self.text[self.read..];
            if let Some((event, _)) = left.split_once("\n\n") {
                self.read += event.len() + 2;
                // A comment keeps the connection open.
                let Some(data) = event.lines().find_map(|line| line.strip_prefix("data:")) else { continue };
                let mut data: Value = serde_json::from_str(data).expect("JSON");
                return Some(data["result"].take());
            }
            self.text.drain(..std::mem::take(&mut self.read));
            let mut size = String::new();
            self.stream.read_line(&mut size).await.expect("the size of a chunk");
            let size = usize::from_str_radix(size.trim(), 16).expect("a stream ends with a chunk of none");
            let mut chunk = vec![0; size + 2];
            self.stream.read_exact(&mut chunk).await.expect("a whole chunk");
            if size == 0 {
                return None;
            }
            self.text.push_str(std::str::from_utf8(&chunk[..size]).expect("text"));
        }
    }

    /// Everything that the stream says.
    pub(crate) async fn follow(&mut self) -> Followed {
        let mut followed = Followed::default();
        while let Some(event) = self.event().await {
            followed.take(&event);
        }
        followed
    }

    async fn head(&mut self) -> String {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            let read = self.stream.read_line(&mut head).await.expect("a head");
            assert!(read > 0, "it ends after {head:?}");
        }
        head.make_ascii_lowercase();
        head
    }
}

/// What a reader makes of a stream.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Followed {
    pub(crate) task: String,
    /// The state by the last event.
    pub(crate) state: String,
    /// The text of its artifacts.
    pub(crate) text: String,
    pub(crate) events: usize,
}

impl Followed {
    fn take(&mut self, event: &Value) {
        self.events += 1;
        let (task, update) = (&event["task"], &event["artifactUpdate"]);
        let status = if task.is_object() { &task["status"] } else { &event["statusUpdate"]["status"] };
        if let Some(state) = status["state"].as_str() {
            state.clone_into(&mut self.state);
        }
        if task.is_object() {
            self.task = task["id"].as_str().unwrap_or_default().to_owned();
            let artifacts = task["artifacts"].as_array();
            self.text = artifacts.into_iter().flatten().map(text_of).collect();
        }
        if update.is_object() {
            if update["append"] != true {
                self.text.clear();
            }
            self.text.push_str(&text_of(&update["artifact"]));
        }
    }
}

fn text_of(artifact: &Value) -> String {
    let parts = artifact["parts"].as_array();
    parts.into_iter().flatten().filter_map(|part| part["text"].as_str()).collect()
}

/// A call, as it goes over the wire.
pub(crate) fn request(method: &str, params: &Value) -> Vec<u8> {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
    let head = format!(
        "POST / HTTP/1.1\r\nhost: x\r\na2a-version: 1.0\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n",
        body.len()
    );
    (head + &body).into_bytes()
}

/// A message that says hello.
pub(crate) fn message(id: &str) -> Value {
    json!({"message": {"messageId": id, "role": "ROLE_USER", "parts": [{"text": "hello"}]}})
}
