//! `card show`, `card sign` and `card verify`.

use std::{
    io::{Read, Write},
    net::TcpListener,
};

use crate::bench::{Bench, team};

const ENDPOINTS: &str = "\
apiVersion: infra/v1
kind: Application
metadata: {name: agents}
spec:
  endpoints:
    a:
      protocol: a2a
      usage: deploy
      url: http://127.0.0.1:9006
      a2a:
        grpc_port: 9007
        signing: {key: keys/card.pem}
    b: {protocol: a2a, usage: use, url: \"http://127.0.0.1:9008\"}
";

/// The key of RFC 8037, appendix A.
const KEY: &str = "-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g
-----END PRIVATE KEY-----
";
const PUBLIC: &str = r#"{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#;

fn bench() -> Bench {
    let bench = team("rules: [{say: x}]\n");
    bench.write("infra/agents.yaml", ENDPOINTS);
    bench.write("infra/keys/card.pem", KEY);
    bench.write("public.json", PUBLIC);
    bench
}

#[test]
fn the_card_of_an_endpoint_is_shown_signed_and_verified() {
    let bench = bench();
    let shown = bench.run(&["card", "show", "mas.yaml", "--infra-ref", "infra/agents.yaml"]);
    assert_eq!((shown.code, shown.err.as_str()), (Some(0), ""));
    let card = shown.json();
    assert_eq!(card["name"], "a");
    let interfaces = card["supportedInterfaces"].as_array().expect("a list");
    assert_eq!(interfaces.len(), 6);
    assert_eq!(interfaces[2]["url"], "127.0.0.1:9007");
    bench.write("card.json", &shown.out);
    let verified = bench.run(&["card", "verify", "card.json", "--key", "public.json"]);
    assert_eq!(verified.code, Some(0));
    insta::assert_snapshot!(verified.out, @"signatures[0] is right: EdDSA by the key kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k");

    bench.write("forged.json", &shown.out.replace(":9006", ":6666"));
    let forged = bench.run(&["card", "verify", "forged.json", "--key", "public.json"]);
    assert_eq!((forged.code, forged.out.as_str()), (Some(1), ""));
    insta::assert_snapshot!(forged.err, @"error[mas::a2a::signature]: forged.json: no signature of the card is right: signatures[0]: it is not that of this card by the key `kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k`");
}

#[test]
fn an_agent_without_an_endpoint_is_shown_at_an_address_of_the_command_line() {
    let bench = bench();
    let none = bench.run(&["card", "show", "mas.yaml"]);
    assert_eq!(none.code, Some(3));
    insta::assert_snapshot!(none.err, @r#"
    mas::a2a::no_endpoint

      × nothing says where `a` is served: no endpoint of it deploys
       ╭─[mas.yaml:8:13]
     7 │     agents:
     8 │       - id: a
       ·             ─
     9 │         apiVersion: mas/v1
       ╰────
      help: say `--url`, or give it an endpoint with `usage: deploy` in an infra Application
    "#);
    let shown = bench.run(&["card", "show", "mas.yaml", "--agent", "b", "--url", "http://127.0.0.1:1/b/"]);
    assert_eq!(shown.json()["supportedInterfaces"][1]["url"], "http://127.0.0.1:1/b/a2a/rest");
    let unknown = bench.run(&["card", "show", "mas.yaml", "--agent", "bb", "--url", "http://h", "--json"]);
    assert_eq!(unknown.code, Some(3));
    assert_eq!(unknown.json()["findings"][0]["code"], "mas::a2a::no_agent");
}

#[test]
fn what_is_wrong_with_an_endpoint_is_shown_at_its_place() {
    let bench = bench();
    bench.write("infra/agents.yaml", &ENDPOINTS.replace("grpc_port: 9007", "limits: {body: 0}"));
    let checked = bench.run(&["validate", "infra/agents.yaml"]);
    assert_eq!(checked.code, Some(3));
    insta::assert_snapshot!(checked.out, @r#"
    FAIL  infra/agents.yaml  kind=Application
    mas::params::invalid

      × the endpoint of `a` cannot be listened for: agent_expose `a2a` refuses `a2a.limits.body`: 1 at
      │ least
        ╭─[infra/agents.yaml:11:24]
     10 │       a2a:
     11 │         limits: {body: 0}
        ·                        ─
     12 │         signing: {key: keys/card.pem}
        ╰────

    1 file: 1 error, 0 warnings
    "#);
    let run = bench.run(&["card", "show", "mas.yaml", "--infra-ref", "infra/agents.yaml"]);
    assert_eq!(run.code, Some(3));
    insta::assert_snapshot!(run.err, @r#"
    mas::params::invalid

      × the endpoint of `a` cannot be listened for: agent_expose `a2a` refuses `a2a.limits.body`: 1 at
      │ least
        ╭─[infra/agents.yaml:11:24]
     10 │       a2a:
     11 │         limits: {body: 0}
        ·                        ─
     12 │         signing: {key: keys/card.pem}
        ╰────
    "#);
    bench.write("infra/agents.yaml", &ENDPOINTS.replace("card.pem", "none.pem"));
    let run = bench.run(&["card", "show", "mas.yaml", "--infra-ref", "infra/agents.yaml"]);
    assert_eq!(run.code, Some(3));
    insta::assert_snapshot!(run.err, @r#"
    mas::params::invalid

      × the endpoint of `a` cannot be listened for: agent_expose `a2a` refuses `a2a.signing.key`: the
      │ key `keys/none.pem` that signs the card cannot be read: No such file or directory (os error 2)
        ╭─[infra/agents.yaml:12:24]
     11 │         grpc_port: 9007
     12 │         signing: {key: keys/none.pem}
        ·                        ─────────────
     13 │     b: {protocol: a2a, usage: use, url: "http://127.0.0.1:9008"}
        ╰────
    "#);
}

#[test]
fn a_card_in_a_file_is_signed() {
    let bench = bench();
    let shown = bench.run(&["card", "show", "mas.yaml", "--url", "http://127.0.0.1:1"]);
    bench.write("card.json", &shown.out);
    let sign = ["card", "sign", "card.json", "--key", "infra/keys/card.pem", "--kid", "ours", "--json"];
    let signed = bench.run(&sign).json();
    assert_eq!(signed["public_key"]["kid"], "ours");
    bench.write("signed.json", &signed["card"].to_string());
    bench.write("ours.json", &format!(r#"{{"keys": [{}]}}"#, signed["public_key"]));
    let verified = bench.run(&["card", "verify", "signed.json", "--key", "ours.json", "--json"]).json();
    assert_eq!((&verified["status"], &verified["kid"]), (&"verified".into(), &"ours".into()));

    let says = |args: &[&str]| {
        let run = bench.run(&[&["card"], args].concat());
        format!("{}: {}", run.code.expect("a code"), run.err)
    };
    bench.write("broken.json", "{\n  \"name\": }");
    bench.write("number.json", r#"{"name": "a", "skills": [{"id": 7}]}"#);
    let key = "infra/keys/card.pem";
    let all = [
        says(&["sign", "none.json", "--key", key]),
        says(&["sign", "broken.json", "--key", key]),
        says(&["sign", "number.json", "--key", key]),
        says(&["sign", "card.json", "--key", "public.json"]),
        says(&["verify", "card.json", "--key", "public.json"]),
        says(&["verify", "signed.json", "--key", key]),
    ];
    insta::assert_snapshot!(all.concat(), @r#"
    3: error[mas::a2a::file]: none.json cannot be read: No such file or directory (os error 2)
    3: error[mas::a2a::card]: broken.json:2:11: it is no JSON: expected value at line 2 column 11
    3: error[mas::a2a::card]: number.json: `skills[0].id`: expected a text
    3: error[mas::a2a::keys]: public.json: the JWK is no private key of P-256 or Ed25519: `kty`, `crv`, `x`, (`y`) and `d` must fit
    1: error[mas::a2a::signature]: card.json: the card is not signed
    3: error[mas::a2a::keys]: infra/keys/card.pem: expected one `PUBLIC KEY` in PEM, of P-256 or Ed25519; write other keys as JWK
    "#);
    let usage = bench.run(&["card", "sign", "card.json", "--key", key, "--jku", "http://h"]);
    assert_eq!(usage.code, Some(2));
}

#[test]
fn a_card_is_fetched_from_its_agent() {
    let bench = bench();
    let shown = bench.run(&["card", "show", "mas.yaml", "--infra-ref", "infra/agents.yaml"]);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let card = shown.out;
    let server = std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().expect("a caller");
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            socket.read_exact(&mut byte).expect("a request");
            head.extend(byte);
        }
        let answer =
            format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{card}", card.len());
        socket.write_all(answer.as_bytes()).expect("it reads");
        String::from_utf8(head).expect("text").lines().next().unwrap_or_default().to_owned()
    });
    let verified = bench.run(&["card", "verify", &url, "--key", "public.json"]);
    assert_eq!((verified.code, verified.err.as_str()), (Some(0), ""));
    assert_eq!(server.join().expect("it ends"), "GET /.well-known/agent-card.json HTTP/1.1");
    let gone = bench.run(&["card", "verify", &url, "--key", "public.json"]);
    assert_eq!(gone.code, Some(1));
    assert!(gone.err.starts_with("error[mas::"), "{}", gone.err);
}
