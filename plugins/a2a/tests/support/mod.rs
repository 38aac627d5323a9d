//! The backend and the exposure as a program selects them.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "functions that tests share")]

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use mas_contracts::{
    AgentCommContract, AgentHost, AgentProfile, BuildContext, Builder, Category, Descriptor, Exposure,
    HostedEndpoint, Result, Serving, Speaker, Task, TaskMessage, TaskPage, TaskQuery, TaskScope, TaskStore,
    inventory,
};
use mas_testkit::ScriptedHost;
use serde_json::{Map, Value, json};

fn descriptor(category: Category) -> &'static Descriptor {
    let mut all = inventory::iter::<Descriptor>.into_iter();
    all.find(|one| one.name == "a2a" && one.builder.category() == category).unwrap()
}

/// The backend of an endpoint.
pub(crate) fn comm(cx: &BuildContext, params: &Value) -> Result<Arc<dyn AgentCommContract>> {
    match &descriptor(Category::AgentComm).builder {
        Builder::AgentComm(build) => build.build(cx, params),
        _ => unreachable!("it is of that category"),
    }
}

/// Serves the agent `peer`, whose endpoint says this under `a2a`.
pub(crate) async fn serve(
    cx: &BuildContext,
    host: &Arc<ScriptedHost>,
    a2a: &Value,
) -> (Box<dyn Exposure>, HostedEndpoint) {
    let Builder::AgentExpose(build) = &descriptor(Category::AgentExpose).builder else {
        unreachable!("it is of that category")
    };
    let exposure = build.build(cx, &json!({})).unwrap();
    let endpoint = HostedEndpoint {
        agent: "peer".into(),
        entry: true,
        profile: AgentProfile { id: "peer".into(), name: "peer".into(), ..AgentProfile::default() },
        params: json!({"usage": "deploy", "a2a": a2a}),
        base: "/".into(),
    };
    let host: Arc<dyn AgentHost> = host.clone();
    let serving = Serving { build: cx.clone(), host, tasks: Arc::new(Tasks::default()), foreground: true };
    let site = exposure.bind(serving, std::slice::from_ref(&endpoint)).await.unwrap();
    (site, endpoint)
}

/// A message with this id.
pub(crate) fn message(id: &str) -> TaskMessage {
    TaskMessage {
        id: id.into(),
        from: Speaker::User,
        context: None,
        task: None,
        parts: vec![mas_contracts::Part::text("hello")],
        metadata: Map::new(),
        extensions: Vec::new(),
        references: Vec::new(),
    }
}

/// Keeps tasks.
#[derive(Default)]
struct Tasks(Mutex<BTreeMap<Arc<str>, Arc<Task>>>);

#[async_trait]
impl TaskStore for Tasks {
    async fn put(&self, task: Arc<Task>) -> Result<()> {
        self.0.lock().unwrap().insert(task.id.clone(), task);
        Ok(())
    }

    async fn get(&self, scope: &TaskScope, id: &str) -> Result<Option<Arc<Task>>> {
        let known = self.0.lock().unwrap().get(id).cloned();
        Ok(known.filter(|task| task.scope() == *scope))
    }

    async fn list(&self, _: &TaskScope, _: &TaskQuery) -> Result<TaskPage> {
        Ok(TaskPage::default())
    }
}
