//! Delegation that would come back over two processes.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::{
    bench::Bench,
    kit::{RELAYS, bound, caller, served, tasks},
    serving::Serving,
};

/// A team whose entry agent relays to the one agent it knows elsewhere, and tells what came of it.
fn relay(bench: &Bench, name: &str, entry: &str, target: &str) -> String {
    bench.write(
        &format!("{name}.yaml"),
        &format!(
            "apiVersion: mas/v1\nkind: MAS\nmetadata: {{name: {name}}}\nspec:\n  infra_refs: [{name}-infra.yaml]\n  agency:\n    \
             agents:\n      - {{id: {entry}, apiVersion: mas/v1, kind: Agent, metadata: {{name: {entry}}}, spec: {{description: Relays.}}}}\n      \
             - {{id: {target}}}\n  workflow:\n    entry: {entry}\n    nodes: [{{id: {entry}, delegates_to: [{target}]}}]\n"
        ),
    );
    bench.write(
        &format!("{name}-infra.yaml"),
        &format!(
            "apiVersion: infra/v1\nkind: LLMLocal\nmetadata: {{name: s}}\nspec:\n  models: {{}}\n  \
             model_access: {{provider: scripted, params: {{path: {name}-script.yaml}}}}\n"
        ),
    );
    bench.write(
        &format!("{name}-script.yaml"),
        &format!(
            "rules:\n  - {{after: [delegate_to_{target}], say: \"{entry} heard: {{tool:delegate_to_{target}}}\"}}\n  \
             - calls: [{{tool: delegate_to_{target}, arguments: {{task: \"{{input}}\"}}}}]\n"
        ),
    );
    format!("{name}.yaml")
}

/// Two processes whose agents, by these names, delegate to each other. What the first one's answer is.
fn around(first: (&str, &str), second: (&str, &str)) -> String {
    let bench = Bench::new(&[]);
    let one = relay(&bench, "one", first.0, first.1);
    let two = relay(&bench, "two", second.0, second.1);
    // The second is told where the first is before that is known: a port is kept for it.
    let kept = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let socket = kept.local_addr().expect("an address").to_string();
    drop(kept);
    let bind = format!("{}=a2a://{socket}", second.1);
    let second_args = ["serve", &two, "--listen", "127.0.0.1:0", "--no-events", "--bind", &bind];
    let second_process = Serving::start(&bench, &second_args);
    let bind = format!("{}=a2a://{}", first.1, second_process.socket());
    let first_process =
        Serving::start(&bench, &["serve", &one, "--listen", &socket, "--no-events", "--bind", &bind]);
    let began = Instant::now();
    let message = json!({"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "go"}]}});
    let answer = first_process.call("/", "SendMessage", &message);
    assert!(began.elapsed() < Duration::from_secs(30), "it ends soon");
    answer["result"]["task"].to_string()
}

#[test]
fn a_loop_ends_at_the_process_that_would_close_it() {
    let task = around(("desk", "scribe"), ("scribe", "desk"));
    assert!(task.contains("TASK_STATE_COMPLETED"), "{task}");
    assert!(task.contains("failed (loop): delegation would loop: desk -> scribe -> desk"), "{task}");
}

#[test]
fn a_loop_under_other_names_ends_where_it_comes_back() {
    // Each knows the other by a name of its own.
    let task = around(("desk", "writing"), ("scribe", "boss"));
    assert!(task.contains("TASK_STATE_COMPLETED"), "{task}");
    assert!(task.contains("`boss` failed (loop)"), "typed at the other side too: {task}");
    assert!(task.contains("delegation would loop: desk -> scribe -> desk"), "{task}");
}

#[test]
fn a_budget_that_is_nearly_spent_ends_the_work_elsewhere() {
    let bench = Bench::new(&[]);
    caller(&bench, RELAYS);
    let slow = "      default: {task_state: working, delay_ms: 60000, text: late}\n";
    let serving = served(&bench, slow, &["--listen", "127.0.0.1:0"]);
    let change = "infra:spec.endpoints[\"b\"].timeout=1";
    let args = ["run-mas", "caller.yaml", "--no-events", "-p", "go", "--json", "--override", change];
    let run = bench.run(&[&args[..], &["--bind", &bound(&serving)]].concat());
    assert_eq!(run.code, Some(1));
    // Both sides know the limit; the one whose clock is first says so.
    let delegation = &run.json()["turns"][0]["delegations"][0];
    let code = delegation["error"]["code"].as_str().expect("a code");
    assert!(["mas::turn::timeout", "mas::delegation::failed"].contains(&code), "{}", run.out);
    let state = tasks(&serving)[0]["status"]["state"].clone();
    assert!(["TASK_STATE_FAILED", "TASK_STATE_CANCELED"].iter().any(|ended| state == *ended), "{state}");
}
