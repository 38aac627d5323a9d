//! What is wrong with a row for whoever calls through it.

use mas_contracts::{Problem, check_params, parse_params};
use serde_json::Value;

use super::{CardSource, Client, Context, address};
use crate::{
    client::discover,
    identity::{Auth, Signatures},
    params::Params,
};

/// A day, in seconds: no time is longer.
const DAY: f64 = 86_400.0;

impl Client {
    /// What is wrong beside the shape.
    fn problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        let mut wrong = |place: &str, message: String| {
            problems.push(Problem::new(message).at(format!("a2a.client.{place}")));
        };
        let times = [
            ("stream_idle", self.stream_idle),
            ("cancel_timeout", self.cancel_timeout),
            ("auth_wait", self.auth_wait.unwrap_or(1.0)),
            ("poll.initial", self.poll.initial),
            ("poll.max", self.poll.max),
            ("reconnect.backoff[0]", self.reconnect.backoff[0]),
            ("reconnect.backoff[1]", self.reconnect.backoff[1]),
        ];
        for (place, time) in times {
            if !(time > 0.0 && time <= DAY) {
                wrong(place, "seconds, more than 0 and at most a day".to_owned());
            }
        }
        if !(self.card_ttl >= 0.0 && self.card_ttl <= DAY) {
            wrong("card_ttl", "seconds, from 0 to a day".to_owned());
        }
        if !(self.poll.factor >= 1.0 && self.poll.factor <= 100.0) {
            wrong("poll.factor", "from 1 to 100".to_owned());
        }
        for (place, count) in
            [("poll.tolerate", self.poll.tolerate), ("reconnect.attempts", self.reconnect.attempts)]
        {
            if count > 100 {
                wrong(place, "100 at most".to_owned());
            }
        }
        for (place, bytes) in
            [("max_event_bytes", self.max_event_bytes), ("max_reply_bytes", self.max_reply_bytes)]
        {
            if !(1024..=1024 * 1024 * 1024).contains(&bytes) {
                wrong(place, "bytes, from 1024 to 1 GiB".to_owned());
            }
        }
        if self.bindings.as_ref().is_some_and(Vec::is_empty) {
            wrong("bindings", "it is empty, so that no interface could ever be taken".to_owned());
        }
        for (at, mode) in self.accepted_output_modes.iter().enumerate() {
            if !is_media_type(mode) {
                wrong(&format!("accepted_output_modes[{at}]"), format!("`{mode}` is no media type"));
            }
        }
        for (place, first, longest) in [
            ("poll.max", self.poll.initial, self.poll.max),
            ("reconnect.backoff[1]", self.reconnect.backoff[0], self.reconnect.backoff[1]),
        ] {
            if longest < first {
                wrong(place, format!("the longest pause is shorter than the first one, {first} s"));
            }
        }
        if matches!(&self.context, Context::Fixed(id) if id.trim().is_empty()) {
            wrong("context.fixed", "it is empty".to_owned());
        }
        match &self.identity_secret_env {
            Some(name) if name.trim().is_empty() => wrong("identity_secret_env", "it is empty".to_owned()),
            Some(_) if self.context != Context::Derived => {
                wrong("identity_secret_env", "it is for `context: derived` only".to_owned());
            }
            _ => {}
        }
        match &self.card {
            Some(CardSource::Url(url)) if discover::places(url).is_err() => {
                wrong("card", "expected an absolute http or https address".to_owned());
            }
            Some(CardSource::File(path)) if path.as_os_str().is_empty() => {
                wrong("card", "it is empty".to_owned());
            }
            _ => {}
        }
        let below = |name: &'static str| {
            move |problem: Problem| Problem { path: format!("a2a.client.{name}.{}", problem.path), ..problem }
        };
        problems.extend(self.auth.iter().flat_map(Auth::problems).map(below("auth")));
        problems.extend(self.signatures.iter().flat_map(Signatures::problems).map(below("signatures")));
        problems
    }
}

/// Everything that is wrong with a row for whoever calls through it. What concerns a listener only is not looked at.
pub(crate) fn check(params: &Value) -> Vec<Problem> {
    let wrong = check_params::<Params>(params);
    if !wrong.is_empty() {
        return wrong;
    }
    parse_params::<Params>(params).map(|row| problems(&row)).unwrap_or_default()
}

pub(super) fn problems(row: &Params) -> Vec<Problem> {
    let mut problems = Vec::new();
    let help = "write `url: http://host:port` in the endpoint of the agent";
    match row.url.as_deref().map(address) {
        None => {
            problems.push(Problem::new("no address says where the agent is").at("url").help(help));
        }
        Some(url) if discover::places(&url).is_err() || url.contains(char::is_whitespace) => {
            let message = "expected an absolute http or https address";
            problems.push(Problem::new(message).at("url").help(help));
        }
        Some(_) => {}
    }
    problems.extend(row.nameless_headers());
    problems.extend(row.a2a.client.problems());
    problems
}

fn is_media_type(text: &str) -> bool {
    let plain = |part: &str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b',' | b'"'))
    };
    // `text` alone is written by agents of v0.3.
    text.split(';').next().is_some_and(|name| name.trim().split('/').all(plain))
}
