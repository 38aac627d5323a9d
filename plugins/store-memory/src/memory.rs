//! The store `memory`.

use std::{borrow::Cow, sync::Arc, time::Duration};

use async_trait::async_trait;
use mas_contracts::{
    Build, BuildContext, Builder, Descriptor, Error, Problem, Record, Result, SessionKey, StoreContract,
    TaskStore, check_params, inventory, parse_params, schema_of,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::{
    sessions::Sessions,
    tasks::{Bounds, Tasks},
};

/// Parameters of `memory`.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Params {
    /// Ended tasks that are kept; the oldest go first. Default 10,000.
    #[schemars(range(min = 1))]
    tasks: usize,
    /// How long an ended task is kept, in seconds. Default 86,400, a day.
    #[schemars(range(min = 1))]
    task_age_s: u64,
    /// Bytes of ended tasks that are kept, about; the oldest go first. Default 268,435,456.
    #[schemars(range(min = 1))]
    task_bytes: usize,
    /// Tasks that have not ended; more are refused. Default 10,000.
    #[schemars(range(min = 1))]
    open_tasks: usize,
    /// Sessions whose log is kept; the one written to longest ago goes first. Default 10,000.
    #[schemars(range(min = 1))]
    sessions: usize,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            tasks: 10_000,
            task_age_s: 24 * 60 * 60,
            task_bytes: 256 * 1024 * 1024,
            open_tasks: 10_000,
            sessions: 10_000,
        }
    }
}

impl Params {
    /// What the types alone cannot say.
    fn problems(&self) -> Vec<Problem> {
        let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
        let given = [
            ("tasks", count(self.tasks)),
            ("task_age_s", self.task_age_s),
            ("task_bytes", count(self.task_bytes)),
            ("open_tasks", count(self.open_tasks)),
            ("sessions", count(self.sessions)),
        ];
        let zero = given.into_iter().filter(|(_, number)| *number == 0);
        zero.map(|(name, _)| Problem::new("must be at least 1").at(name)).collect()
    }
}

inventory::submit! {
    Descriptor {
        name: Cow::Borrowed("memory"),
        aliases: Cow::Borrowed(&[]),
        origin: Cow::Borrowed(env!("CARGO_PKG_NAME")),
        version: Cow::Borrowed(env!("CARGO_PKG_VERSION")),
        summary: Cow::Borrowed("Keeps tasks and sessions in memory, bounded, until the process ends."),
        example: Cow::Borrowed("store: {type: memory, params: {tasks: 10000, task_age_s: 86400}}\n"),
        schema: schema_of::<Params>,
        check,
        builder: Builder::Store(Build::Linked(|cx, params| Ok(Arc::new(MemoryStore::open(cx, params)?)))),
    }
}

fn check(params: &Value) -> Vec<Problem> {
    let problems = check_params::<Params>(params);
    if !problems.is_empty() {
        return problems;
    }
    parse_params::<Params>(params).map(|params| params.problems()).unwrap_or_default()
}

/// The store `memory`.
#[derive(Debug)]
pub struct MemoryStore {
    tasks: Arc<Tasks>,
    sessions: Sessions,
}

impl MemoryStore {
    /// An empty store with these parameters; `null` for the defaults.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](mas_contracts::ErrorKind::Invalid) with the path of a parameter that is wrong.
    pub fn open(cx: &BuildContext, params: &Value) -> Result<Self> {
        let params: Params = parse_params(params)?;
        if let Some(problem) = params.problems().first() {
            return Err(Error::invalid(format!("`{}`: {}", problem.path, problem.message))
                .with_code("mas::params::invalid"));
        }
        let bounds = Bounds {
            ended: params.tasks,
            age: Duration::from_secs(params.task_age_s),
            bytes: params.task_bytes,
            open: params.open_tasks,
        };
        Ok(Self {
            tasks: Arc::new(Tasks::new(bounds, cx.clock.clone())),
            sessions: Sessions::new(params.sessions),
        })
    }
}

#[async_trait]
impl StoreContract for MemoryStore {
    async fn append(&self, session: &SessionKey, records: &[Record]) -> Result<()> {
        self.sessions.append(session, records);
        Ok(())
    }

    async fn load(&self, session: &SessionKey) -> Result<Vec<Record>> {
        Ok(self.sessions.load(session))
    }

    async fn forget(&self, session: &SessionKey) -> Result<()> {
        self.sessions.forget(session);
        Ok(())
    }

    fn tasks(&self) -> Option<Arc<dyn TaskStore>> {
        Some(self.tasks.clone())
    }
}
