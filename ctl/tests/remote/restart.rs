//! A server that is killed in the middle of an answer and comes back.

use std::{
    io::{BufRead, BufReader, Read},
    process::Stdio,
    time::{Duration, Instant},
};

use crate::{
    bench::{Bench, Printed},
    kit::{RELAYS, caller, thinker},
};

const SLOW: &str =
    "rules: [{chunks: [\"The answer \", \"is forty-two, \", \"as ever.\"], chunk_delay_ms: 400}]\n";

/// Kills what serves `b` once the task is accepted, lets it come back if it is to, and returns how the run ended.
fn killed(comes_back: bool) -> (Printed, Duration) {
    let bench = Bench::new(&[]);
    caller(&bench, RELAYS);
    let serving = thinker(&bench, SLOW, &["--listen", "127.0.0.1:0", "--no-events"]);
    let socket = serving.socket().to_owned();
    let (bind, limit) = (format!("b=a2a://{socket}"), "infra:spec.endpoints[\"b\"].timeout=20");
    let args = ["run-mas", "caller.yaml", "--no-events", "-p", "go", "--json", "--trace", "--bind", &bind];
    let mut command = bench.command(&[&args[..], &["--override", limit]].concat());
    let mut run = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let began = Instant::now();
    let mut stderr = BufReader::new(run.stderr.take().expect("a stderr"));
    let mut said = String::new();
    while !said.contains("a task ") {
        assert_ne!(stderr.read_line(&mut said).expect("text"), 0, "it ends: {said}");
    }
    drop(serving);
    let _back = comes_back.then(|| thinker(&bench, SLOW, &["--listen", &socket, "--no-events"]));
    stderr.read_to_string(&mut said).expect("text");
    let mut out = String::new();
    run.stdout.take().expect("a stdout").read_to_string(&mut out).expect("text");
    let code = run.wait().expect("it ends").code();
    (Printed { code, out, err: said }, began.elapsed())
}

#[test]
fn a_server_that_dies_in_an_answer_gives_the_right_answer_or_a_typed_error_in_time() {
    for comes_back in [true, false] {
        let (run, took) = killed(comes_back);
        assert!(took < Duration::from_secs(25), "it took {took:?}");
        let turn = &run.json()["turns"][0];
        let delegation = &turn["delegations"][0];
        if run.code == Some(0) {
            assert_eq!(turn["answer"], "b says: The answer is forty-two, as ever.");
            continue;
        }
        assert_eq!((run.code, &delegation["status"]), (Some(1), &"failed".into()), "{}", run.out);
        let code = delegation["error"]["code"].as_str().expect("a code");
        assert!(code.starts_with("mas::"), "{code}");
        let answer = turn["answer"].as_str().expect("an answer");
        assert!(
            answer.starts_with("b says: delegation to `b` failed"),
            "never a piece as the answer: {answer}"
        );
    }
}
