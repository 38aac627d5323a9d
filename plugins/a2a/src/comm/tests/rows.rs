//! What the rows of endpoints say.

use std::path::Path;

use mas_contracts::{Category, Descriptor, inventory};
use mas_testkit::build_context;
use serde_json::{Value, json};

use super::super::params::{Terms, check};
use crate::params::Params;

fn problems(params: &Value) -> Vec<String> {
    check(params).into_iter().map(|problem| format!("{}: {}", problem.path, problem.message)).collect()
}

/// A row that is called and served, with something of everything.
fn both() -> Value {
    json!({
        "usage": "use-and-deploy",
        "url": "http://127.0.0.1:9006",
        "headers": {"Authorization": "Bearer hidden"},
        "timeout": [2, 30],
        "a2a": {
            "listen": {"host": "0.0.0.0", "port": 9006},
            "grpc_port": 9007,
            "card": "union",
            "cancel": "interrupt",
            "capabilities": {"streaming": true, "pushNotifications": true},
            "client": {
                "card": {"url": "http://h/"}, "card_ttl": 0, "protocol": 1.0, "bindings": ["grpc", "REST"],
                "stream": "never", "context": "derived", "identity_secret_env": "MINE",
                "reconnect": {"attempts": 0, "backoff": [0.1, 1]}, "stream_idle": 5,
                "poll": {"initial": 0.5, "factor": 1, "max": 2, "tolerate": 0},
                "cancel_on_timeout": false, "cancel_on_drop": false, "cancel_timeout": 1,
                "auth_wait": 60, "resume_interrupted": false,
                "accepted_output_modes": ["application/json", "text/plain"],
                "max_event_bytes": 2048, "max_reply_bytes": 4096,
                "ca_file": "ca.pem", "verify": false, "proxy": "http://me:hidden@p:1",
            },
        },
    })
}

#[test]
fn a_row_for_both_ends_is_taken_by_both() {
    assert_eq!(problems(&both()), Vec::<String>::new());
    assert_eq!(Params::check(&both()), []);
    let found = |category: Category| {
        let all = inventory::iter::<Descriptor>().filter(|it| it.builder.category() == category);
        all.filter(|it| it.name == "a2a").count()
    };
    assert_eq!((found(Category::AgentComm), found(Category::AgentExpose)), (1, 1));
    let terms = Terms::read(&both()).unwrap();
    assert!(!format!("{terms:?}").contains("hidden"), "{terms:?}");
    assert_eq!(terms.limit().as_secs(), 32);
    let settings = terms.settings(&build_context(Path::new("/"), &[])).unwrap();
    assert_eq!((settings.connect_timeout.as_secs(), settings.verify), (2, false));
    let policy = terms.client().policy();
    assert!(!policy.stream && !policy.cancel_on_drop && !policy.resume_interrupted);
    assert_eq!(policy.output_modes, ["application/json", "text/plain"]);
    assert_eq!((policy.largest, policy.reconnect.attempts, policy.poll.tolerate), (4096, 0, 0));
}

#[test]
fn what_concerns_the_other_end_is_not_looked_at() {
    let listens =
        json!({"url": "http://h:1", "a2a": {"tls": {"cert": "c", "key": "k"}, "limits": {"nesting": 0}}});
    assert_eq!(problems(&listens), Vec::<String>::new());
    assert!(!Params::check(&listens).is_empty());
    let calls = json!({"url": "http://h:1", "usage": "deploy", "a2a": {"client": {"stream_idle": 0}}});
    assert_eq!(Params::check(&calls), []);
    assert_eq!(problems(&calls), ["a2a.client.stream_idle: seconds, more than 0 and at most a day"]);
}

#[test]
fn defaults_are_those_that_are_documented() {
    let terms = Terms::read(&json!({"url": " a2as://h/x "})).unwrap();
    assert_eq!(terms.url, "https://h/x");
    assert_eq!(terms.limit().as_secs(), 305);
    let (client, policy) = (terms.client(), terms.client().policy());
    let standard = mas_comm_kit::turn::TurnPolicy::default();
    let modes = vec!["text/plain".to_owned()];
    assert_eq!(policy, mas_comm_kit::turn::TurnPolicy { output_modes: modes, ..standard });
    assert_eq!((client.bounds().event, client.bounds().reply), (10 << 20, 32 << 20));
    assert_eq!(client.contexts().1, ["MAS_IDENTITY_SECRET", "A4H_IDENTITY_SECRET"]);
    assert_eq!(client.direct(), None);
}

#[test]
fn addresses_are_those_of_http_or_of_the_shorthands() {
    for (url, plain) in [
        ("http://h", "http://h"),
        ("HTTP://h", "http://h"),
        ("https://h/a/b?x=1", "https://h/a/b?x=1"),
        ("a2a://h:9006/a", "http://h:9006/a"),
        ("A2AS://h", "https://h"),
    ] {
        assert_eq!(Terms::read(&json!({"url": url})).unwrap().url, plain, "{url}");
    }
    for url in ["", "h:1", "file:///etc/passwd", "htp://h", "a2a://", "http://h/a b", "grpc://h"] {
        assert_eq!(
            problems(&json!({"url": url})),
            ["url: expected an absolute http or https address"],
            "{url}"
        );
    }
    assert_eq!(problems(&Value::Null), ["url: no address says where the agent is"]);
}

#[test]
fn problems_say_where() {
    let client = |client: Value| problems(&json!({"url": "http://h", "a2a": {"client": client}}));
    let first = |params| client(params)[0].split(", expected").next().unwrap_or_default().to_owned();
    assert_eq!(first(json!({"card_tll": 1})), "a2a.client.card_tll: unknown field `card_tll`");
    assert_eq!(first(json!({"protocol": "2.0"})), "a2a.client.protocol: expected `auto`, `1.0` or `0.3`");
    assert_eq!(
        first(json!({"bindings": ["soap"]})),
        "a2a.client.bindings[0]: `soap` is no binding; there are `jsonrpc`, `http+json` and `grpc`"
    );
    assert_eq!(
        first(json!({"card": 5})),
        "a2a.client.card: expected a card, or the path or the address of one"
    );
    let wrong = json!({
        "card": "ftp://h/card.json", "card_ttl": -1, "bindings": [], "context": {"fixed": " "},
        "identity_secret_env": "", "reconnect": {"attempts": 101, "backoff": [0, 1]}, "stream_idle": 0,
        "poll": {"initial": -1, "factor": 0.5, "max": 90000, "tolerate": 101}, "cancel_timeout": 0,
        "auth_wait": 0, "accepted_output_modes": ["a b"], "max_event_bytes": 1, "max_reply_bytes": 1,
    });
    insta::assert_snapshot!(client(wrong).join("\n"), @r"
    a2a.client.stream_idle: seconds, more than 0 and at most a day
    a2a.client.cancel_timeout: seconds, more than 0 and at most a day
    a2a.client.auth_wait: seconds, more than 0 and at most a day
    a2a.client.poll.initial: seconds, more than 0 and at most a day
    a2a.client.poll.max: seconds, more than 0 and at most a day
    a2a.client.reconnect.backoff[0]: seconds, more than 0 and at most a day
    a2a.client.card_ttl: seconds, from 0 to a day
    a2a.client.poll.factor: from 1 to 100
    a2a.client.poll.tolerate: 100 at most
    a2a.client.reconnect.attempts: 100 at most
    a2a.client.max_event_bytes: bytes, from 1024 to 1 GiB
    a2a.client.max_reply_bytes: bytes, from 1024 to 1 GiB
    a2a.client.bindings: it is empty, so that no interface could ever be taken
    a2a.client.accepted_output_modes[0]: `a b` is no media type
    a2a.client.context.fixed: it is empty
    a2a.client.identity_secret_env: it is empty
    a2a.client.card: expected an absolute http or https address
    ");
    let row = json!({"url": "http://h", "timeout": "5", "headers": {}});
    assert!(problems(&row)[0].starts_with("timeout: "), "{:?}", problems(&row));
    let row = json!({"url": "http://h", "headers": {"a b": "c"}});
    assert_eq!(problems(&row), ["headers.a b: `a b` is no name of a header"]);
}

#[test]
fn what_would_have_no_effect_is_refused() {
    let client = |client: Value| problems(&json!({"url": "http://h", "a2a": {"client": client}}));
    for context in [json!("server"), json!({"fixed": "c"})] {
        assert_eq!(client(json!({"context": context})), Vec::<String>::new());
        assert_eq!(
            client(json!({"context": context, "identity_secret_env": "MINE"})),
            ["a2a.client.identity_secret_env: it is for `context: derived` only"]
        );
    }
    assert_eq!(
        client(json!({"poll": {"initial": 20}, "reconnect": {"backoff": [2, 1]}})),
        [
            "a2a.client.poll.max: the longest pause is shorter than the first one, 20 s",
            "a2a.client.reconnect.backoff[1]: the longest pause is shorter than the first one, 2 s",
        ]
    );
}
