//! A turn, a request and a build context for tests, on tokio's clock.
#![allow(clippy::unwrap_used)] // a test may stop short

use std::{
    path::Path,
    sync::{Arc, Mutex, Weak},
    time::{Duration, Instant},
};

use async_trait::async_trait;
use mas_contracts::{
    AgentHost, AgentProfile, Audience, BoxFuture, BuildContext, Builder, CallContext, CancelReason,
    ChatRequest, Clock, Completion, Descriptor, Env, Error, Event, EventKind, EventSink, EventStream, Ids,
    Message, ModelContract, Outbound, Reply, Result, Scope, ToolSpec, Tree, TreeLimits, TurnKey, TurnRequest,
    TurnTicket, inventory,
};
use mas_models as _; // links the registrations
use serde_json::Value;

#[derive(Debug)]
struct TokioClock;

impl Clock for TokioClock {
    fn now(&self) -> Instant {
        tokio::time::Instant::now().into_std()
    }

    fn unix_time(&self) -> Duration {
        Duration::ZERO
    }

    fn sleep_until(&self, at: Instant) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep_until(at.into()))
    }
}

impl Ids for TokioClock {
    fn next_id(&self) -> Arc<str> {
        "id".into()
    }
}

struct NoAgents;

#[async_trait]
impl AgentHost for NoAgents {
    async fn run(&self, _cx: &CallContext, _to: &str, _message: Outbound) -> Result<Reply> {
        Err(Error::internal("no agents here"))
    }

    fn submit(&self, _request: TurnRequest) -> Result<TurnTicket> {
        Err(Error::internal("no agents here"))
    }

    fn cancel(&self, _turn: &TurnKey, _reason: CancelReason) -> bool {
        false
    }

    fn subscribe(&self, _turn: &TurnKey, _after: u64) -> Option<EventStream> {
        None
    }

    fn describe(&self, _agent: &str) -> Option<AgentProfile> {
        None
    }

    fn agents(&self) -> Vec<Arc<str>> {
        Vec::new()
    }
}

pub(crate) fn build_context(base: &Path, env: &[(&str, &str)]) -> BuildContext {
    BuildContext {
        host: Weak::<NoAgents>::new(),
        env: Env::new(env.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))),
        clock: Arc::new(TokioClock),
        ids: Arc::new(TokioClock),
        base: base.into(),
    }
}

pub(crate) fn descriptor(name: &str) -> &'static Descriptor {
    inventory::iter::<Descriptor>().find(|d| d.name == name).unwrap()
}

pub(crate) fn build(name: &str, cx: &BuildContext, params: &Value) -> Result<Arc<dyn ModelContract>> {
    match &descriptor(name).builder {
        Builder::Model(build) => build.build(cx, params),
        other => Err(Error::internal(other.category().as_str())),
    }
}

/// Keeps the text that was emitted, with when it came.
#[derive(Debug, Default)]
pub(crate) struct Heard(Mutex<Vec<(Instant, String)>>);

impl EventSink for Heard {
    fn emit(&self, event: Event) {
        if let EventKind::TextDelta { text, .. } = event.kind {
            self.0.lock().unwrap().push((tokio::time::Instant::now().into_std(), text.to_string()));
        }
    }
}

/// A turn of one agent, to be asked about.
pub(crate) struct Turn {
    pub(crate) cx: CallContext,
    pub(crate) heard: Arc<Heard>,
    pub(crate) model: Arc<str>,
    pub(crate) history: Vec<Arc<Message>>,
    pub(crate) messages: Vec<Arc<Message>>,
    pub(crate) tools: Vec<Arc<ToolSpec>>,
}

impl Turn {
    /// Agent, what the user says.
    pub(crate) fn new(agent: &str, text: &str) -> Self {
        let heard = Arc::new(Heard::default());
        let scope = Scope {
            session: "s".into(),
            turn: "t".into(),
            agent: agent.into(),
            depth: 0,
            parent: None,
            caller: None,
            sink: heard.clone(),
            tree: Arc::new(Tree::new(TreeLimits::default(), Arc::new(TokioClock))),
        };
        let deadline = tokio::time::Instant::now().into_std() + Duration::from_secs(60);
        Self {
            cx: CallContext::new(Arc::new(scope), deadline),
            heard,
            model: "gpt-4o".into(),
            history: Vec::new(),
            messages: vec![Arc::new(Message::user(text))],
            tools: Vec::new(),
        }
    }

    pub(crate) async fn ask(&self, model: &dyn ModelContract) -> Result<Completion> {
        model.chat(&self.cx, self.request()).await
    }

    pub(crate) fn request(&self) -> ChatRequest<'_> {
        ChatRequest {
            model: &self.model,
            system: "You help.",
            history: &self.history,
            turn: &self.messages,
            prompt: &[],
            tools: &self.tools,
            audience: Audience::Answer,
            temperature: None,
            max_tokens: None,
        }
    }

    pub(crate) fn pieces(&self) -> Vec<String> {
        self.heard.0.lock().unwrap().iter().map(|(_, text)| text.clone()).collect()
    }

    pub(crate) fn times(&self) -> Vec<Instant> {
        self.heard.0.lock().unwrap().iter().map(|(at, _)| *at).collect()
    }
}
