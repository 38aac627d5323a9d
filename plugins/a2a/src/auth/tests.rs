use std::{path::Path, time::Duration};

use async_trait::async_trait;
use http::HeaderValue;
use mas_comm_kit::http::{Body, Request, Response, Transport};
use mas_contracts::{Clock, Error};
use mas_testkit::{TokioClock, build_context};
use serde_json::{Value, json};

use super::{keys::Keys, *};
use crate::jose::{self, Algorithm, PrivateKey};

const KEY: &str = r#"{"kty":"OKP","crv":"Ed25519","kid":"one",
    "d":"nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#;
/// 2026-01-01T00:00:00Z, when clocks of tests begin.
const NOW: i64 = 1_767_225_600;

fn gate(security: &Value, base: &Path, env: &[(&str, &str)]) -> Result<Gate> {
    let params = Params::read(&json!({"url": "http://h:1", "a2a": {"security": security}})).unwrap();
    Gate::open(&params, &build_context(base, env))
}

fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
    let pair = |(name, value): &(&str, &str)| {
        (http::HeaderName::from_bytes(name.as_bytes()).unwrap(), HeaderValue::from_str(value).unwrap())
    };
    pairs.iter().map(pair).collect()
}

async fn ask(gate: &Gate, pairs: &[(&str, &str)], query: Option<&str>) -> Result<Option<String>, Failure> {
    gate.admit(&headers(pairs), query).await.map(|owner| owner.map(|owner| owner.to_string()))
}

#[tokio::test]
async fn nobody_is_asked_where_nothing_is_declared() {
    let gate = gate(&json!({}), Path::new("."), &[]).unwrap();
    assert!(gate.is_open());
    assert_eq!(ask(&gate, &[("authorization", "Bearer x")], None).await.unwrap(), None);
}

#[tokio::test]
async fn tokens_are_those_of_variables_and_files() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("token"), "of-a-file\n").unwrap();
    let security =
        json!({"t": {"bearer": {"tokens": {"alice": "env:ALICE", "bob": "file:token", "eve": "plain"}}}});
    let gate = gate(&security, dir.path(), &[("ALICE", "of-a-variable")]).unwrap();
    for (given, owner) in
        [("Bearer of-a-variable", "alice"), ("bearer  of-a-file ", "bob"), ("BEARER plain", "eve")]
    {
        assert_eq!(ask(&gate, &[("authorization", given)], None).await.unwrap().as_deref(), Some(owner));
    }
    for wrong in ["Bearer of-a-file\u{9}x", "Bearer", "Bearer env:ALICE", "Basic plain", "plain", ""] {
        let failure = ask(&gate, &[("authorization", wrong)], None).await.unwrap_err();
        assert_eq!(failure.reason, Reason::Unauthenticated, "{wrong}");
        assert!(failure.challenge.unwrap().starts_with("Bearer realm="));
    }
    let twice = [("authorization", "Bearer plain"), ("authorization", "Bearer plain")];
    assert!(ask(&gate, &twice, None).await.is_err());
    let failure = ask(&gate, &[], None).await.unwrap_err();
    assert_eq!(failure.challenge.as_deref(), Some("Bearer realm=\"a2a\""));
    let failure = ask(&gate, &[("authorization", "Bearer nope")], None).await.unwrap_err();
    assert_eq!(failure.challenge.as_deref(), Some("Bearer realm=\"a2a\", error=\"invalid_token\""));
    assert!(!format!("{gate:?}{failure:?}").contains("nope"));
}

#[test]
fn a_secret_that_is_not_there_is_told_when_the_gate_opens() {
    let says = |secret: &str| {
        let security = json!({"t": {"bearer": {"tokens": {"alice": secret}}}});
        let error = gate(&security, Path::new("/nowhere"), &[]).unwrap_err();
        assert_eq!(error.code(), "mas::a2a::secret");
        error.to_string()
    };
    assert_eq!(says("env:ALICE"), "the variable `ALICE` is not set");
    assert!(says("file:token").starts_with("the file `token` of a secret cannot be read"));
}

#[tokio::test]
async fn api_keys_are_taken_where_the_card_says() {
    let security = json!({
        "h": {"api_key": {"name": "X-Api-Key", "keys": {"alice": "one"}}},
        "q": {"api_key": {"in": "query", "name": "key", "keys": {"bob": "tw o"}}},
        "c": {"api_key": {"in": "cookie", "name": "session", "keys": {"eve": "three"}}},
    });
    let gate = gate(&security, Path::new("."), &[]).unwrap();
    let known = |owner: &str| Some(owner.to_owned());
    assert_eq!(ask(&gate, &[("x-api-key", "one")], None).await.unwrap(), known("alice"));
    assert_eq!(ask(&gate, &[], Some("a=b&key=tw%20o")).await.unwrap(), known("bob"));
    assert_eq!(ask(&gate, &[("cookie", "a=b; session=three")], None).await.unwrap(), known("eve"));
    for wrong in [&[("x-api-key", "three")][..], &[("key", "tw o")], &[("cookie", "session=one")]] {
        let failure = ask(&gate, wrong, Some("key=one")).await.unwrap_err();
        assert_eq!(failure.challenge.as_deref(), Some("ApiKey realm=\"a2a\""));
    }
}

fn token(header: &Value, claims: &Value) -> String {
    let signed = format!(
        "{}.{}",
        jose::encode(header.to_string().as_bytes()),
        jose::encode(claims.to_string().as_bytes())
    );
    let signature = PrivateKey::read(KEY).unwrap().sign(signed.as_bytes()).unwrap();
    format!("{signed}.{}", jose::encode(&signature))
}

fn claims(change: impl FnOnce(&mut Value)) -> Value {
    let mut claims = json!({"iss": "https://sso", "aud": ["x", "agents"], "sub": "alice", "exp": NOW + 300, "scope": "run see"});
    change(&mut claims);
    claims
}

#[tokio::test(start_paused = true)]
async fn signed_tokens_are_checked_to_the_end() {
    let dir = tempfile::tempdir().unwrap();
    let public = PrivateKey::read(KEY).unwrap().public().to_jwk();
    std::fs::write(dir.path().join("jwks.json"), json!({"keys": [public]}).to_string()).unwrap();
    let security = json!({"sso": {"jwt": {
        "issuer": "https://sso", "audience": "agents", "jwks": "jwks.json", "scopes": ["run"],
    }}});
    let gate = gate(&security, dir.path(), &[]).unwrap();
    let header = json!({"alg": "EdDSA", "kid": "one"});
    let ask = async |token: &str| ask(&gate, &[("authorization", &format!("Bearer {token}"))], None).await;

    assert_eq!(ask(&token(&header, &claims(|_| {}))).await.unwrap().as_deref(), Some("sso/alice"));
    let unnamed = token(&json!({"alg": "EdDSA"}), &claims(|claims| claims["aud"] = "agents".into()));
    assert!(ask(&unnamed).await.is_ok());

    let refusals: [(&str, Value); 11] = [
        ("of another issuer", claims(|claims| claims["iss"] = "https://other".into())),
        ("for another audience", claims(|claims| claims["aud"] = json!(["x"]))),
        ("for another audience", claims(|claims| claims["aud"] = json!(7))),
        ("has expired", claims(|claims| claims["exp"] = (NOW - 61).into())),
        ("has expired", claims(|claims| claims["exp"] = "never".into())),
        (
            "has no end",
            claims(|claims| {
                claims.as_object_mut().unwrap().remove("exp");
            }),
        ),
        ("not valid yet", claims(|claims| claims["nbf"] = (NOW + 61).into())),
        ("not valid yet", claims(|claims| claims["iat"] = (NOW + 61).into())),
        ("not valid yet", claims(|claims| claims["nbf"] = "soon".into())),
        ("who the caller is", claims(|claims| claims["sub"] = " ".into())),
        ("malformed", json!([])),
    ];
    for (why, claims) in refusals {
        let failure = ask(&token(&header, &claims)).await.unwrap_err();
        assert_eq!(failure.reason, Reason::Unauthenticated, "{why}");
        assert!(failure.message.contains(why), "{why}: {}", failure.message);
        assert!(failure.challenge.unwrap().contains("error=\"invalid_token\""));
    }
    let within = claims(|claims| claims["exp"] = (NOW - 59).into());
    assert!(ask(&token(&header, &within)).await.is_ok());

    let failure =
        ask(&token(&header, &claims(|claims| claims["scope"] = "running".into()))).await.unwrap_err();
    assert_eq!(failure.reason, Reason::PermissionDenied);
    assert_eq!(
        failure.challenge.as_deref(),
        Some("Bearer realm=\"a2a\", error=\"insufficient_scope\", scope=\"run\"")
    );

    for (why, header) in [
        ("algorithm", json!({"alg": "none"})),
        ("algorithm", json!({"alg": "HS256", "kid": "one"})),
        ("algorithm", json!({"alg": "RS512", "kid": "one"})),
        ("signature", json!({"alg": "ES256", "kid": "one"})),
        ("signature", json!({"alg": "EdDSA", "kid": "two"})),
        ("critical", json!({"alg": "EdDSA", "kid": "one", "crit": ["x"]})),
        ("malformed", json!({"kid": "one"})),
    ] {
        let failure = ask(&token(&header, &claims(|_| {}))).await.unwrap_err();
        assert!(failure.message.contains(why), "{why}: {}", failure.message);
    }
    let right = token(&header, &claims(|_| {}));
    let (signed, _) = right.rsplit_once('.').unwrap();
    for wrong in [
        format!("{signed}."),
        format!("{signed}.AAAA"),
        format!("{right}.x"),
        "a.b".to_owned(),
        "x".repeat(17_000),
    ] {
        assert_eq!(ask(&wrong).await.unwrap_err().reason, Reason::Unauthenticated);
    }
}

#[tokio::test(start_paused = true)]
async fn algorithms_leeway_and_the_claim_of_the_owner_are_those_that_are_declared() {
    let dir = tempfile::tempdir().unwrap();
    let public = PrivateKey::read(KEY).unwrap().public().to_jwk();
    std::fs::write(dir.path().join("jwks.json"), json!({"keys": [public]}).to_string()).unwrap();
    let ask = async |more: Value, claims: Value| {
        let mut jwt = json!({"issuer": "https://sso", "audience": "agents", "jwks": "jwks.json"});
        jwt.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let gate = gate(&json!({"sso": {"jwt": jwt}}), dir.path(), &[]).unwrap();
        let token = token(&json!({"alg": "EdDSA", "kid": "one"}), &claims);
        let asked = ask(&gate, &[("authorization", &format!("Bearer {token}"))], None).await;
        asked.map(Option::unwrap_or_default).map_err(|failure| failure.message.into_owned())
    };
    let at = |end: i64| claims(|claims| claims["exp"] = end.into());
    let refused = |why: &str| Err::<String, _>(why.to_owned());
    let wrong = "the algorithm of the token is not accepted";
    assert_eq!(ask(json!({"algorithms": ["ES256"]}), at(NOW + 300)).await, refused(wrong));
    assert_eq!(ask(json!({"algorithms": ["EdDSA"]}), at(NOW + 300)).await.as_deref(), Ok("sso/alice"));
    assert_eq!(ask(json!({"leeway": 0}), at(NOW - 1)).await, refused("the token has expired"));
    assert_eq!(ask(json!({"leeway": 120}), at(NOW - 100)).await.as_deref(), Ok("sso/alice"));
    let mailed = claims(|claims| claims["email"] = "a@example.com".into());
    assert_eq!(ask(json!({"owner": "email"}), mailed).await.as_deref(), Ok("sso/a@example.com"));
}

/// An issuer that answers what the script says, and then nothing more.
struct Issuer(std::sync::Mutex<Vec<Result<(u16, String)>>>);

struct Whole(Option<bytes::Bytes>);

#[async_trait]
impl Body for Whole {
    async fn chunk(&mut self) -> Result<Option<bytes::Bytes>> {
        Ok(self.0.take())
    }
}

#[async_trait]
impl Transport for Issuer {
    async fn send(&self, _: &Request) -> Result<Response> {
        let next = self.0.lock().unwrap().pop();
        match next {
            Some(answer) => {
                answer.map(|(status, text)| Response::new(status, vec![], Box::new(Whole(Some(text.into())))))
            }
            None => std::future::pending().await,
        }
    }
}

#[tokio::test(start_paused = true)]
async fn keys_are_fetched_seldom_and_kept_while_the_issuer_is_gone() {
    let set = |kid: &str| {
        json!({"keys": [PrivateKey::read(KEY).unwrap().public().named(Some(kid.to_owned())).to_jwk()]})
            .to_string()
    };
    let down = || Err(Error::internal("down"));
    let script = vec![Ok((200, set("two"))), Ok((302, String::new())), Ok((200, set("one"))), down()];
    let issuer = Arc::new(Issuer(std::sync::Mutex::new(script)));
    let left = || issuer.0.lock().unwrap().len();
    let clock: Arc<dyn Clock> = TokioClock::shared();
    let keys = Keys::over(issuer.clone(), "https://sso/jwks", 300, clock);
    let has = async |kid: &str| {
        let found = keys.get(Some(kid), Algorithm::EdDsa).await;
        found
            .map(|keys| keys.candidates(Some(kid), Algorithm::EdDsa).count())
            .map_err(|failure| failure.reason)
    };
    let pass = async |seconds: u64| tokio::time::advance(Duration::from_secs(seconds)).await;

    assert_eq!(has("one").await, Err(Reason::Unavailable));
    assert_eq!(has("one").await, Err(Reason::Unavailable), "it is not asked again at once");
    assert_eq!(left(), 3);
    pass(30).await;
    assert_eq!(has("one").await, Ok(1));
    assert_eq!((has("two").await, left()), (Ok(0), 2), "a made-up name of a key is not asked for at once");
    pass(301).await;
    assert_eq!((has("one").await, left()), (Ok(1), 1), "a redirect is not followed, and the keys are kept");
    pass(30).await;
    assert_eq!((has("two").await, left()), (Ok(1), 0));
    assert_eq!(has("one").await, Ok(0), "what the issuer has withdrawn is gone");
    pass(299).await;
    assert_eq!(has("two").await, Ok(1));
    pass(3_600).await;
    // Nothing answers any more; the clock of the test goes on to the limit of the call.
    assert_eq!(has("two").await, Err(Reason::Unavailable));
}
