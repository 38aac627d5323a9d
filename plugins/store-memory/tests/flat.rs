//! However many tasks pass through, memory stays what it is. Alone in its process, for it measures all of it.

#![cfg(target_os = "linux")]

use std::{path::Path, sync::Arc, time::Duration};

use mas_contracts::{Part, Speaker, StoreContract, Task, TaskMessage, TaskState, TaskStatus};
use mas_store_memory::MemoryStore;
use mas_testkit::build_context;
use serde_json::{Map, json};

/// A hundred thousand tasks; by hand `MAS_TASKS=1000000`.
#[tokio::test]
async fn memory_is_flat_however_many_tasks_pass_through() {
    let resident = || -> usize {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    };
    let all: usize = std::env::var("MAS_TASKS").map_or(100_000, |all| all.parse().unwrap());
    let store = MemoryStore::open(&build_context(Path::new("."), &[]), &json!({"tasks": 10_000})).unwrap();
    let store = store.tasks().unwrap();
    let mut settled = 0;
    for n in 0..all {
        let message = TaskMessage {
            id: format!("message-{n}").into(),
            from: Speaker::User,
            context: None,
            task: None,
            parts: vec![Part::text("an ordinary sentence of an ordinary caller")],
            metadata: Map::new(),
            extensions: Vec::new(),
            references: Vec::new(),
        };
        let task = |revision, state| Task {
            id: format!("task-{n}").into(),
            owner: None,
            agent: "fares".into(),
            context: format!("context-{n}").into(),
            revision,
            status: TaskStatus { state, message: None, since: Duration::from_millis(1) },
            history: vec![Arc::new(message.clone())],
            artifacts: Vec::new(),
            metadata: Map::new(),
        };
        store.put(Arc::new(task(1, TaskState::Working))).await.unwrap();
        store.put(Arc::new(task(2, TaskState::Completed))).await.unwrap();
        if n == all / 4 {
            settled = resident();
        }
    }
    let grown = resident().saturating_sub(settled);
    assert!(grown < 4 * 1024, "{grown} KiB more than the {settled} KiB after a quarter of {all} tasks");
}
