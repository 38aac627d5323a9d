//! One part of the tasks, with the order in which they ended.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
    time::Instant,
};

use mas_contracts::Task;

use super::{Bounds, weight::weigh};

#[derive(Debug)]
pub(super) struct Shard {
    bounds: Bounds,
    tasks: HashMap<Arc<str>, Arc<Task>>,
    /// The tasks that have ended, oldest first.
    ended: VecDeque<Ended>,
    /// What they weigh together.
    bytes: usize,
}

#[derive(Debug)]
struct Ended {
    id: Arc<str>,
    at: Instant,
    weight: usize,
}

impl Shard {
    pub(super) fn new(bounds: Bounds) -> Self {
        Self { bounds, tasks: HashMap::new(), ended: VecDeque::new(), bytes: 0 }
    }

    pub(super) fn get(&self, id: &str) -> Option<&Arc<Task>> {
        self.tasks.get(id)
    }

    pub(super) fn tasks(&self) -> impl Iterator<Item = &Arc<Task>> {
        self.tasks.values()
    }

    /// Keeps a task; `ended` says since when it has ended. Returns what it replaces and what had to go for it, to be
    /// dropped by a caller that holds no lock any more.
    pub(super) fn put(&mut self, task: Arc<Task>, ended: Option<Instant>) -> Vec<Arc<Task>> {
        let mut gone = Vec::new();
        let id = task.id.clone();
        if let Some(at) = ended {
            let weight = weigh(&task);
            self.bytes = self.bytes.saturating_add(weight);
            self.ended.push_back(Ended { id: id.clone(), at, weight });
        }
        gone.extend(self.tasks.insert(id, task));
        // The latest stays, however large it is: its caller has yet to read it.
        while self.ended.len() > 1 && (self.ended.len() > self.bounds.ended || self.bytes > self.bounds.bytes)
        {
            gone.extend(self.forget_oldest());
        }
        gone
    }

    /// Forgets the ended tasks that are too old.
    pub(super) fn expire(&mut self, now: Instant) {
        while self
            .ended
            .front()
            .is_some_and(|oldest| now.saturating_duration_since(oldest.at) >= self.bounds.age)
        {
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) -> Option<Arc<Task>> {
        let Ended { id, weight, .. } = self.ended.pop_front()?;
        self.bytes = self.bytes.saturating_sub(weight);
        self.tasks.remove(&id)
    }
}
