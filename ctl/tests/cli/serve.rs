//! Agents served over the network, as callers see them.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpListener,
};

use serde_json::{Value, json};

use crate::{
    bench::{Bench, Printed},
    serving::{Serving, send},
};

const ECHO: &str = "\
apiVersion: mas/v1
kind: Agent
metadata: {name: echo, version: 1.2.0}
spec:
  description: Says it again.
  models: []
  design_pattern:
    type: scripted_response
    params:
      rules:
        - {turn_id_prefix: slow, response: {task_state: working, delay_ms: 700, text: late}}
        - {turn_id_prefix: ask, response: {task_state: input_required, text: What now?}}
        - {turn_id_prefix: parts, response: {task_state: completed, stream_chunks: [a, b]}}
      default: {echo: true}
";

const PAIR: &str = "\
apiVersion: mas/v1
kind: MAS
metadata: {name: pair}
spec:
  agency:
    agents:
      - {id: first, ref: echo.yaml}
      - {id: second, ref: echo.yaml}
  workflow:
    entry: first
    nodes: [{id: first}, {id: second}]
";

fn bench() -> Bench {
    Bench::new(&[("echo.yaml", ECHO), ("mas.yaml", PAIR)])
}

fn infra(endpoints: &str) -> String {
    format!(
        "apiVersion: infra/v1\nkind: Application\nmetadata: {{name: places}}\nspec:\n  endpoints:\n{endpoints}"
    )
}

fn message(id: &str) -> Value {
    json!({"message": {"messageId": id, "role": "ROLE_USER", "parts": [{"text": "hello"}]}})
}

const SERVE: [&str; 4] = ["serve", "echo.yaml", "--no-events", "--listen=127.0.0.1:0"];

#[test]
fn an_agent_is_served_without_any_infra() {
    let serving = Serving::start(&bench(), &SERVE);
    let card = serving.get("/.well-known/agent-card.json").1;
    assert_eq!(
        (&card["name"], &card["version"], &card["capabilities"]["streaming"]),
        (&json!("echo"), &json!("1.2.0"), &json!(true))
    );
    assert_eq!(card["capabilities"]["pushNotifications"], false);
    assert_eq!(card["supportedInterfaces"][0]["url"], format!("http://{}", serving.places[0].1));
    let said = serving.call("/", "SendMessage", &message("m1"));
    assert_eq!((&said["id"], &said["result"]["message"]["parts"][0]["text"]), (&json!(7), &json!("hello")));
    let task = serving.call("/", "SendMessage", &message("ask-1"));
    let task = &task["result"]["task"];
    assert_eq!(task["status"]["state"], "TASK_STATE_INPUT_REQUIRED", "{task}");
    let same = serving.call("/", "GetTask", &json!({"id": task["id"]}));
    assert_eq!(same["result"]["status"], task["status"]);
    let listed = serving.get("/a2a/rest/tasks").1;
    assert_eq!((&listed["totalSize"], &listed["tasks"][0]["id"]), (&json!(1), &task["id"]));
    let stream = serving.ask("POST", "/a2a/rest/message:stream", Some(&message("parts-1")));
    assert!(stream.1.contains("content-type: text/event-stream"), "{}", stream.1);
    let events: Vec<&str> = stream.2.lines().filter(|line| line.starts_with("data:")).collect();
    assert!(events[0].contains("\"task\":{") && events.concat().contains("\"text\":\"b\""), "{events:?}");
    assert!(events.last().is_some_and(|last| last.contains("TASK_STATE_COMPLETED")), "{events:?}");
}

#[test]
fn what_the_site_says_of_itself() {
    let serving = Serving::start(&bench(), &SERVE);
    assert_eq!(serving.get("/healthz"), (200, json!({"status": "ok"})));
    assert_eq!(serving.get("/readyz"), (200, json!({"status": "ready"})));
    let (status, agents) = serving.get("/agents");
    let base = format!("http://{}", serving.places[0].1);
    let expected = json!({"agents": [{
        "id": "echo", "name": "echo", "description": "Says it again.", "version": "1.2.0", "entry": true,
        "url": base, "card": format!("{base}/.well-known/agent-card.json"),
    }]});
    assert_eq!((status, agents), (200, expected));
    serving.call("/", "SendMessage", &message("m1"));
    let (status, head, text) = serving.ask("GET", "/metrics", None);
    assert!(status == 200 && head.contains("text/plain; version=0.0.4"), "{head}");
    assert!(text.contains("mas_a2a_requests_total{code=\"2xx\"} 4\n"), "{text}");
    assert!(text.contains("mas_a2a_turns{agent=\"echo\"} 0\n"), "{text}");
    for path in ["/nowhere", "/agents/nobody", "/agents/nobody/.well-known/agent-card.json", "/a2a", "/%ff"] {
        let (status, body) = serving.get(path);
        assert_eq!((status, &body["error"]["status"]), (404, &json!("NOT_FOUND")), "{path}: {body}");
    }
    let (status, head, _) = serving.ask("POST", "/healthz", None);
    assert!(status == 405 && head.contains("allow: get, head"), "{head}");
    let (status, head, _) = serving.ask("GET", "/agents", None);
    assert!(status == 200 && !head.contains("access-control"), "CORS is off: {head}");
}

#[test]
fn every_agent_has_a_place_of_its_own() {
    let args = ["serve", "mas.yaml", "--all", "--no-events", "--listen=127.0.0.1:0"];
    let serving = Serving::start(&bench(), &args);
    let socket = serving.places[0].1.clone();
    assert_eq!(serving.places, [("first".to_owned(), socket.clone()), ("second".to_owned(), socket.clone())]);
    let url = |path: &str| serving.get(path).1["supportedInterfaces"][0]["url"].as_str().map(str::to_owned);
    let card = "/.well-known/agent-card.json";
    assert_eq!(url(card), Some(format!("http://{socket}")));
    assert_eq!(url(&format!("/agents/first{card}")), Some(format!("http://{socket}")));
    assert_eq!(url(&format!("/agents/second{card}")), Some(format!("http://{socket}/agents/second")));
    let asked = serving.call("/agents/second", "SendMessage", &message("ask-1"));
    let id = json!({"id": asked["result"]["task"]["id"]});
    assert!(serving.call("/agents/second/", "GetTask", &id)["result"]["id"].is_string());
    assert_eq!(serving.call("/", "GetTask", &id)["error"]["code"], -32001, "tasks are of their agent");
    let names = serving.get("/agents").1;
    assert_eq!((&names["agents"][0]["id"], &names["agents"][1]["id"]), (&json!("first"), &json!("second")));
    assert_eq!((&names["agents"][0]["entry"], &names["agents"][1]["entry"]), (&json!(true), &json!(false)));
}

#[test]
fn a_signal_lets_what_runs_finish() {
    for name in ["TERM", "INT"] {
        let mut serving = Serving::start(&bench(), &SERVE);
        let call =
            json!({"jsonrpc": "2.0", "id": 1, "method": "SendStreamingMessage", "params": message("slow-1")});
        let mut stream = BufReader::new(send(serving.connect(), "POST", "/", Some(&call)));
        let mut text = String::new();
        while !text.contains("TASK_STATE_WORKING") {
            assert_ne!(stream.read_line(&mut text).expect("text"), 0, "{text}");
        }
        serving.signal(name);
        assert!(serving.line().starts_with("Ending:"));
        stream.read_to_string(&mut text).expect("text");
        assert!(text.contains("TASK_STATE_COMPLETED") && text.contains("late"), "{name}: {text}");
        assert_eq!(serving.end(), (Some(0), String::new()), "{name}");
    }
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let mut serving = Serving::start(&bench(), &SERVE);
    let asked = serving.call("/", "SendMessage", &message("ask-1"));
    let subscribe = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": message("slow-1")});
    let stream = send(serving.connect(), "POST", "/", Some(&subscribe));
    while serving.ask("GET", "/metrics", None).2.contains("mas_a2a_turns{agent=\"echo\"} 0\n") {}
    assert!(asked["result"]["task"].is_object());
    serving.signal("TERM");
    assert!(serving.line().starts_with("Ending:"));
    serving.signal("TERM");
    assert_eq!(serving.end().0, Some(130));
    drop(stream);
}

/// What a command that cannot serve says.
fn refused(bench: &Bench, args: &[&str]) -> Printed {
    let printed = bench.run(args);
    assert_eq!((printed.code, printed.out.as_str()), (Some(3), ""), "{}", printed.err);
    printed
}

#[test]
fn an_agent_that_is_only_used_is_not_served() {
    let bench = bench();
    bench.write("infra.yaml", &infra("    echo: {protocol: a2a, usage: use, url: \"http://127.0.0.1:9\"}\n"));
    let said = refused(&bench, &["serve", "echo.yaml", "--infra-ref", "infra.yaml"]).err;
    insta::assert_snapshot!(said, @r#"
    mas::exposure::only_used

      × `echo` is to be served, and its endpoint only says how to reach it
       ╭─[infra.yaml:6:34]
     5 │   endpoints:
     6 │     echo: {protocol: a2a, usage: use, url: "http://127.0.0.1:9"}
       ·                                  ─┬─
       ·                                   ╰── `usage: use`: it runs elsewhere
       ╰────
      help: say `usage: deploy` or `usage: use-and-deploy`, or leave the row out to serve it without
            one
    "#);
}

#[test]
fn two_endpoints_on_one_socket_are_told_apart_by_paths() {
    let bench = bench();
    let rows = "    first: {protocol: a2a, usage: deploy, url: \"http://127.0.0.1:9006\"}
    second: {protocol: a2a, usage: deploy, url: \"http://127.0.0.1:9006\"}\n";
    bench.write("infra.yaml", &infra(rows));
    let said = refused(&bench, &["run-mas", "mas.yaml", "--infra-ref", "infra.yaml", "-q", "x"]).err;
    insta::assert_snapshot!(said, @r#"
    mas::exposure::one_socket

      × `first` and `second` both claim 127.0.0.1:9006, and neither has a path of its own
       ╭─[infra.yaml:6:5]
     5 │   endpoints:
     6 │     first: {protocol: a2a, usage: deploy, url: "http://127.0.0.1:9006"}
       ·     ──┬──
       ·       ╰── claims it here
     7 │     second: {protocol: a2a, usage: deploy, url: "http://127.0.0.1:9006"}
       ·     ───┬──
       ·        ╰── claims it too
       ╰────
      help: write `url: http://127.0.0.1:9006/agents/second` for the second, or choose another port
            for it
    "#);
}

#[test]
fn the_plan_tells_of_a_socket_that_is_claimed_twice() {
    let bench = bench();
    let rows = |limit: u32| {
        format!(
            "    first: {{protocol: a2a, usage: deploy, url: \"http://127.0.0.1:9006\", a2a: {{limits: {{connections: {limit}}}}}}}
    second: {{protocol: a2a, usage: deploy, url: \"http://127.0.0.1:9006/second\", a2a: {{limits: {{connections: 20}}}}}}\n"
        )
    };
    let plan = ["plan", "mas.yaml", "--infra-ref", "infra.yaml"];
    bench.write("infra.yaml", &infra(&rows(20)));
    assert_eq!(bench.run(&plan).code, Some(0));
    bench.write("infra.yaml", &infra(&rows(10)));
    let said = refused(&bench, &plan).err;
    insta::assert_snapshot!(said, @r#"
    mas::exposure::terms

      × `first` and `second` share 127.0.0.1:9006, which has one `a2a.limits.connections`, and say
      │ `10` and `20`
       ╭─[infra.yaml:6:5]
     5 │   endpoints:
     6 │     first: {protocol: a2a, usage: deploy, url: "http://127.0.0.1:9006", a2a: {limits: {connections: 10}}}
       ·     ──┬──
       ·       ╰── claims it here
     7 │     second: {protocol: a2a, usage: deploy, url: "http://127.0.0.1:9006/second", a2a: {limits: {connections: 20}}}
       ·     ───┬──
       ·        ╰── claims it too
       ╰────
      help: say the same in both, or choose another port for one of them
    "#);
    bench.write("infra.yaml", &infra(&rows(20).replace("/second", "")));
    let said = refused(&bench, &plan).err;
    assert!(said.contains("mas::exposure::one_socket"), "{said}");
    assert!(said.contains("write `url: http://127.0.0.1:9006/agents/second`"), "{said}");
}

#[test]
fn a_socket_that_something_else_holds_is_told() {
    let bench = bench();
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let socket = taken.local_addr().expect("an address").to_string();
    let said = refused(&bench, &["serve", "echo.yaml", "--listen", &socket]).err;
    assert!(
        said.contains(&format!("`{socket}` cannot be listened on; another program listens there")),
        "{said}"
    );
    assert!(said.contains("choose another port"), "{said}");
}

#[test]
fn an_address_that_is_none_is_a_wrong_command_line() {
    for wrong in ["8080", "host", ":80", "host:70000", "http://host:80", "::1:80", "[x]:80"] {
        let printed = bench().run(&["serve", "echo.yaml", "--listen", wrong]);
        assert_eq!(printed.code, Some(2), "{wrong}: {}", printed.err);
        assert!(printed.err.contains("write it as HOST:PORT"), "{wrong}: {}", printed.err);
    }
}

#[test]
fn a_conversation_is_served_beside() {
    let bench = bench();
    let rows = "    first: {protocol: a2a, usage: deploy, a2a: {listen: {port: 0}, grpc_port: 1}}
    second: {protocol: a2a, usage: use-and-deploy, a2a: {listen: {port: 0}}}\n";
    bench.write("infra.yaml", &infra(rows));
    let args = ["run-mas", "mas.yaml", "--infra-ref", "infra.yaml", "--no-events"];
    let mut serving = Serving::start(&bench, &args);
    let card = serving.get("/.well-known/agent-card.json").1;
    assert_eq!(card["name"], "echo");
    assert!(!card.to_string().contains("GRPC"), "gRPC is for `serve`: {card}");
    let answered = serving.call("/agents/second", "SendMessage", &message("m1"));
    assert_eq!(answered["result"]["message"]["parts"][0]["text"], "hello");
    let stdin = serving.child.stdin.as_mut().expect("it has a stdin");
    stdin.write_all(b"Hello\n").expect("it is read");
    drop(serving.child.stdin.take());
    let mut out = String::new();
    serving.child.stdout.take().expect("a stdout").read_to_string(&mut out).expect("text");
    assert!(out.contains("first: Hello"), "{out}");
    assert_eq!(serving.end().0, Some(0));
}
