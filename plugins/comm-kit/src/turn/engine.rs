//! A whole turn at an agent elsewhere.

use std::sync::Arc;

use mas_contracts::{CallContext, Outbound, Peer, Reply, Result, TaskRef};

use super::{
    TurnPolicy, Upstream,
    guard::Detached,
    ladder::{Ladder, Start},
};
use crate::ContextIds;

/// Carries turns: the message out, the calls that follow, the reply.
///
/// ```text
///   stream ──cut──▶ subscribe ──refused, or in vain──▶ get, again and again
///   send ───not over─┘                                        (all within the deadline)
///   given up ──▶ cancel, once, on its own time; not on a shutdown, nor where the task waits for a person
/// ```
///
/// A message is sent again only where it is proven that it was not executed: without a stream where the agent has
/// none, without the id of the conversation where the agent does not take that of its first message.
#[derive(Debug)]
pub struct TurnEngine {
    pub(super) policy: TurnPolicy,
    pub(super) contexts: Arc<ContextIds>,
    pub(super) detached: Arc<Detached>,
}

impl TurnEngine {
    /// An engine that carries turns by `policy`, in the conversations of `contexts`.
    #[must_use]
    pub fn new(policy: TurnPolicy, contexts: Arc<ContextIds>) -> Self {
        Self { policy, contexts, detached: Arc::default() }
    }

    /// Sends a message and returns the reply; what happens meanwhile is emitted through `cx`: that there is a task, its
    /// states, artifacts in pieces, and the text of the answer, which is the text of the reply's parts.
    ///
    /// It ends by the deadline of `cx`, and at once on a cancel of the tree. A task that is given up so, or because the
    /// future is dropped, is cancelled, as the policy says; a message of which nothing was heard yet is waited for a
    /// little longer to learn its task.
    ///
    /// # Errors
    /// Why there is no reply, with the step that failed, the agent and the task; the delivery says what is known of the
    /// message. [`ErrorKind::Timeout`](mas_contracts::ErrorKind::Timeout) at the deadline,
    /// [`ErrorKind::Limit`](mas_contracts::ErrorKind::Limit) for an answer that is too large.
    pub async fn run(
        &self,
        upstream: &Arc<dyn Upstream>,
        cx: &CallContext,
        to: &Peer,
        message: Outbound,
    ) -> Result<Reply> {
        let ladder = Ladder::new(self, upstream, cx, &to.id, Some(&message));
        ladder.climb(Start::Send(message)).await
    }

    /// Attaches to a task that was sent earlier and returns its reply; events, limits and cancel are those of
    /// [`run`](Self::run).
    ///
    /// # Errors
    /// Why there is no reply; [`ErrorKind::NotFound`](mas_contracts::ErrorKind::NotFound) for an unknown task.
    pub async fn attach(
        &self,
        upstream: &Arc<dyn Upstream>,
        cx: &CallContext,
        task: &TaskRef,
    ) -> Result<Reply> {
        let ladder = Ladder::new(self, upstream, cx, &task.peer, None);
        ladder.climb(Start::Attach(task.task.clone())).await
    }

    /// Waits for the cancels that are still on their way; each has its own limit.
    pub async fn close(&self) {
        self.detached.ended().await;
    }
}
