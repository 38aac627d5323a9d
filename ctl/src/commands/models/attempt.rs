//! One small call to a model, measured.

use std::{
    fmt,
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use mas_contracts::{
    Audience, CallContext, ChatRequest, Clock, Completion, Error, Event, EventKind, EventSink, Ids, Message,
    ModelContract, Result, Scope, Tree, TreeLimits,
};
use mas_core::clock::{RandomIds, TokioClock};
use serde_json::{Value, json};

const PROMPT: &str = "Answer with the single word: ok";
/// Enough for a model that reasons before it answers.
const MAX_TOKENS: u64 = 512;
const LIMIT: Duration = Duration::from_secs(60);
/// Most characters of an answer that are shown.
const SHOWN: usize = 60;

/// What came of a call.
pub(super) struct Attempt {
    model: String,
    first: Option<Duration>,
    whole: Duration,
    result: Result<Completion>,
}

/// Notes when the first piece came.
#[derive(Debug, Default)]
struct First(OnceLock<Instant>);

impl EventSink for First {
    fn emit(&self, event: Event) {
        if matches!(event.kind, EventKind::TextDelta { .. }) {
            let _ = self.0.set(event.scope.tree.clock().now());
        }
    }
}

impl Attempt {
    /// Makes a call of a few tokens.
    pub(super) async fn make(provider: &dyn ModelContract, model: &str) -> Self {
        let clock: Arc<dyn Clock> = Arc::new(TokioClock);
        let first = Arc::new(First::default());
        let scope = Scope {
            session: RandomIds.next_id(),
            turn: RandomIds.next_id(),
            agent: "models".into(),
            depth: 0,
            parent: None,
            caller: None,
            sink: first.clone(),
            tree: Arc::new(Tree::new(TreeLimits::default(), clock.clone())),
        };
        let began = clock.now();
        let deadline = began.checked_add(LIMIT).unwrap_or(began);
        let cx = CallContext::new(Arc::new(scope), deadline);
        let name: Arc<str> = model.into();
        let turn = [Arc::new(Message::user(PROMPT))];
        let request = ChatRequest {
            model: &name,
            system: "",
            history: &[],
            turn: &turn,
            prompt: &[],
            tools: &[],
            audience: Audience::Answer,
            temperature: None,
            max_tokens: Some(MAX_TOKENS),
            output_schema: None,
        };
        let result = match tokio::time::timeout(LIMIT, provider.chat(&cx, request)).await {
            Ok(result) => result,
            Err(_) => Err(CallContext::stopped(mas_contracts::CancelReason::Deadline)),
        };
        let since = |at: Instant| at.saturating_duration_since(began);
        let first = first.0.get().copied().map(since);
        Self { model: model.to_owned(), first, whole: since(clock.now()), result }
    }

    /// Whether there was no answer.
    pub(super) fn failed(&self) -> bool {
        self.result.is_err()
    }

    /// The attempt as JSON; times in milliseconds.
    pub(super) fn to_json(&self) -> Value {
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let answer = self.result.as_ref().ok();
        let error = self.result.as_ref().err();
        json!({
            "name": self.model,
            "status": if self.failed() { "failed" } else { "completed" },
            "first_token_ms": self.first.map(millis),
            "whole_ms": millis(self.whole),
            "answer": answer.map(|completion| &*completion.text),
            "input_tokens": answer.map(|completion| completion.usage.input_tokens),
            "output_tokens": answer.map(|completion| completion.usage.output_tokens),
            "error": error.map(|error: &Error| json!({"code": error.code(), "message": format!("{error:#}")})),
        })
    }
}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = self.whole.as_millis();
        match &self.result {
            Ok(completion) => {
                let text = completion.text.split_whitespace().collect::<Vec<_>>().join(" ");
                let text: String = text.chars().take(SHOWN).collect();
                let first = self
                    .first
                    .map_or_else(String::new, |at| format!("first token in {} ms, ", at.as_millis()));
                let usage = &completion.usage;
                let (read, written) = (usage.input_tokens, usage.output_tokens);
                write!(
                    f,
                    "OK    {}  {first}whole in {whole} ms, {read} + {written} tokens: {text}",
                    self.model
                )
            }
            Err(error) => write!(f, "FAIL  {}  after {whole} ms: {error:#} [{}]", self.model, error.code()),
        }
    }
}
