use mas_contracts::{ProviderProfile, SkillProfile};
use serde_json::json;

use super::*;

const KEY: &str = r#"{"kty":"OKP","crv":"Ed25519","kid":"of-the-rfc",
    "d":"nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#;

fn profile() -> AgentProfile {
    AgentProfile {
        id: "fares".into(),
        name: "fares".into(),
        version: "1.2.0".into(),
        description: "Finds fares.".into(),
        skills: vec![SkillProfile { id: "search".into(), name: "Search".into(), description: "".into() }],
        provider: Some(ProviderProfile { organization: None, url: Some("https://example.com".into()) }),
    }
}

fn plain() -> AgentProfile {
    AgentProfile {
        id: "fares".into(),
        name: "".into(),
        version: "".into(),
        description: "".into(),
        skills: vec![],
        provider: None,
    }
}

fn published(profile: &AgentProfile, params: &Value) -> Published {
    let params = Params::read(params).unwrap();
    let place = Place { tenant: Some("fares".to_owned()), ..Place::declared(&params, true).unwrap() };
    Published::new(profile, &params, &place, None, Duration::ZERO).unwrap()
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap()
}

fn public(published: &Published) -> Value {
    serde_json::from_slice(published.document().body()).unwrap()
}

#[test]
fn the_union_has_what_both_versions_read() {
    let published = published(
        &profile(),
        &json!({"usage": "deploy", "url": "https://agents.example.com/fares/", "a2a": {
            "listen": {"port": 9006},
            "grpc_port": 9007,
            "capabilities": {"pushNotifications": true, "extensions": [
                {"uri": "urn:x:trace", "description": "", "params": {}},
                {"uri": "urn:x:must", "required": true, "params": {"deep": {"n": 1}}},
            ]},
            "security": {
                "sso": {"jwt": {"issuer": "i", "audience": "a", "jwks": "k.json", "scopes": ["run"]}},
                "key": {"api_key": {"in": "query", "name": "key", "description": "Ask us.", "keys": {"me": "k"}}},
            },
        }}),
    );
    insta::assert_snapshot!(pretty(&public(&published)), @r#"
    {
      "name": "fares",
      "description": "Finds fares.",
      "supportedInterfaces": [
        {
          "url": "https://agents.example.com/fares",
          "protocolBinding": "JSONRPC",
          "protocolVersion": "1.0"
        },
        {
          "url": "https://agents.example.com/fares/a2a/rest",
          "protocolBinding": "HTTP+JSON",
          "protocolVersion": "1.0"
        },
        {
          "url": "agents.example.com:9007",
          "protocolBinding": "GRPC",
          "protocolVersion": "1.0",
          "tenant": "fares"
        },
        {
          "url": "https://agents.example.com/fares",
          "protocolBinding": "JSONRPC",
          "protocolVersion": "0.3"
        },
        {
          "url": "https://agents.example.com/fares/a2a/rest",
          "protocolBinding": "HTTP+JSON",
          "protocolVersion": "0.3"
        }
      ],
      "provider": {
        "organization": "MAS Lab",
        "url": "https://example.com"
      },
      "version": "1.2.0",
      "capabilities": {
        "streaming": true,
        "pushNotifications": true,
        "extendedAgentCard": false,
        "extensions": [
          {
            "uri": "urn:x:trace"
          },
          {
            "uri": "urn:x:must",
            "required": true,
            "params": {
              "deep": {
                "n": 1
              }
            }
          }
        ]
      },
      "securitySchemes": {
        "key": {
          "apiKeySecurityScheme": {
            "location": "query",
            "name": "key",
            "description": "Ask us."
          },
          "type": "apiKey",
          "in": "query",
          "name": "key",
          "description": "Ask us."
        },
        "sso": {
          "httpAuthSecurityScheme": {
            "scheme": "Bearer",
            "bearerFormat": "JWT"
          },
          "type": "http",
          "scheme": "Bearer",
          "bearerFormat": "JWT"
        }
      },
      "securityRequirements": [
        {
          "schemes": {
            "key": {}
          }
        },
        {
          "schemes": {
            "sso": {
              "list": [
                "run"
              ]
            }
          }
        }
      ],
      "defaultInputModes": [
        "text/plain"
      ],
      "defaultOutputModes": [
        "text/plain"
      ],
      "skills": [
        {
          "id": "search",
          "name": "Search",
          "description": "Search",
          "tags": [
            "search"
          ]
        }
      ],
      "protocolVersion": "0.3.0",
      "url": "https://agents.example.com/fares",
      "preferredTransport": "JSONRPC",
      "additionalInterfaces": [
        {
          "url": "https://agents.example.com/fares",
          "transport": "JSONRPC"
        },
        {
          "url": "https://agents.example.com/fares/a2a/rest",
          "transport": "HTTP+JSON"
        }
      ],
      "security": [
        {
          "key": []
        },
        {
          "sso": [
            "run"
          ]
        }
      ],
      "supportsAuthenticatedExtendedCard": false
    }
    "#);
    assert_eq!(published.required_extensions(), ["urn:x:must".into()]);
    assert_eq!(published.extensions().len(), 2);
    let promised = published.capabilities();
    assert!(promised.streaming && promised.push_notifications && !promised.extended_card);
}

#[test]
fn a_card_of_v1_has_nothing_of_v03_and_no_empty_member() {
    let params = json!({"usage": "deploy", "url": "http://127.0.0.1:9006", "a2a": {"card": "v1"}});
    let published = published(&plain(), &params);
    insta::assert_snapshot!(pretty(&public(&published)), @r#"
    {
      "name": "fares",
      "description": "fares",
      "supportedInterfaces": [
        {
          "url": "http://127.0.0.1:9006",
          "protocolBinding": "JSONRPC",
          "protocolVersion": "1.0"
        },
        {
          "url": "http://127.0.0.1:9006/a2a/rest",
          "protocolBinding": "HTTP+JSON",
          "protocolVersion": "1.0"
        }
      ],
      "version": "0.1.0",
      "capabilities": {
        "streaming": true,
        "pushNotifications": false,
        "extendedAgentCard": false
      },
      "defaultInputModes": [
        "text/plain"
      ],
      "defaultOutputModes": [
        "text/plain"
      ],
      "skills": [
        {
          "id": "general",
          "name": "fares",
          "description": "fares",
          "tags": [
            "general"
          ]
        }
      ]
    }
    "#);
    assert_eq!(published.input_modes(), ["text/plain".into()]);
}

#[test]
fn what_the_endpoint_says_of_the_agent_is_in_both_shapes() {
    let params = json!({"url": "http://h:1", "a2a": {
        "input_modes": ["text/*"],
        "output_modes": ["text/markdown", "image/png"],
        "documentation_url": "https://example.com/docs",
        "icon_url": "https://example.com/icon.png",
    }});
    let read = Params::read(&params).unwrap();
    let place = Place::declared(&read, true).unwrap();
    let card = Card { profile: &profile(), params: &read, place: &place, extended: None };
    for card in [card.v1(), card.v03()] {
        let told =
            ["defaultInputModes", "defaultOutputModes", "documentationUrl", "iconUrl"].map(|key| &card[key]);
        assert_eq!(
            told,
            [
                &json!(["text/*"]),
                &json!(["text/markdown", "image/png"]),
                &json!("https://example.com/docs"),
                &json!("https://example.com/icon.png"),
            ]
        );
    }
}

#[test]
fn the_key_that_signs_is_named_as_declared() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("key.json"), KEY).unwrap();
    let build = mas_testkit::build_context(dir.path(), &[]);
    let header = |signing: Value| {
        let params = Params::read(&json!({"url": "http://h:1", "a2a": {"signing": signing}})).unwrap();
        let signer = Signer::open(params.a2a.signing.as_ref().unwrap(), &build).unwrap();
        let place = Place::declared(&params, true).unwrap();
        let published = Published::new(&profile(), &params, &place, Some(&signer), Duration::ZERO).unwrap();
        let protected = public(&published)["signatures"][0]["protected"].as_str().unwrap().to_owned();
        serde_json::from_slice::<Value>(&crate::jose::decode(&protected).unwrap()).unwrap()
    };
    let own = json!({"alg": "EdDSA", "kid": "of-the-rfc", "typ": "JOSE"});
    assert_eq!(header(json!({"key": "key.json"})), own);
    let jku = "https://example.com/jwks.json";
    let named = json!({"alg": "EdDSA", "kid": "mine", "typ": "JOSE", "jku": jku});
    assert_eq!(header(json!({"key": "key.json", "kid": "mine", "jku": jku})), named);
}

#[test]
fn the_extended_card_is_for_those_who_authenticate() {
    let refusal = |published: &Published, owner| published.extended(Dialect::V1, owner).unwrap_err().reason;
    let none = published(&profile(), &json!({"url": "http://h:1"}));
    assert_eq!(refusal(&none, Some("me")), Reason::UnsupportedOperation);
    let security = json!({"t": {"bearer": {"tokens": {"me": "s"}}}});
    let capabilities = json!({"extendedAgentCard": true});
    let declared = json!({"url": "http://h:1", "a2a": {"capabilities": capabilities, "security": security}});
    assert_eq!(
        refusal(&published(&profile(), &declared), Some("me")),
        Reason::ExtendedAgentCardNotConfigured
    );
    let full = published(
        &profile(),
        &json!({"url": "http://h:1", "a2a": {"capabilities": capabilities, "security": security, "extended_card": {
            "description": "Finds every fare.", "skills": [{"id": "book", "description": "Books one."}],
        }}}),
    );
    assert_eq!(refusal(&full, None), Reason::Unauthenticated);
    for dialect in [Dialect::V1, Dialect::V03] {
        let card = full.extended(dialect, Some("me")).unwrap();
        assert_eq!(card["description"], "Finds every fare.");
        assert_eq!(
            card["skills"][1],
            json!({"id": "book", "name": "book", "description": "Books one.", "tags": ["book"]})
        );
    }
    assert_eq!(public(&full)["skills"].as_array().unwrap().len(), 1);
}

#[test]
fn a_signature_holds_for_the_card_and_for_no_other() {
    let card = public(&published(&profile(), &json!({"url": "http://h:1", "a2a": {"card": "v1"}})));
    let Signed { card, public_key } =
        sign_card(card, KEY, None, Some("https://example.com/jwks.json")).unwrap();
    let trusted = public_key.to_string();
    assert!(public_key.get("d").is_none() && public_key["kid"] == "of-the-rfc");
    let verified = verify_card(&card, &[&trusted]).unwrap();
    assert_eq!((verified.signature, verified.kid.as_str(), verified.algorithm), (0, "of-the-rfc", "EdDSA"));
    assert!(!verified.without_empty);
    assert_eq!(card["signatures"].as_array().unwrap().len(), 1);

    // What v1.0 does not know is no part of the card.
    let mut union = card.clone();
    union["url"] = "http://elsewhere".into();
    assert!(verify_card(&union, &[&trusted]).is_ok());
    let says = |card: &Value, keys: &[&str]| verify_card(card, keys).unwrap_err().to_string();
    let mut forged = card.clone();
    forged["supportedInterfaces"][0]["url"] = "http://elsewhere".into();
    assert_eq!(
        says(&forged, &[&trusted]),
        "no signature of the card is right: signatures[0]: it is not that of this card by the key `of-the-rfc`"
    );
    let other = public_key.to_string().replace("of-the-rfc", "another");
    assert!(says(&card, &[&other]).contains("no key that is trusted has the name `of-the-rfc`"));
    for (change, problem) in [
        (json!([]), "the card is not signed"),
        (json!([{}]), "`protected` is missing"),
        (json!([{"protected": "e30", "signature": "AA"}]), "its header names no `alg`"),
        (
            json!([{"protected": "eyJhbGciOiJub25lIiwia2lkIjoiYSJ9", "signature": "AA"}]),
            "its algorithm is not one of",
        ),
        (
            json!([{"protected": "eyJhbGciOiJFUzI1NiIsImtpZCI6ImEiLCJjcml0IjpbXX0", "signature": "AA"}]),
            "`crit`",
        ),
    ] {
        let mut card = card.clone();
        card["signatures"] = change;
        assert!(says(&card, &[&trusted]).contains(problem), "{problem}");
    }
}

#[test]
fn where_readers_differ_the_card_is_signed_for_both() {
    let params = json!({"url": "http://h:1", "a2a": {"card": "v1", "security": {"t": {"bearer": {"tokens": {"me": "s"}}}}}});
    let card = public(&published(&profile(), &params));
    let Signed { mut card, public_key } = sign_card(card, KEY, None, None).unwrap();
    let trusted = public_key.to_string();
    assert_eq!(card["signatures"].as_array().unwrap().len(), 2);
    let verified = verify_card(&card, &[&trusted]).unwrap();
    assert!(verified.without_empty, "the first is that of the official SDKs");
    card["signatures"].as_array_mut().unwrap().remove(0);
    assert!(!verify_card(&card, &[&trusted]).unwrap().without_empty);
}
