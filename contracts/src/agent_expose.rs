//! `agent_expose`: ingress; makes hosted agents reachable from outside.
//!
//! Rules: an implementation says which sockets its endpoints claim, purely; core groups the endpoints of one
//! socket and binds each group once. "Listening" is said only after the bind, with the real address.

use std::{net::SocketAddr, sync::Arc};

use async_trait::async_trait;
use serde_json::Value;

use crate::{AgentHost, BuildContext, Problem, Result};

/// A socket that an endpoint wants to listen on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Claim {
    /// Host name or address, as declared.
    pub host: String,
    /// Port; 0 lets the system choose.
    pub port: u16,
    /// What is spoken there, such as `http` or `grpc`.
    pub what: &'static str,
}

/// A hosted agent with its endpoint.
#[derive(Clone, Debug)]
pub struct HostedEndpoint {
    /// The agent's handle.
    pub agent: Arc<str>,
    /// Whether it is the entry agent, which owns the root of a shared socket.
    pub entry: bool,
    /// The endpoint's parameters, as declared.
    pub params: Value,
}

/// A bound group of endpoints. Dropping it stops listening at once.
#[async_trait]
pub trait Exposure: Send + Sync {
    /// The addresses that it listens on.
    fn addresses(&self) -> Vec<SocketAddr>;

    /// Stops accepting, lets running work end within the implementation's drain limit, then stops.
    ///
    /// # Errors
    /// What could not be stopped in order.
    async fn close(&self) -> Result<()>;
}

/// A protocol by which agents are exposed.
#[async_trait]
pub trait AgentExposeContract: Send + Sync {
    /// The sockets that an endpoint claims. Pure.
    ///
    /// # Errors
    /// Every problem of the endpoint's parameters.
    fn claims(&self, endpoint: &HostedEndpoint) -> std::result::Result<Vec<Claim>, Vec<Problem>>;

    /// Binds all endpoints that share a socket and starts to serve them.
    ///
    /// # Errors
    /// [`ErrorKind::Unavailable`](crate::ErrorKind::Unavailable) when the socket cannot be bound.
    async fn bind(
        &self,
        cx: &BuildContext,
        host: Arc<dyn AgentHost>,
        endpoints: &[HostedEndpoint],
    ) -> Result<Box<dyn Exposure>>;
}
