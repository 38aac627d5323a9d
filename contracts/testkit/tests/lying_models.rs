//! The kit of `llm_provider` is no rubber stamp: each of these providers breaks the rules named beside it.

#![allow(clippy::unwrap_used, reason = "functions that tests share")]

use std::sync::Arc;

use async_trait::async_trait;
use mas_contracts::{
    Arguments, Audience, CONTEXT_LENGTH, CallContext, CancelReason, ChatRequest, Completion, Error,
    ErrorKind, ModelContract, Result, ToolCall,
};
use mas_testkit::llm::{self, ModelHarness, Play};
use tokio::sync::Mutex;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Lie {
    None,
    SaysTwice,
    SaysNothing,
    ForEverybody,
    MixesThoughts,
    DropsACall,
    TakesHalf,
    AsksAgain,
    HearsNoCancel,
    HasNoDeadline,
    GoesOn,
    Locks,
    ForgetsTheCode,
    Leaks,
}

struct Model(Play, Lie, Mutex<()>);

impl Model {
    fn say(&self, cx: &CallContext, audience: Audience, text: &str) {
        if self.1 != Lie::SaysNothing {
            cx.emit_text(audience, text);
        }
        if self.1 == Lie::SaysTwice {
            cx.emit_text(audience, text);
        }
        if self.1 == Lie::ForEverybody {
            cx.emit_text(Audience::Answer, text);
        }
    }

    async fn hang(&self, cx: &CallContext) -> Result<Completion> {
        tokio::select! {
            reason = cx.cancel().cancelled(), if self.1 != Lie::HearsNoCancel => Err(CallContext::stopped(reason)),
            () = cx.clock().sleep_until(cx.deadline()), if self.1 != Lie::HasNoDeadline => {
                Err(CallContext::stopped(CancelReason::Deadline))
            }
            () = tokio::time::sleep(std::time::Duration::from_secs(600)) => Err(Error::internal("it hangs")),
        }
    }
}

#[async_trait]
impl ModelContract for Model {
    async fn chat(&self, cx: &CallContext, request: ChatRequest<'_>) -> Result<Completion> {
        if let Some(reason) = cx.cancel().reason().filter(|_| self.1 != Lie::HearsNoCancel) {
            return Err(CallContext::stopped(reason));
        }
        let lock = (self.1 == Lie::Locks).then(|| self.2.try_lock());
        if matches!(lock, Some(Err(_))) {
            return Err(Error::new(ErrorKind::Unavailable, "one at a time"));
        }
        tokio::task::yield_now().await;
        let done = |text: String| Ok(Completion { text: text.into(), ..Completion::default() });
        match self.0 {
            Play::Says(pieces) => {
                pieces.iter().for_each(|piece| self.say(cx, request.audience, piece));
                done(pieces.concat())
            }
            Play::Thinks(thought, text) => {
                let mixes = self.1 == Lie::MixesThoughts;
                self.say(cx, if mixes { request.audience } else { Audience::Reasoning }, thought);
                self.say(cx, request.audience, text);
                Ok(Completion { text: text.into(), reasoning: Some(thought.into()), ..Completion::default() })
            }
            Play::Calls(calls) => {
                let call = |(name, arguments): &(&str, &str)| ToolCall {
                    id: "".into(),
                    name: (*name).into(),
                    arguments: Arguments::from_text(arguments),
                };
                let left_out = usize::from(self.1 == Lie::DropsACall);
                let calls = calls.iter().skip(left_out).map(call).collect();
                Ok(Completion { calls, ..Completion::default() })
            }
            Play::Cut(text) => {
                self.say(cx, request.audience, text);
                match self.1 {
                    Lie::TakesHalf => return done(text.to_owned()),
                    Lie::AsksAgain => self.say(cx, request.audience, text),
                    _ => {}
                }
                Err(Error::new(ErrorKind::Unavailable, "cut off"))
            }
            Play::Hangs(text) => {
                self.say(cx, request.audience, text);
                if self.1 == Lie::GoesOn {
                    let (cx, text) = (cx.clone(), text.to_owned());
                    tokio::spawn(async move { cx.emit_text(Audience::Answer, text) });
                }
                self.hang(cx).await
            }
            Play::TooLong => {
                let error = Error::invalid("too long");
                Err(if self.1 == Lie::ForgetsTheCode { error } else { error.with_code(CONTEXT_LENGTH) })
            }
            Play::Refuses => {
                let key = if self.1 == Lie::Leaks { "s3cret" } else { "***" };
                Err(Error::new(ErrorKind::Unauthenticated, format!("bad key {key}")))
            }
        }
    }
}

struct Harness(Lie);

#[async_trait]
impl ModelHarness for Harness {
    fn secret(&self) -> Option<&'static str> {
        Some("s3cret")
    }

    async fn play(&self, play: Play) -> Option<Arc<dyn ModelContract>> {
        Some(Arc::new(Model(play, self.0, Mutex::new(()))))
    }
}

mas_testkit::model_conformance!(Harness(Lie::None));

macro_rules! breaks {
    ($($name:ident: $lie:ident breaks $($rule:ident)+;)+) => {
        $(
            #[tokio::test(start_paused = true)]
            async fn $name() {
                $(
                    let verdict = llm::$rule(&Harness(Lie::$lie)).await;
                    assert!(verdict.is_err(), "{} let {:?} pass: {verdict:?}", stringify!($rule), Lie::$lie);
                )+
            }
        )+
    };
}

breaks! {
    says_twice: SaysTwice breaks text_is_whole_and_for_its_audience reasoning_is_kept_apart
        a_cut_answer_is_an_error the_deadline_holds a_dropped_call_is_safe calls_at_once_stay_apart;
    says_nothing: SaysNothing breaks text_is_whole_and_for_its_audience reasoning_is_kept_apart
        a_cut_answer_is_an_error the_deadline_holds calls_at_once_stay_apart;
    for_everybody: ForEverybody breaks text_is_whole_and_for_its_audience reasoning_is_kept_apart;
    mixes_thoughts: MixesThoughts breaks reasoning_is_kept_apart;
    drops_a_call: DropsACall breaks calls_are_whole;
    takes_half: TakesHalf breaks a_cut_answer_is_an_error;
    asks_again: AsksAgain breaks a_cut_answer_is_an_error;
    hears_no_cancel: HearsNoCancel breaks a_cancel_ends_the_call;
    has_no_deadline: HasNoDeadline breaks the_deadline_holds;
    goes_on: GoesOn breaks a_dropped_call_is_safe;
    locks: Locks breaks calls_at_once_stay_apart;
    forgets_the_code: ForgetsTheCode breaks a_request_that_is_too_long_is_told;
    leaks: Leaks breaks a_secret_is_shown_nowhere;
}
