//! `agent_expose`: ingress; makes hosted agents reachable from outside.
//!
//! Rules: an implementation says which sockets its endpoints claim, purely; core groups the endpoints of one
//! socket and binds each group once. "Listening" is said only after the bind, with the real address. Turns of
//! callers outside run through [`AgentHost::begin`]; what became of them is kept in a [`TaskStore`].

use std::{fmt, net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use async_trait::async_trait;
use serde_json::Value;

use crate::{AgentHost, AgentProfile, BuildContext, Problem, Result, TaskStore};

/// A socket that an endpoint wants to listen on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Claim {
    /// Host name or address, as declared.
    pub host: String,
    /// Port; 0 lets the system choose.
    pub port: u16,
    /// What is spoken there, such as `http` or `grpc`.
    pub what: &'static str,
    /// What tells the endpoint from others on the socket: the path below which it is found, such as
    /// `/agents/fares`, or a tenant; empty for the root. Two of one socket that say the same are a mistake.
    pub path: String,
    /// What a socket has once, however many endpoints share it: those that say something have to say the same.
    pub terms: Vec<Term>,
}

/// What an endpoint says of the socket that it shares.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Term {
    /// The parameter, as in `a2a.limits.connections`.
    pub parameter: &'static str,
    /// What it says, for a person; no secret.
    pub value: String,
}

/// A hosted agent with its endpoint. Debug shows no parameters, for they may hold secrets.
#[derive(Clone)]
pub struct HostedEndpoint {
    /// The agent's handle.
    pub agent: Arc<str>,
    /// Whether it is the entry agent, which owns the root of a shared socket.
    pub entry: bool,
    /// What the agent is.
    pub profile: AgentProfile,
    /// The endpoint's parameters, as declared.
    pub params: Value,
    /// The folder that relative paths of the parameters are relative to.
    pub base: PathBuf,
}

impl fmt::Debug for HostedEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("HostedEndpoint");
        shown.field("agent", &self.agent).field("entry", &self.entry).finish_non_exhaustive()
    }
}

/// What an exposure works with.
#[derive(Clone)]
pub struct Serving {
    /// Environment, clock, ids and folder.
    pub build: BuildContext,
    /// The agents.
    pub host: Arc<dyn AgentHost>,
    /// Where their tasks are kept.
    pub tasks: Arc<dyn TaskStore>,
    /// Whether to serve is what the program is there for (`serve`), not something beside a conversation.
    pub foreground: bool,
}

/// An address at which an agent is served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Served {
    /// The agent's handle.
    pub agent: Arc<str>,
    /// What is spoken there, such as `http` or `grpc`.
    pub what: &'static str,
    /// The address for callers, as advertised.
    pub url: String,
    /// The socket that listens.
    pub socket: SocketAddr,
}

/// A bound group of endpoints. Dropping it stops listening at once.
#[async_trait]
pub trait Exposure: Send + Sync {
    /// What is served, the entry agent first.
    fn served(&self) -> Vec<Served>;

    /// Stops accepting, lets running work end within `limit`, then stops what is left.
    ///
    /// # Errors
    /// What could not be stopped in order.
    async fn close(&self, limit: Duration) -> Result<()>;
}

/// A protocol by which agents are exposed.
#[async_trait]
pub trait AgentExposeContract: Send + Sync {
    /// The sockets that an endpoint claims, `foreground` as in [`Serving`]. Pure.
    ///
    /// # Errors
    /// Every problem of the endpoint's parameters.
    fn claims(
        &self,
        endpoint: &HostedEndpoint,
        foreground: bool,
    ) -> std::result::Result<Vec<Claim>, Vec<Problem>>;

    /// Binds all endpoints that share a socket and starts to serve them.
    ///
    /// # Errors
    /// [`ErrorKind::Unavailable`](crate::ErrorKind::Unavailable) when the socket cannot be bound.
    async fn bind(&self, serving: Serving, endpoints: &[HostedEndpoint]) -> Result<Box<dyn Exposure>>;

    /// Whether what listens at the endpoint's socket already serves this very agent.
    ///
    /// # Errors
    /// When nothing there can be asked.
    async fn is_served(&self, build: &BuildContext, endpoint: &HostedEndpoint) -> Result<bool>;
}
