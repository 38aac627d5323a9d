//! A module tree and the process that runs its tools.

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use mas_contracts::{
    BuildContext, CallContext, Cancel, CancelReason, Clock, Delivery, Env, Error, ErrorKind, Result,
};
use serde_json::{Value, json};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{
    interpreter,
    link::{Answer, LONGEST_LINE, Link, UnderWay},
    process::Process,
};
use crate::{
    child::within,
    declared::closed,
    secrets::{Secrets, is_sensitive},
};

const HOST: &str = include_str!("host/host.py");
/// The modules of the host, by the names that they have there, in the order in which they need each other.
const MODULES: [(&str, &str); 2] =
    [("_mas_stand_in", include_str!("host/stand_in.py")), ("_mas_tools", include_str!("host/tools.py"))];

/// The code of the error for a call to a closed tool.
const CLOSED: &str = "mas::python::closed";

/// How long Python may take to start, and a module with all that it imports to load.
const START: Duration = Duration::from_secs(30);
const CALLS_AT_ONCE: usize = 16;

/// The tools below one folder; a team has one of each folder.
pub(super) struct ModuleTree {
    root: PathBuf,
    python: PathBuf,
    env: Env,
    secrets: Arc<Secrets>,
    clock: Arc<dyn Clock>,
    numbers: AtomicU64,
    slots: Arc<Semaphore>,
    /// The process, once there is one.
    link: Mutex<Option<Arc<Link>>>,
    starting: tokio::sync::Mutex<()>,
    closed: Cancel,
}

/// The folder that a file belongs to: the topmost with `__init__.py` above it, else the one it is in.
pub(super) fn root_of(file: &Path) -> PathBuf {
    let folder = file.parent().unwrap_or(file);
    let is_package = |folder: &&Path| folder.join("__init__.py").is_file();
    folder.ancestors().take_while(is_package).last().unwrap_or(folder).to_owned()
}

impl ModuleTree {
    pub(super) fn new(cx: &BuildContext, root: PathBuf) -> Result<Self> {
        let sensitive = cx.env.iter().filter(|(name, _)| is_sensitive(name));
        Ok(Self {
            root,
            python: interpreter::find(&cx.env)?,
            secrets: Arc::new(Secrets::new(sensitive.map(|(_, value)| value.to_owned()))),
            env: cx.env.clone(),
            clock: cx.clock.clone(),
            numbers: AtomicU64::new(0),
            slots: Arc::new(Semaphore::new(CALLS_AT_ONCE)),
            link: Mutex::new(None),
            starting: tokio::sync::Mutex::new(()),
            closed: Cancel::default(),
        })
    }

    /// Numbers the next declaration: each has an instance of its class to itself.
    pub(super) fn next_number(&self) -> u64 {
        self.numbers.fetch_add(1, Relaxed)
    }

    /// The text without the secrets of the environment.
    pub(super) fn hide(&self, text: String) -> String {
        self.secrets.hide(text)
    }

    /// Asks for the tools of a declaration, which loads its module.
    ///
    /// # Errors
    /// There is no process, or none in time.
    pub(super) async fn list(&self, request: Value) -> Result<Answer> {
        let listed = async {
            let mut under_way = self.ask(request).await?;
            under_way.answer().await
        };
        within(&*self.clock, START, listed).await.unwrap_or_else(|| Err(slow()))
    }

    /// Runs a call.
    ///
    /// # Errors
    /// It was stopped or interrupted, or there is no process.
    pub(super) async fn call(&self, cx: &CallContext, request: Value) -> Result<Answer> {
        let mut under_way = tokio::select! {
            biased;
            reason = cx.cancel().cancelled() => {
                return Err(CallContext::stopped(reason).with_delivery(Delivery::NotSent));
            }
            under_way = self.ask(request) => under_way?,
        };
        let reason = tokio::select! {
            answer = under_way.answer() => return answer,
            reason = cx.cancel().cancelled() => reason,
        };
        match under_way.stop().await {
            Some(Ok(answer @ (Answer::Value(_) | Answer::Failed(_)))) => Ok(answer),
            _ => Err(CallContext::stopped(reason)),
        }
    }

    async fn ask(&self, request: Value) -> Result<UnderWay> {
        let permit = self.slot().await?;
        let link = self.link().await?;
        link.ask(request, permit).await
    }

    async fn slot(&self) -> Result<OwnedSemaphorePermit> {
        let no_slot = |_| Error::internal("the calls of Python tools cannot be counted");
        self.slots.clone().acquire_owned().await.map_err(no_slot)
    }

    fn current(&self) -> Option<Arc<Link>> {
        self.link.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The process; started if there is none.
    async fn link(&self) -> Result<Arc<Link>> {
        let _one_at_a_time = self.starting.lock().await;
        if self.closed.reason().is_some() {
            return Err(closed(CLOSED));
        }
        if let Some(link) = self.current().filter(|link| link.over().is_none()) {
            return Ok(link);
        }
        let link = tokio::select! {
            started = within(&*self.clock, START, self.start()) => started.unwrap_or_else(|| Err(slow()))?,
            _ = self.closed.cancelled() => return Err(closed(CLOSED)),
        };
        *self.link.lock().unwrap_or_else(PoisonError::into_inner) = Some(link.clone());
        if self.closed.reason().is_some() {
            link.end("the tool is closed").await;
            return Err(closed(CLOSED));
        }
        Ok(link)
    }

    async fn start(&self) -> Result<Arc<Link>> {
        let mut command = Command::new(&self.python);
        command.args(["-c", HOST]).env_clear().envs(self.env.iter());
        let (process, ends) = Process::start(command).await?;
        let link = Arc::new(Link::open(process, ends, self.clock.clone(), self.secrets.clone())?);
        let modules: Vec<Value> =
            MODULES.iter().map(|(name, source)| json!({"name": name, "source": source})).collect();
        let start = json!({"root": self.root, "limit": LONGEST_LINE, "modules": modules});
        link.start(start).await.map_err(|error| {
            let message = format!(
                "{} cannot run the tools: {}\nMAS_PYTHON names another interpreter, 3.9 or newer",
                self.python.display(),
                link.over().unwrap_or_else(|| error.to_string()),
            );
            Error::new(ErrorKind::Unavailable, message).with_code("mas::python::start")
        })?;
        Ok(link)
    }

    /// Ends the process, and keeps it from being started again.
    pub(super) async fn close(&self) {
        self.closed.cancel(CancelReason::Shutdown);
        let link = self.link.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(link) = link {
            link.end("the tool is closed").await;
        }
    }
}

fn slow() -> Error {
    let message = format!(
        "Python did not start and load the tool within {} s: see what its modules do while they are imported",
        START.as_secs()
    );
    Error::new(ErrorKind::Timeout, message).with_code("mas::python::slow")
}
