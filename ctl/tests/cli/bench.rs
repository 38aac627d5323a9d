//! A folder of files and the program to run on them.

use std::{
    fs,
    path::Path,
    process::{Command, Output, Stdio},
};

use serde_json::Value;

/// A temporary folder in which the program runs, with an environment of its own.
pub(crate) struct Bench {
    pub(crate) dir: tempfile::TempDir,
}

/// What a run printed.
pub(crate) struct Printed {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Printed {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}{}", self.out, self.err))
    }
}

impl From<Output> for Printed {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).expect("stdout is text"),
            err: String::from_utf8(output.stderr).expect("stderr is text"),
        }
    }
}

impl Bench {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let bench = Self { dir };
        for (path, text) in files {
            bench.write(path, text);
        }
        bench
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap_or(Path::new("."))).expect("folders are made");
        fs::write(path, text).expect("the file is written");
    }

    /// A run of the program, or of another build of it that `MAS_CTL` names.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let program = std::env::var_os("MAS_CTL").unwrap_or_else(|| env!("CARGO_BIN_EXE_mas-ctl").into());
        let mut command = Command::new(program);
        command
            .args(args)
            .current_dir(self.dir.path())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.dir.path())
            .env("XDG_STATE_HOME", self.dir.path().join("state"))
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Printed {
        self.run_with(args, &[])
    }

    /// Runs with more variables in the environment.
    pub(crate) fn run_with(&self, args: &[&str], variables: &[(&str, &str)]) -> Printed {
        self.command(args).envs(variables.iter().copied()).output().expect("the program runs").into()
    }
}

/// A team of two with a scripted model: `a` delegates to `b`.
pub(crate) fn team(rules: &str) -> Bench {
    Bench::new(&[("mas.yaml", TEAM), ("infra.yaml", INFRA), ("script.yaml", rules)])
}

const TEAM: &str = "\
apiVersion: mas/v1
kind: MAS
metadata: {name: pair}
spec:
  infra_refs: [infra.yaml]
  agency:
    agents:
      - id: a
        apiVersion: mas/v1
        kind: Agent
        metadata: {name: a}
        spec: {description: Asks.}
      - id: b
        apiVersion: mas/v1
        kind: Agent
        metadata: {name: b}
        spec: {description: Answers.}
  workflow:
    entry: a
    nodes:
      - {id: a, delegates_to: [b]}
      - {id: b}
";

const INFRA: &str = "\
apiVersion: infra/v1
kind: LLMLocal
metadata: {name: scripted}
spec:
  models: {}
  model_access: {provider: scripted, params: {path: script.yaml}}
";
