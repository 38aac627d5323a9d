//! `process`: a comm backend that is a program of its own, in any language.
//!
//! ```text
//!   send ── Link ── lines ──▶ stdin   the program
//!            └───── lines ◀── stdout
//!            the log ◀─────── stderr
//! ```
//!
//! The program is started with the first send and serves all of them, side by side. One that ends is started again with
//! the next send, after a pause that grows from 0.2 s to 30 s while it keeps ending; its calls fail, and of those it is
//! not known what was done. It is told to end by the end of its stdin, when the backend closes and when this process is
//! gone, however it went. The [messages](message) are JSON texts, one a line.

mod link;
pub mod message;
#[cfg(test)]
mod tests;

use std::{
    borrow::Cow,
    path::PathBuf,
    process::Stdio,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use async_trait::async_trait;
use mas_contracts::{
    AgentCommContract, Build, BuildContext, Builder, CallContext, CancelReason, Capability, Clock, Delivery,
    Descriptor, Env, Error, ErrorKind, Outbound, Peer, Probe, Problem, Reply, Result, Retry, check_params,
    inventory, parse_params, schema_of,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, BufReader},
    process::{Child, Command},
    sync::Mutex,
    task::JoinHandle,
};

use crate::{
    link::{Link, unusable},
    message::{Ask, FromProcess},
};

/// The name by which manifests select it.
pub const NAME: &str = "process";

/// How long it may take until it says hello.
const HELLO: Duration = Duration::from_secs(10);
/// How long it may take to end by itself.
const GRACE: Duration = Duration::from_secs(2);
/// Pauses between starts.
const PAUSES: [Duration; 2] = [Duration::from_millis(200), Duration::from_secs(30)];
/// One that ran this long is not one that keeps ending.
const STEADY: Duration = Duration::from_secs(60);
/// Longest piece of a line of stderr that is logged.
const LOGGED: u64 = 4096;

/// The parameters.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProcessParams {
    /// The program and its arguments; paths are relative to the file that says so.
    command: Vec<String>,
    /// Variables of the environment that it sees, beside PATH, HOME and LANG.
    #[serde(default)]
    env: Vec<String>,
    /// What the program is told in its first line; anything.
    #[serde(default)]
    params: Value,
}

/// A backend that is a program of its own.
pub struct Process {
    params: ProcessParams,
    base: PathBuf,
    env: Env,
    clock: Arc<dyn Clock>,
    running: Mutex<Running>,
    closed: AtomicBool,
}

#[derive(Default)]
struct Running {
    link: Option<Arc<Link>>,
    /// Ends when the program has ended.
    attended: Option<JoinHandle<()>>,
    began: Option<Instant>,
    /// Starts in a row that did not last.
    failures: u32,
}

impl Process {
    /// The backend of a program, which is not started yet.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] where there is no program.
    pub fn new(cx: &BuildContext, params: ProcessParams) -> Result<Self> {
        if let Some(problem) = refused(&params).pop() {
            return Err(Error::invalid(format!("`{}`: {}", problem.path, problem.message)));
        }
        Ok(Self {
            params,
            base: cx.base.clone(),
            env: cx.env.clone(),
            clock: cx.clock.clone(),
            running: Mutex::default(),
            closed: AtomicBool::new(false),
        })
    }

    fn check_open(&self) -> Result<()> {
        if self.closed.load(Ordering::Acquire) {
            let closed = Error::new(ErrorKind::Unavailable, "the backend is closed");
            return Err(closed.with_code("mas::process::closed").with_retry(Retry::Never));
        }
        Ok(())
    }

    /// The program that runs, started if need be.
    async fn link(&self) -> Result<Arc<Link>> {
        let mut running = self.running.lock().await;
        self.check_open()?;
        if let Some(link) = running.link.as_ref().filter(|link| link.is_alive()) {
            return Ok(link.clone());
        }
        if let Some(began) = running.began {
            let now = self.clock.now();
            let lasted = running.link.take().is_some() && now.saturating_duration_since(began) >= STEADY;
            running.failures = if lasted { 0 } else { running.failures.saturating_add(1) };
            let [first, longest] = PAUSES;
            let pause = first.saturating_mul(1 << running.failures.saturating_sub(1).min(16)).min(longest);
            if !lasted && let Some(at) = began.checked_add(pause) {
                self.clock.sleep_until(at).await;
            }
        }
        running.began = Some(self.clock.now());
        self.check_open()?;
        let (link, attended) = self.start().await?;
        running.attended = Some(attended);
        running.link = Some(link.clone());
        // Whoever closes does not wait for a start.
        if let Err(closed) = self.check_open() {
            link.end("the backend is closed");
            return Err(closed);
        }
        Ok(link)
    }

    async fn start(&self) -> Result<(Arc<Link>, JoinHandle<()>)> {
        let (program, arguments) =
            self.params.command.split_first().ok_or_else(|| unusable("there is no program".to_owned()))?;
        let wanted = |name: &str| {
            matches!(name, "PATH" | "HOME" | "LANG") || self.params.env.iter().any(|known| known == name)
        };
        // A bare name is looked for in PATH, and anything else from the file that says it.
        let path = if program.contains('/') { self.base.join(program) } else { PathBuf::from(program) };
        let mut command = Command::new(path);
        command
            .args(arguments)
            .env_clear()
            .envs(self.env.iter().filter(|(name, _)| wanted(name)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        if !self.base.as_os_str().is_empty() {
            command.current_dir(&self.base);
        }
        // Ctrl-C on a terminal is for this process, which then says what is to end.
        #[cfg(unix)]
        command.process_group(0);
        let mut child =
            command.spawn().map_err(|error| unusable(format!("`{program}` cannot be started: {error}")))?;
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(unusable("it has no pipes".to_owned()));
        };
        tokio::spawn(log(program.clone(), BufReader::new(stderr)));
        let limit = self.clock.now().checked_add(HELLO).unwrap_or_else(|| self.clock.now());
        let (link, carried) = tokio::select! {
            opened = Link::open(BufReader::new(stdout), stdin, &self.params.params) => opened?,
            () = self.clock.sleep_until(limit) => {
                return Err(unusable(format!("it says no `hello` within {} s", HELLO.as_secs())));
            }
        };
        let attended = tokio::spawn(attend(child, carried, link.ending(), self.clock.clone()));
        Ok((link, attended))
    }

    async fn call(&self, cx: &CallContext, ask: Ask<'_>) -> Result<FromProcess> {
        let link = tokio::select! {
            biased;
            reason = cx.cancel().cancelled() => {
                return Err(CallContext::stopped(reason).with_delivery(Delivery::NotSent));
            }
            link = self.link() => link?,
            () = cx.clock().sleep_until(cx.deadline()) => {
                return Err(CallContext::stopped(CancelReason::Deadline).with_delivery(Delivery::NotSent));
            }
        };
        link.call(cx, ask).await
    }
}

/// Waits with a program until its lines end, then until it ends too.
async fn attend(
    mut child: Child,
    carried: impl Future<Output = ()>,
    ending: impl Future<Output = ()>,
    clock: Arc<dyn Clock>,
) {
    let late = async {
        ending.await;
        clock.sleep_until(clock.now().checked_add(GRACE).unwrap_or_else(|| clock.now())).await;
    };
    // Both of its pipes are closed after this, whether it read what it was told or not.
    tokio::select! {
        () = carried => {}
        () = late => {}
    }
    let limit = clock.now().checked_add(GRACE).unwrap_or_else(|| clock.now());
    tokio::select! {
        _ = child.wait() => {}
        () = clock.sleep_until(limit) => {
            tracing::warn!("The process of a backend did not end by itself.");
            let _ = child.kill().await;
        }
    }
}

/// Sends what a program says on stderr to the log, a line at a time.
async fn log(program: String, mut stderr: impl tokio::io::AsyncBufRead + Unpin) {
    let mut line = Vec::new();
    while let Ok(1..) = (&mut stderr).take(LOGGED).read_until(b'\n', &mut line).await {
        let text = String::from_utf8_lossy(&line);
        tracing::info!(process = %program, "{}", text.trim_end());
        line.clear();
    }
}

#[async_trait]
impl AgentCommContract for Process {
    fn capability(&self) -> Capability {
        Capability { stream: true, ..Capability::default() }
    }

    async fn send(&self, cx: &CallContext, to: &Peer, message: Outbound) -> Result<Reply> {
        let thread = message.thread.key(&to.id);
        let ask = Ask::Send {
            to: &to.id,
            message_id: &message.message_id,
            thread: &thread,
            task: message.task.as_deref(),
            parts: &message.parts,
        };
        match self.call(cx, ask).await? {
            FromProcess::End { reply: Some(reply), .. } => Ok(*reply),
            _ => Err(Error::internal("the process of the backend ended a message without a reply")
                .with_delivery(Delivery::Unknown)),
        }
    }

    async fn probe(&self, cx: &CallContext, to: &Peer) -> Result<Probe> {
        match self.call(cx, Ask::Probe { to: &to.id }).await? {
            FromProcess::End { probe: Some(probe), .. } => {
                Ok(Probe { name: probe.name, version: probe.version, stream: true, route: Vec::new() })
            }
            _ => {
                Err(Error::internal("the process of the backend ended a probe without saying what is there"))
            }
        }
    }

    async fn close(&self) -> Result<()> {
        self.closed.store(true, Ordering::Release);
        // One that starts just now looks at `closed` once it has.
        let Ok(mut running) = self.running.try_lock() else { return Ok(()) };
        if let Some(link) = running.link.take() {
            link.end("the backend is closed");
        }
        if let Some(attended) = running.attended.take() {
            let _ = attended.await;
        }
        Ok(())
    }
}

fn refused(params: &ProcessParams) -> Vec<Problem> {
    match params.command.first() {
        Some(program) if !program.trim().is_empty() => Vec::new(),
        _ => vec![Problem::new("a program is expected, and its arguments").at("command")],
    }
}

fn check(params: &Value) -> Vec<Problem> {
    match parse_params::<ProcessParams>(params) {
        Ok(read) => refused(&read),
        Err(_) => check_params::<ProcessParams>(params),
    }
}

fn build(cx: &BuildContext, params: &Value) -> Result<Arc<dyn AgentCommContract>> {
    Ok(Arc::new(Process::new(cx, parse_params(params)?)?))
}

/// How the backend is found, documented and built.
#[must_use]
pub const fn descriptor() -> Descriptor {
    Descriptor {
        name: Cow::Borrowed(NAME),
        aliases: Cow::Borrowed(&[]),
        origin: Cow::Borrowed(env!("CARGO_PKG_NAME")),
        version: Cow::Borrowed(env!("CARGO_PKG_VERSION")),
        summary: Cow::Borrowed(
            "Delegates over a program of one's own, in any language: JSON lines over its stdin and stdout.",
        ),
        example: Cow::Borrowed("fares: {protocol: process, usage: use, command: [python3, backend.py]}"),
        schema: schema_of::<ProcessParams>,
        check,
        builder: Builder::AgentComm(Build::Linked(build)),
    }
}

inventory::submit! { descriptor() }
