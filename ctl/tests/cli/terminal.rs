//! `chat` and `run-mas` as a person uses them, on a pseudo terminal.

use std::process::Stdio;

use serde_json::{Value, json};

use crate::bench::{Bench, team};

const WORKS: &str = "\
rules:
  - {agent: a, contains: slow, chunks: ['begun ', never], chunk_delay_ms: 60000}
  - {agent: a, after: [delegate_to_b], say: 'b says: {tool:delegate_to_b}'}
  - {agent: a, contains: ask, calls: [{tool: delegate_to_b, arguments: {task: it}}]}
  - {agent: a, say: 'heard <{input}>'}
  - {agent: b, say: done}
";

const HOME: &str = "\u{1b}[H";
const UP: &str = "\u{1b}[A";
const CTRL_C: &str = "\u{3}";
const CTRL_D: &str = "\u{4}";

/// What came of a session at the terminal.
struct Session {
    code: i64,
    screen: String,
    /// For each "see", the seconds since the last key.
    waits: Vec<f64>,
}

/// Runs the program on a terminal and follows the steps; it must end, and leave the terminal as it was.
fn at_terminal(bench: &Bench, args: &[&str], steps: &[(&str, &str)]) -> Session {
    at_terminal_with(bench, args, "xterm", steps)
}

fn at_terminal_with(bench: &Bench, args: &[&str], term: &str, steps: &[(&str, &str)]) -> Session {
    let program = bench.command(args);
    let mut driver = std::process::Command::new("python3");
    driver
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/terminal.py"))
        .arg(json!(steps).to_string())
        .arg(program.get_program())
        .args(args)
        .current_dir(bench.dir.path())
        .env_clear()
        .envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .env("TERM", term)
        .stdin(Stdio::null());
    let output = driver.output().expect("python3 runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {errors}"));
    let screen = document["screen"].as_str().expect("it is text").replace('\r', "");
    assert_eq!(document["stuck"], Value::Null, "{screen}");
    assert_eq!(document["restored"], true, "the terminal is not as it was: {screen}");
    let waits = document["waits"].as_array().expect("a list").iter().filter_map(Value::as_f64).collect();
    Session { code: document["code"].as_i64().expect("a code"), screen, waits }
}

#[test]
fn a_line_is_edited_and_history_survives_the_session() {
    let bench = team(WORKS);
    let edited = [
        ("see", "You: "),
        // Wide characters, Ctrl-A, Home, Ctrl-E, Ctrl-W, Ctrl-U.
        ("type", "gone\u{15}日é world x\u{17}\u{1}hello \u{5}!\r"),
        ("see", "a: heard <hello 日é world !>"),
        ("see", "You: "),
        ("type", "two\r"),
        ("see", "a: heard <two>"),
        ("see", "You: "),
        ("type", UP),
        ("type", UP),
        ("type", HOME),
        ("type", "> \r"),
        ("see", "a: heard <> hello 日é world !>"),
        ("see", "You: "),
        ("type", CTRL_D),
    ];
    let first = at_terminal(&bench, &["run-mas", "mas.yaml"], &edited);
    assert_eq!(first.code, 0, "{}", first.screen);
    let searched = [
        ("see", "You: "),
        ("type", "\u{12}tw"),
        ("see", "two"),
        ("type", "\r"),
        ("see", "a: heard <two>"),
        ("see", "You: "),
        ("type", "/q\r"),
    ];
    assert_eq!(at_terminal(&bench, &["run-mas", "mas.yaml"], &searched).code, 0);
    let history = std::fs::read_to_string(bench.dir.path().join("state/mas/history")).expect("it is kept");
    assert_eq!(history.lines().count(), 5, "{history}");
}

#[test]
fn ctrl_c_ends_the_turn_first_and_the_session_goes_on() {
    let steps = [
        ("see", "You: "),
        ("type", "slow\r"),
        ("see", "a: begun "),
        ("type", CTRL_C),
        ("see", "^C\r\nThe turn is stopped; the session goes on.\r\n\r\n"),
        ("see", "You: "),
        ("type", "next\r"),
        ("see", "a: heard <next>\r\n\r\n"),
        ("see", "You: "),
        ("type", CTRL_D),
    ];
    let session = at_terminal(&team(WORKS), &["run-mas", "mas.yaml"], &steps);
    assert_eq!(session.code, 0, "a turn that failed or was stopped is no failure of the session");
}

#[test]
fn ctrl_c_ends_a_stream_within_200_ms_and_at_the_prompt_that_follows_the_program() {
    let steps = [
        ("see", "You: "),
        ("type", "slow\r"),
        ("see", "a: begun "),
        ("type", CTRL_C),
        ("see", "The turn is stopped; the session goes on."),
        ("see", "You: "),
        ("type", CTRL_C),
    ];
    let session = at_terminal(&team(WORKS), &["run-mas", "mas.yaml"], &steps);
    assert_eq!(session.code, 130);
    let prompted = session.waits.last().expect("the prompt is seen");
    // The limit is 200 ms; that a busy machine lets the driver wait is not the program's time.
    assert!(*prompted < 0.6, "{prompted} s");
}

#[test]
fn ctrl_c_at_the_prompt_clears_the_line_and_ends_with_130_at_an_empty_one() {
    let bench = team(WORKS);
    let steps = [
        ("see", "You: "),
        ("type", "wrong"),
        ("see", "wrong"),
        ("type", CTRL_C),
        ("type", "right\r"),
        ("see", "a: heard <right>"),
        ("see", "You: "),
        ("type", CTRL_C),
    ];
    assert_eq!(at_terminal(&bench, &["run-mas", "mas.yaml"], &steps).code, 130);
}

#[test]
fn a_signal_ends_the_program_and_leaves_the_terminal_as_it_was() {
    let bench = team(WORKS);
    for signal in ["TERM", "INT"] {
        let steps = [("see", "You: "), ("signal", signal)];
        let session = at_terminal(&bench, &["run-mas", "mas.yaml"], &steps);
        assert_eq!(session.code, 130, "{signal}: {}", session.screen);
    }
    let steps = [("see", "You: "), ("type", "slow\r"), ("see", "a: begun "), ("signal", "TERM")];
    assert_eq!(at_terminal(&bench, &["run-mas", "mas.yaml"], &steps).code, 130);
}

#[test]
fn commands_are_carried_out_and_what_only_looks_like_one_is_not_sent() {
    let steps = [
        ("see", "You: "),
        ("type", "/help\r"),
        ("see", "/reset "),
        ("see", "You: "),
        ("type", "/hlep me\r"),
        ("see", "error: there is no command /hlep"),
        ("see", "You: "),
        ("type", "//etc is what\r"),
        ("see", "a: heard </etc is what>"),
        ("see", "You: "),
        ("type", "/reset\r"),
        ("see", "A new session begins: "),
        ("see", "You: "),
        ("type", "\u{1b}[200~one\ntwo\u{1b}[201~\r"),
        ("see", "a: heard <one"),
        ("see", "two>"),
        ("see", "You: "),
        ("type", "/exit\r"),
    ];
    assert_eq!(at_terminal(&team(WORKS), &["run-mas", "mas.yaml"], &steps).code, 0);
}

#[test]
fn what_happens_stands_on_lines_of_its_own() {
    let steps =
        [("see", "You: "), ("type", "ask\r"), ("see", "a: b says"), ("see", "You: "), ("type", CTRL_D)];
    let session = at_terminal(&team(WORKS), &["run-mas", "mas.yaml"], &steps);
    let lines: Vec<&str> = session.screen.lines().collect();
    for step in ["  a -> b (local): it", "a: b says: done"] {
        assert!(lines.contains(&step), "{step} in {lines:#?}");
    }
}

#[test]
fn events_on_stderr_break_no_line_of_the_conversation() {
    let bench = team("rules:\n  - {agent: a, contains: ask, chunks: ['one ', two], chunk_delay_ms: 300}\n");
    let steps = [("see", "You: "), ("type", "ask\r"), ("see", "two"), ("see", "You: "), ("type", CTRL_D)];
    let session = at_terminal(&bench, &["run-mas", "mas.yaml", "--events-stderr"], &steps);
    let events: Vec<&str> = session.screen.lines().filter(|line| line.contains("\"ts\":")).collect();
    assert!(events.len() >= 5, "{}", session.screen);
    for line in events {
        let (before, event) = line.split_at(line.find('{').expect("an object"));
        assert!(!before.contains("one") && !before.contains("two"), "{line}");
        let event: Value = serde_json::from_str(event).unwrap_or_else(|e| panic!("{e}: {line}"));
        assert!(event["kind"].is_string());
    }
}

#[test]
fn what_is_typed_ahead_is_not_lost() {
    let steps = [
        ("see", "You: "),
        ("type", "one\rtwo\rthree"),
        ("see", "a: heard <one>"),
        ("see", "a: heard <two>"),
        ("see", "three"),
        ("type", "\r"),
        ("see", "a: heard <three>"),
        ("see", "You: "),
        ("type", CTRL_D),
    ];
    assert_eq!(at_terminal(&team(WORKS), &["run-mas", "mas.yaml"], &steps).code, 0);
}

#[test]
fn a_terminal_that_cannot_edit_reads_plain_lines() {
    let steps = [
        ("see", "You: "),
        ("type", "plain\n"),
        ("see", "a: heard <plain>"),
        ("see", "You: "),
        ("type", CTRL_D),
    ];
    let session = at_terminal_with(&team(WORKS), &["run-mas", "mas.yaml"], "dumb", &steps);
    assert_eq!(session.code, 0);
    // What the person typed is not said again.
    insta::assert_snapshot!(session.screen, @r"
    /help lists the commands, Ctrl-D ends.
    You: plain
    a: heard <plain>

    You:
    ");
}

#[test]
fn a_question_is_shown_and_the_next_line_answers_it() {
    let bench = Bench::new(&[(
        "agent.yaml",
        "\
apiVersion: mas/v1
kind: Agent
metadata: {name: asks}
spec:
  description: Asks.
  design_pattern:
    type: scripted_response
    params:
      rules:
        - {prompt: window, response: {text: booked}}
      default: {text: 'window or aisle?', task_state: input_required}
",
    )]);
    let steps = [
        ("see", "You: "),
        ("type", "book\r"),
        ("see", "Agent: window or aisle?"),
        ("see", "You: "),
        ("type", "window\r"),
        ("see", "Agent: booked"),
        ("see", "You: "),
        ("type", CTRL_D),
    ];
    assert_eq!(at_terminal(&bench, &["chat", "agent.yaml", "--flavour", "mock"], &steps).code, 0);
}

#[test]
fn a_kept_session_begins_anew_after_a_reset() {
    let bench = team("rules:\n  - {say: 'call {call}'}\n");
    let args = ["run-mas", "mas.yaml", "--session", "s"];
    bench.run(&["run-mas", "mas.yaml", "--session", "s", "-q", "before"]);
    let sessions = || std::fs::read_dir(bench.dir.path().join("state/mas/sessions")).expect("kept").count();
    assert_eq!(sessions(), 1);
    let steps = [
        ("see", "You: "),
        ("type", "/reset\r"),
        ("see", "What was kept of the session s is forgotten; it begins anew."),
        ("see", "You: "),
        ("type", CTRL_D),
    ];
    assert_eq!(at_terminal(&bench, &args, &steps).code, 0);
    assert_eq!(sessions(), 0);
}

#[test]
fn a_history_that_cannot_be_kept_is_a_warning() {
    let bench = team(WORKS);
    std::fs::create_dir_all(bench.dir.path().join("state/mas/history")).expect("a folder in its place");
    let steps = [
        ("see", "cannot be read"),
        ("see", "You: "),
        ("type", "hi\r"),
        ("see", "a: heard <hi>"),
        ("see", "You: "),
        ("type", CTRL_D),
    ];
    assert_eq!(at_terminal(&bench, &["run-mas", "mas.yaml"], &steps).code, 0);
}
