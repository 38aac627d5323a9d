//! The events of a task, numbered from 1; the latest are kept for those who read along.

use std::collections::VecDeque;

use mas_comm_kit::turn::weight_of;

use super::artifacts::weight_of_message;
use crate::model::{Item, StreamItem};

/// What an event costs beside its content.
const OVERHEAD: usize = 256;

#[derive(Debug)]
pub(super) struct Log {
    items: VecDeque<(Item, usize)>,
    /// How many events are kept, and about how many bytes of them.
    most: (usize, usize),
    last: u64,
    bytes: usize,
    kept: bool,
}

impl Log {
    /// An empty log that keeps so many events, and about so many bytes of them.
    pub(super) fn new(events: usize, bytes: usize) -> Self {
        Self { items: VecDeque::new(), most: (events, bytes), last: 0, bytes: 0, kept: false }
    }

    /// Keeps events from now on.
    pub(super) fn keep(&mut self) {
        self.kept = true;
    }

    pub(super) fn is_kept(&self) -> bool {
        self.kept
    }

    /// The place of the latest event; 0 before the first.
    pub(super) fn last(&self) -> u64 {
        self.last
    }

    /// Counts an event that nobody can read.
    pub(super) fn skip(&mut self) {
        self.last = self.last.saturating_add(1);
        self.items.clear();
        self.bytes = 0;
    }

    /// Adds an event. Returns its place.
    pub(super) fn push(&mut self, item: StreamItem) -> u64 {
        self.last = self.last.saturating_add(1);
        if self.kept {
            let weight = weigh(&item);
            self.bytes = self.bytes.saturating_add(weight);
            self.items.push_back((Item { seq: self.last, item }, weight));
            let (events, bytes) = self.most;
            while self.items.len() > 1 && (self.items.len() > events || self.bytes > bytes) {
                let gone = self.items.pop_front().map_or(0, |(_, weight)| weight);
                self.bytes = self.bytes.saturating_sub(gone);
            }
        }
        self.last
    }

    /// Whether every event after this place is kept.
    pub(super) fn covers(&self, after: u64) -> bool {
        after <= self.last && after.saturating_add(1) >= self.first()
    }

    /// The event at a place, if it is kept.
    pub(super) fn get(&self, seq: u64) -> Option<&Item> {
        let at = usize::try_from(seq.checked_sub(self.first())?).ok()?;
        self.items.get(at).map(|(item, _)| item)
    }

    fn first(&self) -> u64 {
        let kept = u64::try_from(self.items.len()).unwrap_or(u64::MAX);
        self.last.saturating_sub(kept).saturating_add(1)
    }
}

fn weigh(item: &StreamItem) -> usize {
    let content = match item {
        StreamItem::Artifact(update) => weight_of(&update.artifact.parts),
        StreamItem::Status(update) => update.status.message.as_deref().map_or(0, weight_of_message),
        StreamItem::Message(message) => weight_of_message(message),
        StreamItem::Task(_) => 0,
    };
    content.saturating_add(OVERHEAD)
}
