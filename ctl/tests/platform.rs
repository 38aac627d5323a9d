//! The backend `platform` keeps the rules of `agent_comm`. The platform is the stand-in; the runtime that it hands out
//! is our own exposure of scripted agents, behind a token.

#![allow(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::{collections::HashMap, path::Path, sync::Arc};

use async_trait::async_trait;
use mas_a2a as _;
use mas_contracts::{
    AgentCommContract, Builder, CallContext, Capability, Category, Descriptor, Exposure, Outbound, Peer,
    Probe, Reply, Result, Serving, Stop, StoreContract, TaskRef, inventory,
};
use mas_platform as _;
use mas_platform_stand_in::{Access, Script, Server, StandIn, World};
use mas_store_memory as _;
use mas_testkit::{ScriptedHost, TokioClock, build_context, comm::CommHarness};
use serde_json::{Map, Value, json};
use tokio::sync::Mutex;

/// What the platform and the runtime are shown.
const SECRET: &str = "sk-conformance";

fn builder(category: Category, name: &str) -> &'static Builder {
    let mut all = inventory::iter::<Descriptor>.into_iter();
    let named = all.find(|it| it.builder.category() == category && it.name == name);
    &named.expect("it is built in").builder
}

/// The agents of a host, each below a path of one socket, with both kinds of response.
async fn serve(host: Arc<ScriptedHost>) -> Box<dyn Exposure> {
    let build = build_context(Path::new("/"), &[("SECRET", SECRET)]);
    let store: Arc<dyn StoreContract> = match builder(Category::Store, "memory") {
        Builder::Store(store) => store.build(&build, &json!({})).expect("a store"),
        _ => panic!("no store"),
    };
    let a2a = json!({
        "listen": {"port": 0}, "response_kinds": ["message", "task"], "message_limit": 90,
        "security": {"platform": {"bearer": {"tokens": {"caller": SECRET}}}},
    });
    let endpoints = host.endpoints(&a2a, Path::new("/"));
    let tasks = store.tasks().expect("tasks");
    let serving = Serving { build, host, tasks, foreground: true };
    match builder(Category::AgentExpose, "a2a") {
        Builder::AgentExpose(build) => {
            let expose = build.build(&serving.build, &json!({})).expect("an exposure");
            expose.bind(serving, &endpoints).await.expect("it is served")
        }
        _ => panic!("no exposure"),
    }
}

/// A platform with one session, and the backend for it.
struct Desk {
    comm: Arc<dyn AgentCommContract>,
    server: Server,
}

impl Desk {
    /// The session of an agent at this address; of nobody if there is none.
    async fn new(kind: &str, runtime: Option<String>) -> Self {
        let server = Server::start(SECRET, 0, TokioClock::shared()).await.expect("a platform");
        match runtime {
            Some(runtime) => {
                let patch = [("rpc_url", json!(runtime)), ("token", json!(SECRET))];
                let patch: Map<String, Value> =
                    patch.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
                let access = Access::Ready { expires_in: Some(600), patch };
                server.stand_in().script(Script::new([access]), Script::default());
            }
            None => server.stand_in().load(World { sessions: Some(Vec::new()), ..World::default() }),
        }
        let row = json!({
            "url": server.platform_url(), "token_env": "SECRET", "agent_session_uid": StandIn::SESSION,
            "response_kind": kind, "task_poll_interval": 0.02,
        });
        let context = build_context(Path::new("/"), &[("SECRET", SECRET)]);
        let comm = match builder(Category::AgentComm, "platform") {
            Builder::AgentComm(build) => build.build(&context, &row).expect("a backend"),
            _ => panic!("no backend"),
        };
        Self { comm, server }
    }
}

/// Agents that are sessions, each of a platform of its own.
struct Sessions {
    kind: &'static str,
    site: Box<dyn Exposure>,
    desks: Mutex<HashMap<Arc<str>, Arc<Desk>>>,
    capability: Capability,
}

impl Sessions {
    async fn to(&self, peer: &Arc<str>) -> Arc<dyn AgentCommContract> {
        let mut desks = self.desks.lock().await;
        if let Some(desk) = desks.get(peer) {
            return desk.comm.clone();
        }
        let served = self.site.served().into_iter().find(|served| served.agent == *peer);
        let runtime = served.map(|served| format!("http://{}/agents/{peer}/", served.socket));
        let desk = Arc::new(Desk::new(self.kind, runtime).await);
        desks.insert(peer.clone(), desk.clone());
        desk.comm.clone()
    }
}

#[async_trait]
impl AgentCommContract for Sessions {
    fn capability(&self) -> Capability {
        self.capability
    }

    async fn send(&self, cx: &CallContext, to: &Peer, message: Outbound) -> Result<Reply> {
        self.to(&to.id).await.send(cx, to, message).await
    }

    async fn attach(&self, cx: &CallContext, task: &TaskRef) -> Result<Reply> {
        self.to(&task.peer).await.attach(cx, task).await
    }

    async fn cancel(&self, cx: &CallContext, task: &TaskRef, stop: Stop) -> Result<()> {
        self.to(&task.peer).await.cancel(cx, task, stop).await
    }

    async fn probe(&self, cx: &CallContext, to: &Peer) -> Result<Probe> {
        self.to(&to.id).await.probe(cx, to).await
    }

    async fn close(&self) -> Result<()> {
        for desk in self.desks.lock().await.values() {
            desk.comm.close().await?;
            assert_eq!(desk.server.stand_in().legacy(), Vec::<String>::new());
        }
        Ok(())
    }
}

/// Sessions that are asked for one kind of response.
struct Kind(&'static str);

#[async_trait]
impl CommHarness for Kind {
    fn paused(&self) -> bool {
        false
    }

    /// The conversation is the session, which the platform keeps.
    fn keeps_threads(&self) -> bool {
        false
    }

    /// A message is an answer; only a task has states.
    fn tells_ends(&self) -> bool {
        self.0 == "task"
    }

    fn secret(&self) -> Option<&'static str> {
        Some(SECRET)
    }

    async fn connect(&self, host: Arc<ScriptedHost>) -> Arc<dyn AgentCommContract> {
        let site = serve(host).await;
        let capability = Desk::new(self.0, None).await.comm.capability();
        Arc::new(Sessions { kind: self.0, site, desks: Mutex::default(), capability })
    }
}

mod messages {
    mas_testkit::comm_conformance!(super::Kind("message"));
}

mod tasks {
    mas_testkit::comm_conformance!(super::Kind("task"));
}
