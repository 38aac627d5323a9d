//! `circuit_breaker`: leaves a peer that fails alone for a while.
//!
//! ```text
//!            failures in a row reach the threshold
//!   closed ────────────────────────────────────────▶ open: refused at once
//!     ▲                                                │ ▲  reset_timeout
//!     │ the probe is answered                          ▼ │  the probe fails
//!     └──────────────────────────────────────────── half-open: one send, the probe
//! ```

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use async_trait::async_trait;
use mas_contracts::{CallContext, Delivery, Error, ErrorKind, Outbound, Peer, Reply, Result, Retry};

use super::{Layer, Next, OPEN, settings::BreakerSettings, shown};

/// The circuit of an endpoint, and what its last failure said.
pub(super) struct Breaker {
    settings: BreakerSettings,
    circuit: Mutex<(Circuit, String)>,
}

impl Breaker {
    pub(super) fn new(settings: BreakerSettings) -> Self {
        Self { settings, circuit: Mutex::new((Circuit::default(), String::new())) }
    }

    fn lock(&self) -> MutexGuard<'_, (Circuit, String)> {
        self.circuit.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn refusal(&self, to: &Peer, wait: Option<Duration>, last: &str) -> Error {
        let failures = match self.settings.failure_threshold {
            1 => "the last send failed".to_owned(),
            several => format!("{several} sends in a row failed"),
        };
        let (again, advice) = match wait {
            Some(wait) => (format!("in {}", shown(wait)), Retry::After(wait)),
            None => ("once the one that tries again is answered".to_owned(), Retry::Backoff),
        };
        Error::new(
            ErrorKind::Unavailable,
            format!("`{}` is left alone: {failures}; it is asked again {again}", to.id),
        )
        .with_code(OPEN)
        .with_retry(advice)
        .caused_by(last)
    }
}

#[async_trait]
impl Layer for Breaker {
    async fn send(&self, cx: &CallContext, to: &Peer, message: Outbound, next: Next<'_>) -> Result<Reply> {
        let pass = {
            let mut circuit = self.lock();
            match circuit.0.admit(cx.clock().now()) {
                Ok(pass) => pass,
                Err(wait) => return Err(self.refusal(to, wait, &circuit.1)),
            }
        };
        // A send that is dropped tells nothing of the peer, and frees the place of the probe.
        let mut admitted = Admitted { breaker: self, pass: Some(pass) };
        let result = next.send(cx, to, message).await;
        if let Some(pass) = admitted.pass.take() {
            let verdict = verdict(cx, &result);
            let mut circuit = self.lock();
            if let (Verdict::Failed, Err(error)) = (verdict, &result) {
                circuit.1 = error.message().to_owned();
            }
            match circuit.0.settle(&self.settings, &pass, verdict, cx.clock().now()) {
                Some(Change::Opened) => {
                    tracing::warn!(peer = %to.id, "The circuit is open: it is left alone.");
                }
                Some(Change::Closed) => {
                    tracing::info!(peer = %to.id, "The circuit is closed: it answers again.");
                }
                None => {}
            }
        }
        result
    }
}

struct Admitted<'a> {
    breaker: &'a Breaker,
    pass: Option<Pass>,
}

impl Drop for Admitted<'_> {
    fn drop(&mut self) {
        if let Some(pass) = self.pass.take() {
            self.breaker.lock().0.withdraw(&pass);
        }
    }
}

/// What a send says of the peer's health.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Answered,
    Failed,
    Nothing,
}

fn verdict(cx: &CallContext, result: &Result<Reply>) -> Verdict {
    let Err(error) = result else { return Verdict::Answered };
    // A caller that stops is no failure of the peer, whatever error came of it.
    if cx.cancel().reason().is_some() {
        return Verdict::Nothing;
    }
    match error.kind() {
        ErrorKind::Unavailable | ErrorKind::Timeout | ErrorKind::Internal => Verdict::Failed,
        // Too much of this side, or of the layer below.
        ErrorKind::Cancelled | ErrorKind::RateLimited => Verdict::Nothing,
        _ if matches!(error.delivery(), Delivery::Rejected | Delivery::Answered) => Verdict::Answered,
        _ => Verdict::Nothing,
    }
}

/// Leave to send, and under which state it was given.
#[derive(Debug)]
struct Pass {
    epoch: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    Opened,
    Closed,
}

/// The states, without a clock of their own.
#[derive(Debug, Default)]
struct Circuit {
    state: State,
    /// Counts changes of state, so that what was let in before one says nothing after it.
    epoch: u64,
}

#[derive(Debug)]
enum State {
    Closed { failures: u32 },
    Open { until: Instant },
    HalfOpen { probing: bool },
}

impl Default for State {
    fn default() -> Self {
        Self::Closed { failures: 0 }
    }
}

impl Circuit {
    /// Lets a send in, or says how long it is refused; without a time it is until the probe ends.
    fn admit(&mut self, now: Instant) -> std::result::Result<Pass, Option<Duration>> {
        match &mut self.state {
            State::Closed { .. } => {}
            State::Open { until } if now < *until => return Err(Some(until.saturating_duration_since(now))),
            State::Open { .. } => self.enter(State::HalfOpen { probing: true }),
            State::HalfOpen { probing: true } => return Err(None),
            State::HalfOpen { probing } => *probing = true,
        }
        Ok(Pass { epoch: self.epoch })
    }

    fn settle(
        &mut self,
        settings: &BreakerSettings,
        pass: &Pass,
        verdict: Verdict,
        now: Instant,
    ) -> Option<Change> {
        if pass.epoch != self.epoch {
            return None;
        }
        let opened = || State::Open { until: now.checked_add(settings.reset_timeout).unwrap_or(now) };
        match (&mut self.state, verdict) {
            (_, Verdict::Nothing) => {
                self.withdraw(pass);
                return None;
            }
            (State::Closed { failures }, Verdict::Answered) => {
                *failures = 0;
                return None;
            }
            (State::Closed { failures }, Verdict::Failed) => {
                *failures = failures.saturating_add(1);
                if *failures < settings.failure_threshold {
                    return None;
                }
                self.enter(opened());
            }
            (State::HalfOpen { .. }, Verdict::Failed) => self.enter(opened()),
            (State::HalfOpen { .. }, Verdict::Answered) => self.enter(State::default()),
            (State::Open { .. }, _) => return None,
        }
        Some(if verdict == Verdict::Failed { Change::Opened } else { Change::Closed })
    }

    /// Takes back a send of which nothing is known; a probe leaves its place to the next one.
    fn withdraw(&mut self, pass: &Pass) {
        if let State::HalfOpen { probing } = &mut self.state
            && pass.epoch == self.epoch
        {
            *probing = false;
        }
    }

    fn enter(&mut self, state: State) {
        self.state = state;
        self.epoch += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS: BreakerSettings =
        BreakerSettings { failure_threshold: 2, reset_timeout: Duration::from_secs(10) };

    struct Played {
        circuit: Circuit,
        now: Instant,
    }

    impl Played {
        fn new() -> Self {
            Self { circuit: Circuit::default(), now: Instant::now() }
        }

        fn after(&mut self, seconds: u64) -> &mut Self {
            self.now += Duration::from_secs(seconds);
            self
        }

        fn admitted(&mut self) -> Pass {
            self.circuit.admit(self.now).expect("it is let in")
        }

        fn send(&mut self, verdict: Verdict) -> Option<Change> {
            let pass = self.admitted();
            self.circuit.settle(&SETTINGS, &pass, verdict, self.now)
        }

        fn opened() -> Self {
            let mut played = Self::new();
            assert_eq!(played.send(Verdict::Failed), None);
            assert_eq!(played.send(Verdict::Failed), Some(Change::Opened));
            played
        }

        fn refused(&mut self) -> Option<Duration> {
            self.circuit.admit(self.now).expect_err("it is refused")
        }
    }

    #[test]
    fn failures_in_a_row_open_it_and_others_do_not() {
        let mut played = Played::new();
        for verdict in [Verdict::Failed, Verdict::Answered, Verdict::Failed, Verdict::Nothing] {
            assert_eq!(played.send(verdict), None);
        }
        assert_eq!(played.send(Verdict::Failed), Some(Change::Opened), "nothing known is no answer either");
        assert_eq!(played.after(4).refused(), Some(Duration::from_secs(6)));
    }

    #[test]
    fn after_the_timeout_one_probe_decides() {
        let mut played = Played::opened();
        let probe = played.after(10).admitted();
        assert_eq!(played.refused(), None, "one at a time");
        assert_eq!(
            played.circuit.settle(&SETTINGS, &probe, Verdict::Answered, played.now),
            Some(Change::Closed)
        );
        assert_eq!(played.send(Verdict::Failed), None, "it counts anew");

        let mut played = Played::opened();
        assert_eq!(played.after(10).send(Verdict::Failed), Some(Change::Opened));
        assert_eq!(played.refused(), Some(Duration::from_secs(10)));
    }

    #[test]
    fn a_probe_that_says_nothing_leaves_its_place() {
        let mut played = Played::opened();
        assert_eq!(played.after(10).send(Verdict::Nothing), None);
        assert_eq!(played.send(Verdict::Answered), Some(Change::Closed));
    }

    #[test]
    fn what_was_let_in_before_a_change_says_nothing_after_it() {
        let mut played = Played::new();
        let [early, late] = [played.admitted(), played.admitted()];
        played.send(Verdict::Failed);
        assert_eq!(played.send(Verdict::Failed), Some(Change::Opened));
        assert_eq!(played.circuit.settle(&SETTINGS, &early, Verdict::Answered, played.now), None);
        assert!(played.refused().is_some());
        let probe = played.after(10).admitted();
        played.circuit.withdraw(&late);
        assert_eq!(played.refused(), None, "the place is the probe's");
        played.circuit.withdraw(&probe);
        assert!(played.circuit.admit(played.now).is_ok());
    }
}
