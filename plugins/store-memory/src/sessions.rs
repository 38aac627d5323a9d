//! The logs of sessions.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Mutex, MutexGuard, PoisonError},
};

use mas_contracts::{Record, SessionKey};

/// The logs of the sessions that were written to last.
#[derive(Debug)]
pub(crate) struct Sessions {
    most: usize,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    logs: HashMap<SessionKey, Log>,
    /// The sessions by when they were written to, longest ago first.
    order: BTreeMap<u64, SessionKey>,
    writes: u64,
}

#[derive(Debug, Default)]
struct Log {
    written: u64,
    records: Vec<Record>,
}

impl Sessions {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, kept: Mutex::default() }
    }

    pub(crate) fn append(&self, key: &SessionKey, records: &[Record]) {
        if records.is_empty() {
            return;
        }
        let mut kept = self.lock();
        let Kept { logs, order, writes } = &mut *kept;
        *writes = writes.saturating_add(1);
        let log = logs.entry(key.clone()).or_default();
        log.records.extend_from_slice(records);
        order.remove(&std::mem::replace(&mut log.written, *writes));
        order.insert(*writes, key.clone());
        while logs.len() > self.most
            && let Some((_, oldest)) = order.pop_first()
        {
            logs.remove(&oldest);
        }
    }

    pub(crate) fn load(&self, key: &SessionKey) -> Vec<Record> {
        self.lock().logs.get(key).map(|log| log.records.clone()).unwrap_or_default()
    }

    pub(crate) fn forget(&self, key: &SessionKey) {
        let mut kept = self.lock();
        let Kept { logs, order, .. } = &mut *kept;
        logs.retain(|known, log| {
            let goes = key.covers(known);
            if goes {
                order.remove(&log.written);
            }
            !goes
        });
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
