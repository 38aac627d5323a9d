//! What goes over the wire, byte by byte, by the numbers of the reference (platform-send.md, B3 and B4).

mod cards;
mod errors;
mod requests;
mod streams;

use mas_testkit::http::{Act, RawRequest, RawServer};
use serde_json::{Value, json};

use super::{super::Comm, comm, context, say, say_in};

/// A server of one agent: it answers by what a request asks for.
struct Peer {
    server: RawServer,
}

/// A request, as the script of a peer looks at it.
struct Asked {
    /// The method of JSON-RPC, or the verb and the path of HTTP+JSON.
    what: String,
    /// How often it was asked for before.
    before: usize,
    raw: RawRequest,
}

impl Peer {
    async fn new(script: impl Fn(&Asked) -> Vec<Act> + Send + Sync + 'static) -> Self {
        let seen = std::sync::Mutex::new(Vec::<String>::new());
        let script = move |_: usize, raw: &RawRequest| {
            let what = what(raw);
            let before = {
                let mut seen = seen.lock().unwrap();
                seen.push(what.clone());
                seen.iter().filter(|known| **known == what).count() - 1
            };
            script(&Asked { what, before, raw: raw.clone() })
        };
        Self { server: RawServer::start(script).await.unwrap() }
    }

    fn url(&self) -> &str {
        self.server.url()
    }

    /// A backend that is given the card of this one interface, and says more about the call.
    fn by(&self, binding: &str, version: &str, streams: bool, mut client: Value) -> Comm {
        let interface = json!({"url": self.url(), "protocolBinding": binding, "protocolVersion": version});
        client["card"] = json!({"supportedInterfaces": [interface], "capabilities": {"streaming": streams}});
        comm(self.url(), &client)
    }

    fn json_rpc(&self, streams: bool) -> Comm {
        self.by("JSONRPC", "1.0", streams, quick())
    }

    /// What was asked for, in order.
    fn asked(&self) -> Vec<String> {
        self.server.requests().iter().map(what).collect()
    }

    /// The bodies in order; null for a request without one.
    fn bodies(&self) -> Vec<Value> {
        let requests = self.server.requests();
        requests.iter().map(|request| serde_json::from_str(&request.body).unwrap_or_default()).collect()
    }
}

fn what(raw: &RawRequest) -> String {
    let body: Value = serde_json::from_str(&raw.body).unwrap_or_default();
    match body.get("method").and_then(Value::as_str) {
        Some(method) => method.to_owned(),
        None => raw.line.trim_end_matches(" HTTP/1.1").to_owned(),
    }
}

/// Pauses that a test does not notice.
fn quick() -> Value {
    json!({
        "poll": {"initial": 0.01, "max": 0.01}, "reconnect": {"backoff": [0.01, 0.01]}, "cancel_timeout": 0.5,
    })
}

fn task(state: &str) -> Value {
    let done = state == "TASK_STATE_COMPLETED" || state == "completed";
    let artifact = json!({"artifactId": "a", "parts": [{"text": "answer", "kind": "text"}]});
    json!({
        "id": "t", "contextId": "c", "kind": "task", "status": {"state": state},
        "artifacts": if done { json!([artifact]) } else { json!([]) },
    })
}

fn done() -> Value {
    json!({"task": task("TASK_STATE_COMPLETED")})
}

fn working() -> Value {
    json!({"task": task("TASK_STATE_WORKING")})
}

fn message(text: &str) -> Value {
    json!({"message": {"messageId": "r", "role": "ROLE_AGENT", "contextId": "c", "parts": [{"text": text}]}})
}

/// An answer of JSON-RPC.
fn result(result: &Value) -> Vec<Act> {
    answer(&json!({"jsonrpc": "2.0", "id": 1, "result": result}))
}

fn answer(body: &Value) -> Vec<Act> {
    vec![Act::answer(200, "application/json", &body.to_string())]
}

/// An error of JSON-RPC.
fn refusal(code: i32) -> Vec<Act> {
    answer(&json!({"jsonrpc": "2.0", "id": 1, "error": {"code": code, "message": "no"}}))
}

/// A stream of JSON-RPC with these events, which ends with the connection.
fn events(results: &[Value]) -> Vec<Act> {
    let mut acts = vec![Act::stream()];
    acts.extend(results.iter().map(event));
    acts
}

fn event(result: &Value) -> Act {
    let data = json!({"jsonrpc": "2.0", "id": 1, "result": result});
    Act::Send(format!("data: {data}\n\n").into_bytes())
}
