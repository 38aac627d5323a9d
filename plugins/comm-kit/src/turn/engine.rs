//! A whole turn at an agent elsewhere.

use std::sync::Arc;

use mas_contracts::{CallContext, Error, ErrorKind, Outbound, Peer, Reply, Result, TaskRef};

use super::{TurnPolicy, Upstream};
use crate::ContextIds;

/// Carries turns: the message out, the calls that follow, the reply.
#[derive(Debug)]
pub struct TurnEngine {
    policy: TurnPolicy,
    contexts: Arc<ContextIds>,
}

impl TurnEngine {
    /// An engine that carries turns by `policy`, in the conversations of `contexts`.
    #[must_use]
    pub fn new(policy: TurnPolicy, contexts: Arc<ContextIds>) -> Self {
        Self { policy, contexts }
    }

    /// Sends a message and returns the reply; what happens meanwhile is emitted through `cx`.
    ///
    /// # Errors
    /// Why there is no reply; the delivery says what is known of the message.
    pub async fn run(
        &self,
        upstream: &Arc<dyn Upstream>,
        cx: &CallContext,
        to: &Peer,
        message: Outbound,
    ) -> Result<Reply> {
        let _ = (upstream, cx, message, &self.policy, &self.contexts);
        Err(Error::new(ErrorKind::Unsupported, format!("turns at `{}` cannot be carried yet", to.id)))
    }

    /// Attaches to a task that was sent earlier and returns its reply.
    ///
    /// # Errors
    /// Why there is no reply; [`ErrorKind::NotFound`] for an unknown task.
    pub async fn attach(
        &self,
        upstream: &Arc<dyn Upstream>,
        cx: &CallContext,
        task: &TaskRef,
    ) -> Result<Reply> {
        let _ = (upstream, cx);
        Err(Error::new(ErrorKind::Unsupported, format!("tasks of `{}` cannot be attached to", task.peer)))
    }

    /// Waits for the cancels that are still on their way, as long as they may take.
    pub async fn close(&self) {}
}
