#![allow(
    clippy::panic,
    clippy::expect_used,
    reason = "helpers of tests; the exemption in clippy.toml reaches test functions only"
)]

use std::{borrow::Cow, sync::mpsc};

use async_trait::async_trait;
use mas_contracts::{
    Audience, Build, Capability, Outbound, Part, Peer, Probe, Reply, Thread, ThreadName, check_params,
};
use serde_json::{Value, json};

use super::*;

/// Echoes, panics or hangs, as the peer's handle says.
struct Moody;

#[async_trait]
impl AgentCommContract for Moody {
    fn capability(&self) -> Capability {
        Capability { stream: true, ..Capability::default() }
    }

    async fn send(&self, cx: &CallContext, to: &Peer, message: Outbound) -> Result<Reply> {
        match &*to.id {
            "panics" => panic!("on purpose"),
            "hangs" => std::future::pending().await,
            _ => {
                cx.emit_text(Audience::Answer, "he");
                cx.emit_text(Audience::Answer, "llo");
                Ok(Reply::done(message.parts))
            }
        }
    }

    async fn probe(&self, _: &CallContext, _: &Peer) -> Result<Probe> {
        Ok(Probe::default())
    }
}

inventory::submit! {
    Descriptor {
        name: Cow::Borrowed("moody"),
        aliases: Cow::Borrowed(&[]),
        origin: Cow::Borrowed("tests"),
        version: Cow::Borrowed("1.0.0"),
        summary: Cow::Borrowed("Echoes."),
        example: Cow::Borrowed(""),
        schema: || json!({"type": "object"}),
        check: check_params::<HashMap<String, Value>>,
        builder: Builder::AgentComm(Build::Linked(|_, _| Ok(Arc::new(Moody)))),
    }
}

type Frame = (u64, u32, Value);

struct ToTest(Mutex<mpsc::Sender<Frame>>);

impl Frames for ToTest {
    fn frame(&self, call: u64, kind: u32, payload: &[u8]) -> bool {
        let payload = serde_json::from_slice(payload).expect("JSON");
        locked(&self.0).send((call, kind, payload)).is_ok()
    }
}

fn asked(frames: &mpsc::Receiver<Frame>, call: u64, request: &Value) -> Vec<(u32, Value)> {
    assert!(start(call, request.to_string().as_bytes()), "{request} was refused");
    until_end(frames, call)
}

fn until_end(frames: &mpsc::Receiver<Frame>, call: u64) -> Vec<(u32, Value)> {
    let mut got = Vec::new();
    loop {
        let (of, kind, payload) = frames.recv_timeout(Duration::from_secs(20)).expect("a frame");
        assert_eq!(of, call, "a frame of another call");
        got.push((kind, payload));
        if kind != EVENT {
            return got;
        }
    }
}

fn sent(instance: &Value, to: &str) -> Value {
    let thread = Thread { parent: "p".into(), name: ThreadName::Main };
    let message = Outbound { parts: vec![Part::text("hello")], message_id: "m".into(), thread, task: None };
    json!({"comm": {
        "instance": instance,
        "context": {"session": "s", "turn": "t", "path": ["root"], "depth": 0, "budget_ms": 60_000},
        "op": {"send": {"to": {"id": to}, "message": message}},
    }})
}

/// One test, for there is one host in a process.
#[test]
fn a_call_ends_once_whatever_the_plugin_does() {
    assert!(!start(1, b"{}"), "there is no host yet");
    let (to, frames) = mpsc::channel();
    assert!(begin(Box::new(ToTest(Mutex::new(to.clone())))));
    assert!(!begin(Box::new(ToTest(Mutex::new(to)))), "a second host");

    let described = asked(&frames, 1, &json!({"describe": {}}));
    let [(END, described)] = &described[..] else { panic!("{described:?}") };
    assert_eq!(described["offers"][0]["name"], "moody");

    let build = json!({"category": "agent_comm", "name": "moody", "params": {}, "base": "/", "env": {}});
    let built = asked(&frames, 2, &json!({ "build": build }));
    let [(END, built)] = &built[..] else { panic!("{built:?}") };
    assert_eq!(built["capability"]["stream"], true);
    let instance = &built["instance"];

    let echoed = asked(&frames, 3, &sent(instance, "echoes"));
    let [(EVENT, first), (EVENT, second), (END, reply)] = &echoed[..] else { panic!("{echoed:?}") };
    assert_eq!((&first["text_delta"]["text"], &second["text_delta"]["text"]), (&json!("he"), &json!("llo")));
    assert_eq!(reply["parts"][0]["text"], "hello");

    let panicked = asked(&frames, 4, &sent(instance, "panics"));
    let [(FAIL, error)] = &panicked[..] else { panic!("{panicked:?}") };
    assert_eq!((&error["code"], &error["delivery"]), (&json!("mas::plugin::panic"), &json!("unknown")));

    let hangs = sent(instance, "hangs").to_string();
    assert!(start(5, hangs.as_bytes()));
    assert!(!start(5, hangs.as_bytes()), "a number that is in use");
    assert!(!cancel(5, 9), "no such reason");
    assert!(cancel(5, 0));
    let stopped = until_end(&frames, 5);
    let [(FAIL, error)] = &stopped[..] else { panic!("{stopped:?}") };
    assert_eq!(error["kind"], "cancelled");
    assert!(!cancel(5, 0), "it has ended");

    for wrong in ["", "{", "[]", "{\"fly\": {}}", "{\"release\": {\"instance\": \"one\"}}"] {
        assert!(start(6, wrong.as_bytes()));
        let refused = until_end(&frames, 6);
        assert!(
            matches!(&refused[..], [(FAIL, error)] if error["kind"] == "invalid"),
            "{wrong}: {refused:?}"
        );
    }
    assert!(matches!(
        &asked(&frames, 7, &json!({"release": {"instance": instance}}))[..],
        [(END, Value::Null)]
    ));
    let gone = asked(&frames, 8, &sent(instance, "echoes"));
    assert!(matches!(&gone[..], [(FAIL, error)] if error["kind"] == "not_found"), "{gone:?}");
    assert!(frames.try_recv().is_err(), "a frame after the end");
}
