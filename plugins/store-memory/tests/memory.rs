//! The store `memory`: revisions, scopes, listings, eviction, sessions.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests; the exemption in clippy.toml reaches test functions only"
)]

use std::{path::Path, sync::Arc, time::Duration};

use mas_contracts::{
    ErrorKind, Part, Record, SessionKey, Speaker, StoreContract, Task, TaskMessage, TaskQuery, TaskScope,
    TaskState, TaskStatus, TaskStore, TurnStatus,
};
use mas_store_memory::MemoryStore;
use mas_testkit::build_context;
use serde_json::{Map, Value, json};

fn store(params: &Value) -> Arc<dyn TaskStore> {
    MemoryStore::open(&build_context(Path::new("."), &[]), params).unwrap().tasks().unwrap()
}

fn task(id: &str, state: TaskState, revision: u64, since: u64) -> Task {
    Task {
        id: id.into(),
        owner: Some("ann".into()),
        agent: "fares".into(),
        context: "trip".into(),
        revision,
        status: TaskStatus { state, message: None, since: Duration::from_millis(since) },
        history: Vec::new(),
        artifacts: Vec::new(),
        metadata: Map::new(),
    }
}

fn done(id: &str) -> Arc<Task> {
    Arc::new(task(id, TaskState::Completed, 1, 1))
}

fn said(text: &str) -> Arc<TaskMessage> {
    Arc::new(TaskMessage {
        id: "m".into(),
        from: Speaker::User,
        context: None,
        task: None,
        parts: vec![Part::text(text)],
        metadata: Map::new(),
        extensions: Vec::new(),
        references: Vec::new(),
    })
}

fn scope(owner: &str) -> TaskScope {
    TaskScope { owner: Some(owner.into()), agent: "fares".into() }
}

async fn ids(store: &Arc<dyn TaskStore>, query: &TaskQuery) -> Vec<String> {
    let page = store.list(&scope("ann"), query).await.unwrap();
    page.tasks.iter().map(|task| task.id.to_string()).collect()
}

async fn has(store: &Arc<dyn TaskStore>, id: &str) -> bool {
    store.get(&scope("ann"), id).await.unwrap().is_some()
}

#[tokio::test(start_paused = true)]
async fn a_revision_follows_the_one_before_it_and_an_end_is_an_end() {
    let store = store(&Value::Null);
    let put = |state, revision| store.put(Arc::new(task("t", state, revision, 1)));
    assert_eq!(put(TaskState::Working, 2).await.unwrap_err().kind(), ErrorKind::Conflict);
    put(TaskState::Submitted, 1).await.unwrap();
    assert_eq!(put(TaskState::Working, 1).await.unwrap_err().kind(), ErrorKind::Conflict);
    put(TaskState::Working, 2).await.unwrap();
    put(TaskState::Completed, 3).await.unwrap();
    let late = put(TaskState::Working, 4).await.unwrap_err();
    assert_eq!(late.kind(), ErrorKind::Conflict);
    assert_eq!(late.code(), "mas::store::revision");
    assert_eq!(late.message(), "task `t` cannot be kept at revision 4: it has ended (completed)");
    let kept = store.get(&scope("ann"), "t").await.unwrap().unwrap();
    assert_eq!((kept.revision, kept.status.state), (3, TaskState::Completed));
}

#[tokio::test(start_paused = true)]
async fn another_owner_or_agent_sees_and_overwrites_nothing() {
    let store = store(&Value::Null);
    store.put(Arc::new(task("t", TaskState::Working, 1, 1))).await.unwrap();
    let nobody = TaskScope { owner: None, agent: "fares".into() };
    let other = TaskScope { agent: "rails".into(), ..scope("ann") };
    for scope in [scope("bob"), nobody, other] {
        assert_eq!(store.get(&scope, "t").await.unwrap(), None);
        let page = store.list(&scope, &TaskQuery { limit: 9, ..TaskQuery::default() }).await.unwrap();
        assert_eq!((page.tasks.len(), page.total, page.next), (0, 0, None));
    }
    let foreign = Task { owner: Some("bob".into()), ..task("t", TaskState::Completed, 2, 1) };
    assert_eq!(store.put(Arc::new(foreign)).await.unwrap_err().kind(), ErrorKind::Conflict);
    assert_eq!(store.get(&scope("ann"), "t").await.unwrap().unwrap().status.state, TaskState::Working);
}

#[tokio::test(start_paused = true)]
async fn a_listing_is_newest_first_and_its_pages_join_without_gaps() {
    // Few shards and many.
    for params in [json!({"tasks": 100}), Value::Null] {
        let store = store(&params);
        for n in 0..57_u64 {
            // Several share a time: the id decides.
            store.put(Arc::new(task(&format!("t{n:02}"), TaskState::Completed, 1, n / 5))).await.unwrap();
        }
        let mut expected: Vec<String> = (0..57).map(|n| format!("t{n:02}")).collect();
        expected.reverse();
        let mut all = Vec::new();
        let mut after = None;
        loop {
            let query = TaskQuery { limit: 10, after: after.take(), ..TaskQuery::default() };
            let page = store.list(&scope("ann"), &query).await.unwrap();
            assert_eq!(page.total, 57);
            all.extend(page.tasks.iter().map(|task| task.id.to_string()));
            match page.next {
                Some(next) => after = Some(next),
                None => break,
            }
        }
        assert_eq!(all, expected);
        let exactly = TaskQuery { limit: 57, ..TaskQuery::default() };
        assert_eq!(store.list(&scope("ann"), &exactly).await.unwrap().next, None);
        let none = TaskQuery { limit: 0, ..TaskQuery::default() };
        let page = store.list(&scope("ann"), &none).await.unwrap();
        assert_eq!((page.tasks.len(), page.total, page.next), (0, 57, None));
    }
}

#[tokio::test(start_paused = true)]
async fn a_listing_keeps_to_its_filters() {
    let store = store(&Value::Null);
    store.put(Arc::new(task("a", TaskState::Working, 1, 10))).await.unwrap();
    store.put(Arc::new(task("b", TaskState::Completed, 1, 20))).await.unwrap();
    let elsewhere = Task { context: "other".into(), ..task("c", TaskState::Completed, 1, 30) };
    store.put(Arc::new(elsewhere)).await.unwrap();
    let all = TaskQuery { limit: 9, ..TaskQuery::default() };
    assert_eq!(ids(&store, &all).await, ["c", "b", "a"]);
    assert_eq!(ids(&store, &TaskQuery { context: Some("trip".into()), ..all.clone() }).await, ["b", "a"]);
    assert_eq!(ids(&store, &TaskQuery { state: Some(TaskState::Working), ..all.clone() }).await, ["a"]);
    let since = Some(Duration::from_millis(20));
    assert_eq!(ids(&store, &TaskQuery { since, ..all.clone() }).await, ["c", "b"]);
}

#[tokio::test(start_paused = true)]
async fn too_many_ended_tasks_go_oldest_first_and_others_stay() {
    let store = store(&json!({"tasks": 3}));
    store.put(Arc::new(task("open", TaskState::InputRequired, 1, 1))).await.unwrap();
    for n in 0..10 {
        store.put(done(&format!("t{n}"))).await.unwrap();
    }
    assert!(has(&store, "open").await);
    assert!(!has(&store, "t6").await);
    for id in ["t7", "t8", "t9"] {
        assert!(has(&store, id).await, "{id}");
    }
    // Its end counts from now on, not from when it began.
    store.put(Arc::new(task("open", TaskState::Completed, 2, 2))).await.unwrap();
    assert!(has(&store, "open").await && !has(&store, "t7").await);
}

#[tokio::test(start_paused = true)]
async fn old_ended_tasks_go_even_when_nothing_comes() {
    let store = store(&json!({"task_age_s": 60}));
    store.put(Arc::new(task("open", TaskState::Working, 1, 1))).await.unwrap();
    store.put(done("t")).await.unwrap();
    tokio::time::advance(Duration::from_secs(59)).await;
    assert!(has(&store, "t").await);
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(ids(&store, &TaskQuery { limit: 9, ..TaskQuery::default() }).await, ["open"]);
    assert!(!has(&store, "t").await && has(&store, "open").await);
}

#[tokio::test(start_paused = true)]
async fn large_ended_tasks_go_by_bytes_but_never_the_latest() {
    let store = store(&json!({"tasks": 100, "task_bytes": 100_000}));
    let large = |id: &str, bytes: usize| {
        let history = vec![said(&"x".repeat(bytes))];
        Arc::new(Task { history, ..task(id, TaskState::Completed, 1, 1) })
    };
    for n in 0..4 {
        store.put(large(&format!("t{n}"), 30_000)).await.unwrap();
    }
    assert!(!has(&store, "t0").await && has(&store, "t1").await);
    store.put(large("huge", 1_000_000)).await.unwrap();
    assert!(has(&store, "huge").await && !has(&store, "t3").await);
}

#[tokio::test(start_paused = true)]
async fn open_tasks_are_bounded_and_an_end_makes_room() {
    let store = store(&json!({"open_tasks": 2}));
    for id in ["a", "b"] {
        store.put(Arc::new(task(id, TaskState::Working, 1, 1))).await.unwrap();
    }
    let full = store.put(Arc::new(task("c", TaskState::Working, 1, 1))).await.unwrap_err();
    assert_eq!((full.kind(), &*full.code()), (ErrorKind::Limit, "mas::store::full"));
    assert_eq!(full.message(), "2 tasks have not ended yet; a new one has room once one of them ends");
    // What has ended at once needs no room, and the next revision of what is there has it already.
    store.put(done("d")).await.unwrap();
    store.put(Arc::new(task("a", TaskState::InputRequired, 2, 1))).await.unwrap();
    store.put(Arc::new(task("b", TaskState::Failed, 2, 1))).await.unwrap();
    store.put(Arc::new(task("c", TaskState::Working, 1, 1))).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writers_side_by_side_lose_nothing_and_leave_no_more_than_is_kept() {
    let store = store(&json!({"tasks": 8192}));
    let writers = (0..8).map(|writer| {
        let store = store.clone();
        tokio::spawn(async move {
            for n in 0..5_000 {
                let id = format!("{writer}-{n}");
                store.put(Arc::new(task(&id, TaskState::Working, 1, n))).await.unwrap();
                assert!(has(&store, &id).await);
                store.put(Arc::new(task(&id, TaskState::Completed, 2, n))).await.unwrap();
            }
            // One of them stays open.
            store.put(Arc::new(task(&format!("{writer}-open"), TaskState::Working, 1, 1))).await.unwrap();
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.unwrap();
    }
    let query = TaskQuery { limit: 1, ..TaskQuery::default() };
    let total = store.list(&scope("ann"), &query).await.unwrap().total;
    assert!((8192..=8192 + 8).contains(&total), "{total}");
    let open = TaskQuery { state: Some(TaskState::Working), limit: 100, ..TaskQuery::default() };
    assert_eq!(ids(&store, &open).await.len(), 8);
}

#[test]
fn parameters_that_are_wrong_are_told_with_their_place() {
    let cx = build_context(Path::new("."), &[]);
    let error = |params: Value| MemoryStore::open(&cx, &params).unwrap_err().message().to_owned();
    assert_eq!(error(json!({"tasks": 0})), "`tasks`: must be at least 1");
    assert_eq!(error(json!({"task_age_s": 0})), "`task_age_s`: must be at least 1");
    assert!(error(json!({"path": "x"})).contains("unknown field `path`"));
    assert!(error(json!({"tasks": "many"})).starts_with("`tasks`: "));
}

#[tokio::test]
async fn sessions_are_appended_loaded_and_forgotten_with_what_is_below_them() {
    let store = MemoryStore::open(&build_context(Path::new("."), &[]), &Value::Null).unwrap();
    let key = |session: &str| SessionKey { owner: None, agent: "fares".into(), session: session.into() };
    let ended = |turn: &str| Record::Ended {
        turn: turn.into(),
        status: TurnStatus::Completed,
        messages: Vec::new(),
        error: None,
        question: None,
    };
    store.append(&key("s"), &[ended("1")]).await.unwrap();
    store.append(&key("s"), &[ended("2")]).await.unwrap();
    store.append(&key("s/below"), &[ended("3")]).await.unwrap();
    store.append(&key("sun"), &[ended("4")]).await.unwrap();
    store.append(&key("none"), &[]).await.unwrap();
    assert_eq!(store.load(&key("s")).await.unwrap(), [ended("1"), ended("2")]);
    store.forget(&key("s")).await.unwrap();
    assert_eq!(store.load(&key("s")).await.unwrap(), []);
    assert_eq!(store.load(&key("s/below")).await.unwrap(), []);
    assert_eq!(store.load(&key("sun")).await.unwrap(), [ended("4")]);
    assert_eq!(store.load(&key("none")).await.unwrap(), []);
}

#[tokio::test]
async fn the_session_written_to_longest_ago_goes_first() {
    let store = MemoryStore::open(&build_context(Path::new("."), &[]), &json!({"sessions": 2})).unwrap();
    let key = |session: &str| SessionKey { owner: None, agent: "fares".into(), session: session.into() };
    let turn = Record::Turn { turn: "t".into(), input: Vec::new(), blueprint: "b".into() };
    for session in ["a", "b", "a", "c"] {
        store.append(&key(session), std::slice::from_ref(&turn)).await.unwrap();
    }
    assert_eq!(store.load(&key("a")).await.unwrap().len(), 2);
    assert_eq!(store.load(&key("b")).await.unwrap().len(), 0);
    assert_eq!(store.load(&key("c")).await.unwrap().len(), 1);
}
