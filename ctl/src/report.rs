//! The JSON document of a run, built from its events.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use mas_contracts::{End, Error, Event, EventKind, EventSink, Reply, Result, TaskState, TurnStatus, Usage};
use serde::Serialize;

/// A run: its session and its turns.
#[derive(Debug, Serialize)]
pub(crate) struct RunReport {
    pub(crate) session: String,
    pub(crate) status: &'static str,
    /// Why no turn could begin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<ErrorReport>,
    pub(crate) turns: Vec<TurnReport>,
}

/// One turn.
#[derive(Debug, Serialize)]
pub(crate) struct TurnReport {
    pub(crate) id: String,
    pub(crate) input: String,
    pub(crate) status: &'static str,
    pub(crate) answer: Option<String>,
    pub(crate) error: Option<ErrorReport>,
    pub(crate) delegations: Vec<DelegationReport>,
    pub(crate) usage: Usage,
}

/// An error, by code.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ErrorReport {
    pub(crate) code: String,
    pub(crate) message: String,
}

/// One delegation, at any depth.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct DelegationReport {
    pub(crate) call_id: String,
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) depth: u16,
    pub(crate) route: String,
    pub(crate) status: &'static str,
    pub(crate) error: Option<ErrorReport>,
}

impl From<&Error> for ErrorReport {
    fn from(error: &Error) -> Self {
        Self { code: error.code().into_owned(), message: format!("{error:#}") }
    }
}

impl RunReport {
    /// The report of these turns. `status` is how the run was ended from outside, if it was.
    pub(crate) fn new(session: &str, status: Option<&'static str>, turns: Vec<TurnReport>) -> Self {
        let of_turns = if turns.iter().any(TurnReport::failed) {
            "failed"
        } else {
            turns.last().map_or("completed", |turn| turn.status)
        };
        Self { session: session.to_owned(), status: status.unwrap_or(of_turns), error: None, turns }
    }

    /// The report of a run in which no turn could begin.
    pub(crate) fn unbegun(session: &str, error: &Error) -> Self {
        Self { session: session.to_owned(), status: "failed", error: Some(error.into()), turns: Vec::new() }
    }
}

impl TurnReport {
    /// The report of a turn that ended with `reply`.
    pub(crate) fn new(
        id: &str,
        input: &str,
        reply: &Result<Reply>,
        delegations: Vec<DelegationReport>,
    ) -> Self {
        let (status, error) = match reply {
            Ok(reply) => match &reply.end {
                End::Done => (TurnStatus::Completed.as_str(), None),
                End::Interrupted(_) => (TurnStatus::Interrupted.as_str(), None),
                End::Failed(state) => {
                    let code = format!("mas::turn::{}", state.as_str());
                    (
                        TurnStatus::Failed.as_str(),
                        Some(ErrorReport { code, message: reply.text().to_string() }),
                    )
                }
            },
            Err(error) if error.kind() == mas_contracts::ErrorKind::Cancelled => {
                (TurnStatus::Cancelled.as_str(), Some(error.into()))
            }
            Err(error) => (TurnStatus::Failed.as_str(), Some(error.into())),
        };
        Self {
            id: id.to_owned(),
            input: input.to_owned(),
            status,
            answer: reply.as_ref().ok().map(|reply| reply.text().to_string()),
            error,
            delegations,
            usage: reply.as_ref().map(|reply| reply.usage).unwrap_or_default(),
        }
    }

    /// Whether the turn counts as failed: itself, or a delegation that failed with no later one to that target
    /// that succeeded.
    pub(crate) fn failed(&self) -> bool {
        self.error.is_some() || !self.failed_delegations().is_empty()
    }

    /// What a person is told after the turn: why it failed, and which delegations did.
    pub(crate) fn complaints(&self) -> String {
        let delegations = self.failed_delegations().into_iter().map(|(delegation, error)| {
            let DelegationReport { from, to, .. } = delegation;
            format!("error[{}]: delegation {from} -> {to} failed: {}\n", error.code, error.message)
        });
        let turn = self.error.iter().map(|error| format!("error[{}]: {}\n", error.code, error.message));
        delegations.chain(turn).collect()
    }

    /// The last delegation to each target, where it failed.
    fn failed_delegations(&self) -> Vec<(&DelegationReport, &ErrorReport)> {
        let last: HashMap<&str, usize> = self
            .delegations
            .iter()
            .enumerate()
            .map(|(at, delegation)| (delegation.to.as_str(), at))
            .collect();
        let is_last = |at: usize, to: &str| last.get(to) == Some(&at);
        self.delegations
            .iter()
            .enumerate()
            .filter(|(at, delegation)| is_last(*at, &delegation.to))
            .filter_map(|(_, delegation)| Some((delegation, delegation.error.as_ref()?)))
            .collect()
    }
}

/// Collects the delegations of a turn, in the order in which they end.
#[derive(Debug, Default)]
pub(crate) struct Delegations(Mutex<Vec<DelegationReport>>);

impl Delegations {
    /// What was collected.
    pub(crate) fn take(&self) -> Vec<DelegationReport> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl EventSink for Delegations {
    fn emit(&self, event: Event) {
        let EventKind::DelegationEnded { to, route, state, error, .. } = &event.kind else { return };
        let status = match state {
            TaskState::Completed => "completed",
            TaskState::InputRequired | TaskState::AuthRequired => "interrupted",
            TaskState::Canceled => "cancelled",
            _ => "failed",
        };
        let report = DelegationReport {
            call_id: event.call.to_string(),
            from: event.scope.agent.to_string(),
            to: to.to_string(),
            depth: event.scope.depth.saturating_add(1),
            route: route.to_string(),
            status,
            error: error.as_ref().map(ErrorReport::from),
        };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(report);
    }
}

/// Hands each event to several sinks, in order.
#[derive(Debug)]
pub(crate) struct Several(pub(crate) Vec<Arc<dyn EventSink>>);

impl EventSink for Several {
    fn emit(&self, event: Event) {
        for sink in &self.0 {
            sink.emit(event.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(ends: &[(&str, bool)]) -> TurnReport {
        let delegations = ends.iter().map(|(to, ok)| DelegationReport {
            call_id: "c1".into(),
            from: "a".into(),
            to: (*to).into(),
            depth: 1,
            route: "local".into(),
            status: if *ok { "completed" } else { "failed" },
            error: (!ok).then(|| ErrorReport { code: "x".into(), message: "x".into() }),
        });
        TurnReport::new("t", "in", &Ok(Reply::done(Vec::new())), delegations.collect())
    }

    #[test]
    fn a_failed_delegation_decides_unless_a_later_one_to_that_target_succeeds() {
        assert!(!turn(&[]).failed());
        assert!(!turn(&[("b", true)]).failed());
        assert!(turn(&[("b", false)]).failed());
        assert!(!turn(&[("b", false), ("b", true)]).failed());
        assert!(turn(&[("b", true), ("b", false)]).failed());
        assert!(turn(&[("b", false), ("c", true)]).failed());
    }
}
