//! A turn, a request and a build context for tests, on tokio's clock.
#![allow(clippy::unwrap_used)] // a test may stop short

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use mas_contracts::{
    Audience, BuildContext, Builder, CallContext, ChatRequest, Completion, Descriptor, Error, Event,
    EventKind, EventSink, Message, ModelContract, Result, Scope, ToolSpec, Tree, TreeLimits, inventory,
};
use mas_models as _; // links the registrations
use mas_testkit::TokioClock;
use serde_json::Value;

pub(crate) use mas_testkit::build_context;

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
            tree: Arc::new(Tree::new(TreeLimits::default(), TokioClock::shared())),
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
            output_schema: None,
        }
    }

    pub(crate) fn pieces(&self) -> Vec<String> {
        self.heard.0.lock().unwrap().iter().map(|(_, text)| text.clone()).collect()
    }

    pub(crate) fn times(&self) -> Vec<Instant> {
        self.heard.0.lock().unwrap().iter().map(|(at, _)| *at).collect()
    }
}
