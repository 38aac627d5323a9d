//! What is remembered of conversations: the ids that agents gave, at most so many.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

/// Ids by conversation; the one that was not used for longest goes first.
#[derive(Debug)]
pub(super) struct Adopted {
    most: usize,
    known: HashMap<Arc<str>, Known>,
    by_use: BTreeMap<u64, Arc<str>>,
    uses: u64,
}

#[derive(Debug)]
struct Known {
    /// None where the agent took what it was given.
    id: Option<Arc<str>>,
    used: u64,
}

impl Adopted {
    pub(super) fn new(most: usize) -> Self {
        Self { most, known: HashMap::new(), by_use: BTreeMap::new(), uses: 0 }
    }

    /// What is known of a conversation: nothing, or that it was answered, and under which other id.
    pub(super) fn get(&mut self, key: &str) -> Option<Option<Arc<str>>> {
        let next = self.next_use();
        let known = self.known.get_mut(key)?;
        if let Some(key) = self.by_use.remove(&known.used) {
            self.by_use.insert(next, key);
        }
        known.used = next;
        Some(known.id.clone())
    }

    /// Remembers that a conversation was answered, and under which other id.
    pub(super) fn put(&mut self, key: &str, id: Option<Arc<str>>) {
        let used = self.next_use();
        let key: Arc<str> = key.into();
        if let Some(before) = self.known.insert(key.clone(), Known { id, used }) {
            self.by_use.remove(&before.used);
        }
        self.by_use.insert(used, key);
        while self.known.len() > self.most
            && let Some((_, oldest)) = self.by_use.pop_first()
        {
            self.known.remove(&oldest);
        }
    }

    /// Remembers that a conversation was answered under the id that it has.
    pub(super) fn touch(&mut self, key: &str) {
        if self.get(key).is_none() {
            self.put(key, None);
        }
    }

    fn next_use(&mut self) -> u64 {
        self.uses = self.uses.wrapping_add(1);
        self.uses
    }
}
