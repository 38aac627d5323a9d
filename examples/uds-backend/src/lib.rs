//! Comm backend over Unix sockets: an agent that listens on a socket file is a peer.
//!
//! ```text
//!   send ── connect ── {"send": …} ──▶ peer
//!                  ◀── {"text": …} …   while it works
//!                  ◀── {"reply": …} or {"error": …}
//! ```
//!
//! One connection carries one call, and closing it gives the call up; [`wire`] has every line. Nothing is kept between
//! calls, so that a peer may be started anew at any time.

mod line;
pub mod wire;

use std::{
    borrow::Cow,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use async_trait::async_trait;
use mas_contracts::{
    AgentCommContract, Audience, Build, BuildContext, Builder, CallContext, CancelReason, Capability,
    Delivery, Descriptor, Error, ErrorKind, Outbound, Peer, Probe, Problem, Reply, Result, check_params,
    inventory, parse_params, schema_of,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::{
    line::Line,
    wire::{FromPeer, Send, ToPeer},
};

/// The name by which manifests select it.
pub const NAME: &str = "uds";

/// The parameters, beside `protocol` and `usage` of the endpoint.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UdsParams {
    /// The socket that the peer listens on; a relative path starts from the file that says it.
    pub socket: PathBuf,
}

/// Delegates to an agent behind a Unix socket.
#[derive(Debug)]
pub struct Uds {
    socket: PathBuf,
    closed: AtomicBool,
}

impl Uds {
    /// The backend that reaches the peer at `socket`.
    #[must_use]
    pub fn new(socket: PathBuf) -> Self {
        Self { socket, closed: AtomicBool::new(false) }
    }

    /// Opens a call with its first line. Nothing is executed while this fails.
    async fn open(&self, request: &ToPeer) -> Result<Line> {
        if self.closed.load(Ordering::Acquire) {
            return Err(Error::new(ErrorKind::Unavailable, "the backend is closed").with_code("uds::closed"));
        }
        Line::open(&self.socket, request).await
    }

    /// Ends a call by its deadline and soon after a cancel of its tree; the peer is told why.
    async fn bounded<T>(
        &self,
        cx: &CallContext,
        request: ToPeer,
        work: impl AsyncFnOnce(&mut Line) -> Result<T>,
    ) -> Result<T> {
        let mut line = None;
        let reason = {
            let call = async { work(line.insert(self.open(&request).await?)).await };
            tokio::select! {
                result = call => return result,
                reason = cx.cancel().cancelled() => reason,
                () = cx.clock().sleep_until(cx.deadline()) => CancelReason::Deadline,
            }
        };
        if let Some(line) = &mut line {
            line.stop(reason.stop());
        }
        Err(CallContext::stopped(reason))
    }
}

#[async_trait]
impl AgentCommContract for Uds {
    fn capability(&self) -> Capability {
        Capability { stream: true, ..Capability::default() }
    }

    async fn send(&self, cx: &CallContext, to: &Peer, message: Outbound) -> Result<Reply> {
        let request = ToPeer::Send(Send {
            to: to.id.clone(),
            conversation: message.thread.key(&to.id),
            message: message.message_id,
            parts: message.parts,
            task: message.task,
            budget_ms: u64::try_from(cx.remaining().as_millis()).unwrap_or(u64::MAX),
        });
        self.bounded(cx, request, async |line| {
            loop {
                match line.next().await? {
                    FromPeer::Text(text) => cx.emit_text(Audience::Answer, text),
                    FromPeer::Reply(reply) => return Ok(*reply),
                    FromPeer::Error(error) => return Err(error),
                    FromPeer::Agent(_) => return Err(line::unexpected("the description of an agent")),
                }
            }
        })
        .await
    }

    async fn probe(&self, cx: &CallContext, to: &Peer) -> Result<Probe> {
        let request = ToPeer::Probe(to.id.clone());
        let answer = self.bounded(cx, request, async |line| line.next().await).await?;
        match answer {
            FromPeer::Agent(agent) => Ok(Probe {
                name: Some(agent.name),
                version: agent.version,
                stream: true,
                route: vec![("socket".into(), self.socket.to_string_lossy().into())],
            }),
            FromPeer::Error(error) => Err(error.with_delivery(Delivery::NotSent)),
            FromPeer::Text(_) | FromPeer::Reply(_) => {
                Err(line::unexpected("an answer to a question that was not asked"))
            }
        }
    }

    async fn close(&self) -> Result<()> {
        self.closed.store(true, Ordering::Release);
        Ok(())
    }
}

fn build(cx: &BuildContext, params: &Value) -> Result<Arc<dyn AgentCommContract>> {
    let UdsParams { socket } = parse_params(params)?;
    Ok(Arc::new(Uds::new(cx.base.join(socket))))
}

/// What is wrong with the parameters. A path that no system takes is found here, not at the first call.
fn check(params: &Value) -> Vec<Problem> {
    let problems = check_params::<UdsParams>(params);
    match parse_params::<UdsParams>(params) {
        Ok(params) if params.socket.as_os_str().is_empty() => vec![Problem::new("it is empty").at("socket")],
        _ => problems,
    }
}

/// How the backend is found, documented and built.
#[must_use]
pub const fn descriptor() -> Descriptor {
    Descriptor {
        name: Cow::Borrowed(NAME),
        aliases: Cow::Borrowed(&["unix"]),
        origin: Cow::Borrowed(env!("CARGO_PKG_NAME")),
        version: Cow::Borrowed(env!("CARGO_PKG_VERSION")),
        summary: Cow::Borrowed("Delegates to agents behind Unix sockets."),
        example: Cow::Borrowed("researcher: {protocol: uds, usage: use, socket: run/researcher.sock}"),
        schema: schema_of::<UdsParams>,
        check,
        builder: Builder::AgentComm(Build::Linked(build)),
    }
}

inventory::submit! { descriptor() }
