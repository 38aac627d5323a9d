//! What is taken, what is refused and where, and what the defaults are.

use std::path::Path;

use mas_testkit::build_context;
use serde_json::json;

use super::*;

fn sound() -> Value {
    json!({"platform_url": "https://platform.example", "token_env": "TOKEN", "agent_session_uid": "s"})
}

fn with(patch: &Value) -> Value {
    let mut params = sound();
    let map = params.as_object_mut().unwrap();
    for (name, value) in patch.as_object().unwrap() {
        if value.is_null() {
            map.remove(name);
        } else {
            map.insert(name.clone(), value.clone());
        }
    }
    params
}

fn setup(patch: &Value) -> Result<Setup> {
    Params::setup(&with(patch), &build_context(Path::new("/base"), &[("TOKEN", "tok-user"), ("BLANK", " ")]))
}

#[tokio::test]
async fn the_defaults_are_those_of_the_contract() {
    let setup = setup(&json!({})).unwrap();
    assert_eq!(Params::session(&sound()).unwrap(), Target::Session("s".to_owned()));
    assert_eq!((setup.kind, setup.output), (ResponseKind::Message, Output::Text));
    let terms = setup.terms;
    assert_eq!(terms.timeout, Phases::of_secs(5, 900));
    assert_eq!((terms.task_poll_interval.as_secs(), terms.task_wait_timeout.as_secs()), (1, 900));
    assert_eq!((terms.max_response_bytes, terms.max_file_bytes), (32 << 20, 15 << 20));
    assert_eq!(terms.response_kind(), "https://mainsequence.ai/a2a/extensions/response-kind/v1");
    let Caching::Memory(expiry) = setup.caching else { panic!("{:?}", setup.caching) };
    assert_eq!(expiry, Expiry::default());
}

#[tokio::test]
async fn what_an_endpoint_says_in_words_of_its_own_is_taken() {
    let patch = json!({
        "platform_url": null, "url": "https://other", "timeout": 30, "agent_session_uid": null,
        "agent_uid": "a", "handle": "weekly", "session_name": "Weekly", "response_kind": "task",
        "output": "dictionary", "cache": {"mode": "file", "path": "c/a.json", "ttl": 5},
    });
    let setup = setup(&patch).unwrap();
    assert_eq!((&*setup.url, setup.terms.timeout), ("https://other", Phases::from_secs(30.0).unwrap()));
    let Target::Handle(handle) = Params::session(&with(&patch)).unwrap() else { panic!() };
    assert_eq!((&*handle.handle, handle.session_name.as_deref()), ("weekly", Some("Weekly")));
    assert_eq!((setup.kind, setup.output), (ResponseKind::Task, Output::Dictionary { repairs: 3 }));
    let Caching::File(_, file) = setup.caching else { panic!() };
    assert!(format!("{file:?}").contains("/base/c/a.json"));
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    let cases = [
        (json!({"platform_url": null}), "platform_url"),
        (json!({"platform_url": "http://platform.example"}), "platform_url"),
        (json!({"platform_url": "no url"}), "platform_url"),
        (json!({"token_env": null}), "token_env"),
        (json!({"token_env": " "}), "token_env"),
        (json!({"token_file": "t"}), "token_file"),
        (json!({"agent_session_uid": null}), "agent_session_uid"),
        (json!({"agent_session_uid": " "}), "agent_session_uid"),
        (json!({"handle": "h"}), "agent_session_uid"),
        (json!({"session_name": "h"}), "agent_session_uid"),
        (json!({"agent_session_uid": null, "handle": "h"}), "agent_uid"),
        (json!({"agent_session_uid": null, "agent_uid": "a"}), "handle"),
        (json!({"agent_session_uid": null, "agent_uid": "a", "handle": ""}), "handle"),
        (json!({"response_kind": "both"}), "response_kind"),
        (json!({"output": "json"}), "output"),
        (json!({"output": "dictionary", "json_repair_attempts": 0}), "json_repair_attempts"),
        (json!({"json_repair_attempts": 3}), "json_repair_attempts"),
        (json!({"timeout": 0}), "timeout"),
        (json!({"timeout": [1, 0]}), "timeout"),
        (json!({"task_poll_interval": 0}), "task_poll_interval"),
        (json!({"task_wait_timeout": -1}), "task_wait_timeout"),
        (json!({"cache": {"mode": "disk"}}), "cache.mode"),
        (json!({"cache": {"mode": "file"}}), "cache.path"),
        (json!({"cache": {"path": "c"}}), "cache.path"),
        (json!({"cache": {"ttl": 0}}), "cache.ttl"),
        (json!({"cache": {"skew": -1}}), "cache.skew"),
        (json!({"max_response_bytes": 0}), "max_response_bytes"),
        (json!({"max_file_bytes": 0}), "max_file_bytes"),
        (json!({"extension_base": ""}), "extension_base"),
        (json!({"verify": true}), "verify"),
        (json!({"headers": {}}), ""),
    ];
    for (patch, place) in cases {
        let problems = check(&with(&patch));
        let paths: Vec<&str> = problems.iter().map(|problem| &*problem.path).collect();
        assert!(paths.contains(&place) || (place.is_empty() && paths.len() == 1), "{patch}: {problems:?}");
        if place != "timeout" && !place.is_empty() {
            let params = with(&patch);
            assert!(setup(&patch).is_err() || Params::session(&params).is_err(), "{patch}");
        }
    }
    assert_eq!(check(&sound()), []);
}

#[tokio::test]
async fn a_token_that_is_not_there_fails_the_wiring() {
    for name in ["NOT_SET", "BLANK"] {
        let error = setup(&json!({"token_env": name})).err().unwrap();
        assert_eq!(error.code(), "mas::platform::token");
        assert!(error.message().contains(name), "{error}");
    }
}
