//! One connection: lines out, lines in, each bounded.

use std::path::Path;

use mas_contracts::{Delivery, Error, ErrorKind, Result, Retry, Stop};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::{
        UnixStream,
        unix::{OwnedReadHalf, OwnedWriteHalf},
    },
};

use crate::wire::{FromPeer, LONGEST, ToPeer};

/// A connection to a peer, with its first line said. Dropped, it gives the call up.
#[derive(Debug)]
pub(crate) struct Line {
    from: BufReader<OwnedReadHalf>,
    to: OwnedWriteHalf,
}

impl Line {
    /// Connects and says the first line.
    pub(crate) async fn open(socket: &Path, first: &ToPeer) -> Result<Self> {
        let first = text_of(first)?;
        let stream = UnixStream::connect(socket).await.map_err(|error| {
            let message = format!("nobody listens on {}", socket.display());
            Error::new(ErrorKind::Unavailable, message)
                .with_code("uds::connect")
                .with_retry(Retry::Backoff)
                .caused_by(error)
        })?;
        let (from, to) = stream.into_split();
        let mut line = Self { from: BufReader::new(from), to };
        // A part of it may have arrived, but a line without its end is never executed.
        line.to.write_all(&first).await.map_err(|error| {
            Error::new(ErrorKind::Unavailable, "the peer hung up before it was told anything")
                .with_code("uds::write")
                .caused_by(error)
        })?;
        Ok(line)
    }

    /// The next line of the peer.
    pub(crate) async fn next(&mut self) -> Result<FromPeer> {
        let mut line = Vec::new();
        let read = (&mut self.from).take(LONGEST).read_until(b'\n', &mut line).await;
        let failed = |kind, message: String| {
            Error::new(kind, message).with_code("uds::read").with_delivery(Delivery::Unknown)
        };
        match read {
            Err(error) => {
                Err(failed(ErrorKind::Unavailable, "the connection broke".to_owned()).caused_by(error))
            }
            Ok(0) => Err(failed(ErrorKind::Unavailable, "the peer hung up before it replied".to_owned())),
            Ok(_) if !line.ends_with(b"\n") => {
                let why = if u64::try_from(line.len()).is_ok_and(|length| length < LONGEST) {
                    "ends in its middle"
                } else {
                    "is too long"
                };
                Err(failed(ErrorKind::Invalid, format!("a line of the peer {why}")))
            }
            Ok(_) => serde_json::from_slice(&line).map_err(|error| {
                failed(ErrorKind::Invalid, "a line of the peer is none of those that it may say".to_owned())
                    .caused_by(error)
            }),
        }
    }

    /// Tells the peer that its caller stops. A peer that hears nothing any more needs no telling.
    pub(crate) fn stop(&self, stop: Stop) {
        if let Ok(line) = text_of(&ToPeer::Stop(stop)) {
            // One short line fits into the socket's buffer, or the peer does not read; it is not waited for.
            let _ = self.to.try_write(&line);
        }
    }
}

/// The error of a peer that says what is not its turn to say.
pub(crate) fn unexpected(what: &str) -> Error {
    Error::invalid(format!("the peer sent {what}")).with_code("uds::order").with_delivery(Delivery::Unknown)
}

fn text_of(line: &ToPeer) -> Result<Vec<u8>> {
    let mut text = serde_json::to_vec(line)
        .map_err(|error| Error::internal("a message is no JSON").with_code("uds::write").caused_by(error))?;
    text.push(b'\n');
    if u64::try_from(text.len()).is_ok_and(|length| length <= LONGEST) {
        return Ok(text);
    }
    Err(Error::invalid(format!("the message has {} bytes; a line takes {LONGEST}", text.len()))
        .with_code("uds::too_long"))
}
