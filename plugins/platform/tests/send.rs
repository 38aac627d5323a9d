//! The rules of a send, one by one, on a paused clock.

#![allow(clippy::panic, reason = "functions that tests share")]

mod support;

use mas_contracts::{Delivery, ErrorKind, Retry};
use mas_platform::{Caching, Letter, MESSAGE_LIMIT, Output, ResponseKind, Terms};
use mas_platform_stand_in::{Access, Manner, Script, StandIn, Step, Turn};
use serde_json::{Map, Value, json};
use support::{Bench, SEND, TOKEN, hello};

fn patch(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("{other}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_message_is_posted_as_the_contract_has_it() {
    let bench = Bench::new();
    let letter = Letter { message_id: Some("own".into()), ..hello() };
    let received = bench.send(&letter).await.unwrap();
    assert_eq!((received.kind(), &*received.text()), (ResponseKind::Message, "hello"));
    assert_eq!(received.inner()["metadata"], json!({"turn": 1}), "what is not known is kept");
    let calls = bench.stand_in.calls();
    let paths: Vec<String> = calls.iter().map(|call| format!("{} {}", call.method, call.path)).collect();
    let uid = StandIn::SESSION;
    assert_eq!(
        paths,
        [
            format!("POST /api/v1/agent-sessions/{uid}/resolve-runtime-access/"),
            format!("POST /rt/{uid}/api/a2a/v1/message:send"),
        ],
        "one slash between the address, which ends in one, and the path"
    );
    assert_eq!(calls[0].json(), json!({}));
    let headers: Vec<String> =
        calls[1].headers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
    insta::assert_snapshot!(headers.join("\n"), @r"
    content-type: application/a2a+json
    accept: application/a2a+json
    a2a-version: 1.0
    a2a-extensions: https://mainsequence.ai/a2a/extensions/response-kind/v1
    authorization: sha256:594151d65d79ff79fc97ad609183a69021e43036ff8ea811c2babc60058efaf9
    ");
    assert_eq!(
        calls[1].json(),
        json!({
            "message": {"messageId": "own", "role": "ROLE_USER", "contextId": uid, "parts": [{"text": "hello"}]},
            "configuration": {"acceptedOutputModes": ["text/plain"], "responseKind": "message"},
        })
    );
    assert_eq!(bench.stand_in.legacy(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_strict_dictionary_comes_back_as_data() {
    let bench = Bench::new();
    let letter = Letter { output: Output::Dictionary { repairs: 2 }, ..hello() };
    let received = bench.send(&letter).await.unwrap();
    assert_eq!(received.inner()["parts"][0]["data"], json!({"heard": "hello", "repairAttempts": 2}));
}

#[tokio::test(start_paused = true)]
async fn it_waits_only_while_the_runtime_gets_ready() {
    let bench = Bench::scripted([Access::blocked("waking", Some(1500)), Access::ready()], [Turn::Echo]);
    let (sent, took) = bench.send_within(&hello(), 900.0).await;
    sent.unwrap();
    assert_eq!((bench.resolves(), bench.posts(), took), (2, 1, 1.5));
}

#[tokio::test(start_paused = true)]
async fn a_pause_of_nothing_makes_no_storm() {
    let bench = Bench::scripted([Access::blocked("starting", Some(0))], [Turn::Echo]);
    let (sent, _) = bench.send_within(&hello(), 1.0).await;
    assert_eq!(sent.unwrap_err().code(), "mas::platform::not_ready");
    assert_eq!((bench.resolves(), bench.posts()), (20, 0));
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_does_not_fit_is_not_begun() {
    for (pause, fits) in [(2999, true), (3000, false), (3001, false)] {
        let bench =
            Bench::scripted([Access::blocked("updating", Some(pause)), Access::ready()], [Turn::Echo]);
        let (sent, took) = bench.send_within(&hello(), 3.0).await;
        if fits {
            sent.unwrap();
            continue;
        }
        let error = sent.unwrap_err();
        assert_eq!((error.code(), error.delivery()), ("mas::platform::not_ready".into(), Delivery::NotSent));
        assert_eq!(error.retry(), Retry::After(std::time::Duration::from_millis(pause)));
        assert_eq!((took, bench.resolves(), bench.posts()), (0.0, 1, 0));
    }
    let bench = Bench::scripted([Access::blocked("waking", Some(60_000))], [Turn::Echo]);
    let (sent, _) = bench.send_within(&hello(), 3.0).await;
    insta::assert_snapshot!(sent.unwrap_err(), @"the runtime of the session is not ready: it is `waking`, and to ask again in 60 s does not fit into the 3 s that are left; nothing was sent, so send it again later, or allow it more time");
}

#[tokio::test(start_paused = true)]
async fn time_that_is_over_while_it_gets_ready_is_not_ready() {
    let bench = Bench::new();
    let slow = Step::from(Access::ready()).after_ms(60_000);
    let steps = [Step::from(Access::blocked("waking", Some(500))), slow];
    bench.stand_in.script(Script::new(steps), Script::default());
    let (sent, took) = bench.send_within(&hello(), 2.0).await;
    let error = sent.unwrap_err();
    assert_eq!((error.code(), error.delivery()), ("mas::platform::not_ready".into(), Delivery::NotSent));
    assert_eq!((took, bench.posts()), (2.0, 0));
}

#[tokio::test(start_paused = true)]
async fn no_cadence_is_invented() {
    let bench = Bench::scripted([Access::blocked("waking", None), Access::ready()], [Turn::Echo]);
    let error = bench.fails(&hello()).await;
    assert_eq!((error.code(), bench.resolves(), bench.posts()), ("mas::platform::not_ready".into(), 1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_runtime_that_is_unavailable_gets_no_post() {
    for state in ["unavailable", "update_required", "update_failed", "ready", "of_later_days"] {
        let bench = Bench::scripted([Access::blocked(state, Some(100))], [Turn::Echo]);
        let error = bench.fails(&hello()).await;
        assert!(error.message().starts_with("Coding-agent runtime access is unavailable. "), "{error}");
        assert_eq!((error.delivery(), bench.resolves(), bench.posts()), (Delivery::NotSent, 1, 0), "{state}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_about_access_that_is_wrong_gets_no_post() {
    let ready = |fields: Value| Access::Ready { expires_in: None, patch: patch(fields) };
    for access in [
        ready(json!({"token": null})),
        ready(json!({"token": " "})),
        ready(json!({"mode": "unavailable"})),
        ready(json!({"rpc_url": null})),
        ready(json!({"rpc_url": "http://elsewhere.example/"})),
        ready(json!({"runtime_interaction": null})),
        Access::Body(json!([])),
        Access::Body(json!({})),
        Access::Page(200),
    ] {
        let bench = Bench::scripted([access.clone()], [Turn::Echo]);
        let error = bench.fails(&hello()).await;
        assert_eq!(error.code(), "mas::platform::access_invalid", "{access:?}");
        assert_eq!((error.delivery(), bench.posts()), (Delivery::NotSent, 0));
        assert!(!format!("{error:?}").contains("tok-1"), "{error:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_of_the_platform_is_no_refusal_of_the_runtime_and_is_not_repeated() {
    for (status, kind) in [
        (401, ErrorKind::Unauthenticated),
        (403, ErrorKind::Denied),
        (404, ErrorKind::NotFound),
        (429, ErrorKind::RateLimited),
        (500, ErrorKind::Unavailable),
        (201, ErrorKind::Rejected),
    ] {
        let bench = Bench::scripted([Access::Status(status), Access::ready()], [Turn::Echo]);
        let error = bench.fails(&hello()).await;
        assert_eq!((error.kind(), error.delivery()), (kind, Delivery::NotSent), "{status}");
        assert_eq!((bench.resolves(), bench.posts()), (1, 0), "{status}");
        assert!(!format!("{error:?}").contains(TOKEN));
    }
}

#[tokio::test(start_paused = true)]
async fn refused_access_is_renewed_once_and_the_same_bytes_are_sent() {
    for status in [401, 403] {
        let bench = Bench::scripted([Access::ready()], [Turn::Refused(status), Turn::Echo]);
        let letter = Letter { message_id: Some("own".into()), ..hello() };
        bench.send(&letter).await.unwrap();
        let posts = bench.stand_in.calls_of(SEND);
        assert_eq!((bench.resolves(), posts.len()), (2, 2));
        assert_eq!(posts[0].body, posts[1].body);
        assert_eq!(posts[0].json()["message"]["messageId"], "own");
        assert_ne!(posts[0].header("authorization"), posts[1].header("authorization"), "tok-1, then tok-2");
    }
}

#[tokio::test(start_paused = true)]
async fn a_second_refusal_is_an_error_and_the_access_is_dropped() {
    for (status, kind) in [(401, ErrorKind::Unauthenticated), (403, ErrorKind::Denied)] {
        let bench = Bench::scripted([Access::ready()], [Turn::Refused(status)]);
        let error = bench.fails(&hello()).await;
        assert_eq!((error.kind(), error.delivery()), (kind, Delivery::Rejected));
        assert!(!error.message().contains("resolve"), "{error}");
        assert_eq!((bench.resolves(), bench.posts(), bench.stand_in.executed()), (2, 2, 0));
        bench.fails(&hello()).await;
        assert_eq!((bench.resolves(), bench.posts()), (4, 4), "nothing was kept");
    }
}

#[tokio::test(start_paused = true)]
async fn access_that_is_renewed_goes_through_the_same_gate() {
    let waking = [Access::ready(), Access::blocked("waking", Some(700)), Access::ready()];
    let bench = Bench::scripted(waking, [Turn::Refused(401), Turn::Echo]);
    let (sent, took) = bench.send_within(&hello(), 10.0).await;
    sent.unwrap();
    assert_eq!((bench.resolves(), bench.posts(), took), (3, 2, 0.7));

    let blocked = [Access::ready(), Access::blocked("unavailable", None)];
    let bench = Bench::scripted(blocked, [Turn::Refused(401), Turn::Echo]);
    let error = bench.fails(&hello()).await;
    assert_eq!(error.code(), "mas::platform::submission_blocked");
    assert_eq!((bench.resolves(), bench.posts()), (2, 1));

    let bench =
        Bench::scripted([Access::ready(), Access::blocked("waking", Some(9_000))], [Turn::Refused(401)]);
    let (sent, took) = bench.send_within(&hello(), 5.0).await;
    assert_eq!(sent.unwrap_err().code(), "mas::platform::not_ready");
    assert_eq!((bench.posts(), took), (1, 0.0));
}

#[tokio::test(start_paused = true)]
async fn nothing_else_is_sent_again() {
    for turn in [
        Turn::Page(502),
        Turn::Page(504),
        Turn::Body(500, json!({})),
        Turn::Body(503, json!({})),
        Turn::Body(429, json!({})),
        Turn::Body(400, json!({})),
        Turn::Body(404, json!({})),
    ] {
        let bench = Bench::scripted([Access::ready()], [turn.clone(), Turn::Echo]);
        let error = bench.fails(&hello()).await;
        assert_eq!((bench.resolves(), bench.posts()), (1, 1), "{turn:?}: {error:?}");
        let refused = matches!(turn, Turn::Body(400..=499, _));
        assert_eq!(error.may_resend(), refused, "{error:?}");
    }
    for manner in [Manner::Cut, Manner::Silent] {
        let bench = Bench::new();
        let step = Step::from(Turn::Echo).written(manner);
        bench.stand_in.script(Script::default(), Script::new([step, Step::from(Turn::Echo)]));
        let error = bench.fails(&hello()).await;
        assert_eq!(error.code(), "mas::platform::outcome_ambiguous", "{manner:?}");
        assert_eq!((error.delivery(), bench.posts()), (Delivery::Unknown, 1));
    }
    let elsewhere =
        Access::Ready { expires_in: None, patch: patch(json!({"rpc_url": "http://nobody.localhost/"})) };
    let bench = Bench::scripted([elsewhere], [Turn::Echo]);
    let error = bench.fails(&hello()).await;
    assert_eq!((error.code(), error.delivery()), ("mas::http::connect".into(), Delivery::NotSent));
    assert_eq!(bench.resolves(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_limit_of_a_message_is_an_error_of_its_own_with_its_seconds() {
    let bench = Bench::new();
    let slow = Step::from(Turn::Echo).after_ms(120_000);
    bench.stand_in.script(Script::default(), Script::new([slow]));
    let error = bench.fails(&hello()).await;
    assert_eq!((error.code(), error.delivery()), (MESSAGE_LIMIT.into(), Delivery::Answered));
    assert!(error.context().any(|pair| pair == ("limit_seconds", "90")), "{error:?}");
    assert!(
        error.message().contains("response_kind=\"task\"")
            && error.message().contains("--response-kind task")
    );
    assert_eq!((bench.posts(), bench.stand_in.executed()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_task_with_the_body_of_the_limit_is_a_plain_failure() {
    let info = json!({
        "@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "MESSAGE_RESPONSE_LIMIT_EXCEEDED",
        "domain": "mainsequence.ai", "metadata": {"limitSeconds": "90"},
    });
    let body = json!({"error": {"code": 504, "message": "too long", "details": [info]}});
    let bench = Bench::scripted([Access::ready()], [Turn::Body(504, body)]);
    let error = bench.fails(&Letter { kind: ResponseKind::Task, ..hello() }).await;
    assert_eq!((error.code(), error.delivery()), ("mas::platform::server_error".into(), Delivery::Unknown));
    let error = bench.fails(&hello()).await;
    assert_eq!(error.code(), MESSAGE_LIMIT);
}

#[tokio::test(start_paused = true)]
async fn another_domain_and_base_serve_another_platform() {
    let terms = Terms { limit_domain: "platform.example".to_owned(), ..Terms::default() };
    let bench = Bench::with(terms, |_| Caching::Off);
    let slow = Step::from(Turn::Echo).after_ms(120_000);
    bench.stand_in.script(Script::default(), Script::new([slow]));
    assert_eq!(
        bench.fails(&hello()).await.code(),
        "mas::platform::server_error",
        "the limit of another platform"
    );
    let terms = Terms { extension_base: "https://platform.example/x".to_owned(), ..Terms::default() };
    let bench = Bench::with(terms, |_| Caching::Off);
    assert_eq!(bench.fails(&hello()).await.kind(), ErrorKind::Invalid);
    let call = &bench.stand_in.calls_of(SEND)[0];
    assert_eq!(call.header("a2a-extensions"), Some("https://platform.example/x/response-kind/v1"));
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_wrong_was_executed_and_is_told_so() {
    let both = json!({"message": {"messageId": "a"}, "task": {"id": "b"}});
    for (turn, code) in [
        (Turn::Patched(patch(json!({"contextId": "other"}))), "mas::platform::response_invalid"),
        (Turn::Patched(patch(json!({"role": "ROLE_RESPONDER"}))), "mas::platform::response_invalid"),
        (Turn::Patched(patch(json!({"role": null}))), "mas::platform::response_invalid"),
        (Turn::Patched(patch(json!({"role": "agent"}))), "mas::platform::response_invalid"),
        (Turn::Patched(patch(json!({"parts": []}))), "mas::platform::response_invalid"),
        (Turn::Body(200, both), "mas::platform::response_invalid"),
        (Turn::Body(200, json!({})), "mas::platform::response_invalid"),
        (Turn::Body(200, json!([1])), "mas::platform::response_invalid"),
        (Turn::Page(200), "mas::platform::response_invalid"),
        (Turn::Body(200, json!({"task": {"id": "t"}})), "mas::platform::response_kind_mismatch"),
        (Turn::Oversize(40 * 1024 * 1024), "mas::platform::response_too_large"),
    ] {
        let bench = Bench::scripted([Access::ready()], [turn]);
        let error = bench.fails(&hello()).await;
        assert_eq!((error.code(), error.delivery()), (code.into(), Delivery::Answered));
        assert_eq!(bench.posts(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_sent_is_refused_before_any_request() {
    let bench = Bench::new();
    for letter in [
        Letter::text(" "),
        Letter { output: Output::Dictionary { repairs: 0 }, ..hello() },
        Letter { kind: ResponseKind::Task, ..Letter::text("") },
    ] {
        let error = bench.fails(&letter).await;
        assert_eq!(
            (error.code(), error.delivery()),
            ("mas::platform::request_invalid".into(), Delivery::NotSent)
        );
    }
    assert_eq!(bench.stand_in.calls().len(), 0);
}
