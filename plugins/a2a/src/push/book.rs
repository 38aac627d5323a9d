//! Which webhooks which tasks have.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Instant,
};

use mas_contracts::TaskScope;

use super::lane::Lane;

/// The webhooks of tasks. Tasks have an order: the one that was looked at the longest ago is the first.
#[derive(Default)]
pub(super) struct Book {
    tasks: HashMap<Arc<str>, Page>,
    order: BTreeMap<u64, Arc<str>>,
    last: u64,
    webhooks: usize,
}

/// The webhooks of one task.
struct Page {
    scope: TaskScope,
    /// In order of their creation.
    lanes: Vec<(Arc<str>, Arc<Lane>)>,
    /// Its place in the order.
    place: u64,
    /// When it was found to be at work, or came to its end.
    seen: Instant,
    /// Whether the task has come to its end.
    over: bool,
}

/// The task that was looked at the longest ago.
pub(super) struct Oldest {
    pub(super) scope: TaskScope,
    pub(super) task: Arc<str>,
    pub(super) seen: Instant,
    pub(super) over: bool,
    place: u64,
}

impl Book {
    /// How many webhooks there are.
    pub(super) fn webhooks(&self) -> usize {
        self.webhooks
    }

    /// The webhooks of a task within a scope, in order of their creation.
    pub(super) fn lanes(&self, scope: &TaskScope, task: &str) -> &[(Arc<str>, Arc<Lane>)] {
        let page = self.tasks.get(task).filter(|page| page.scope == *scope);
        page.map_or(&[], |page| &page.lanes)
    }

    /// The webhook of this id.
    pub(super) fn lane(&self, scope: &TaskScope, task: &str, id: &str) -> Option<&Arc<Lane>> {
        self.lanes(scope, task).iter().find(|(known, _)| **known == *id).map(|(_, lane)| lane)
    }

    /// Adds a webhook. Its task is not of another scope; whoever calls has looked.
    pub(super) fn add(
        &mut self,
        scope: &TaskScope,
        task: &Arc<str>,
        id: Arc<str>,
        lane: Arc<Lane>,
        now: Instant,
    ) {
        if !self.tasks.contains_key(task) {
            let place = self.append(task.clone());
            let page = Page { scope: scope.clone(), lanes: Vec::new(), place, seen: now, over: false };
            self.tasks.insert(task.clone(), page);
        }
        if let Some(page) = self.tasks.get_mut(task).filter(|page| page.scope == *scope) {
            page.lanes.push((id, lane));
            self.webhooks = self.webhooks.saturating_add(1);
        }
    }

    /// Whether a task has webhooks of another scope, which cannot be if ids are unique.
    pub(super) fn is_of_another(&self, scope: &TaskScope, task: &str) -> bool {
        self.tasks.get(task).is_some_and(|page| page.scope != *scope)
    }

    /// Removes a webhook, and returns it.
    pub(super) fn remove(&mut self, scope: &TaskScope, task: &str, id: &str) -> Option<Arc<Lane>> {
        let page = self.tasks.get_mut(task).filter(|page| page.scope == *scope)?;
        let at = page.lanes.iter().position(|(known, _)| **known == *id)?;
        let (_, lane) = page.lanes.remove(at);
        self.webhooks = self.webhooks.saturating_sub(1);
        if page.lanes.is_empty() {
            self.forget(scope, task);
        }
        Some(lane)
    }

    /// Forgets the webhooks of a task. What waits for them is still brought.
    pub(super) fn forget(&mut self, scope: &TaskScope, task: &str) {
        if self.tasks.get(task).is_some_and(|page| page.scope == *scope)
            && let Some(page) = self.tasks.remove(task)
        {
            self.order.remove(&page.place);
            self.webhooks = self.webhooks.saturating_sub(page.lanes.len());
        }
    }

    /// Notes that a task is at work, or has come to its end.
    pub(super) fn saw(&mut self, task: &str, over: bool, now: Instant) {
        let Some((id, _)) = self.tasks.get_key_value(task) else { return };
        let place = self.append(id.clone());
        if let Some(page) = self.tasks.get_mut(task) {
            self.order.remove(&page.place);
            (page.place, page.seen, page.over) = (place, now, over);
        }
    }

    /// The task that was looked at the longest ago.
    pub(super) fn oldest(&self) -> Option<Oldest> {
        let (place, task) = self.order.first_key_value()?;
        let page = self.tasks.get(task)?;
        let (scope, task) = (page.scope.clone(), task.clone());
        Some(Oldest { scope, task, seen: page.seen, over: page.over, place: *place })
    }

    /// Whether nothing has become of that task meanwhile.
    pub(super) fn is_still(&self, oldest: &Oldest) -> bool {
        self.order.get(&oldest.place).is_some_and(|task| *task == oldest.task)
    }

    fn append(&mut self, task: Arc<str>) -> u64 {
        self.last = self.last.saturating_add(1);
        self.order.insert(self.last, task);
        self.last
    }
}
