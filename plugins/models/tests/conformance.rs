//! Every provider keeps the rules of `llm_provider`.
#![allow(clippy::unwrap_used, reason = "functions that tests share")]

#[allow(dead_code, reason = "each test uses a part of it")]
mod support;

use std::{
    path::Path,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use mas_contracts::ModelContract;
use mas_testkit::{
    http::{Act, RawServer},
    llm::{ModelHarness, Play},
};
use serde_json::{Value, json};
use support::{build, build_context, keyed};

const KEY: &str = "sk-nobody-sees-this";

/// A provider over HTTP, with the servers that it asks.
struct Http(&'static str, Mutex<Vec<RawServer>>);

impl Http {
    fn new(provider: &'static str) -> Self {
        Self(provider, Mutex::default())
    }

    /// An event of text or reasoning; `number` is its place.
    fn says(&self, number: usize, text: &str, thinks: bool) -> Value {
        match (self.0, thinks) {
            ("gemini", _) => {
                json!({"candidates": [{"content": {"parts": [{"text": text, "thought": thinks}]}}]})
            }
            ("anthropic", false) => begin(number, &json!({"type": "text", "text": text})),
            ("anthropic", true) => {
                begin(number, &json!({"type": "thinking", "thinking": text, "signature": ""}))
            }
            (_, false) => json!({"choices": [{"delta": {"content": text}}]}),
            (_, true) => json!({"choices": [{"delta": {"reasoning_content": text}}]}),
        }
    }

    fn calls(&self, number: usize, name: &str, arguments: &str) -> Value {
        let (id, input): (_, Value) = (format!("c{number}"), serde_json::from_str(arguments).unwrap());
        match self.0 {
            "gemini" => {
                let call = json!({"functionCall": {"id": id, "name": name, "args": input}});
                json!({"candidates": [{"content": {"parts": [call]}}]})
            }
            "anthropic" => {
                begin(number, &json!({"type": "tool_use", "id": id, "name": name, "input": input}))
            }
            _ => {
                let function = json!({"name": name, "arguments": arguments});
                let call = json!({"index": number, "id": id, "function": function});
                json!({"choices": [{"delta": {"tool_calls": [call]}}]})
            }
        }
    }

    fn end(&self) -> Value {
        match self.0 {
            "gemini" => json!({"candidates": [{"finishReason": "STOP"}]}),
            "anthropic" => json!({"type": "message_stop"}),
            _ => json!({"choices": [{"delta": {}, "finish_reason": "stop"}]}),
        }
    }

    fn acts(&self, play: Play) -> Vec<Act> {
        let refuses = |status, what: &str| {
            vec![Act::answer(status, "application/json", &json!({"error": {"message": what}}).to_string())]
        };
        let (mut events, last) = match play {
            Play::Says(pieces) => {
                let said = pieces.iter().enumerate().map(|(number, text)| self.says(number, text, false));
                (said.collect(), None)
            }
            Play::Thinks(thought, text) => {
                (vec![self.says(0, thought, true), self.says(1, text, false)], None)
            }
            Play::Calls(calls) => {
                let asked = calls.iter().enumerate();
                (asked.map(|(number, (name, arguments))| self.calls(number, name, arguments)).collect(), None)
            }
            Play::Cut(text) => (vec![self.says(0, text, false)], Some(Vec::new())),
            Play::Hangs(text) => (vec![self.says(0, text, false)], Some(vec![Act::Hold])),
            Play::TooLong => return refuses(400, "This model's maximum context length is 8 tokens."),
            Play::Refuses => return refuses(401, &format!("Bearer {KEY} is no key")),
        };
        if last.is_none() {
            events.push(self.end());
        }
        let body: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
        let sent = vec![Act::stream(), Act::Send(body.into_bytes())];
        sent.into_iter().chain(last.into_iter().flatten()).collect()
    }
}

fn begin(number: usize, block: &Value) -> Value {
    json!({"type": "content_block_start", "index": number, "content_block": block})
}

#[async_trait]
impl ModelHarness for Http {
    fn paused(&self) -> bool {
        false
    }

    fn secret(&self) -> Option<&'static str> {
        Some(KEY)
    }

    async fn play(&self, play: Play) -> Option<Arc<dyn ModelContract>> {
        let acts = self.acts(play);
        let server = RawServer::start(move |_, _| acts.clone()).await.unwrap();
        let retry = json!({"retry": {"base": 0.001, "max": 0.001}});
        let model = keyed(self.0, KEY, json!({"api_base": server.url()}), &retry);
        self.1.lock().unwrap().push(server);
        Some(model)
    }
}

/// `scripted`, which has no bytes to cut and nothing to hide.
struct Script;

#[async_trait]
impl ModelHarness for Script {
    async fn play(&self, play: Play) -> Option<Arc<dyn ModelContract>> {
        let rule = match play {
            Play::Says(pieces) => json!({"chunks": pieces}),
            Play::Hangs(text) => json!({"chunks": [text, "end"], "chunk_delay_ms": 3_600_000}),
            Play::Calls(calls) => {
                let call = |(tool, arguments): &(&str, &str)| {
                    let arguments: Value = serde_json::from_str(arguments).unwrap();
                    json!({"tool": tool, "arguments": arguments})
                };
                json!({"calls": calls.iter().map(call).collect::<Vec<_>>()})
            }
            Play::Thinks(..) | Play::Cut(_) | Play::TooLong | Play::Refuses => return None,
        };
        Some(build("scripted", &build_context(Path::new("."), &[]), &json!({"rules": [rule]})).unwrap())
    }
}

/// `mock`, which says what it will.
struct Echo;

#[async_trait]
impl ModelHarness for Echo {
    fn text(&self, _: &[&str]) -> String {
        "[mock] go".to_owned()
    }

    async fn play(&self, play: Play) -> Option<Arc<dyn ModelContract>> {
        let model = || build("mock", &build_context(Path::new("."), &[]), &json!({})).unwrap();
        matches!(play, Play::Says(_)).then(model)
    }
}

mod openai {
    mas_testkit::model_conformance!(super::Http::new("openai"));
}

mod ollama {
    mas_testkit::model_conformance!(super::Http::new("ollama"));
}

mod anthropic {
    mas_testkit::model_conformance!(super::Http::new("anthropic"));
}

mod gemini {
    mas_testkit::model_conformance!(super::Http::new("gemini"));
}

mod scripted {
    mas_testkit::model_conformance!(super::Script);
}

mod mock {
    mas_testkit::model_conformance!(super::Echo);
}
