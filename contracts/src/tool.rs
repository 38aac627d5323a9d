//! `tool_provider`: lists tools and calls them.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{CallContext, Result, ToolCall, ToolOutput};

/// A tool, as a model sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// The name; fits `^[a-zA-Z0-9_-]{1,64}$`.
    pub name: Arc<str>,
    /// What it does.
    pub description: Arc<str>,
    /// The JSON schema of its arguments: an object.
    pub parameters: Value,
    /// Whether the same call twice is as good as once.
    #[serde(default)]
    pub idempotent: bool,
    /// How long one call may take; the limits of the turn hold in any case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Duration>,
}

/// How long a call may take to end by itself after a cancel: 120 ms.
pub const CANCEL_GRACE: Duration = Duration::from_millis(120);

/// A source of tools.
///
/// Rules:
///
/// - Core checks the arguments against the schema before the call.
/// - A tool that fails returns an output marked as an error, or an [`Error`](crate::Error) when it could not be
///   run; both are failures to the model.
/// - On a cancel a call has [`CANCEL_GRACE`] to end by itself, then its future is dropped; at
///   its deadline it is dropped at once. A dropped call leaves nothing running.
#[async_trait]
pub trait ToolContract: Send + Sync {
    /// The tools that this source provides. Called once, when the team connects.
    ///
    /// # Errors
    /// Why they cannot be listed.
    async fn list(&self) -> Result<Vec<ToolSpec>>;

    /// Calls a tool.
    ///
    /// # Errors
    /// Why it could not be run.
    async fn call(&self, cx: &CallContext, call: &ToolCall) -> Result<ToolOutput>;

    /// Releases what the source holds, such as a child process, soon: within 150 ms. Calls after it fail with
    /// [`ErrorKind::Unavailable`](crate::ErrorKind::Unavailable). Called once per tool, so more than once per source.
    async fn close(&self) {}
}
