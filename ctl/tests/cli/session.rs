//! `session` and `dev platform`: sends to a platform's sessions, from the command line and as a delegation.

use std::{
    io::{BufRead, BufReader},
    process::Stdio,
};

use mas_platform_stand_in::{Access, Manner, Script, Server, StandIn, Step, Turn, World};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::{
    bench::{Bench, Printed, team},
    serving::Serving,
};

const SESSION: &str = StandIn::SESSION;

/// A platform on the loopback, and a folder to run in.
struct Desk {
    server: Server,
    bench: Bench,
    runtime: Runtime,
}

impl Desk {
    fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.expect("a runtime");
        let clock = std::sync::Arc::new(mas_core::clock::TokioClock);
        let server = runtime.block_on(Server::start("user-token", 0, clock)).expect("a server");
        Self { server, bench: Bench::new(&[]), runtime }
    }

    /// Runs `session` with the flags of the platform.
    fn run(&self, args: &[&str]) -> Printed {
        let url = self.server.platform_url();
        let flags = ["--platform-url", url, "--platform-token-env", "TOKEN"];
        self.bench.run_with(&[&["session"], args, &flags[..]].concat(), &[("TOKEN", "user-token")])
    }

    fn fails(&self, args: &[&str]) -> String {
        let run = self.run(args);
        assert_eq!((run.code, run.out.as_str()), (Some(1), ""), "{}", run.err);
        assert_eq!(run.err.matches("error[").count(), 1, "told once: {}", run.err);
        assert!(run.err.contains("A2A message id for request retry: "), "{}", run.err);
        assert!(!run.err.contains("user-token") && !run.err.contains("tok-"), "{}", run.err);
        run.err
    }

    fn stand_in(&self) -> &StandIn {
        self.server.stand_in()
    }

    fn posted(&self) -> Value {
        self.stand_in().calls_of("/message:send").pop().expect("a message").json()
    }
}

#[test]
fn the_answer_is_printed_as_it_came() {
    let desk = Desk::new();
    let odd = json!({"message": {
        "messageId": "r", "role": "ROLE_AGENT", "contextId": SESSION, "parts": [{"text": "x"}], "of": {"later": 1.50},
    }, "beside": [1]});
    desk.stand_in().script(Script::default(), Script::new([Turn::Body(200, odd.clone())]));
    let run = desk.run(&["send", SESSION, "--message", "hello", "--message-id", "own"]);
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    assert_eq!(run.out, format!("{odd}\n"));
    assert_eq!(desk.posted()["message"]["messageId"], "own");
    assert_eq!(desk.posted()["configuration"]["responseKind"], "message");
}

#[test]
fn what_is_said_comes_from_one_place_with_files_beside_it() {
    let desk = Desk::new();
    desk.bench.write("say.txt", "read these");
    desk.bench.write("a.pdf", "%PDF");
    desk.bench.write("b.txt", "text");
    let files = ["--message-file", "say.txt", "--file", "a.pdf", "--file", "b.txt"];
    let types = ["--media-type", "application/pdf", "--media-type", "text/plain"];
    let dictionary = ["--strict-dictionary", "--json-repair-attempts", "2"];
    let run = desk.run(&[&["send", SESSION], &files[..], &types, &dictionary].concat());
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    assert_eq!(run.json()["message"]["parts"][0]["data"]["repairAttempts"], 2);
    let parts = &desk.posted()["message"]["parts"];
    assert_eq!(parts[0], json!({"text": "read these"}));
    assert_eq!(parts[2], json!({"raw": "dGV4dA==", "filename": "b.txt", "mediaType": "text/plain"}));
    let run = desk.run(&["send", SESSION, "--message", "a", "--file", "b.txt"]);
    assert_eq!(run.code, Some(0));
    assert_eq!(desk.posted()["message"]["parts"][1]["mediaType"], "application/pdf");
}

#[test]
fn what_cannot_be_sent_fails_before_any_request() {
    let desk = Desk::new();
    desk.bench.write("blank.txt", " \n");
    desk.bench.write("a.pdf", "%PDF");
    std::fs::write(desk.bench.dir.path().join("odd.txt"), [0xff, 0xfe]).expect("a file");
    for (args, wanted) in [
        (&["--message", " "][..], "the message is blank"),
        (&["--message-file", "blank.txt"], "the message is blank"),
        (&["--message-file", "odd.txt"], "is no UTF-8"),
        (&["--message-file", "none.txt"], "cannot be read"),
        (&["--message", "a", "--file", "none.pdf"], "cannot be read"),
        (
            &["--message", "a", "--file", "a.pdf", "--media-type", "a/b", "--media-type", "c/d"],
            "one media type for each",
        ),
        (&["--message", "a", "--media-type", "a/b"], "one media type for each"),
    ] {
        let err = desk.fails(&[&["send", SESSION], args].concat());
        assert!(err.contains(wanted), "{args:?}: {err}");
    }
    for args in [
        &["--message", "a", "--timeout", "0"][..],
        &["--message", "a", "--timeout", "-1"],
        &["--message", "a", "--timeout", "inf"],
        &["--message", "a", "--timeout", "NaN"],
        &["--message", "a", "--json-repair-attempts", "0"],
        &["--message", "a", "--response-kind", "both"],
        &["--message", "a", "--message-file", "b"],
        &["--message", "a", "--message-id", " "],
        &["--message", "a", "--return-immediately"],
        &[],
    ] {
        let run = desk.run(&[&["send", SESSION], args].concat());
        assert_eq!((run.code, run.out.as_str()), (Some(2), ""), "{args:?}: {}", run.err);
    }
    assert_eq!(desk.stand_in().calls().len(), 0);
}

#[test]
fn a_failure_is_told_once_with_the_id_of_the_message() {
    let desk = Desk::new();
    desk.stand_in().script(Script::new([Access::blocked("waking", Some(60_000))]), Script::default());
    let err = desk.fails(&["send", SESSION, "--message", "a", "--timeout", "2", "--message-id", "own"]);
    let (before, after) = err.split_once(" does not fit into the 1.").expect("what is left of two seconds");
    assert_eq!(
        before,
        "error[mas::platform::not_ready]: the runtime of the session is not ready: it is `waking`, and to ask again in 60 s"
    );
    assert!(after.ends_with("allow it more time\nA2A message id for request retry: own\n"), "{err}");
}

#[test]
fn the_limit_of_a_message_and_a_refusal_say_what_they_are() {
    let desk = Desk::new();
    desk.stand_in().load(World { message_limit_ms: Some(50), ..World::default() });
    let slow = Step::from(Turn::Echo).after_ms(60_000);
    desk.stand_in().script(Script::default(), Script::new([slow]));
    let err = desk.fails(&["send", SESSION, "--message", "a"]);
    assert!(err.contains("--response-kind task"), "{err}");
    desk.stand_in().script(Script::default(), Script::new([Turn::Refused(401)]));
    let err = desk.fails(&["send", SESSION, "--message", "a"]);
    assert!(err.contains("error[mas::platform::unauthenticated]") && !err.contains("resolve"), "{err}");
    let slow = Step::from(Turn::Echo).after_ms(60_000);
    desk.stand_in().load(World { message_limit_ms: Some(90_000), ..World::default() });
    desk.stand_in().script(Script::default(), Script::new([slow]));
    let err = desk.fails(&["send", SESSION, "--message", "a", "--timeout", "0.3"]);
    assert!(err.contains("error[mas::platform::outcome_ambiguous]"), "{err}");
}

#[test]
fn access_is_kept_between_runs_for_its_owner_only() {
    let desk = Desk::new();
    for _ in 0..2 {
        assert_eq!(desk.run(&["send", SESSION, "--message", "a"]).code, Some(0));
    }
    assert_eq!(desk.stand_in().calls_of("/resolve-runtime-access/").len(), 1);
    let file = desk.bench.dir.path().join("state/mas/platform/runtime_access_cache.json");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode =
            |path: &std::path::Path| path.metadata().expect("it is there").permissions().mode() & 0o777;
        assert_eq!((mode(&file), mode(file.parent().expect("a folder"))), (0o600, 0o700));
    }
    desk.stand_in().load(World { rotate: true, ..World::default() });
    assert_eq!(desk.run(&["send", SESSION, "--message", "a"]).code, Some(0));
    assert_eq!(desk.stand_in().calls_of("/resolve-runtime-access/").len(), 2);
}

#[test]
fn a_handle_is_made_once_and_remembered() {
    let desk = Desk::new();
    let err = desk.fails(&["send", "weekly", "--message", "a"]);
    assert!(err.contains("--target-agent-uid"), "{err}");
    let made = ["--target-agent-uid", "agent-1", "--name", "Weekly", "--parent-session-uid", SESSION];
    let run = desk.run(&[&["send", "weekly", "--message", "a"], &made[..]].concat());
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    let session = run.json()["message"]["contextId"].clone();
    let asked = desk.stand_in().calls_of("/get-or-create-session/")[0].json();
    assert_eq!(asked, json!({"handle_unique_id": "weekly", "name": "Weekly", "parent_session_uid": SESSION}));
    let run = desk.run(&["send", "weekly", "--message", "b"]);
    assert_eq!(run.json()["message"]["contextId"], session);
    assert_eq!(desk.stand_in().calls_of("/get-or-create-session/").len(), 1);
    let err = desk.fails(&["send", SESSION, "--message", "a", "--name", "Weekly"]);
    assert!(err.contains("go with a handle"), "{err}");
}

#[test]
fn tasks_are_sent_waited_for_looked_at_and_ended() {
    let desk = Desk::new();
    let run = desk.run(&["send", SESSION, "--message", "work", "--response-kind", "task"]);
    assert_eq!((run.code, &run.json()["task"]["id"]), (Some(0), &json!("task-1")));
    let run = desk.run(&["task", "get", SESSION, "task-1"]);
    assert_eq!(run.json()["task"]["status"]["state"], "TASK_STATE_WORKING");
    let run = desk.run(&["task", "wait", SESSION, "task-1", "--timeout", "10"]);
    assert_eq!((run.code, &run.json()["task"]["status"]["state"]), (Some(0), &json!("TASK_STATE_COMPLETED")));
    let states = vec!["TASK_STATE_WORKING".to_owned(), "TASK_STATE_FAILED".to_owned()];
    desk.stand_in().load(World { task_states: Some(states), ..World::default() });
    desk.run(&["send", SESSION, "--message", "work", "--response-kind", "task"]);
    let run = desk.run(&["task", "wait", SESSION, "task-2"]);
    assert_eq!((run.code, &run.json()["task"]["status"]["state"]), (Some(1), &json!("TASK_STATE_FAILED")));
    desk.stand_in().load(World { task_states: Some(vec!["TASK_STATE_WORKING".into()]), ..World::default() });
    desk.run(&["send", SESSION, "--message", "work", "--response-kind", "task"]);
    let run = desk.run(&["task", "wait", SESSION, "task-3", "--timeout", "0.5"]);
    assert_eq!((run.code, run.out.as_str()), (Some(1), ""));
    assert!(run.err.starts_with("error[mas::platform::task_timeout]"), "{}", run.err);
    let run = desk.run(&["task", "cancel", SESSION, "task-3"]);
    assert_eq!((run.code, &run.json()["task"]["status"]["state"]), (Some(0), &json!("TASK_STATE_CANCELED")));
    let run = desk.run(&["task", "get", SESSION, "a/b"]);
    assert_eq!((run.code, run.err.contains("is no id of a task")), (Some(1), true));
}

fn endpoint(url: &str, more: &str) -> String {
    format!(
        "apiVersion: infra/v1\nkind: Application\nmetadata: {{name: far}}\nspec:\n  endpoints:\n    \
         b: {{protocol: platform, usage: use, url: \"{url}\", token_env: TOKEN, agent_session_uid: {SESSION}, timeout: [5, 60]{more}}}\n"
    )
}

#[test]
fn an_endpoint_of_the_infra_says_where_the_platform_is() {
    let desk = Desk::new();
    desk.bench.write("far.yaml", &endpoint(desk.server.platform_url(), ""));
    let send = |name: &str, flags: &[&str]| {
        let args = [&["session", "send", SESSION, "--message", "a", "--endpoint", name], flags].concat();
        desk.bench.run_with(&args, &[("TOKEN", "user-token")])
    };
    let run = send("b", &["--infra-ref", "far.yaml"]);
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    for (name, flags) in [("c", &["--infra-ref", "far.yaml"][..]), ("b", &[])] {
        let run = send(name, flags);
        assert_eq!((run.code, run.out.as_str()), (Some(1), ""), "as every failure of `session`");
        assert!(run.err.contains(&format!("the infra has no endpoint `{name}`")), "{}", run.err);
    }
}

#[test]
fn a_token_that_is_not_there_fails_the_same_way_wherever_the_platform_is_named() {
    let desk = Desk::new();
    desk.bench.write("far.yaml", &endpoint(desk.server.platform_url(), ""));
    let url = desk.server.platform_url();
    let send = ["session", "send", SESSION, "--message", "a"];
    for place in [
        ["--platform-url", url, "--platform-token-env", "TOKEN"],
        ["--endpoint", "b", "--infra-ref", "far.yaml"],
    ] {
        let run = desk.bench.run(&[&send[..], &place].concat());
        assert_eq!((run.code, run.out.as_str()), (Some(1), ""), "{}", run.err);
        assert!(run.err.contains("`TOKEN`") && run.err.contains("is not set"), "{}", run.err);
    }
    assert_eq!(desk.stand_in().calls().len(), 0);
}

#[test]
fn what_is_missing_is_told_with_what_may_stand_in_its_place() {
    let bench = Bench::new(&[]);
    let usage = |args: &[&str]| {
        let run = bench.run(&[&["session", "send", SESSION], args].concat());
        assert_eq!((run.code, run.out.as_str()), (Some(2), ""), "{args:?}: {}", run.err);
        run.err
    };
    let err = usage(&[]);
    assert!(err.contains("--platform-url <URL>|--endpoint <NAME>"), "{err}");
    assert!(err.contains("--message <TEXT>|--message-file <FILE>"), "{err}");
    let err = usage(&["--message", "a", "--platform-url", "http://127.0.0.1:9"]);
    assert!(err.contains("--platform-token-env <NAME>|--endpoint <NAME>"), "{err}");
    let err = usage(&["--message", "a", "--platform-url", "no url", "--platform-token-env", "T"]);
    assert!(err.contains("it has to begin with http:// or https://"), "{err}");
}

/// Waits until a path that ends so was called.
fn until_called(desk: &Desk, end: &str) {
    let called = desk.stand_in().until_called(end);
    let waited = async { tokio::time::timeout(std::time::Duration::from_secs(60), called).await };
    desk.runtime.block_on(waited).expect("it is called");
}

#[test]
#[cfg(unix)]
fn ctrl_c_ends_a_send_with_130_and_the_id_of_its_message() {
    let desk = Desk::new();
    let silent = Step::from(Turn::Echo).written(Manner::Silent);
    desk.stand_in().script(Script::default(), Script::new([silent]));
    let url = desk.server.platform_url();
    let place = ["--platform-url", url, "--platform-token-env", "TOKEN"];
    let send = ["session", "send", SESSION, "--message", "a", "--message-id", "own"];
    let mut command = desk.bench.command(&[&send[..], &place].concat());
    command.env("TOKEN", "user-token").stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().expect("it runs");
    until_called(&desk, "/message:send");
    let run = interrupted(child);
    assert_eq!((run.code, run.out.as_str()), (Some(130), ""));
    assert_eq!(run.err, "A2A message id for request retry: own\n");
    assert_eq!(desk.stand_in().calls_of("/message:send").len(), 1);
}

#[test]
#[cfg(unix)]
fn ctrl_c_does_not_wait_for_what_is_still_being_written() {
    let desk = Desk::new();
    let url = desk.server.platform_url();
    let mut command = desk.bench.command(&[
        "session",
        "send",
        SESSION,
        "--message-file",
        "say",
        "--message-id",
        "own",
        "--platform-url",
        url,
        "--platform-token-env",
        "TOKEN",
    ]);
    let pipe = desk.bench.dir.path().join("say");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs").success());
    command.env("TOKEN", "user-token").stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().expect("it runs");
    // Opens as soon as it is read from.
    let _writes = std::fs::OpenOptions::new().write(true).open(pipe).expect("the pipe opens");
    let run = interrupted(child);
    assert_eq!((run.code, run.err.as_str()), (Some(130), "A2A message id for request retry: own\n"));
    assert_eq!(desk.stand_in().calls().len(), 0);
}

#[cfg(unix)]
fn interrupted(child: std::process::Child) -> Printed {
    let kill = std::process::Command::new("kill").args(["-s", "INT", &child.id().to_string()]).status();
    assert!(kill.expect("kill runs").success());
    child.wait_with_output().expect("it ends").into()
}

#[test]
fn no_token_is_in_what_is_logged_however_much_that_is() {
    let desk = Desk::new();
    desk.stand_in().script(Script::default(), Script::new([Turn::Refused(401), Turn::Echo]));
    let run = desk.run(&["send", SESSION, "--message", "a", "-vvv"]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert!(run.err.contains("TRACE") || run.err.contains("DEBUG"), "something is logged: {}", run.err);
    assert!(!run.err.contains("user-token") && !run.err.contains("tok-"), "{}", run.err);
    let bench = team(DELEGATES);
    bench.write("far.yaml", &endpoint(desk.server.platform_url(), ""));
    desk.stand_in().script(Script::default(), Script::new([Turn::Refused(403)]));
    let args = ["run-mas", "mas.yaml", "--infra-ref", "far.yaml", "-p", "go", "-vvv"];
    let run = bench.run_with(&args, &[("TOKEN", "user-token")]);
    let said = run.out.clone() + &run.err;
    assert!(said.contains("TRACE") || said.contains("DEBUG"), "something is logged: {said}");
    assert!(!said.contains("user-token") && !said.contains("tok-"), "{said}");
}

const DELEGATES: &str = "\
rules:
  - {tool_failed: delegate_to_b, say: \"It failed: {tool:delegate_to_b}\"}
  - {after: [delegate_to_b], say: \"It said {tool:delegate_to_b}.\"}
  - {calls: [{tool: delegate_to_b, arguments: {task: hello}}]}
";

#[test]
fn a_session_is_a_target_of_delegation() {
    let desk = Desk::new();
    let bench = team(DELEGATES);
    bench.write("far.yaml", &endpoint(desk.server.platform_url(), ""));
    let args = ["run-mas", "mas.yaml", "--infra-ref", "far.yaml", "-p", "go"];
    let run = bench.run_with(&args, &[("TOKEN", "user-token")]);
    assert_eq!((run.code, run.out.contains("hello")), (Some(0), true), "{}{}", run.out, run.err);
    assert_eq!(desk.posted()["message"]["contextId"], SESSION);

    desk.stand_in().script(Script::new([Access::blocked("unavailable", None)]), Script::default());
    let run = bench.run_with(&args, &[("TOKEN", "user-token")]);
    let said = run.out.clone() + &run.err;
    assert!(said.contains("Coding-agent runtime access is unavailable."), "{said}");
    assert!(said.contains("the state is `unavailable`; do not repeat the same call"), "{said}");

    let run = bench.run_with(&args, &[]);
    assert_eq!(run.code, Some(3), "a token that is not there fails the wiring");
    assert!(run.err.contains("`TOKEN`"), "{}", run.err);
    bench.write("far.yaml", &endpoint(desk.server.platform_url(), ", handle: h"));
    let run = bench.run_with(&args, &[("TOKEN", "user-token")]);
    assert_eq!(run.code, Some(3));
    assert!(run.err.contains("refuses `agent_session_uid`") && run.err.contains("far.yaml:6"), "{}", run.err);
}

#[test]
fn a_stand_in_can_be_tried_from_the_command_line() {
    let bench = Bench::new(&[(
        "world.json",
        r#"{"message_limit_ms": 50, "turns": [{"what": "echo", "delay_ms": 60000}]}"#,
    )]);
    let mut command = bench.command(&["dev", "platform", "--token", "mine", "--script", "world.json"]);
    let mut child = command.stdout(Stdio::piped()).spawn().expect("it runs");
    let mut lines = BufReader::new(child.stdout.take().expect("stdout")).lines();
    let told: Vec<String> = lines.by_ref().take(3).map(|line| line.expect("a line")).collect();
    let sends = told.iter().find(|line| line.contains("session send")).expect("how to send");
    let words: Vec<&str> = sends.split_whitespace().skip(2).collect();
    let run = bench.run_with(&words, &[("PLATFORM_TOKEN", "mine")]);
    child.kill().expect("it ends");
    child.wait().expect("it ended");
    assert_eq!(run.code, Some(1));
    assert!(run.err.contains("the platform's limit of 0.05 s"), "{}", run.err);
    let run = bench.run(&["dev", "platform", "--script", "none.json"]);
    assert_eq!((run.code, run.out.as_str()), (Some(1), ""));
}

const OFFERED: &str = "\
apiVersion: infra/v1
kind: Application
metadata: {name: here}
spec:
  endpoints:
    a:
      protocol: a2a
      usage: deploy
      url: http://127.0.0.1:9
      a2a:
        response_kinds: [message, task]
        message_limit: 0.5
        security: {desk: {bearer: {tokens: {alice: the-runtime-token}}}}
";

#[test]
fn an_agent_that_is_served_is_the_runtime_of_a_platform() {
    let desk = Desk::new();
    let bench =
        team("rules:\n  - {contains: slow, delay_ms: 60000, say: late}\n  - {say: \"It is quick.\"}\n");
    bench.write("here.yaml", OFFERED);
    let serving =
        Serving::start(&bench, &["serve", "mas.yaml", "--infra-ref", "here.yaml", "--listen", "127.0.0.1:0"]);
    let runtime = format!("http://{}/", serving.socket());
    let access = |token: &str| Access::Ready {
        expires_in: None,
        patch: [("rpc_url", json!(runtime)), ("token", json!(token))]
            .map(|(name, value)| (name.to_owned(), value))
            .into_iter()
            .collect(),
    };
    // The first token is refused, as one that was rotated is.
    let steps = [access("an-old-token"), access("the-runtime-token")];
    desk.stand_in().script(Script::new(steps), Script::default());
    let run = desk.run(&["send", SESSION, "--message", "hello"]);
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    let message = &run.json()["message"];
    assert_eq!(
        (&message["parts"][0]["text"], &message["role"]),
        (&json!("It is quick."), &json!("ROLE_AGENT"))
    );
    let err = desk.fails(&["send", SESSION, "--message", "slow"]);
    assert!(err.contains("error[mas::platform::message_limit]") && err.contains("of 0.5 s"), "{err}");
    let run = desk.run(&["send", SESSION, "--message", "again", "--response-kind", "task"]);
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    let task = run.json()["task"]["id"].as_str().expect("an id").to_owned();
    let run = desk.run(&["task", "wait", SESSION, &task]);
    assert_eq!(run.json()["task"]["status"]["state"], "TASK_STATE_COMPLETED", "{}{}", run.out, run.err);
    assert_eq!(desk.stand_in().calls_of("/resolve-runtime-access/").len(), 2);
    let (_, card) = serving.get("/.well-known/agent-card.json");
    let params = &card["capabilities"]["extensions"][0]["params"];
    assert_eq!(
        *params,
        json!({"supportedResponseKinds": ["message", "task"], "defaultResponseKind": "message"})
    );
}
