//! What is shown to whom, by cards of both versions.

use std::path::Path;

use mas_comm_kit::{
    auth::{Credential, Shown},
    http::{HeaderText, Settings},
};
use mas_contracts::{BuildContext, Delivery, Error, Result, parse_params};
use mas_testkit::{
    build_context,
    http::{Act, RawServer},
};
use serde_json::{Value, json};

use super::*;
use crate::card::{Signed, sign_card};

const ENV: [(&str, &str); 4] =
    [("KEY", "sk-sesame"), ("PAIR", "ann:sk-sesame"), ("ID", "mas"), ("EMPTY", "")];

fn cx(base: &Path) -> BuildContext {
    build_context(base, &ENV)
}

fn open(auth: &Value, url: &str) -> Result<Identity> {
    let auth: Auth = parse_params(auth).unwrap();
    Identity::open(Some(&auth), Vec::new(), url, &Settings::default(), &cx(Path::new(".")))
}

/// What is shown to an agent with this card at `https://fares.example`.
async fn shown_by(auth: &Value, card: &Value) -> Result<String> {
    shown_at(auth, card, "https://fares.example/a2a").await
}

async fn shown_at(auth: &Value, card: &Value, to: &str) -> Result<String> {
    let credentials = open(auth, "https://fares.example")?.for_interface(card, to)?;
    words(&credentials).await
}

async fn words(credentials: &[Credential]) -> Result<String> {
    let shown = Shown::of(credentials).await?;
    let headers = shown.headers.iter().map(|(name, text)| format!("{name}: {}", text.reveal()));
    let query = shown.query.iter().map(|(name, text)| format!("?{name}={}", text.reveal()));
    Ok(headers.chain(query).collect::<Vec<_>>().join(", "))
}

fn v1(schemes: &Value, ways: &Value) -> Value {
    json!({"securitySchemes": schemes, "securityRequirements": ways})
}

fn v03(schemes: &Value, ways: &Value) -> Value {
    json!({"securitySchemes": schemes, "security": ways})
}

/// A card that asks for one scheme, in each shape that is met.
fn asking(v1_scheme: &Value, v03_scheme: &Value) -> [Value; 4] {
    let snake = json!({"api_key_security_scheme": v1_scheme.get("apiKeySecurityScheme"),
        "http_auth_security_scheme": v1_scheme.get("httpAuthSecurityScheme"),
        "oauth2_security_scheme": v1_scheme.get("oauth2SecurityScheme")});
    let mut union = v03_scheme.as_object().unwrap().clone();
    union.extend(v1_scheme.as_object().unwrap().clone());
    [
        v1(&json!({"s": v1_scheme}), &json!([{"schemes": {"s": {"list": ["read"]}}}])),
        json!({"security_schemes": {"s": snake}, "security_requirements": [{"schemes": {"s": {}}}]}),
        v03(&json!({"s": v03_scheme}), &json!([{"s": ["read"]}])),
        json!({"securitySchemes": {"s": union}, "security": [{"s": []}],
            "securityRequirements": [{"schemes": {"s": {}}}]}),
    ]
}

#[tokio::test]
async fn a_secret_goes_where_the_card_says() {
    let key = |place: &str, name: &str| {
        asking(
            &json!({"apiKeySecurityScheme": {"location": place, "name": name}}),
            &json!({"type": "apiKey", "in": place, "name": name}),
        )
    };
    let http = |scheme: &str| {
        asking(
            &json!({"httpAuthSecurityScheme": {"scheme": scheme}}),
            &json!({"type": "http", "scheme": scheme}),
        )
    };
    let oauth =
        asking(&json!({"oauth2SecurityScheme": {"flows": {}}}), &json!({"type": "oauth2", "flows": {}}));
    for (cards, secret, expected) in [
        (http("Bearer"), "env:KEY", "authorization: Bearer sk-sesame"),
        (http("bearer"), "env:KEY", "authorization: Bearer sk-sesame"),
        (http("Basic"), "env:PAIR", "authorization: Basic YW5uOnNrLXNlc2FtZQ=="),
        (key("header", "X-Key"), "env:KEY", "x-key: sk-sesame"),
        (key("query", "key"), "env:KEY", "?key=sk-sesame"),
        (key("cookie", "key"), "env:KEY", "cookie: key=sk-sesame"),
        (oauth, "env:KEY", "authorization: Bearer sk-sesame"),
    ] {
        for card in cards {
            let shown = shown_by(&json!({"secret": secret}), &card).await;
            assert_eq!(shown.unwrap(), expected, "{card}");
        }
    }
}

fn told(error: &Error) -> String {
    assert_eq!((&*error.code(), error.delivery()), ("mas::a2a::credentials", Delivery::NotSent), "{error:?}");
    assert!(!format!("{error:?} {error:#}").contains("sesame"), "{error:?}");
    error.message().to_owned()
}

#[tokio::test]
async fn what_a_card_asks_for_and_is_not_given_is_told_before_anything_is_sent() {
    let schemes = json!({
        "desk": {"httpAuthSecurityScheme": {"scheme": "Bearer"}},
        "key": {"apiKeySecurityScheme": {"location": "header", "name": "X-Key"}},
        "cert": {"mtlsSecurityScheme": {}},
        "login": {"openIdConnectSecurityScheme": {"openIdConnectUrl": "https://a"}},
        "digest": {"httpAuthSecurityScheme": {"scheme": "Digest"}},
        "odd": {"carrierPigeonScheme": {}},
    });
    let need = |ways: &[&[&str]]| {
        let way = |way: &&[&str]| json!({"schemes": way.iter().map(|name| (*name, json!({}))).collect::<std::collections::BTreeMap<_, _>>()});
        v1(&schemes, &ways.iter().map(way).collect())
    };
    let mut said = Vec::new();
    for (auth, ways) in [
        (json!({}), &[&["desk"][..]][..]),
        (json!({}), &[&["desk"], &["cert", "key"], &["odd"]]),
        (json!({"bearer": "env:KEY"}), &[&["key"]]),
        (json!({"api_key": {"key": "env:KEY", "name": "X-Other"}}), &[&["key"], &["digest"]]),
        (json!({"secret": "env:KEY"}), &[&["key", "cert"], &["digest"]]),
        (json!({"secret": "env:KEY", "scheme": "none"}), &[&["key"]]),
        (json!({"secret": "env:KEY"}), &[]),
        (json!({"secret": "env:KEY", "scheme": "cert"}), &[]),
    ] {
        said.push(told(&shown_by(&auth, &need(ways)).await.unwrap_err()));
    }
    said.push(told(&shown_by(&json!({"secret": "env:KEY"}), &Value::Null).await.unwrap_err()));
    insta::assert_snapshot!(said.join("\n"), @r"
    the agent at https://fares.example: its card asks for a bearer token (`desk`), and the endpoint gives nothing (`a2a.client.auth`)
    the agent at https://fares.example: its card asks for a bearer token (`desk`), or a certificate of this side (`cert`) with an API key in the header `X-Key` (`key`), or something that is not known here (`odd`), and the endpoint gives nothing (`a2a.client.auth`)
    the agent at https://fares.example: its card asks for an API key in the header `X-Key` (`key`), and the endpoint gives a bearer token (`a2a.client.auth`)
    the agent at https://fares.example: its card asks for an API key in the header `X-Key` (`key`), or `Authorization: Digest` (`digest`), and the endpoint gives an API key for another place (`a2a.client.auth`)
    the agent at https://fares.example: its card asks for a certificate of this side (`cert`) with an API key in the header `X-Key` (`key`), or `Authorization: Digest` (`digest`), and the endpoint gives a secret (`a2a.client.auth`)
    the agent at https://fares.example: its card has no security scheme `none`; it has `desk`, `key`, `cert`, `login`, `digest`, `odd` (`a2a.client.auth.scheme`)
    the agent at https://fares.example: its card has several places for a secret, and asks for none of them; name one as `a2a.client.auth.scheme`
    the agent at https://fares.example: its card does not say where a secret goes; write `a2a.client.auth.bearer`, or `a2a.client.auth.api_key` with its place
    the agent at https://fares.example: its card does not say where a secret goes; write `a2a.client.auth.bearer`, or `a2a.client.auth.api_key` with its place
    ");

    for (auth, ways, expected) in [
        (json!({}), &[&[][..], &["desk"]][..], ""),
        (json!({"bearer": "env:KEY"}), &[&[], &["desk"]], "authorization: Bearer sk-sesame"),
        (json!({"bearer": "env:KEY"}), &[&["key"], &["login"]], "authorization: Bearer sk-sesame"),
        (json!({"bearer": "env:KEY"}), &[&["odd"]], "authorization: Bearer sk-sesame"),
        (json!({"bearer": "env:KEY"}), &[], "authorization: Bearer sk-sesame"),
        (json!({"api_key": {"key": "env:KEY", "name": "x-key"}}), &[&["key"]], "x-key: sk-sesame"),
        (json!({"client_cert": "a", "client_key": "b"}), &[&["desk"], &["cert"]], ""),
        (
            json!({"secret": "env:KEY", "client_cert": "a", "client_key": "b"}),
            &[&["cert", "key"]],
            "x-key: sk-sesame",
        ),
        (json!({"secret": "env:KEY", "scheme": "key"}), &[&["desk"], &["key"]], "x-key: sk-sesame"),
        (json!({"secret": "env:KEY", "scheme": "key"}), &[], "x-key: sk-sesame"),
    ] {
        assert_eq!(shown_by(&auth, &need(ways)).await.unwrap(), expected, "{auth} {ways:?}");
    }
}

#[tokio::test]
async fn headers_of_the_endpoint_are_credentials_too() {
    let headers = |name: &str| vec![(name.to_owned(), Secret::new("Bearer sk-sesame"))];
    let open = |name: &str| {
        Identity::open(
            None,
            headers(name),
            "https://fares.example",
            &Settings::default(),
            &cx(Path::new(".")),
        )
        .unwrap()
    };
    let card = v1(
        &json!({"desk": {"httpAuthSecurityScheme": {"scheme": "Bearer"}},
            "key": {"apiKeySecurityScheme": {"location": "header", "name": "X-Key"}}}),
        &json!([{"schemes": {"desk": {}}}, {"schemes": {"key": {}}}]),
    );
    for name in ["Authorization", "x-key"] {
        let shown = open(name).for_interface(&card, "https://fares.example").unwrap();
        assert_eq!(words(&shown).await.unwrap(), format!("{}: Bearer sk-sesame", name.to_lowercase()));
        open(name).for_interface(&card, "https://other.example").unwrap_err();
    }
    open("X-Other").for_interface(&card, "https://fares.example").unwrap_err();
}

#[tokio::test]
async fn credentials_go_to_the_host_of_the_endpoint_and_to_those_that_are_trusted() {
    let bearer = json!({"bearer": "env:KEY"});
    let trusting = json!({"bearer": "env:KEY", "trusted_hosts": ["grpc.example:8443", "Other.example"]});
    for (auth, to) in [
        (&bearer, "https://fares.example"),
        (&bearer, "https://FARES.example:8443/a2a"),
        (&bearer, "grpcs://fares.example:50051"),
        (&trusting, "https://grpc.example:8443"),
        (&trusting, "https://other.example:1/x"),
    ] {
        assert_eq!(
            shown_at(auth, &Value::Null, to).await.unwrap(),
            "authorization: Bearer sk-sesame",
            "{to}"
        );
    }
    let mut said = Vec::new();
    for (auth, to) in [
        (&bearer, "https://evil.example/a2a"),
        (&bearer, "https://fares.example.evil.example"),
        (&bearer, "https://fares.example@evil.example"),
        (&bearer, "http://fares.example"),
        (&bearer, "fares.example:50051"),
        (&trusting, "https://grpc.example:8444"),
        (&json!({"client_cert": "a", "client_key": "b"}), "https://evil.example"),
    ] {
        said.push(told(&shown_at(auth, &Value::Null, to).await.unwrap_err()));
    }
    insta::assert_snapshot!(said.join("\n"), @r#"
    the card of the agent at `fares.example` sends its callers to `evil.example`, where no credentials go by themselves; if that is right, name it: `a2a.client.auth.trusted_hosts: ["evil.example"]`
    the card of the agent at `fares.example` sends its callers to `fares.example.evil.example`, where no credentials go by themselves; if that is right, name it: `a2a.client.auth.trusted_hosts: ["fares.example.evil.example"]`
    the card of the agent at `fares.example` sends its callers to `evil.example`, where no credentials go by themselves; if that is right, name it: `a2a.client.auth.trusted_hosts: ["evil.example"]`
    credentials would go to `http://fares.example` where everybody on the way can read them; use https, or say `a2a.client.auth.allow_http: true`
    credentials would go to `fares.example:50051` where everybody on the way can read them; use https, or say `a2a.client.auth.allow_http: true`
    the card of the agent at `fares.example` sends its callers to `grpc.example:8444`, where no credentials go by themselves; if that is right, name it: `a2a.client.auth.trusted_hosts: ["grpc.example:8444"]`
    the card of the agent at `fares.example` sends its callers to `evil.example`, where no credentials go by themselves; if that is right, name it: `a2a.client.auth.trusted_hosts: ["evil.example"]`
    "#);
    // Who shows nothing may be sent anywhere.
    assert_eq!(shown_at(&json!({}), &Value::Null, "http://evil.example").await.unwrap(), "");
}

#[tokio::test]
async fn credentials_need_tls_but_on_this_machine() {
    let bearer = json!({"bearer": "env:KEY"});
    insta::assert_snapshot!(told(&open(&bearer, "http://fares.example/x?key=sesame").unwrap_err()), @"credentials would go to `http://fares.example/x?key=***` where everybody on the way can read them; use https, or say `a2a.client.auth.allow_http: true`");
    for url in ["http://localhost:1", "http://127.0.0.1", "http://[::1]/x"] {
        open(&bearer, url).unwrap();
    }
    open(&json!({}), "http://fares.example").unwrap();
    let identity = open(&json!({"bearer": "env:KEY", "allow_http": true}), "http://fares.example").unwrap();
    assert_eq!(identity.for_interface(&Value::Null, "http://fares.example").unwrap().len(), 1);
}

#[tokio::test]
async fn who_has_the_card_is_shown_what_needs_no_card() {
    let place = "https://fares.example/.well-known/agent-card.json";
    for (auth, expected) in [
        (json!({"bearer": "env:KEY"}), "authorization: Bearer sk-sesame"),
        (json!({"api_key": {"key": "env:KEY", "in": "query", "name": "k"}}), "?k=sk-sesame"),
        (json!({"secret": "env:KEY"}), ""),
        (json!({}), ""),
    ] {
        let identity = open(&auth, "https://fares.example").unwrap();
        assert_eq!(words(&identity.for_card(place)).await.unwrap(), expected, "{auth}");
        for elsewhere in ["https://other.example/card.json", "http://fares.example/card.json"] {
            assert!(identity.for_card(elsewhere).is_empty(), "{elsewhere}");
        }
    }
}

#[tokio::test]
async fn tokens_are_fetched_for_those_who_ask_for_them() {
    let server = RawServer::start(|_, _| {
        vec![Act::answer(200, "application/json", r#"{"access_token": "sk-token"}"#)]
    })
    .await
    .unwrap();
    let auth = json!({"oauth2": {"token_url": server.url(), "client_id": "env:ID", "client_secret": "env:KEY",
        "scopes": ["read"], "method": "post"}});
    let cards = asking(&json!({"oauth2SecurityScheme": {}}), &json!({"type": "openIdConnect"}));
    for card in cards {
        assert_eq!(shown_by(&auth, &card).await.unwrap(), "authorization: Bearer sk-token");
    }
    assert!(server.requests()[0].body.contains("scope=read&client_id=mas&client_secret=sk-sesame"));
    let identity = open(&auth, "https://fares.example").unwrap();
    assert_eq!(identity.secrets().scrub("of sk-sesame"), "of ***");
    assert!(!format!("{identity:?}").contains("sesame"), "{identity:?}");
}

#[test]
fn parameters_of_no_use_are_named() {
    let mut said = Vec::new();
    for auth in [
        json!({"secret": "a", "bearer": "b"}),
        json!({"bearer": " "}),
        json!({"api_key": {"key": "", "name": "a b"}}),
        json!({"oauth2": {"token_url": "http://a.example", "client_id": "", "client_secret": ""}}),
        json!({"client_cert": "a"}),
        json!({"client_key": "a"}),
        json!({"trusted_hosts": ["https://a", "b:1", "c/d"]}),
    ] {
        let auth: Auth = parse_params(&auth).unwrap();
        said.extend(auth.problems().into_iter().map(|it| format!("{}: {}", it.path, it.message)));
    }
    for signatures in [json!({"check": "require"}), json!({"check": "verify", "jku": ["http://a.example"]})] {
        let signatures: Signatures = parse_params(&signatures).unwrap();
        said.extend(signatures.problems().into_iter().map(|it| format!("{}: {}", it.path, it.message)));
    }
    insta::assert_snapshot!(said.join("\n"), @r"
    bearer: only one of `secret`, `bearer`, `api_key` and `oauth2` can be shown
    bearer: it is empty
    api_key.key: it is empty
    api_key.name: no header and no cookie can have this name
    oauth2.token_url: expected an https address; http is for this machine only
    oauth2.client_id: it is empty
    oauth2.client_secret: it is empty
    client_cert: it needs `client_key`, the file of its key
    client_key: it needs `client_cert`, its certificate
    trusted_hosts[0]: expected `host` or `host:port`
    trusted_hosts[2]: expected `host` or `host:port`
    check: nothing says whose signatures are right
    jku[0]: expected an https address; http is for this machine only
    ");
    let unset = open(&json!({"bearer": "env:EMPTY"}), "https://h").unwrap_err();
    assert_eq!(unset.message(), "the variable `EMPTY` is not set");
}

mod signed {
    use rcgen::KeyPair;

    use super::*;

    /// A signed card with a member that nobody signed, and the key that its signature is by.
    fn card(jku: Option<&str>) -> (Value, Value) {
        let card = json!({
            "name": "fares", "description": "fares", "version": "1", "skills": [],
            "supportedInterfaces": [{"url": "https://fares.example", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
            "capabilities": {}, "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        });
        let key = KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256).unwrap().serialize_pem();
        let Signed { mut card, public_key } = sign_card(card, &key, Some("desk"), jku).unwrap();
        card["url"] = json!("https://evil.example");
        (card, public_key)
    }

    async fn checked(check: &str, sources: &Value, card: &Value, base: &Path) -> Result<Value> {
        let mut params = json!({"check": check});
        params.as_object_mut().unwrap().extend(sources.as_object().unwrap().clone());
        let signatures: Signatures = parse_params(&params).unwrap();
        match Seal::open(&signatures, &Settings::default(), &cx(base))? {
            Some(seal) => seal.checked(card.clone(), "https://fares.example/card.json").await,
            None => Ok(card.clone()),
        }
    }

    #[tokio::test]
    async fn a_card_is_taken_as_far_as_it_is_signed() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path();
        let (card, key) = card(None);
        std::fs::write(base.join("desk.jwk"), key.to_string()).unwrap();
        let keys = json!({"keys": ["desk.jwk"]});
        for check in ["require", "verify"] {
            let taken = checked(check, &keys, &card, base).await.unwrap();
            assert_eq!(taken["supportedInterfaces"], card["supportedInterfaces"]);
            assert!(taken.get("url").is_none(), "{taken}");
        }
        assert_eq!(checked("ignore", &keys, &card, base).await.unwrap(), card);
    }

    #[tokio::test]
    async fn a_card_without_a_right_signature_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path();
        let ((good, _), (_, other)) = (card(None), card(None));
        std::fs::write(base.join("other.jwk"), other.to_string()).unwrap();
        let keys = json!({"keys": ["other.jwk"]});
        let mut bare = good.clone();
        bare.as_object_mut().unwrap().remove("signatures");
        let mut odd = good.clone();
        odd["signatures"] = json!([{"protected": "e30", "signature": "AAAA"}]);
        let mut said = Vec::new();
        for (check, card) in
            [("require", &good), ("verify", &good), ("require", &bare), ("verify", &odd), ("require", &odd)]
        {
            let error = checked(check, &keys, card, base).await.unwrap_err();
            let told = (error.kind(), &*error.code(), error.delivery());
            assert_eq!(told, (ErrorKind::Denied, "mas::a2a::signature", Delivery::NotSent));
            said.push(error.message().to_owned());
        }
        insta::assert_snapshot!(said.join("\n"), @r"
        the card at https://fares.example/card.json is not taken, for `a2a.client.signatures` wants one that is signed: no signature of the card is right: signatures[0]: it is not that of this card by the key `desk`; signatures[1]: it is not that of this card by the key `desk`
        the card at https://fares.example/card.json is not taken, for `a2a.client.signatures` wants one that is signed: no signature of the card is right: signatures[0]: it is not that of this card by the key `desk`; signatures[1]: it is not that of this card by the key `desk`
        the card at https://fares.example/card.json is not taken, for `a2a.client.signatures` wants one that is signed: the card is not signed
        the card at https://fares.example/card.json is not taken, for `a2a.client.signatures` wants one that is signed: no signature of the card is right: signatures[0]: its header names no `alg`
        the card at https://fares.example/card.json is not taken, for `a2a.client.signatures` wants one that is signed: no signature of the card is right: signatures[0]: its header names no `alg`
        ");
        assert_eq!(checked("verify", &keys, &bare, base).await.unwrap(), bare);
        let error = checked("require", &json!({"keys": ["none.jwk"]}), &good, base).await.unwrap_err();
        assert_eq!(error.code(), "mas::a2a::keys");
    }

    #[tokio::test]
    async fn only_addresses_that_are_allowed_are_asked_for_keys() {
        let keys = Arc::new(std::sync::Mutex::new(String::new()));
        let known = keys.clone();
        let server =
            RawServer::start(move |_, _| vec![Act::answer(200, "application/json", &known.lock().unwrap())])
                .await
                .unwrap();
        let url = server.url();
        let (card, key) = card(Some(url));
        let other = json!({"jku": ["https://127.0.0.1:1/jwks.json"]});
        checked("require", &other, &card, Path::new(".")).await.unwrap_err();
        assert!(server.requests().is_empty(), "the address that the card names is not asked by itself");
        checked("require", &json!({"jku": [url]}), &card, Path::new(".")).await.unwrap_err();
        assert_eq!(server.requests().len(), 1, "it has no keys");
        *keys.lock().unwrap() = json!({"keys": [key]}).to_string();
        let taken = checked("require", &json!({"jku": [url]}), &card, Path::new(".")).await.unwrap();
        assert!(taken.get("url").is_none());
    }
}

#[test]
fn a_header_is_secret_by_where_its_value_stands_or_by_its_name() {
    let header = |name: &str, text: &str| {
        let text = serde_json::from_value(json!(text)).unwrap();
        matches!(header(name, &text, &cx(Path::new("."))).unwrap(), HeaderText::Secret(_))
    };
    for (name, text) in [("x-team", "env:KEY"), ("Authorization", "x"), ("X-Api-Key", "x"), ("Cookie", "a=b")]
    {
        assert!(header(name, text), "{name}: {text}");
    }
    assert!(!header("x-team", "blue") && !header("Accept-Language", "en"));
}
