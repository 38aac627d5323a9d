//! One process that runs: lines out, lines in, and the calls that wait for them.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use mas_contracts::{
    Audience, CallContext, CancelReason, Delivery, Error, ErrorKind, EventKind, Result, Retry,
};
use serde_json::Value;
use tokio::{
    io::{AsyncBufRead, AsyncBufReadExt, AsyncWrite, AsyncWriteExt},
    sync::{mpsc, watch},
};

use crate::message::{Ask, FromProcess, ToProcess, VERSION};

/// Longest line that is read.
const LONGEST: usize = 16 * 1024 * 1024;
/// Events of a call that may be under way.
const CREDIT: u32 = 64;
/// Lines that may wait until the process reads them.
const UNREAD: usize = 1024;

/// A process that has said hello.
pub(crate) struct Link {
    lines: mpsc::Sender<String>,
    calls: Mutex<Calls>,
    last: AtomicU64,
    /// Becomes true when it is to end.
    stop: watch::Sender<bool>,
}

enum Calls {
    Open(HashMap<u64, mpsc::Sender<FromProcess>>),
    /// Why there are none any more.
    Ended(String),
}

impl Link {
    /// Greets the process. What is returned beside the link carries its lines, and ends when it does.
    pub(crate) async fn open<R, W>(
        mut read: R,
        mut write: W,
        params: &Value,
    ) -> Result<(Arc<Self>, impl Future<Output = ()> + Send + use<R, W>)>
    where
        R: AsyncBufRead + Unpin + Send + 'static,
        W: AsyncWrite + Unpin + Send + 'static,
    {
        let hello = line_of(&ToProcess::Hello { version: VERSION, features: [], params })?;
        write
            .write_all(hello.as_bytes())
            .await
            .map_err(|error| unusable(format!("it reads nothing: {error}")))?;
        write.flush().await.map_err(|error| unusable(format!("it reads nothing: {error}")))?;
        match read_line(&mut read).await.map_err(unusable)? {
            Some(FromProcess::Hello { version: VERSION }) => {}
            Some(FromProcess::Hello { version }) => {
                return Err(unusable(format!(
                    "it speaks version {version} of the messages, and this is {VERSION}"
                )));
            }
            Some(_) => return Err(unusable("its first line is no `hello`".to_owned())),
            None => return Err(unusable("it ended before it said `hello`".to_owned())),
        }
        let (lines, unread) = mpsc::channel(UNREAD);
        let (stop, stopped) = watch::channel(false);
        let calls = Mutex::new(Calls::Open(HashMap::new()));
        let link = Arc::new(Self { lines, calls, last: AtomicU64::new(0), stop });
        let carried = carry(link.clone(), read, write, unread, stopped);
        Ok((link, carried))
    }

    pub(crate) fn is_alive(&self) -> bool {
        matches!(*self.lock(), Calls::Open(_))
    }

    /// Waits until it is to end.
    pub(crate) fn ending(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut stopped = self.stop.subscribe();
        async move {
            let _ = stopped.wait_for(|stop| *stop).await;
        }
    }

    /// Ends it: its stdin closes, and every call fails.
    pub(crate) fn end(&self, why: &str) {
        let mut calls = self.lock();
        if matches!(*calls, Calls::Open(_)) {
            *calls = Calls::Ended(why.to_owned());
        }
        drop(calls);
        self.stop.send_replace(true);
    }

    /// Makes a call, and tells its events to the turn. It ends by the deadline and soon after a cancel.
    pub(crate) async fn call(self: &Arc<Self>, cx: &CallContext, ask: Ask<'_>) -> Result<FromProcess> {
        let id = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        let within_ms = u64::try_from(cx.remaining().as_millis()).unwrap_or(u64::MAX);
        let line = line_of(&ToProcess::Call { id, within_ms, credit: CREDIT, ask })?;
        let (told, mut heard) = mpsc::channel(CREDIT as usize + 1);
        match &mut *self.lock() {
            Calls::Open(calls) => calls.insert(id, told),
            Calls::Ended(why) => return Err(unusable(why.clone())),
        };
        let mut open =
            OpenCall { link: self, id, sent: false, ended: false, reason: CancelReason::Abandoned };
        let work = async {
            self.lines.send(line).await.map_err(|_| self.broken(Delivery::NotSent))?;
            open.sent = true;
            let mut events = 0;
            loop {
                match heard.recv().await {
                    Some(FromProcess::Event { text, notice, .. }) => {
                        text.into_iter().for_each(|text| cx.emit_text(Audience::Answer, text));
                        notice.into_iter().for_each(|text| cx.emit(EventKind::Notice { text }));
                        events += 1;
                        if events >= CREDIT / 2 {
                            self.say(&ToProcess::Credit { id, more: events });
                            events = 0;
                        }
                    }
                    Some(FromProcess::Fail { error, .. }) => return Err(error),
                    Some(ended) => return Ok(ended),
                    None => return Err(self.broken(Delivery::Unknown)),
                }
            }
        };
        let stopped = tokio::select! {
            biased;
            reason = cx.cancel().cancelled() => reason,
            ended = work => {
                open.ended = true;
                return ended;
            }
            () = cx.clock().sleep_until(cx.deadline()) => CancelReason::Deadline,
        };
        open.reason = stopped;
        let delivery = if open.sent { Delivery::Unknown } else { Delivery::NotSent };
        Err(match stopped {
            CancelReason::Deadline => {
                Error::new(ErrorKind::Timeout, "the process of the backend did not answer in time")
            }
            reason => CallContext::stopped(reason),
        }
        .with_delivery(delivery))
    }

    fn say(&self, message: &ToProcess<'_>) {
        let sent = line_of(message).ok().and_then(|line| self.lines.try_send(line).ok());
        if sent.is_none() {
            self.end("it does not read what it is told");
        }
    }

    fn broken(&self, delivery: Delivery) -> Error {
        let why = match &*self.lock() {
            Calls::Open(_) => "it ended".to_owned(),
            Calls::Ended(why) => why.clone(),
        };
        unusable(why).with_delivery(delivery)
    }

    fn lock(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands a line on to its call; one of a call that nobody waits for is dropped.
    fn deliver(&self, message: FromProcess) -> std::result::Result<(), String> {
        let (id, ends) = match &message {
            FromProcess::Hello { .. } => return Err("it said `hello` twice".to_owned()),
            FromProcess::Event { id, .. } => (*id, false),
            FromProcess::End { id, .. } | FromProcess::Fail { id, .. } => (*id, true),
        };
        let Calls::Open(calls) = &mut *self.lock() else { return Ok(()) };
        let to = if ends { calls.remove(&id) } else { calls.get(&id).cloned() };
        match to.map(|to| to.try_send(message)) {
            Some(Err(mpsc::error::TrySendError::Full(_))) => {
                Err("it sent more events than it had credit for".to_owned())
            }
            _ => Ok(()),
        }
    }
}

/// A call that is not over. Dropped, it is cancelled.
struct OpenCall<'a> {
    link: &'a Arc<Link>,
    id: u64,
    sent: bool,
    ended: bool,
    reason: CancelReason,
}

impl Drop for OpenCall<'_> {
    fn drop(&mut self) {
        let known = match &mut *self.link.lock() {
            Calls::Open(calls) => calls.remove(&self.id).is_some(),
            Calls::Ended(_) => false,
        };
        if known && self.sent && !self.ended {
            let (reason, stop) = (self.reason, self.reason.stop());
            self.link.say(&ToProcess::Cancel { id: self.id, reason, stop });
        }
    }
}

/// Carries lines until one side is done.
async fn carry<R, W>(
    link: Arc<Link>,
    mut read: R,
    mut write: W,
    mut unread: mpsc::Receiver<String>,
    mut stopped: watch::Receiver<bool>,
) where
    R: AsyncBufRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let reading = async {
        loop {
            match read_line(&mut read).await {
                Ok(Some(message)) => {
                    if let Err(why) = link.deliver(message) {
                        return why;
                    }
                }
                Ok(None) => return "it ended".to_owned(),
                Err(why) => return why,
            }
        }
    };
    // What is said already is still written when it is to end: that calls are given up, for one.
    let writing = async {
        loop {
            let line = tokio::select! {
                biased;
                line = unread.recv() => line,
                _ = stopped.wait_for(|stop| *stop), if !unread.is_closed() => {
                    unread.close();
                    continue;
                }
            };
            let Some(line) = line else { break };
            if let Err(error) = async {
                write.write_all(line.as_bytes()).await?;
                write.flush().await
            }
            .await
            {
                return format!("it reads nothing: {error}");
            }
        }
        "it is not needed any more".to_owned()
    };
    let why = tokio::select! {
        why = reading => why,
        why = writing => why,
    };
    link.end(&why);
}

async fn read_line(
    read: &mut (impl AsyncBufRead + Unpin),
) -> std::result::Result<Option<FromProcess>, String> {
    let mut line = Vec::new();
    loop {
        let available =
            read.fill_buf().await.map_err(|error| format!("its output cannot be read: {error}"))?;
        if available.is_empty() {
            return if line.is_empty() { Ok(None) } else { Err("it ended within a line".to_owned()) };
        }
        let end = available.iter().position(|byte| *byte == b'\n');
        let (piece, used) = match end {
            Some(end) => (available.get(..end).unwrap_or_default(), end + 1),
            None => (available, available.len()),
        };
        if line.len() + piece.len() > LONGEST {
            return Err(format!("it said a line of more than {} MiB", LONGEST / 1024 / 1024));
        }
        line.extend_from_slice(piece);
        read.consume(used);
        if end.is_none() {
            continue;
        }
        if line.trim_ascii().is_empty() {
            line.clear();
            continue;
        }
        return match serde_json::from_slice(&line) {
            Ok(message) => Ok(Some(message)),
            // Not the line itself: what is said elsewhere is in it.
            Err(error) => Err(format!("it said what is no message: {error}")),
        };
    }
}

fn line_of(message: &ToProcess<'_>) -> Result<String> {
    let mut line = serde_json::to_string(message).map_err(|error| Error::internal(error.to_string()))?;
    line.push('\n');
    Ok(line)
}

pub(crate) fn unusable(why: String) -> Error {
    Error::new(ErrorKind::Unavailable, "the process of the backend cannot be used")
        .with_code("mas::process::unusable")
        .with_retry(Retry::Backoff)
        .caused_by(why)
}
