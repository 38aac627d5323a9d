use serde_json::json;

use super::*;

fn problems(params: &Value) -> Vec<String> {
    let problems = Params::check(params);
    problems.into_iter().map(|problem| format!("{}: {}", problem.path, problem.message)).collect()
}

#[test]
fn the_rows_of_users_are_read() {
    let row = json!({
        "usage": "use-and-deploy",
        "url": "http://127.0.0.1:9006",
        "headers": {"Authorization": "Bearer hidden"},
        "timeout": 30,
        "a2a": {
            "listen": {"host": "0.0.0.0", "port": 9006},
            "grpc_port": 9007,
            "capabilities": {
                "streaming": true, "pushNotifications": true, "extendedAgentCard": false, "extensions": []
            },
        },
    });
    assert_eq!(problems(&row), Vec::<String>::new());
    let params = Params::read(&row).unwrap();
    assert!(params.deploys());
    assert_eq!(params.address().unwrap().url(), "http://127.0.0.1:9006");
    assert_eq!(params.listen().unwrap(), Listen { host: "0.0.0.0".to_owned(), port: 9006 });
    let grpc = params.grpc().unwrap();
    assert_eq!((grpc.listen.port, grpc.told.as_deref()), (9007, Some("127.0.0.1:9007")));
    assert!(!format!("{params:?}").contains("hidden"));

    let old = Params::read(&json!({"url": "http://127.0.0.1:9008", "expose": true})).unwrap();
    assert!(old.deploys() && old.grpc().is_none());
    assert!(old.a2a.capabilities.streaming && !old.a2a.capabilities.push_notifications);
    assert!(!Params::read(&json!({"url": "http://h:1"})).unwrap().deploys());
    assert!(!Params::read(&json!({"usage": "use", "expose": true, "url": "http://h:1"})).unwrap().deploys());
}

#[test]
fn problems_say_where() {
    assert_eq!(
        problems(&json!({"urll": "http://h"}))[0].split(',').next(),
        Some("urll: unknown field `urll`")
    );
    let place = |params: Value| problems(&params)[0].split(": ").next().unwrap_or_default().to_owned();
    assert_eq!(place(json!({"url": "http://h", "a2a": {"listen": {"port": 70000}}})), "a2a.listen.port");
    assert_eq!(place(json!({"url": "http://h", "a2a": {"card": "v3"}})), "a2a.card");
    assert_eq!(
        place(json!({"url": "http://h", "a2a": {"security": {"t": {"bearer": {"token": {}}}}}})),
        "a2a.security.t.bearer.token"
    );
    assert_eq!(problems(&json!({"usage": "deploy"})), ["url: no address says where to listen"]);
    assert_eq!(problems(&json!({"url": "ftp://h"})), ["url: expected an absolute http or https address"]);
    assert_eq!(
        problems(&json!({"usage": "deploy", "url": "https://h"})),
        ["a2a.listen: the address is https, and nothing says which socket is behind it"]
    );
    assert_eq!(place(json!({"url": "http://h", "timeout": [5, 0]})), "timeout");
    let wrong = json!({"url": "http://h:1/a", "headers": {"a b": "c"}, "a2a": {
        "tls": {"cert": "c.pem", "key": "k.pem"},
        "grpc_url": "h",
        "capabilities": {"extendedAgentCard": true, "extensions": [{"uri": "x"}, {"uri": "a:b"}, {"uri": "a:b"}]},
        "input_modes": ["text"],
        "security": {
            "none": {"bearer": {"tokens": {}}},
            "key": {"api_key": {"name": "a b", "keys": {"me": ""}}},
            "sso": {"jwt": {"issuer": "i", "audience": "a", "jwks": "http://keys.example.com", "algorithms": ["none"]}},
        },
        "signing": {"key": "k", "jku": "http://h"},
        "push": {"allow": ["http://h"], "queue": 0},
        "limits": {"nesting": 5000, "turn_seconds": -1},
        "cors": {"origins": ["app"]},
    }});
    insta::assert_snapshot!(problems(&wrong).join("\n"), @r"
    url: the url is http, but `a2a.tls` is declared
    a2a.grpc_url: the port is missing: write `host:port`
    a2a.capabilities.extensions[0].uri: `x` is no URI
    a2a.capabilities.extensions[2].uri: `a:b` stands here twice
    a2a.input_modes[0]: `text` is no media type such as `text/plain`
    a2a.security.key.api_key.keys.me: the name or the secret is empty
    a2a.security.key.api_key.name: `a b` is no name of a header
    a2a.security.none.bearer.tokens: nobody can ever authenticate: name at least one
    a2a.security.sso.jwt.jwks: keys are fetched over https only, but for those of this machine
    a2a.security.sso.jwt.algorithms[0]: `none` is no algorithm that is accepted
    a2a.signing.jku: the keys are published over https only
    a2a.push.queue: 1 at least
    a2a.push.allow[0]: `http://h` is neither a host nor a block of addresses
    a2a.limits.turn_seconds: seconds from 0.001 to a year
    a2a.limits.nesting: 1000 at most
    a2a.cors.origins: `app` is no origin: write `https://app.example.com` or `*`
    headers.a b: `a b` is no name of a header
    ");
}

#[test]
fn addresses_are_read_and_told_again() {
    let url = |url: &str| Address::parse(url).map(|at| at.url());
    assert_eq!(url("HTTP://127.0.0.1:9006/").unwrap(), "http://127.0.0.1:9006");
    assert_eq!(url("https://agents.example.com:443/a/b/").unwrap(), "https://agents.example.com/a/b");
    assert_eq!(url("http://[::1]:80").unwrap(), "http://[::1]");
    for bad in [
        "",
        "h:1",
        "http://",
        "http://:1",
        "http://h:99999",
        "http://me@h",
        "http://h/a//b",
        "http://h/..",
        "http://h?x",
        "http://h/a?x",
        "http://[::g]",
    ] {
        assert!(Address::parse(bad).is_err(), "{bad}");
    }
    let told = |params: Value| Params::read(&params).unwrap().grpc().and_then(|grpc| grpc.told);
    assert_eq!(
        told(json!({"url": "http://h:1", "a2a": {"grpc_url": "http://g:7/"}})).as_deref(),
        Some("g:7")
    );
    assert_eq!(told(json!({"url": "http://[::1]:1", "a2a": {"grpc_port": 7}})).as_deref(), Some("[::1]:7"));
    assert_eq!(told(json!({"url": "http://h:1", "a2a": {"grpc_port": 0}})), None);
    let listen = json!({"usage": "deploy", "a2a": {"listen": {"host": "0.0.0.0", "port": 5}}});
    assert_eq!(Params::read(&listen).unwrap().address().unwrap().url(), "http://127.0.0.1:5");
}

#[test]
fn kinds_of_response_are_in_the_card_and_have_a_limit() {
    let row = |a2a: Value| json!({"url": "http://127.0.0.1:9006", "usage": "deploy", "a2a": a2a});
    let params =
        Params::read(&row(json!({"response_kinds": ["message", "task"], "message_limit": 90}))).unwrap();
    let extension = params.a2a.capabilities.extensions.last().unwrap();
    assert_eq!(extension.uri, "https://mainsequence.ai/a2a/extensions/response-kind/v1");
    let wanted = json!({"supportedResponseKinds": ["message", "task"], "defaultResponseKind": "message"});
    assert_eq!(Value::Object(extension.params.clone().unwrap()), wanted);
    assert!(Params::read(&row(json!({}))).unwrap().a2a.capabilities.extensions.is_empty());
    for (a2a, problem) in [
        (
            json!({"response_kinds": ["task"]}),
            "a2a.response_kinds: `message` must be among them, for it is the default",
        ),
        (json!({"response_kinds": ["message", "message"]}), "a2a.response_kinds: one of them stands twice"),
        (json!({"message_limit": 90}), "a2a.message_limit: goes with `response_kinds` only"),
        (
            json!({"response_kinds": ["message"], "message_limit": 0}),
            "a2a.message_limit: must be more than 0 seconds, and a day at most",
        ),
    ] {
        assert_eq!(problems(&row(a2a)), [problem]);
    }
    assert!(problems(&row(json!({"response_kinds": ["both"]})))[0].starts_with("a2a.response_kinds[0]: "));
}
