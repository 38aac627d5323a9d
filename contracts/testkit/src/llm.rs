//! The conformance kit of `llm_provider`: one test per rule of [`ModelContract`].
//!
//! A provider implements [`ModelHarness`] in a test and calls [`model_conformance!`](crate::model_conformance).

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use mas_contracts::{
    Audience, CONTEXT_LENGTH, CallContext, CancelReason, Completion, Error, ErrorKind, Event, EventKind,
    ModelContract, Result,
};

pub use crate::rules::Verdict;
use crate::{CallContextBuilder, OwnedRequest, RecordingSink};

/// What the model behind a provider does, each time it is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Play {
    /// Says these pieces.
    Says(&'static [&'static str]),
    /// Thinks this, apart from its text, and says that.
    Thinks(&'static str, &'static str),
    /// Asks for these calls at once: the tool, and its arguments as JSON.
    Calls(&'static [(&'static str, &'static str)]),
    /// Says this and is cut off.
    Cut(&'static str),
    /// Says this and then nothing more, without an end.
    Hangs(&'static str),
    /// Refuses the request as longer than it takes.
    TooLong,
    /// Refuses the request for good, and sends back the secret that it got.
    Refuses,
}

/// How a provider is built against a model that plays.
#[async_trait]
pub trait ModelHarness: Send + Sync {
    /// Whether the rules run on a paused clock; not for a provider that uses sockets.
    fn paused(&self) -> bool {
        true
    }

    /// A secret that the provider is given and that no error and no event may show.
    fn secret(&self) -> Option<&'static str> {
        None
    }

    /// The text of [`Play::Says`]; another one for a model that says what it will.
    fn text(&self, pieces: &[&str]) -> String {
        pieces.concat()
    }

    /// The provider, whose model plays this; none if it cannot. What it needs lives as long as the harness.
    async fn play(&self, play: Play) -> Option<Arc<dyn ModelContract>>;
}

const GRACE: Duration = Duration::from_millis(200);
const LONG: Duration = Duration::from_secs(20);
const PIECES: &[&str] = &["One ", "two, ", "two, ", "Grüße ", "研究员 ", "🦀"];
const HALF: &str = "Half ";

/// The model, or the end of a rule that does not concern it.
macro_rules! play {
    ($harness:expr, $play:expr) => {
        match $harness.play($play).await {
            Some(model) => model,
            None => return Ok(Some("the model cannot play it")),
        }
    };
}

/// One call and what was heard of it.
struct Call {
    cx: CallContext,
    sink: Arc<RecordingSink>,
    request: OwnedRequest,
}

impl Call {
    fn new(timeout: Duration) -> Self {
        let sink = RecordingSink::new();
        let cx = CallContextBuilder::new("a").sink(sink.clone()).timeout(timeout).build();
        Self { cx, sink, request: OwnedRequest::new("go") }
    }

    async fn make(&self, model: &dyn ModelContract) -> Result<Completion> {
        model.chat(&self.cx, self.request.borrow()).await
    }

    async fn answer(&self, model: &dyn ModelContract) -> std::result::Result<Completion, String> {
        self.make(model).await.map_err(|error| format!("the call failed: {error:?}"))
    }

    async fn failure(&self, model: &dyn ModelContract) -> std::result::Result<Error, String> {
        match self.make(model).await {
            Ok(completion) => Err(format!("an answer instead of an error: {completion:?}")),
            Err(error) => Ok(error),
        }
    }

    fn heard(&self) -> String {
        self.sink.text(Audience::Answer)
    }
}

fn is_text(event: &Event) -> bool {
    matches!(event.kind, EventKind::TextDelta { .. })
}

/// The pieces together are the text, for the audience of the request alone.
pub async fn text_is_whole_and_for_its_audience(harness: &dyn ModelHarness) -> Verdict {
    let model = play!(harness, Play::Says(PIECES));
    let wanted = harness.text(PIECES);
    for (audience, other) in
        [(Audience::Answer, Audience::Reasoning), (Audience::Reasoning, Audience::Answer)]
    {
        let mut call = Call::new(LONG);
        call.request.audience = audience;
        let done = call.answer(&*model).await?;
        ensure!(*done.text == *wanted, "the text is {:?}", done.text);
        let (heard, strayed) = (call.sink.text(audience), call.sink.text(other));
        ensure!(heard == wanted, "{heard:?} was emitted for {audience:?}");
        ensure!(strayed.is_empty(), "{strayed:?} was emitted for {other:?}");
        ensure!(done.calls.is_empty() && done.reasoning.is_none(), "there is more than text: {done:?}");
        ensure!(done.usage.model_calls == 0, "it counts model calls");
    }
    Ok(None)
}

/// Reasoning is no part of the text, and emitted for nobody but a trace.
pub async fn reasoning_is_kept_apart(harness: &dyn ModelHarness) -> Verdict {
    let model = play!(harness, Play::Thinks("Hm.", "Yes."));
    let call = Call::new(LONG);
    let done = call.answer(&*model).await?;
    let told = (&*done.text, done.reasoning.as_deref());
    ensure!(told == ("Yes.", Some("Hm.")), "text and reasoning are {told:?}");
    let heard = (call.heard(), call.sink.text(Audience::Reasoning));
    ensure!(heard == ("Yes.".to_owned(), "Hm.".to_owned()), "text and reasoning were emitted as {heard:?}");
    Ok(None)
}

/// Calls come whole and in order; nothing of them is emitted as text.
pub async fn calls_are_whole(harness: &dyn ModelHarness) -> Verdict {
    const CALLS: &[(&str, &str)] =
        &[("fares", r#"{"to":"Zürich \"HB\""}"#), ("fares", r#"{"to":"Bern"}"#), ("now", "{}")];
    let model = play!(harness, Play::Calls(CALLS));
    let call = Call::new(LONG);
    let done = call.answer(&*model).await?;
    let got: Vec<_> = done.calls.iter().map(|call| (&*call.name, call.arguments.to_json())).collect();
    let same = got.iter().map(|(name, arguments)| (*name, &**arguments)).eq(CALLS.iter().copied());
    ensure!(same, "the calls are {got:?}");
    ensure!(done.text.is_empty() && call.heard().is_empty(), "there is text beside them");
    Ok(None)
}

/// An answer that is cut off is an error, and not asked for again once a piece of it is out.
pub async fn a_cut_answer_is_an_error(harness: &dyn ModelHarness) -> Verdict {
    let model = play!(harness, Play::Cut(HALF));
    let call = Call::new(LONG);
    call.failure(&*model).await?;
    ensure!(call.heard() == HALF, "{:?} was emitted", call.heard());
    Ok(None)
}

/// A call ends soon after a cancel, also one that comes before it.
pub async fn a_cancel_ends_the_call(harness: &dyn ModelHarness) -> Verdict {
    for early in [true, false] {
        let model = play!(harness, Play::Hangs(HALF));
        let call = Call::new(LONG);
        let cancel = async {
            if !early {
                call.sink.wait_for(is_text).await;
            }
            let now = call.cx.clock().now();
            call.cx.cancel().cancel(CancelReason::Requested);
            now
        };
        let (began, failure) = if early {
            (cancel.await, call.failure(&*model).await)
        } else {
            tokio::join!(cancel, call.failure(&*model))
        };
        let error = failure?;
        let took = call.cx.clock().now().saturating_duration_since(began);
        ensure!(took <= GRACE, "it took {took:?}");
        ensure!(error.kind() == ErrorKind::Cancelled, "the error is {error:?}");
        ensure!(!early || call.heard().is_empty(), "a cancelled call says {:?}", call.heard());
    }
    Ok(None)
}

/// A call ends at its deadline, as a timeout.
pub async fn the_deadline_holds(harness: &dyn ModelHarness) -> Verdict {
    let model = play!(harness, Play::Hangs(HALF));
    let call = Call::new(Duration::from_millis(300));
    let error = call.failure(&*model).await?;
    let late = call.cx.clock().now().saturating_duration_since(call.cx.deadline());
    let early = call.cx.remaining();
    ensure!(early.is_zero() && late <= GRACE, "it ended {late:?} after, {early:?} before");
    ensure!(error.kind() == ErrorKind::Timeout, "the error is {error:?}");
    ensure!(call.heard() == HALF, "{:?} was emitted", call.heard());
    Ok(None)
}

/// A call can be dropped; nothing of it is heard later, and the next one begins.
pub async fn a_dropped_call_is_safe(harness: &dyn ModelHarness) -> Verdict {
    let model = play!(harness, Play::Hangs(HALF));
    let mut first = None;
    for _ in 0..2 {
        let call = Call::new(LONG);
        tokio::select! {
            outcome = call.make(&*model) => return Err(format!("the call ended by itself: {outcome:?}")),
            () = call.sink.wait_for(is_text) => {}
        }
        first.get_or_insert(call);
    }
    tokio::time::sleep(GRACE / 4).await;
    let heard = first.map(|call| call.heard()).unwrap_or_default();
    ensure!(heard == HALF, "of the dropped call was heard: {heard:?}");
    Ok(None)
}

/// Calls at once run side by side; each hears its own answer.
pub async fn calls_at_once_stay_apart(harness: &dyn ModelHarness) -> Verdict {
    let model = play!(harness, Play::Says(PIECES));
    let wanted = harness.text(PIECES);
    let calls: Vec<_> = (0..20).map(|_| Call::new(LONG)).collect();
    let made = calls.iter().map(|call| call.answer(&*model));
    for (call, done) in calls.iter().zip(futures_util::future::join_all(made).await) {
        let text = done?.text;
        ensure!(*text == *wanted && call.heard() == wanted, "{text:?}, heard as {:?}", call.heard());
    }
    Ok(None)
}

/// A request that is too long has the code by which core shows less of the past.
pub async fn a_request_that_is_too_long_is_told(harness: &dyn ModelHarness) -> Verdict {
    let model = play!(harness, Play::TooLong);
    let error = Call::new(LONG).failure(&*model).await?;
    ensure!(error.code() == CONTEXT_LENGTH, "the error is {error:?}");
    Ok(None)
}

/// No error and no event shows a secret.
pub async fn a_secret_is_shown_nowhere(harness: &dyn ModelHarness) -> Verdict {
    let Some(secret) = harness.secret() else { return Ok(Some("the harness has no secret")) };
    let model = play!(harness, Play::Refuses);
    let call = Call::new(LONG);
    let error = call.failure(&*model).await?;
    let shown = format!("{error:?} {error:#} {:?}", call.sink.kinds());
    ensure!(!shown.contains(secret), "the secret is shown");
    Ok(None)
}

/// Runs one rule on a runtime of its own.
///
/// # Panics
/// When the rule is broken.
pub fn check<H: ModelHarness>(harness: &H, rule: impl AsyncFnOnce(&dyn ModelHarness) -> Verdict) {
    crate::rules::check(harness.paused(), rule(harness));
}

/// Makes one test per rule of `llm_provider`, for the harness that the expression gives.
#[macro_export]
macro_rules! model_conformance {
    ($harness:expr) => {
        $crate::model_conformance!(@rules $harness;
            text_is_whole_and_for_its_audience reasoning_is_kept_apart calls_are_whole
            a_cut_answer_is_an_error a_cancel_ends_the_call the_deadline_holds a_dropped_call_is_safe
            calls_at_once_stay_apart a_request_that_is_too_long_is_told a_secret_is_shown_nowhere);
    };
    (@rules $harness:expr; $($rule:ident)+) => {
        $(
            #[test]
            fn $rule() {
                $crate::llm::check(&$harness, $crate::llm::$rule);
            }
        )+
    };
}
