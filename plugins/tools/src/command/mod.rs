//! `command`: a program of any language, run once per call.
//!
//! The program reads the arguments as one JSON object from stdin and writes the result to stdout: JSON, which is
//! shown indented, or text, without the line ends after it. Any exit code but 0 is a failure, told with the code
//! and the end of stderr. There is no shell, and no argument of a model is ever put into the command line.
//!
//! ```yaml
//! command: [./count.sh, --fast]
//! env: [PATH, FARES_TOKEN]          # what is passed on; nothing else is
//! set: {MODE: fast, TOKEN: {env: FARES_TOKEN}}
//! cwd: .
//! output: json
//! ```
//!
//! The program is found when the team connects. It runs in a process group of its own, which ends with the call:
//! on a cancel and at the time limit by SIGTERM and, 60 ms later, by SIGKILL; after the result, and when the call is
//! dropped, by SIGKILL at once. Only what moved itself to another group outlives it. Bounds: 4 MiB of stdout, the
//! last 2 KiB of stderr (of a success they go to the log, at the level `debug`), a quarter of a second for output that a child of the program keeps open.
//!
//! Values of variables appear in no message; in what the program writes, those of variables that sound like
//! secrets, and those taken from another variable, are starred out.

mod output;
mod params;
mod pipes;
mod process;
mod program;

use std::{borrow::Cow, sync::Arc, time::Duration};

use async_trait::async_trait;
use mas_contracts::{
    Build, BuildContext, Builder, CANCEL_GRACE, CallContext, Cancel, CancelReason, Descriptor, Result,
    ToolCall, ToolContract, ToolOutput, ToolSpec, inventory, schema_of,
};
use serde_json::{Value, json};

use crate::{
    declared::{NO_OBJECT, check, check_name, closed, read},
    text::Output,
};
use params::{Params, Stdin};
use process::{Bounds, End};
use program::Program;

/// The code of the error for a call to a closed tool.
const CLOSED: &str = "mas::command::closed";

/// How long a program may run where no manifest says.
const DEFAULT_LIMIT: Duration = Duration::from_secs(30);

inventory::submit! {
    Descriptor {
        name: Cow::Borrowed("command"),
        aliases: Cow::Borrowed(&[]),
        origin: Cow::Borrowed(env!("CARGO_PKG_NAME")),
        version: Cow::Borrowed(env!("CARGO_PKG_VERSION")),
        summary: Cow::Borrowed("A program per call: the arguments as JSON on stdin, the result on stdout."),
        example: Cow::Borrowed(
            "impl:\n  kind: command\n  params:\n    command: [./count.sh, --fast]\n    env: [PATH, HOME]\n    set: {MODE: fast, TOKEN: {env: FARES_TOKEN}}\n    output: json\n",
        ),
        schema: schema_of::<Params>,
        check: check::<Params>,
        builder: Builder::Tool(Build::Linked(|cx, params| Ok(Arc::new(Command::open(cx, params)?)))),
    }
}

struct Command {
    spec: ToolSpec,
    limit: Duration,
    program: Program,
    stdin: Stdin,
    output: Output,
    closed: Cancel,
}

impl Command {
    fn open(cx: &BuildContext, params: &Value) -> Result<Self> {
        let params: Params = read(params)?;
        let program = Program::find(cx, &params.params)?;
        let own = ToolSpec {
            name: tool_name(&program.shown).into(),
            description: format!("Runs the program {}.", program.shown).into(),
            parameters: json!({"type": "object"}),
            idempotent: false,
            timeout: Some(DEFAULT_LIMIT),
        };
        let mut spec = match &params.spec {
            Some(declared) => declared.over(own),
            None => own,
        };
        let limit = spec.timeout.unwrap_or(DEFAULT_LIMIT);
        // The limit is kept here, so that the program can end in order and its last words are told.
        spec.timeout = Some(limit.saturating_add(CANCEL_GRACE));
        let Params { params: run, .. } = params;
        Ok(Self { spec, limit, program, stdin: run.stdin, output: run.output, closed: Cancel::default() })
    }

    async fn run(&self, cx: &CallContext, input: String) -> Result<std::result::Result<String, String>> {
        let now = cx.clock().now();
        let deadline = now.checked_add(self.limit).unwrap_or_else(|| cx.deadline());
        let bounds = Bounds { cx, deadline, closed: &self.closed };
        let input = (self.stdin == Stdin::Json).then(|| input.into_bytes());
        let ended = process::run(&self.program, input, &bounds).await?;
        let secrets = &self.program.secrets;
        match ended.end {
            End::Exited(status) => {
                let words = output::words(&ended.pipes, secrets);
                if status.success() && !words.is_empty() {
                    tracing::debug!(target: "mas::command", "`{}` says on stderr: {words}", self.spec.name);
                }
                Ok(output::result(self.output, status, ended.pipes, secrets))
            }
            End::Flooded => Ok(Err(output::flooded())),
            End::Late => Ok(Err(output::late(self.limit, &ended.pipes, secrets))),
            End::Stopped(reason) => Err(CallContext::stopped(reason)),
            End::Closed => Err(closed(CLOSED)),
        }
    }
}

/// The name of a program as a model may call it.
fn tool_name(program: &str) -> String {
    const LONGEST: usize = 64;
    let file = program.rsplit('/').next().unwrap_or_default();
    let stem = file.split_once('.').map_or(file, |(stem, _)| stem);
    let name: String = stem
        .chars()
        .take(LONGEST)
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' })
        .collect();
    if name.is_empty() { "command".to_owned() } else { name }
}

#[async_trait]
impl ToolContract for Command {
    async fn list(&self) -> Result<Vec<ToolSpec>> {
        Ok(vec![self.spec.clone()])
    }

    async fn call(&self, cx: &CallContext, call: &ToolCall) -> Result<ToolOutput> {
        check_name(&self.spec, call)?;
        if self.closed.reason().is_some() {
            return Err(closed(CLOSED));
        }
        if call.arguments.as_object().is_none() {
            return Ok(ToolOutput::error(NO_OBJECT));
        }
        let secrets = &self.program.secrets;
        Ok(match self.run(cx, call.arguments.to_json() + "\n").await? {
            Ok(text) => ToolOutput::text(secrets.hide(text)),
            Err(message) => {
                ToolOutput::error(format!("`{}` failed: {}", self.spec.name, secrets.hide(message)))
            }
        })
    }

    async fn close(&self) {
        self.closed.cancel(CancelReason::Shutdown);
    }
}
