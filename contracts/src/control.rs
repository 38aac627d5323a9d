//! `control_protocol`: looking into a live session and steering it, from wherever its people are.
//!
//! Rules: every [`Verb`] of every caller of one session takes effect in one order, the same for all who look. A verb
//! that changes the queue names the revision of the queue that its caller saw; at another revision it changes nothing
//! and is a [`Conflict`](crate::ErrorKind::Conflict). A verb that returns has taken effect; what it sets off, such as
//! a turn, goes on behind it and is seen by [`ControlHost::follow`]. `chat` and `tui` use the same verbs in process.
//!
//! A [`ControlContract`] carries verbs in from outside: it advertises the sessions of its host and serves them until
//! it is closed. Who may do what is said by the [`Actor`] that it makes of a caller.

mod view;

use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{BuildContext, EventStream, Result, SessionKey};

pub use view::{
    Activity, CheckpointView, ContextPart, ContextView, ControlReply, QueueView, QueuedItem, SessionView,
    WaitingQuestion,
};

/// Where an item goes in the queue of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// Next.
    Head,
    /// Last.
    #[default]
    Tail,
    /// So many items after the next one; behind the last one if there are fewer.
    Index(usize),
}

/// What becomes of a queued item when its time comes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QueuedAction {
    /// A turn of its own, once the running one has ended.
    #[default]
    Turn,
    /// It joins the running turn at its next model call, or is a turn where none runs any more.
    Steer,
}

/// How a text meets a model call that is under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SteerMode {
    /// The call is cut; what it has said so far is kept, and it goes on after the operator's text. Also `amend`,
    /// `inject_now`.
    #[default]
    #[serde(alias = "amend", alias = "inject_now")]
    Preempt,
    /// The call is cut and what it has said is discarded; the operator's text takes the place of the turn's input.
    Replace,
    /// The text goes to the head of the queue and joins once the present call has ended. Also `wait`, `enqueue`.
    #[serde(alias = "wait", alias = "enqueue")]
    After,
}

/// What can be asked of a live session. Over a wire: `method` and `args`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "method", content = "args", rename_all = "snake_case", deny_unknown_fields)]
pub enum Verb {
    /// Says something: a turn at the tail of the queue. Succeeds while the queue has room, paused or not.
    SendMessage {
        /// What is said.
        text: String,
    },
    /// Puts something into the queue.
    Enqueue {
        /// What is said.
        text: String,
        /// Where.
        #[serde(default)]
        at: Place,
        /// What becomes of it.
        #[serde(default)]
        action: QueuedAction,
    },
    /// Takes an item out of the queue.
    CancelQueued {
        /// The item.
        item: Arc<str>,
        /// The revision at which it was seen.
        revision: u64,
    },
    /// Moves an item to another place.
    Reorder {
        /// The item.
        item: Arc<str>,
        /// Its place, 0 being next; the last if there are fewer.
        to: usize,
        /// The revision at which it was seen.
        revision: u64,
    },
    /// Changes what becomes of an item.
    SetQueuedAction {
        /// The item.
        item: Arc<str>,
        /// What becomes of it.
        action: QueuedAction,
        /// The revision at which it was seen.
        revision: u64,
    },
    /// Holds the session: the running turn stops before its next operation, and no other begins. Idempotent.
    Pause {
        /// Why, for those who look.
        #[serde(default)]
        reason: Option<String>,
    },
    /// Lets a paused session go on. Idempotent.
    Resume,
    /// Gives the operator's text to the running turn; a turn of its own where none runs.
    Steer {
        /// The operator's text.
        text: String,
        /// How it meets the model call under way.
        #[serde(default)]
        mode: SteerMode,
    },
    /// Stops the running turn and everything below it; whether one ran is in the reply.
    CancelInflight,
    /// Takes the last turn out of the history: its input and everything that came of it.
    DiscardLast,
    /// Answers a question that the session waits on.
    Answer {
        /// The answer.
        text: String,
        /// The waiting task; may be absent where one question is open.
        #[serde(default)]
        task: Option<Arc<str>>,
    },
    /// What the session is at.
    Inspect,
    /// What waits, and the revision.
    InspectQueue,
    /// What fills the context of the next model call, part by part.
    InspectContext,
    /// Keeps the conversation as it is by now under a label.
    Snapshot {
        /// The label; a new one if absent.
        #[serde(default)]
        label: Option<String>,
    },
    /// The snapshots that are kept, oldest first.
    ListCheckpoints,
    /// Puts the conversation back to a snapshot; nothing may run.
    Navigate {
        /// The label.
        to: String,
        /// Why, for those who look.
        #[serde(default)]
        reason: Option<String>,
    },
    /// Begins another session with this conversation, or with that of a snapshot.
    Fork {
        /// The snapshot; the present if absent.
        #[serde(default)]
        at: Option<String>,
        /// The id of the other session; a new one if absent.
        #[serde(default)]
        session: Option<Arc<str>>,
    },
}

impl Verb {
    /// Every method, in the order of listings.
    pub const METHODS: [&'static str; 18] = [
        "send_message",
        "enqueue",
        "cancel_queued",
        "reorder",
        "set_queued_action",
        "pause",
        "resume",
        "steer",
        "cancel_inflight",
        "discard_last",
        "answer",
        "inspect",
        "inspect_queue",
        "inspect_context",
        "snapshot",
        "list_checkpoints",
        "navigate",
        "fork",
    ];

    /// The name of the method.
    #[must_use]
    pub fn method(&self) -> &'static str {
        match self {
            Self::SendMessage { .. } => "send_message",
            Self::Enqueue { .. } => "enqueue",
            Self::CancelQueued { .. } => "cancel_queued",
            Self::Reorder { .. } => "reorder",
            Self::SetQueuedAction { .. } => "set_queued_action",
            Self::Pause { .. } => "pause",
            Self::Resume => "resume",
            Self::Steer { .. } => "steer",
            Self::CancelInflight => "cancel_inflight",
            Self::DiscardLast => "discard_last",
            Self::Answer { .. } => "answer",
            Self::Inspect => "inspect",
            Self::InspectQueue => "inspect_queue",
            Self::InspectContext => "inspect_context",
            Self::Snapshot { .. } => "snapshot",
            Self::ListCheckpoints => "list_checkpoints",
            Self::Navigate { .. } => "navigate",
            Self::Fork { .. } => "fork",
        }
    }
}

/// Who asks, and what they may ask.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Actor {
    /// Their name, as it shows in views and events, such as `tui` or `control:1234`.
    pub name: Arc<str>,
    /// The methods that they may use; all if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub methods: Option<Vec<String>>,
}

impl Actor {
    /// One who may do everything.
    pub fn named(name: impl Into<Arc<str>>) -> Self {
        Self { name: name.into(), methods: None }
    }

    /// Whether they may use a method.
    #[must_use]
    pub fn may(&self, method: &str) -> bool {
        self.methods.as_ref().is_none_or(|methods| methods.iter().any(|known| known == method))
    }
}

/// The live sessions of this process. Implemented by core; handed to control protocols, `chat` and `tui`.
#[async_trait]
pub trait ControlHost: Send + Sync + fmt::Debug {
    /// The root sessions in memory, those of no owner first, each in order of its key.
    fn sessions(&self) -> Vec<SessionView>;

    /// Does one verb. The session need not exist for a verb that says something: it begins then.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) for an unknown session or item,
    /// [`ErrorKind::Conflict`](crate::ErrorKind::Conflict) at another revision, and where something runs that must not
    /// (`mas::control::busy`), [`ErrorKind::Limit`](crate::ErrorKind::Limit) for a full queue, and
    /// [`ErrorKind::Denied`](crate::ErrorKind::Denied) for a method that the actor may not use.
    async fn control(&self, by: &Actor, session: &SessionKey, verb: Verb) -> Result<ControlReply>;

    /// The events of every turn of a session from now on, with those below it, whoever began the turn. It ends with
    /// the host; one who falls behind is told by [`EventKind::Lagged`](crate::EventKind::Lagged). An unknown session
    /// is followed from its first turn on.
    fn follow(&self, session: &SessionKey) -> EventStream;
}

/// What a control protocol works with.
#[derive(Clone)]
pub struct Controlling {
    /// Environment, clock, ids and folder.
    pub build: BuildContext,
    /// The sessions.
    pub host: Arc<dyn ControlHost>,
    /// The session that is advertised by name; a protocol may serve the others of the host too.
    pub session: SessionKey,
    /// What it is advertised as: the manifest's name for a person.
    pub label: Arc<str>,
}

impl fmt::Debug for Controlling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Controlling").field("session", &self.session).finish_non_exhaustive()
    }
}

/// A protocol by which live sessions are controlled from outside.
#[async_trait]
pub trait ControlContract: Send + Sync {
    /// Listens and advertises.
    ///
    /// # Errors
    /// Why it cannot.
    async fn serve(&self, controlling: Controlling) -> Result<Box<dyn Controlled>>;
}

/// A control protocol that listens. Dropping it stops listening and withdraws what is advertised.
#[async_trait]
pub trait Controlled: Send + Sync {
    /// Where callers find it, for a person.
    fn address(&self) -> String;

    /// Stops listening, lets requests under way end within `limit`, withdraws what is advertised.
    ///
    /// # Errors
    /// What could not be stopped in order.
    async fn close(&self, limit: Duration) -> Result<()>;
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(method: &str, args: &Value) -> serde_json::Result<Verb> {
        serde_json::from_value(json!({"method": method, "args": args}))
    }

    #[test]
    fn every_method_is_listed_under_the_name_that_it_has_on_the_wire() {
        let schema = crate::schema_of::<Verb>();
        let methods: Vec<&Value> = schema["oneOf"]
            .as_array()
            .expect("a verb is one of several")
            .iter()
            .map(|verb| &verb["properties"]["method"]["const"])
            .collect();
        assert_eq!(methods, Verb::METHODS);
        for verb in [
            Verb::Resume,
            Verb::Pause { reason: None },
            Verb::Steer { text: "left".into(), mode: SteerMode::After },
        ] {
            assert_eq!(serde_json::to_value(&verb).expect("a verb is JSON")["method"], verb.method());
        }
    }

    #[test]
    fn the_words_of_mas_lab_for_the_modes_are_read() {
        for (word, mode) in
            [("amend", SteerMode::Preempt), ("inject_now", SteerMode::Preempt), ("wait", SteerMode::After)]
        {
            let verb = read("steer", &json!({"text": "left", "mode": word})).expect(word);
            assert_eq!(verb, Verb::Steer { text: "left".into(), mode });
        }
    }

    #[test]
    fn an_argument_that_no_verb_has_is_refused() {
        assert!(read("pause", &json!({"because": "tea"})).is_err());
        assert!(read("cancel_queued", &json!({"item": "t"})).is_err(), "the revision is not optional");
    }
}
