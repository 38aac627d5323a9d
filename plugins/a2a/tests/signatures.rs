//! Signatures of cards between this program and the official SDKs.
//!
//! The SDKs are optional: `MAS_A2A_PYTHON` is a Python with `a2a-sdk[signing]` (default `python3`), `MAS_A2A_JS` a
//! directory with `node_modules/@a2a-js/sdk`. Where `MAS_REQUIRE` names `a2a-python` or `a2a-js`, a test does not
//! skip.

#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::print_stderr, reason = "helpers of tests")]

use std::{io::Write, path::Path, process::Command, process::Stdio};

use mas_a2a::card::{agent_card, sign_card, verify_card};
use mas_contracts::{AgentProfile, ProviderProfile, SkillProfile};
use mas_testkit::build_context;
use serde_json::{Value, json};

const ED25519: &str = "-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g
-----END PRIVATE KEY-----
";
/// The key of RFC 7515, appendix A.3.
const P256: &str = r#"{"kty":"EC","crv":"P-256","kid":"appendix-a3",
    "x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
    "d":"jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI"}"#;

/// Reads `{card, keys}`, verifies, and signs the card anew as the SDK does: `{verified, signed, forged}`.
const PYTHON: &str = r#"
import copy, json, sys
from jwt.api_jwk import PyJWK
from a2a.client.card_resolver import parse_agent_card
from a2a.utils.signing import create_agent_card_signer, create_signature_verifier
from google.protobuf.json_format import MessageToDict
asked = json.load(sys.stdin)
keys = {key["kid"]: PyJWK(key) for key in asked["keys"]}
verify = create_signature_verifier(lambda kid, jku: keys[kid], ["ES256", "EdDSA"])
card = parse_agent_card(copy.deepcopy(asked["card"]))
verify(card)
forged = parse_agent_card(copy.deepcopy(asked["card"]))
forged.supported_interfaces[0].url = "http://elsewhere"
try:
    verify(forged)
    forged_passes = True
except Exception:
    forged_passes = False
del card.signatures[:]
private = asked["private"]
alg = "ES256" if private["kty"] == "EC" else "EdDSA"
sign = create_agent_card_signer(PyJWK(private), {"alg": alg, "kid": private["kid"], "typ": "JOSE"})
print(json.dumps({"forged_passes": forged_passes, "signed": MessageToDict(sign(card))}))
"#;

const JS: &str = r#"
const { createRequire } = require('node:module');
const sdk = createRequire(process.env.MAS_A2A_JS + '/x.js')('@a2a-js/sdk');
console.debug = () => {};
const asked = JSON.parse(require('node:fs').readFileSync(0, 'utf8'));
const keys = Object.fromEntries(asked.keys.map((key) => [key.kid, key]));
(async () => {
  const verify = sdk.verifyAgentCardSignature(async (kid) => keys[kid]);
  // As it is fetched: from a card that is read already, this version of the SDK loses the security schemes.
  const read = () => structuredClone(asked.card);
  await verify(read());
  const forged = read();
  forged.supportedInterfaces[0].url = 'http://elsewhere';
  const forged_passes = await verify(forged).then(() => true, () => false);
  const card = { ...read(), signatures: [] };
  const alg = asked.private.kty === 'EC' ? 'ES256' : 'EdDSA';
  const sign = sdk.generateAgentCardSignature({ ...asked.private, alg }, { alg, kid: asked.private.kid, typ: 'JOSE' });
  console.log(JSON.stringify({ forged_passes, signed: await sign(card) }));
})().catch((error) => { console.error(error); process.exit(1); });
"#;

/// Whether a peer is there; required where `MAS_REQUIRE` names it.
fn is_here(name: &str, probe: &mut Command) -> bool {
    let found = probe.output().is_ok_and(|output| output.status.success());
    let required = std::env::var("MAS_REQUIRE").unwrap_or_default();
    assert!(
        found || !required.split(',').any(|one| one == name),
        "MAS_REQUIRE names {name}, and it is not here"
    );
    if !found {
        eprintln!("skipped: {name} is not here");
    }
    found
}

fn python() -> Command {
    Command::new(std::env::var("MAS_A2A_PYTHON").unwrap_or_else(|_| "python3".to_owned()))
}

fn ask(mut peer: Command, asked: &Value) -> Value {
    let mut child =
        peer.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    child.stdin.take().expect("a pipe").write_all(asked.to_string().as_bytes()).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// Cards of every kind: plain and with everything, v1.0 only and for both versions.
fn cards() -> Vec<Value> {
    let profile = AgentProfile {
        id: "fares".into(),
        name: "Färes 😀".into(),
        version: "1.0.0".into(),
        description: "Says \"fares\"\n\u{7}and\ttabs \\ \u{2028}.".into(),
        skills: vec![SkillProfile { id: "s".into(), name: "S".into(), description: "".into() }],
        provider: Some(ProviderProfile {
            organization: Some("Us".into()),
            url: Some("https://us.example".into()),
        }),
    };
    let full = json!({
        "listen": {"port": 9006}, "grpc_port": 9007,
        "documentation_url": "https://us.example/docs",
        "capabilities": {"pushNotifications": true, "extendedAgentCard": true, "extensions": [{
            "uri": "urn:x:y", "description": "It.", "required": true,
            "params": {"b": 1, "a": [1.5, -0.0, 1e21, 1e-7, 123456789012.25, true, null, "", {}], "é": {"": "x"}, "\u{fb33}": 1, "😀": 2},
        }]},
        "security": {
            "t": {"bearer": {"tokens": {"me": "s"}}},
            "k": {"api_key": {"name": "X-Key", "keys": {"me": "s"}}},
            "j": {"jwt": {"issuer": "i", "audience": "a", "jwks": "k", "scopes": ["run"]}},
        },
    });
    let mut old = full.clone();
    old["card"] = "v1".into();
    let rows = [json!({}), json!({"card": "v1"}), full, old];
    let card = |a2a: &Value| {
        let params = json!({"usage": "deploy", "url": "http://127.0.0.1:9006", "a2a": a2a});
        agent_card(&profile, &params, &build_context(Path::new("."), &[])).expect("a card")
    };
    rows.iter().map(card).collect()
}

/// Has a peer verify what is signed here, and verifies here what the peer signs.
fn both_ways(peer: impl Fn() -> Command) {
    let x = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";
    let d = "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A";
    let ed25519 = json!({"kty": "OKP", "crv": "Ed25519", "kid": "ed", "x": x, "d": d, "alg": "EdDSA"});
    let p256: Value = serde_json::from_str(P256).expect("JSON");
    for card in cards() {
        for (key, kid, private) in [(ED25519, Some("ed"), &ed25519), (P256, None, &p256)] {
            let signed = sign_card(card.clone(), key, kid, None).expect("a signature");
            let trusted = signed.public_key.to_string();
            verify_card(&signed.card, &[&trusted]).expect("right by our own rules");
            let asked = json!({"card": signed.card, "keys": [signed.public_key], "private": private});
            let answer = ask(peer(), &asked);
            assert_eq!(answer["forged_passes"], false);
            let theirs = &answer["signed"];
            assert_eq!(theirs["name"], card["name"]);
            verify_card(theirs, &[&trusted]).expect("what the SDK signs is right");
        }
    }
}

#[test]
fn the_python_sdk_reads_our_signatures_and_we_read_its() {
    if is_here("a2a-python", python().args(["-c", "import a2a.utils.signing"])) {
        both_ways(|| {
            let mut peer = python();
            peer.args(["-c", PYTHON]);
            peer
        });
    }
}

#[test]
fn the_js_sdk_reads_our_signatures_and_we_read_its() {
    let probe = "require('node:module').createRequire(process.env.MAS_A2A_JS + '/x.js')('@a2a-js/sdk')";
    if is_here("a2a-js", Command::new("node").args(["-e", probe])) {
        both_ways(|| {
            let mut peer = Command::new("node");
            peer.args(["-e", JS]);
            peer
        });
    }
}
