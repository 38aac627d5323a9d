//! Requests that are broken in every way that a seed leads to. Each gets an answer of the protocol.
//!
//! The seeds are the files of `corpus/`. `MAS_FUZZ_ROUNDS` is how many requests are made of each; a request that
//! gets a wrong answer is told, to be put into the corpus.

use std::path::PathBuf;

use super::*;

/// Words that mean something, put where they do not belong.
const WORDS: &[&str] = &[
    "null",
    "true",
    "-1",
    "1e999",
    "18446744073709551616",
    "0.1",
    "\"\"",
    "{}",
    "[]",
    "[[[[[[[[",
    "{\"a\":",
    "}",
    "]",
    "\"",
    "\\",
    "\\u0000",
    "\\ud800",
    "\u{0}",
    "\u{feff}",
    "é",
    "%",
    "%2F",
    "%ff",
    "/",
    "//",
    ":",
    ":cancel",
    "?",
    "&",
    "=",
    "ROLE_USER",
    "parts",
    "message_id",
    "messageId",
    "jsonrpc",
    "kind",
    "TASK_STATE_WORKING",
    "99999999999999999999",
];

/// Numbers by the seed (xorshift).
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(most.max(1)).unwrap()).unwrap()
    }

    /// Breaks text in a few places.
    fn broken(&mut self, text: &[u8], others: &[Vec<u8>]) -> Vec<u8> {
        let mut text = text.to_vec();
        for _ in 0..=self.below(4) {
            let at = self.below(text.len() + 1);
            let to = (at + self.below(12)).min(text.len());
            match self.below(7) {
                0 if at < text.len() => text[at] = u8::try_from(self.below(256)).unwrap(),
                1 => drop(text.drain(at..to)),
                2 => drop(text.splice(at..to, WORDS[self.below(WORDS.len())].bytes())),
                3 => {
                    let again = text[at..to].to_vec();
                    drop(text.splice(at..at, again));
                }
                4 => text.truncate(at),
                5 => {
                    let other = &others[self.below(others.len())];
                    let from = self.below(other.len() + 1);
                    text.truncate(at);
                    text.extend_from_slice(&other[from..]);
                }
                _ => drop(text.splice(at..at, WORDS[self.below(WORDS.len())].bytes())),
            }
        }
        text
    }
}

/// The files of a folder of the corpus, by name.
fn corpus(folder: &str) -> Vec<Vec<u8>> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("corpus").join(folder);
    let mut files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| std::fs::read(file).unwrap()).collect()
}

fn rounds() -> usize {
    std::env::var("MAS_FUZZ_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(200)
}

/// What is wrong with an answer, as the protocol has it.
fn fault(got: &Got, rpc: bool) -> Option<String> {
    if got.header("content-type") == "text/event-stream" {
        return (!got.text.starts_with("id: ")).then(|| "a stream without events".to_owned());
    }
    let Ok(json) = serde_json::from_str::<Value>(&got.text) else { return Some("no JSON".to_owned()) };
    if rpc {
        let id = &json["id"];
        let whole =
            json["jsonrpc"] == "2.0" && (id.is_null() || id.is_string() || id.is_i64() || id.is_u64());
        let error = &json["error"];
        let failed =
            error["code"].is_i64() && error["message"].is_string() && error["data"][0]["reason"].is_string();
        return (!whole || failed == json.get("result").is_some()).then(|| "no envelope".to_owned());
    }
    let error = &json["error"];
    let failed = error["code"] == got.status.as_u16()
        && error["status"].is_string()
        && error["details"][0]["reason"].is_string();
    (failed == got.status.is_success()).then(|| "no status of google.rpc".to_owned())
}

/// Sends what stands in a file: `VERB /path`, headers, an empty line, the body. None for what HTTP itself refuses.
async fn send(served: &Served, text: &[u8]) -> Option<Got> {
    let split = text.windows(2).position(|two| two == b"\n\n").unwrap_or(text.len());
    let (head, body) = text.split_at(split);
    let head = std::str::from_utf8(head).ok()?;
    let mut lines = head.lines();
    let (verb, path) = lines.next()?.split_once(' ')?;
    let mut request = Request::builder().method(verb).uri(path);
    for line in lines {
        let (name, value) = line.split_once(": ")?;
        request = request.header(name, value);
    }
    let body = Bytes::copy_from_slice(body.get(2..).unwrap_or_default());
    let (parts, body) =
        answer(served.agent.clone(), request.body(Full::new(body)).ok()?, 0).await.into_parts();
    let text = String::from_utf8(body.collect().await.unwrap().to_bytes().to_vec()).unwrap();
    Some(Got { status: parts.status, headers: parts.headers, text })
}

#[tokio::test]
async fn every_broken_body_of_json_rpc_gets_an_envelope() {
    let served = Served::plain();
    let seeds = corpus("jsonrpc");
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let mut good = 0;
    for seed in &seeds {
        for round in 0..rounds() {
            let body = if round == 0 { seed.clone() } else { dice.broken(seed, &seeds) };
            let version = if seed.windows(9).any(|it| it == b"\"message/") { "0.3" } else { "1.0" };
            let got = served.ask("POST", "/", &[("a2a-version", version)], body.clone()).await;
            let fault = fault(&got, true);
            assert_eq!(fault, None, "{}\n{got:?}", String::from_utf8_lossy(&body));
            good += usize::from(got.text.contains("\"result\""));
        }
    }
    assert!(good > seeds.len(), "some are still read");
}

#[tokio::test]
async fn every_broken_request_of_http_json_gets_a_status() {
    let served = Served::plain();
    let seeds = corpus("rest");
    let mut dice = Dice(0x2545_f491_4f6c_dd1d);
    let (mut sent, mut good) = (0, 0);
    for seed in &seeds {
        for round in 0..rounds() {
            let text = if round == 0 { seed.clone() } else { dice.broken(seed, &seeds) };
            let Some(got) = send(&served, &text).await else { continue };
            if got.status == 204 || text.starts_with(b"HEAD") {
                continue;
            }
            let rpc = text.starts_with(b"POST / ") || text.starts_with(b"POST /?");
            let fault = fault(&got, rpc);
            assert_eq!(fault, None, "{}\n{got:?}", String::from_utf8_lossy(&text));
            sent += 1;
            good += usize::from(got.status.is_success());
        }
    }
    assert!(good > seeds.len() && sent > good, "some are still read, and most are not: {good} of {sent}");
}
