//! `agent_comm`: the send to a peer, after delegation has decided.
//!
//! Rules:
//! - The reply is the return value. While it works, a backend emits events through the call context:
//!   [`EventKind::Accepted`](crate::EventKind::Accepted) first where the peer has a task, then status, artifact pieces and text.
//! - A send ends by the deadline of its context and soon after a cancel of the tree; on a cancel the backend
//!   tells the peer what [`CancelReason::stop`](crate::CancelReason::stop) says. Dropping the future counts
//!   as [`CancelReason::Abandoned`](crate::CancelReason::Abandoned).
//! - Every error states its [`Delivery`](crate::Delivery). A backend never sends again what may have been executed, unless
//!   [`Capability::dedupes`] is true.
//! - A peer that executed and failed is a reply with [`End::Failed`](crate::End::Failed), not an error.

use std::{borrow::Cow, sync::Arc};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::{CallContext, Error, ErrorKind, Part, Reply, Result, Stop};

/// What a backend can do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capability {
    /// Text and artifacts arrive while the peer works.
    pub stream: bool,
    /// A running task can be attached to.
    pub attach: bool,
    /// A running task can be cancelled.
    pub cancel: bool,
    /// A message id seen before runs nothing, so that an unknown outcome may be sent again.
    pub dedupes: bool,
}

/// The peer of a send: the agent's handle, as `delegates_to` names it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Peer {
    /// The handle.
    pub id: Arc<str>,
}

/// Which conversation with the target a message belongs to, below one parent session.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThreadName {
    /// The one that goes on from one delegation to the next.
    Main,
    /// One that the model named (`context_id`).
    Named(Arc<str>),
    /// One for this call only, by a name that no other call has; its history, and that of what is below it, is
    /// dropped after it, so that parallel calls never share.
    Once(Arc<str>),
}

/// The conversation of a delegation: the same on every backend.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Thread {
    /// The session that delegates.
    pub parent: Arc<str>,
    /// Which of its conversations with the target.
    pub name: ThreadName,
}

impl Thread {
    /// The key of the conversation with `target`: stable, and unique per (parent, target, name), for whatever a
    /// handle or a name holds is escaped. The parent is a key itself, or a [root session](Self::root_key).
    #[must_use]
    pub fn key(&self, target: &str) -> Arc<str> {
        let mut key = String::with_capacity(self.parent.len() + target.len() + 8);
        key.push_str(&self.parent);
        key.push('/');
        escape(target, &mut key);
        match &self.name {
            ThreadName::Main => {}
            ThreadName::Named(name) => {
                key.push(':');
                escape(name, &mut key);
            }
            ThreadName::Once(call) => {
                key.push('#');
                escape(call, &mut key);
            }
        }
        key.into()
    }

    /// Whether a key is that of a conversation for one call, or of one below it.
    #[must_use]
    pub fn is_once_key(key: &str) -> bool {
        key.contains('#')
    }

    /// The key of a root session: its id, escaped so that it is never the key of a delegated conversation.
    #[must_use]
    pub fn root_key(session: Arc<str>) -> Arc<str> {
        // They are ASCII, and bytes are found faster than characters.
        if !session.bytes().any(|byte| RESERVED.contains(&char::from(byte))) {
            return session;
        }
        let mut key = String::with_capacity(session.len() + 8);
        escape(&session, &mut key);
        key.into()
    }

    /// Whether the conversation ends with this call.
    #[must_use]
    pub fn is_once(&self) -> bool {
        matches!(self.name, ThreadName::Once(_))
    }
}

/// The characters that have a meaning in keys.
const RESERVED: [char; 4] = ['%', '/', ':', '#'];

fn escape(text: &str, key: &mut String) {
    for c in text.chars() {
        match c {
            '%' => key.push_str("%25"),
            '/' => key.push_str("%2F"),
            ':' => key.push_str("%3A"),
            '#' => key.push_str("%23"),
            other => key.push(other),
        }
    }
}

/// A message on its way to a peer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outbound {
    /// The content.
    pub parts: Vec<Part>,
    /// Unique; the same when the message is sent again.
    pub message_id: Arc<str>,
    /// The conversation.
    pub thread: Thread,
    /// The waiting task that this message answers, if it does.
    pub task: Option<Arc<str>>,
}

/// A task at a peer.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TaskRef {
    /// The peer's handle.
    pub peer: Arc<str>,
    /// The task, as the peer names it.
    pub task: Arc<str>,
}

/// What a peer that can be reached is, and how a send would reach it: what `plan --live` and `validate --live` show.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probe {
    /// The peer's name for a person, as it says itself.
    pub name: Option<Arc<str>>,
    /// The peer's own version, as it says itself.
    pub version: Option<Arc<str>>,
    /// Whether text and artifacts would arrive while it works.
    pub stream: bool,
    /// What a send would use and why, in the order to show: pairs such as `interface` `http://127.0.0.1:9006/`,
    /// `binding` `JSONRPC`, `protocol` `1.0`, `because` `the first of the card that is known`. Never a secret.
    pub route: Vec<(Cow<'static, str>, Arc<str>)>,
}

/// A backend that carries messages to peers.
#[async_trait]
pub trait AgentCommContract: Send + Sync {
    /// What this backend can do.
    fn capability(&self) -> Capability;

    /// Sends `message` to the peer and returns its reply.
    ///
    /// # Errors
    /// When no reply came; the error's delivery says what is known.
    async fn send(&self, cx: &CallContext, to: &Peer, message: Outbound) -> Result<Reply>;

    /// Attaches to a task sent earlier and returns its reply.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] unless [`Capability::attach`]; [`ErrorKind::NotFound`] for an unknown task.
    async fn attach(&self, cx: &CallContext, task: &TaskRef) -> Result<Reply> {
        let _ = cx;
        Err(Error::new(ErrorKind::Unsupported, format!("tasks of `{}` cannot be attached to", task.peer)))
    }

    /// Tells the peer that its caller stops.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] unless [`Capability::cancel`]; [`ErrorKind::NotFound`] for an unknown task.
    async fn cancel(&self, cx: &CallContext, task: &TaskRef, stop: Stop) -> Result<()> {
        let _ = (cx, stop);
        Err(Error::new(ErrorKind::Unsupported, format!("tasks of `{}` cannot be cancelled", task.peer)))
    }

    /// Checks that the peer can be reached, and says what a send would use; executes nothing there.
    ///
    /// # Errors
    /// Why it cannot.
    async fn probe(&self, cx: &CallContext, to: &Peer) -> Result<Probe>;

    /// Releases what the backend holds. Sends after it fail with [`ErrorKind::Unavailable`].
    ///
    /// # Errors
    /// What could not be released.
    async fn close(&self) -> Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn keys_of_different_conversations_differ_whatever_the_names_hold() {
        let texts = ["a", "b", "a:b", "a#c1", "a/b", "a%3Ab", "", "%", "/", ":", "#", "c1"];
        let names = texts.iter().map(|text| ThreadName::Named((*text).into()));
        let names: Vec<_> = names.chain([ThreadName::Main, ThreadName::Once("c1".into())]).collect();
        let mut keys = HashSet::new();
        let mut count = 0;
        for parent in texts {
            let parent = Thread::root_key(parent.into());
            assert!(keys.insert(parent.clone()), "a root session is nobody's conversation");
            count += 1;
            for target in texts {
                for name in &names {
                    let key = Thread { parent: parent.clone(), name: name.clone() }.key(target);
                    assert!(keys.insert(key.clone()), "{parent} {target} {name:?} gives {key} again");
                    count += 1;
                }
            }
        }
        assert_eq!(keys.len(), count);
    }
}
