//! Requests. The tenant of a request is in its [`Caller`](super::Caller).

use std::{fmt, sync::Arc, time::Duration};

use mas_contracts::{TaskMessage, TaskState};
use serde_json::{Map, Value};

use super::{Dialect, ResponseKind};

/// SendMessage and SendStreamingMessage.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SendMessage {
    /// What is said.
    pub(crate) message: TaskMessage,
    /// Media types that the caller can take; empty for any. A wish (A2A v1.0, section 3.2.2: an agent SHOULD tailor
    /// its output, and no error is named): a turn cannot be told of it, so the agent answers in the modes of its card,
    /// and no part is left out.
    pub(crate) accepted_output_modes: Vec<String>,
    /// A webhook to be told of the task; its task is empty.
    pub(crate) push: Option<PushConfig>,
    /// How much of the history to return; the server's default if absent.
    pub(crate) history_length: Option<u32>,
    /// Whether to return as soon as the task exists.
    pub(crate) return_immediately: bool,
    /// Whether it is to be answered with a message or a task, if the caller says so; what it says of returning is
    /// nothing then.
    pub(crate) kind: Option<ResponseKind>,
    /// Free metadata of the request.
    pub(crate) metadata: Map<String, Value>,
}

/// GetTask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GetTask {
    pub(crate) id: Arc<str>,
    pub(crate) history_length: Option<u32>,
}

/// CancelTask.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CancelTask {
    pub(crate) id: Arc<str>,
    pub(crate) metadata: Map<String, Value>,
}

/// SubscribeToTask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SubscribeToTask {
    pub(crate) id: Arc<str>,
    /// The last event that the caller has (`Last-Event-ID`); what follows it is replayed after the task.
    pub(crate) after: Option<u64>,
}

/// ListTasks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ListTasks {
    pub(crate) context: Option<Arc<str>>,
    pub(crate) state: Option<TaskState>,
    /// Only those whose state is from this time or later, since the Unix epoch.
    pub(crate) since: Option<Duration>,
    pub(crate) include_artifacts: bool,
    pub(crate) history_length: Option<u32>,
    /// 1 to 100; default 50.
    pub(crate) page_size: Option<i64>,
    /// Empty or absent for the first page.
    pub(crate) page_token: Option<String>,
}

/// How to authenticate at a webhook. `Debug` hides the credentials.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Authentication {
    pub(crate) scheme: String,
    pub(crate) credentials: Option<String>,
}

impl fmt::Debug for Authentication {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authentication").field("scheme", &self.scheme).finish_non_exhaustive()
    }
}

/// A webhook of a task. `Debug` hides token, credentials, and what the URL carries behind its host.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct PushConfig {
    /// Its id; made by the server if empty.
    pub(crate) id: Arc<str>,
    /// The task.
    pub(crate) task: Arc<str>,
    /// Where to post.
    pub(crate) url: String,
    /// What to send back in the token headers.
    pub(crate) token: Option<String>,
    /// How to authenticate.
    pub(crate) authentication: Option<Authentication>,
    /// The version that it was registered in, which the posts speak.
    pub(crate) dialect: Dialect,
}

impl fmt::Debug for PushConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PushConfig").field("id", &self.id).field("task", &self.task).finish_non_exhaustive()
    }
}

/// Names a webhook of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PushKey {
    pub(crate) task: Arc<str>,
    pub(crate) id: Arc<str>,
}
