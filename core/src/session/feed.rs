//! The event stream of a root turn: observers, the caller's tap, and a bounded ring for subscribers.

use std::{
    collections::VecDeque,
    fmt,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll, Waker},
};

use futures_core::Stream;
use mas_contracts::{Event, EventKind, EventSink, EventStream, ObservabilityContract, SequencedEvent};

/// How many events a turn keeps for subscribers; beyond it text is merged, then the oldest events go.
const KEPT_EVENTS: usize = 4096;

/// Takes every event of a root turn and of what is below it.
pub(crate) struct Feed {
    observers: Arc<[Arc<dyn ObservabilityContract>]>,
    tap: Option<Arc<dyn EventSink>>,
    ring: Option<Mutex<Ring>>,
}

#[derive(Default)]
struct Ring {
    events: VecDeque<SequencedEvent>,
    last: u64,
    dropped: u64,
    closed: bool,
    readers: Vec<Reader>,
    next_reader: u64,
}

struct Reader {
    id: u64,
    seen: u64,
    waker: Option<Waker>,
}

impl Feed {
    /// A feed for these observers and this tap; `keep` allows subscribers.
    pub(crate) fn new(
        observers: Arc<[Arc<dyn ObservabilityContract>]>,
        tap: Option<Arc<dyn EventSink>>,
        keep: bool,
    ) -> Arc<Self> {
        Arc::new(Self { observers, tap, ring: keep.then(Mutex::default) })
    }

    /// The events after `after`, those that are kept first. `None` for a feed that keeps none.
    pub(crate) fn subscribe(self: &Arc<Self>, after: u64) -> Option<EventStream> {
        let mut ring = self.lock()?;
        let id = ring.next_reader;
        ring.next_reader += 1;
        ring.readers.push(Reader { id, seen: after, waker: None });
        drop(ring);
        Some(Box::pin(Subscription { feed: self.clone(), id }))
    }

    /// Ends the stream of every subscriber once it has read what is kept.
    pub(crate) fn close(&self) {
        if let Some(mut ring) = self.lock() {
            ring.closed = true;
            ring.wake();
            ring.forget();
        }
    }

    fn lock(&self) -> Option<std::sync::MutexGuard<'_, Ring>> {
        self.ring.as_ref().map(|ring| ring.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl fmt::Debug for Feed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Feed").field("observers", &self.observers.len()).finish_non_exhaustive()
    }
}

impl EventSink for Feed {
    fn emit(&self, event: Event) {
        for observer in &*self.observers {
            observer.observe(&event);
        }
        match (self.lock(), &self.tap) {
            (Some(mut ring), tap) => {
                if let Some(tap) = tap {
                    tap.emit(event.clone());
                }
                ring.push(event);
            }
            (None, Some(tap)) => tap.emit(event),
            (None, None) => {}
        }
    }
}

impl Ring {
    fn push(&mut self, event: Event) {
        self.last += 1;
        self.events.push_back(SequencedEvent { seq: self.last, event });
        if self.events.len() > KEPT_EVENTS {
            self.merge_text();
            // Down to a mark well below the bound, so that a full ring is not merged at every event.
            while self.events.len() > KEPT_EVENTS / 4 * 3 {
                self.dropped = self.events.pop_front().map_or(self.dropped, |event| event.seq);
            }
        }
        self.wake();
    }

    /// Joins neighbouring pieces of the same text, never across a reader's place.
    fn merge_text(&mut self) {
        let mut merged: VecDeque<SequencedEvent> = VecDeque::with_capacity(self.events.len());
        let mut run = String::new();
        for next in self.events.drain(..) {
            let joins = merged.back().is_some_and(|last| {
                continues(&last.event, &next.event)
                    && !self.readers.iter().any(|reader| reader.seen == last.seq)
            });
            if joins && let Some(last) = merged.back_mut() {
                if run.is_empty() {
                    run.push_str(text(&last.event));
                }
                run.push_str(text(&next.event));
                last.seq = next.seq;
            } else {
                seal(merged.back_mut(), &mut run);
                merged.push_back(next);
            }
        }
        seal(merged.back_mut(), &mut run);
        self.events = merged;
    }

    /// Lets go of the events of an ended turn that nobody reads: they hold the turn, which holds this ring.
    fn forget(&mut self) {
        if self.closed && self.readers.is_empty() {
            self.events = VecDeque::new();
        }
    }

    fn wake(&mut self) {
        for reader in &mut self.readers {
            if let Some(waker) = reader.waker.take() {
                waker.wake();
            }
        }
    }
}

fn continues(last: &Event, next: &Event) -> bool {
    match (&last.kind, &next.kind) {
        (EventKind::TextDelta { audience: a, .. }, EventKind::TextDelta { audience: b, .. }) => {
            a == b && last.call == next.call && Arc::ptr_eq(&last.scope, &next.scope)
        }
        _ => false,
    }
}

fn text(event: &Event) -> &str {
    match &event.kind {
        EventKind::TextDelta { text, .. } => text,
        _ => "",
    }
}

fn seal(last: Option<&mut SequencedEvent>, run: &mut String) {
    let run = std::mem::take(run);
    if run.is_empty() {
        return;
    }
    if let Some(EventKind::TextDelta { text, .. }) = last.map(|last| &mut last.event.kind) {
        *text = run.into();
    }
}

struct Subscription {
    feed: Arc<Feed>,
    id: u64,
}

impl Stream for Subscription {
    type Item = SequencedEvent;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<SequencedEvent>> {
        let Some(mut guard) = self.feed.lock() else { return Poll::Ready(None) };
        let ring = &mut *guard;
        let Some(reader) = ring.readers.iter_mut().find(|reader| reader.id == self.id) else {
            return Poll::Ready(None);
        };
        let at = ring.events.partition_point(|event| event.seq <= reader.seen);
        let missed = ring.dropped.saturating_sub(reader.seen);
        match ring.events.get(at) {
            Some(next) if missed > 0 => {
                reader.seen = ring.dropped;
                let event = Event {
                    scope: next.event.scope.clone(),
                    call: next.event.call,
                    kind: EventKind::Lagged { missed },
                };
                Poll::Ready(Some(SequencedEvent { seq: reader.seen, event }))
            }
            Some(next) => {
                reader.seen = next.seq;
                Poll::Ready(Some(next.clone()))
            }
            _ if ring.closed => Poll::Ready(None),
            _ => {
                reader.waker = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        if let Some(mut ring) = self.feed.lock() {
            ring.readers.retain(|reader| reader.id != self.id);
            ring.forget();
        }
    }
}
