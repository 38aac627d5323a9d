//! The message out, and the first word on it.

use std::sync::Arc;

use mas_contracts::{Delivery, Error, ErrorKind, Result, TaskMessage};

use super::{Answer, Ask, Heard, Update, Updates, Upstream};

/// The first word on a message.
pub(super) enum Opened {
    /// The answer to a blocking send.
    Answer(Answer),
    /// A stream, with its first update.
    Stream {
        /// The first update.
        first: Update,
        /// What follows.
        rest: Box<dyn Updates>,
    },
}

/// Sends a message and waits for the first word on it.
pub(super) async fn open(
    upstream: Arc<dyn Upstream>,
    message: Arc<TaskMessage>,
    ask: Ask,
    streams: bool,
) -> Result<Opened> {
    if !streams {
        return upstream.send(&message, &ask).await.map(Opened::Answer);
    }
    let mut rest = upstream.stream(&message, &ask).await?;
    loop {
        match rest.next().await? {
            Some(Heard::Update(first)) => return Ok(Opened::Stream { first, rest }),
            Some(Heard::Alive) => {}
            None => {
                return Err(Error::new(ErrorKind::Unavailable, "the stream ended before it said anything")
                    .with_code("mas::turn::cut")
                    .with_delivery(Delivery::Unknown));
            }
        }
    }
}
