//! A server that writes the bytes that a test gives it.

use std::{
    collections::BTreeMap,
    io,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::Notify,
    task::JoinHandle,
};

/// A larger request is cut off.
const LIMIT: usize = 16 * 1024 * 1024;

/// A request as it arrived.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RawRequest {
    /// The first line: `POST /v1/chat/completions HTTP/1.1`.
    pub line: String,
    /// The headers, names in lower case.
    pub headers: BTreeMap<String, String>,
    /// The body, as long as `content-length` says.
    pub body: String,
}

/// What the server does next on a connection. After the last it closes the connection.
#[derive(Clone, Debug)]
pub enum Act {
    /// Writes these bytes at once.
    Send(Vec<u8>),
    /// Writes these bytes in pieces of this many, each flushed by itself.
    Drip(Vec<u8>, usize),
    /// Does nothing for a while, on the clock of the runtime.
    Pause(Duration),
    /// Holds the connection open until the other side closes it.
    Hold,
}

impl Act {
    /// A whole answer of this status and content type, with its length.
    #[must_use]
    pub fn answer(status: u16, content_type: &str, body: &str) -> Self {
        let length = body.len();
        let head =
            format!("HTTP/1.1 {status} X\r\ncontent-type: {content_type}\r\ncontent-length: {length}\r\n");
        Self::Send(format!("{head}connection: close\r\n\r\n{body}").into_bytes())
    }

    /// The head of a stream of events that ends when the connection does.
    #[must_use]
    pub fn stream() -> Self {
        Self::Send(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n".to_vec(),
        )
    }
}

type Script = dyn Fn(usize, &RawRequest) -> Vec<Act> + Send + Sync;

#[derive(Default)]
struct Record {
    requests: Mutex<Vec<RawRequest>>,
    hung_up: AtomicUsize,
    change: Notify,
}

/// A server on the loopback that plays a script: one request per connection. It ends when it is dropped.
pub struct RawServer {
    url: String,
    record: Arc<Record>,
    task: JoinHandle<()>,
}

impl RawServer {
    /// Starts a server. `script` is asked per request, with its number from 0.
    ///
    /// # Errors
    /// When no port can be had.
    pub async fn start(
        script: impl Fn(usize, &RawRequest) -> Vec<Act> + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let url = format!("http://{}", listener.local_addr()?);
        let (record, script): (Arc<Record>, Arc<Script>) = (Arc::default(), Arc::new(script));
        let kept = record.clone();
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (record, script) = (kept.clone(), script.clone());
                // A connection that breaks is the other side's affair, and what the test looks at.
                tokio::spawn(async move { play(stream, &record, &*script).await });
            }
        });
        Ok(Self { url, record, task })
    }

    /// The URL of the server, without a path or a slash at its end.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The requests so far.
    #[must_use]
    pub fn requests(&self) -> Vec<RawRequest> {
        self.record.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until the other side has closed this many connections that were held.
    pub async fn wait_for_hang_ups(&self, wanted: usize) {
        loop {
            let change = self.record.change.notified();
            tokio::pin!(change);
            change.as_mut().enable();
            if self.record.hung_up.load(Relaxed) >= wanted {
                return;
            }
            change.await;
        }
    }
}

impl Drop for RawServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn play(mut stream: TcpStream, record: &Record, script: &Script) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let Some(request) = read(&mut stream).await? else { return Ok(()) };
    let number = {
        let mut requests = record.requests.lock().unwrap_or_else(PoisonError::into_inner);
        requests.push(request.clone());
        requests.len() - 1
    };
    for act in script(number, &request) {
        match act {
            Act::Send(bytes) => stream.write_all(&bytes).await?,
            Act::Drip(bytes, size) => {
                for piece in bytes.chunks(size.max(1)) {
                    stream.write_all(piece).await?;
                    stream.flush().await?;
                    tokio::task::yield_now().await;
                }
            }
            Act::Pause(time) => tokio::time::sleep(time).await,
            Act::Hold => {
                let mut rest = [0; 1024];
                while !matches!(stream.read(&mut rest).await, Ok(0) | Err(_)) {}
                record.hung_up.fetch_add(1, Relaxed);
                record.change.notify_waiters();
            }
        }
    }
    stream.shutdown().await
}

async fn read(stream: &mut TcpStream) -> io::Result<Option<RawRequest>> {
    let (mut bytes, mut part) = (Vec::new(), [0; 4096]);
    loop {
        if let Some(request) = parse(&bytes) {
            return Ok(Some(request));
        }
        let read = stream.read(&mut part).await?;
        let Some(fresh) = part.get(..read).filter(|fresh| !fresh.is_empty()) else { return Ok(None) };
        bytes.extend_from_slice(fresh);
        if bytes.len() > LIMIT {
            return Ok(None);
        }
    }
}

/// The request, once all of it is there.
fn parse(bytes: &[u8]) -> Option<RawRequest> {
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
    let (head, rest) = bytes.split_at(end);
    let rest = rest.get(4..)?;
    let head = String::from_utf8_lossy(head);
    let mut lines = head.split("\r\n");
    let line = lines.next().unwrap_or("").to_owned();
    let header = |line: &str| {
        let (name, value) = line.split_once(':')?;
        Some((name.trim().to_ascii_lowercase(), value.trim().to_owned()))
    };
    let headers: BTreeMap<_, _> = lines.filter_map(header).collect();
    let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let body = String::from_utf8_lossy(rest.get(..length)?).into_owned();
    Some(RawRequest { line, headers, body })
}
