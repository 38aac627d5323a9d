//! A sink that keeps every event.

use std::sync::{Arc, Mutex, PoisonError};

use mas_contracts::{Audience, Event, EventKind, EventSink, text_of};
use tokio::{sync::Notify, time::Instant};

/// An event and when it arrived.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// When, on the clock of the runtime.
    pub at: Instant,
    /// The event.
    pub event: Event,
}

/// A sink that keeps every event, in order of arrival.
#[derive(Debug, Default)]
pub struct RecordingSink {
    events: Mutex<Vec<Recorded>>,
    arrival: Notify,
}

impl RecordingSink {
    /// An empty sink, ready to be shared.
    #[must_use]
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// The events so far.
    #[must_use]
    pub fn recorded(&self) -> Vec<Recorded> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What happened so far.
    #[must_use]
    pub fn kinds(&self) -> Vec<EventKind> {
        self.recorded().into_iter().map(|recorded| recorded.event.kind).collect()
    }

    /// The model text so far for one audience, joined.
    #[must_use]
    pub fn text(&self, wanted: Audience) -> String {
        let mut out = String::new();
        for kind in self.kinds() {
            if let EventKind::TextDelta { audience, text } = kind
                && audience == wanted
            {
                out.push_str(&text);
            }
        }
        out
    }

    /// Every piece of output of a peer so far: text for the answer and pieces of artifacts, with its arrival.
    #[must_use]
    pub fn pieces(&self) -> Vec<(Instant, Arc<str>)> {
        let piece = |recorded: Recorded| match recorded.event.kind {
            EventKind::TextDelta { audience: Audience::Answer, text } => Some((recorded.at, text)),
            EventKind::ArtifactChunk { artifact, .. } => Some((recorded.at, text_of(&artifact.parts))),
            _ => None,
        };
        self.recorded().into_iter().filter_map(piece).collect()
    }

    /// Waits until an event for which `wanted` holds has arrived. Safe to drop and call again.
    pub async fn wait_for(&self, wanted: impl Fn(&Event) -> bool) {
        loop {
            let arrival = self.arrival.notified();
            tokio::pin!(arrival);
            arrival.as_mut().enable();
            if self.recorded().iter().any(|recorded| wanted(&recorded.event)) {
                return;
            }
            arrival.await;
        }
    }
}

impl EventSink for RecordingSink {
    fn emit(&self, event: Event) {
        let recorded = Recorded { at: Instant::now(), event };
        self.events.lock().unwrap_or_else(PoisonError::into_inner).push(recorded);
        self.arrival.notify_waiters();
    }
}
