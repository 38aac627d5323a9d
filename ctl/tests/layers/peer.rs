//! A backend that does what a test says, and remembers what it was asked.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use async_trait::async_trait;
use mas_contracts::{
    AgentCommContract, CallContext, Capability, Delivery, Error, ErrorKind, Outbound, Part, Peer, Probe,
    Reply, Result, Retry, Stop, TaskRef, Thread, ThreadName,
};

/// What becomes of one attempt.
#[derive(Clone, Debug)]
pub(crate) enum Turn {
    Answer,
    Fail(ErrorKind, Delivery, Retry),
    /// Never ends by itself and keeps no deadline.
    Hang,
}

/// Takes its turns one after the other; after the last it answers.
#[derive(Default)]
pub(crate) struct Scripted {
    turns: Mutex<VecDeque<Turn>>,
    pub(crate) dedupes: bool,
    pub(crate) asked: Mutex<Vec<(Instant, Arc<str>)>>,
    pub(crate) others: Mutex<Vec<&'static str>>,
}

impl Scripted {
    pub(crate) fn new(turns: impl IntoIterator<Item = Turn>) -> Arc<Self> {
        Arc::new(Self { turns: Mutex::new(turns.into_iter().collect()), ..Self::default() })
    }

    pub(crate) fn deduping(turns: impl IntoIterator<Item = Turn>) -> Arc<Self> {
        Arc::new(Self { turns: Mutex::new(turns.into_iter().collect()), dedupes: true, ..Self::default() })
    }

    pub(crate) fn count(&self) -> usize {
        self.asked.lock().unwrap().len()
    }

    /// The distances of the attempts.
    pub(crate) fn gaps(&self) -> Vec<Duration> {
        let asked = self.asked.lock().unwrap();
        asked.windows(2).map(|pair| pair[1].0 - pair[0].0).collect()
    }
}

#[async_trait]
impl AgentCommContract for Scripted {
    fn capability(&self) -> Capability {
        Capability { stream: true, attach: true, cancel: true, dedupes: self.dedupes }
    }

    async fn send(&self, cx: &CallContext, _to: &Peer, message: Outbound) -> Result<Reply> {
        self.asked.lock().unwrap().push((cx.clock().now(), message.message_id));
        let turn = self.turns.lock().unwrap().pop_front().unwrap_or(Turn::Answer);
        match turn {
            Turn::Answer => Ok(Reply::done(message.parts)),
            Turn::Fail(kind, delivery, retry) => {
                Err(Error::new(kind, "no luck").with_delivery(delivery).with_retry(retry))
            }
            Turn::Hang => std::future::pending().await,
        }
    }

    async fn attach(&self, _cx: &CallContext, _task: &TaskRef) -> Result<Reply> {
        self.others.lock().unwrap().push("attach");
        Ok(Reply::done(Vec::new()))
    }

    async fn cancel(&self, _cx: &CallContext, _task: &TaskRef, stop: Stop) -> Result<()> {
        self.others.lock().unwrap().push(if stop == Stop::Leave { "leave" } else { "cancel" });
        Ok(())
    }

    async fn probe(&self, _cx: &CallContext, _to: &Peer) -> Result<Probe> {
        self.others.lock().unwrap().push("probe");
        Ok(Probe::default())
    }

    async fn close(&self) -> Result<()> {
        self.others.lock().unwrap().push("close");
        Ok(())
    }
}

pub(crate) fn down() -> Turn {
    Turn::Fail(ErrorKind::Unavailable, Delivery::NotSent, Retry::Unstated)
}

pub(crate) fn message(id: &str) -> Outbound {
    let thread = Thread { parent: "p".into(), name: ThreadName::Main };
    Outbound { parts: vec![Part::text("the content")], message_id: id.into(), thread, task: None }
}

pub(crate) fn fares() -> Peer {
    Peer { id: "fares".into() }
}
