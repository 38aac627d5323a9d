//! One request with its whole answer, within what is left of a budget.

use std::sync::Arc;

use bytes::Bytes;
use mas_comm_kit::{
    Secret, Secrets,
    http::{self, Bounds, HeaderText, Patient, Request, Transport, Whole},
    phases::Budget,
    retry,
};
use mas_contracts::{Clock, Delivery, Error, ErrorKind, Result, Retry};

use crate::{
    address::Base,
    failure::{self, Side},
};

/// How often a request that only reads is made in all, and the pause before the second; the next is twice as long.
const READS: retry::Policy = retry::Policy {
    attempts: 3,
    base: std::time::Duration::from_millis(500),
    max: std::time::Duration::from_secs(1),
};

/// What a request needs of this side.
#[derive(Clone)]
pub(crate) struct Exchange {
    pub(crate) transport: Arc<dyn Transport>,
    pub(crate) clock: Arc<dyn Clock>,
    /// The most bytes of an answer.
    pub(crate) largest: usize,
}

/// A request to one side.
pub(crate) struct Call<'a> {
    pub(crate) side: Side,
    pub(crate) method: &'static str,
    pub(crate) base: &'a Base,
    pub(crate) path: &'a str,
    pub(crate) token: &'a Secret,
    /// Other headers.
    pub(crate) headers: &'a [(&'static str, String)],
    pub(crate) body: Option<&'a Bytes>,
}

impl Call<'_> {
    fn request(&self) -> Request {
        let bearer = HeaderText::Secret(Secret::new(format!("Bearer {}", self.token.reveal())));
        let plain = |(name, value): &(&str, String)| ((*name).to_owned(), HeaderText::Plain(value.clone()));
        let mut headers: Vec<_> = self.headers.iter().map(plain).collect();
        headers.push(("authorization".to_owned(), bearer));
        Request {
            method: self.method.to_owned(),
            url: self.base.at(self.path),
            headers,
            body: self.body.cloned(),
            query: Vec::new(),
        }
    }

    /// What no error may show.
    pub(crate) fn secrets(&self) -> Secrets {
        let mut secrets = Secrets::new();
        secrets.add(self.token.clone());
        secrets
    }

    fn reads(&self) -> bool {
        self.method == "GET"
    }
}

impl Exchange {
    /// Makes a request and reads all of its answer, whatever its status. One that only reads is made again where the
    /// status says that it may help and the pause fits; nothing else ever is.
    ///
    /// # Errors
    /// Why there is no answer; nothing was sent where the budget is spent.
    pub(crate) async fn ask(&self, call: &Call<'_>, budget: &Budget) -> Result<Whole> {
        let request = call.request();
        let mut jitter = retry::Jitter::seeded(0);
        let mut attempt = 1;
        loop {
            let answer = self.once(&request, budget).await.map_err(|error| self.unanswered(call, error))?;
            if !call.reads() || attempt >= READS.attempts || !matches!(answer.status, 429 | 500 | 502..=504) {
                return Ok(answer);
            }
            let asked = answer.header("retry-after");
            let asked = asked.and_then(|after| retry::retry_after(after, self.clock.unix_time()));
            let pause = READS.pause(attempt, asked, &mut jitter);
            let now = self.clock.now();
            if !budget.fits(pause, now) {
                return Ok(answer);
            }
            self.clock.sleep_until(now.checked_add(pause).unwrap_or(now)).await;
            attempt += 1;
        }
    }

    async fn once(&self, request: &Request, budget: &Budget) -> Result<Whole> {
        let Some(limits) = budget.request(self.clock.now()) else { return Err(spent(budget)) };
        let patient = Patient::new(&*self.transport, self.clock.clone(), limits);
        let clock = &*self.clock;
        let bounds = Bounds { clock, timeout: limits.total, largest: self.largest, redirects: 0 };
        http::ask(&patient, request, &bounds).await
    }

    /// An answer of this status as an error.
    pub(crate) fn refused(&self, call: &Call<'_>, answer: &Whole) -> Error {
        failure::of(call.side, call.method, answer, self.clock.unix_time(), &call.secrets())
    }

    /// No answer, in the terms of a send: only what was sent to the runtime may have been executed.
    fn unanswered(&self, call: &Call<'_>, error: Error) -> Error {
        if error.code() == http::BODY_TOO_LARGE {
            let text = format!("the answer is larger than {} bytes (max_response_bytes)", self.largest);
            return Error::new(ErrorKind::Limit, text)
                .with_code("mas::platform::response_too_large")
                .with_delivery(if call.side == Side::Runtime {
                    Delivery::Answered
                } else {
                    Delivery::NotSent
                })
                .with_retry(Retry::Never);
        }
        match (call.side, error.delivery()) {
            (Side::Platform, _) => error.with_delivery(Delivery::NotSent),
            (Side::Runtime, Delivery::Unknown) if !call.reads() => {
                let text = format!(
                    "{error}; whether the session executed it is not known, so it is not sent again by itself: look at \
                     the session, then send it with the same message id"
                );
                Error::new(error.kind(), text)
                    .with_code("mas::platform::outcome_ambiguous")
                    .with_delivery(Delivery::Unknown)
            }
            (Side::Runtime, _) => error,
        }
    }
}

/// The error for a budget that is spent before anything was sent.
pub(crate) fn spent(budget: &Budget) -> Error {
    let text = format!("the {} s for the call are spent; nothing was sent", budget.total().as_secs_f64());
    Error::new(ErrorKind::Timeout, text).with_code("mas::platform::timeout")
}
