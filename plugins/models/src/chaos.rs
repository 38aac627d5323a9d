//! A thousand calls of each kind through cuts, stalls and refusals, each by its seed, on a paused clock.

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
    Audience, BuildContext, Delivery, Error, ErrorKind, ModelContract, Result, Retry, Usage,
};
use mas_testkit::{CallContextBuilder, OwnedRequest, RecordingSink, build_context};
use rstest::rstest;
use serde_json::{Value, json};

use crate::{anthropic, gemini, openai};

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

impl End {
    /// How much of the answer arrives.
    fn kept(self, length: usize) -> usize {
        match self {
            Self::Whole => length,
            Self::Broken(kept) | Self::Ended(kept) | Self::Stalled(kept) => kept,
            Self::Refused(..) | Self::NoConnection => 0,
        }
    }
}

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
    /// How each request ended.
    sent: Mutex<Vec<End>>,
}

#[async_trait]
impl Transport for Chaos {
    async fn send(&self, _request: &Request) -> Result<Response> {
        let mut chance = self.chance.lock().unwrap();
        let end = chance.end(self.stream.len());
        self.sent.lock().unwrap().push(end);
        let (status, headers) = match end {
            End::NoConnection => {
                let refused = Error::new(ErrorKind::Unavailable, "no connection");
                return Err(refused.with_retry(Retry::Backoff));
            }
            End::Refused(status, pause) => (status, vec![("retry-after".to_owned(), pause.to_owned())]),
            _ => (200, Vec::new()),
        };
        let kept = end.kept(self.stream.len());
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

/// What comes of an event of an answer.
#[derive(Clone, Copy, PartialEq)]
enum Gives {
    Nothing,
    Thought(&'static str),
    Text(&'static str),
    Call,
    /// The answer is complete with it, whatever becomes of the rest.
    End,
    /// The usage is known with it.
    Usage,
    EndAndUsage,
}

use Gives::{Call, End as Ends, EndAndUsage, Nothing, Text, Thought, Usage as Counts};

/// An answer: its events.
struct Answer(Vec<(Value, Gives)>);

impl Answer {
    fn bytes(&self) -> Vec<u8> {
        let written = |event: &Value| match event.as_str() {
            Some(text) => format!("data: {text}\n\n"),
            None => format!("data: {event}\n\n"),
        };
        self.0.iter().map(|(event, _)| written(event)).collect::<String>().into_bytes()
    }

    /// What the first so many bytes give.
    fn gives(&self, kept: usize) -> Vec<Gives> {
        let bytes = self.bytes();
        let whole = bytes[..kept].windows(2).filter(|pair| pair == b"\n\n").count();
        self.0.iter().take(whole).map(|(_, gives)| *gives).collect()
    }
}

/// What is heard of it: thoughts and text.
fn heard(gives: &[Gives]) -> [String; 2] {
    let of = |wanted: fn(&Gives) -> Option<&'static str>| gives.iter().filter_map(wanted).collect();
    [
        of(|gives| if let Thought(thought) = gives { Some(thought) } else { None }),
        of(|gives| if let Text(text) = gives { Some(text) } else { None }),
    ]
}

const WORDS: [&str; 8] = ["One ", "two, ", "two ", "and ", "one. ", "Grüße", "; ", "end"];

fn says(thought: impl Fn(&str) -> Value, text: impl Fn(&str) -> Value) -> Vec<(Value, Gives)> {
    let thoughts = ["Hm, ", "hm."].into_iter().map(|word| (thought(word), Thought(word)));
    thoughts.chain(WORDS.map(|word| (text(word), Text(word)))).collect()
}

/// The answers of chat completions: words after thoughts, or two calls.
fn chat(calls: bool) -> Answer {
    let delta = |delta: Value| json!({"choices": [{"index": 0, "delta": delta}]});
    let call = |index: u64, more: Value| {
        let mut call = json!({"index": index});
        call.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
        (delta(json!({"tool_calls": [call]})), Call)
    };
    let part = |index, arguments: &str| call(index, json!({"function": {"arguments": arguments}}));
    let begin = |index, id: &str, name: &str| {
        call(index, json!({"id": id, "function": {"name": name, "arguments": ""}}))
    };
    let mut events = vec![(delta(json!({"role": "assistant", "content": ""})), Nothing)];
    events.extend(if calls {
        let first = [begin(0, "c0", "fares"), part(0, "{\"to\":"), part(0, "\"Bern\"}")];
        let second = [begin(1, "c1", "fares"), part(1, "{\"to\":"), part(1, "\"Genf\"}")];
        first.into_iter().chain(second).collect()
    } else {
        says(|word| delta(json!({"reasoning_content": word})), |word| delta(json!({"content": word})))
    });
    events.extend([
        (json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}), Ends),
        (json!({"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 5}}), Counts),
        (json!("[DONE]"), Nothing),
    ]);
    Answer(events)
}

/// The same of Anthropic.
fn messages(calls: bool) -> Answer {
    let start = |index: u64, block: Value| json!({"type": "content_block_start", "index": index, "content_block": block});
    let delta =
        |index: u64, delta: Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
    let stop = |index: u64| (json!({"type": "content_block_stop", "index": index}), Nothing);
    let mut events =
        vec![(json!({"type": "message_start", "message": {"usage": {"input_tokens": 7}}}), Nothing)];
    if calls {
        for (index, town) in (0..).zip(["Bern", "Genf"]) {
            let block = json!({"type": "tool_use", "id": format!("c{index}"), "name": "fares", "input": {}});
            let part =
                |text: &str| (delta(index, json!({"type": "input_json_delta", "partial_json": text})), Call);
            events.extend([(start(index, block), Call), part("{\"to\":"), part(&format!("\"{town}\"}}"))]);
            events.push(stop(index));
        }
    } else {
        let mut said = says(
            |word| delta(0, json!({"type": "thinking_delta", "thinking": word})),
            |word| delta(1, json!({"type": "text_delta", "text": word})),
        );
        let text = said.split_off(2);
        events.push((start(0, json!({"type": "thinking", "thinking": ""})), Nothing));
        events.extend(said);
        events.extend([stop(0), (start(1, json!({"type": "text", "text": ""})), Nothing)]);
        events.extend(text);
        events.push(stop(1));
    }
    events.extend([
        (json!({"type": "ping"}), Nothing),
        (json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 5}}), Counts),
        (json!({"type": "message_stop"}), Ends),
    ]);
    Answer(events)
}

/// The same of Gemini.
fn contents(calls: bool) -> Answer {
    let chunk = |part: Value| json!({"candidates": [{"content": {"role": "model", "parts": [part]}}]});
    let mut events = if calls {
        let call = |(id, town)| json!({"functionCall": {"id": id, "name": "fares", "args": {"to": town}}});
        [("c0", "Bern"), ("c1", "Genf")].map(|it| (chunk(call(it)), Call)).to_vec()
    } else {
        says(|word| chunk(json!({"text": word, "thought": true})), |word| chunk(json!({"text": word})))
    };
    let usage = json!({"promptTokenCount": 7, "candidatesTokenCount": 5});
    let last = json!({"candidates": [{"finishReason": "STOP"}], "usageMetadata": usage});
    events.push((last, EndAndUsage));
    Answer(events)
}

type Open = fn(&BuildContext, &Value, Option<Arc<dyn Transport>>) -> Result<Arc<dyn ModelContract>>;

#[rstest]
#[case::openai(openai::open, chat)]
#[case::anthropic(anthropic::open, messages)]
#[case::gemini(gemini::open, contents)]
#[tokio::test(start_paused = true)]
async fn a_thousand_calls_through_chaos(
    #[case] open: Open,
    #[case] answer: fn(bool) -> Answer,
    #[values(false, true)] calls: bool,
) {
    let answer = answer(calls);
    let bytes = answer.bytes();
    let everything = answer.gives(bytes.len());
    let asked: &[[&str; 2]] =
        if calls { &[["c0", r#"{"to":"Bern"}"#], ["c1", r#"{"to":"Genf"}"#]] } else { &[] };
    let cx = build_context(std::path::Path::new("."), &[]);
    let (mut spent, mut counted, mut answers, mut failures) = (Usage::default(), 0, 0, 0);
    for seed in 0..1000 {
        let chaos = Arc::new(Chaos {
            chance: Mutex::new(Chance(Jitter::seeded(seed))),
            stream: bytes.clone(),
            sent: Mutex::default(),
        });
        let params = json!({"api_base": "http://h", "first_byte_timeout": 5, "idle_timeout": 5});
        let model = open(&cx, &params, Some(chaos.clone())).unwrap();
        let sink = RecordingSink::new();
        let call =
            CallContextBuilder::new("a").turn(format!("t{seed}")).sink(sink.clone()).timeout(BUDGET).build();
        let began = tokio::time::Instant::now();
        let outcome = model.chat(&call, OwnedRequest::new("go").borrow()).await;
        assert!(began.elapsed() <= BUDGET + Duration::from_millis(10), "{seed}: {:?}", began.elapsed());

        let sent = chaos.sent.lock().unwrap().clone();
        assert!((1..=ATTEMPTS).contains(&sent.len()), "{seed}: {sent:?}");
        let (last, before) = sent.split_last().unwrap();
        for end in before {
            let out = answer.gives(end.kept(bytes.len()));
            let silent = out.iter().all(|gives| matches!(gives, Nothing | Counts));
            assert!(silent, "{seed}: asked again with a part out: {sent:?}");
        }
        let given = answer.gives(last.kept(bytes.len()));
        let known = [sink.text(Audience::Reasoning), sink.text(Audience::Answer)];
        assert_eq!(known, heard(&given), "{seed}: a piece is lost or doubled: {sent:?}");
        let is_whole = given.iter().any(|gives| matches!(gives, Ends | EndAndUsage));
        match outcome {
            Ok(completion) => {
                answers += 1;
                assert!(is_whole, "{seed}: a part is taken for the whole: {sent:?}");
                let told = [completion.reasoning.as_deref().unwrap_or_default(), &*completion.text];
                assert_eq!(told, heard(&everything), "{seed}");
                let called: Vec<_> = completion
                    .calls
                    .iter()
                    .map(|call| [call.id.to_string(), call.arguments.to_json()])
                    .collect();
                assert_eq!(called, asked, "{seed}");
                spent += completion.usage;
                counted += u64::from(given.iter().any(|gives| matches!(gives, Counts | EndAndUsage)));
            }
            Err(error) => {
                failures += 1;
                assert!(!is_whole, "{seed}: {error:?} {sent:?}");
                let is_out = given.iter().any(|gives| matches!(gives, Thought(_) | Text(_) | Call));
                let out_of_time = began.elapsed() + Duration::from_secs(12) > BUDGET
                    || matches!(last, End::Refused(_, "99999"));
                assert!(is_out || sent.len() == ATTEMPTS || out_of_time, "{seed}: gave up: {sent:?}");
            }
        }
    }
    assert_eq!((spent.input_tokens, spent.output_tokens), (7 * counted, 5 * counted));
    assert!(answers > 200 && counted > 200 && failures > 200, "{answers}, {counted} and {failures}");
}
