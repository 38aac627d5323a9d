//! The conversation with one Python process. The messages are those of `host/host.py`.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use mas_contracts::{Clock, Delivery, Error, ErrorKind, Result, Retry};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{
        UnixStream,
        unix::{OwnedReadHalf, OwnedWriteHalf, pipe},
    },
    runtime::Handle,
    sync::{OwnedSemaphorePermit, mpsc, oneshot},
};

use super::{
    prints,
    process::{Ends, Process},
};
use crate::{child::within, secrets::Secrets};

/// The longest line of the protocol, a result included.
pub(super) const LONGEST_LINE: usize = 16 * 1024 * 1024;
/// How much of a failure is told, beside where it was.
const LONGEST_MESSAGE: usize = 2048;
/// How much of a traceback is logged.
const LONGEST_TRACE: usize = 16_000;
/// Where the host cuts both.
const CUT: usize = 64_000;
/// How long a call has to end by itself after it was asked to; with the next it fits into `CANCEL_GRACE`.
const COOPERATIVE: Duration = Duration::from_millis(100);
/// How long is waited for a killed process to be gone.
const KILL_WAIT: Duration = Duration::from_millis(15);
/// How long a process has to end in order.
const END_WAIT: Duration = Duration::from_millis(100);
/// How long is read on once the process has ended, in case something has taken its pipes along.
const LINGER: Duration = Duration::from_millis(250);
const REQUESTS: usize = 64;

/// What came of a request.
#[derive(Debug)]
pub(super) enum Answer {
    /// It was done.
    Value(Value),
    /// The tool failed, or could not be loaded.
    Failed(String),
    /// It ended because it was asked to.
    Cancelled,
}

type Outcome = Result<Answer>;

/// A running process.
pub(super) struct Link {
    process: Arc<Process>,
    requests: mpsc::Sender<Vec<u8>>,
    pending: Arc<Pending>,
    last: AtomicU64,
    clock: Arc<dyn Clock>,
}

/// Who waits for what.
#[derive(Default)]
struct Pending(Mutex<State>);

#[derive(Default)]
struct State {
    waiting: HashMap<u64, oneshot::Sender<Outcome>>,
    /// Why there will be no more answers.
    over: Option<String>,
}

impl Pending {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fails everything under way, and everything later; the first reason stays.
    fn end(&self, why: &str) {
        let mut state = self.lock();
        let why = state.over.get_or_insert_with(|| why.to_owned()).clone();
        for (_, waiting) in state.waiting.drain() {
            let _ = waiting.send(Err(interrupted(&why)));
        }
    }
}

fn interrupted(why: &str) -> Error {
    Error::new(ErrorKind::Unavailable, format!("the call was interrupted: {why}; it may be tried again"))
        .with_code("mas::python::interrupted")
        .with_delivery(Delivery::Unknown)
        .with_retry(Retry::Backoff)
}

impl Link {
    /// Takes up the conversation; the process says `ready` as the answer to number 0.
    ///
    /// # Errors
    /// The channels cannot be used.
    pub(super) fn open(
        process: Process,
        ends: Ends,
        clock: Arc<dyn Clock>,
        secrets: Arc<Secrets>,
    ) -> Result<Self> {
        let broken = |error| Error::internal("a child process cannot be talked to").caused_by(error);
        ends.channel.set_nonblocking(true).map_err(broken)?;
        let (answers, to_child) = UnixStream::from_std(ends.channel).map_err(broken)?.into_split();
        let output = pipe::Receiver::from_owned_fd(ends.prints.into()).map_err(broken)?;
        let (requests, queue) = mpsc::channel(REQUESTS);
        let process = Arc::new(process);
        let pending = Arc::new(Pending::default());
        tokio::spawn(write(to_child, queue));
        let prints = prints::collect(output, secrets.clone());
        tokio::spawn(follow(answers, prints, process.clone(), pending.clone(), clock.clone(), secrets));
        Ok(Self { process, requests, pending, last: AtomicU64::new(0), clock })
    }

    /// Why it does not answer any more, if it does not.
    pub(super) fn over(&self) -> Option<String> {
        self.pending.lock().over.clone()
    }

    /// Tells the process how it starts, and waits until it has.
    pub(super) async fn start(self: &Arc<Self>, start: Value) -> Result<()> {
        let mut ready = self.send(0, json!({"start": start}), None).await?;
        ready.answer().await.map(drop)
    }

    /// Sends a request; `permit` is kept until it has ended.
    pub(super) async fn ask(
        self: &Arc<Self>,
        mut request: Value,
        permit: OwnedSemaphorePermit,
    ) -> Result<UnderWay> {
        let id = self.last.fetch_add(1, Relaxed).saturating_add(1);
        if let Value::Object(request) = &mut request {
            request.insert("id".to_owned(), Value::from(id));
        }
        self.send(id, request, Some(permit)).await
    }

    async fn send(
        self: &Arc<Self>,
        id: u64,
        message: Value,
        permit: Option<OwnedSemaphorePermit>,
    ) -> Result<UnderWay> {
        let (give, answer) = oneshot::channel();
        {
            let mut state = self.pending.lock();
            if let Some(why) = &state.over {
                return Err(interrupted(why).with_delivery(Delivery::NotSent));
            }
            state.waiting.insert(id, give);
        }
        let under_way = UnderWay { link: self.clone(), id, answer: Some(answer), permit };
        self.write(&message).await;
        Ok(under_way)
    }

    /// A process that does not read any more is noticed by its answers, which end.
    async fn write(&self, message: &Value) {
        let mut line = message.to_string().into_bytes();
        line.push(b'\n');
        let _ = self.requests.send(line).await;
    }

    /// Kills the process; what is under way fails for this reason.
    pub(super) async fn kill(&self, why: &str) {
        self.pending.end(why);
        self.process.kill();
        self.process.ended_within(&*self.clock, KILL_WAIT).await;
    }

    /// Lets the process end in order, soon.
    pub(super) async fn end(&self, why: &str) {
        self.pending.end(why);
        let in_order = async {
            self.write(&json!({"end": true})).await;
            self.process.ended().await;
        };
        if within(&*self.clock, END_WAIT, in_order).await.is_none() {
            self.kill(why).await;
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.process.kill();
    }
}

/// A request under way. Dropped, it is stopped.
pub(super) struct UnderWay {
    link: Arc<Link>,
    id: u64,
    answer: Option<oneshot::Receiver<Outcome>>,
    permit: Option<OwnedSemaphorePermit>,
}

impl UnderWay {
    /// Waits for the answer. Safe to drop and call again, until it has come.
    pub(super) async fn answer(&mut self) -> Outcome {
        let outcome = match &mut self.answer {
            Some(answer) => answer.await.unwrap_or_else(|_| Err(Error::internal("an answer is lost"))),
            None => Err(Error::internal("an answer came before")),
        };
        self.answer = None;
        outcome
    }

    /// Asks it to end and, if it does not, kills the process. Returns its answer if it ended by itself.
    pub(super) async fn stop(mut self) -> Option<Outcome> {
        stop(&self.link.clone(), self.id, &mut self.answer).await
    }
}

async fn stop(link: &Link, id: u64, answer: &mut Option<oneshot::Receiver<Outcome>>) -> Option<Outcome> {
    let waiting = answer.as_mut()?;
    let asked = async {
        link.write(&json!({"cancel": id})).await;
        waiting.await
    };
    let ended = within(&*link.clock, COOPERATIVE, asked).await;
    if ended.is_none() {
        link.kill("its Python process was ended, because another call did not stop when it was told to")
            .await;
    }
    *answer = None;
    ended.and_then(std::result::Result::ok)
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let Some(answer) = self.answer.take() else { return };
        let (link, id, permit) = (self.link.clone(), self.id, self.permit.take());
        let Ok(runtime) = Handle::try_current() else {
            link.process.kill();
            return;
        };
        runtime.spawn(async move {
            stop(&link, id, &mut Some(answer)).await;
            drop(permit);
        });
    }
}

async fn write(mut to_child: OwnedWriteHalf, mut queue: mpsc::Receiver<Vec<u8>>) {
    while let Some(line) = queue.recv().await {
        if to_child.write_all(&line).await.is_err() {
            break;
        }
    }
}

/// Hands out answers until the process has ended or talks nonsense.
async fn follow(
    answers: OwnedReadHalf,
    prints: tokio::task::JoinHandle<String>,
    process: Arc<Process>,
    pending: Arc<Pending>,
    clock: Arc<dyn Clock>,
    secrets: Arc<Secrets>,
) {
    let mut lines = BufReader::new(answers);
    let mut line = Vec::new();
    let wrong = tokio::select! {
        wrong = hand_out(&mut lines, &mut line, &pending, &secrets) => wrong,
        _ = process.ended() => {
            // What it has written before its end is in the pipe.
            within(&*clock, LINGER, hand_out(&mut lines, &mut line, &pending, &secrets)).await.flatten()
        }
    };
    if wrong.is_none() {
        // It ends by itself, and may have something to say before.
        process.ended_within(&*clock, LINGER).await;
    }
    process.kill();
    let how = process.ended().await;
    let abort = prints.abort_handle();
    let last = within(&*clock, LINGER, prints).await.and_then(std::result::Result::ok).unwrap_or_default();
    abort.abort();
    let how = wrong.map_or_else(|| format!("its Python process {how}"), str::to_owned);
    pending.end(&if last.is_empty() { how } else { format!("{how}; the last that it printed:\n{last}") });
}

/// Reads answers to the end; says what is wrong with the last one.
async fn hand_out<R: AsyncRead + Unpin>(
    lines: &mut BufReader<R>,
    line: &mut Vec<u8>,
    pending: &Pending,
    secrets: &Secrets,
) -> Option<&'static str> {
    const NONSENSE: &str = "its Python process was ended, because it wrote what no one understands";
    loop {
        let room = (LONGEST_LINE + 1).saturating_sub(line.len());
        let room = u64::try_from(room).unwrap_or_default();
        match (&mut *lines).take(room).read_until(b'\n', line).await {
            Ok(0) | Err(_) => return None,
            Ok(_) if line.last() != Some(&b'\n') && line.len() <= LONGEST_LINE => return None,
            Ok(_) => {}
        }
        let Ok(Value::Object(mut message)) = serde_json::from_slice(line) else { return Some(NONSENSE) };
        line.clear();
        if let Some(Value::String(trace)) = message.get("trace").filter(|trace| *trace != "") {
            let trace = secrets.tail(trace.as_bytes(), trace.len() < CUT, LONGEST_TRACE);
            tracing::debug!(target: "mas::python", "{trace}");
        }
        let id = message.get("id").and_then(Value::as_u64).unwrap_or_default();
        let answer = if let Some(value) = message.remove("ok").or_else(|| message.remove("ready")) {
            Answer::Value(value)
        } else if let Some(Value::String(text)) = message.remove("error") {
            let what = secrets.inner().excerpt(&text, LONGEST_MESSAGE, text.len() < CUT);
            let place = message.get("place").and_then(Value::as_str).unwrap_or_default();
            Answer::Failed(what + place)
        } else {
            Answer::Cancelled
        };
        let waiting = pending.lock().waiting.remove(&id);
        if let Some(waiting) = waiting {
            let _ = waiting.send(Ok(answer));
        }
    }
}
