//! Delegates that the official SDKs serve, and one of ours: each plays the same script over every binding that it has.

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
    time::Duration,
};

use serde_json::{Value, json};

use crate::{
    bench::Bench,
    kit::{RELAYS, bound, caller, interrupt_at_work, served, tasks},
    sdk,
};

/// No line of a peer takes longer than this.
const LIMIT: Duration = Duration::from_secs(60);

/// Every binding, as rows name it.
const BINDINGS: [&str; 3] = ["jsonrpc", "http+json", "grpc"];

/// What the delegate is given; `blue` answers what `paint` asks.
const SCRIPT: [&str; 7] = ["hello", "count", "look", "fail", "paint", "blue", "parts"];

/// How two files are told of.
const FILES: &str = "[table.csv: 8 bytes]\n[plan.pdf: https://files.example/plan.pdf]";

/// An agent of an SDK. It ends with the test.
struct Foreign {
    child: Child,
    said: Receiver<String>,
    bind: String,
}

impl Drop for Foreign {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Foreign {
    /// Starts a server of `tests/remote/servers`.
    fn start(mut program: Command, script: &str) -> Self {
        program.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/remote/servers").join(script));
        Self::run(program)
    }

    fn run(mut program: Command) -> Self {
        let child = program.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let mut child = child.expect("it starts");
        let lines = BufReader::new(child.stdout.take().expect("it has a stdout")).lines();
        let (sender, said) = channel();
        thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| sender.send(line)));
        let mut foreign = Self { child, said, bind: String::new() };
        foreign.bind = foreign.next().replacen("http://", "b=a2a://", 1);
        foreign
    }

    /// What it says next: the texts that it was given, and `cancelled`.
    fn next(&self) -> String {
        self.said.recv_timeout(LIMIT).expect("it says something")
    }

    /// What `plan --live` says of it.
    fn planned(&self) -> String {
        let bench = calling();
        let printed = bench.run(&["plan", "caller.yaml", "--bind", &self.bind, "--live"]);
        assert_eq!((printed.code, printed.err.as_str()), (Some(0), ""), "{}", printed.out);
        let socket = self.bind.trim_start_matches("b=a2a://");
        let line = printed.out.lines().find(|line| line.contains("  card "));
        line.unwrap_or_else(|| panic!("{}", printed.out)).replace(socket, "HOST")
    }

    /// How a turn ends whose agent tells of a task that it never began; it is done once, however that ends.
    fn tells_of_no_task(&self, protocol: &str, binding: &str) -> String {
        let bench = calling();
        let said = turns(&bench, &self.bind, &way(protocol, binding), &["bare", "hello"]);
        assert_eq!([self.next(), self.next()], ["bare", "hello"], "{protocol} {binding}: {said}");
        said.lines().next().unwrap_or_default().to_owned()
    }

    /// Has every part of the script played over a binding, with streams and without.
    fn plays(&self, protocol: &str, binding: &str, files: &str) {
        let streams = way(protocol, binding);
        let waits = format!("{streams}, stream: never");
        for (way, told) in [(&waits, ""), (&streams, "Looking. Reading. Writing.")] {
            let bench = calling();
            assert_eq!(play(&bench, &self.bind, way, files), told, "{way}");
            assert_eq!(SCRIPT.map(|_| self.next()), SCRIPT, "{way}: each is done once");
        }
        let bench = calling();
        interrupt(&bench, &self.bind, &streams);
        assert_eq!([self.next(), self.next()], ["wait", "cancelled"], "{streams}");
    }
}

/// The files of a caller.
fn calling() -> Bench {
    let bench = Bench::new(&[]);
    caller(&bench, RELAYS);
    bench
}

/// One version over one binding, as the row of a delegate says it.
fn way(protocol: &str, binding: &str) -> String {
    format!("protocol: \"{protocol}\", bindings: [{binding}]")
}

/// A run whose delegate is called in one way.
fn run<'a>(bench: &Bench, bind: &'a str, way: &str, flags: &[&'a str]) -> Command {
    let only = format!("infra:spec.endpoints[\"b\"].a2a={{client: {{{way}}}}}");
    let args = [&["run-mas", "caller.yaml", "--bind", bind, "--override", &only], flags].concat();
    let mut command = bench.command(&args);
    command.env("MAS_IDENTITY_SECRET", "s");
    command
}

/// What each of these turns came to.
fn turns(bench: &Bench, bind: &str, way: &str, texts: &[&str]) -> String {
    let mut flags = vec!["--json", "--events-file", "events.jsonl"];
    texts.iter().for_each(|text| flags.extend(["-q", text]));
    let output = run(bench, bind, way, &flags).output().expect("it runs");
    let report: Value = serde_json::from_slice(&output.stdout).expect("a report");
    let said = |turn: &Value| {
        let text = |key: &str| turn[key].as_str().unwrap_or_default();
        let delegation = &turn["delegations"][0];
        assert_eq!(delegation["route"], "a2a");
        let code = delegation["error"]["code"].as_str().unwrap_or_default();
        format!("{}: {} {code}: {}\n", text("input"), text("status"), text("answer")).replace(" : ", ": ")
    };
    report["turns"].as_array().expect("turns").iter().map(said).collect()
}

/// Plays the script; what the delegate told while it worked.
fn play(bench: &Bench, bind: &str, way: &str, files: &str) -> String {
    let played = turns(bench, bind, way, &SCRIPT);
    assert!(played.contains(files), "{way}: {played}");
    insta::allow_duplicates! {
        insta::assert_snapshot!(played.replace(files, "FILES"), @r#"
        hello: completed: b says: Hello to you.
        count: completed: b says: one, two, three
        look: completed: b says: Found it.
        fail: completed mas::delegation::failed: b says: delegation to `b` failed (state failed): No luck today.
        paint: interrupted: Which colour?
        blue: completed: b says: It is blue now.
        parts: completed: b says: All of it:
        FILES
        {"price":12.5}
        "#);
    }
    let events = std::fs::read_to_string(bench.dir.path().join("events.jsonl")).expect("events");
    let events = events.lines().map(|line| serde_json::from_str::<Value>(line).expect("an event"));
    let working = events.filter(|event| event["kind"] == "task_status" && event["state"] == "working");
    let told: Vec<String> = working.filter_map(|event| Some(event["text"].as_str()?.to_owned())).collect();
    told.join(" ")
}

/// Interrupts a run while its delegate works.
fn interrupt(bench: &Bench, bind: &str, way: &str) {
    let mut run = run(bench, bind, way, &["--events-stderr", "-q", "wait"]);
    interrupt_at_work(&mut run);
}

const FOUND: &str = "bare: completed: b says: Found it.";

#[test]
fn agents_of_the_python_sdk() {
    let Some(python) = sdk::python() else { return };
    let agent = Foreign::start(python(), "server.py");
    insta::assert_snapshot!(agent.planned(), @"b          python 1.3.0  card http://HOST/.well-known/agent-card.json, interface http://HOST/rpc, binding JSONRPC, protocol 1.0, because 1.0 is the newest version of the card, and JSONRPC is the binding that is wanted most, streaming");
    for binding in BINDINGS {
        agent.plays("1.0", binding, FILES);
        let begun = agent.tells_of_no_task("1.0", binding);
        assert!(begun.contains("should enqueue Task before"), "{begun}");
    }
    agent.plays("0.3", "jsonrpc", FILES);
    // Of v0.3 it encodes the bytes of a file twice.
    let twice = FILES.replace("8 bytes", "12 bytes");
    for binding in ["http+json", "grpc"] {
        agent.plays("0.3", binding, &twice);
    }
}

#[test]
fn agents_of_the_python_sdk_of_v03() {
    let Some(python) = sdk::python_03() else { return };
    let agent = Foreign::start(python(), "server03.py");
    insta::assert_snapshot!(agent.planned(), @"b          python 0.3 0.3.26  card http://HOST/.well-known/agent-card.json, interface http://HOST/, binding JSONRPC, protocol 0.3, because JSONRPC is the binding that is wanted most, streaming");
    agent.plays("0.3", "jsonrpc", FILES);
    agent.plays("0.3", "http+json", &FILES.replace("8 bytes", "12 bytes"));
    assert_eq!(agent.tells_of_no_task("0.3", "jsonrpc"), FOUND);
}

#[test]
fn agents_of_the_js_sdk() {
    let Some(node) = sdk::js() else { return };
    let agent = Foreign::start(node(), "server.mjs");
    for binding in BINDINGS {
        agent.plays("1.0", binding, FILES);
        let begun = agent.tells_of_no_task("1.0", binding);
        assert!(begun.contains("before initial"), "{begun}");
    }
    agent.plays("0.3", "jsonrpc", FILES);
    let begun = agent.tells_of_no_task("0.3", "jsonrpc");
    assert!(begun.contains("before initial"), "{begun}");
    // Of v0.3 it leaves out the names of files.
    let nameless = FILES.replace("table.csv", "file").replace("[plan.pdf", "[file");
    for binding in ["http+json", "grpc"] {
        agent.plays("0.3", binding, &nameless);
    }
}

#[test]
fn agents_of_the_js_sdk_of_v03() {
    let Some(node) = sdk::js_03() else { return };
    let agent = Foreign::start(node(), "server03.mjs");
    agent.plays("0.3", "jsonrpc", FILES);
    agent.plays("0.3", "http+json", &FILES.replace("table.csv", "file").replace("[plan.pdf", "[file"));
    assert_eq!(agent.tells_of_no_task("0.3", "jsonrpc"), FOUND);
}

#[test]
fn agents_of_the_rust_sdk() {
    let Some(peer) = sdk::rust() else { return };
    let mut peer = peer();
    peer.arg("serve");
    let agent = Foreign::run(peer);
    for binding in BINDINGS {
        agent.plays("1.0", binding, FILES);
        assert_eq!(agent.tells_of_no_task("1.0", binding), FOUND);
    }
}

const OURS: &str = "      rules:
        - {prompt: hello, response: {text: Hello to you.}}
        - {prompt: count, response: {task_state: completed, stream_chunks: ['one, ', 'two, ', three]}}
        - {prompt: look, response: {task_state: completed, text: Found it.}}
        - {prompt: fail, response: {task_state: failed, text: No luck today.}}
        - {prompt: paint, response: {task_state: input_required, text: Which colour?}}
        - {prompt: blue, response: {task_state: completed, text: It is blue now.}}
        - prompt: parts
          response:
            task_state: completed
            artifacts:
              - {kind: text, text: 'All of it:'}
              - {kind: file, text: \"a,b\\n1,2\\n\", filename: table.csv, media_type: text/csv}
              - {kind: url, url: 'https://files.example/plan.pdf', filename: plan.pdf}
              - {kind: data, data: {price: 12.5}}
        - {prompt: wait, response: {task_state: working, delay_ms: 600000, text: Done.}}
";

const BOTH: &str = "
apiVersion: infra/v1
kind: Application
metadata: {name: both}
spec:
  endpoints:
    b: {protocol: a2a, usage: deploy, url: 'http://127.0.0.1:9999', a2a: {grpc_port: 0}}
";

#[test]
fn agents_of_ours() {
    let bench = Bench::new(&[("both.yaml", BOTH)]);
    let serving = served(&bench, OURS, &["--infra-ref", "both.yaml", "--listen", "127.0.0.1:0"]);
    let bind = bound(&serving);
    caller(&bench, RELAYS);
    for (protocol, binding) in ["1.0", "0.3"].into_iter().flat_map(|one| BINDINGS.map(|other| (one, other))) {
        let before = tasks(&serving).len();
        let way = way(protocol, binding);
        play(&bench, &bind, &way, FILES);
        interrupt(&bench, &bind, &way);
        let tasks = tasks(&serving);
        assert_eq!(tasks.len(), before + 6, "each is done once, and `hello` is no task");
        let id = &tasks.last().expect("a task")["id"];
        // A stream of the task ends with it.
        serving.call("/", "SubscribeToTask", &json!({"id": id}));
        assert_eq!(self::tasks(&serving).last().expect("a task")["status"]["state"], "TASK_STATE_CANCELED");
    }
}
