//! What the `layers` of an endpoint say.

use std::time::Duration;

use mas_contracts::Problem;
use serde_json::{Map, Value as Json, json};

use super::shown;
use crate::manifest::Params;

/// The layers around the backend of an endpoint; none by default.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layers {
    /// Sends again what was not executed.
    pub retry: Option<RetrySettings>,
    /// Whether each attempt has a span.
    pub tracing: bool,
    /// Leaves a peer that fails alone for a while.
    pub circuit_breaker: Option<BreakerSettings>,
    /// How many sends may begin.
    pub rate_limit: Option<RateSettings>,
    /// Longest time of one attempt.
    pub timeout: Option<Duration>,
}

/// How often and when it is sent again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RetrySettings {
    /// Attempts in all; 3 by default.
    pub attempts: u32,
    /// The pause after the first attempt, doubled after each further one; 0.2 s by default.
    pub backoff: Duration,
    /// The longest pause of this side's choice; 5 s by default. A peer may ask for a longer one.
    pub max_backoff: Duration,
}

impl Default for RetrySettings {
    fn default() -> Self {
        Self { attempts: 3, backoff: Duration::from_millis(200), max_backoff: Duration::from_secs(5) }
    }
}

/// When a peer is left alone, and for how long.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BreakerSettings {
    /// Failures in a row after which it is; 5 by default.
    pub failure_threshold: u32,
    /// How long it is; 30 s by default.
    pub reset_timeout: Duration,
}

impl Default for BreakerSettings {
    fn default() -> Self {
        Self { failure_threshold: 5, reset_timeout: Duration::from_secs(30) }
    }
}

/// How many sends may begin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateSettings {
    /// On average.
    pub requests_per_minute: f64,
    /// At once, after a pause; 1 by default.
    pub burst: u32,
}

impl RateSettings {
    /// The distance of two turns.
    pub(super) fn interval(&self) -> Duration {
        Duration::try_from_secs_f64(60.0 / self.requests_per_minute).unwrap_or(Duration::MAX)
    }
}

impl Layers {
    /// Reads the block of an endpoint. The shape of the document was checked before; what one key says of another is
    /// told here, and so is what a block that no document holds has wrong.
    pub(crate) fn read(block: Option<&Params>) -> (Self, Vec<Problem>) {
        let mut reader = Reader::default();
        let block = block.and_then(|block| block.value().as_object());
        let read = Self {
            retry: Reader::map(block, "retry").map(|map| {
                let standard = RetrySettings::default();
                let (backoff, max_backoff) = reader.pauses(map, &standard);
                RetrySettings {
                    attempts: reader.count(map, "retry", "attempts").unwrap_or(standard.attempts),
                    backoff,
                    max_backoff,
                }
            }),
            tracing: block.and_then(|block| block.get("tracing")).is_some_and(is_true),
            circuit_breaker: Reader::map(block, "circuit_breaker").map(|map| {
                let standard = BreakerSettings::default();
                let threshold = reader.count(map, "circuit_breaker", "failure_threshold");
                let reset = reader.seconds(map, "circuit_breaker", "reset_timeout");
                BreakerSettings {
                    failure_threshold: threshold.unwrap_or(standard.failure_threshold),
                    reset_timeout: reset.unwrap_or(standard.reset_timeout),
                }
            }),
            rate_limit: Reader::map(block, "rate_limit").and_then(|map| {
                Some(RateSettings {
                    requests_per_minute: reader.rate(map)?,
                    burst: reader.count(map, "rate_limit", "burst").unwrap_or(1),
                })
            }),
            timeout: block.and_then(|_| reader.seconds(block, "", "timeout")),
        };
        (read, reader.problems)
    }

    /// The names of those that are there, in their order.
    #[must_use]
    pub fn names(&self) -> Vec<&'static str> {
        self.effects().into_iter().map(|(name, _)| name).collect()
    }

    /// What each does, in their order, outermost first, for a person.
    #[must_use]
    pub fn effects(&self) -> Vec<(&'static str, String)> {
        let retry = self.retry.map(|retry| {
            let (first, longest) = (shown(retry.backoff), shown(retry.max_backoff));
            let pauses = if first == longest { first } else { format!("{first} to {longest}") };
            let attempts = retry.attempts;
            format!("up to {attempts} attempts, {pauses} apart, where nothing was executed")
        });
        let tracing = self.tracing.then(|| "a span for each attempt".to_owned());
        let breaker = self.circuit_breaker.map(|breaker| {
            let failures = match breaker.failure_threshold {
                1 => "a failure".to_owned(),
                several => format!("{several} failures in a row"),
            };
            format!("left alone for {} after {failures}", shown(breaker.reset_timeout))
        });
        let rate = self.rate_limit.map(|rate| format!("at most {rate}; more wait until their deadline"));
        let timeout = self.timeout.map(|limit| format!("an attempt ends after {}", shown(limit)));
        let all = [
            ("retry", retry),
            ("tracing", tracing),
            ("circuit_breaker", breaker),
            ("rate_limit", rate),
            ("timeout", timeout),
        ];
        all.into_iter().filter_map(|(name, effect)| Some((name, effect?))).collect()
    }

    /// The same for a program: `[{"layer": "retry", "attempts": 3, …, "effect": "…"}]`, times in seconds.
    #[must_use]
    pub fn to_json(&self) -> Json {
        let settings = |name| match name {
            "retry" => self.retry.map(|retry| {
                let backoff = [retry.backoff.as_secs_f64(), retry.max_backoff.as_secs_f64()];
                json!({"attempts": retry.attempts, "backoff": backoff})
            }),
            "circuit_breaker" => self.circuit_breaker.map(|breaker| {
                let reset = breaker.reset_timeout.as_secs_f64();
                json!({"failure_threshold": breaker.failure_threshold, "reset_timeout": reset})
            }),
            "rate_limit" => self
                .rate_limit
                .map(|rate| json!({"requests_per_minute": rate.requests_per_minute, "burst": rate.burst})),
            "timeout" => self.timeout.map(|limit| json!({"seconds": limit.as_secs_f64()})),
            _ => None,
        };
        let rows = self.effects().into_iter().map(|(name, effect)| {
            let mut row = Map::from_iter([("layer".to_owned(), Json::from(name))]);
            if let Some(Json::Object(settings)) = settings(name) {
                row.extend(settings);
            }
            row.insert("effect".to_owned(), effect.into());
            Json::Object(row)
        });
        rows.collect()
    }
}

/// What is expected of a time.
const SECONDS: &str = "seconds are expected, 0.001 at least and a day at most";

#[derive(Default)]
struct Reader {
    problems: Vec<Problem>,
}

type Block<'a> = Option<&'a Map<String, Json>>;

impl Reader {
    /// The map of a layer that is there; `true` stands for one that says nothing.
    fn map<'a>(block: Block<'a>, layer: &str) -> Option<Block<'a>> {
        match block?.get(layer)? {
            Json::Object(map) => Some(Some(map)),
            value if is_true(value) => Some(None),
            _ => None,
        }
    }

    fn count(&mut self, map: Block<'_>, layer: &str, key: &str) -> Option<u32> {
        let value = map?.get(key)?;
        let whole = value.as_u64().or_else(|| value.as_str()?.trim().parse().ok());
        let count = whole.and_then(|count| u32::try_from(count).ok());
        if count.is_none() {
            self.refuse(layer, key, "a whole number is expected");
        }
        count
    }

    fn seconds(&mut self, map: Block<'_>, layer: &str, key: &str) -> Option<Duration> {
        let seconds = seconds(map?.get(key).filter(|value| !value.is_null())?);
        if seconds.is_none() {
            self.refuse(layer, key, SECONDS);
        }
        seconds
    }

    /// How many of a minute.
    fn rate(&mut self, map: Block<'_>) -> Option<f64> {
        let rate = map.and_then(|map| number(map.get("requests_per_minute")?));
        let rate = rate.filter(|rate| (0.01..=1_000_000.0).contains(rate));
        if rate.is_none() {
            self.refuse("rate_limit", "requests_per_minute", "a number from 0.01 to a million is expected");
        }
        rate
    }

    /// `backoff`: one pause for all, or the first and the longest.
    fn pauses(&mut self, map: Block<'_>, standard: &RetrySettings) -> (Duration, Duration) {
        let standard = (standard.backoff, standard.max_backoff);
        let Some(value) = map.and_then(|map| map.get("backoff")) else { return standard };
        let read = match value {
            Json::Array(pauses) => match &**pauses {
                [first, longest] => seconds(first).zip(seconds(longest)),
                [..] => {
                    self.refuse(
                        "retry",
                        "backoff",
                        "one pause is expected, or two: the first and the longest",
                    );
                    return standard;
                }
            },
            value => seconds(value).map(|pause| (pause, pause)),
        };
        let why = match read {
            Some((first, longest)) if first <= longest => return (first, longest),
            Some(_) => "the first pause is longer than the longest",
            None => SECONDS,
        };
        self.refuse("retry", "backoff", why);
        standard
    }

    fn refuse(&mut self, layer: &str, key: &str, why: &str) {
        let path = if layer.is_empty() { key.to_owned() } else { format!("{layer}.{key}") };
        self.problems.push(Problem::new(why).at(path));
    }
}

/// What is written as a number; a value of the environment is text.
fn number(value: &Json) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.trim().parse().ok())
}

fn seconds(value: &Json) -> Option<Duration> {
    let seconds = number(value).filter(|seconds| (0.001..=86_400.0).contains(seconds))?;
    Duration::try_from_secs_f64(seconds).ok()
}

fn is_true(value: &Json) -> bool {
    match value {
        Json::Bool(flag) => *flag,
        Json::String(text) => matches!(text.as_str(), "true" | "1"),
        _ => false,
    }
}
