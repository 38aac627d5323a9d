//! An agent over HTTP whose operations are scripted.

mod jsonrpc;
mod malformed;
mod rest;
mod streams;

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::stream;
use http::{HeaderMap, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use mas_contracts::{AgentProfile, Artifact, Part, Speaker, Task, TaskMessage, TaskState, TaskStatus};
use mas_testkit::{TokioClock, build_context};
use serde_json::{Value, json};

use super::{Agent, Answer, answer};
use crate::{
    auth::Gate,
    card::{Place, Published},
    model::{
        ArtifactUpdate, Caller, CancelTask, Failure, GetTask, Item, ItemStream, ListTasks, Listing,
        Operations, PushConfig, PushKey, Reason, SendMessage, SendReply, StatusUpdate, StreamItem,
        SubscribeToTask, TaskView,
    },
    params::Params,
};

/// A moment: 2025-10-28T10:30:00Z.
const NOON: Duration = Duration::from_secs(1_761_647_400);

/// Operations that answer by heart, and remember what they were asked.
#[derive(Default)]
pub(crate) struct Scripted {
    asked: Mutex<Vec<(String, Caller)>>,
    failure: Mutex<Option<Failure>>,
    pub(crate) items: Mutex<Option<ItemStream>>,
}

impl Scripted {
    fn ask(&self, caller: &Caller, what: String) -> Result<(), Failure> {
        self.asked.lock().unwrap().push((what, caller.clone()));
        self.failure.lock().unwrap().clone().map_or(Ok(()), Err)
    }

    fn items(&self) -> ItemStream {
        self.items.lock().unwrap().take().unwrap_or_else(|| Box::pin(stream::iter(items())))
    }
}

#[async_trait]
impl Operations for Scripted {
    async fn send(&self, caller: &Caller, request: SendMessage) -> Result<SendReply, Failure> {
        let id = request.message.id.clone();
        let silent = request.return_immediately;
        self.ask(caller, format!("send {id} {silent} {:?}", request.history_length))?;
        Ok(match &*id {
            "message" => SendReply::Message(Arc::new(said("answer"))),
            _ => SendReply::Task(TaskView::whole(task("t1", TaskState::Completed))),
        })
    }

    async fn stream(&self, caller: &Caller, request: SendMessage) -> Result<ItemStream, Failure> {
        self.ask(caller, format!("stream {}", request.message.id))?;
        Ok(self.items())
    }

    async fn get(&self, caller: &Caller, request: GetTask) -> Result<TaskView, Failure> {
        self.ask(caller, format!("get {} {:?}", request.id, request.history_length))?;
        match &*request.id {
            "nope" => Err(Failure::no_task("nope")),
            id => Ok(TaskView::whole(task(id, TaskState::Working))),
        }
    }

    async fn list(&self, caller: &Caller, request: ListTasks) -> Result<Listing, Failure> {
        self.ask(caller, format!("{request:?}"))?;
        let tasks = vec![TaskView { artifacts: false, ..TaskView::whole(task("t1", TaskState::Working)) }];
        Ok(Listing { tasks, next_page_token: String::new(), page_size: 50, total_size: 1 })
    }

    async fn cancel(&self, caller: &Caller, request: CancelTask) -> Result<TaskView, Failure> {
        self.ask(caller, format!("cancel {} {}", request.id, Value::Object(request.metadata)))?;
        Ok(TaskView::whole(task(&request.id, TaskState::Canceled)))
    }

    async fn subscribe(&self, caller: &Caller, request: SubscribeToTask) -> Result<ItemStream, Failure> {
        self.ask(caller, format!("subscribe {} {:?}", request.id, request.after))?;
        Ok(self.items())
    }

    async fn create_push(&self, caller: &Caller, config: PushConfig) -> Result<PushConfig, Failure> {
        self.ask(caller, format!("create push {} {} {}", config.task, config.id, config.url))?;
        Ok(PushConfig { id: "p1".into(), ..config })
    }

    async fn get_push(&self, caller: &Caller, key: PushKey) -> Result<PushConfig, Failure> {
        self.ask(caller, format!("get push {} {}", key.task, key.id))?;
        Ok(push(&key.task, &key.id))
    }

    async fn list_push(&self, caller: &Caller, task: Arc<str>) -> Result<Vec<PushConfig>, Failure> {
        self.ask(caller, format!("list push {task}"))?;
        Ok(vec![push(&task, "p1")])
    }

    async fn delete_push(&self, caller: &Caller, key: PushKey) -> Result<(), Failure> {
        self.ask(caller, format!("delete push {} {}", key.task, key.id))
    }

    async fn extended_card(&self, caller: &Caller) -> Result<Arc<Value>, Failure> {
        self.ask(caller, "card".to_owned())?;
        Ok(Arc::new(json!({"name": "more"})))
    }
}

fn push(task: &str, id: &str) -> PushConfig {
    PushConfig {
        id: id.into(),
        task: task.into(),
        url: "https://example.com/".to_owned(),
        token: None,
        authentication: None,
        dialect: crate::model::Dialect::V1,
    }
}

fn said(text: &str) -> TaskMessage {
    TaskMessage {
        id: "m2".into(),
        from: Speaker::Agent,
        context: Some("c1".into()),
        task: None,
        parts: vec![Part::text(text)],
        metadata: serde_json::Map::new(),
        extensions: Vec::new(),
        references: Vec::new(),
    }
}

fn task(id: &str, state: TaskState) -> Arc<Task> {
    Arc::new(Task {
        id: id.into(),
        owner: None,
        agent: "fares".into(),
        context: "c1".into(),
        revision: 1,
        status: TaskStatus { state, message: None, since: NOON },
        history: Vec::new(),
        artifacts: vec![Arc::new(Artifact::new("a1", vec![Part::text("hello")]))],
        metadata: serde_json::Map::new(),
    })
}

/// A task, a piece of an artifact, the end.
pub(crate) fn items() -> Vec<Item> {
    let first = TaskView { artifacts: false, ..TaskView::whole(task("t1", TaskState::Working)) };
    let piece = ArtifactUpdate {
        task: "t1".into(),
        context: "c1".into(),
        artifact: Arc::new(Artifact::new("a1", vec![Part::text("hello")])),
        append: false,
        last_chunk: true,
    };
    let end = StatusUpdate {
        task: "t1".into(),
        context: "c1".into(),
        status: TaskStatus { state: TaskState::Completed, message: None, since: NOON },
        last: true,
    };
    vec![
        Item { seq: 1, item: StreamItem::Task(first) },
        Item { seq: 2, item: StreamItem::Artifact(piece) },
        Item { seq: 3, item: StreamItem::Status(end) },
    ]
}

/// An agent with its script.
pub(crate) struct Served {
    pub(crate) agent: Arc<Agent>,
    pub(crate) script: Arc<Scripted>,
}

/// What came back.
#[derive(Debug)]
pub(super) struct Got {
    status: StatusCode,
    headers: HeaderMap,
    text: String,
}

impl Got {
    fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }
}

impl Served {
    /// An agent whose endpoint says this under `a2a`.
    pub(crate) fn with(a2a: &Value) -> Self {
        let mut params = json!({"usage": "deploy", "url": "http://127.0.0.1:9000", "a2a": a2a});
        params["a2a"]["listen"] = json!({"port": 9000});
        let params = Params::read(&params).unwrap();
        let profile = AgentProfile {
            id: "fares".into(),
            name: "fares".into(),
            version: "1".into(),
            description: "Finds fares.".into(),
            skills: vec![],
            provider: None,
        };
        let place = Place::declared(&params, true).unwrap();
        let cx = build_context(std::path::Path::new("."), &[("KEY", "k")]);
        let script = Arc::new(Scripted::default());
        let agent = Agent {
            operations: script.clone(),
            gate: Arc::new(Gate::open(&params, &cx).unwrap()),
            card: Arc::new(Published::new(&profile, &params, &place, None, NOON).unwrap()),
            clock: TokioClock::shared(),
            limits: params.a2a.limits,
        };
        Self { agent: Arc::new(agent), script }
    }

    pub(crate) fn plain() -> Self {
        Self::with(&json!({}))
    }

    pub(crate) fn fail(&self, failure: Failure) {
        *self.script.failure.lock().unwrap() = Some(failure);
    }

    /// What the operations were asked since the last time.
    pub(crate) fn asked(&self) -> Vec<(String, Caller)> {
        std::mem::take(&mut self.script.asked.lock().unwrap())
    }

    /// What the operations were asked, without who asked.
    pub(crate) fn heard(&self) -> Vec<String> {
        self.asked().into_iter().map(|(what, _)| what).collect()
    }

    async fn open(
        &self,
        verb: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> http::Response<Answer> {
        let mut request = Request::builder().method(verb).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        answer(self.agent.clone(), request.body(Full::new(body.into())).unwrap(), 0).await
    }

    async fn ask(&self, verb: &str, path: &str, headers: &[(&str, &str)], body: impl Into<Bytes>) -> Got {
        let (parts, body) = self.open(verb, path, headers, body).await.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        Got { status: parts.status, headers: parts.headers, text: String::from_utf8(bytes.to_vec()).unwrap() }
    }

    /// Posts to JSON-RPC as a caller of v1.0.
    async fn rpc(&self, body: &Value) -> Got {
        self.ask("POST", "/", &[("a2a-version", "1.0")], body.to_string()).await
    }

    /// Asks HTTP+JSON as a caller of v1.0.
    async fn rest(&self, verb: &str, path: &str, body: &str) -> Got {
        self.ask(verb, &format!("/a2a/rest{path}"), &[("a2a-version", "1.0")], body.to_owned()).await
    }
}

/// A request of JSON-RPC.
fn request(method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

/// The parameters of a message.
fn message(id: &str) -> Value {
    json!({"message": {"messageId": id, "role": "ROLE_USER", "parts": [{"text": "hi"}]}})
}

fn old_message(id: &str) -> Value {
    json!({"message": {"kind": "message", "messageId": id, "role": "user",
        "parts": [{"kind": "text", "text": "hi"}]}})
}

#[tokio::test]
async fn the_card_is_at_both_paths_and_cached() {
    let served = Served::plain();
    for path in ["/.well-known/agent-card.json", "/.well-known/agent.json"] {
        let got = served.ask("GET", path, &[], "").await;
        assert_eq!((got.status.as_u16(), got.header("content-type")), (200, "application/json"));
        assert_eq!(got.json()["name"], "fares");
        let again = served.ask("GET", path, &[("if-none-match", got.header("etag"))], "").await;
        assert_eq!((again.status.as_u16(), again.text.as_str()), (304, ""));
        let head = served.ask("HEAD", path, &[], "").await;
        assert_eq!((head.status.as_u16(), head.text.as_str()), (200, ""));
        assert_eq!(head.header("content-length"), got.text.len().to_string());
        let wrong = served.ask("POST", path, &[], "{}").await;
        assert_eq!((wrong.status.as_u16(), wrong.header("allow")), (405, "GET, HEAD, OPTIONS"));
        let options = served.ask("OPTIONS", path, &[], "").await;
        assert_eq!((options.status.as_u16(), options.header("allow")), (204, "GET, HEAD, OPTIONS"));
    }
}

#[tokio::test]
async fn a_path_that_leads_nowhere_is_told_as_the_protocol_tells_it() {
    let served = Served::plain();
    for path in
        ["/nowhere", "/a2a", "/a2a/restful", "/a2a/rest", "/a2a/rest/", "/a2a/rest/nowhere", "/.well-known/x"]
    {
        let got = served.ask("GET", path, &[], "").await;
        assert_eq!(got.status, 404, "{path}");
        let error = &got.json()["error"];
        assert_eq!((&error["code"], &error["status"]), (&json!(404), &json!("NOT_FOUND")), "{path}");
        assert_eq!(error["details"][0]["reason"], "METHOD_NOT_FOUND", "{path}");
    }
}

#[tokio::test]
async fn the_paths_are_those_below_the_base() {
    let served = Served::plain();
    let body = request("GetTask", &json!({"id": "t1"})).to_string();
    for (path, below) in [("/agents/fares", 13), ("/agents/fares/", 13), ("/", 0)] {
        let request =
            Request::post(path).header("a2a-version", "1.0").body(Full::new(Bytes::from(body.clone())));
        let response = answer(served.agent.clone(), request.unwrap(), below).await;
        assert_eq!(response.status(), 200);
        assert_eq!(served.heard(), ["get t1 None"], "{path}");
    }
    let request =
        Request::get("/agents/fares/a2a/rest/acme/tasks/t7?historyLength=2").header("a2a-version", "1.0");
    let response = answer(served.agent.clone(), request.body(Full::new(Bytes::new())).unwrap(), 13).await;
    assert_eq!(response.status(), 200);
    let (what, caller) = served.asked().remove(0);
    assert_eq!((what.as_str(), caller.tenant.as_deref()), ("get t7 Some(2)", Some("acme")));
}
