//! In-process comm backend: delegates to agents of the same process.
//!
//! ```text
//!   send ── Weak<dyn AgentHost> ── upgrade ── host.run(cx, peer, message) ── reply
//!                    └─ gone, or closed: Unavailable, not sent
//! ```
//!
//! The delegated turn runs inline in the sender's future, in the same tree: its deadline, its cancel and its
//! events are the caller's, so that nothing is polled, buffered or forwarded here.

use std::{
    borrow::Cow,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering},
    },
};

use async_trait::async_trait;
use mas_contracts::{
    AgentCommContract, AgentHost, Build, BuildContext, Builder, CallContext, Capability, Descriptor, Error,
    ErrorKind, Outbound, Peer, Probe, Reply, Result, check_params, inventory, parse_params, schema_of,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

/// The name by which manifests select it.
pub const NAME: &str = "local";

/// The parameters: none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LocalParams {}

/// Delegates to the agents of this process.
///
/// It streams, because a peer's events go to the caller's sink as they come. It has no tasks, so that there
/// is nothing to attach to or to cancel by reference: a cancel of the tree reaches the peer itself.
pub struct Local {
    host: Weak<dyn AgentHost>,
    closed: AtomicBool,
}

impl Local {
    /// The backend that reaches the agents of `host` for as long as it lives.
    #[must_use]
    pub fn new(host: Weak<dyn AgentHost>) -> Self {
        Self { host, closed: AtomicBool::new(false) }
    }

    fn host(&self) -> Result<Arc<dyn AgentHost>> {
        let unavailable = |code, message| Error::new(ErrorKind::Unavailable, message).with_code(code);
        if self.closed.load(Ordering::Acquire) {
            return Err(unavailable("mas::local::closed", "the in-process backend is closed"));
        }
        let gone = || unavailable("mas::local::host_gone", "the agents of this process have ended");
        self.host.upgrade().ok_or_else(gone)
    }
}

#[async_trait]
impl AgentCommContract for Local {
    fn capability(&self) -> Capability {
        Capability { stream: true, ..Capability::default() }
    }

    async fn send(&self, cx: &CallContext, to: &Peer, message: Outbound) -> Result<Reply> {
        self.host()?.run(cx, &to.id, message).await
    }

    async fn probe(&self, _cx: &CallContext, to: &Peer) -> Result<Probe> {
        match self.host()?.describe(&to.id) {
            Some(agent) => Ok(Probe {
                name: Some(agent.name),
                version: Some(agent.version),
                stream: self.capability().stream,
                route: Vec::new(),
            }),
            None => {
                let message = format!("no agent `{}` in this process", to.id);
                Err(Error::new(ErrorKind::NotFound, message).with_code("mas::local::unknown_agent"))
            }
        }
    }

    async fn close(&self) -> Result<()> {
        self.closed.store(true, Ordering::Release);
        Ok(())
    }
}

fn build(cx: &BuildContext, params: &Value) -> Result<Arc<dyn AgentCommContract>> {
    let LocalParams {} = parse_params(params)?;
    Ok(Arc::new(Local::new(cx.host.clone())))
}

/// How the backend is found, documented and built.
#[must_use]
pub const fn descriptor() -> Descriptor {
    Descriptor {
        name: Cow::Borrowed(NAME),
        aliases: Cow::Borrowed(&["agent-local"]),
        origin: Cow::Borrowed(env!("CARGO_PKG_NAME")),
        version: Cow::Borrowed(env!("CARGO_PKG_VERSION")),
        summary: Cow::Borrowed("Delegates to agents of the same process, without a network."),
        example: Cow::Borrowed("agent_comm: {type: local}"),
        schema: schema_of::<LocalParams>,
        check: check_params::<LocalParams>,
        builder: Builder::AgentComm(Build::Linked(build)),
    }
}

inventory::submit! { descriptor() }
