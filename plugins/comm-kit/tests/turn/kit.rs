//! A scripted agent elsewhere, and a bench to send to it.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use mas_comm_kit::{
    ContextIds,
    turn::{Answer, Ask, Heard, TurnEngine, TurnPolicy, Update, Updates, Upstream},
};
use mas_contracts::{
    Artifact, Audience, CallContext, Delivery, Error, ErrorKind, EventKind, Outbound, Part, Peer, Reply,
    Result, Speaker, Task, TaskMessage, TaskRef, TaskState, TaskStatus, Thread, ThreadName,
};
use mas_testkit::{CallContextBuilder, RecordingSink};
use serde_json::Map;

/// A call that the agent got.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Call {
    Send(Arc<TaskMessage>, Ask),
    Stream(Arc<TaskMessage>, Ask),
    Subscribe(String),
    Get(String, Option<u32>),
    Cancel(String),
}

/// What happens over a stream, or before an answer.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    Say(Update),
    Alive,
    Wait(Duration),
    Fail(Error),
    /// Nothing more, and no end.
    Hang,
}

/// What a call leads to, after what happens before.
#[derive(Clone, Debug)]
pub(crate) struct Then<T> {
    wait: Option<Duration>,
    result: Result<T>,
}

impl<T> Then<T> {
    pub(crate) fn now(result: Result<T>) -> Self {
        Self { wait: Some(Duration::ZERO), result }
    }

    pub(crate) fn after(wait: Duration, result: Result<T>) -> Self {
        Self { wait: Some(wait), result }
    }

    pub(crate) fn never() -> Self {
        Self { wait: None, result: Err(Error::internal("never")) }
    }

    async fn run(self) -> Result<T> {
        match self.wait {
            Some(wait) if wait.is_zero() => self.result,
            Some(wait) => {
                tokio::time::sleep(wait).await;
                self.result
            }
            None => std::future::pending().await,
        }
    }
}

/// An agent that does what a test lines up, call by call. What is not lined up fails the test; the last answer to a
/// question about a task is repeated.
#[derive(Default)]
pub(crate) struct Scripted {
    pub(crate) streams: bool,
    calls: Mutex<Vec<(Duration, Call)>>,
    began: Mutex<Option<tokio::time::Instant>>,
    send: Mutex<VecDeque<Then<Answer>>>,
    stream: Mutex<VecDeque<Then<Vec<Act>>>>,
    subscribe: Mutex<VecDeque<Then<Vec<Act>>>>,
    get: Mutex<VecDeque<Then<Arc<Task>>>>,
    cancel: Mutex<VecDeque<Then<Arc<Task>>>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Scripted {
    pub(crate) fn streaming() -> Self {
        Self { streams: true, ..Self::default() }
    }

    pub(crate) fn blocking() -> Self {
        Self::default()
    }

    pub(crate) fn on_send(self, then: Then<Answer>) -> Self {
        lock(&self.send).push_back(then);
        self
    }

    pub(crate) fn on_stream(self, acts: impl IntoIterator<Item = Act>) -> Self {
        lock(&self.stream).push_back(Then::now(Ok(acts.into_iter().collect())));
        self
    }

    pub(crate) fn on_stream_then(self, then: Then<Vec<Act>>) -> Self {
        lock(&self.stream).push_back(then);
        self
    }

    pub(crate) fn on_subscribe(self, acts: impl IntoIterator<Item = Act>) -> Self {
        lock(&self.subscribe).push_back(Then::now(Ok(acts.into_iter().collect())));
        self
    }

    pub(crate) fn on_subscribe_then(self, then: Then<Vec<Act>>) -> Self {
        lock(&self.subscribe).push_back(then);
        self
    }

    pub(crate) fn on_get(self, then: Then<Arc<Task>>) -> Self {
        lock(&self.get).push_back(then);
        self
    }

    pub(crate) fn on_cancel(self, then: Then<Arc<Task>>) -> Self {
        lock(&self.cancel).push_back(then);
        self
    }

    fn note(&self, call: Call) {
        let began = *lock(&self.began).get_or_insert_with(tokio::time::Instant::now);
        lock(&self.calls).push((began.elapsed(), call));
    }

    /// The calls so far, and how long after the first each came.
    pub(crate) fn timed(&self) -> Vec<(Duration, Call)> {
        lock(&self.calls).clone()
    }

    /// The names of the calls so far.
    pub(crate) fn names(&self) -> Vec<&'static str> {
        let name = |(_, call): &(Duration, Call)| match call {
            Call::Send(..) => "send",
            Call::Stream(..) => "stream",
            Call::Subscribe(_) => "subscribe",
            Call::Get(..) => "get",
            Call::Cancel(_) => "cancel",
        };
        lock(&self.calls).iter().map(name).collect()
    }

    /// The messages that were sent, in either way.
    pub(crate) fn messages(&self) -> Vec<Arc<TaskMessage>> {
        let message = |(_, call): &(Duration, Call)| match call {
            Call::Send(message, _) | Call::Stream(message, _) => Some(message.clone()),
            _ => None,
        };
        lock(&self.calls).iter().filter_map(message).collect()
    }

    /// The contexts of the messages that were sent.
    pub(crate) fn contexts(&self) -> Vec<Option<String>> {
        self.messages().iter().map(|message| message.context.as_deref().map(str::to_owned)).collect()
    }
}

fn next<T: Clone>(queue: &Mutex<VecDeque<Then<T>>>, repeat: bool, what: &str) -> Then<T> {
    let mut queue = lock(queue);
    match queue.front().cloned() {
        Some(then) => {
            if !repeat || queue.len() > 1 {
                queue.pop_front();
            }
            then
        }
        None => panic!("nothing is lined up for a {what}"),
    }
}

#[async_trait]
impl Upstream for Scripted {
    fn streams(&self) -> bool {
        self.streams
    }

    async fn send(&self, message: &Arc<TaskMessage>, ask: &Ask) -> Result<Answer> {
        self.note(Call::Send(message.clone(), ask.clone()));
        let then = next(&self.send, false, "send");
        then.run().await
    }

    async fn stream(&self, message: &Arc<TaskMessage>, ask: &Ask) -> Result<Box<dyn Updates>> {
        self.note(Call::Stream(message.clone(), ask.clone()));
        let then = next(&self.stream, false, "stream");
        then.run().await.map(Played::of)
    }

    async fn subscribe(&self, task: &str) -> Result<Box<dyn Updates>> {
        self.note(Call::Subscribe(task.to_owned()));
        let then = next(&self.subscribe, false, "subscribe");
        then.run().await.map(Played::of)
    }

    async fn get(&self, task: &str, history_length: Option<u32>) -> Result<Arc<Task>> {
        self.note(Call::Get(task.to_owned(), history_length));
        let then = next(&self.get, true, "get");
        then.run().await
    }

    async fn cancel(&self, task: &str) -> Result<Arc<Task>> {
        self.note(Call::Cancel(task.to_owned()));
        let then = next(&self.cancel, false, "cancel");
        then.run().await
    }
}

/// A stream that does what was lined up. Safe to drop and call again.
struct Played {
    acts: VecDeque<Act>,
    until: Option<tokio::time::Instant>,
}

impl Played {
    fn of(acts: Vec<Act>) -> Box<dyn Updates> {
        Box::new(Self { acts: acts.into(), until: None })
    }
}

#[async_trait]
impl Updates for Played {
    async fn next(&mut self) -> Result<Option<Heard>> {
        loop {
            match self.acts.front() {
                Some(Act::Wait(wait)) => {
                    let until = *self.until.get_or_insert_with(|| tokio::time::Instant::now() + *wait);
                    tokio::time::sleep_until(until).await;
                    self.until = None;
                    self.acts.pop_front();
                }
                Some(Act::Hang) => std::future::pending().await,
                _ => {
                    return match self.acts.pop_front() {
                        Some(Act::Say(update)) => Ok(Some(Heard::Update(update))),
                        Some(Act::Alive) => Ok(Some(Heard::Alive)),
                        Some(Act::Fail(error)) => Err(error),
                        _ => Ok(None),
                    };
                }
            }
        }
    }
}

/// An engine, a context with a recording of its events, and the peer `fares`.
pub(crate) struct Bench {
    pub(crate) engine: TurnEngine,
    pub(crate) cx: CallContext,
    pub(crate) sink: Arc<RecordingSink>,
}

pub(crate) const BUDGET: Duration = Duration::from_secs(300);

pub(crate) fn secs(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self::with(TurnPolicy::default())
    }

    pub(crate) fn with(policy: TurnPolicy) -> Self {
        Self::within(policy, BUDGET)
    }

    pub(crate) fn within(policy: TurnPolicy, budget: Duration) -> Self {
        let contexts = Arc::new(ContextIds::derived(b"test-secret"));
        let sink = RecordingSink::new();
        let cx = CallContextBuilder::new("desk").session("s1").sink(sink.clone()).timeout(budget).build();
        Self { engine: TurnEngine::new(policy, contexts), cx, sink }
    }

    pub(crate) async fn run(&self, agent: &Arc<Scripted>) -> Result<Reply> {
        self.send(agent, outbound("m1")).await
    }

    pub(crate) async fn send(&self, agent: &Arc<Scripted>, message: Outbound) -> Result<Reply> {
        let upstream: Arc<dyn Upstream> = agent.clone();
        self.engine.run(&upstream, &self.cx, &Peer { id: "fares".into() }, message).await
    }

    pub(crate) async fn attach(&self, agent: &Arc<Scripted>) -> Result<Reply> {
        let upstream: Arc<dyn Upstream> = agent.clone();
        let task = TaskRef { peer: "fares".into(), task: "t1".into() };
        self.engine.attach(&upstream, &self.cx, &task).await
    }

    /// The text that was streamed as the answer.
    pub(crate) fn text(&self) -> String {
        self.sink.text(Audience::Answer)
    }

    /// The events in short: one word each, with what it holds.
    pub(crate) fn events(&self) -> Vec<String> {
        let short = |kind: EventKind| match kind {
            EventKind::Accepted { task } => format!("accepted {task}"),
            EventKind::Status { state, text } => match text {
                Some(text) => format!("{}: {text}", state.as_str()),
                None => state.as_str().to_owned(),
            },
            EventKind::TextDelta { text, .. } => format!("text {text:?}"),
            EventKind::ArtifactChunk { artifact, append, last } => {
                let text = mas_contracts::text_of(&artifact.parts);
                let how = if append { "+" } else { "=" };
                format!("artifact {} {how} {text:?}{}", artifact.id, if last { "." } else { "" })
            }
            other => format!("{other:?}"),
        };
        self.sink.kinds().into_iter().map(short).collect()
    }
}

pub(crate) fn outbound(id: &str) -> Outbound {
    let thread = Thread { parent: "s1".into(), name: ThreadName::Main };
    Outbound { parts: vec![Part::text("go")], message_id: id.into(), thread, task: None }
}

pub(crate) fn message(id: &str, text: &str) -> Arc<TaskMessage> {
    message_of(id, vec![Part::text(text)])
}

pub(crate) fn message_of(id: &str, parts: Vec<Part>) -> Arc<TaskMessage> {
    Arc::new(TaskMessage {
        id: id.into(),
        from: Speaker::Agent,
        context: None,
        task: None,
        parts,
        metadata: Map::new(),
        extensions: Vec::new(),
        references: Vec::new(),
    })
}

pub(crate) fn status(state: TaskState, text: Option<&str>) -> TaskStatus {
    status_of(state, text.map(|text| message("said", text)))
}

fn status_of(state: TaskState, message: Option<Arc<TaskMessage>>) -> TaskStatus {
    TaskStatus { state, message, since: Duration::ZERO }
}

/// The task `t1` in `c1`.
pub(crate) fn task(state: TaskState, artifacts: &[(&str, &str)]) -> Arc<Task> {
    Arc::new(task_of(state, None, artifacts))
}

pub(crate) fn task_of(state: TaskState, text: Option<&str>, artifacts: &[(&str, &str)]) -> Task {
    let artifact = |(id, text): &(&str, &str)| Arc::new(Artifact::new(*id, vec![Part::text(*text)]));
    Task {
        id: "t1".into(),
        owner: None,
        agent: "fares".into(),
        context: "".into(),
        revision: 1,
        status: status(state, text),
        history: Vec::new(),
        artifacts: artifacts.iter().map(artifact).collect(),
        metadata: Map::new(),
    }
}

pub(crate) fn say(update: Update) -> Act {
    Act::Say(update)
}

/// The task as it is, without artifacts.
pub(crate) fn is(state: TaskState) -> Act {
    say(Update::Task(task(state, &[])))
}

/// A new status of the task.
pub(crate) fn turns(state: TaskState) -> Act {
    say(update(status(state, None), false))
}

/// A new status of the task with a message of this id.
pub(crate) fn tells(state: TaskState, id: &str, text: &str) -> Act {
    say(update(status_of(state, Some(message(id, text))), false))
}

pub(crate) fn update(status: TaskStatus, last: bool) -> Update {
    Update::Status { task: "t1".into(), context: "".into(), status, last }
}

/// A piece of the artifact `id`.
pub(crate) fn piece(id: &str, text: &str, append: bool, last_chunk: bool) -> Act {
    piece_of(Artifact::new(id, vec![Part::text(text)]), append, last_chunk)
}

pub(crate) fn piece_of(artifact: Artifact, append: bool, last_chunk: bool) -> Act {
    say(Update::Artifact {
        task: "t1".into(),
        context: "".into(),
        artifact: Arc::new(artifact),
        append,
        last_chunk,
    })
}

pub(crate) fn refused(kind: ErrorKind) -> Error {
    Error::new(kind, "no").with_code("mas::a2a::refused").with_delivery(Delivery::Rejected)
}

pub(crate) fn broken() -> Error {
    Error::new(ErrorKind::Unavailable, "the connection broke").with_delivery(Delivery::Unknown)
}
