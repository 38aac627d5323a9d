//! The side of whoever steers.

use std::{io, net::SocketAddr, time::Duration};

use mas_contracts::{Error, ErrorKind, Result};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufRead, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader},
    net::{TcpStream, UnixStream},
    time::timeout,
};

use crate::{
    Entry, Token,
    wire::{self, Request},
};

/// How long a session may take to be reached.
const CONNECT: Duration = Duration::from_secs(5);

/// How long a reply may take.
const REPLY: Duration = Duration::from_secs(60);

/// A connection to a live session. Its requests are done in the order in which they are asked.
pub struct Client {
    reading: Box<dyn AsyncBufRead + Send + Unpin>,
    writing: Box<dyn AsyncWrite + Send + Unpin>,
    line: Vec<u8>,
    token: Option<Token>,
    asked: u64,
}

impl Client {
    /// Connects to a session with its full token, or with the one that only looks.
    ///
    /// # Errors
    /// A session that cannot be reached, or not from here.
    pub async fn connect(entry: &Entry, looking: bool) -> Result<Self> {
        let token = if looking { entry.read_token.clone() } else { Some(entry.token.clone()) };
        let unreachable = |error: &dyn std::fmt::Display| {
            Error::new(
                ErrorKind::Unavailable,
                format!("the session `{}` cannot be reached", entry.session_id),
            )
            .with_code("mas::control::unreachable")
            .caused_by(error)
        };
        let opened = timeout(CONNECT, open(&entry.rpc)).await;
        let (reading, writing) =
            opened.map_err(|late| unreachable(&late))?.map_err(|error| unreachable(&error))?;
        Ok(Self { reading: Box::new(BufReader::new(reading)), writing, line: Vec::new(), token, asked: 0 })
    }

    /// Asks for one thing, of the advertised session if none is named, and gives back the result.
    ///
    /// # Errors
    /// What the session refuses, as it says it; and a connection that fails or a reply that does not come.
    pub async fn call(&mut self, session: Option<&str>, method: &str, args: Option<Value>) -> Result<Value> {
        self.asked += 1;
        let request = Request {
            id: json!(self.asked),
            method: method.to_owned(),
            session_id: session.map(Into::into),
            args,
            token: self.token.clone(),
        };
        let line = serde_json::to_string(&request)
            .map_err(|error| Error::internal(format!("the request is no JSON: {error}")))?;
        let replied = async {
            self.writing.write_all(format!("{line}\n").as_bytes()).await.map_err(|error| lost(&error))?;
            while let Some(reply) = self.next_line().await? {
                if reply.get("ok").is_some() {
                    return Ok(reply);
                }
            }
            Err(lost(&"the session has ended"))
        };
        let late = |_| {
            Error::new(ErrorKind::Timeout, format!("`{method}` is not replied to"))
                .with_code("mas::control::late")
        };
        let mut reply = timeout(REPLY, replied).await.map_err(late)??;
        if reply.get("ok") == Some(&Value::Bool(true)) {
            return Ok(reply.get_mut("result").map(Value::take).unwrap_or_default());
        }
        Err(wire::read_error(&reply.get_mut("error").map(Value::take).unwrap_or_default()))
    }

    /// Follows a session from now on.
    ///
    /// # Errors
    /// As for [`call`](Self::call).
    pub async fn attach(mut self, session: Option<&str>) -> Result<Followed> {
        self.call(session, "attach", None).await?;
        Ok(Followed(self))
    }

    async fn next_line(&mut self) -> Result<Option<Value>> {
        let read = wire::read_line(&mut self.reading, &mut self.line).await;
        let value = match read.map_err(|error| lost(&error))? {
            None => None,
            Some(line) => Some(serde_json::from_slice(line).map_err(|error| lost(&error))?),
        };
        self.line.clear();
        Ok(value)
    }
}

/// The events of a session, as they happen.
pub struct Followed(Client);

impl Followed {
    /// The next event, as [`event_record`](crate::event_record) has it; nothing once the session has ended. It may be
    /// dropped and called again.
    ///
    /// # Errors
    /// A connection that fails.
    pub async fn next(&mut self) -> Result<Option<Value>> {
        while let Some(mut line) = self.0.next_line().await? {
            if let Some(event) = line.get_mut("event") {
                return Ok(Some(event.take()));
            }
            if line.get("end").is_some() {
                return Ok(None);
            }
        }
        Ok(None)
    }
}

type Halves = (Box<dyn AsyncRead + Send + Unpin>, Box<dyn AsyncWrite + Send + Unpin>);

async fn open(rpc: &str) -> io::Result<Halves> {
    if let Some(path) = rpc.strip_prefix("unix:") {
        let (reading, writing) = UnixStream::connect(path).await?.into_split();
        return Ok((Box::new(reading), Box::new(writing)));
    }
    let address: Option<SocketAddr> = rpc.strip_prefix("tcp:").and_then(|address| address.parse().ok());
    match address {
        // A token is for this machine only.
        Some(address) if address.ip().is_loopback() => {
            let (reading, writing) = TcpStream::connect(address).await?.into_split();
            Ok((Box::new(reading), Box::new(writing)))
        }
        _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "its address is none of this machine")),
    }
}

fn lost(error: &dyn std::fmt::Display) -> Error {
    Error::new(ErrorKind::Unavailable, "the connection to the session is lost")
        .with_code("mas::control::lost")
        .caused_by(error)
}
