//! Conversations that go on at an agent elsewhere.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::{
    bench::Bench,
    kit::{RELAYS, bound, caller, served, tasks, thinker},
};

const ECHO: &str = "      default: {echo: true, task_state: completed}\n";

fn contexts(tasks: &[Value]) -> Vec<&str> {
    tasks.iter().map(|task| task["contextId"].as_str().expect("a context")).collect()
}

#[test]
fn a_session_goes_on_where_it_was_after_a_restart_and_without_any_store() {
    let bench = Bench::new(&[]);
    caller(&bench, RELAYS);
    let serving = served(&bench, ECHO, &["--listen", "127.0.0.1:0"]);
    let bind = bound(&serving);
    let say = |session: &str, secret: &str, state: &str| {
        let args =
            ["run-mas", "caller.yaml", "--bind", &bind, "--no-events", "--session", session, "-q", "one"];
        let run = bench.run_with(&args, &[("MAS_IDENTITY_SECRET", secret), ("XDG_STATE_HOME", state)]);
        assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{}", run.out);
    };
    let elsewhere = bench.dir.path().join("nothing-kept").display().to_string();
    say("trip", "s", "state");
    say("trip", "s", "state");
    say("trip", "s", &elsewhere);
    say("other", "s", "state");
    say("trip", "another", "state");
    let tasks = tasks(&serving);
    let contexts = contexts(&tasks);
    assert_eq!(contexts.len(), 5);
    assert_eq!((contexts[1], contexts[2]), (contexts[0], contexts[0]), "the same conversation");
    assert!(contexts[3] != contexts[0] && contexts[4] != contexts[0] && contexts[4] != contexts[3]);
    assert_eq!(&contexts[0][14..15], "8", "a UUID of version 8: {}", contexts[0]);
}

/// Every file below `folder`.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
        if entry.is_dir() {
            found.append(&mut files(&entry));
        } else {
            found.insert(entry.clone(), fs::read(&entry).expect("a file"));
        }
    }
    found
}

#[test]
fn b3_2_the_same_session_and_secret_reach_the_same_context_and_nothing_is_written() {
    let bench = Bench::new(&[]);
    caller(&bench, RELAYS);
    let serving = served(&bench, ECHO, &["--listen", "127.0.0.1:0"]);
    let bind = bound(&serving);
    let before = files(bench.dir.path());
    assert!(before.keys().any(|path| path.ends_with("caller.yaml")), "the files are seen");
    for _ in 0..2 {
        let args = ["run-mas", "caller.yaml", "--bind", &bind, "--no-events", "-q", "one"];
        let run = bench.run_with(&args, &[("MAS_IDENTITY_SECRET", "s")]);
        assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{}", run.out);
    }
    assert_eq!(files(bench.dir.path()), before, "a run without a name leaves nothing");
    for _ in 0..2 {
        let args =
            ["run-mas", "caller.yaml", "--bind", &bind, "--no-events", "--session", "trip", "-q", "one"];
        let run = bench.run_with(&args, &[("MAS_IDENTITY_SECRET", "s")]);
        assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{}", run.out);
    }
    let tasks = tasks(&serving);
    let contexts = contexts(&tasks);
    assert_eq!(contexts[2], contexts[3], "the named session goes on");
    for (path, bytes) in files(bench.dir.path()) {
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains(contexts[2]), "{} holds the context", path.display());
    }
}

#[test]
fn without_a_secret_it_is_told_once_and_only_where_a_conversation_is_elsewhere() {
    let bench = Bench::new(&[]);
    caller(&bench, RELAYS);
    let serving = served(&bench, ECHO, &["--listen", "127.0.0.1:0"]);
    let bind = bound(&serving);
    let args = ["run-mas", "caller.yaml", "--bind", &bind, "--no-events", "-q", "one", "-q", "two"];
    let run = bench.run(&args);
    assert_eq!(
        (run.code, run.err.matches("MAS_IDENTITY_SECRET is not set").count()),
        (Some(0), 1),
        "{}",
        run.err
    );
    let tasks = tasks(&serving);
    let contexts = contexts(&tasks);
    assert_eq!(contexts[0], contexts[1], "within a process the conversation goes on");
    let plan = bench.run(&["plan", "caller.yaml", "--bind", &bind, "--live"]);
    assert!(!plan.err.contains("MAS_IDENTITY_SECRET"), "{}", plan.err);
    let here = crate::bench::team(
        "rules:\n  - {agent: a, call: 1, calls: [{tool: delegate_to_b, arguments: {task: x}}]}\n  - {say: done}\n",
    );
    let run = here.run(&["run-mas", "mas.yaml", "-p", "go", "--no-events"]);
    assert!(!run.err.contains("MAS_IDENTITY_SECRET"), "{}", run.err);
}

#[test]
fn a_team_elsewhere_remembers_what_was_said_before() {
    let bench = Bench::new(&[]);
    caller(&bench, RELAYS);
    let flags = ["--listen", "127.0.0.1:0", "--events-file", "b.jsonl"];
    let serving = thinker(&bench, "rules: [{say: \"{input}\"}]\n", &flags);
    let bind = bound(&serving);
    for _ in 0..2 {
        let args =
            ["run-mas", "caller.yaml", "--bind", &bind, "--no-events", "--session", "trip", "-q", "hello"];
        assert_eq!(bench.run_with(&args, &[("MAS_IDENTITY_SECRET", "s")]).code, Some(0));
    }
    serving.signal("TERM");
    assert_eq!(serving.end().0, Some(0));
    let log = std::fs::read_to_string(bench.dir.path().join("b.jsonl")).expect("events");
    let lines = log.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let messages: Vec<u64> = lines.filter_map(|line| message_count(&line)).collect();
    assert_eq!(messages, [1, 3], "the second call begins with the first: {log}");
}

/// How many messages a model was called with, if the line says so.
fn message_count(line: &Value) -> Option<u64> {
    line["messages"].as_u64().or_else(|| line["data"]["messages"].as_u64())
}
