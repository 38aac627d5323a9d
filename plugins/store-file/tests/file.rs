//! The store `file`: round trips, torn lines, locks, names and modes.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)] // a test may stop short

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use mas_contracts::{
    Builder, Descriptor, ErrorKind, Idempotency, Intent, Message, OpDone, Outcome, Part, Record, SessionKey,
    StoreContract, TurnStatus, inventory,
};
use mas_store_file::FileStore;
use mas_testkit::build_context;
use serde_json::json;

fn store(folder: &Path) -> FileStore {
    FileStore::open(&build_context(folder, &[]), Some("sessions")).unwrap()
}

fn key(session: &str) -> SessionKey {
    SessionKey { owner: None, agent: "moderator".into(), session: session.into() }
}

fn turn(n: u32) -> Record {
    Record::Turn { turn: format!("t{n}").into(), input: vec![Part::text("hi\nthere")], blueprint: "b".into() }
}

fn ended(n: u32) -> Record {
    let messages = vec![Arc::new(Message::user("hi")), Arc::new(Message::assistant("hello"))];
    let status = TurnStatus::Completed;
    Record::Ended { turn: format!("t{n}").into(), status, messages, error: None, question: None }
}

fn only_file(folder: &Path) -> PathBuf {
    let files: Vec<_> = fs::read_dir(folder.join("sessions")).unwrap().map(|it| it.unwrap().path()).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    files[0].clone()
}

#[tokio::test(start_paused = true)]
async fn what_is_appended_is_loaded_by_another_store() {
    let folder = tempfile::tempdir().unwrap();
    let started = Record::Started {
        turn: "t1".into(),
        op: 0,
        intent: Intent::Tools(vec!["c1".into()]),
        idempotency: Idempotency::Ask,
    };
    let done = Record::Done { turn: "t1".into(), done: OpDone { op: 0, outcome: Outcome::Unit } };
    let first = store(folder.path());
    assert_eq!(first.load(&key("s")).await.unwrap(), vec![]);
    first.append(&key("s"), &[turn(1), started.clone()]).await.unwrap();
    first.append(&key("s"), &[]).await.unwrap();
    first.append(&key("s"), &[done.clone(), ended(1)]).await.unwrap();
    let expected = vec![turn(1), started, done, ended(1)];
    assert_eq!(store(folder.path()).load(&key("s")).await.unwrap(), expected);
    assert_eq!(fs::read_to_string(only_file(folder.path())).unwrap().lines().count(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_torn_line_is_left_out_wherever_it_was_torn() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    store.append(&key("s"), &[turn(1)]).await.unwrap();
    let file = only_file(folder.path());
    let kept = fs::read(&file).unwrap();
    store.append(&key("s"), &[turn(2), ended(2)]).await.unwrap();
    let whole = fs::read(&file).unwrap();
    for cut in 0..whole.len() {
        fs::write(&file, &whole[..cut]).unwrap();
        let before = if cut < kept.len() { vec![] } else { vec![turn(1)] };
        assert_eq!(store.load(&key("s")).await.unwrap(), before, "cut at {cut}");
        store.append(&key("s"), &[turn(3)]).await.unwrap();
        let after = [before, vec![turn(3)]].concat();
        assert_eq!(store.load(&key("s")).await.unwrap(), after, "cut at {cut}");
    }
    let long = [whole.clone(), vec![b'x'; 200_000]].concat();
    fs::write(&file, long).unwrap();
    store.append(&key("s"), &[turn(3)]).await.unwrap();
    assert_eq!(store.load(&key("s")).await.unwrap(), vec![turn(1), turn(2), ended(2), turn(3)]);
}

#[tokio::test(start_paused = true)]
async fn a_broken_line_in_the_middle_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    store.append(&key("s"), &[turn(1)]).await.unwrap();
    let mut file = fs::OpenOptions::new().append(true).open(only_file(folder.path())).unwrap();
    file.write_all(b"{broken\n").unwrap();
    let error = store.load(&key("s")).await.err().unwrap();
    assert_eq!(error.code(), "mas::store::corrupt");
    assert!(error.message().starts_with("line 3 of the session file"));
}

#[tokio::test(start_paused = true)]
async fn a_held_lock_is_waited_for_and_then_given_up() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    store.append(&key("s"), &[turn(1)]).await.unwrap();
    let other = fs::File::open(only_file(folder.path())).unwrap();
    other.lock().unwrap();
    let start = tokio::time::Instant::now();
    let error = store.append(&key("s"), &[turn(2)]).await.err().unwrap();
    assert_eq!((error.kind(), &*error.code()), (ErrorKind::Unavailable, "mas::store::locked"));
    assert_eq!(start.elapsed(), Duration::from_secs(10));
    let release = async {
        tokio::time::sleep(Duration::from_secs(3)).await;
        drop(other);
    };
    let (key, two) = (key("s"), [turn(2)]);
    let (appended, ()) = tokio::join!(store.append(&key, &two), release);
    appended.unwrap();
    assert_eq!(store.load(&key).await.unwrap(), vec![turn(1), turn(2)]);
}

#[tokio::test(start_paused = true)]
async fn ids_stay_in_the_folder_and_keys_apart() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    let mut keys: Vec<SessionKey> =
        ["../../etc/passwd", "/abs", "a/b", "a_b", "..", "", "é\0\n", &"x".repeat(5000)].map(key).into();
    keys.push(SessionKey { owner: Some("".into()), ..key("a_b") });
    keys.push(SessionKey { owner: Some("o".into()), ..key("a_b") });
    keys.push(SessionKey { agent: "other".into(), ..key("a_b") });
    for (n, key) in keys.iter().enumerate() {
        store.append(key, &[turn(n as u32)]).await.unwrap();
    }
    for (n, key) in keys.iter().enumerate() {
        assert_eq!(store.load(key).await.unwrap(), vec![turn(n as u32)], "{key:?}");
    }
    let count = fs::read_dir(folder.path().join("sessions")).unwrap().count();
    assert_eq!(count, keys.len());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[cfg(unix)]
#[tokio::test(start_paused = true)]
async fn nobody_else_can_read() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    store(folder.path()).append(&key("s"), &[ended(1)]).await.unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder.path().join("sessions")), 0o700);
    assert_eq!(mode(&only_file(folder.path())), 0o600);
}

#[tokio::test(start_paused = true)]
async fn the_descriptor_builds_in_the_state_folder() {
    let folder = tempfile::tempdir().unwrap();
    let d = inventory::iter::<Descriptor>().find(|d| d.name == "file").unwrap();
    assert!((d.check)(&json!({"pth": "x"}))[0].message.contains("unknown field `pth`"));
    let Builder::Store(build) = &d.builder else { panic!("no store") };
    let home = folder.path().to_str().unwrap();
    let built = build.build(&build_context(Path::new("."), &[("HOME", home)]), &json!(null)).unwrap();
    built.append(&key("s"), &[turn(1)]).await.unwrap();
    assert!(folder.path().join(".local/state/mas/sessions").is_dir());
    let nowhere = build.build(&build_context(Path::new("."), &[]), &json!(null)).err().unwrap();
    assert_eq!(nowhere.code(), "mas::store::no_folder");
}

#[tokio::test(start_paused = true)]
async fn a_session_is_forgotten_with_what_is_below_it_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    store.forget(&key("s")).await.unwrap();
    let below = SessionKey { agent: "places".into(), ..key("s/places") };
    let deeper = SessionKey { agent: "maps".into(), ..key("s/places:x/maps") };
    let owned = SessionKey { owner: Some("o".into()), ..below.clone() };
    // The readable parts of the last three names begin alike.
    let others = [key("s2"), key("s_places"), owned];
    for session in others.iter().chain([&key("s"), &below, &deeper]) {
        store.append(session, &[turn(1)]).await.unwrap();
    }
    store.forget(&key("s")).await.unwrap();
    for gone in [key("s"), below, deeper] {
        assert_eq!(store.load(&gone).await.unwrap(), vec![], "{gone:?}");
    }
    for kept in others {
        assert_eq!(store.load(&kept).await.unwrap(), vec![turn(1)], "{kept:?}");
    }
    store.append(&key("s"), &[turn(2)]).await.unwrap();
    assert_eq!(store.load(&key("s")).await.unwrap(), vec![turn(2)]);
    // A file that cannot be read is forgotten by its name.
    let file = fs::read_dir(folder.path().join("sessions")).unwrap().map(|it| it.unwrap().path());
    let file = { file }.find(|path| fs::read_to_string(path).unwrap().contains("t2")).unwrap();
    fs::write(&file, "nonsense\n").unwrap();
    store.forget(&key("s")).await.unwrap();
    assert!(!file.exists());
}
