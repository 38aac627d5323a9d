//! Models that say what a test wants.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

use async_trait::async_trait;
use mas_contracts::{
    Arguments, Audience, CallContext, ChatRequest, Completion, Delivery, Error, ErrorKind, Message,
    ModelContract, Result, ToolCall, ToolSpec,
};
use serde_json::Value;

/// A completion of one text and no calls.
pub fn says(text: impl Into<Arc<str>>) -> Completion {
    Completion { text: text.into(), ..Completion::default() }
}

/// A completion that asks for these tools with these arguments; the ids are `call-1`, `call-2`, …
pub fn asks_for<'a>(calls: impl IntoIterator<Item = (&'a str, Value)>) -> Completion {
    let call = |(index, (name, arguments)): (usize, (&str, Value))| ToolCall {
        id: format!("call-{}", index + 1).into(),
        name: name.into(),
        arguments: Arguments::from_value(arguments),
    };
    Completion { calls: calls.into_iter().enumerate().map(call).collect(), ..Completion::default() }
}

/// What a model was asked, kept after the call.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// The model's name.
    pub model: Arc<str>,
    /// The system prompt.
    pub system: String,
    /// All messages, oldest first.
    pub messages: Vec<Arc<Message>>,
    /// The names of the tools on offer.
    pub tools: Vec<Arc<str>>,
    /// Whom the text was for.
    pub audience: Audience,
}

impl Asked {
    fn of(request: &ChatRequest<'_>) -> Self {
        Self {
            model: request.model.clone(),
            system: request.system.to_owned(),
            messages: request.messages().cloned().collect(),
            tools: request.tools.iter().map(|tool| tool.name.clone()).collect(),
            audience: request.audience,
        }
    }
}

/// A chat request that owns its parts, for a test to change; see [`ChatRequest`] for what they are.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the fields are those of the request")]
pub struct OwnedRequest {
    pub model: Arc<str>,
    pub system: String,
    pub history: Vec<Arc<Message>>,
    pub turn: Vec<Arc<Message>>,
    pub prompt: Vec<Arc<Message>>,
    pub tools: Vec<Arc<ToolSpec>>,
    pub audience: Audience,
    pub temperature: Option<f64>,
    pub max_tokens: Option<u64>,
    pub output_schema: Option<Value>,
}

impl OwnedRequest {
    /// The user says `text` to the model `m`, without a system prompt, a past or tools; the answer is for the user.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self {
            model: "m".into(),
            system: String::new(),
            history: Vec::new(),
            turn: vec![Arc::new(Message::user(text))],
            prompt: Vec::new(),
            tools: Vec::new(),
            audience: Audience::Answer,
            temperature: None,
            max_tokens: None,
            output_schema: None,
        }
    }

    /// The request.
    #[must_use]
    pub fn borrow(&self) -> ChatRequest<'_> {
        ChatRequest {
            model: &self.model,
            system: &self.system,
            history: &self.history,
            turn: &self.turn,
            prompt: &self.prompt,
            tools: &self.tools,
            audience: self.audience,
            temperature: self.temperature,
            max_tokens: self.max_tokens,
            output_schema: self.output_schema.as_ref(),
        }
    }
}

type Script = dyn Fn(usize, &ChatRequest<'_>) -> Result<Completion> + Send + Sync;

/// A model that a closure plays.
///
/// It emits the text of the completion in one piece, with the audience of the request, and ends with
/// [`ErrorKind::Cancelled`] or [`ErrorKind::Timeout`] if the tree is cancelled or the deadline passes while
/// it thinks.
pub struct FnModel {
    script: Box<Script>,
    thinks: Duration,
    calls: AtomicUsize,
    asked: Mutex<Vec<Asked>>,
}

impl FnModel {
    /// A model that answers with `script`, given the number of the call (from 0) and the request.
    pub fn new(
        script: impl Fn(usize, &ChatRequest<'_>) -> Result<Completion> + Send + Sync + 'static,
    ) -> Self {
        Self {
            script: Box::new(script),
            thinks: Duration::ZERO,
            calls: AtomicUsize::new(0),
            asked: Mutex::default(),
        }
    }

    /// Takes this long before each answer.
    #[must_use]
    pub fn thinking(mut self, time: Duration) -> Self {
        self.thinks = time;
        self
    }

    /// How many calls were made.
    #[must_use]
    pub fn calls(&self) -> usize {
        self.calls.load(Relaxed)
    }

    /// What was asked, in order.
    #[must_use]
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[async_trait]
impl ModelContract for FnModel {
    async fn chat(&self, cx: &CallContext, request: ChatRequest<'_>) -> Result<Completion> {
        let number = self.calls.fetch_add(1, Relaxed);
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).push(Asked::of(&request));
        if !self.thinks.is_zero() {
            let (now, clock) = (cx.clock().now(), cx.clock());
            let done = now + self.thinks;
            tokio::select! {
                biased;
                reason = cx.cancel().cancelled() => return Err(CallContext::stopped(reason)),
                () = clock.sleep_until(done.min(cx.deadline())) => {}
            }
            if done > cx.deadline() {
                let late = Error::new(ErrorKind::Timeout, "the model did not answer in time");
                return Err(late.with_delivery(Delivery::Unknown));
            }
        }
        let completion = (self.script)(number, &request)?;
        if !completion.text.is_empty() {
            cx.emit_text(request.audience, completion.text.clone());
        }
        Ok(completion)
    }
}

/// A model that says these completions, one per call; a call beyond them is an error.
pub struct ScriptedModel(FnModel);

impl ScriptedModel {
    /// A model that says `completions` in order.
    #[must_use]
    pub fn new(completions: Vec<Completion>) -> Self {
        Self::with_results(completions.into_iter().map(Ok).collect())
    }

    /// A model that answers with `results` in order, failures included.
    #[must_use]
    pub fn with_results(results: Vec<Result<Completion>>) -> Self {
        let known = results.len();
        Self(FnModel::new(move |number, _| {
            results.get(number).cloned().unwrap_or_else(|| {
                Err(Error::internal(format!(
                    "the script has {known} answers and this is call {}",
                    number + 1
                )))
            })
        }))
    }

    /// Takes this long before each answer.
    #[must_use]
    pub fn thinking(self, time: Duration) -> Self {
        Self(self.0.thinking(time))
    }

    /// How many calls were made.
    #[must_use]
    pub fn calls(&self) -> usize {
        self.0.calls()
    }

    /// What was asked, in order.
    #[must_use]
    pub fn asked(&self) -> Vec<Asked> {
        self.0.asked()
    }
}

#[async_trait]
impl ModelContract for ScriptedModel {
    async fn chat(&self, cx: &CallContext, request: ChatRequest<'_>) -> Result<Completion> {
        self.0.chat(cx, request).await
    }
}

#[cfg(test)]
mod tests {
    use mas_contracts::CancelReason;

    use super::*;
    use crate::{CallContextBuilder, RecordingSink};

    fn request(audience: Audience) -> OwnedRequest {
        OwnedRequest { audience, system: "be brief".to_owned(), ..OwnedRequest::new("go") }
    }

    #[tokio::test]
    async fn a_script_is_said_once_and_with_the_audience_of_the_request() {
        let sink = RecordingSink::new();
        let cx = CallContextBuilder::new("a").sink(sink.clone()).build();
        let model = ScriptedModel::new(vec![says("draft"), says("answer")]);
        model.chat(&cx, request(Audience::Reasoning).borrow()).await.unwrap();
        model.chat(&cx, request(Audience::Answer).borrow()).await.unwrap();
        assert_eq!(sink.text(Audience::Reasoning), "draft");
        assert_eq!(sink.text(Audience::Answer), "answer");
        let beyond = model.chat(&cx, request(Audience::Answer).borrow()).await.unwrap_err();
        assert_eq!(beyond.kind(), ErrorKind::Internal);
        assert_eq!((model.calls(), model.asked().len()), (3, 3));
        assert_eq!(model.asked().first().map(|asked| asked.system.clone()), Some("be brief".to_owned()));
    }

    #[tokio::test(start_paused = true)]
    async fn thinking_ends_by_the_deadline_and_on_a_cancel() {
        let model = FnModel::new(|_, _| Ok(says("late"))).thinking(Duration::from_secs(600));
        let cx = CallContextBuilder::new("a").timeout(Duration::from_secs(5)).build();
        let began = cx.clock().now();
        let error = model.chat(&cx, request(Audience::Answer).borrow()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Timeout);
        assert_eq!(cx.clock().now() - began, Duration::from_secs(5));

        let cx = crate::call_context();
        cx.cancel().cancel(CancelReason::Requested);
        let error = model.chat(&cx, request(Audience::Answer).borrow()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled);
    }
}
