//! The provider `http`, against a server on the loopback.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)] // a test may stop short

use std::{path::Path, sync::Arc, time::Duration};

use mas_contracts::{
    Arguments, Builder, CancelReason, Descriptor, Error, ErrorKind, Message, Result, ToolCall, ToolContract,
    ToolOutput, inventory,
};
use mas_testkit::{
    build_context, call_context,
    http::{Act, RawServer},
};
use mas_tools as _; // links the registrations
use serde_json::{Value, json};
use tokio::time::timeout;

const LONG: Duration = Duration::from_secs(20);

const ENV: [(&str, &str); 4] =
    [("TOKEN", "s3cret/token+"), ("BROKEN", "s3cret\nbroken"), ("NO_URL", "s3cret no url"), ("EMPTY", "")];

fn descriptor() -> &'static Descriptor {
    inventory::iter::<Descriptor>().find(|descriptor| descriptor.name == "http").unwrap()
}

fn build_with(env: &[(&str, &str)], params: &Value) -> Result<Arc<dyn ToolContract>> {
    let env: Vec<(&str, &str)> = ENV.iter().chain(env).copied().collect();
    match &descriptor().builder {
        Builder::Tool(build) => build.build(&build_context(Path::new("."), &env), params),
        other => panic!("{}", other.category()),
    }
}

fn build(params: &Value) -> Arc<dyn ToolContract> {
    build_with(&[], &json!({ "params": params })).unwrap()
}

fn refused(params: &Value) -> Error {
    build_with(&[], &json!({ "params": params })).err().unwrap()
}

async fn call(tool: &dyn ToolContract, arguments: Value) -> std::result::Result<String, String> {
    let name = tool.list().await.unwrap()[0].name.clone();
    let call = ToolCall { id: "1".into(), name, arguments: Arguments::from_value(arguments) };
    let output = timeout(LONG, tool.call(&call_context(), &call)).await.expect("it ends").unwrap();
    if output.is_error { Err(text(output)) } else { Ok(text(output)) }
}

fn text(output: ToolOutput) -> String {
    Message::Tool { call: "".into(), name: "".into(), output }.text().to_string()
}

async fn answering(status: u16, kind: &'static str, body: &'static str) -> RawServer {
    RawServer::start(move |_, _| vec![Act::answer(status, kind, body)]).await.unwrap()
}

fn raw(head: &str, body: &[u8]) -> Vec<Act> {
    let length = body.len();
    let head = format!("HTTP/1.1 {head}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n");
    vec![Act::Send([head.as_bytes(), body].concat())]
}

#[tokio::test]
async fn a_request_is_sent_with_its_arguments_in_it() {
    let server = answering(200, "application/json", r#"{"fare":42}"#).await;
    let tool = build(&json!({
        "method": "POST",
        "url": format!("{}/v1/ro utes/{{route}}/x-{{n}}?lang=de&class={{class}}", server.url()).replace("ro utes", "ro%20utes"),
        "query": {"key": "{env:TOKEN}", "limit": 5, "all": true, "not": "{absent}"},
        "headers": {"Authorization": "Bearer {env:TOKEN}", "X-Note": "for {route}", "X-Not": "{absent}"},
        "body": {"n": "{n}", "text": "n is {n}", "list": ["{list}", "{absent}"], "not": "{absent}", "{{n}}": null, "t": "{env:TOKEN}"},
    }));
    let arguments = json!({"route": "C V/../x", "n": 7, "class": "first&lang=en", "list": [1, {"a": 2}]});
    assert_eq!(call(&*tool, arguments).await.unwrap(), "{\n  \"fare\": 42\n}");
    let seen = server.requests().remove(0);
    assert_eq!(
        seen.line,
        "POST /v1/ro%20utes/C%20V%2F..%2Fx/x-7?lang=de&class=first%26lang%3Den&all=true&key=s3cret%2Ftoken%2B&limit=5 HTTP/1.1"
    );
    assert_eq!(
        serde_json::from_str::<Value>(&seen.body).unwrap(),
        json!({"n": 7, "text": "n is 7", "list": [[1, {"a": 2}]], "{{n}}": null, "t": "s3cret/token+"})
    );
    assert_eq!(seen.headers["authorization"], "Bearer s3cret/token+");
    assert_eq!(
        (&*seen.headers["x-note"], &*seen.headers["content-type"]),
        ("for C V/../x", "application/json")
    );
    assert!(!seen.headers.contains_key("x-not"));
}

#[tokio::test]
async fn the_url_may_begin_with_a_variable() {
    let server = answering(200, "text/plain", "fine").await;
    let base = format!("{}/base/", server.url());
    let params = json!({"params": {"url": "{env:BASE}/{x}"}});
    let tool = build_with(&[("BASE", &base)], &params).unwrap();
    assert_eq!(call(&*tool, json!({"x": "a"})).await.unwrap(), "fine");
    assert_eq!(server.requests()[0].line, "GET /base/a HTTP/1.1");
    let error = refused(&json!({"url": "{env:NO_URL}/x"}));
    assert_eq!(
        error.message(),
        "`params.url`: with the variable NO_URL: a URL has no white space and no `\\` in it"
    );
}

#[tokio::test]
async fn without_a_spec_the_request_says_what_it_takes() {
    let tool = build(&json!({"url": "http://h/{a}", "query": {"b": "{b}"}}));
    let listed = tool.list().await.unwrap().remove(0);
    assert_eq!(
        (&*listed.name, &*listed.description, listed.idempotent),
        ("http_request", "Sends a GET request.", true)
    );
    assert_eq!(
        listed.parameters,
        json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
            "required": ["a", "b"], "additionalProperties": false})
    );
    assert!(!build(&json!({"url": "http://h/", "body": {}})).list().await.unwrap()[0].idempotent);
    let spec = json!({"name": "fares", "description": "Fares.", "idempotent": true, "timeout": 2,
        "parameters": {"type": "object", "properties": {}}});
    let declared =
        build_with(&[], &json!({"spec": spec, "params": {"url": "http://h/", "method": "DELETE"}})).unwrap();
    let listed = declared.list().await.unwrap().remove(0);
    assert_eq!(
        (&*listed.name, listed.idempotent, listed.timeout),
        ("fares", true, Some(Duration::from_secs(2)))
    );
}

#[tokio::test]
async fn answers_are_json_text_or_nothing() {
    let answer = async |kind: &'static str, body: &'static str, output: &str| {
        let server = answering(200, kind, body).await;
        call(&*build(&json!({"url": server.url(), "output": output})), json!({})).await
    };
    assert_eq!(answer("application/problem+json", "[1]", "auto").await.unwrap(), "[\n  1\n]");
    assert_eq!(answer("text/html", "[1]", "auto").await.unwrap(), "[1]");
    assert_eq!(answer("text/html", "\u{feff}[1]", "json").await.unwrap(), "[\n  1\n]");
    assert_eq!(answer("application/json", "[1]", "text").await.unwrap(), "[1]");
    assert_eq!(answer("application/json", "{oops", "auto").await.unwrap(), "{oops");
    assert_eq!(answer("text/plain", "", "auto").await.unwrap(), "(no content, status 200)");
    assert_eq!(
        answer("text/plain", "oops", "json").await.unwrap_err(),
        "`http_request` failed: the answer is not one JSON value (expected value at line 1 column 1), but: oops"
    );
    let image =
        RawServer::start(|_, _| raw("200 OK\r\ncontent-type: image/png", b"\x89PNG\xff")).await.unwrap();
    assert_eq!(
        call(&*build(&json!({"url": image.url()})), json!({})).await.unwrap_err(),
        "`http_request` failed: the answer is 5 bytes of image/png, which are not text in UTF-8"
    );
    let large = |size: usize| async move {
        let server = RawServer::start(move |_, _| raw("200 OK", &vec![b'x'; size])).await.unwrap();
        call(&*build(&json!({"url": server.url()})), json!({})).await
    };
    assert_eq!(large(4 * 1024 * 1024).await.unwrap().len(), 4 * 1024 * 1024);
    assert_eq!(
        large(4 * 1024 * 1024 + 1).await.unwrap_err(),
        "`http_request` failed: the answer is larger than 4 MiB"
    );
}

#[tokio::test]
async fn a_status_that_is_no_success_is_a_failure() {
    let body = "{\"error\": \"no such route\", \"you sent\": \"Bearer s3cret/token+\"}";
    let server = answering(404, "application/json", body).await;
    let params = json!({"url": server.url(), "headers": {"Authorization": "Bearer {env:TOKEN}"}});
    assert_eq!(
        call(&*build(&params), json!({})).await.unwrap_err(),
        "`http_request` failed: the server answered with status 404 and says:\n{\"error\": \"no such route\", \"you sent\": \"***\"}"
    );
    let mut wanted = params;
    wanted["ok"] = json!([200, 404]);
    assert!(call(&*build(&wanted), json!({})).await.unwrap().contains("no such route"));
    let silent = answering(500, "text/plain", "").await;
    assert_eq!(
        call(&*build(&json!({"url": silent.url()})), json!({})).await.unwrap_err(),
        "`http_request` failed: the server answered with status 500 with nothing to say"
    );
    let long = RawServer::start(|_, _| raw("503 X", &vec![b'x'; 100_000])).await.unwrap();
    let failure = call(&*build(&json!({"url": long.url()})), json!({})).await.unwrap_err();
    assert!(failure.len() < 2200 && failure.ends_with("x…"), "{}", failure.len());
}

#[tokio::test]
async fn redirects_are_followed_only_where_that_is_said_and_within_the_origin() {
    let server = RawServer::start(|_, request| match &*request.line {
        "GET /end HTTP/1.1" => vec![Act::answer(200, "text/plain", "here")],
        "GET /away HTTP/1.1" => raw("302 X\r\nlocation: http://me:s3cret@evil.example/x?token=s3cret", b""),
        "GET /round HTTP/1.1" => raw("302 X\r\nlocation: round", b""),
        _ => raw("307 X\r\nlocation: /end", b""),
    })
    .await
    .unwrap();
    let ask = async |path: &str, redirects: u8| {
        let tool = build(&json!({"url": format!("{}{path}", server.url()), "redirects": redirects,
            "headers": {"X-Api-Key": "{env:TOKEN}"}}));
        call(&*tool, json!({})).await
    };
    assert_eq!(
        ask("/begin", 0).await.unwrap_err(),
        "`http_request` failed: the server answered with status 307 and points to `/end`, which is not followed"
    );
    assert_eq!(ask("/begin", 1).await.unwrap(), "here");
    assert_eq!(
        ask("/away", 5).await.unwrap_err(),
        "`http_request` failed: the server answered with status 302 and points to `http://evil.example/x?token=***`, \
         which is not followed: it is of another origin"
    );
    assert_eq!(
        ask("/round", 3).await.unwrap_err(),
        "`http_request` failed: the server redirected more than 3 times"
    );
    assert_eq!(server.requests().last().unwrap().headers["x-api-key"], "s3cret/token+");
}

#[tokio::test]
async fn a_secret_that_is_cut_in_two_is_starred_out_too() {
    for pad in [2048 - 10, 2048 - 6, 2048 - 2] {
        for (status, output) in [("200 OK", "json"), ("500 X", "auto")] {
            let body = "-".repeat(pad) + "s3cret/token+" + &"-".repeat(20_000);
            let server = RawServer::start(move |_, _| raw(status, body.as_bytes())).await.unwrap();
            let params = json!({"url": server.url(), "headers": {"X-Key": "{env:TOKEN}"}, "output": output});
            let failure = call(&*build(&params), json!({})).await.unwrap_err();
            assert!(!failure.contains("-s") && failure.len() < 2300, "{}", failure.len());
        }
    }
}

#[tokio::test]
async fn a_failed_connection_shows_no_secret() {
    let closing = RawServer::start(|_, _| Vec::new()).await.unwrap();
    let dead = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap();
    for base in [closing.url().to_owned(), format!("http://{dead}")] {
        let tool =
            build(&json!({"url": format!("{base}/bot{{env:TOKEN}}/x"), "query": {"q": "{env:TOKEN}"}}));
        let failure = call(&*tool, json!({})).await.unwrap_err();
        assert!(failure.contains("/bot***/x?q=***") && !failure.contains("s3cret"), "{failure}");
    }
}

#[tokio::test]
async fn a_cancel_closes_the_connection() {
    let server = RawServer::start(|_, _| vec![Act::Hold]).await.unwrap();
    let tool = build(&json!({"url": server.url()}));
    let cx = call_context();
    let one = ToolCall { id: "1".into(), name: "http_request".into(), arguments: Arguments::from_text("") };
    let stop = async {
        while server.requests().is_empty() {
            tokio::task::yield_now().await;
        }
        cx.cancel().cancel(CancelReason::Requested);
    };
    let (ended, ()) = tokio::join!(tool.call(&cx, &one), stop);
    assert_eq!(ended.err().unwrap().kind(), ErrorKind::Cancelled);
    timeout(LONG, server.wait_for_hang_ups(1)).await.expect("the connection is closed");
    tool.close().await;
    assert_eq!(tool.call(&call_context(), &one).await.err().unwrap().kind(), ErrorKind::Unavailable);
}

#[tokio::test]
async fn arguments_that_cannot_be_sent_are_told_to_the_model() {
    let server = answering(200, "text/plain", "fine").await;
    let tool = build(&json!({"url": format!("{}/{{x}}/.{{y}}/", server.url()), "headers": {"X-Z": "{z}"}}));
    let told = async |arguments: Value| call(&*tool, arguments).await.unwrap_err();
    assert_eq!(told(json!({"y": "a"})).await, "`http_request` failed: `x` is needed for the path");
    for dots in ["", ".", ".."] {
        let message = "`http_request` failed: `x` must be more than dots, and not empty";
        assert_eq!(told(json!({"x": dots, "y": "a"})).await, message, "{dots}");
    }
    assert_eq!(
        told(json!({"x": "a", "y": "."})).await,
        "`http_request` failed: `y` must be more than dots, and not empty"
    );
    assert_eq!(
        told(json!({"x": ["a"], "y": "a"})).await,
        "`http_request` failed: `x` must be a text, a number or a boolean"
    );
    for z in ["a\r\nX-Evil: 1", "a\0", "é"] {
        let message = "`http_request` failed: `z` goes into a header, which holds printable ASCII only";
        assert_eq!(told(json!({"x": "a", "y": "a", "z": z})).await, message);
    }
    assert_eq!(told(json!("none")).await, "`http_request` failed: the arguments are not a JSON object");
    assert!(server.requests().is_empty());
    assert_eq!(call(&*tool, json!({"x": "%2e%2e", "y": "a"})).await.unwrap(), "fine");
    assert_eq!(server.requests()[0].line, "GET /%252e%252e/.a/ HTTP/1.1");
}

#[test]
fn what_is_wrong_with_the_environment_is_told_without_values() {
    let error = refused(&json!({"url": "http://h/", "headers": {"A": "{env:NOT_SET}"}}));
    assert_eq!(
        (error.message(), &*error.code()),
        ("the environment variable NOT_SET is not set: set it", "mas::env::missing")
    );
    assert!(refused(&json!({"url": "{env:EMPTY}/x"})).message().contains("EMPTY is not set"));
    let error = refused(&json!({"url": "http://h/", "headers": {"A": "{env:BROKEN}"}}));
    assert_eq!(error.message(), "the header `A` holds a character that no header may, from a variable");
    assert_eq!(refused(&json!({"url": "http://h/", "ca_file": "none.pem"})).code(), "mas::http::ca_file");
    assert_eq!(refused(&json!({"url": "http://h/", "proxy": "ftp://x"})).code(), "mas::http::proxy");
}

fn problems(params: &Value) -> Vec<String> {
    let shown = |problem: mas_contracts::Problem| {
        let help = problem.help.map(|help| format!(" ({help})")).unwrap_or_default();
        format!("{}: {}{help}", problem.path, problem.message)
    };
    (descriptor().check)(params).into_iter().map(shown).collect()
}

#[test]
fn a_request_that_cannot_be_is_refused_before_it_runs() {
    let wrong = |params: Value| problems(&json!({ "params": params })).join("; ");
    assert_eq!(wrong(json!({})), "params: missing field `url`");
    for (url, message) in [
        ("ftp://h/", "begins with http"),
        ("{x}://h/", "begins with http"),
        ("http://{host}/", "the host is no argument's to choose"),
        ("http://a.{host}/", "the host is no argument's to choose"),
        ("http://h:{port}/", "the host is no argument's to choose"),
        ("http://h{x}", "the host is no argument's to choose"),
        ("http://{env:X}/", "the host is no argument's to choose"),
        ("http://me:s3cret@h/", "a name and a password do not belong"),
        ("http:///x", "no host"),
        ("http://h:99999/", "no host"),
        ("http://hö/", "no host"),
        ("http://[::1/", "no host"),
        ("http://h/a b", "no white space"),
        ("http://h/a\\b", "no `\\`"),
        ("http://h/#{x}", "never sent"),
        ("http://h/../x", "no `..`"),
        ("http://h/%2E%2e/x", "no `..`"),
        ("http://h/%2{x}", "followed by two digits"),
        ("http://h/?{x}=1", "no argument's to choose"),
        ("http://h/?a=1&b{x}=1", "no argument's to choose"),
        ("http://h/{x", "has no other one"),
        ("http://h/{x y}", "no white space"),
        ("http://h/{}", "names no argument"),
    ] {
        let said = wrong(json!({ "url": url }));
        assert!(
            said.starts_with("params.url: ") && said.contains(message) && !said.contains("s3cret"),
            "{url}: {said}"
        );
    }
    let h = "http://h/";
    assert!(wrong(json!({"url": h, "method": "get"})).contains("unknown variant `get`"));
    assert!(wrong(json!({"url": h, "method": "GET", "body": {}})).starts_with("params.body: "));
    assert!(wrong(json!({"url": h, "method": "POST", "redirects": 1})).starts_with("params.redirects: "));
    assert!(wrong(json!({"url": h, "redirects": 21})).starts_with("params.redirects: "));
    assert!(wrong(json!({"url": h, "ok": [42]})).starts_with("params.ok: "));
    assert!(wrong(json!({"url": h, "connect_timeout": 0})).starts_with("params.connect_timeout: "));
    assert!(wrong(json!({"url": h, "query": {"a": ["s3cret"]}})).ends_with("a text, a number or a boolean"));
    assert!(wrong(json!({"url": h, "query": {"a": "{"}})).starts_with("params.query.a: "));
    assert!(wrong(json!({"url": h, "body": {"a": ["{"]}})).starts_with("params.body.a[0]: "));
    for name in ["Host", "content-length", "a b", "", "a:"] {
        assert!(wrong(json!({"url": h, "headers": {name: "x"}})).starts_with("params.headers."), "{name}");
    }
    assert!(wrong(json!({"url": h, "headers": {"A": "x\r\ny"}})).contains("no control character"));
}

#[test]
fn places_and_parameters_must_fit() {
    let wrong = |names: Value, required: Value, params: Value| {
        let parameters = json!({"type": "object", "properties": names, "required": required});
        problems(&json!({"spec": {"name": "t", "parameters": parameters}, "params": params}))
    };
    let text = json!({"type": "string"});
    assert_eq!(
        wrong(json!({"route": text}), json!(["route"]), json!({"url": "http://h/{rout}"})),
        [
            "params.url: `{rout}` is no parameter of the tool (there are: route; write {{rout}} for the text itself)",
            "params: the parameter `route` is never sent (put {route} into url, query, headers or body)"
        ]
    );
    assert_eq!(
        wrong(json!({"route": text}), json!([]), json!({"url": "http://h/{route}"})),
        [
            "params.url: the parameter `route` is part of the path, but not required (say `required: true` for `route`, \
             or put it into the query)"
        ]
    );
    let list = json!({"type": "array", "items": {}});
    for (place, params) in [
        ("query", json!({"url": "http://h/", "query": {"a": "{a}"}})),
        ("url", json!({"url": "http://h/?a={a}", "body": {"a": "{a}"}})),
        ("headers.a", json!({"url": "http://h/", "headers": {"a": "{a}"}, "body": {"a": "{a}"}})),
        ("body", json!({"url": "http://h/", "body": {"a": "x {a}", "b": "{a}"}})),
    ] {
        assert_eq!(
            wrong(json!({"a": list}), json!([]), params),
            [format!(
                "params.{place}: the parameter `a` is a list or an object, and stands in a text (it can only be a whole \
                 value of the body: \"{{a}}\")"
            )]
        );
    }
    assert!(
        wrong(json!({"a": list}), json!([]), json!({"url": "http://h/", "body": ["{a}", "{a}"]})).is_empty()
    );
    assert!(
        wrong(json!({"a": text}), json!([]), json!({"url": "http://h/", "query": {"a": "{a}"}})).is_empty()
    );
}
