//! A thousand calls through cuts, stalls and refusals, each by its seed, on a paused clock.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "helpers of a test")]

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use mas_comm_kit::{
    http::{Body, Request, Response, Transport},
    retry::Jitter,
};
use mas_contracts::{
    Audience, ChatRequest, Delivery, Error, ErrorKind, Message, ModelContract, Result, Retry, Usage,
};
use mas_testkit::{CallContextBuilder, RecordingSink, build_context};
use serde_json::json;

use super::{Chat, OPENAI};
use crate::{native::Native, params::Params};

const BUDGET: Duration = Duration::from_secs(30);
const ATTEMPTS: usize = 4;

/// How an attempt ends.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Whole,
    /// The connection breaks, or just ends, after this many bytes.
    Broken(usize),
    Ended(usize),
    /// Nothing comes any more but pings after this many bytes.
    Stalled(usize),
    Refused(u16, &'static str),
    NoConnection,
}

struct Chance(Jitter);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        let scaled = self.0.next() * f64::from(u32::try_from(limit).unwrap());
        (0..limit).rfind(|number| f64::from(u32::try_from(*number).unwrap()) <= scaled).unwrap_or(0)
    }

    fn end(&mut self, length: usize) -> End {
        match self.below(9) {
            0..=2 => End::Whole,
            3 => End::Broken(self.below(length)),
            4 => End::Ended(self.below(length)),
            5 => End::Stalled(self.below(length)),
            6 => End::Refused(429, ["", "0", "2", "soon", "99999"][self.below(5)]),
            7 => End::Refused(500, ""),
            _ => End::NoConnection,
        }
    }
}

struct Chaos {
    chance: Mutex<Chance>,
    stream: Vec<u8>,
    sink: Arc<RecordingSink>,
    /// How each request ended, and how much was out when it was sent.
    sent: Mutex<Vec<(End, usize)>>,
}

#[async_trait]
impl Transport for Chaos {
    async fn send(&self, _request: &Request) -> Result<Response> {
        let mut chance = self.chance.lock().unwrap();
        let end = chance.end(self.stream.len());
        self.sent.lock().unwrap().push((end, self.sink.text(Audience::Answer).len()));
        let (status, headers, kept) = match end {
            End::NoConnection => {
                let refused = Error::new(ErrorKind::Unavailable, "no connection");
                return Err(refused.with_retry(Retry::Backoff));
            }
            End::Refused(status, pause) => (status, vec![("retry-after".to_owned(), pause.to_owned())], 0),
            End::Whole => (200, Vec::new(), self.stream.len()),
            End::Broken(kept) | End::Ended(kept) | End::Stalled(kept) => (200, Vec::new(), kept),
        };
        // Within an event a server can only be silent.
        let pings = self.stream[..kept].ends_with(b"\n\n");
        let (mut rest, mut pieces) = (&self.stream[..kept], Vec::new());
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(rest.len().min(1 + chance.below(40)));
            pieces.push(Bytes::copy_from_slice(piece));
            rest = after;
        }
        pieces.reverse();
        Ok(Response::new(status, headers, Box::new(Pieces { pieces, end, pings })))
    }
}

struct Pieces {
    pieces: Vec<Bytes>,
    end: End,
    pings: bool,
}

#[async_trait]
impl Body for Pieces {
    async fn chunk(&mut self) -> Result<Option<Bytes>> {
        match (self.pieces.pop(), self.end) {
            (Some(piece), _) => Ok(Some(piece)),
            (None, End::Stalled(_)) if self.pings => {
                tokio::time::sleep(Duration::from_secs(1)).await;
                Ok(Some(Bytes::from_static(b": ping\n\n")))
            }
            (None, End::Stalled(_)) => std::future::pending().await,
            (None, End::Broken(_)) => {
                let broken = Error::new(ErrorKind::Unavailable, "the answer was cut off");
                Err(broken.with_delivery(Delivery::Unknown).with_retry(Retry::Backoff))
            }
            (None, _) => Ok(None),
        }
    }
}

fn stream(words: &[String]) -> Vec<u8> {
    let chunk = |delta: serde_json::Value| {
        format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": delta}]}))
    };
    let mut out = chunk(json!({"role": "assistant", "content": ""}));
    words.iter().for_each(|word| out.push_str(&chunk(json!({"content": word}))));
    out.push_str("data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n");
    out.push_str("data: {\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":5}}\n\n");
    out.push_str("data: [DONE]\n\n");
    out.into_bytes()
}

#[tokio::test(start_paused = true)]
async fn a_thousand_calls_through_chaos() {
    let words: Vec<String> = (0..12).map(|number| format!("word{number} ")).collect();
    let whole = words.concat();
    let bytes = stream(&words);
    // From here on the answer is complete, whatever becomes of the rest.
    let complete = String::from_utf8(bytes.clone()).unwrap().find("\"stop\"}]}\n").unwrap() + 11;
    let cx = build_context(std::path::Path::new("."), &[]);
    let (mut spent, mut expected, mut failures) = (Usage::default(), 0, 0);
    for seed in 0..1000 {
        let sink = RecordingSink::new();
        let chaos = Arc::new(Chaos {
            chance: Mutex::new(Chance(Jitter::seeded(seed))),
            stream: bytes.clone(),
            sink: sink.clone(),
            sent: Mutex::default(),
        });
        let params = json!({"api_base": "http://h", "first_byte_timeout": 5, "idle_timeout": 5});
        let params = Params::read(&params).unwrap();
        let wire = Chat::new(&cx, &params, &OPENAI).unwrap();
        let model = Native { wire, exchange: params.exchange(&cx, Some(chaos.clone())).unwrap() };
        let call =
            CallContextBuilder::new("a").turn(format!("t{seed}")).sink(sink.clone()).timeout(BUDGET).build();
        let turn = [Arc::new(Message::user("go"))];
        let request = ChatRequest {
            model: &Arc::from("m"),
            system: "",
            history: &[],
            turn: &turn,
            prompt: &[],
            tools: &[],
            audience: Audience::Answer,
            temperature: None,
            max_tokens: None,
            output_schema: None,
        };
        let began = tokio::time::Instant::now();
        let outcome = model.chat(&call, request).await;
        assert!(began.elapsed() <= BUDGET + Duration::from_millis(10), "{seed}: {:?}", began.elapsed());

        let sent = chaos.sent.lock().unwrap().clone();
        assert!((1..=ATTEMPTS).contains(&sent.len()), "{seed}: {sent:?}");
        assert!(sent.iter().all(|(_, out)| *out == 0), "{seed}: asked again with a part out: {sent:?}");
        let ended_well = |end: &End| match end {
            End::Whole => true,
            End::Broken(kept) | End::Ended(kept) | End::Stalled(kept) => *kept >= complete,
            End::Refused(..) | End::NoConnection => false,
        };
        assert!(sent.iter().rev().skip(1).all(|(end, _)| !ended_well(end)), "{seed}: {sent:?}");
        let heard = sink.text(Audience::Answer);
        let (last, _) = sent.last().unwrap();
        match outcome {
            Ok(completion) => {
                assert!(ended_well(last), "{seed}: {sent:?}");
                assert_eq!((&*completion.text, &heard), (&*whole, &whole), "{seed}");
                spent += completion.usage;
                expected += u64::from(*last == End::Whole);
            }
            Err(error) => {
                failures += 1;
                assert!(!ended_well(last), "{seed}: {error:?} {sent:?}");
                assert!(whole.starts_with(&heard), "{seed}: {heard}");
                let out_of_time = began.elapsed() + Duration::from_secs(12) > BUDGET
                    || matches!(last, End::Refused(_, "99999"));
                assert!(
                    !heard.is_empty() || sent.len() == ATTEMPTS || out_of_time,
                    "{seed}: gave up: {sent:?}"
                );
            }
        }
    }
    // What was cut between the end and its usage may have told the usage or not.
    assert!(spent.input_tokens >= 7 * expected && spent.input_tokens % 7 == 0, "{spent:?} of {expected}");
    assert_eq!(spent.output_tokens * 7, spent.input_tokens * 5);
    assert!(expected > 200 && failures > 200, "{expected} and {failures}");
}
