//! The provider `python`, with classes in every style, and with a process that is treated badly.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)] // a test may stop short

#[path = "python/results.rs"]
mod results;
mod support;

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use mas_contracts::{CancelReason, Delivery, ErrorKind, Retry, ToolContract};
use mas_testkit::call_context;
use nix::sys::signal::{Signal, kill};
use serde_json::{Value, json};
use support::{Bench, Call, Life, PROMPT, begin, descriptor, is_gone, result, text, try_call};

fn tool(bench: &Bench, module: &str) -> Arc<dyn ToolContract> {
    bench.tool(&json!({"module_path": module}))
}

fn hard(bench: &Bench) -> Arc<dyn ToolContract> {
    tool(bench, "hard/hard.py")
}

#[tokio::test]
async fn every_style_answers() {
    let bench = Bench::new();
    let point = "{\n  \"at\": {\n    \"x\": 1,\n    \"y\": 2\n  },\n  \"tags\": [\n    \"a\"\n  ],\n  \"raw\": \"x\"\n}";
    let deep = json!({"factor": 2});
    let table = [
        (
            "styles/hooks.py",
            "fare",
            json!({"line": "south"}),
            "{\n  \"fare\": 9.5,\n  \"currency\": \"crowns\",\n  \"island\": \"Sørøya\"\n}",
        ),
        ("styles/single.py", "shout", json!({"text": "ahoy"}), "AHOY"),
        ("styles/many.py", "point", json!({}), point),
        ("styles/many.py", "nothing", json!({}), "(no result)"),
        ("styles/many.py", "odd", json!({}), "lone ? half"),
        ("duck/two.py:One", "one", json!({}), "1"),
        ("duck/two.py:Two", "two", json!({}), "2"),
        ("styles/inner/deep.py", "deep", deep, "\"total\": 43.0"),
        ("styles/inner/deep.py", "deep", json!({}), "\"limited\": true"),
        (
            "loose/calendar.py",
            "greet",
            json!({}),
            "\"greeting\": \"Good morning\",\n  \"days\": [\n    \"Mon\"\n  ]",
        ),
    ];
    for (module, name, arguments, expected) in table {
        let (path, class) =
            module.split_once(':').map_or((module, None), |(path, class)| (path, Some(class)));
        let source = bench.tool(&json!({"module_path": path, "class_name": class}));
        source.list().await.unwrap();
        let answer = result(&*source, name, arguments).await.unwrap();
        assert!(
            answer == expected || expected.starts_with('"') && answer.contains(expected),
            "{module}: {answer}"
        );
    }
}

#[tokio::test]
async fn classes_describe_themselves() {
    let bench = Bench::new();
    let listed = tool(&bench, "styles/hooks.py").list().await.unwrap().remove(0);
    assert_eq!((&*listed.name, &*listed.description), ("fare", "Tells a fare."));
    assert_eq!(listed.parameters["required"], json!(["line"]));
    assert_eq!((listed.idempotent, listed.timeout), (false, None));
    let listed = tool(&bench, "styles/many.py").list().await.unwrap();
    let names: Vec<&str> = listed.iter().map(|spec| &*spec.name).collect();
    assert_eq!(names, ["now", "point", "nothing", "odd"]);
    assert_eq!(listed[0].parameters, json!({"type": "object", "properties": {}}));
    let listed = tool(&bench, "styles/inner/deep.py").list().await.unwrap().remove(0);
    assert_eq!(&*listed.description, "Invoke tool deep.");
}

#[tokio::test]
async fn a_declared_spec_wins_and_calls_go_to_the_class_s_own_name() {
    let bench = Bench::new();
    let spec = |name: &str| {
        json!({"name": name, "description": "Adds.", "parameters": {"type": "object"}, "idempotent": true,
            "timeout": {"secs": 5, "nanos": 0}})
    };
    let source =
        bench.tool(&json!({"module_path": "styles/hooks.py", "spec": spec("ask_fare"), "params": {"currency": "shells"}}));
    let listed = source.list().await.unwrap().remove(0);
    assert_eq!((&*listed.name, &*listed.description, listed.idempotent), ("ask_fare", "Adds.", true));
    assert_eq!(listed.timeout, Some(Duration::from_secs(5)));
    let answer = result(&*source, "ask_fare", json!({"line": "north"})).await.unwrap();
    assert!(answer.contains("\"currency\": \"shells\""), "{answer}");
    let own = try_call(&*source, &call_context(), Call::new("fare", json!({"line": "north"}))).await;
    assert_eq!(own.err().unwrap().kind(), ErrorKind::NotFound);
    // Of several tools, the one of this name.
    let source = bench.tool(&json!({"module_path": "styles/many.py", "spec": spec("point")}));
    let names: Vec<_> = source.list().await.unwrap().into_iter().map(|spec| spec.name).collect();
    assert_eq!(names, ["point".into()]);
    let source = bench
        .tool(&json!({"module_path": "styles/many.py", "class_name": "ManyTools", "spec": spec("place")}));
    assert_eq!(
        source.list().await.unwrap_err().message(),
        "`ManyTools` has no tool `place`; its tools: `now`, `point`, `nothing`, `odd`"
    );
    // A class that does not name its tool gets the name of the document.
    let source =
        bench.tool(&json!({"module_path": "duck/two.py", "class_name": "Bare", "spec": spec("hail")}));
    assert_eq!(&*source.list().await.unwrap()[0].name, "hail");
    assert_eq!(result(&*source, "hail", json!({})).await.unwrap(), "hello nobody");
}

#[tokio::test]
async fn hooks_know_the_agent() {
    let bench = Bench::new();
    let source = tool(&bench, "styles/hooks.py");
    source.list().await.unwrap();
    let answer = result(&*source, "fare", json!({"line": "who"})).await.unwrap();
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!((&answer["agent"], &answer["started"]), (&json!("root"), &json!("by the package")));
}

#[tokio::test]
async fn one_process_serves_a_tree() {
    let bench = Bench::new();
    let pid = async |module: &str, name: &str, arguments: Value| {
        let source = tool(&bench, module);
        source.list().await.unwrap();
        let answer = result(&*source, name, arguments).await.unwrap();
        let value: Value = serde_json::from_str(&answer).unwrap();
        value.get("pid").unwrap_or(&value).as_i64().unwrap()
    };
    let first = pid("styles/hooks.py", "fare", json!({"line": "who"})).await;
    assert_eq!(pid("styles/many.py", "now", json!({})).await, first);
    assert_eq!(pid("styles/inner/deep.py", "deep", json!({})).await, first);
    assert_ne!(pid("loose/calendar.py", "greet", json!({})).await, first);
}

#[tokio::test]
async fn problems_are_found_when_the_tool_is_listed() {
    let bench = Bench::new();
    let table = [
        ("broken/syntax.py", "", "broken/syntax.py cannot be imported: SyntaxError: "),
        ("broken/syntax.py", "", "(syntax.py:2)"),
        (
            "broken/raises.py",
            "",
            "raises.py cannot be imported: ValueError: no timetable (raises.py:2 in start)",
        ),
        ("broken/leaves.py", "", "leaves.py cannot be imported: it calls sys.exit"),
        (
            "broken/needs.py",
            "",
            "needs.py cannot be imported: ModuleNotFoundError: No module named \
          'no_such_package_of_ours' (needs.py:1 in <module>); if it is a package, install it: ",
        ),
        (
            "broken/needs.py",
            "",
            "python -m pip install no_such_package_of_ours|python3 -m pip install no_such_package_of_ours|-m pip install no_such_package_of_ours",
        ),
        (
            "broken/lab.py",
            "",
            "`mas.library` is not provided: tools run outside MAS Lab here, and of its modules \
          only `mas.runtime.contracts.ToolContract` is provided (lab.py:1 in <module>)",
        ),
        ("broken/contract.py", "", "`mas.runtime.contracts.MemoryContract` is not provided: "),
        ("broken/made.py", "Made", "`Made` cannot be made with no params: TypeError: "),
        (
            "broken/empty.py",
            "",
            "empty.py has no tool class: derive one from `mas.runtime.contracts.ToolContract`",
        ),
        ("broken/empty.py", "Tool", "there is no class `Tool` in empty.py; its classes: `NotATool`"),
        (
            "duck/two.py",
            "",
            "two.py has several tool classes: `Bad`, `One`, `Two`; say which with `class_name`",
        ),
        ("duck/two.py", "NotATool", "`NotATool` offers no tool"),
        (
            "duck/two.py",
            "Bare",
            "`Bare` does not say its tool's name: give it `get_name`, or a tool document",
        ),
        ("duck/two.py", "Bad", "offers a tool named `no name`, which no model can call"),
    ];
    for (module, class, expected) in table {
        let class = Some(class).filter(|class| !class.is_empty());
        let source = bench.tool(&json!({"module_path": module, "class_name": class}));
        let error = source.list().await.err().unwrap_or_else(|| panic!("{module} is listed"));
        let message = error.message();
        let expected = expected.strip_prefix("broken/").unwrap_or(expected);
        assert!(expected.split('|').any(|part| message.contains(part)), "{module}: {message}");
        assert_eq!(error.kind(), ErrorKind::Invalid);
    }
}

#[test]
fn files_and_interpreters_are_found_when_the_tool_is_built() {
    let bench = Bench::new();
    let error = bench.try_tool(&json!({"module_path": "styles/none.py"}), &[]).err().unwrap();
    assert!(error.message().contains("styles/none.py cannot be read: "), "{error}");
    assert!(
        bench
            .try_tool(&json!({"module_path": "./styles"}), &[])
            .err()
            .unwrap()
            .message()
            .ends_with("is not a file")
    );
    let hooks = json!({"module_path": "styles/hooks.py"});
    let nowhere = bench.try_tool(&hooks, &[("PATH", "/nowhere")]).err().unwrap();
    assert_eq!(
        nowhere.message(),
        "no `python3` is on the PATH: install Python 3.9 or newer, or name an interpreter with MAS_PYTHON"
    );
    let named = bench.try_tool(&hooks, &[("MAS_PYTHON", "/nowhere/python")]).err().unwrap();
    assert!(named.message().starts_with("MAS_PYTHON names `/nowhere/python`, and there is no"), "{named}");
}

#[tokio::test]
async fn an_interpreter_that_does_not_serve_is_told_with_its_last_words() {
    let bench = Bench::new();
    let fake = bench.program("fake", "#!/bin/sh\necho 'not a snake' >&2\nexit 9\n");
    let env = [("MAS_PYTHON", &*fake)];
    let source = bench.try_tool(&json!({"module_path": "styles/hooks.py"}), &env).unwrap();
    let error = source.list().await.unwrap_err();
    assert_eq!(
        error.message(),
        format!(
            "{fake} cannot run the tools: its Python process ended with exit code 9; the last that it printed:\n\
             not a snake\nMAS_PYTHON names another interpreter, 3.9 or newer"
        )
    );
    let bench = Bench::new();
    let noise = bench.program("noise", "#!/bin/sh\necho hello >&0\nsleep 600\n");
    let env = [("MAS_PYTHON", &*noise)];
    let source = bench.try_tool(&json!({"module_path": "styles/hooks.py"}), &env).unwrap();
    let error = source.list().await.unwrap_err();
    assert!(error.message().contains("because it wrote what no one understands"), "{error}");
}

#[tokio::test]
async fn an_interpreter_may_print_before_it_serves() {
    let bench = Bench::new();
    let script = "#!/bin/sh\necho '{\"id\": 0, \"ok\": 1}'\necho to stderr >&2\nexec python3 \"$@\"\n";
    let chatty = bench.program("chatty", script);
    let env = [("MAS_PYTHON", &*chatty)];
    let source = bench.try_tool(&json!({"module_path": "styles/single.py"}), &env).unwrap();
    source.list().await.unwrap();
    assert_eq!(result(&*source, "shout", json!({"text": "ahoy"})).await.unwrap(), "AHOY");
}

#[test]
fn params_are_strict() {
    let check = descriptor().check;
    assert!(check(&Value::Null)[0].message.contains("missing field `module_path`"));
    assert!(
        check(&json!({"module_path": "a.py", "clas_name": "A"}))[0]
            .message
            .contains("unknown field `clas_name`")
    );
    assert_eq!(check(&json!({"module_path": "a.py", "params": [1]}))[0].path, "params");
    assert_eq!(check(&json!({"module_path": "a.py", "spec": {"timeout": -1.0}}))[0].path, "spec.timeout");
    assert!(check(&json!({"module_path": "a.py", "params": {"x": 1}})).is_empty());
}

#[tokio::test]
async fn what_tools_print_never_reaches_the_protocol() {
    let bench = Bench::new();
    let source = hard(&bench);
    source.list().await.unwrap();
    for _ in 0..3 {
        assert_eq!(result(&*source, "prints", json!({})).await.unwrap(), "quiet");
    }
    assert_eq!(result(&*source, "stdin", json!({})).await.unwrap(), "read ''");
}

#[tokio::test]
async fn failures_are_told_to_the_model() {
    let bench = Bench::new();
    let env = [("ISLE_TOKEN", "very-secret")];
    let source = bench.try_tool(&json!({"module_path": "hard/hard.py"}), &env).unwrap();
    source.list().await.unwrap();
    let failure = async |name: &str, arguments: Value| result(&*source, name, arguments).await.unwrap_err();
    let fails = failure("fails", json!({})).await;
    assert!(fails.starts_with("`fails` failed: KeyError: 'no such island: ***' (hard.py:"), "{fails}");
    assert!(fails.ends_with(" in fails)"), "{fails}");
    for pad in [2048 - 20, 2048 - 24, 2048 - 28, 64_000 - 10] {
        let long = failure("fails_long", json!({"file": pad.to_string()})).await;
        assert!(long.len() < 2700 && !long.contains("very"), "{pad}: {long}");
        assert!(long.ends_with(" in fails_long)"), "{long}");
    }
    let exits = failure("exits", json!({})).await;
    assert!(exits.starts_with("`exits` failed: the tool called sys.exit(4) (hard.py:"), "{exits}");
    let big = failure("big", json!({})).await;
    assert!(big.contains("the result takes 17825"), "{big}");
    assert!(failure("circular", json!({})).await.contains("the result cannot be written as JSON: Circular"));
    let missing = failure("open", json!({"file": "/nowhere"})).await;
    assert!(
        missing.contains("FileNotFoundError: [Errno 2] No such file or directory: '/nowhere'"),
        "{missing}"
    );
    assert_eq!(result(&*source, "prints", json!({})).await.unwrap(), "quiet");
    let unmade =
        bench.try_tool(&json!({"module_path": "broken/made.py", "class_name": "Unmade"}), &env).unwrap();
    let error = unmade.list().await.unwrap_err();
    assert!(error.message().contains("ValueError: not with ***"), "{error}");
}

#[tokio::test]
async fn a_process_that_ends_is_started_anew_by_the_next_call() {
    let bench = Bench::new();
    let source = hard(&bench);
    source.list().await.unwrap();
    let first = result(&*source, "pid", json!({})).await.unwrap();
    let error = try_call(&*source, &call_context(), Call::new("dies", json!({}))).await.err().unwrap();
    assert_eq!(
        error.message(),
        "the call was interrupted: its Python process ended with exit code 7; the last that it printed:\nabout to \
         go; it may be tried again"
    );
    assert_eq!((error.kind(), error.delivery()), (ErrorKind::Unavailable, Delivery::Unknown));
    assert_eq!(error.retry(), Retry::Backoff);
    assert_ne!(result(&*source, "pid", json!({})).await.unwrap(), first);
}

#[tokio::test]
async fn a_process_that_is_killed_fails_its_call() {
    let bench = Bench::new();
    let source = hard(&bench);
    let mut life = Life::new();
    let call = begin(&source, "stubborn", &life);
    let pid = life.began().await;
    kill(pid, Signal::SIGKILL).unwrap();
    let (ended, _) = call.ended().await;
    let message = ended.err().unwrap().message().to_owned();
    assert!(message.contains("was ended by the signal SIGKILL"), "{message}");
    life.over().await;
    assert_ne!(result(&*source, "pid", json!({})).await.unwrap(), pid.to_string());
}

#[tokio::test]
async fn a_cancelled_call_ends_in_order_and_the_process_stays() {
    let bench = Bench::without_limits();
    let source = hard(&bench);
    for (name, answers) in [("hangs", false), ("leaks", false), ("waits", false), ("obeys", true)] {
        let (mut life, mut other) = (Life::new(), Life::new());
        let beside = begin(&source, "slow_ok", &other);
        let pid = other.began().await;
        let obedient = tool(&bench, "hard/obeys.py");
        let call = begin(if answers { &obedient } else { &source }, name, &life);
        assert_eq!(life.began().await, pid);
        let began = Instant::now();
        call.cx.cancel().cancel(CancelReason::Requested);
        let (ended, _) = call.ended().await;
        assert!(began.elapsed() < PROMPT, "{name}: {:?}", began.elapsed());
        match ended {
            Ok(output) => assert_eq!((answers, &*text(&output)), (true, "stopped in order"), "{name}"),
            Err(error) => assert_eq!((answers, error.kind()), (false, ErrorKind::Cancelled), "{name}"),
        }
        if name == "leaks" {
            life.over().await;
        }
        // The process and the call beside it go on.
        assert_eq!(result(&*source, "pid", json!({})).await.unwrap(), pid.to_string(), "{name}");
        assert_eq!(result(&*source, "release", json!({})).await.unwrap(), "released");
        let (done, _) = beside.ended().await;
        assert_eq!(text(&done.unwrap()), "done", "{name}");
    }
}

#[tokio::test]
async fn a_call_that_does_not_end_is_killed_with_its_process() {
    let bench = Bench::new();
    for name in ["sleeps", "stubborn"] {
        let source = hard(&bench);
        let (mut life, mut other) = (Life::new(), Life::new());
        let call = begin(&source, name, &life);
        let pid = life.began().await;
        let beside = begin(&source, "slow_ok", &other);
        other.began().await;
        let began = Instant::now();
        call.cx.cancel().cancel(CancelReason::Requested);
        let (ended, _) = call.ended().await;
        let took = began.elapsed();
        assert_eq!(ended.err().unwrap().kind(), ErrorKind::Cancelled);
        assert!(took >= Duration::from_millis(100) && took < PROMPT, "{name}: {took:?}");
        life.over().await;
        is_gone(pid).await;
        let interrupted = beside.ended().await.0.err().unwrap();
        assert_eq!(
            interrupted.message(),
            "the call was interrupted: its Python process was ended, because another call did not stop when it was \
             told to; it may be tried again"
        );
        assert_eq!((interrupted.kind(), interrupted.delivery()), (ErrorKind::Unavailable, Delivery::Unknown));
        assert_ne!(result(&*source, "pid", json!({})).await.unwrap(), pid.to_string());
    }
}

#[tokio::test]
async fn a_dropped_call_leaves_nothing_running() {
    for (name, bench) in [("hangs", Bench::without_limits()), ("stubborn", Bench::new())] {
        let source = hard(&bench);
        let mut life = Life::new();
        let call = begin(&source, name, &life);
        let pid = life.began().await;
        call.drop_it().await;
        if name == "stubborn" {
            life.over().await;
            is_gone(pid).await;
        } else {
            // It ends in order, so the process stays.
            assert_eq!(result(&*source, "pid", json!({})).await.unwrap(), pid.to_string());
        }
    }
}

#[tokio::test]
async fn a_closed_tool_has_no_process() {
    let bench = Bench::new();
    let source = hard(&bench);
    let mut life = Life::new();
    let call = begin(&source, "stubborn", &life);
    let pid = life.began().await;
    let began = Instant::now();
    source.close().await;
    assert!(began.elapsed() < PROMPT, "{:?}", began.elapsed());
    life.over().await;
    is_gone(pid).await;
    assert_eq!(call.ended().await.0.err().unwrap().kind(), ErrorKind::Unavailable);
    source.close().await;
    let after = try_call(&*source, &call_context(), Call::new("pid", json!({}))).await.err().unwrap();
    assert_eq!((after.kind(), after.message()), (ErrorKind::Unavailable, "the tool is closed"));
}

#[test]
fn nothing_is_left_when_the_program_ends() {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let watcher = runtime();
    let mut life = watcher.block_on(async { Life::new() });
    let program = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let bench = Bench::new();
    let source = hard(&bench);
    let _call = program.block_on(async { begin(&source, "stubborn", &life) });
    let pid = watcher.block_on(life.began());
    drop((program, source, bench));
    watcher.block_on(async {
        life.over().await;
        is_gone(pid).await;
    });
}

#[tokio::test]
async fn a_process_whose_parent_is_gone_ends_at_once() {
    // The program is played by a parent that can be killed alone.
    let mut life = Life::new();
    let script = format!(
        "import subprocess, sys\n\
         out = open('{pipe}', 'w')\n\
         host = subprocess.Popen([sys.executable, '-c', open('{host}').read()], stdin=subprocess.PIPE, \
         stdout=subprocess.PIPE, stderr=out, start_new_session=True)\n\
         out.write('%d\\n' % host.pid)\n\
         out.flush()\n\
         sys.stdin.read()\n",
        host = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/python/host/host.py").display(),
        pipe = life.path().display(),
    );
    let mut parent = std::process::Command::new("python3")
        .args(["-c", &script])
        .stdin(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    life.began().await;
    parent.kill().unwrap();
    parent.wait().unwrap();
    life.over().await;
}

#[tokio::test]
async fn arguments_as_a_model_of_pydantic() {
    if !support::has("pydantic") {
        return;
    }
    let bench = Bench::new();
    let source = tool(&bench, "styles/typed.py");
    let listed = source.list().await.unwrap().remove(0);
    assert_eq!(listed.parameters["required"], json!(["nights"]));
    assert_eq!(listed.parameters["properties"]["nights"]["minimum"], json!(1));
    let booked = result(&*source, "book", json!({"nights": 2})).await.unwrap();
    assert_eq!(booked, "{\n  \"nights\": 2,\n  \"rooms\": 1\n}");
    let refused = result(&*source, "book", json!({"nights": 0})).await.unwrap_err();
    assert!(refused.starts_with("`book` failed: ValidationError: 1 validation error for Input"), "{refused}");
}

#[tokio::test]
async fn a_tool_that_needs_pyyaml() {
    if !support::has("pyyaml") {
        return;
    }
    let bench = Bench::new();
    let source = tool(&bench, "styles/yamly.py");
    source.list().await.unwrap();
    let read = result(&*source, "read_yaml", json!({"text": "a: [1, 2026-01-02]"})).await.unwrap();
    assert_eq!(read, "{\n  \"a\": [\n    1,\n    \"2026-01-02\"\n  ]\n}");
}
