//! What the stand-in is told to do.

use std::collections::VecDeque;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::Manner;

/// Steps that are taken in order; the last one is repeated. Without any, the default is.
#[derive(Clone, Debug, Deserialize)]
#[serde(transparent)]
pub struct Script<T>(VecDeque<Step<T>>);

impl<T> Default for Script<T> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<T: Clone + Default> Script<T> {
    /// A script of these steps.
    pub fn new(steps: impl IntoIterator<Item = impl Into<Step<T>>>) -> Self {
        Self(steps.into_iter().map(Into::into).collect())
    }

    pub(crate) fn next(&mut self) -> Step<T> {
        match self.0.len() {
            0 => Step::default(),
            1 => self.0.front().cloned().unwrap_or_default(),
            _ => self.0.pop_front().unwrap_or_default(),
        }
    }
}

/// One step.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step<T> {
    /// What is answered.
    pub what: T,
    /// How long that takes, in milliseconds.
    #[serde(default)]
    pub delay_ms: u64,
    /// How it is written.
    #[serde(default)]
    pub manner: Manner,
}

impl<T> From<T> for Step<T> {
    fn from(what: T) -> Self {
        Self { what, delay_ms: 0, manner: Manner::Whole }
    }
}

impl<T> Step<T> {
    /// As this, after so many milliseconds.
    #[must_use]
    pub fn after_ms(mut self, delay_ms: u64) -> Self {
        self.delay_ms = delay_ms;
        self
    }

    /// As this, written so.
    #[must_use]
    pub fn written(mut self, manner: Manner) -> Self {
        self.manner = manner;
        self
    }
}

/// What the platform says when access to a session is asked for.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Access {
    /// Access with a fresh token; the fields of `patch` replace those of the answer.
    Ready {
        /// In how many seconds it ends; it does not say if absent.
        #[serde(default)]
        expires_in: Option<i64>,
        /// Fields to replace or to add.
        #[serde(default)]
        patch: Map<String, Value>,
    },
    /// None yet, or none at all.
    Blocked {
        /// The state, such as `waking` or `unavailable`.
        state: String,
        /// When to ask again.
        #[serde(default)]
        retry_after_ms: Option<u64>,
        /// Fields to replace or to add.
        #[serde(default)]
        patch: Map<String, Value>,
    },
    /// This body with status 200.
    Body(Value),
    /// This status, with a body that says so.
    Status(u16),
    /// A page with this status.
    Page(u16),
}

impl Default for Access {
    fn default() -> Self {
        Self::ready()
    }
}

impl Access {
    /// Access that does not say when it ends.
    #[must_use]
    pub fn ready() -> Self {
        Self::Ready { expires_in: None, patch: Map::new() }
    }

    /// None in this state.
    pub fn blocked(state: impl Into<String>, retry_after_ms: Option<u64>) -> Self {
        Self::Blocked { state: state.into(), retry_after_ms, patch: Map::new() }
    }
}

/// What the runtime does with a message that is as it should be.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Turn {
    /// It answers with what it was told, as the kind that was asked for.
    #[default]
    Echo,
    /// As [`Echo`](Self::Echo), with these fields of the message or the task replaced.
    Patched(Map<String, Value>),
    /// This body, with this status.
    Body(u16, Value),
    /// The token is refused with this status, 401 or 403; no turn runs.
    Refused(u16),
    /// A page with this status.
    Page(u16),
    /// A body of so many bytes.
    Oversize(usize),
}

/// What there is, and what happens to it: all that `/_control/script` takes, each field replacing what was.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct World {
    /// The agents.
    pub agents: Option<Vec<AgentSeed>>,
    /// The sessions.
    pub sessions: Option<Vec<SessionSeed>>,
    /// What is said when access is asked for.
    pub access: Option<Script<Access>>,
    /// What becomes of messages.
    pub turns: Option<Script<Turn>>,
    /// The states that a task goes through, one for each time that it is asked for, such as `TASK_STATE_WORKING`.
    pub task_states: Option<Vec<String>>,
    /// How long a turn may take that is answered by a message, in milliseconds.
    pub message_limit_ms: Option<u64>,
    /// Whether every token that was handed out is refused from now on.
    pub rotate: bool,
}

/// An agent.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentSeed {
    /// Its uid.
    pub uid: String,
    /// Its name.
    #[serde(default)]
    pub name: String,
    /// Its `a2a_profile`, as it is; none if absent.
    #[serde(default)]
    pub profile: Option<Value>,
}

/// A session.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionSeed {
    /// Its uid.
    pub uid: String,
    /// Its agent, if it says so.
    #[serde(default)]
    pub agent_uid: Option<String>,
}
