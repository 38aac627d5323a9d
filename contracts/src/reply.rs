//! The reply of a peer.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{Artifact, Part, Usage, text_of};

/// The state of a task (A2A v1.0, `TaskState`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskState {
    /// Accepted, not started.
    Submitted,
    /// Running.
    Working,
    /// Ended well.
    Completed,
    /// Ended in failure.
    Failed,
    /// Stopped on request.
    Canceled,
    /// Refused by the agent.
    Rejected,
    /// Waits for input of a person.
    InputRequired,
    /// Waits for credentials.
    AuthRequired,
}

impl TaskState {
    /// Whether nothing follows it.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Canceled | Self::Rejected)
    }

    /// Whether the task waits for somebody outside.
    #[must_use]
    pub fn is_interrupted(self) -> bool {
        matches!(self, Self::InputRequired | Self::AuthRequired)
    }

    /// The word used in JSON and in messages.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Submitted => "submitted",
            Self::Working => "working",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Canceled => "canceled",
            Self::Rejected => "rejected",
            Self::InputRequired => "input_required",
            Self::AuthRequired => "auth_required",
        }
    }
}

/// What an interrupted task waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InterruptionKind {
    /// Input of a person.
    Input,
    /// Credentials.
    Auth,
}

/// A question that a task waits on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interruption {
    /// What it waits for.
    pub kind: InterruptionKind,
    /// The question, for a person.
    pub question: Arc<str>,
    /// The agent that asks.
    pub agent: Arc<str>,
    /// The task that waits; an answer names it where several wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<Arc<str>>,
}

/// How a turn or task ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// It is done.
    Done,
    /// It waits for a person.
    Interrupted(Interruption),
    /// It executed and ended in this terminal state.
    Failed(TaskState),
}

/// How a protocol that has tasks (A2A) shows the parts of a reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// A result: an artifact of the task.
    #[default]
    Artifact,
    /// What is said about the end: the message of the task's status.
    Status,
    /// All there is: a message without a task.
    Message,
}

impl Form {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// What a peer gave back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// The answer, or the text that goes with the end.
    pub parts: Vec<Part>,
    /// Outputs beside the answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<Artifact>,
    /// How it ended.
    pub end: End,
    /// The conversation, as the peer names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Arc<str>>,
    /// The task, as the peer names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<Arc<str>>,
    /// How the parts are shown where there are tasks.
    #[serde(default, skip_serializing_if = "Form::is_default")]
    pub form: Form,
    /// Tokens spent, as far as they are known.
    #[serde(default)]
    pub usage: Usage,
}

impl Reply {
    /// A finished reply of these parts.
    #[must_use]
    pub fn done(parts: Vec<Part>) -> Self {
        Self {
            parts,
            artifacts: Vec::new(),
            end: End::Done,
            context: None,
            task: None,
            form: Form::default(),
            usage: Usage::default(),
        }
    }

    /// The answer as one text, artifacts after it.
    #[must_use]
    pub fn text(&self) -> Arc<str> {
        let answer = text_of(&self.parts);
        if self.artifacts.is_empty() {
            return answer;
        }
        let mut out = answer.to_string();
        for artifact in &self.artifacts {
            let text = text_of(&artifact.parts);
            if !out.is_empty() {
                out.push('\n');
            }
            out.push_str(&text);
        }
        out.into()
    }
}
