//! Python tools for tests, and what watches their processes.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::indexing_slicing,
    reason = "helpers of tests; the exemption in clippy.toml reaches test functions only"
)]

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
    time::{Duration, Instant},
};

use mas_contracts::{
    Arguments, BoxFuture, BuildContext, Builder, CallContext, Clock, Descriptor, Message, Result, Shared,
    ToolCall, ToolContract, ToolOutput, inventory,
};
use mas_testkit::{TokioClock, build_context, call_context};
use mas_tools as _;
use nix::{errno::Errno, sys::signal::kill, unistd::Pid};
use serde_json::{Value, json}; // links the registrations
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, BufReader},
    net::unix::pipe,
    task::JoinHandle,
    time::timeout,
};

/// Far more than anything here takes, on a busy machine too.
const LONG: Duration = Duration::from_secs(30);

/// What a cancel may take: 200 ms, and what a busy machine adds.
pub(crate) const PROMPT: Duration = Duration::from_millis(600);

pub(crate) fn descriptor() -> &'static Descriptor {
    inventory::iter::<Descriptor>().find(|descriptor| descriptor.name == "python").unwrap()
}

/// The tools of one team, from the folder `tests/python`.
pub(crate) struct Bench {
    folder: TempDir,
    shared: Shared,
    clock: Arc<dyn Clock>,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), shared: Shared::default(), clock: TokioClock::shared() }
    }

    /// Here no limit of the provider ever passes, however busy the machine is.
    pub(crate) fn without_limits() -> Self {
        Self { clock: Arc::new(Standing(Instant::now())), ..Self::new() }
    }

    pub(crate) fn tool(&self, params: &Value) -> Arc<dyn ToolContract> {
        self.try_tool(params, &[]).unwrap()
    }

    /// A tool, with these variables beside those that find Python.
    pub(crate) fn try_tool(&self, params: &Value, env: &[(&str, &str)]) -> Result<Arc<dyn ToolContract>> {
        let kept: Vec<(&str, String)> = ["PATH", "HOME", "MAS_PYTHON", "VIRTUAL_ENV"]
            .into_iter()
            .filter(|name| *name == "PATH" || !env.iter().any(|(given, _)| *given == "PATH"))
            .filter_map(|name| Some((name, std::env::var(name).ok()?)))
            .collect();
        let mut all: Vec<(&str, &str)> = kept.iter().map(|(name, value)| (*name, value.as_str())).collect();
        all.push(("PYTHONDONTWRITEBYTECODE", "1"));
        all.extend(env);
        let base = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python");
        let (shared, clock) = (self.shared.clone(), self.clock.clone());
        let cx = BuildContext { shared, clock, ..build_context(&base, &all) };
        match &descriptor().builder {
            Builder::Tool(build) => build.build(&cx, params),
            other => panic!("{}", other.category()),
        }
    }

    /// A program to be taken for Python.
    pub(crate) fn program(&self, name: &str, text: &str) -> String {
        let path = self.folder.path().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

/// A clock that stands still.
#[derive(Debug)]
struct Standing(Instant);

impl Clock for Standing {
    fn now(&self) -> Instant {
        self.0
    }

    fn unix_time(&self) -> Duration {
        Duration::ZERO
    }

    fn sleep_until(&self, at: Instant) -> BoxFuture<'static, ()> {
        if at > self.0 { Box::pin(std::future::pending()) } else { Box::pin(std::future::ready(())) }
    }
}

pub(crate) struct Call(ToolCall);

impl Call {
    pub(crate) fn new(name: &str, arguments: Value) -> Self {
        Self(ToolCall { id: "1".into(), name: name.into(), arguments: Arguments::from_value(arguments) })
    }
}

pub(crate) async fn try_call(source: &dyn ToolContract, cx: &CallContext, call: Call) -> Result<ToolOutput> {
    timeout(LONG, source.call(cx, &call.0)).await.expect("a call ends")
}

pub(crate) fn text(output: &ToolOutput) -> String {
    Message::Tool { call: "".into(), name: "".into(), output: output.clone() }.text().to_string()
}

/// What a call comes to; an error if the tool says that it is one.
pub(crate) async fn result(
    source: &dyn ToolContract,
    name: &str,
    arguments: Value,
) -> std::result::Result<String, String> {
    let output = try_call(source, &call_context(), Call::new(name, arguments)).await.unwrap();
    if output.is_error { Err(text(&output)) } else { Ok(text(&output)) }
}

/// A call under way, and what stops it.
pub(crate) struct Running {
    pub(crate) cx: CallContext,
    task: JoinHandle<Result<ToolOutput>>,
}

impl Running {
    pub(crate) async fn ended(self) -> (Result<ToolOutput>, Instant) {
        (timeout(LONG, self.task).await.expect("a call ends").unwrap(), Instant::now())
    }

    pub(crate) async fn drop_it(self) {
        self.task.abort();
        assert!(self.task.await.unwrap_err().is_cancelled());
    }
}

/// Begins a call that says over `life` when it is under way.
pub(crate) fn begin(source: &Arc<dyn ToolContract>, name: &str, life: &Life) -> Running {
    let cx = call_context();
    let call = Call::new(name, json!({"file": life.path()}));
    let (inner, source) = (cx.clone(), source.clone());
    let task = tokio::spawn(async move {
        source.list().await?;
        source.call(&inner, &call.0).await
    });
    Running { cx, task }
}

/// A pipe that every process of a call has open: what they write can be read, and its end is theirs.
pub(crate) struct Life {
    folder: TempDir,
    lines: BufReader<pipe::Receiver>,
}

impl Life {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let fifo = folder.path().join("life");
        assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        let lines = BufReader::new(pipe::OpenOptions::new().open_receiver(&fifo).unwrap());
        Self { folder, lines }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("life")
    }

    /// Waits until the call is under way; gives its process.
    pub(crate) async fn began(&mut self) -> Pid {
        let mut line = String::new();
        // A pipe that nobody has opened yet reads as ended.
        while line.is_empty() {
            timeout(LONG, self.lines.read_line(&mut line)).await.unwrap().unwrap();
            tokio::task::yield_now().await;
        }
        Pid::from_raw(line.trim().parse().unwrap())
    }

    /// Waits until no process is left that has it open.
    pub(crate) async fn over(&mut self) {
        let mut rest = Vec::new();
        timeout(LONG, self.lines.read_to_end(&mut rest)).await.expect("a process is left").unwrap();
    }
}

/// Waits until a child of this process is reaped.
pub(crate) async fn is_gone(pid: Pid) {
    let reaped = async {
        while kill(pid, None) != Err(Errno::ESRCH) {
            tokio::task::yield_now().await;
        }
    };
    timeout(PROMPT, reaped).await.expect("the process is gone");
}

/// Whether Python has this package; required where `MAS_REQUIRE` names it.
pub(crate) fn has(package: &str) -> bool {
    let module = if package == "pyyaml" { "yaml" } else { package };
    let python = std::env::var("MAS_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let found =
        Command::new(python).args(["-c", &format!("import {module}")]).output().unwrap().status.success();
    let required = std::env::var("MAS_REQUIRE").unwrap_or_default();
    assert!(
        found || !required.split(',').any(|name| name == package),
        "MAS_REQUIRE names {package}: install it"
    );
    if !found {
        eprintln!("skipped: Python has no {package}");
    }
    found
}
