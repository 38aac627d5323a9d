//! The provider `command`, with real programs.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)] // a test may stop short

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::Path,
    process::Command,
    sync::Arc,
    time::{Duration, Instant},
};

use mas_contracts::{
    Arguments, BoxFuture, Builder, CANCEL_GRACE, CallContext, CancelReason, Clock, Descriptor, Error,
    ErrorKind, Message, Result, ToolCall, ToolContract, ToolOutput, inventory,
};
use mas_testkit::{CallContextBuilder, build_context, call_context};
use mas_tools as _;
use serde_json::{Value, json}; // links the registrations
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, BufReader},
    net::unix::pipe,
    sync::watch,
    time::timeout,
};

/// Far more than anything here takes, on a busy machine too.
const LONG: Duration = Duration::from_secs(20);

/// What a cancel may take: 200 ms, and what a busy machine adds.
const PROMPT: Duration = Duration::from_millis(600);

fn descriptor() -> &'static Descriptor {
    inventory::iter::<Descriptor>().find(|descriptor| descriptor.name == "command").unwrap()
}

fn build_with(base: &Path, params: &Value, env: &[(&str, &str)]) -> Result<Arc<dyn ToolContract>> {
    let path = std::env::var("PATH").unwrap();
    let env: Vec<(&str, &str)> = [("PATH", &*path)].into_iter().chain(env.iter().copied()).collect();
    match &descriptor().builder {
        Builder::Tool(build) => build.build(&build_context(base, &env), params),
        other => panic!("{}", other.category()),
    }
}

fn build(base: &Path, params: &Value) -> Result<Arc<dyn ToolContract>> {
    build_with(base, params, &[])
}

/// A shell script as a tool.
fn shell(base: &Path, script: &str) -> Arc<dyn ToolContract> {
    build(base, &json!({"params": {"command": ["sh", "-c", script]}})).unwrap()
}

async fn call(tool: &dyn ToolContract, cx: &CallContext, arguments: Value) -> Result<ToolOutput> {
    let name = tool.list().await.unwrap()[0].name.clone();
    let call = ToolCall { id: "1".into(), name, arguments: Arguments::from_value(arguments) };
    timeout(LONG, tool.call(cx, &call)).await.expect("a call ends")
}

fn text(output: &ToolOutput) -> String {
    Message::Tool { call: "".into(), name: "".into(), output: output.clone() }.text().to_string()
}

async fn run(tool: &dyn ToolContract, arguments: Value) -> std::result::Result<String, String> {
    let output = call(tool, &call_context(), arguments).await.unwrap();
    if output.is_error { Err(text(&output)) } else { Ok(text(&output)) }
}

async fn run_shell(script: &str) -> std::result::Result<String, String> {
    let folder = tempfile::tempdir().unwrap();
    run(&*shell(folder.path(), script), json!({})).await
}

/// A pipe that every process of a call has open: what they write can be read, and its end is theirs.
struct Life {
    folder: TempDir,
    lines: BufReader<pipe::Receiver>,
}

impl Life {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let fifo = folder.path().join("life");
        assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        let lines = BufReader::new(pipe::OpenOptions::new().open_receiver(&fifo).unwrap());
        Self { folder, lines }
    }

    /// A script that says `ready` on descriptor 3 before its last line.
    fn shell(&self, before: &str, last: &str, spec: &Value) -> Arc<dyn ToolContract> {
        let script = format!("exec 3>life\n{before}\necho ready >&3\n{last}");
        let params = json!({"spec": spec, "params": {"command": ["sh", "-c", script]}});
        build(self.folder.path(), &params).unwrap()
    }

    async fn ready(&mut self) {
        let mut line = String::new();
        // A pipe that nobody has opened yet reads as ended.
        while line.is_empty() {
            timeout(LONG, self.lines.read_line(&mut line)).await.unwrap().unwrap();
            tokio::task::yield_now().await;
        }
        assert_eq!(line, "ready\n");
    }

    /// Waits until no process is left that has it open.
    async fn over(&mut self) {
        let mut rest = Vec::new();
        timeout(LONG, self.lines.read_to_end(&mut rest)).await.expect("a process is left").unwrap();
    }
}

const TWO_CHILDREN: &str = "sleep 600 & sleep 600";

#[tokio::test]
async fn arguments_are_read_from_stdin_and_json_is_indented() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("count.py");
    fs::write(&file, "#!/usr/bin/env python3\nimport json, sys\nd = json.load(sys.stdin)\nprint(json.dumps({'words': len(d['text'].split()), 'argv': sys.argv[1:]}))\n").unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o755)).unwrap();
    let spec = json!({"name": "word_count", "description": "Counts words.", "parameters": {"type": "object"},
        "timeout": {"secs": 10, "nanos": 0}});
    let tool =
        build(folder.path(), &json!({"spec": spec, "params": {"command": ["./count.py", "a b"]}})).unwrap();
    let listed = tool.list().await.unwrap().remove(0);
    assert_eq!((&*listed.name, &*listed.description), ("word_count", "Counts words."));
    assert_eq!(listed.timeout, Some(Duration::from_secs(10) + CANCEL_GRACE));
    let result = run(&*tool, json!({"text": "one two"})).await;
    assert_eq!(result.unwrap(), "{\n  \"words\": 2,\n  \"argv\": [\n    \"a b\"\n  ]\n}");
}

#[tokio::test]
async fn without_a_spec_it_is_named_as_its_program() {
    let folder = tempfile::tempdir().unwrap();
    let listed = shell(folder.path(), "").list().await.unwrap().remove(0);
    assert_eq!((&*listed.name, &*listed.description), ("sh", "Runs the program sh."));
    assert_eq!(listed.timeout, Some(Duration::from_secs(30) + CANCEL_GRACE));
}

#[tokio::test]
async fn output_is_json_or_text() {
    let folder = tempfile::tempdir().unwrap();
    let tool = |script: &str, output: &str| {
        build(folder.path(), &json!({"params": {"command": ["sh", "-c", script], "output": output}})).unwrap()
    };
    let ran = async |script: &str, output: &str| run(&*tool(script, output), json!({})).await;
    assert_eq!(ran("echo '[1]'", "auto").await.unwrap(), "[\n  1\n]");
    assert_eq!(ran("echo '[1]'", "text").await.unwrap(), "[1]");
    assert_eq!(ran("echo '[1]'", "json").await.unwrap(), "[\n  1\n]");
    assert_eq!(ran("echo; echo ' a '; echo", "auto").await.unwrap(), "\n a ");
    assert_eq!(ran("echo 1.50", "auto").await.unwrap(), "1.50");
    assert_eq!(ran("echo '{oops'", "auto").await.unwrap(), "{oops");
    assert_eq!(ran("echo '{}'; echo '{}'", "auto").await.unwrap(), "{}\n{}");
    assert_eq!(ran("true", "auto").await.unwrap(), "(no output)");
    assert_eq!(ran("true", "text").await.unwrap(), "(no output)");
    let wrong = ran("echo '{oops'", "json").await.unwrap_err();
    assert_eq!(
        wrong,
        "`sh` failed: the program did not write one JSON value (key must be a string at line 1 column 2), but: {oops"
    );
    assert!(ran("true", "json").await.unwrap_err().contains("did not write one JSON value"));
    let bytes = ran("printf 'ab\\377'", "auto").await.unwrap_err();
    assert_eq!(
        bytes,
        "`sh` failed: the program wrote 3 bytes that are not text in UTF-8: the first wrong one is at 2"
    );
}

#[tokio::test]
async fn a_failure_is_told_with_code_and_last_words() {
    assert_eq!(
        run_shell("echo out; echo one >&2; echo two >&2; exit 3").await.unwrap_err(),
        "`sh` failed: the program ended with exit code 3; the end of its stderr:\none\ntwo"
    );
    assert_eq!(
        run_shell("echo out; exit 1").await.unwrap_err(),
        "`sh` failed: the program ended with exit code 1; the end of its stdout:\nout"
    );
    assert_eq!(
        run_shell("exit 255").await.unwrap_err(),
        "`sh` failed: the program ended with exit code 255; it wrote nothing"
    );
    assert_eq!(
        run_shell("kill -s SEGV $$").await.unwrap_err(),
        "`sh` failed: the program was ended by the signal SIGSEGV; it wrote nothing"
    );
    let long = run_shell("i=0; while [ $i -lt 3000 ]; do echo line $i >&2; i=$((i+1)); done; exit 1").await;
    let long = long.unwrap_err();
    assert!(long.len() < 2300, "{}", long.len());
    assert!(long.contains("stderr:\n…") && long.ends_with("line 2999"), "{long}");
    // What is on stderr of a success is nobody's result.
    assert_eq!(run_shell("echo warning >&2; echo fine").await.unwrap(), "fine");
}

#[tokio::test]
async fn stdin_may_stay_unread_or_be_closed() {
    let folder = tempfile::tempdir().unwrap();
    let large = json!({"text": "x".repeat(1024 * 1024)});
    for script in ["echo ok", "exec 0<&-; echo ok", "head -c 5 >/dev/null; echo ok"] {
        assert_eq!(run(&*shell(folder.path(), script), large.clone()).await.unwrap(), "ok", "{script}");
    }
    // Both pipes are full at once.
    let echoed = run(&*shell(folder.path(), "cat"), large.clone()).await.unwrap();
    assert_eq!(serde_json::from_str::<Value>(&echoed).unwrap(), large);
    let none = json!({"params": {"command": ["cat"], "stdin": "none"}});
    assert_eq!(run(&*build(folder.path(), &none).unwrap(), large).await.unwrap(), "(no output)");
    let malformed = call(&*shell(folder.path(), "cat"), &call_context(), json!("no object")).await.unwrap();
    assert_eq!(text(&malformed), "the arguments are not a JSON object");
}

#[tokio::test]
async fn a_flood_is_stopped() {
    assert_eq!(
        run_shell("yes").await.unwrap_err(),
        "`sh` failed: the program was stopped: it wrote more than 4 MiB"
    );
    assert_eq!(run_shell("yes | head -c 4194304").await.unwrap().len(), 4 * 1024 * 1024 - 1);
    assert!(run_shell("yes | head -c 4194305").await.unwrap_err().ends_with("more than 4 MiB"));
}

#[tokio::test]
async fn only_variables_that_are_named_are_passed_on() {
    let folder = tempfile::tempdir().unwrap();
    let env = [("HOME", "/home/me"), ("LANG", "C"), ("MODEL_KEY", "s3cret-model"), ("FARES", "s3cret-fares")];
    let names = async |params: Value| {
        let mut run_params = json!({"command": ["env"]});
        run_params.as_object_mut().unwrap().extend(params.as_object().unwrap().clone());
        let tool = build_with(folder.path(), &json!({"params": run_params}), &env).unwrap();
        let listed = run(&*tool, json!({})).await.unwrap();
        let mut names: Vec<String> =
            listed.lines().filter_map(|line| Some(line.split_once('=')?.0.to_owned())).collect();
        names.sort();
        names.join(" ")
    };
    assert_eq!(names(json!({})).await, "HOME LANG PATH");
    assert_eq!(names(json!({"env": ["FARES", "UNSET"]})).await, "FARES");
    assert_eq!(names(json!({"env": [], "set": {"MODE": "fast", "T": {"env": "FARES"}}})).await, "MODE T");
}

#[tokio::test]
async fn secrets_are_starred_out() {
    let folder = tempfile::tempdir().unwrap();
    let env = [("FARES", "s3cret-fares"), ("MODEL_KEY", "s3cret-model"), ("USER", "me-myself")];
    let script = "echo $T $MODEL_KEY $DB_PASSWORD $MODE $USER; echo $T $MODEL_KEY $DB_PASSWORD $MODE $USER >&2; exit $CODE";
    let tool = |code: &str| {
        let params = json!({"params": {"command": ["sh", "-c", script], "env": ["MODEL_KEY", "USER"],
            "set": {"T": {"env": "FARES"}, "DB_PASSWORD": "hunter22", "MODE": "fast", "CODE": code}}});
        build_with(folder.path(), &params, &env).unwrap()
    };
    assert_eq!(run(&*tool("0"), json!({})).await.unwrap(), "*** *** *** fast me-myself");
    let failure = run(&*tool("1"), json!({})).await.unwrap_err();
    assert!(failure.ends_with("stderr:\n*** *** *** fast me-myself"), "{failure}");
}

#[tokio::test]
async fn a_secret_that_is_cut_in_two_is_starred_out_too() {
    let folder = tempfile::tempdir().unwrap();
    let env = [("FARES", "s3cret-fares")];
    for (script, output) in [
        ("printf %s%s \"$T\" \"$PAD\" >&2; exit 1", "auto"),
        ("printf %s%s \"$T\" \"$PAD\"; exit 1", "auto"),
        ("printf %s%s \"$T\" \"$PAD\"", "json"),
    ] {
        for pad in [2048 - 10, 2048 - 6, 2048 - 2] {
            let params = json!({"params": {"command": ["sh", "-c", script], "output": output,
                "set": {"T": {"env": "FARES"}, "PAD": "-".repeat(pad)}}});
            let failure =
                run(&*build_with(folder.path(), &params, &env).unwrap(), json!({})).await.unwrap_err();
            let told = failure.rsplit([' ', '\n']).next().unwrap();
            assert!(told.chars().all(|c| "…*-".contains(c)), "{script}: {}", &failure[..200]);
        }
    }
}

#[test]
fn what_is_missing_is_told_when_the_team_connects() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("plain.sh"), "echo hi").unwrap();
    let fails =
        |params: Value| -> Error { build(folder.path(), &json!({ "params": params })).err().unwrap() };
    let here = folder.path().canonicalize().unwrap();
    let shown = |error: &Error| error.to_string().replace(here.to_str().unwrap(), "HERE");
    let error = fails(json!({"command": ["no-such-program"]}));
    assert_eq!((error.kind(), &*error.code()), (ErrorKind::NotFound, "mas::command::not_found"));
    assert_eq!(
        shown(&error),
        "no program `no-such-program` is on the PATH: install it, or write `./no-such-program` for one beside the file \
         that names it"
    );
    let error = fails(json!({"command": ["./none.sh"]}));
    assert_eq!(
        shown(&error),
        "the program `./none.sh` is not there (HERE/./none.sh: No such file or directory (os error 2)); a path is \
         relative to the file that names it"
    );
    let error = fails(json!({"command": ["./plain.sh"]}));
    assert_eq!((error.kind(), &*error.code()), (ErrorKind::Invalid, "mas::command::not_executable"));
    assert_eq!(
        shown(&error),
        "the program `./plain.sh` is not executable: run `chmod +x HERE/./plain.sh`, or name what runs it, such as \
         [python3, ./plain.sh]"
    );
    assert!(shown(&fails(json!({"command": ["./"]}))).contains("is not a file"));
    assert_eq!(&*fails(json!({"command": ["sh"], "cwd": "none"})).code(), "mas::command::folder");
    assert_eq!(&*fails(json!({"command": ["sh"], "cwd": "plain.sh"})).code(), "mas::command::folder");
    let error = fails(json!({"command": ["sh"], "set": {"T": {"env": "NOT_SET"}}}));
    assert_eq!(shown(&error), "the environment variable NOT_SET, for `set.T`, is not set: set it");
}

#[tokio::test]
async fn a_program_that_cannot_be_started_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let script = |name: &str, content: &str| {
        let file = folder.path().join(name);
        fs::write(&file, content).unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o755)).unwrap();
        build(folder.path(), &json!({"params": {"command": [format!("./{name}")]}})).unwrap()
    };
    let lost = call(&*script("lost", "#!/no/such/interpreter\n"), &call_context(), json!({})).await;
    let lost = lost.err().unwrap();
    assert_eq!((lost.kind(), &*lost.code()), (ErrorKind::Unavailable, "mas::command::start"));
    assert!(lost.message().ends_with("what its first line names is not there"), "{lost}");
    let bare = call(&*script("bare", "\u{1}\u{2}"), &call_context(), json!({})).await;
    assert!(bare.err().unwrap().message().ends_with("a line such as `#!/bin/sh`"));
}

#[tokio::test]
async fn a_manifest_without_a_folder_is_in_this_one() {
    assert_eq!(run(&*shell(Path::new(""), "echo here"), json!({})).await.unwrap(), "here");
}

#[tokio::test]
async fn it_runs_in_the_folder_of_the_manifest() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("data")).unwrap();
    fs::write(folder.path().join("data/a.txt"), "here").unwrap();
    assert_eq!(run(&*shell(folder.path(), "cat data/a.txt"), json!({})).await.unwrap(), "here");
    let inner =
        build(folder.path(), &json!({"params": {"command": ["cat", "a.txt"], "cwd": "data"}})).unwrap();
    assert_eq!(run(&*inner, json!({})).await.unwrap(), "here");
}

/// Cancels a call once it is ready; how it ended, and how long that took.
async fn cancelled(life: &mut Life, tool: &dyn ToolContract) -> (Result<ToolOutput>, Duration) {
    let cx = call_context();
    let run = call(tool, &cx, json!({}));
    let stop = async {
        life.ready().await;
        cx.cancel().cancel(CancelReason::Requested);
        Instant::now()
    };
    let (ended, began) = tokio::join!(run, stop);
    let took = began.elapsed();
    life.over().await;
    assert!(began.elapsed() < PROMPT, "something was left for {:?}", began.elapsed());
    (ended, took)
}

#[tokio::test]
async fn a_cancel_ends_the_program_and_its_children() {
    let mut life = Life::new();
    let tool = life.shell("", TWO_CHILDREN, &json!({}));
    let (ended, took) = cancelled(&mut life, &*tool).await;
    assert_eq!(ended.err().unwrap().kind(), ErrorKind::Cancelled);
    assert!(took < PROMPT, "{took:?}");
    // The same tool goes on serving.
    let (ended, _) = cancelled(&mut life, &*tool).await;
    assert_eq!(ended.err().unwrap().kind(), ErrorKind::Cancelled);
}

#[tokio::test]
async fn a_cancel_lets_a_program_end_in_order_but_not_for_long() {
    let mut life = Life::new();
    let orderly = life.shell("trap 'echo bye > last; exit 0' TERM", "sleep 600 & wait", &json!({}));
    let (ended, _) = cancelled(&mut life, &*orderly).await;
    assert_eq!(ended.err().unwrap().kind(), ErrorKind::Cancelled);
    assert_eq!(fs::read_to_string(life.folder.path().join("last")).unwrap(), "bye\n");
    let mut life = Life::new();
    let deaf = life.shell("trap '' TERM", TWO_CHILDREN, &json!({}));
    let (ended, took) = cancelled(&mut life, &*deaf).await;
    assert_eq!(ended.err().unwrap().kind(), ErrorKind::Cancelled);
    assert!(took >= Duration::from_millis(60) && took < PROMPT, "{took:?}");
}

#[tokio::test]
async fn a_dropped_call_leaves_nothing_running() {
    let mut life = Life::new();
    let tool = life.shell("trap '' TERM", TWO_CHILDREN, &json!({}));
    let cx = call_context();
    tokio::select! {
        _ = call(&*tool, &cx, json!({})) => panic!("it does not end by itself"),
        () = life.ready() => {}
    }
    life.over().await;
}

/// A clock that stands still until it is told the time.
#[derive(Debug)]
struct HandClock {
    start: Instant,
    passed: watch::Sender<Duration>,
}

impl Clock for HandClock {
    fn now(&self) -> Instant {
        self.start + *self.passed.borrow()
    }

    fn unix_time(&self) -> Duration {
        *self.passed.borrow()
    }

    fn sleep_until(&self, at: Instant) -> BoxFuture<'static, ()> {
        let (start, mut passed) = (self.start, self.passed.subscribe());
        Box::pin(async move {
            passed.wait_for(|passed| start + *passed >= at).await.expect("the clock is there");
        })
    }
}

#[tokio::test]
async fn a_program_that_takes_too_long_is_stopped_with_its_children() {
    let mut life = Life::new();
    let clock = Arc::new(HandClock { start: Instant::now(), passed: watch::channel(Duration::ZERO).0 });
    let cx = CallContextBuilder::new("root").clock(clock.clone()).build();
    let tool = life.shell("echo halfway >&2", TWO_CHILDREN, &json!({"timeout": 1.5}));
    let wait = async {
        life.ready().await;
        clock.passed.send_replace(Duration::from_millis(1500));
    };
    let (ended, ()) = tokio::join!(call(&*tool, &cx, json!({})), wait);
    let output = ended.unwrap();
    assert!(output.is_error);
    assert_eq!(
        text(&output),
        "`sh` failed: the program was stopped: no result within 1.5 s; the end of its stderr:\nhalfway"
    );
    life.over().await;
}

#[tokio::test]
async fn what_a_program_leaves_behind_ends_with_the_call() {
    for leftover in ["sleep 600 &", "sleep 600 >/dev/null 2>&1 &", "(trap '' TERM HUP; sleep 600) &"] {
        let mut life = Life::new();
        let tool = life.shell(leftover, "echo done", &json!({}));
        let (ended, ()) = tokio::join!(run(&*tool, json!({})), life.ready());
        assert_eq!(ended.unwrap(), "done", "{leftover}");
        life.over().await;
    }
}

#[tokio::test]
async fn a_closed_tool_ends_its_calls_and_takes_no_more() {
    let mut life = Life::new();
    let tool = life.shell("", TWO_CHILDREN, &json!({}));
    let cx = call_context();
    let stop = async {
        life.ready().await;
        tool.close().await;
    };
    let (ended, ()) = tokio::join!(call(&*tool, &cx, json!({})), stop);
    assert_eq!(ended.err().unwrap().kind(), ErrorKind::Unavailable);
    life.over().await;
    assert_eq!(call(&*tool, &cx, json!({})).await.err().unwrap().kind(), ErrorKind::Unavailable);
}

#[test]
fn params_are_strict() {
    let problem = |params: Value| {
        let problem = (descriptor().check)(&params).remove(0);
        format!("{}: {}", problem.path, problem.message)
    };
    let run = |params: Value| problem(json!({ "params": params }));
    assert_eq!(problem(json!({})), ": missing field `params`");
    assert!(problem(json!({"name": "x", "params": {"command": ["a"]}})).contains("unknown field `name`"));
    assert_eq!(run(json!({})), "params: missing field `command`");
    assert_eq!(
        run(json!({"command": "./count.sh --key s3cret"})),
        "params.command: `command` is a list of texts: the program and its arguments, such as [./count.sh, --fast]; \
         there is no shell"
    );
    assert!(run(json!({"command": []})).contains("names no program"));
    assert!(run(json!({"command": [""]})).contains("names no program"));
    assert!(
        run(json!({"command": ["sleep", 5]}))
            .ends_with("item 2 of `command` is not a text: put it in quotes")
    );
    assert!(run(json!({"command": ["a\u{0}b"]})).ends_with("item 1 of `command` has a NUL in it"));
    assert_eq!(run(json!({"command": ["a"], "env": ["A=B"]})), "params.env[0]: no variable has this name");
    assert_eq!(run(json!({"command": ["a"], "set": {"": "x"}})), "params.set.: no variable has this name");
    assert_eq!(
        run(json!({"command": ["a"], "set": {"TOKEN": 12345}})),
        "params.set.TOKEN: a value is a text, in quotes if it is a number, or {env: NAME}"
    );
    assert!(run(json!({"command": ["a"], "set": {"T": {"env": "A", "x": 1}}})).contains("or {env: NAME}"));
    assert!(run(json!({"command": ["a"], "output": "xml"})).contains("unknown variant `xml`"));
    assert!(run(json!({"command": ["a"], "shell": true})).contains("unknown field `shell`"));
    assert!(
        (descriptor().check)(&json!({"params": {"command": ["a"], "set": {"T": {"env": "A"}}}})).is_empty()
    );
}
