//! How long a call elsewhere may take: what parameters say of it, and what is left of it.
//!
//! ```text
//!   timeout: 30          30 s in all
//!   timeout: [5, 900]    5 s to connect, 900 s of silence, 905 s in all
//!       │ Phases::begin(now)
//!       ▼
//!   Budget ── child, until: never longer ──▶ request(now): what one request of it may take
//! ```

use std::{
    borrow::Cow,
    fmt,
    time::{Duration, Instant},
};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{
    Deserialize, Deserializer,
    de::{SeqAccess, Visitor},
};

use mas_contracts::{Error, Result};

/// The seconds of `time` as messages say them: to the hundredth, or as they are below a tenth.
#[must_use]
pub fn seconds(time: Duration) -> f64 {
    let exact = time.as_secs_f64();
    if exact < 0.1 { exact } else { (exact * 100.0).round() / 100.0 }
}

/// What a limit must be, for messages.
const EXPECTED: &str = "seconds above 0, or [connect, read] with two of them";

/// The limits of a call with all that it needs, as parameters say them: seconds in all, or `[connect, read]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phases {
    connect: Duration,
    read: Duration,
    total: Duration,
}

impl Phases {
    /// So long in all, and no phase has a limit of its own. Nothing for no time.
    #[must_use]
    pub fn total_of(total: Duration) -> Option<Self> {
        (!total.is_zero()).then_some(Self { connect: total, read: total, total })
    }

    /// So long for connecting, and so long without a byte afterwards; both together in all. Nothing where one is no
    /// time, or the sum is none that a clock has.
    #[must_use]
    pub fn pair(connect: Duration, read: Duration) -> Option<Self> {
        let total = connect.checked_add(read).filter(|_| !connect.is_zero() && !read.is_zero())?;
        Some(Self { connect, read, total })
    }

    /// As [`pair`](Self::pair), of whole seconds, for defaults; 0 is 1.
    #[must_use]
    pub const fn of_secs(connect: u32, read: u32) -> Self {
        let connect = Duration::from_secs(if connect == 0 { 1 } else { connect as u64 });
        let read = Duration::from_secs(if read == 0 { 1 } else { read as u64 });
        Self { connect, read, total: connect.saturating_add(read) }
    }

    /// As [`total_of`](Self::total_of), of seconds.
    ///
    /// # Errors
    /// `mas::http::limit` unless they are finite, above 0, and a time that a clock has.
    pub fn from_secs(seconds: f64) -> Result<Self> {
        time(seconds).and_then(Self::total_of).ok_or_else(|| refused(&seconds))
    }

    /// As [`pair`](Self::pair), of seconds.
    ///
    /// # Errors
    /// As [`from_secs`](Self::from_secs).
    pub fn from_pair(connect: f64, read: f64) -> Result<Self> {
        let pair = time(connect).zip(time(read));
        let phases = pair.and_then(|(connect, read)| Self::pair(connect, read));
        phases.ok_or_else(|| refused(&format_args!("[{connect}, {read}]")))
    }

    /// How long connecting may take.
    #[must_use]
    pub fn connect(&self) -> Duration {
        self.connect
    }

    /// How long no byte may come, once there is a connection.
    #[must_use]
    pub fn read(&self) -> Duration {
        self.read
    }

    /// How long all of it may take.
    #[must_use]
    pub fn total(&self) -> Duration {
        self.total
    }

    /// The budget of a call that begins now.
    #[must_use]
    pub fn begin(self, now: Instant) -> Budget {
        // A time so long that no clock has its end is no limit; a century is as good.
        let end = now.checked_add(self.total).or_else(|| now.checked_add(CENTURY)).unwrap_or(now);
        Budget { phases: self, end }
    }
}

/// Longer than any call.
const CENTURY: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// What a call with all that it needs may still take. It only shrinks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    phases: Phases,
    end: Instant,
}

impl Budget {
    /// The budget of something within this one, by limits of its own; it ends no later, and no phase is longer.
    #[must_use]
    pub fn child(&self, phases: Phases, now: Instant) -> Self {
        let own = phases.begin(now);
        let phases = Phases {
            connect: self.phases.connect.min(phases.connect),
            read: self.phases.read.min(phases.read),
            total: self.phases.total.min(phases.total),
        };
        Self { phases, end: self.end.min(own.end) }
    }

    /// The same budget, which ends no later than `end`.
    #[must_use]
    pub fn until(mut self, end: Instant) -> Self {
        self.end = self.end.min(end);
        self
    }

    /// When it ends.
    #[must_use]
    pub fn end(&self) -> Instant {
        self.end
    }

    /// How long it is in all, as it was declared.
    #[must_use]
    pub fn total(&self) -> Duration {
        self.phases.total
    }

    /// What is left.
    #[must_use]
    pub fn remaining(&self, now: Instant) -> Duration {
        self.end.saturating_duration_since(now)
    }

    /// Whether a wait leaves anything for what comes after it.
    #[must_use]
    pub fn fits(&self, wait: Duration, now: Instant) -> bool {
        wait < self.remaining(now)
    }

    /// What one request may take that begins now; nothing when the budget is spent, so that none is sent.
    #[must_use]
    pub fn request(&self, now: Instant) -> Option<RequestLimits> {
        let total = self.remaining(now);
        (!total.is_zero()).then(|| RequestLimits {
            total,
            connect: self.phases.connect.min(total),
            read: self.phases.read.min(total),
        })
    }
}

/// What one request may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestLimits {
    /// In all, the last byte of the answer included.
    pub total: Duration,
    /// To connect.
    pub connect: Duration,
    /// Without a byte, once there is a connection.
    pub read: Duration,
}

impl<'de> Deserialize<'de> for Phases {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        deserializer.deserialize_any(Written)
    }
}

impl JsonSchema for Phases {
    fn schema_name() -> Cow<'static, str> {
        "Timeout".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let seconds = json_schema!({"type": "number", "exclusiveMinimum": 0});
        json_schema!({
            "description": "Seconds in all, or `[connect, read]`: both together in all.",
            "oneOf": [seconds, {"type": "array", "items": seconds, "minItems": 2, "maxItems": 2}],
        })
    }
}

struct Written;

impl<'de> Visitor<'de> for Written {
    type Value = Phases;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(EXPECTED)
    }

    fn visit_f64<E: serde::de::Error>(self, seconds: f64) -> std::result::Result<Phases, E> {
        Phases::from_secs(seconds).map_err(E::custom)
    }

    fn visit_u64<E: serde::de::Error>(self, seconds: u64) -> std::result::Result<Phases, E> {
        Phases::total_of(Duration::from_secs(seconds)).ok_or_else(|| E::custom(refused(&seconds)))
    }

    fn visit_i64<E: serde::de::Error>(self, seconds: i64) -> std::result::Result<Phases, E> {
        match u64::try_from(seconds) {
            Ok(seconds) => self.visit_u64(seconds),
            Err(_) => Err(E::custom(refused(&seconds))),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> std::result::Result<Phases, A::Error> {
        let missing = |count| serde::de::Error::invalid_length(count, &self);
        let connect: f64 = list.next_element()?.ok_or_else(|| missing(0))?;
        let read: f64 = list.next_element()?.ok_or_else(|| missing(1))?;
        if list.next_element::<serde::de::IgnoredAny>()?.is_some() {
            return Err(serde::de::Error::custom(format_args!("more than two limits, expected {EXPECTED}")));
        }
        Phases::from_pair(connect, read).map_err(serde::de::Error::custom)
    }
}

/// A time that is written in seconds.
fn time(seconds: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(seconds).ok()
}

fn refused(given: &dyn fmt::Display) -> Error {
    Error::invalid(format!("`{given}` is no limit of time, expected {EXPECTED}"))
        .with_code("mas::http::limit")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(written: &Value) -> std::result::Result<Phases, String> {
        Phases::deserialize(written).map_err(|error| error.to_string())
    }

    fn secs(seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds)
    }

    #[test]
    fn a_number_is_the_whole_and_a_pair_its_phases() {
        let cases = [
            (json!(30), (30.0, 30.0, 30.0)),
            (json!(0.25), (0.25, 0.25, 0.25)),
            (json!([5, 900]), (5.0, 900.0, 905.0)),
            (json!([0.5, 1]), (0.5, 1.0, 1.5)),
        ];
        assert_eq!(Phases::of_secs(5, 900), read(&json!([5, 900])).unwrap());
        for (written, (connect, wait, total)) in cases {
            let phases = read(&written).unwrap();
            let limits = (phases.connect(), phases.read(), phases.total());
            assert_eq!(limits, (secs(connect), secs(wait), secs(total)), "{written}");
        }
    }

    #[test]
    fn what_is_no_time_is_refused_with_what_is_one() {
        for written in
            [json!(0), json!(-1), json!(-0.5), json!(1e300), json!(1e-12), json!([1, 0]), json!([-1, 2])]
        {
            let error = read(&written).unwrap_err();
            assert!(
                error.ends_with(&format!("is no limit of time, expected {EXPECTED}")),
                "{written}: {error}"
            );
        }
        for written in
            [json!("5"), json!(true), json!(null), json!({}), json!([]), json!([1]), json!([1, 2, 3])]
        {
            let error = read(&written).unwrap_err();
            assert!(error.ends_with(EXPECTED), "{written}: {error}");
        }
        for seconds in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, -1.0] {
            assert_eq!(Phases::from_secs(seconds).unwrap_err().code(), "mas::http::limit", "{seconds}");
            assert!(Phases::from_pair(1.0, seconds).is_err() && Phases::from_pair(seconds, 1.0).is_err());
        }
    }

    #[test]
    fn a_pair_is_one_budget_of_both_together() {
        let began = Instant::now();
        let budget = Phases::from_pair(0.3, 0.7).unwrap().begin(began);
        let at = |seconds| began + secs(seconds);
        let limits = |total, connect, read| Some(RequestLimits { total, connect, read });
        assert_eq!(budget.request(began), limits(secs(1.0), secs(0.3), secs(0.7)));
        let left = Duration::from_millis(200);
        assert_eq!(budget.request(at(0.8)), limits(left, left, left));
        assert_eq!(budget.request(at(1.0)), None);
        assert_eq!(budget.request(at(9.0)), None);
        assert!(budget.fits(Duration::from_millis(199), at(0.8)) && !budget.fits(left, at(0.8)));
    }

    #[test]
    fn budgets_within_budgets_only_shrink() {
        let began = Instant::now();
        let outer = Phases::from_pair(1.0, 9.0).unwrap().begin(began);
        let later = began + secs(4.0);
        let inner = outer.child(Phases::from_secs(30.0).unwrap(), later);
        assert_eq!((inner.end(), inner.remaining(later)), (outer.end(), secs(6.0)));
        assert_eq!(inner.request(later).unwrap().connect, secs(1.0));
        let short = outer.child(Phases::from_secs(2.0).unwrap(), later);
        assert_eq!(short.remaining(later), secs(2.0));
        assert_eq!(outer.until(later).remaining(began), secs(4.0));
        assert_eq!(outer.until(began + secs(60.0)).end(), outer.end());
    }

    #[test]
    fn messages_say_no_more_of_a_limit_than_a_person_reads() {
        let said = |nanos| seconds(Duration::from_nanos(nanos)).to_string();
        assert_eq!([2_997_429_775, 994_225_387, 1_500_000_000].map(said), ["3", "0.99", "1.5"]);
        assert_eq!([20_000_000, 1_000].map(said), ["0.02", "0.000001"]);
    }

    #[test]
    fn a_limit_that_no_clock_has_is_a_long_one() {
        let phases = read(&json!(u64::MAX)).unwrap();
        let now = Instant::now();
        assert!(phases.begin(now).fits(Duration::from_secs(3600), now));
        assert!(Phases::pair(Duration::MAX, Duration::MAX).is_none());
    }
}
