//! The stand-in holds its callers to the contract, and does what its scripts say.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "functions that tests share")]

use std::time::Duration;

use mas_platform_stand_in::{
    Access, Answer, Asked, Half, Manner, OUTPUT_CONTRACT, RESPONSE_KIND, Script, Server, StandIn, Step, Turn,
};
use mas_testkit::TokioClock;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

const SESSION: &str = StandIn::SESSION;

fn stand_in() -> StandIn {
    StandIn::new("user-token", "http://runtime.localhost", TokioClock::shared())
}

fn asked(method: &str, path: &str, token: &str, body: Option<&Value>) -> Asked {
    let headers = [
        ("authorization", format!("Bearer {token}")),
        ("content-type", "application/a2a+json".to_owned()),
        ("accept", "application/a2a+json".to_owned()),
        ("a2a-version", "1.0".to_owned()),
        ("a2a-extensions", RESPONSE_KIND.to_owned()),
    ];
    Asked {
        method: method.to_owned(),
        path: path.to_owned(),
        headers: headers.map(|(name, value)| (name.to_owned(), value)).into(),
        body: body.map(Value::to_string).unwrap_or_default().into(),
    }
}

fn json_of(answer: &Answer) -> Value {
    serde_json::from_slice(&answer.body).unwrap_or_default()
}

fn platform(stand_in: &StandIn, method: &str, path: &str, body: Option<&Value>) -> (u16, Value) {
    let answer = stand_in.answer(Half::Platform, &asked(method, path, "user-token", body));
    (answer.status, json_of(&answer))
}

fn resolve(stand_in: &StandIn) -> Value {
    let path = format!("/api/v1/agent-sessions/{SESSION}/resolve-runtime-access/");
    platform(stand_in, "POST", &path, Some(&json!({}))).1
}

fn message(kind: &str) -> Value {
    json!({
        "message": {"messageId": "m1", "role": "ROLE_USER", "contextId": SESSION, "parts": [{"text": "hello"}]},
        "configuration": {"acceptedOutputModes": ["text/plain"], "responseKind": kind},
    })
}

fn runtime(stand_in: &StandIn, method: &str, path: &str, token: &str, body: Option<&Value>) -> Answer {
    stand_in.answer(Half::Runtime, &asked(method, &format!("/rt/{SESSION}/api/a2a/v1/{path}"), token, body))
}

fn send(stand_in: &StandIn, body: &Value) -> Answer {
    resolve(stand_in);
    let token = format!("tok-{}", stand_in.calls_of("/resolve-runtime-access/").len());
    runtime(stand_in, "POST", "message:send", &token, Some(body))
}

#[tokio::test(start_paused = true)]
async fn access_is_as_its_script_says_and_the_last_step_is_repeated() {
    let stand_in = stand_in();
    let steps = [Access::blocked("waking", Some(1500)), Access::ready()];
    stand_in.script(Script::new(steps), Script::default());
    let waking = resolve(&stand_in);
    assert_eq!(waking["runtime_interaction"]["retry_after_ms"], 1500);
    assert_eq!((&waking["token"], &waking["is_ready"]), (&Value::Null, &json!(true)));
    for number in 1..=2 {
        let ready = resolve(&stand_in);
        assert_eq!(ready["token"], format!("tok-{number}"));
        assert_eq!(ready["rpc_url"], format!("http://runtime.localhost/rt/{SESSION}/"));
    }
    let path = format!("/api/v1/agent-sessions/{SESSION}/resolve-runtime-access/");
    assert_eq!(platform(&stand_in, "POST", &path, Some(&json!({"a": 1}))).0, 400);
    assert_eq!(stand_in.answer(Half::Platform, &asked("POST", &path, "other", Some(&json!({})))).status, 401);
}

#[tokio::test(start_paused = true)]
async fn access_says_when_it_ends() {
    let stand_in = stand_in();
    let ready = Access::Ready { expires_in: Some(300), patch: serde_json::Map::new() };
    stand_in.script(Script::new([ready]), Script::default());
    assert_eq!(resolve(&stand_in)["expires_at"], "2026-01-01T00:05:00Z");
    let advance = asked("POST", "/_control/clock", "", Some(&json!({"advance_ms": 60_000})));
    assert_eq!(stand_in.answer(Half::Platform, &advance).status, 200);
    assert_eq!(resolve(&stand_in)["expires_at"], "2026-01-01T00:06:00Z");
}

#[tokio::test(start_paused = true)]
async fn a_message_that_is_not_as_the_contract_has_it_is_refused() {
    let stand_in = stand_in();
    let with = |pointer: &str, value: Value| {
        let mut body = message("message");
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        body.pointer_mut(parent).unwrap()[name] = value;
        body
    };
    for wrong in [
        with("/message/role", json!("ROLE_REQUESTER")),
        with("/message/role", json!("user")),
        with("/message/messageId", json!("")),
        with("/message/parts", json!([])),
        with("/message/parts", json!([{"kind": "text", "text": "hello"}])),
        with("/configuration/responseKind", json!("both")),
        with("/configuration/responseKind", Value::Null),
        with("/configuration/returnImmediately", json!(true)),
        with("/metadata", json!({OUTPUT_CONTRACT: {"jsonRepairAttempts": 0}})),
    ] {
        assert_eq!(send(&stand_in, &wrong).status, 400, "{wrong}");
    }
    assert_eq!(send(&stand_in, &with("/message/contextId", json!("other"))).status, 404);
    assert_eq!(runtime(&stand_in, "POST", "message:send", "tok-0", Some(&message("message"))).status, 401);
    for (name, value, status) in
        [("a2a-extensions", "", 400), ("content-type", "application/json", 415), ("a2a-version", "0.3", 400)]
    {
        let mut wrong = asked(
            "POST",
            &format!("/rt/{SESSION}/api/a2a/v1/message:send"),
            "tok-1",
            Some(&message("message")),
        );
        wrong
            .headers
            .iter_mut()
            .filter(|(known, _)| known == name)
            .for_each(|(_, text)| *text = value.to_owned());
        assert_eq!(stand_in.answer(Half::Runtime, &wrong).status, status, "{name}");
    }
    assert_eq!(stand_in.executed(), 0, "nothing ran");
    assert_eq!(send(&stand_in, &message("message")).status, 200);
    assert_eq!(stand_in.executed(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_turn_over_the_limit_of_a_message_ran_and_is_told_so() {
    let stand_in = stand_in();
    let slow = Step::from(Turn::Echo).after_ms(90_001);
    stand_in.script(Script::default(), Script::new([slow]));
    let answer = send(&stand_in, &message("message"));
    assert_eq!((answer.status, answer.delay, stand_in.executed()), (504, Duration::from_secs(90), 1));
    let info = &json_of(&answer)["error"]["details"][0];
    assert_eq!(info["reason"], "MESSAGE_RESPONSE_LIMIT_EXCEEDED");
    assert_eq!(
        (&info["domain"], &info["metadata"]["limitSeconds"]),
        (&json!("mainsequence.ai"), &json!("90"))
    );
    assert_eq!(send(&stand_in, &message("task")).status, 200, "a task may take longer");
}

#[tokio::test(start_paused = true)]
async fn tasks_go_through_their_states() {
    let stand_in = stand_in();
    let task = json_of(&send(&stand_in, &message("task")))["task"].clone();
    assert_eq!(task["status"]["state"], "TASK_STATE_SUBMITTED");
    let get = |path: &str| runtime(&stand_in, "GET", path, "tok-1", None);
    let state = |answer: &Answer| json_of(answer)["task"]["status"]["state"].clone();
    let states: Vec<Value> = (0..3).map(|_| state(&get("tasks/task-1"))).collect();
    assert_eq!(states, ["TASK_STATE_WORKING", "TASK_STATE_COMPLETED", "TASK_STATE_COMPLETED"]);
    assert_eq!(runtime(&stand_in, "POST", "tasks/task-1:cancel", "tok-1", None).status, 400);
    let refused = get("tasks/task-1:subscribe");
    let info = json_of(&refused)["error"]["details"][0].clone();
    assert_eq!((refused.status, &info["reason"]), (400, &json!("UNSUPPORTED_OPERATION")));
    assert_eq!(info["domain"], "a2a-protocol.org");
    assert_eq!(get("tasks/other").status, 404);
    send(&stand_in, &message("task"));
    let canceled = runtime(&stand_in, "POST", "tasks/task-2:cancel", "tok-1", None);
    assert_eq!(state(&canceled), "TASK_STATE_CANCELED");
}

#[tokio::test(start_paused = true)]
async fn strict_output_is_data_and_repairs_are_capped() {
    let stand_in = stand_in();
    let mut body = message("message");
    body["metadata"] = json!({OUTPUT_CONTRACT: {"jsonRepairAttempts": 99}});
    let part = json_of(&send(&stand_in, &body))["message"]["parts"][0].clone();
    assert_eq!(
        (&part["mediaType"], &part["data"]["repairAttempts"]),
        (&json!("application/json"), &json!(10))
    );
}

#[tokio::test(start_paused = true)]
async fn sessions_are_made_once_by_their_handle() {
    let stand_in = stand_in();
    let path = "/api/v1/agents/agent-1/sessions/get-or-create-session/";
    let body = json!({"handle_unique_id": "weekly", "name": "Weekly"});
    let (made, session) = platform(&stand_in, "POST", path, Some(&body));
    let (again, same) = platform(&stand_in, "POST", path, Some(&body));
    assert_eq!((made, again, &session), (201, 200, &same));
    let uid = session["uid"].as_str().unwrap();
    assert_eq!(platform(&stand_in, "GET", &format!("/api/v1/agent-sessions/{uid}/"), None).1, session);
    for wrong in [json!({}), json!({"handle_unique_id": "a", "session_uid": "b"})] {
        assert_eq!(platform(&stand_in, "POST", path, Some(&wrong)).0, 400);
    }
    let agents = platform(
        &stand_in,
        "POST",
        "/api/v1/agents/semantic-search/",
        Some(&json!({"q": "AGENT", "limit": 5})),
    );
    assert_eq!(agents.1["results"][0]["uid"], "agent-1");
    assert_eq!(
        platform(
            &stand_in,
            "POST",
            "/api/v1/agents/semantic-search/",
            Some(&json!({"q": "a", "limit": 101}))
        )
        .0,
        400
    );
}

#[tokio::test(start_paused = true)]
async fn a_path_of_earlier_days_is_gone_and_flagged() {
    let stand_in = stand_in();
    let path = format!("/api/v1/agent-sessions/{SESSION}/attach/");
    assert_eq!(platform(&stand_in, "POST", &path, None).0, 410);
    assert_eq!(stand_in.legacy(), [path]);
}

#[tokio::test(start_paused = true)]
async fn control_loads_scripts_and_shows_calls_without_tokens() {
    let stand_in = stand_in();
    let world = json!({
        "access": [{"what": {"blocked": {"state": "unavailable"}}}],
        "turns": [{"what": {"refused": 401}, "delay_ms": 5, "manner": {"drip": 10}}, {"what": "echo"}],
        "message_limit_ms": 200,
        "rotate": true,
    });
    let load = asked("POST", "/_control/script", "", Some(&world));
    assert_eq!(stand_in.answer(Half::Platform, &load).status, 200);
    assert_eq!(resolve(&stand_in)["runtime_interaction"]["state"], "unavailable");
    let wrong =
        stand_in.answer(Half::Platform, &asked("POST", "/_control/script", "", Some(&json!({"a": 1}))));
    assert_eq!(wrong.status, 400);
    let calls = stand_in.answer(Half::Platform, &asked("GET", "/_control/calls", "", None));
    let text = String::from_utf8(calls.body.to_vec()).unwrap();
    assert!(text.contains("sha256:") && !text.contains("user-token"), "{text}");
}

/// What a server writes to a request until it closes the connection.
async fn heard(url: &str, request: &str) -> String {
    let mut stream = TcpStream::connect(url.strip_prefix("http://").unwrap()).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut heard = Vec::new();
    stream.read_to_end(&mut heard).await.unwrap();
    String::from_utf8(heard).unwrap()
}

#[tokio::test]
async fn the_two_halves_are_at_addresses_of_their_own() {
    let server = Server::start("user-token", 0, TokioClock::shared()).await.unwrap();
    assert_ne!(server.platform_url(), server.runtime_url());
    let path = format!("/api/v1/agent-sessions/{SESSION}/resolve-runtime-access/");
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: h\r\nauthorization: Bearer user-token\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{{}}"
    );
    let answer = heard(server.platform_url(), &request).await;
    assert!(answer.contains(server.runtime_url()), "{answer}");
    let answer = heard(server.runtime_url(), &request).await;
    assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");

    let cut = Step::from(Access::ready()).written(Manner::Cut);
    server.stand_in().script(Script::new([cut]), Script::default());
    let answer = heard(server.platform_url(), &request).await;
    assert!(answer.starts_with("HTTP/1.1 200") && !answer.contains("token"), "{answer}");
    let drip = Step::from(Access::Body(json!({"a": 1}))).written(Manner::Drip(1));
    server.stand_in().script(Script::new([drip]), Script::default());
    let answer = heard(server.platform_url(), &request).await;
    assert!(answer.ends_with("{\"a\":1}"), "{answer}");
}
