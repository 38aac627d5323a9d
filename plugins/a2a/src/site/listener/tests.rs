use std::time::Duration;

use http_body_util::{BodyExt, Full};
use mas_testkit::TokioClock;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex},
    sync::Notify,
};

use super::*;

/// Answers with the path; `/wait` is answered once it is told to.
#[derive(Default)]
struct Echo {
    arrived: Notify,
    go: Notify,
}

impl Desk for Echo {
    type Body = Full<Bytes>;

    async fn answer(&self, request: Request<Incoming>) -> Response<Self::Body> {
        let path = request.uri().path().to_owned();
        if path == "/wait" {
            self.arrived.notify_one();
            self.go.notified().await;
        }
        let _ = request.into_body().collect().await;
        Response::new(Full::new(Bytes::from(path)))
    }
}

fn terms(change: impl FnOnce(&mut Limits)) -> Terms {
    let mut limits = Limits::default();
    change(&mut limits);
    Terms { limits, tls: None, clock: TokioClock::shared(), counts: Arc::default() }
}

/// One connection in memory, whose other side is the test.
fn connected(terms: Terms) -> (DuplexStream, watch::Sender<Phase>, Arc<Echo>) {
    let (here, there) = duplex(64 * 1024);
    let (phase, watched) = watch::channel(Phase::Open);
    let desk = Arc::new(Echo::default());
    tokio::spawn(Arc::new(Shared::new(desk.clone(), terms)).attend(there, watched));
    (here, phase, desk)
}

async fn open(terms: Terms) -> (Listener, SocketAddr, Arc<Echo>) {
    let desk = Arc::new(Echo::default());
    let bound = Bound::at("127.0.0.1", 0).await.unwrap();
    let socket = bound.socket();
    (bound.open(desk.clone(), terms), socket, desk)
}

async fn everything(stream: &mut (impl AsyncRead + Unpin)) -> String {
    let mut text = Vec::new();
    let _ = stream.read_to_end(&mut text).await;
    String::from_utf8_lossy(&text).into_owned()
}

#[tokio::test(start_paused = true)]
async fn who_says_nothing_is_cut_off_in_the_time_for_headers() {
    let begun = tokio::time::Instant::now();
    let (mut here, _phase, _) = connected(terms(|limits| limits.header_seconds = 3.0));
    assert_eq!(everything(&mut here).await, "");
    assert_eq!(begun.elapsed(), Duration::from_secs(3));
}

#[tokio::test(start_paused = true)]
async fn who_sends_headers_drop_by_drop_is_cut_off_too() {
    let begun = tokio::time::Instant::now();
    let (mut here, _phase, _) = connected(terms(|limits| limits.header_seconds = 3.0));
    here.write_all(b"GET / HTTP/1.1\r\n").await.unwrap();
    let mut drops = 0;
    while here.write_all(b"x: y\r\n").await.is_ok() {
        drops += 1;
        tokio::time::sleep(Duration::from_millis(500)).await;
        assert!(drops < 100, "it is let go on");
    }
    assert!(begun.elapsed() <= Duration::from_millis(3500), "{:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn half_a_greeting_of_http_2_is_cut_off() {
    let begun = tokio::time::Instant::now();
    let (mut here, _phase, _) = connected(terms(|limits| limits.header_seconds = 3.0));
    here.write_all(b"PRI * HTTP/2.0\r\n\r\nSM").await.unwrap();
    everything(&mut here).await;
    assert!(begun.elapsed() <= Duration::from_secs(4), "{:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn who_never_reads_the_answer_is_cut_off() {
    let (here, there) = duplex(16);
    let (_phase, watched) = watch::channel(Phase::Open);
    let shared = Arc::new(Shared::new(Arc::new(Echo::default()), terms(|_| {})));
    let (mut here, begun) = (here, tokio::time::Instant::now());
    let attended = tokio::spawn(shared.attend(there, watched));
    here.write_all(b"GET /a HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    attended.await.unwrap();
    assert_eq!(begun.elapsed(), STALL);
}

#[tokio::test]
async fn headers_beyond_the_limit_are_refused() {
    let (mut here, _phase, _) = connected(terms(|limits| limits.header_bytes = 8192));
    let head = format!("GET / HTTP/1.1\r\nhost: x\r\nx: {}\r\n\r\n", "y".repeat(9000));
    here.write_all(head.as_bytes()).await.unwrap();
    assert!(everything(&mut here).await.starts_with("HTTP/1.1 431 "));
    let (mut here, _phase, _) = connected(terms(|limits| limits.headers = 3));
    here.write_all(b"GET / HTTP/1.1\r\na: 1\r\nb: 2\r\nc: 3\r\nd: 4\r\n\r\n").await.unwrap();
    assert!(everything(&mut here).await.starts_with("HTTP/1.1 431 "));
}

#[tokio::test]
async fn draining_lets_the_request_under_way_end_and_no_other_begin() {
    let terms = terms(|_| {});
    let counts = terms.counts.clone();
    let (listener, socket, desk) = open(terms).await;
    let mut busy = TcpStream::connect(socket).await.unwrap();
    busy.write_all(b"GET /wait HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    desk.arrived.notified().await;
    let mut idle = TcpStream::connect(socket).await.unwrap();
    idle.write_all(b"GET /a HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    let mut first = [0; 15];
    idle.read_exact(&mut first).await.unwrap();
    assert_eq!(&first, b"HTTP/1.1 200 OK");
    listener.drain();
    assert!(everything(&mut idle).await.ends_with("/a"), "an idle connection ends at once");
    desk.go.notify_one();
    let answer = everything(&mut busy).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.ends_with("/wait"), "{answer}");
    listener.drained().await;
    assert!(TcpStream::connect(socket).await.is_err());
    let text = counts.to_text();
    assert!(text.contains("mas_a2a_connections 0\n") && text.contains("{code=\"2xx\"} 2\n"), "{text}");
}

#[tokio::test]
async fn what_does_not_end_is_ended() {
    let (listener, socket, desk) = open(terms(|_| {})).await;
    let mut busy = TcpStream::connect(socket).await.unwrap();
    busy.write_all(b"GET /wait HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    desk.arrived.notified().await;
    listener.drain();
    listener.end();
    assert_eq!(everything(&mut busy).await, "");
    listener.drained().await;
}

#[tokio::test]
async fn a_connection_too_many_is_told_so() {
    let terms = terms(|limits| limits.connections = 1);
    let counts = terms.counts.clone();
    let (_listener, socket, desk) = open(terms).await;
    let mut first = TcpStream::connect(socket).await.unwrap();
    first.write_all(b"GET /wait HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    desk.arrived.notified().await;
    let mut second = TcpStream::connect(socket).await.unwrap();
    second.write_all(b"GET /a HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    second.shutdown().await.unwrap();
    let answer = everything(&mut second).await;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 503 ") && head.contains("Retry-After: 1"), "{head}");
    assert!(head.contains(&format!("Content-Length: {}", body.len())), "{head}");
    let body: serde_json::Value = serde_json::from_str(body).unwrap();
    assert_eq!(body["error"]["details"][0]["reason"], "UNAVAILABLE");
    assert!(counts.to_text().contains("mas_a2a_connections_refused_total 1\n"));
}

#[tokio::test]
async fn a_socket_that_is_taken_says_what_to_look_for() {
    let first = Bound::at("127.0.0.1", 0).await.unwrap();
    let port = first.socket().port();
    let error = Bound::at("127.0.0.1", port).await.err().unwrap();
    assert_eq!((error.kind(), &*error.code()), (ErrorKind::Unavailable, "mas::a2a::bind"));
    assert_eq!(
        error.message(),
        format!("`127.0.0.1:{port}` cannot be listened on; another program listens there")
    );
}
