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

#[cfg(test)]
mod tests {
    use super::*;

    /// So many are remembered, and the one that was not used for longest goes first.
    #[test]
    fn b3_06_what_is_remembered_is_bounded() {
        let mut adopted = Adopted::new(2);
        adopted.put("a", Some("1".into()));
        adopted.touch("b");
        assert_eq!(adopted.get("a"), Some(Some("1".into())));
        adopted.put("c", Some("3".into()));
        assert_eq!(adopted.get("b"), None, "it was not used for longest");
        assert_eq!((adopted.get("a"), adopted.get("c")), (Some(Some("1".into())), Some(Some("3".into()))));
        adopted.touch("a");
        assert_eq!(adopted.get("a"), Some(Some("1".into())), "an id stays that one");
        for n in 0..1000 {
            adopted.put(&n.to_string(), None);
            adopted.put("a", Some("2".into()));
        }
        assert_eq!((adopted.known.len(), adopted.by_use.len()), (2, 2));
        assert_eq!(adopted.get("a"), Some(Some("2".into())));
    }
}
