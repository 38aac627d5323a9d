//! The file of access: whose it is, what becomes of what is no use, and programs that write it at once.
#![cfg(unix)]

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use mas_comm_kit::access::AccessFile;
use mas_contracts::{Clock, ErrorKind};
use mas_testkit::TokioClock;
use serde_json::{Value, json};
use tempfile::TempDir;

struct Place {
    _folder: TempDir,
    path: PathBuf,
    clock: Arc<dyn Clock>,
}

impl Place {
    #[allow(clippy::unwrap_used, reason = "a function that tests share")]
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mas/access/runtime.json");
        Self { _folder: folder, path, clock: TokioClock::shared() }
    }

    fn file(&self) -> AccessFile {
        AccessFile::new(&self.path, self.clock.clone())
    }

    fn in_seconds(&self, seconds: u64) -> Option<Duration> {
        Some(self.clock.unix_time() + Duration::from_secs(seconds))
    }
}

#[allow(clippy::unwrap_used, reason = "a function that tests share")]
fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
}

#[tokio::test(start_paused = true)]
async fn the_file_and_its_folder_are_their_owners_alone() {
    let place = Place::new();
    assert_eq!(place.file().get("a").unwrap(), None);
    assert!(!place.path.exists(), "a look makes nothing");
    place.file().put("a", json!({"token": "tok-1"}), place.in_seconds(60)).await.unwrap();
    let folder = place.path.parent().unwrap();
    assert_eq!((mode(&place.path), mode(folder)), (0o600, 0o700));
    for entry in fs::read_dir(folder).unwrap() {
        assert_eq!(mode(&entry.unwrap().path()), 0o600);
    }
    assert_eq!(place.file().get("a").unwrap(), Some(json!({"token": "tok-1"})));
    let shown = format!("{:?}", place.file());
    assert!(!shown.contains("tok-1"), "{shown}");
}

#[tokio::test(start_paused = true)]
async fn what_is_over_or_broken_is_dropped() {
    let place = Place::new();
    place.file().put("short", json!(1), place.in_seconds(60)).await.unwrap();
    place.file().put("for ever", json!(2), None).await.unwrap();
    place.clock.sleep_until(place.clock.now() + Duration::from_secs(60)).await;
    assert_eq!(place.file().get("short").unwrap(), None);
    assert_eq!(place.file().get("for ever").unwrap(), Some(json!(2)));

    let mut text: Value = serde_json::from_slice(&fs::read(&place.path).unwrap()).unwrap();
    text["broken"] = json!({"value": 3});
    text["more"] = json!("no entry");
    fs::write(&place.path, text.to_string()).unwrap();
    assert_eq!(place.file().get("broken").unwrap(), None);
    assert_eq!(place.file().get("for ever").unwrap(), Some(json!(2)));
    for broken in ["", "{\"a\": {\"val", "[]", "\u{0}\u{1}"] {
        fs::write(&place.path, broken).unwrap();
        assert_eq!(place.file().get("for ever").unwrap(), None, "{broken:?}");
    }
    place.file().put("b", json!(4), None).await.unwrap();
    assert_eq!(place.file().get("b").unwrap(), Some(json!(4)));
}

#[tokio::test(start_paused = true)]
async fn a_file_that_others_may_read_is_not_used_and_is_replaced() {
    let place = Place::new();
    place.file().put("a", json!("tok-1"), None).await.unwrap();
    for open in [0o644, 0o640, 0o620, 0o604] {
        fs::set_permissions(&place.path, Permissions::from_mode(open)).unwrap();
        assert_eq!(place.file().get("a").unwrap(), None, "{open:o}");
    }
    place.file().put("b", json!("tok-2"), None).await.unwrap();
    assert_eq!(mode(&place.path), 0o600);
    assert_eq!(
        (place.file().get("a").unwrap(), place.file().get("b").unwrap()),
        (None, Some(json!("tok-2")))
    );

    let target = place.path.with_file_name("elsewhere");
    fs::rename(&place.path, &target).unwrap();
    std::os::unix::fs::symlink(&target, &place.path).unwrap();
    assert_eq!(place.file().get("b").unwrap(), None, "a link leads to what somebody else may have made");
}

#[tokio::test(start_paused = true)]
async fn a_folder_that_others_may_look_into_is_refused() {
    let place = Place::new();
    let folder = place.path.parent().unwrap();
    fs::create_dir_all(folder).unwrap();
    fs::set_permissions(folder, Permissions::from_mode(0o755)).unwrap();
    let error = place.file().put("a", json!("tok-1"), None).await.unwrap_err();
    assert_eq!(error.code(), "mas::access::file");
    assert!(error.message().ends_with("may look into the folder; `chmod 700` it"), "{error}");
    assert!(!place.path.exists());
}

#[tokio::test(start_paused = true)]
async fn only_the_value_that_was_refused_is_dropped() {
    let place = Place::new();
    place.file().drop_value("a", |_| true).await.unwrap();
    assert!(!place.path.exists());
    place.file().put("a", json!("tok-2"), None).await.unwrap();
    place.file().drop_value("a", |value| value == "tok-1").await.unwrap();
    assert_eq!(place.file().get("a").unwrap(), Some(json!("tok-2")));
    place.file().drop_value("a", |value| value == "tok-2").await.unwrap();
    assert_eq!(place.file().get("a").unwrap(), None);
}

#[tokio::test]
async fn writers_at_once_lose_nothing() {
    let place = Place::new();
    let writers = (0..20).map(|number| {
        let file = place.file();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
            runtime.block_on(file.put(&format!("k{number}"), json!(number), None)).unwrap();
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.join().unwrap();
    }
    for number in 0..20 {
        assert_eq!(place.file().get(&format!("k{number}")).unwrap(), Some(json!(number)));
    }
}

#[tokio::test(start_paused = true)]
async fn a_file_that_another_program_holds_is_waited_for_and_then_given_up() {
    let place = Place::new();
    place.file().put("a", json!(1), None).await.unwrap();
    let lock = fs::OpenOptions::new().write(true).open(place.path.with_extension("json.lock")).unwrap();
    lock.lock().unwrap();
    let began = place.clock.now();
    let error = place.file().put("a", json!(2), None).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert_eq!(place.clock.now() - began, Duration::from_secs(2));
    assert_eq!(place.file().get("a").unwrap(), Some(json!(1)), "who only reads need not wait");
}

#[tokio::test(start_paused = true)]
async fn the_file_is_bounded() {
    let place = Place::new();
    let many: serde_json::Map<_, _> =
        (0..1000).map(|n| (format!("k{n}"), json!({"cached_at": 1000 + n, "value": n}))).collect();
    place.file().put("first", json!(0), None).await.unwrap();
    fs::write(&place.path, Value::Object(many).to_string()).unwrap();
    place.file().put("new", json!(0), None).await.unwrap();
    assert_eq!(place.file().get("k0").unwrap(), None);
    assert_eq!(place.file().get("k1").unwrap(), Some(json!(1)));
    assert_eq!(place.file().get("new").unwrap(), Some(json!(0)));
}
