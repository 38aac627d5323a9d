//! The backend keeps the rules of `agent_comm` over every way to an agent.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use mas_contracts::{
    AgentCommContract, CallContext, Capability, Exposure, Outbound, Peer, Probe, Reply, Result, Stop, TaskRef,
};
use mas_testkit::{ScriptedHost, build_context, comm::CommHarness};
use serde_json::json;

use super::{Comm, serve, url_of};

const SECRET: &str = "sk-conformance";

/// Agents behind our own exposure, each with a backend of its own, as each has an endpoint.
struct Served {
    site: Arc<dyn Exposure>,
    over: Over,
    comms: Mutex<HashMap<Arc<str>, Arc<Comm>>>,
}

/// The only way that may be taken.
#[derive(Clone, Copy)]
enum Over {
    Binding(&'static str),
    Protocol(&'static str),
}

impl Served {
    fn to(&self, peer: &Arc<str>) -> Arc<Comm> {
        let mut comms = self.comms.lock().unwrap();
        let client = match self.over {
            Over::Binding(binding) => json!({"bindings": [binding]}),
            Over::Protocol(version) => json!({"protocol": version}),
        };
        let make = || {
            let row = json!({
                "url": url_of(&*self.site, peer),
                "headers": {"authorization": format!("Bearer {SECRET}")},
                "a2a": {"client": client},
            });
            Arc::new(Comm::new(&build_context("/".as_ref(), &[]), &row).unwrap())
        };
        comms.entry(peer.clone()).or_insert_with(make).clone()
    }
}

#[async_trait]
impl AgentCommContract for Served {
    fn capability(&self) -> Capability {
        self.to(&"peer".into()).capability()
    }

    async fn send(&self, cx: &CallContext, to: &Peer, message: Outbound) -> Result<Reply> {
        self.to(&to.id).send(cx, to, message).await
    }

    async fn attach(&self, cx: &CallContext, task: &TaskRef) -> Result<Reply> {
        self.to(&task.peer).attach(cx, task).await
    }

    async fn cancel(&self, cx: &CallContext, task: &TaskRef, stop: Stop) -> Result<()> {
        self.to(&task.peer).cancel(cx, task, stop).await
    }

    async fn probe(&self, cx: &CallContext, to: &Peer) -> Result<Probe> {
        self.to(&to.id).probe(cx, to).await
    }

    async fn close(&self) -> Result<()> {
        let comms: Vec<_> = self.comms.lock().unwrap().values().cloned().collect();
        for comm in comms {
            comm.close().await?;
        }
        Ok(())
    }
}

#[async_trait]
impl CommHarness for Over {
    fn paused(&self) -> bool {
        false
    }

    fn secret(&self) -> Option<&'static str> {
        Some(SECRET)
    }

    async fn connect(&self, host: Arc<ScriptedHost>) -> Arc<dyn AgentCommContract> {
        let site = serve(&host).await;
        Arc::new(Served { site, over: *self, comms: Mutex::default() })
    }
}

mod json_rpc {
    mas_testkit::comm_conformance!(super::Over::Binding("jsonrpc"));
}

mod http_json {
    mas_testkit::comm_conformance!(super::Over::Binding("http+json"));
}

mod grpc {
    mas_testkit::comm_conformance!(super::Over::Binding("grpc"));
}

mod json_rpc_v03 {
    mas_testkit::comm_conformance!(super::Over::Protocol("0.3"));
}
