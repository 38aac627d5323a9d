//! Agents elsewhere that wait for a person.

use serde_json::Value;

use crate::{
    bench::Bench,
    kit::{RELAYS, bound, caller, served, tasks},
};

const ASKS: &str = "      rules:
        - prompt: paint it
          response: {task_state: input_required, text: Which colour?}
        - prompt: blue
          response: {task_state: completed, text: It is blue now.}
      default: {task_state: completed, text: Nothing was painted.}
";

fn run(bench: &Bench, command: &str, bind: &str, flags: &[&str]) -> crate::bench::Printed {
    let args = [&[command, "caller.yaml", "--bind", bind, "--no-events"], flags].concat();
    bench.run_with(&args, &[("MAS_IDENTITY_SECRET", "s")])
}

#[test]
fn a_question_comes_up_at_the_root_and_the_answer_goes_to_the_task_that_waits() {
    for command in ["run-mas", "chat"] {
        let bench = Bench::new(&[]);
        caller(&bench, RELAYS);
        let serving = served(&bench, ASKS, &["--listen", "127.0.0.1:0"]);
        let run = run(&bench, command, &bound(&serving), &["-q", "paint it", "-q", "blue", "--json"]);
        assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{command}: {}", run.out);
        let report = run.json();
        let turn = |at: usize| {
            let turn = &report["turns"][at];
            let text = |key: &str| turn[key].as_str().unwrap_or_default().to_owned();
            (text("status"), text("answer"), turn["delegations"][0]["status"].clone())
        };
        assert_eq!(turn(0), ("interrupted".to_owned(), "Which colour?".to_owned(), "interrupted".into()));
        let done = ("completed".to_owned(), "b says: It is blue now.".to_owned(), "completed".into());
        assert_eq!(turn(1), done, "{command}");
        let tasks = tasks(&serving);
        assert_eq!(tasks.len(), 1, "the answer began no other task: {tasks:?}");
        assert_eq!(tasks[0]["status"]["state"], "TASK_STATE_COMPLETED");
    }
}

#[test]
fn a_task_that_waits_is_left_alone_when_the_conversation_ends() {
    let bench = Bench::new(&[]);
    caller(&bench, RELAYS);
    let serving = served(&bench, ASKS, &["--listen", "127.0.0.1:0"]);
    let run = run(&bench, "run-mas", &bound(&serving), &["-q", "paint it"]);
    assert_eq!(run.out, "You: paint it\na: Which colour?\n\n");
    assert_eq!(tasks(&serving)[0]["status"]["state"], "TASK_STATE_INPUT_REQUIRED");
}

#[test]
fn credentials_that_are_needed_are_asked_for_at_the_root_and_the_answer_goes_to_the_task_that_waits() {
    let bench = Bench::new(&[]);
    caller(&bench, RELAYS);
    let auth = "      rules:
        - prompt: paint it
          response: {task_state: auth_required, text: Sign in at the desk.}
        - prompt: signed in
          response: {task_state: completed, text: It is blue now.}
      default: {task_state: completed, text: Nothing was painted.}
";
    let serving = served(&bench, auth, &["--listen", "127.0.0.1:0"]);
    let wait = "infra:spec.endpoints[\"b\"].a2a={client: {auth_wait: 0.2}}";
    let flags = |said: &[&'static str]| {
        let said = said.iter().flat_map(|text| ["-q", *text]);
        said.chain(["--json", "--override", wait]).collect::<Vec<_>>()
    };
    let asked = run(&bench, "run-mas", &bound(&serving), &flags(&["paint it"]));
    let turn = &asked.json()["turns"][0];
    assert_eq!((asked.code, &turn["status"]), (Some(0), &Value::from("interrupted")), "{}", asked.out);
    assert_eq!(turn["answer"], "Sign in at the desk.");
    assert_eq!(tasks(&serving)[0]["status"]["state"], "TASK_STATE_AUTH_REQUIRED");

    let answered = run(&bench, "run-mas", &bound(&serving), &flags(&["paint it", "signed in"]));
    let turn = &answered.json()["turns"][1];
    assert_eq!(turn["answer"], "b says: It is blue now.", "{}", answered.out);
    let states = tasks(&serving).into_iter().map(|task| task["status"]["state"].clone());
    let mut states: Vec<_> = states.map(|state| state.as_str().unwrap_or_default().to_owned()).collect();
    states.sort();
    assert_eq!(
        states,
        ["TASK_STATE_AUTH_REQUIRED", "TASK_STATE_COMPLETED"],
        "the answer began no other task"
    );
}
