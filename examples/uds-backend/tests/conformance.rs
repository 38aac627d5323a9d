//! The backend keeps the rules of `agent_comm`.

#![allow(
    clippy::panic,
    clippy::expect_used,
    reason = "helpers of tests; the exemption in clippy.toml reaches test functions only"
)]

mod served;

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use mas_contracts::AgentCommContract;
use mas_testkit::{ScriptedHost, comm::CommHarness};
use mas_uds_backend::Uds;

use served::Served;

/// Sockets live as long as the harness.
struct OverSockets(Mutex<Vec<Served>>);

#[async_trait]
impl CommHarness for OverSockets {
    fn paused(&self) -> bool {
        false
    }

    /// A connection that closes tells the peer, and so does a line.
    fn tells_peers(&self, _comm: &dyn AgentCommContract) -> bool {
        true
    }

    async fn connect(&self, host: Arc<ScriptedHost>) -> Arc<dyn AgentCommContract> {
        let served = Served::new(host);
        let socket = served.socket();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(served);
        Arc::new(Uds::new(socket))
    }
}

mas_testkit::comm_conformance!(OverSockets(Mutex::default()));
