//! A host whose agents do what a test says.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
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
    /// Asks a person this question.
    Ask(String),
    /// Refuses before it does anything.
    Refuse(String),
    /// Breaks down.
    Crash,
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
    peers: BTreeMap<String, Behaviour>,
    seen: Mutex<Vec<Seen>>,
}

impl ScriptedHost {
    /// A host of these peers.
    #[must_use]
    pub fn new<'a>(peers: impl IntoIterator<Item = (&'a str, Behaviour)>) -> Arc<Self> {
        let peers = peers.into_iter().map(|(name, behaviour)| (name.to_owned(), behaviour)).collect();
        Arc::new(Self { peers, seen: Mutex::default() })
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
                for piece in pieces {
                    cx.emit_text(Audience::Answer, piece.as_str());
                    pause(*gap).await;
                }
                end(&pieces.concat(), End::Done)
            }
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
            Behaviour::Hang => std::future::pending().await,
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
        let index = {
            let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.push(told.clone());
            seen.len() - 1
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
        let mut watch = Watch(self, index, false);
        let (result, stopped) = tokio::select! {
            biased;
            reason = child.cancel().cancelled() => {
                (Err(CallContext::stopped(reason).with_delivery(Delivery::Unknown)), Some(reason.stop()))
            }
            result = self.play(&child, to, behaviour, &told) => (result, None),
            () = child.clock().sleep_until(child.deadline()) => {
                let late = Error::new(ErrorKind::Timeout, format!("agent `{to}` did not answer in time"));
                (Err(late.with_delivery(Delivery::Unknown)), Some(CancelReason::Deadline.stop()))
            }
        };
        watch.2 = true;
        self.note(index, stopped);
        result
    }

    fn submit(&self, _request: TurnRequest) -> Result<TurnTicket> {
        Err(Error::new(ErrorKind::Unsupported, "a scripted host runs no root turns"))
    }

    fn begin(&self, _request: TurnRequest, _tap: Arc<dyn EventSink>) -> Result<TurnTicket> {
        Err(Error::new(ErrorKind::Unsupported, "a scripted host runs no root turns"))
    }

    fn cancel(&self, _turn: &TurnKey, _reason: CancelReason) -> bool {
        false
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
