//! The in-process backend keeps the rules of `agent_comm`.

use std::sync::Arc;

use async_trait::async_trait;
use mas_contracts::{AgentCommContract, AgentHost};
use mas_local::Local;
use mas_testkit::{ScriptedHost, comm::CommHarness};

struct InProcess;

#[async_trait]
impl CommHarness for InProcess {
    fn tells_peers(&self, _comm: &dyn AgentCommContract) -> bool {
        true
    }

    async fn connect(&self, host: Arc<ScriptedHost>) -> Arc<dyn AgentCommContract> {
        let host: Arc<dyn AgentHost> = host;
        Arc::new(Local::new(Arc::downgrade(&host)))
    }
}

mas_testkit::comm_conformance!(InProcess);
