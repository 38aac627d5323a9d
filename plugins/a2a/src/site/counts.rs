//! What a listener counts, and how Prometheus reads it.

use std::{
    fmt::Write,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use http::StatusCode;

use super::listener::Visit;

/// Counters of one listener or of several.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    open: AtomicU64,
    accepted: AtomicU64,
    refused: AtomicU64,
    running: AtomicU64,
    /// By the first digit of the status, from 1.
    answers: [AtomicU64; 5],
}

/// A connection that is open.
pub(crate) struct Open(Arc<Counts>);

/// A request that runs, or whose answer is still being sent.
pub(crate) struct Running {
    counts: Arc<Counts>,
    _visit: Arc<Visit>,
}

impl Counts {
    /// Counts a connection, until what is returned is dropped.
    pub(crate) fn connected(self: &Arc<Self>) -> Open {
        self.accepted.fetch_add(1, Ordering::Relaxed);
        self.open.fetch_add(1, Ordering::Relaxed);
        Open(self.clone())
    }

    /// Counts a connection that there was no room for.
    pub(crate) fn refused(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a request, until what is returned is dropped.
    pub(crate) fn begin(self: &Arc<Self>, visit: Arc<Visit>) -> Running {
        self.running.fetch_add(1, Ordering::Relaxed);
        Running { counts: self.clone(), _visit: visit }
    }

    /// The counters in the text format of Prometheus.
    pub(crate) fn to_text(&self) -> String {
        let mut text = String::new();
        let mut one = |name: &str, kind: &str, help: &str, values: &[(&str, &AtomicU64)]| {
            let _ = writeln!(text, "# HELP mas_a2a_{name} {help}\n# TYPE mas_a2a_{name} {kind}");
            for (labels, value) in values {
                let _ = writeln!(text, "mas_a2a_{name}{labels} {}", value.load(Ordering::Relaxed));
            }
        };
        one("connections", "gauge", "Connections that are open.", &[("", &self.open)]);
        one("connections_total", "counter", "Connections that were let in.", &[("", &self.accepted)]);
        one("connections_refused_total", "counter", "Connections without room.", &[("", &self.refused)]);
        one("requests", "gauge", "Requests that run, streams included.", &[("", &self.running)]);
        let classes =
            ["{code=\"1xx\"}", "{code=\"2xx\"}", "{code=\"3xx\"}", "{code=\"4xx\"}", "{code=\"5xx\"}"];
        let answers: Vec<_> = classes.into_iter().zip(&self.answers).collect();
        one("requests_total", "counter", "Requests that were answered, by class of status.", &answers);
        text
    }
}

impl Running {
    /// Counts the answer.
    pub(crate) fn answered(&self, status: StatusCode) {
        let class = usize::from(status.as_u16() / 100).saturating_sub(1);
        if let Some(count) = self.counts.answers.get(class) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.counts.running.fetch_sub(1, Ordering::Relaxed);
    }
}
