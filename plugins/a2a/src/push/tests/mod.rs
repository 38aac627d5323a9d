#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, reason = "functions that tests share")]

mod configs;
mod delivery;
mod limits;
mod places;
mod served;
mod sockets;

use std::{
    collections::HashMap,
    path::Path,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use async_trait::async_trait;
use bytes::Bytes;
use mas_comm_kit::http::{Body, Request, Response, Transport};
use mas_contracts::{
    Artifact, BuildContext, Delivery, Error, ErrorKind, Part, Result, Retry, Speaker, Task, TaskMessage,
    TaskPage, TaskQuery, TaskScope, TaskState, TaskStatus, TaskStore,
};
use serde_json::Value;

use super::{
    guard::{Guard, System},
    *,
};
use crate::{
    model::{ArtifactUpdate, Authentication, Dialect, PushConfig, PushKey, StatusUpdate, StreamItem},
    params::{self, Keep},
    service::{Changed, Push},
};

/// What a webhook does with a request.
#[derive(Clone, Copy)]
enum Act {
    /// Answers with this status.
    Answer(u16),
    /// Answers with this status, and says when to come again.
    Later(u16, &'static str),
    /// Takes it, and then answers without end.
    Babble,
    /// Takes no connection.
    Refuse,
    /// Never answers.
    Hold,
}

/// A request that a webhook got.
#[derive(Clone)]
struct Seen {
    at: Instant,
    url: String,
    headers: Vec<(String, String)>,
    body: Value,
}

impl Seen {
    /// What the status in the body says.
    fn text(&self) -> &str {
        self.body["statusUpdate"]["status"]["message"]["parts"][0]["text"].as_str().unwrap_or("")
    }
}

type Does = dyn Fn(usize, &str) -> Act + Send + Sync;

/// Webhooks that do what a test says, by the number of the request and its URL.
struct Script {
    does: Box<Does>,
    seen: Mutex<Vec<Seen>>,
}

impl Script {
    fn new(does: impl Fn(usize, &str) -> Act + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self { does: Box::new(does), seen: Mutex::default() })
    }

    fn seen(&self) -> Vec<Seen> {
        self.seen.lock().expect("no panic").clone()
    }

    fn texts(&self) -> Vec<String> {
        self.seen().iter().map(|seen| seen.text().to_owned()).collect()
    }
}

/// Space, without end.
struct Endless;

#[async_trait]
impl Body for Endless {
    async fn chunk(&mut self) -> Result<Option<Bytes>> {
        tokio::time::sleep(Duration::from_millis(400)).await;
        Ok(Some(Bytes::from_static(b"     ")))
    }
}

struct Empty;

#[async_trait]
impl Body for Empty {
    async fn chunk(&mut self) -> Result<Option<Bytes>> {
        Ok(None)
    }
}

#[async_trait]
impl Transport for Script {
    async fn send(&self, request: &Request) -> Result<Response> {
        let headers = request.headers.iter();
        let seen = Seen {
            at: tokio::time::Instant::now().into_std(),
            url: request.url.clone(),
            headers: headers.map(|(name, value)| (name.clone(), value.reveal().to_owned())).collect(),
            body: serde_json::from_slice(request.body.as_deref().unwrap_or_default()).expect("JSON"),
        };
        let number = {
            let mut all = self.seen.lock().expect("no panic");
            all.push(seen);
            all.len() - 1
        };
        match (self.does)(number, &request.url) {
            Act::Answer(status) => Ok(Response::new(status, Vec::new(), Box::new(Empty))),
            Act::Later(status, when) => {
                let head = vec![("retry-after".to_owned(), when.to_owned())];
                Ok(Response::new(status, head, Box::new(Empty)))
            }
            Act::Babble => Ok(Response::new(200, Vec::new(), Box::new(Endless))),
            // As the client says it, with the URL.
            Act::Refuse => Err(Error::new(
                ErrorKind::Unavailable,
                format!("no connection to `{}`: refused", mas_comm_kit::http::shown(&request.url)),
            )
            .with_delivery(Delivery::NotSent)
            .with_retry(Retry::Backoff)),
            Act::Hold => std::future::pending().await,
        }
    }
}

/// Tasks of which only the state matters.
#[derive(Default)]
struct States(Mutex<HashMap<String, TaskState>>);

impl States {
    fn set(&self, task: &str, state: TaskState) {
        self.0.lock().expect("no panic").insert(task.to_owned(), state);
    }
}

#[async_trait]
impl TaskStore for States {
    async fn put(&self, task: Arc<Task>) -> Result<()> {
        self.set(&task.id, task.status.state);
        Ok(())
    }

    async fn get(&self, _: &TaskScope, id: &str) -> Result<Option<Arc<Task>>> {
        let state = self.0.lock().expect("no panic").get(id).copied();
        Ok(state.map(|state| Arc::new(task(id, state))))
    }

    async fn list(&self, _: &TaskScope, _: &TaskQuery) -> Result<TaskPage> {
        Ok(TaskPage::default())
    }
}

fn task(id: &str, state: TaskState) -> Task {
    Task {
        id: id.into(),
        owner: None,
        agent: "a".into(),
        context: "c1".into(),
        revision: 1,
        status: status(state, "now"),
        history: Vec::new(),
        artifacts: vec![Arc::new(artifact("whole"))],
        metadata: serde_json::Map::new(),
    }
}

fn artifact(text: &str) -> Artifact {
    Artifact {
        id: "r1".into(),
        name: None,
        description: None,
        parts: vec![Part::text(text)],
        metadata: serde_json::Map::new(),
        extensions: Vec::new(),
    }
}

fn status(state: TaskState, text: &str) -> TaskStatus {
    let message = TaskMessage {
        id: "m1".into(),
        from: Speaker::Agent,
        context: None,
        task: None,
        parts: vec![Part::text(text)],
        metadata: serde_json::Map::new(),
        extensions: Vec::new(),
        references: Vec::new(),
    };
    TaskStatus { state, message: Some(Arc::new(message)), since: Duration::from_secs(1_767_225_600) }
}

fn scope(owner: &str) -> TaskScope {
    TaskScope { owner: Some(owner.into()), agent: "a".into() }
}

fn build() -> BuildContext {
    mas_testkit::build_context(Path::new("."), &[])
}

/// Parameters that let tests post to this machine.
fn local() -> params::Push {
    params::Push { allow_private: true, ..params::Push::default() }
}

/// The webhooks of a test, over a script.
struct Hooks {
    hooks: Webhooks,
    script: Arc<Script>,
    states: Arc<States>,
}

impl Hooks {
    fn new(does: impl Fn(usize, &str) -> Act + Send + Sync + 'static) -> Self {
        Self::with(&local(), does)
    }

    fn with(params: &params::Push, does: impl Fn(usize, &str) -> Act + Send + Sync + 'static) -> Self {
        let (script, states) = (Script::new(does), Arc::<States>::default());
        let guard = Guard::new(params, Arc::new(System));
        let keep = Keep::default();
        let hooks = Webhooks::over(script.clone(), guard, params, &keep, states.clone(), &build());
        Self { hooks, script, states }
    }

    /// Registers a webhook of a task of `me`, at the URL of this path.
    async fn hook(&self, task: &str, url: &str) -> PushConfig {
        self.hooks.create(&scope("me"), config(task, url)).await.expect("registered")
    }

    /// Tells of a status of a task of `me`.
    fn tell(&self, task: &str, seq: u64, state: TaskState, text: &str) {
        self.changed(task, seq, &update(task, state, text));
    }

    /// Tells of this many statuses: `1`, `2`, …
    fn tell_all(&self, task: &str, many: u64) {
        for seq in 1..=many {
            self.tell(task, seq, TaskState::Working, &seq.to_string());
        }
    }

    fn changed(&self, task: &str, seq: u64, item: &StreamItem) {
        change(&self.hooks, task, seq, item);
    }

    /// Waits until nothing is under way; nothing is taken afterwards.
    async fn done(&self) {
        assert_eq!(self.hooks.close(Duration::from_secs(100_000)).await, 0);
    }
}

fn change(hooks: &Webhooks, id: &str, seq: u64, item: &StreamItem) {
    let (scope, id) = (scope("me"), Arc::from(id));
    let mut snapshot = || Arc::new(task(&id, TaskState::Working));
    hooks.task_changed(Changed { scope: &scope, task: &id, seq, item, snapshot: &mut snapshot });
}

fn update(task: &str, state: TaskState, text: &str) -> StreamItem {
    StreamItem::Status(StatusUpdate {
        task: task.into(),
        context: "c1".into(),
        status: status(state, text),
        last: state.is_terminal(),
    })
}

fn piece(task: &str, text: &str) -> StreamItem {
    StreamItem::Artifact(ArtifactUpdate {
        task: task.into(),
        context: "c1".into(),
        artifact: Arc::new(artifact(text)),
        append: true,
        last_chunk: false,
    })
}

fn config(task: &str, url: &str) -> PushConfig {
    PushConfig {
        id: "".into(),
        task: task.into(),
        url: url.to_owned(),
        token: None,
        authentication: None,
        dialect: Dialect::V1,
    }
}

/// With a token and credentials.
fn secretive(task: &str, url: &str) -> PushConfig {
    let credentials = Some("cred-1234".to_owned());
    let authentication = Some(Authentication { scheme: "Bearer".to_owned(), credentials });
    PushConfig { token: Some("tok-1234".to_owned()), authentication, ..config(task, url) }
}

fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

fn key(task: &str, id: &str) -> PushKey {
    PushKey { task: task.into(), id: id.into() }
}
