//! Bounds of what callers may ask, of what is kept, and of deliveries.

use std::time::Duration;

use mas_contracts::Problem;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::push::Entry;

/// What a caller may ask of the server.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Limits {
    /// Bytes of a request's body; default 4 MiB.
    pub(crate) body: usize,
    /// Depth of a request's JSON; default 128.
    pub(crate) nesting: usize,
    /// Bytes of a request's headers; default 32 KiB. Of the socket: endpoints that share one agree on it, as on the
    /// other limits of headers and of connections, and one that does not say it takes that of the others.
    pub(crate) header_bytes: usize,
    /// Headers of a request; default 100.
    pub(crate) headers: usize,
    /// Parts of a message; default 100.
    pub(crate) parts: usize,
    /// Bytes of the metadata of a message, of one of its parts or of a request, about; default 64 KiB.
    pub(crate) metadata: usize,
    /// Connections at once; default 20,000.
    pub(crate) connections: usize,
    /// Streams at once; default 16,384.
    pub(crate) streams: usize,
    /// Tasks at work at once, of all callers; default 4,096.
    pub(crate) tasks: usize,
    /// Messages that wait for one task; default 16.
    pub(crate) waiting: usize,
    /// Seconds in which the headers of a request must arrive; default 10.
    pub(crate) header_seconds: f64,
    /// Seconds in which the body of a request must arrive; default 30.
    pub(crate) body_seconds: f64,
    /// Seconds between signs of life on a silent stream; default 15.
    pub(crate) keep_alive_seconds: f64,
    /// Seconds that one turn may take; default 3600.
    pub(crate) turn_seconds: f64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body: 4 * 1024 * 1024,
            nesting: 128,
            header_bytes: 32 * 1024,
            headers: 100,
            parts: 100,
            metadata: 64 * 1024,
            connections: 20_000,
            streams: 16_384,
            tasks: 4_096,
            waiting: 16,
            header_seconds: 10.0,
            body_seconds: 30.0,
            keep_alive_seconds: 15.0,
            turn_seconds: 3_600.0,
        }
    }
}

impl Limits {
    /// How long the headers of a request may take.
    pub(crate) fn header_time(&self) -> Duration {
        seconds(self.header_seconds)
    }

    /// How long the body of a request may take.
    pub(crate) fn body_time(&self) -> Duration {
        seconds(self.body_seconds)
    }

    /// The time between signs of life on a silent stream.
    pub(crate) fn keep_alive(&self) -> Duration {
        seconds(self.keep_alive_seconds)
    }

    /// How long one turn may take.
    pub(crate) fn turn_time(&self) -> Duration {
        seconds(self.turn_seconds)
    }

    pub(super) fn problems(&self) -> Vec<Problem> {
        let counts = [
            ("body", self.body),
            ("nesting", self.nesting),
            ("headers", self.headers),
            ("parts", self.parts),
            ("metadata", self.metadata),
            ("connections", self.connections),
            ("streams", self.streams),
            ("tasks", self.tasks),
            ("waiting", self.waiting),
        ];
        let times = [
            ("header_seconds", self.header_seconds),
            ("body_seconds", self.body_seconds),
            ("keep_alive_seconds", self.keep_alive_seconds),
            ("turn_seconds", self.turn_seconds),
        ];
        let mut problems = of_counts("a2a.limits", &counts);
        problems.extend(of_times("a2a.limits", &times));
        // Less is refused by the HTTP library; more depth than this is more stack than a thread has.
        if self.header_bytes < 8 * 1024 {
            problems.push(Problem::new("8192 bytes at least").at("a2a.limits.header_bytes"));
        }
        if self.nesting > 1_000 {
            problems.push(Problem::new("1000 at most").at("a2a.limits.nesting"));
        }
        problems
    }
}

/// How much of a task is kept beside the store, which is chosen by `defaults.store` of config.yaml and has limits of
/// its own.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Keep {
    /// Seconds that the webhooks of a finished task are kept; default 3600.
    pub(crate) seconds: f64,
    /// Messages in the history of a task; default 1,000.
    pub(crate) history: usize,
    /// Events of a task that a broken stream can resume from; default 4,096.
    pub(crate) events: usize,
    /// Bytes of those events; default 4 MiB.
    pub(crate) event_bytes: usize,
}

impl Default for Keep {
    fn default() -> Self {
        Self { seconds: 3_600.0, history: 1_000, events: 4_096, event_bytes: 4 * 1024 * 1024 }
    }
}

impl Keep {
    /// How long the webhooks of a finished task are kept.
    pub(crate) fn time(&self) -> Duration {
        seconds(self.seconds)
    }

    pub(super) fn problems(&self) -> Vec<Problem> {
        let counts = [("history", self.history), ("events", self.events), ("event_bytes", self.event_bytes)];
        let mut problems = of_counts("a2a.keep", &counts);
        problems.extend(of_times("a2a.keep", &[("seconds", self.seconds)]));
        problems
    }
}

/// Delivery to webhooks.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Push {
    /// What may be posted to: hosts (`hooks.example.com`, `*.example.com`, `*` for every one) with public addresses,
    /// and blocks of addresses (`10.1.0.0/16`), also of private ones. Default every public one.
    pub(crate) allow: Vec<String>,
    /// Whether hosts may have addresses of this machine and of private networks; default false. Addresses of the
    /// link, such as `169.254.169.254`, where clouds keep keys, have to be named in `allow`.
    pub(crate) allow_private: bool,
    /// Deliveries that wait, of all tasks; default 10,000.
    pub(crate) queue: usize,
    /// Bytes of those; default 64 MiB.
    pub(crate) queue_bytes: usize,
    /// Deliveries at once; default 16.
    pub(crate) at_once: usize,
    /// Attempts of one delivery; default 5.
    pub(crate) attempts: u32,
    /// Seconds that one attempt may take; default 10.
    pub(crate) seconds: f64,
    /// Webhooks of one task; default 50.
    pub(crate) configs: usize,
}

impl Default for Push {
    fn default() -> Self {
        Self {
            allow: Vec::new(),
            allow_private: false,
            queue: 10_000,
            queue_bytes: 64 * 1024 * 1024,
            at_once: 16,
            attempts: 5,
            seconds: 10.0,
            configs: 50,
        }
    }
}

impl Push {
    /// How long one attempt may take.
    pub(crate) fn time(&self) -> Duration {
        seconds(self.seconds)
    }

    pub(super) fn problems(&self) -> Vec<Problem> {
        let counts = [
            ("queue", self.queue),
            ("queue_bytes", self.queue_bytes),
            ("at_once", self.at_once),
            ("attempts", usize::try_from(self.attempts).unwrap_or(usize::MAX)),
            ("configs", self.configs),
        ];
        let mut problems = of_counts("a2a.push", &counts);
        problems.extend(of_times("a2a.push", &[("seconds", self.seconds)]));
        for (at, entry) in self.allow.iter().enumerate() {
            if Entry::read(entry).is_none() {
                let message = format!("`{entry}` is neither a host nor a block of addresses");
                let help = "write `hooks.example.com`, `*.example.com`, `10.1.0.0/16` or `*`";
                problems.push(Problem::new(message).at(format!("a2a.push.allow[{at}]")).help(help));
            }
        }
        problems
    }
}

/// Which pages of browsers may call.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Cors {
    /// Origins, such as `https://app.example.com`, or `*` for every one; cookies are never allowed.
    pub(crate) origins: Vec<String>,
}

impl Cors {
    pub(super) fn problems(&self) -> Vec<Problem> {
        let wrong = |origin: &&String| {
            let host = origin.strip_prefix("https://").or_else(|| origin.strip_prefix("http://"));
            origin.as_str() != "*"
                && host.is_none_or(|host| host.is_empty() || host.contains(['/', '*', '@', ' ']))
        };
        let problem = |origin: &String| {
            Problem::new(format!("`{origin}` is no origin: write `https://app.example.com` or `*`"))
                .at("a2a.cors.origins")
        };
        let empty = Problem::new("name at least one origin, or leave `cors` out").at("a2a.cors.origins");
        let empty = self.origins.is_empty().then_some(empty);
        self.origins.iter().filter(wrong).map(problem).chain(empty).collect()
    }
}

fn of_counts(place: &str, counts: &[(&str, usize)]) -> Vec<Problem> {
    let zero = counts.iter().filter(|(_, count)| *count == 0);
    zero.map(|(name, _)| Problem::new("1 at least").at(format!("{place}.{name}"))).collect()
}

fn of_times(place: &str, times: &[(&str, f64)]) -> Vec<Problem> {
    let wrong = times.iter().filter(|(_, seconds)| !(0.001..=31_536_000.0).contains(seconds));
    wrong
        .map(|(name, _)| Problem::new("seconds from 0.001 to a year").at(format!("{place}.{name}")))
        .collect()
}

/// Seconds that a check has let through.
fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
}
