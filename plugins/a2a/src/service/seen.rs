//! The messages that were taken, so that one that comes again runs nothing.

use std::{
    collections::{HashMap, VecDeque},
    hash::{DefaultHasher, Hasher},
    io,
    sync::{Arc, Mutex, PoisonError},
};

use mas_contracts::{TaskMessage, TaskScope};

/// A message: who said it, in which conversation, under which id, and a digest of what it says: callers are known
/// that give every message of theirs the same id, and only one that says the same comes again.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Said {
    pub(super) owner: Option<Arc<str>>,
    pub(super) context: Arc<str>,
    pub(super) message: Arc<str>,
    pub(super) digest: u64,
}

impl Said {
    /// A message as it arrives.
    pub(super) fn of(scope: &TaskScope, context: &Arc<str>, message: &TaskMessage) -> Self {
        Self {
            owner: scope.owner.clone(),
            context: context.clone(),
            message: message.id.clone(),
            digest: digest(message),
        }
    }

    /// The id of the turn that the message becomes in a task: the host, too, runs nothing for an id that it knows,
    /// and one that was refused may come again as another task.
    pub(super) fn turn(&self, task: &str) -> Arc<str> {
        format!("{}#{:x}@{task}", self.message, self.digest).into()
    }
}

/// A digest of what a message says, and to which task.
fn digest(message: &TaskMessage) -> u64 {
    struct Digest(DefaultHasher);
    impl io::Write for Digest {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.write(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut digest = Digest(DefaultHasher::new());
    // Parts are JSON, and a digest takes every write; what could not be written would be the same each time.
    let _ = serde_json::to_writer(&mut digest, &(&message.task, &message.parts));
    digest.0.finish()
}

/// What became of a message.
#[derive(Clone, Debug)]
pub(super) enum Became {
    Task(Arc<str>),
    Message(Arc<TaskMessage>),
}

/// The latest messages, bounded.
pub(super) struct Seen {
    most: usize,
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    known: HashMap<Arc<Said>, Became>,
    order: VecDeque<Arc<Said>>,
}

impl Seen {
    pub(super) fn new(most: usize) -> Self {
        Self { most: most.max(1), table: Mutex::default() }
    }

    /// Notes that a message becomes this task; what it became already, if it was seen before.
    pub(super) fn note(&self, said: &Arc<Said>, task: &Arc<str>) -> Option<Became> {
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = table.known.get(said) {
            return Some(known.clone());
        }
        table.known.insert(said.clone(), Became::Task(task.clone()));
        table.order.push_back(said.clone());
        while table.order.len() > self.most {
            if let Some(oldest) = table.order.pop_front() {
                table.known.remove(&oldest);
            }
        }
        None
    }

    /// Whether a message was seen before.
    pub(super) fn knows(&self, said: &Said) -> bool {
        self.table.lock().unwrap_or_else(PoisonError::into_inner).known.contains_key(said)
    }

    /// Says what a message became, if it is still known.
    pub(super) fn became(&self, said: &Said, became: Became) {
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = table.known.get_mut(said) {
            *known = became;
        }
    }

    /// Forgets a message that was not taken after all.
    pub(super) fn forget(&self, said: &Said) {
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        if table.known.remove(said).is_some() {
            table.order.retain(|other| **other != *said);
        }
    }
}
