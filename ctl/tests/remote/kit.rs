//! Teams, and those who serve a part of them.

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Stdio},
};

use serde_json::Value;

use crate::{
    bench::{Bench, Printed},
    serving::Serving,
};

/// A file of the example whose researcher may run elsewhere.
pub(crate) fn example(file: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/remote-researcher");
    root.join(file).display().to_string()
}

/// A process that serves the researcher of the example.
pub(crate) fn researcher(bench: &Bench) -> Serving {
    let (agent, infra) = (example("agents/researcher.yaml"), example("infra/local.yaml"));
    Serving::start(bench, &["serve", &agent, "--infra-ref", &infra, "--listen", "127.0.0.1:0", "--no-events"])
}

/// A run of the example with its researcher elsewhere.
pub(crate) fn run_with_researcher(bench: &Bench, serving: &Serving, flags: &[&str]) -> Printed {
    let url = format!("http://{}", serving.socket());
    let (mas, infra) = (example("mas.yaml"), example("infra/remote.yaml"));
    let args = [&["run-mas", &mas, "--infra-ref", &infra, "--no-events"], flags].concat();
    bench.run_with(&args, &[("RESEARCHER_URL", &url), ("MAS_IDENTITY_SECRET", "a secret of the test")])
}

/// A team: `a` delegates to `b`, which has no document; the model of `a` plays `rules`.
pub(crate) fn caller(bench: &Bench, rules: &str) {
    bench.write(
        "caller.yaml",
        "apiVersion: mas/v1\nkind: MAS\nmetadata: {name: caller}\nspec:\n  infra_refs: [caller-infra.yaml]\n  agency:\n    \
         agents:\n      - {id: a, apiVersion: mas/v1, kind: Agent, metadata: {name: a}, spec: {description: Asks.}}\n      \
         - {id: b}\n  workflow:\n    entry: a\n    nodes: [{id: a, delegates_to: [b]}]\n",
    );
    bench.write(
        "caller-infra.yaml",
        "apiVersion: infra/v1\nkind: LLMLocal\nmetadata: {name: scripted}\nspec:\n  models: {}\n  \
         model_access: {provider: scripted, params: {path: caller-script.yaml}}\n",
    );
    bench.write("caller-script.yaml", rules);
}

/// The rules of a caller that says what `b` said.
pub(crate) const RELAYS: &str = "\
rules:
  - {after: [delegate_to_b], say: \"b says: {tool:delegate_to_b}\"}
  - calls: [{tool: delegate_to_b, arguments: {task: \"{input}\"}}]
";

/// A process that serves one agent, `b`, of this pattern.
pub(crate) fn served(bench: &Bench, pattern: &str, flags: &[&str]) -> Serving {
    bench.write(
        "b.yaml",
        &format!(
            "apiVersion: mas/v1\nkind: Agent\nmetadata: {{name: b}}\nspec:\n  description: Answers.\n  models: []\n  \
             design_pattern:\n    type: scripted_response\n    params:\n{pattern}"
        ),
    );
    Serving::start(bench, &[&["serve", "b.yaml", "--no-events"], flags].concat())
}

/// A process that serves one agent, `b`, whose model plays `rules`.
pub(crate) fn thinker(bench: &Bench, rules: &str, flags: &[&str]) -> Serving {
    bench.write("script.yaml", rules);
    bench.write(
        "llm.yaml",
        "apiVersion: infra/v1\nkind: LLMLocal\nmetadata: {name: s}\nspec:\n  models: {}\n  \
         model_access: {provider: scripted, params: {path: script.yaml}}\n",
    );
    bench.write(
        "thinker.yaml",
        "apiVersion: mas/v1\nkind: Agent\nmetadata: {name: b}\nspec: {description: Thinks.}\n",
    );
    Serving::start(bench, &[&["serve", "thinker.yaml", "--infra-ref", "llm.yaml"], flags].concat())
}

/// Reaches `b` at what serves it.
pub(crate) fn bound(serving: &Serving) -> String {
    format!("b=a2a://{}", serving.socket())
}

/// The tasks that are known where `serving` listens, oldest first.
pub(crate) fn tasks(serving: &Serving) -> Vec<Value> {
    let listed = serving.call("/", "ListTasks", &serde_json::json!({"historyLength": 10}));
    let mut tasks = listed["result"]["tasks"].as_array().cloned().unwrap_or_else(|| panic!("{listed}"));
    tasks.reverse();
    tasks
}

/// Interrupts a run, which tells its events on stderr, while its delegate works; it ends so.
pub(crate) fn interrupt_at_work(run: &mut Command) {
    let mut child = run.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut lines = BufReader::new(child.stderr.take().expect("it has a stderr")).lines();
    let works = |line: &str| line.contains("\"task_status\"") && line.contains("\"working\"");
    assert!(lines.any(|line| works(&line.expect("it is text"))), "the delegate never works");
    let sent = Command::new("kill").args(["-s", "INT", &child.id().to_string()]).status();
    assert!(sent.expect("kill runs").success());
    lines.for_each(drop);
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
}
