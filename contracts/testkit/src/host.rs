//! A host whose agents do what a test says.

mod root;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use async_trait::async_trait;
use mas_contracts::{
    AgentHost, AgentProfile, Audience, CallContext, CancelReason, Delivery, End, Error, ErrorKind, EventSink,
    EventStream, Interruption, InterruptionKind, Outbound, Part, Reply, Result, Scope, Stop, TaskState,
    TurnKey, TurnRequest, TurnTicket, text_of,
};

/// What a scripted peer does with a message.
#[derive(Clone, Debug)]
pub enum Behaviour {
    /// Answers with this text.
    Answer(String),
    /// Answers with the text it was sent.
    Echo,
    /// Answers with the text it was sent, after this long.
    EchoAfter(Duration),
    /// Emits these pieces with a pause after each, then answers with them joined.
    Stream(Vec<String>, Duration),
    /// Answers with everything it was told in the conversation, oldest first, with `|` between.
    Recall,
    /// Executes and ends in this state for this reason.
    Fail(TaskState, String),
    /// Emits these pieces with a pause after each, then gives this reply, whatever the pieces were.
    StreamThen(Vec<String>, Duration, Reply),
    /// Gives this reply.
    Give(Reply),
    /// Asks a person this question. In a root turn, the answer to it is echoed.
    Ask(String),
    /// Refuses before it does anything.
    Refuse(String),
    /// Breaks down.
    Crash,
    /// Panics.
    Panic,
    /// Never answers.
    Hang,
}

/// A message that a peer got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The peer.
    pub peer: String,
    /// The text.
    pub text: String,
    /// The key of the conversation.
    pub conversation: String,
    /// How its work was stopped from outside, if it was.
    pub stopped: Option<Stop>,
    /// Whether it ended, of its own or stopped.
    pub ended: bool,
}

/// A host of scripted peers. It keeps to the deadline and the cancel of the caller's tree.
#[derive(Debug, Default)]
pub struct ScriptedHost {
    this: Weak<ScriptedHost>,
    peers: BTreeMap<String, Behaviour>,
    seen: Mutex<Vec<Seen>>,
    roots: root::Roots,
}

impl ScriptedHost {
    /// A host of these peers.
    #[must_use]
    pub fn new<'a>(peers: impl IntoIterator<Item = (&'a str, Behaviour)>) -> Arc<Self> {
        let peers = peers.into_iter().map(|(name, behaviour)| (name.to_owned(), behaviour)).collect();
        Arc::new_cyclic(|this| Self { this: this.clone(), peers, ..Self::default() })
    }

    /// What the peers got, in order of arrival.
    #[must_use]
    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn note(&self, index: usize, stopped: Option<Stop>) {
        if let Some(seen) = self.seen.lock().unwrap_or_else(PoisonError::into_inner).get_mut(index) {
            (seen.stopped, seen.ended) = (stopped, true);
        }
    }

    async fn play(&self, cx: &CallContext, to: &str, behaviour: &Behaviour, told: &Seen) -> Result<Reply> {
        let pause = |time| cx.clock().sleep_until(cx.clock().now() + time);
        let end = |text: &str, end| Ok(Reply { end, ..Reply::done(vec![Part::text(text)]) });
        match behaviour {
            Behaviour::Answer(text) => end(text, End::Done),
            Behaviour::Echo => end(&told.text, End::Done),
            Behaviour::EchoAfter(time) => {
                pause(*time).await;
                end(&told.text, End::Done)
            }
            Behaviour::Stream(pieces, gap) => {
                stream(cx, pieces, *gap).await;
                end(&pieces.concat(), End::Done)
            }
            Behaviour::StreamThen(pieces, gap, reply) => {
                stream(cx, pieces, *gap).await;
                Ok(reply.clone())
            }
            Behaviour::Give(reply) => Ok(reply.clone()),
            Behaviour::Recall => {
                let all = self.seen();
                let here = all.iter().filter(|s| s.peer == to && s.conversation == told.conversation);
                end(&here.map(|s| s.text.as_str()).collect::<Vec<_>>().join("|"), End::Done)
            }
            Behaviour::Fail(state, reason) => end(reason, End::Failed(*state)),
            Behaviour::Ask(question) => {
                let question = Interruption {
                    kind: InterruptionKind::Input,
                    question: question.as_str().into(),
                    agent: to.into(),
                    task: None,
                };
                Ok(Reply { end: End::Interrupted(question), ..Reply::done(Vec::new()) })
            }
            Behaviour::Refuse(reason) => {
                Err(Error::new(ErrorKind::Rejected, reason.as_str()).with_delivery(Delivery::Rejected))
            }
            Behaviour::Crash => {
                Err(Error::internal(format!("agent `{to}` broke down")).with_delivery(Delivery::Unknown))
            }
            // Quiet: it is what the test asks for, and no defect to be printed.
            Behaviour::Panic => std::panic::resume_unwind(Box::new(format!("agent `{to}` panics"))),
            Behaviour::Hang => std::future::pending().await,
        }
    }

    /// Plays a turn to its end, or until it is stopped from outside.
    async fn perform(&self, cx: &CallContext, to: &str, behaviour: &Behaviour, told: Seen) -> Result<Reply> {
        let index = {
            let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.push(told.clone());
            seen.len() - 1
        };
        let mut watch = Watch(self, index, false);
        let (result, stopped) = tokio::select! {
            biased;
            reason = cx.cancel().cancelled() => {
                (Err(CallContext::stopped(reason).with_delivery(Delivery::Unknown)), Some(reason.stop()))
            }
            result = self.play(cx, to, behaviour, &told) => (result, None),
            () = cx.clock().sleep_until(cx.deadline()) => {
                let late = Error::new(ErrorKind::Timeout, format!("agent `{to}` did not answer in time"));
                (Err(late.with_delivery(Delivery::Unknown)), Some(CancelReason::Deadline.stop()))
            }
        };
        watch.2 = true;
        self.note(index, stopped);
        result
    }
}

async fn stream(cx: &CallContext, pieces: &[String], gap: Duration) {
    for piece in pieces {
        cx.emit_text(Audience::Answer, piece.as_str());
        if !gap.is_zero() {
            cx.clock().sleep_until(cx.clock().now() + gap).await;
        }
    }
}

/// Marks a message whose future is dropped as abandoned.
struct Watch<'a>(&'a ScriptedHost, usize, bool);

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        if !self.2 {
            self.0.note(self.1, Some(CancelReason::Abandoned.stop()));
        }
    }
}

#[async_trait]
impl AgentHost for ScriptedHost {
    async fn run(&self, cx: &CallContext, to: &str, message: Outbound) -> Result<Reply> {
        let Some(behaviour) = self.peers.get(to) else {
            return Err(Error::new(ErrorKind::NotFound, format!("no agent `{to}` here")));
        };
        let told = Seen {
            peer: to.to_owned(),
            text: text_of(&message.parts).to_string(),
            conversation: message.thread.key(to).to_string(),
            stopped: None,
            ended: false,
        };
        let above = cx.scope();
        let scope = Arc::new(Scope {
            session: told.conversation.as_str().into(),
            turn: message.message_id.clone(),
            agent: to.into(),
            depth: above.depth.saturating_add(1),
            parent: Some(above.clone()),
            caller: Some(cx.call()),
            sink: above.sink.clone(),
            tree: above.tree.clone(),
        });
        let child = CallContext::new(scope, cx.deadline());
        self.perform(&child, to, behaviour, told).await
    }

    fn submit(&self, _request: TurnRequest) -> Result<TurnTicket> {
        Err(Error::new(ErrorKind::Unsupported, "a scripted host spawns no root turns; `begin` one"))
    }

    fn begin(&self, request: TurnRequest, tap: Arc<dyn EventSink>) -> Result<TurnTicket> {
        let host = self.this.upgrade().ok_or_else(|| Error::internal("the scripted host is gone"))?;
        host.root(request, tap)
    }

    fn cancel(&self, turn: &TurnKey, reason: CancelReason) -> bool {
        self.roots.cancel(turn, reason)
    }

    fn subscribe(&self, _turn: &TurnKey, _after: u64) -> Option<EventStream> {
        None
    }

    fn describe(&self, agent: &str) -> Option<AgentProfile> {
        let (name, _) = self.peers.get_key_value(agent)?;
        let (id, text): (Arc<str>, Arc<str>) = (name.as_str().into(), "".into());
        Some(AgentProfile {
            name: id.clone(),
            id,
            version: text.clone(),
            description: text,
            ..AgentProfile::default()
        })
    }

    fn agents(&self) -> Vec<Arc<str>> {
        self.peers.keys().map(|name| name.as_str().into()).collect()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use mas_contracts::{EventKind, NoEvents};

    use super::*;
    use crate::RecordingSink;

    fn request(session: &str, turn: &str, text: &str) -> TurnRequest {
        TurnRequest {
            session: Some(session.into()),
            turn: Some(turn.into()),
            parts: vec![Part::text(text)],
            ..TurnRequest::default()
        }
    }

    #[tokio::test(start_paused = true)]
    async fn root_turns_of_a_session_run_one_after_the_other() {
        let host = ScriptedHost::new([("a", Behaviour::EchoAfter(Duration::from_secs(1)))]);
        let mut first = host.begin(request("s", "1", "one"), Arc::new(NoEvents)).unwrap().reply;
        let mut second = host.begin(request("s", "2", "two"), Arc::new(NoEvents)).unwrap().reply;
        let other = host.begin(request("t", "1", "other"), Arc::new(NoEvents)).unwrap().reply;
        assert!((&mut second).now_or_never().is_none() && (&mut first).now_or_never().is_none());
        assert_eq!(&*other.await.unwrap().text(), "other");
        assert!((&mut second).now_or_never().is_none());
        assert_eq!(&*first.await.unwrap().text(), "one");
        assert_eq!(&*second.await.unwrap().text(), "two");
        let texts: Vec<_> = host.seen().into_iter().map(|seen| seen.text).collect();
        assert_eq!(texts, ["one", "other", "two"]);
        let again = host.begin(request("s", "1", "changed"), Arc::new(NoEvents)).unwrap().reply;
        assert_eq!(&*again.await.unwrap().text(), "one");
        assert_eq!(host.seen().len(), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn a_root_turn_is_stopped_by_its_name_or_by_dropping_it() {
        let host = ScriptedHost::new([("a", Behaviour::Hang)]);
        let running = host.begin(request("s", "1", "one"), Arc::new(NoEvents)).unwrap();
        let waiting = host.begin(request("s", "2", "two"), Arc::new(NoEvents)).unwrap();
        let dropped = host.begin(request("s", "3", "three"), Arc::new(NoEvents)).unwrap();
        let last = host.begin(request("s", "4", "four"), Arc::new(NoEvents)).unwrap();
        let (mut one, mut four) = (running.reply, last.reply);
        assert!((&mut one).now_or_never().is_none());
        assert!(host.cancel(&waiting.key, CancelReason::Requested));
        assert_eq!(waiting.reply.await.unwrap_err().kind(), ErrorKind::Cancelled);
        assert!(!host.cancel(&waiting.key, CancelReason::Requested));
        drop(dropped);
        drop(one);
        assert!((&mut four).now_or_never().is_none());
        let seen: Vec<_> = host.seen().into_iter().map(|seen| (seen.text, seen.stopped)).collect();
        assert_eq!(seen, [("one".to_owned(), Some(Stop::Cancel)), ("four".to_owned(), None)]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_root_turn_tells_its_tap_and_its_question_is_answered_by_name() {
        let pieces = vec!["a".to_owned(), "b".to_owned()];
        let reply = Reply::done(vec![Part::text("other")]);
        let host = ScriptedHost::new([
            ("ask", Behaviour::Ask("which?".to_owned())),
            ("say", Behaviour::StreamThen(pieces, Duration::ZERO, reply)),
            ("panic", Behaviour::Panic),
        ]);
        let to = |agent: &str, request: TurnRequest| TurnRequest { agent: Some(agent.into()), ..request };
        let sink = RecordingSink::new();
        let said = host.begin(to("say", request("s", "1", "go")), sink.clone()).unwrap().reply.await.unwrap();
        assert_eq!((&*said.text(), &*sink.text(Audience::Answer)), ("other", "ab"));
        assert!(matches!(sink.kinds().first(), Some(EventKind::TurnStarted { .. })));

        let begin = |request| host.begin(to("ask", request), Arc::new(NoEvents)).unwrap().reply;
        let End::Interrupted(question) = begin(request("s", "2", "book")).await.unwrap().end else {
            panic!()
        };
        assert_eq!(question.task.as_deref(), Some("2"));
        let other = TurnRequest { task: Some("3".into()), ..request("s", "3", "new") };
        assert!(matches!(begin(other).await.unwrap().end, End::Interrupted(_)));
        let answer = TurnRequest { task: Some("3".into()), ..request("s", "4", "this one") };
        assert_eq!(&*begin(answer).await.unwrap().text(), "this one");

        let panics = host.begin(to("panic", request("s", "5", "go")), Arc::new(NoEvents)).unwrap().reply;
        assert!(std::panic::AssertUnwindSafe(panics).catch_unwind().await.is_err());
        let unknown = host.begin(to("nobody", request("s", "6", "go")), Arc::new(NoEvents));
        assert_eq!(unknown.err().map(|error| error.kind()), Some(ErrorKind::NotFound));
    }
}
