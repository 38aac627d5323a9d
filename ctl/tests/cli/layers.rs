//! Layers of endpoints: what `plan` shows, and what is refused.

use crate::bench::{Bench, team};

/// A team whose agent `b` is reached over an endpoint with these layers.
fn bench(usage: &str, layers: &str) -> Bench {
    let bench = team("rules: [{say: x}]\n");
    let app = format!(
        "apiVersion: infra/v1\nkind: Application\nmetadata: {{name: app}}\nspec:\n  endpoints:\n    b:\n      \
         protocol: a2a\n      url: \"http://127.0.0.1:9\"\n      usage: {usage}\n      layers:\n{layers}"
    );
    bench.write("app.yaml", &app);
    bench
}

const ALL: &str = "        timeout: 30\n        rate_limit: {requests_per_minute: 60}\n        circuit_breaker: true\n        \
                   tracing: true\n        retry: {attempts: 4, backoff: [0.5, 8]}\n";

#[test]
fn a_plan_shows_layers_in_their_order_whatever_the_order_in_the_file() {
    let bench = bench("use", ALL);
    let run = bench.run(&["plan", "mas.yaml", "--infra-ref", "app.yaml"]);
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    let table = run.out.split("\n\n").find(|table| table.starts_with("SENT TO")).expect("the layers");
    insta::assert_snapshot!(table);
    let json = bench.run(&["plan", "mas.yaml", "--infra-ref", "app.yaml", "--json"]).json();
    insta::assert_snapshot!(serde_json::to_string_pretty(&json["routes"][0]["layers"]).expect("json"));
}

#[test]
fn an_override_changes_a_layer_or_takes_it_away() {
    let flags = [
        "--override",
        "infra:spec.endpoints.b.layers.retry=false",
        "--override",
        "infra:spec.endpoints.b.layers.timeout=7",
    ];
    let args = [&["plan", "mas.yaml", "--infra-ref", "app.yaml", "--json"], &flags[..]].concat();
    let json = bench("use", ALL).run(&args).json();
    let rows = json["routes"][0]["layers"].as_array().expect("layers").clone();
    let names: Vec<_> = rows.iter().map(|row| row["layer"].as_str().unwrap_or_default()).collect();
    assert_eq!(names, ["tracing", "circuit_breaker", "rate_limit", "timeout"]);
    assert_eq!(rows[3]["seconds"], 7.0);
}

/// What `command` says of these layers, a problem a line.
fn problems(command: &str, usage: &str, layers: &str) -> String {
    let run = bench(usage, layers).run(&[command, "mas.yaml", "--infra-ref", "app.yaml", "--json"]);
    assert_eq!(run.code, Some(3), "{}{}", run.out, run.err);
    let json = run.json();
    let findings = json["findings"].as_array().expect("findings");
    let line = |finding: &serde_json::Value| {
        let text = |key: &str| finding[key].as_str().unwrap_or_default().to_owned();
        let (line, column) = (&finding["line"], &finding["column"]);
        format!("{line}:{column} {}: {} | {}", text("code"), text("message"), text("help"))
    };
    findings.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn what_no_layer_says_is_refused_at_its_line() {
    let wrong = "        retries: true\n        retry: {attempts: 1, backof: 2}\n        rate_limit: {burst: 0}\n        \
                 circuit_breaker: {reset_timeout_s: 3}\n        timeout: soon\n";
    insta::assert_snapshot!(problems("plan", "use", wrong));
    let odd = "        retry: {backoff: [5, 1]}\n        rate_limit: {requests_per_minute: 0.001}\n        timeout: 90000\n";
    insta::assert_snapshot!(problems("plan", "use", odd));
}

#[test]
fn layers_that_never_have_an_effect_are_refused() {
    insta::assert_snapshot!(problems("plan", "deploy", "        timeout: 3\n"));
}

/// `a` asks `b`, then `c`, which asks `b` too. Nothing listens where `b` is said to be.
const THREE: &str = "\
apiVersion: mas/v1
kind: MAS
metadata: {name: three}
spec:
  infra_refs: [infra.yaml, app.yaml]
  agency:
    agents:
      - {id: a, apiVersion: mas/v1, kind: Agent, metadata: {name: a}, spec: {description: Asks.}}
      - {id: c, apiVersion: mas/v1, kind: Agent, metadata: {name: c}, spec: {description: Asks.}}
  workflow:
    entry: a
    nodes:
      - {id: a, delegates_to: [b, c]}
      - {id: c, delegates_to: [b]}
";

const ASKED_TWICE: &str = "\
rules:
  - {agent: a, after: [delegate_to_c], say: 'c: {tool:delegate_to_c}'}
  - {agent: a, tool_failed: delegate_to_b, calls: [{tool: delegate_to_c, arguments: {task: go}}]}
  - {agent: a, calls: [{tool: delegate_to_b, arguments: {task: go}}]}
  - {agent: c, tool_failed: delegate_to_b, say: '{tool:delegate_to_b}'}
  - {agent: c, calls: [{tool: delegate_to_b, arguments: {task: go}}]}
";

#[test]
fn the_layers_of_an_endpoint_are_one_for_all_who_send_over_it() {
    let layers =
        "        circuit_breaker: {failure_threshold: 1}\n        retry: {attempts: 2, backoff: 0.001}\n";
    let bench = bench("use", layers);
    bench.write("mas.yaml", THREE);
    bench.write("script.yaml", ASKED_TWICE);
    let run = bench.run(&["run-mas", "mas.yaml", "-p", "go", "--json", "-v"]);
    assert_eq!(run.code, Some(1), "{}{}", run.out, run.err);
    let answer = run.json()["turns"][0]["answer"].as_str().expect("an answer").to_owned();
    assert!(
        answer.starts_with("c: ") && answer.contains("`b` is left alone: the last send failed"),
        "{answer}"
    );
    let opened = run.err.lines().filter(|line| line.contains("The circuit is open")).count();
    assert_eq!(opened, 1, "{}", run.err);
}

#[test]
fn what_was_not_sent_is_sent_again_in_a_run() {
    let layers = "        retry: {attempts: 3, backoff: 0.001}\n        tracing: true\n";
    let bench = bench("use", layers);
    bench.write("mas.yaml", THREE);
    bench.write("script.yaml", ASKED_TWICE);
    let run = bench.run(&["run-mas", "mas.yaml", "-p", "a secret plan", "-v"]);
    assert_eq!(run.code, Some(1), "{}{}", run.out, run.err);
    let attempts = run.err.lines().filter(|line| line.contains("An attempt to send ended")).count();
    assert_eq!(attempts, 6, "three by each of the two: {}", run.err);
    assert!(run.err.contains("target=b") && run.err.contains("attempt=3"), "{}", run.err);
    let spans = run.err.lines().filter(|line| line.contains("agent_comm.send"));
    assert!(spans.into_iter().all(|line| !line.contains("go")), "{}", run.err);
}
