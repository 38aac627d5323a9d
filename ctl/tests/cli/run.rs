//! `run-mas` and `chat`.

use std::{io::Write, process::Stdio};

use crate::bench::{Bench, team};

const WORKS: &str = "\
rules:
  - {agent: a, tool_failed: delegate_to_b, say: b is not there}
  - {agent: a, after: [delegate_to_b], say: 'b says: {tool:delegate_to_b}'}
  - {agent: a, calls: [{tool: delegate_to_b, arguments: {task: 'do {input}'}}]}
  - {agent: b, equals: do it, say: done}
  - {agent: b, say: 'what is {input}?'}
";

const FAILS: &str = "\
rules:
  - {agent: a, tool_failed: delegate_to_b, say: b is not there}
  - {agent: a, calls: [{tool: delegate_to_b, arguments: {task: go}}]}
  - {agent: b, error: {kind: unavailable, message: the model is down}}
";

#[test]
fn a_conversation_is_printed_turn_by_turn() {
    let bench = team(WORKS);
    let run = bench.run(&["run-mas", "mas.yaml", "-p", "it", "-q", "that"]);
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    insta::assert_snapshot!(run.out, @r"
    You: it
    a: b says: done

    You: that
    a: b says: what is do that?
    ");
    let first = bench.run(&["run-mas", "mas.yaml", "-p", "it", "-q", "that", "--single-turn"]);
    assert!(first.out.contains("done") && !first.out.contains("that"), "{}", first.out);
}

#[test]
fn the_json_document_has_every_turn_and_delegation() {
    let run = team(WORKS).run(&["run-mas", "mas.yaml", "-q", "it", "--session", "s1", "--json"]);
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    let mut document = run.json();
    document["turns"][0]["id"] = "(id)".into();
    insta::assert_snapshot!(serde_json::to_string_pretty(&document).unwrap(), @r#"
    {
      "session": "s1",
      "status": "completed",
      "turns": [
        {
          "id": "(id)",
          "input": "it",
          "status": "completed",
          "answer": "b says: done",
          "error": null,
          "delegations": [
            {
              "call_id": "c3",
              "from": "a",
              "to": "b",
              "depth": 1,
              "route": "local",
              "status": "completed",
              "error": null
            }
          ],
          "usage": {
            "input_tokens": 7,
            "output_tokens": 6,
            "model_calls": 3
          }
        }
      ]
    }
    "#);
}

#[test]
fn a_failed_delegation_ends_with_1_although_the_turn_goes_on() {
    let bench = team(FAILS);
    let run = bench.run(&["run-mas", "mas.yaml", "-q", "it", "--json"]);
    assert_eq!(run.code, Some(1));
    let document = run.json();
    assert_eq!(document["status"], "failed");
    let turn = &document["turns"][0];
    assert_eq!((&turn["status"], &turn["answer"]), (&"completed".into(), &"b is not there".into()));
    assert_eq!(turn["delegations"][0]["status"], "failed");
    assert_eq!(turn["delegations"][0]["error"]["message"], "the model is down");
    let events = bench.run(&["run-mas", "mas.yaml", "-q", "it", "--events-file", "log.jsonl"]);
    assert_eq!(events.code, Some(1));
    let log = std::fs::read_to_string(bench.dir.path().join("log.jsonl")).expect("the log is there");
    let line = log.lines().find(|line| line.contains("\"delegation_end\"")).expect("the delegation ends");
    assert!(line.contains("the model is down"), "{line}");
}

#[test]
fn a_failed_turn_ends_with_1_and_says_why() {
    let run = team("rules:\n  - {error: {kind: unavailable, message: the model is down}}\n")
        .run(&["run-mas", "mas.yaml", "-q", "it"]);
    assert_eq!(run.code, Some(1));
    insta::assert_snapshot!(run.err, @"error[mas::run::unavailable]: the model is down");
}

#[test]
fn a_cycle_that_is_forced_stops_with_the_path_and_1() {
    let bench = team(
        "\
rules:
  - {agent: a, after: [delegate_to_b], say: 'b: {tool:delegate_to_b}'}
  - {agent: a, calls: [{tool: delegate_to_b, arguments: {task: go}}]}
  - {agent: b, after: [delegate_to_a], say: 'a: {tool:delegate_to_a}'}
  - {agent: b, calls: [{tool: delegate_to_a, arguments: {task: back}}]}
",
    );
    let text = std::fs::read_to_string(bench.dir.path().join("mas.yaml")).expect("it is there");
    let circle = text.replace("- {id: b}", "- {id: b, delegates_to: [a]}");
    bench.write("circle.yaml", &circle);
    bench.write("forced.yaml", &circle.replace("kind: MAS\n", "kind: MAS\nx-mas-allow-cycles: true\n"));
    let refused = bench.run(&["validate", "circle.yaml"]);
    assert_eq!(refused.code, Some(3));
    insta::assert_snapshot!(refused.out, @r"
    FAIL  circle.yaml  kind=MAS
    mas::route::cycle

      × delegation goes in a circle: a -> b -> a
        ╭─[circle.yaml:21:32]
     20 │     nodes:
     21 │       - {id: a, delegates_to: [b]}
        ·                                ┬
        ·                                ╰── `a` delegates to `b`
     22 │       - {id: b, delegates_to: [a]}
        ·                                ┬
        ·                                ╰── `b` delegates back to `a`
        ╰────
      help: remove one of these, or say `x-mas-allow-cycles: true` at the root of the MAS; limits hold
            then too

    1 file: 1 error, 0 warnings
    ");
    assert_eq!(bench.run(&["run-mas", "circle.yaml", "-q", "it"]).code, Some(3));
    let forced = bench.run(&["run-mas", "forced.yaml", "-q", "it"]);
    assert_eq!(forced.code, Some(1), "{}", forced.err);
    assert!(forced.out.contains("a -> b -> a"), "{}", forced.out);
}

#[test]
fn stdin_is_one_turn_a_line_and_its_end_is_the_end() {
    let bench = team(WORKS);
    let mut child = bench
        .command(&["run-mas", "mas.yaml"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    child.stdin.take().expect("it has a stdin").write_all(b"it\r\n\n  \nthat").expect("it reads");
    let run: crate::bench::Printed = child.wait_with_output().expect("it ends").into();
    assert_eq!((run.code, run.out.matches("You:").count()), (Some(0), 2), "{}", run.out);
    assert!(run.out.contains("You: it\n"), "{}", run.out);
    let nothing = bench.run(&["run-mas", "mas.yaml"]);
    assert_eq!((nothing.code, nothing.out.as_str()), (Some(0), ""));
}

#[test]
fn a_line_of_a_pipe_is_a_turn_unless_it_is_exactly_a_command() {
    let bench = team("rules:\n  - {say: 'heard <{input}>'}\n");
    let piped = |args: &[&str], text: &str| -> crate::bench::Printed {
        let mut command = bench.command(args);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        child.stdin.take().expect("it has a stdin").write_all(text.as_bytes()).expect("it reads");
        child.wait_with_output().expect("it ends").into()
    };
    let run = piped(&["run-mas", "mas.yaml"], "/tmp is full\n/help\n//quit\n//x\n/reset\n/q\nnever\n");
    assert_eq!(run.code, Some(0), "{}", run.err);
    insta::assert_snapshot!(run.out, @r"
    You: /tmp is full
    a: heard </tmp is full>

    You: /quit
    a: heard </quit>

    You: //x
    a: heard <//x>
    ");
    assert!(run.err.contains("/reset ") && run.err.contains("A new session begins: "), "{}", run.err);
    let refused = piped(&["run-mas", "mas.yaml", "--json"], "/reset\nhi\n");
    assert!(refused.err.contains("/reset does not go with --json"), "{}", refused.err);
    assert_eq!(refused.json()["turns"][0]["answer"], "heard <hi>");
    // What flags say is a turn, whatever it looks like.
    assert!(bench.run(&["run-mas", "mas.yaml", "-q", "/quit"]).out.contains("heard </quit>"));
}

#[test]
fn a_named_session_goes_on_in_the_next_run() {
    let bench = team("rules:\n  - {call: 1, say: 'you said {input}'}\n");
    let before = bench.run(&["run-mas", "mas.yaml", "-q", "one", "--session", "s"]);
    assert_eq!(before.code, Some(0), "{}", before.err);
    bench.run(&["run-mas", "mas.yaml", "-q", "two", "--session", "s", "--events-file", "log.jsonl"]);
    let log = std::fs::read_to_string(bench.dir.path().join("log.jsonl")).expect("the log is there");
    let call = log.lines().find(|line| line.contains("\"llm_call_start\"")).expect("the model is called");
    assert!(call.contains("\"messages\":3"), "the first turn is seen: {call}");
}

#[test]
fn events_go_where_they_are_told_and_nowhere_else() {
    let bench = team(WORKS);
    bench.run(&["run-mas", "mas.yaml", "-q", "it", "--no-events"]);
    assert!(!bench.dir.path().join("state").exists(), "no log is wanted");
    // The flavour `local` asks for one.
    bench.run(&["run-mas", "mas.yaml", "-q", "it"]);
    let logs = std::fs::read_dir(bench.dir.path().join("state/mas/runs")).expect("it is made").count();
    assert_eq!(logs, 1);
    let stderr = bench.run(&["run-mas", "mas.yaml", "-q", "it", "--events-stderr"]);
    assert!(stderr.err.lines().all(|line| line.starts_with('{')), "{}", stderr.err);
    assert!(stderr.err.contains("\"delegation_start\""));
    assert_eq!(bench.run(&["run-mas", "mas.yaml", "-q", "it", "--events-format", "otel"]).code, Some(2));
}

#[test]
fn a_trace_is_on_stderr_and_changes_nothing_on_stdout() {
    let bench = team(WORKS);
    let (plain, traced) = (
        bench.run(&["run-mas", "mas.yaml", "-q", "it"]),
        bench.run(&["run-mas", "mas.yaml", "-q", "it", "--trace"]),
    );
    assert_eq!(plain.out, traced.out);
    for step in ["a -> b (local): do it", "a <- b completed in", "model", "calls delegate_to_b"] {
        assert!(traced.err.contains(step), "{step} in {}", traced.err);
    }
}

#[test]
fn usage_mistakes_are_2_and_a_missing_file_is_3() {
    let bench = Bench::new(&[]);
    assert_eq!(bench.run(&["run-mas"]).code, Some(2));
    assert_eq!(bench.run(&["run-mas", "x.yaml", "--nonsense"]).code, Some(2));
    let missing = bench.run(&["run-mas", "x.yaml", "-q", "hi", "--flavour", "mock"]);
    assert_eq!(missing.code, Some(3));
    assert!(missing.err.contains("x.yaml") && missing.out.is_empty(), "{}", missing.err);
}

#[test]
fn a_failed_delegation_is_told_on_stderr() {
    let run = team(FAILS).run(&["run-mas", "mas.yaml", "-q", "it"]);
    insta::assert_snapshot!(run.err, @"error[mas::run::unavailable]: delegation a -> b failed: the model is down");
}

#[test]
fn stdin_that_is_no_text_fails_the_run() {
    let bench = team(WORKS);
    let mut child = bench
        .command(&["run-mas", "mas.yaml", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    child.stdin.take().expect("it has a stdin").write_all(b"it\n\xff\xfe\n").expect("it reads");
    let run: crate::bench::Printed = child.wait_with_output().expect("it ends").into();
    assert_eq!((run.code, &run.json()["status"]), (Some(1), &"failed".into()));
    assert!(run.err.contains("stdin cannot be read"), "{}", run.err);
}

#[test]
fn a_stdout_that_takes_nothing_fails_the_run_and_a_reader_that_goes_ends_it() {
    let bench = team("rules: [{chunks: [one, two], chunk_delay_ms: 60000}]\n");
    if let Ok(full) = std::fs::OpenOptions::new().write(true).open("/dev/full") {
        let output = bench.command(&["plan", "mas.yaml"]).stdout(full).output().expect("it runs");
        assert_eq!(output.status.code(), Some(1));
        assert!(String::from_utf8_lossy(&output.stderr).contains("stdout cannot be written"));
    }
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let output =
        bench.command(&["run-mas", "mas.yaml", "-q", "go"]).stdout(writer).output().expect("it runs");
    assert_eq!(output.status.code(), Some(0), "it ends at once");
}

#[test]
fn a_log_that_cannot_be_opened_keeps_nobody_from_working() {
    let bench = team(WORKS);
    let output = bench
        .command(&["run-mas", "mas.yaml", "-q", "it"])
        .env_remove("XDG_STATE_HOME")
        .env_remove("HOME")
        .output()
        .expect("it runs");
    let run: crate::bench::Printed = output.into();
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert!(run.err.contains("observability `native` cannot be set up"), "{}", run.err);
}

#[test]
fn a_team_states_its_limits() {
    let bench = team(
        "\
rules:
  - {agent: a, tool_failed: delegate_to_b, say: '{tool:delegate_to_b}'}
  - {agent: a, calls: [{tool: delegate_to_b, arguments: {task: go}}]}
  - {agent: b, delay_ms: 60000, say: late}
",
    );
    let text = std::fs::read_to_string(bench.dir.path().join("mas.yaml")).expect("it is there");
    let limited = |limits: &str| text.replace("kind: MAS\n", &format!("kind: MAS\nx-mas-limits: {limits}\n"));
    bench.write("mas.yaml", &limited("{delegation_seconds: 1}"));
    let run = bench.run(&["run-mas", "mas.yaml", "-q", "it"]);
    assert_eq!(run.code, Some(1));
    assert!(run.err.contains("delegation a -> b failed: the deadline passed"), "{}", run.err);
    bench.write("mas.yaml", &limited("{model_calls: 1}"));
    assert!(bench.run(&["run-mas", "mas.yaml", "-q", "it"]).err.contains("budget of 1 model calls"));
    bench.write("mas.yaml", &limited("{model_cals: 1, depth: 0}"));
    let refused = bench.run(&["validate", "mas.yaml"]);
    assert_eq!(refused.code, Some(3));
    assert!(refused.out.contains("did you mean `model_calls`?"), "{}", refused.out);
}

#[test]
fn with_json_what_is_invalid_is_one_document_too() {
    let bench = team(WORKS);
    let text = std::fs::read_to_string(bench.dir.path().join("mas.yaml")).expect("it is read");
    bench.write("slip.yaml", &text.replace("description: Asks.", "descripton: Asks."));
    let own = bench.run(&["validate", "slip.yaml", "--json"]).json()["findings"].clone();
    bench.write("unwired.yaml", &text.replace("description: Asks.", "description: Asks., tools: [nowhere]"));
    for command in ["run-mas", "chat", "plan"] {
        let run = bench.run(&[command, "slip.yaml", "--json"]);
        assert_eq!((run.code, run.err.as_str()), (Some(3), ""), "{command}");
        assert_eq!(run.json(), serde_json::json!({"status": "invalid", "findings": own}), "{command}");
        let unwired = bench.run(&[command, "unwired.yaml", "--json"]);
        assert_eq!(unwired.code, Some(3), "{command}: {}", unwired.err);
        assert_eq!(unwired.json()["status"], "invalid", "{command}");
        assert_eq!(unwired.json()["findings"][0]["file"], "unwired.yaml", "{command}");
    }
}

#[test]
fn a_run_that_cannot_begin_says_why_and_is_one_document() {
    let bench = team(WORKS);
    std::fs::create_dir_all(bench.dir.path().join("folder")).expect("it is made");
    let args = ["run-mas", "mas.yaml", "-q", "it", "--events-file", "folder", "--session", "s"];
    let told = bench.run(&args);
    assert_eq!((told.code, told.out.as_str()), (Some(1), ""));
    assert!(
        told.err.starts_with("error[mas::event_log::open]: the event log `")
            && told.err.contains("/folder` cannot be opened: "),
        "{}",
        told.err
    );
    let run = bench.run(&[&args[..], &["--json"]].concat());
    assert_eq!((run.code, run.err.as_str()), (Some(1), ""));
    let document = run.json();
    assert_eq!((&document["session"], &document["status"]), (&"s".into(), &"failed".into()));
    assert_eq!(document["error"]["code"], "mas::event_log::open");
    assert_eq!(document["turns"], serde_json::json!([]));
    let homeless = bench
        .command(&["run-mas", "mas.yaml", "-q", "it", "--session", "s", "--json", "--no-events"])
        .env_remove("XDG_STATE_HOME")
        .env_remove("HOME")
        .output()
        .expect("it runs");
    let homeless: crate::bench::Printed = homeless.into();
    assert_eq!((homeless.code, &homeless.json()["status"]), (Some(1), &"failed".into()));
    assert_eq!(homeless.json()["error"]["code"], "mas::store::no_folder");
}

#[test]
fn what_is_empty_is_a_usage_mistake() {
    let bench = team(WORKS);
    for (flag, text) in [("-p", ""), ("-q", " "), ("--session", "")] {
        let run = bench.run(&["run-mas", "mas.yaml", flag, text]);
        assert_eq!((run.code, run.out.as_str()), (Some(2), ""), "{flag}");
        assert!(run.err.contains("it is empty"), "{}", run.err);
    }
}

#[test]
fn a_folder_in_place_of_a_manifest_is_told_with_the_manifest_in_it() {
    let bench = team(WORKS);
    let told = |args: &[&str]| {
        let run = bench.run(args);
        assert_eq!(run.code, Some(3));
        run.err
    };
    insta::assert_snapshot!(told(&["run-mas", "."]), @r"
    mas::file::directory

      × .: a directory stands where a file is needed
      help: did you mean `mas.yaml`?
    ");
    std::fs::create_dir(bench.dir.path().join("empty")).expect("it is made");
    assert!(!told(&["chat", "empty"]).contains("help"));
}

#[cfg(unix)]
#[test]
fn a_pipe_in_place_of_a_file_is_refused_and_not_waited_for() {
    let bench = Bench::new(&[("agent.yaml", "kind: Agent\n")]);
    let made = std::process::Command::new("mkfifo").arg(bench.dir.path().join("pipe.yaml")).status();
    assert!(made.expect("mkfifo runs").success());
    for args in [
        &["chat", "pipe.yaml", "-q", "hi"][..],
        &["validate", "pipe.yaml"],
        &["infra", "show", "pipe.yaml"],
        &["config", "show", "--env", "pipe.yaml"],
    ] {
        let run = bench.run(args);
        assert_eq!(run.code, Some(3), "{args:?}");
        assert!((run.out + &run.err).contains("it is not a regular file"), "{args:?}");
    }
}
