//! A receiver of webhooks.

use std::{
    io::{BufRead, BufReader, Write},
    net::TcpListener,
    sync::mpsc::{Receiver, channel},
    thread,
    time::Duration,
};

use serde_json::Value;

/// What a webhook was told.
pub(crate) struct Told {
    /// The head of the request.
    pub(crate) head: String,
    pub(crate) body: Value,
}

/// Takes webhooks until the test ends.
pub(crate) struct Webhook {
    pub(crate) url: String,
    told: Receiver<Told>,
}

impl Webhook {
    pub(crate) fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}/hook", listener.local_addr().expect("an address"));
        let (tell, told) = channel();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { return };
                let tell = tell.clone();
                thread::spawn(move || {
                    let mut stream = BufReader::new(stream);
                    while let Some(one) = read(&mut stream) {
                        let _ = stream.get_mut().write_all(b"HTTP/1.1 204 No Content\r\n\r\n");
                        if tell.send(one).is_err() {
                            return;
                        }
                    }
                });
            }
        });
        Self { url, told }
    }

    /// What it is told next.
    pub(crate) fn next(&self) -> Told {
        self.told.recv_timeout(Duration::from_secs(20)).expect("the webhook is told")
    }
}

fn read(stream: &mut impl BufRead) -> Option<Told> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if stream.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let lower = head.to_ascii_lowercase();
    let length = lower.lines().find_map(|line| line.strip_prefix("content-length:")).expect("a length");
    let mut body = vec![0; length.trim().parse().expect("a number")];
    stream.read_exact(&mut body).ok()?;
    Some(Told { head, body: serde_json::from_slice(&body).expect("JSON") })
}
