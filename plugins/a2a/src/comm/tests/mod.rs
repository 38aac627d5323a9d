//! The backend against agents that are served here, and against servers that write the bytes that a test gives them.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests; the exemption in clippy.toml reaches test functions only"
)]

mod conformance;
mod faults;
mod identity;
mod rows;
mod wire;

use std::{path::Path, sync::Arc, time::Duration};

use mas_contracts::{
    AgentCommContract, CallContext, Exposure, Outbound, Part, Peer, Reply, Result, Serving, Thread,
    ThreadName,
};
use mas_testkit::{CallContextBuilder, RecordingSink, ScriptedHost, build_context};
use serde_json::{Value, json};

use super::Comm;
use crate::{service::tests::Kept, site::open};

/// The agents of a host, served on one socket; the first is the entry agent.
async fn serve(host: &Arc<ScriptedHost>) -> Arc<dyn Exposure> {
    serve_by(host, &json!({}), Path::new("/")).await
}

/// The same, with more under `a2a` and with the files of a folder.
async fn serve_by(host: &Arc<ScriptedHost>, more: &Value, base: &Path) -> Arc<dyn Exposure> {
    let mut a2a = json!({"listen": {"port": 0}, "grpc_port": 0});
    a2a.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let endpoints = host.endpoints(&a2a, base);
    let build = build_context(Path::new("/"), &[]);
    let serving = Serving { build, host: host.clone(), tasks: Arc::new(Kept::default()), foreground: true };
    Arc::new(open::open(&serving, &endpoints).await.unwrap())
}

/// Where one of the agents is.
fn url_of(site: &dyn Exposure, agent: &str) -> String {
    let socket = site.served().into_iter().find(|served| served.what == "http").unwrap().socket;
    format!("http://{socket}/agents/{agent}")
}

/// A backend for the agent at `url`, called by these parameters.
fn comm(url: &str, client: &Value) -> Comm {
    let row = json!({"url": url, "a2a": {"client": client}});
    Comm::new(&build_context(Path::new("/"), &[("MAS_IDENTITY_SECRET", "test-secret")]), &row).unwrap()
}

/// One message to the agent behind a backend, in a minute at most.
async fn say(comm: &dyn AgentCommContract, text: &str) -> Result<Reply> {
    say_in(&context(Duration::from_secs(60), &RecordingSink::new()), comm, text).await
}

async fn say_in(cx: &CallContext, comm: &dyn AgentCommContract, text: &str) -> Result<Reply> {
    let thread = Thread { parent: "parent".into(), name: ThreadName::Main };
    let message = Outbound { parts: vec![Part::text(text)], message_id: "m1".into(), thread, task: None };
    comm.send(cx, &Peer { id: "peer".into() }, message).await
}

fn context(timeout: Duration, sink: &Arc<RecordingSink>) -> CallContext {
    CallContextBuilder::new("root").sink(sink.clone()).timeout(timeout).build()
}
