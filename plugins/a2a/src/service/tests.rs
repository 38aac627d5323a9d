//! Tasks over the turns of a scripted host.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests; the exemption in clippy.toml reaches test functions only"
)]

mod cancel;
mod forms;
mod kinds;
mod load;
mod messages;
mod origin;
mod refused;
mod streams;

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

use async_trait::async_trait;
use futures_util::StreamExt;
use mas_contracts::{
    AgentHost, Error, ErrorKind, Part, Speaker, Task, TaskMessage, TaskPage, TaskQuery, TaskScope, TaskState,
    TaskStore, text_of,
};
use mas_testkit::{Behaviour, ScriptedHost, build_context};
use serde_json::{Map, Value, json};

use super::{Options, Push, Service};
use crate::model::{
    Caller, CancelTask, Failure, GetTask, ItemStream, Operations, Reason, SendMessage, SendReply, StreamItem,
    SubscribeToTask,
};
use crate::{
    card::{Place, Published},
    params::Params,
};

/// A store that holds to the rules and counts its writes.
#[derive(Default)]
pub(crate) struct Kept(Mutex<(Revisions, usize)>, AtomicBool);

/// The latest revision of each task.
type Revisions = BTreeMap<Arc<str>, Arc<Task>>;

impl Kept {
    fn all(&self) -> Vec<Arc<Task>> {
        self.0.lock().unwrap().0.values().cloned().collect()
    }

    /// Whether there is room for tasks that it does not know.
    fn set_full(&self, full: bool) {
        self.1.store(full, Relaxed);
    }

    fn writes(&self) -> usize {
        self.0.lock().unwrap().1
    }
}

#[async_trait]
impl TaskStore for Kept {
    async fn put(&self, task: Arc<Task>) -> mas_contracts::Result<()> {
        let mut kept = self.0.lock().unwrap();
        let before = kept.0.get(&task.id);
        if before.is_none() && self.1.load(Relaxed) {
            return Err(Error::new(ErrorKind::Limit, "the store is full"));
        }
        let follows = task.revision == before.map_or(0, |before| before.revision) + 1;
        if !follows || before.is_some_and(|before| before.status.state.is_terminal()) {
            return Err(Error::new(
                ErrorKind::Conflict,
                format!("revision {} of {}", task.revision, task.id),
            ));
        }
        kept.0.insert(task.id.clone(), task);
        kept.1 += 1;
        Ok(())
    }

    async fn get(&self, scope: &TaskScope, id: &str) -> mas_contracts::Result<Option<Arc<Task>>> {
        let found = self.0.lock().unwrap().0.get(id).cloned();
        Ok(found.filter(|task| task.scope() == *scope))
    }

    async fn list(&self, scope: &TaskScope, query: &TaskQuery) -> mas_contracts::Result<TaskPage> {
        let mut tasks = self.all();
        tasks.retain(|task| task.scope() == *scope);
        tasks.retain(|task| query.context.as_ref().is_none_or(|context| task.context == *context));
        tasks.sort_by(|a, b| (b.status.since, &b.id).cmp(&(a.status.since, &a.id)));
        let total = tasks.len();
        tasks.truncate(query.limit);
        Ok(TaskPage { tasks, next: None, total })
    }
}

/// A service over one scripted agent.
struct Bench {
    host: Arc<ScriptedHost>,
    store: Arc<Kept>,
    service: Arc<Service>,
}

impl Bench {
    fn new(behaviour: Behaviour) -> Self {
        Self::with(behaviour, Options::default())
    }

    fn with(behaviour: Behaviour, options: Options) -> Self {
        Self::of(behaviour, options, &json!({}))
    }

    /// A service whose endpoint has these `a2a` parameters.
    fn of(behaviour: Behaviour, options: Options, a2a: &Value) -> Self {
        Self::telling(behaviour, options, a2a, None)
    }

    /// A service whose tasks tell these webhooks.
    fn telling(behaviour: Behaviour, options: Options, a2a: &Value, push: Option<Arc<dyn Push>>) -> Self {
        let host = ScriptedHost::new([("agent", behaviour)]);
        let store = Arc::<Kept>::default();
        let build = build_context(Path::new("."), &[]);
        let params = Params::read(&json!({"url": "http://127.0.0.1:9", "a2a": a2a})).unwrap();
        let (profile, place) = (host.describe("agent").unwrap(), Place::declared(&params, true).unwrap());
        let card = Arc::new(Published::new(&profile, &params, &place, None, Duration::ZERO).unwrap());
        let service = Service::new(&build, "agent".into(), host.clone(), store.clone(), options, push, card);
        Self { host, store, service: Arc::new(service) }
    }

    async fn send(&self, request: SendMessage) -> Result<SendReply, Failure> {
        self.service.send(&Caller::default(), request).await
    }

    /// Sends a message that has to become a task.
    async fn task(&self, request: SendMessage) -> Arc<Task> {
        match self.send(request).await.unwrap() {
            SendReply::Task(view) => view.task,
            SendReply::Message(message) => panic!("a message, not a task: {message:?}"),
        }
    }

    async fn stream(&self, request: SendMessage) -> ItemStream {
        self.service.stream(&Caller::default(), request).await.unwrap()
    }

    async fn subscribe(&self, id: &Arc<str>, after: Option<u64>) -> Result<ItemStream, Failure> {
        self.service.subscribe(&Caller::default(), SubscribeToTask { id: id.clone(), after }).await
    }

    async fn get(&self, id: &Arc<str>) -> Result<Arc<Task>, Failure> {
        let request = GetTask { id: id.clone(), history_length: None };
        Ok(self.service.get(&Caller::default(), request).await?.task)
    }

    async fn cancel(&self, id: &Arc<str>) -> Result<Arc<Task>, Failure> {
        let request = CancelTask { id: id.clone(), metadata: Map::new() };
        Ok(self.service.cancel(&Caller::default(), request).await?.task)
    }

    /// Lets everything that is ready run, without time going on.
    async fn idle(&self) {
        for _ in 0..64 {
            tokio::task::yield_now().await;
        }
    }
}

/// A message without a conversation.
fn said(id: &str, text: &str) -> SendMessage {
    SendMessage {
        message: TaskMessage {
            id: id.into(),
            from: Speaker::User,
            context: None,
            task: None,
            parts: vec![Part::text(text)],
            metadata: Map::new(),
            extensions: Vec::new(),
            references: Vec::new(),
        },
        accepted_output_modes: Vec::new(),
        push: None,
        history_length: None,
        return_immediately: false,
        kind: None,
        metadata: Map::new(),
    }
}

/// A message in a conversation.
fn said_in(context: &str, id: &str, text: &str) -> SendMessage {
    let mut request = said(id, text);
    request.message.context = Some(context.into());
    request
}

/// A message to a task.
fn said_to(task: &Task, id: &str, text: &str) -> SendMessage {
    let mut request = said(id, text);
    request.message.task = Some(task.id.clone());
    request
}

fn at_once(request: SendMessage) -> SendMessage {
    SendMessage { return_immediately: true, ..request }
}

/// What the status says.
fn status_text(task: &Task) -> String {
    task.status.message.as_ref().map(|message| text_of(&message.parts).to_string()).unwrap_or_default()
}

/// The artifacts as `id: text`.
fn artifacts(task: &Task) -> Vec<String> {
    task.artifacts.iter().map(|artifact| format!("{}: {}", artifact.id, text_of(&artifact.parts))).collect()
}

/// An item in one line.
fn shown(item: &StreamItem) -> String {
    match item {
        StreamItem::Task(view) => {
            let artifacts = if view.artifacts { artifacts(&view.task) } else { vec!["hidden".to_owned()] };
            format!("task {} [{}]", view.task.status.state.as_str(), artifacts.join(", "))
        }
        StreamItem::Message(message) => format!("message {}", text_of(&message.parts)),
        StreamItem::Status(update) => {
            let text = update.status.message.as_ref().map(|message| text_of(&message.parts));
            let text = text.map(|text| format!(" {text:?}")).unwrap_or_default();
            format!("{}{text}{}", update.status.state.as_str(), if update.last { " last" } else { "" })
        }
        StreamItem::Artifact(update) => format!(
            "{}{} {:?}{}",
            if update.append { "+" } else { "" },
            update.artifact.id,
            text_of(&update.artifact.parts),
            if update.last_chunk { " last" } else { "" }
        ),
    }
}

/// The whole of a stream, a line each.
async fn all(stream: ItemStream) -> Vec<String> {
    stream.map(|item| format!("{} {}", item.seq, shown(&item.item))).collect().await
}

/// The reader's text: what a client has that begins with the task and takes every piece.
async fn text(mut stream: ItemStream) -> (String, TaskState) {
    let (mut text, mut state) = (String::new(), TaskState::Submitted);
    while let Some(item) = stream.next().await {
        match item.item {
            StreamItem::Task(view) => {
                state = view.task.status.state;
                text =
                    view.task.artifacts.iter().map(|artifact| text_of(&artifact.parts).to_string()).collect();
            }
            StreamItem::Artifact(update) => {
                if !update.append {
                    text.clear();
                }
                text.push_str(&text_of(&update.artifact.parts));
            }
            StreamItem::Status(update) => state = update.status.state,
            StreamItem::Message(_) => panic!("a message in the stream of a task"),
        }
    }
    (text, state)
}

fn refused<T>(result: Result<T, Failure>) -> Reason {
    result.err().expect("a refusal").reason
}

const SECOND: Duration = Duration::from_secs(1);
