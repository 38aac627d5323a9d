//! Access that is kept: how long, for whom, and what drops it.

#![allow(clippy::unwrap_used, reason = "functions that tests share")]

mod support;

use std::{fs, sync::Arc, time::Duration};

use mas_comm_kit::access::{AccessFile, Expiry};
use mas_platform::{Caching, Terms};
use mas_platform_stand_in::{Access, Script, Step, Turn, World};
use serde_json::{Map, Value, json};
use support::{Bench, RESOLVE, SEND, TOKEN, hello};

fn ready(expires_in: i64) -> Access {
    Access::Ready { expires_in: Some(expires_in), patch: Map::new() }
}

#[tokio::test(start_paused = true)]
async fn access_is_asked_for_once_as_long_as_it_holds() {
    for (access, holds) in [(ready(300), 270), (Access::ready(), 60)] {
        let bench = Bench::scripted([access], [Turn::Echo]);
        bench.send(&hello()).await.unwrap();
        bench.pass(holds - 1).await;
        bench.send(&hello()).await.unwrap();
        assert_eq!(bench.resolves(), 1);
        bench.pass(1).await;
        bench.send(&hello()).await.unwrap();
        assert_eq!(bench.resolves(), 2);
    }
    let bench = Bench::scripted([ready(30)], [Turn::Echo]);
    bench.send(&hello()).await.unwrap();
    bench.send(&hello()).await.unwrap();
    assert_eq!(bench.resolves(), 2, "almost over");
}

#[tokio::test(start_paused = true)]
async fn without_a_cache_it_is_asked_for_each_time() {
    let bench = Bench::with(Terms::default(), |_| Caching::Off);
    bench.send(&hello()).await.unwrap();
    bench.send(&hello()).await.unwrap();
    assert_eq!((bench.resolves(), bench.posts()), (2, 2));
}

async fn all_at_once(bench: &Arc<Bench>, count: usize) -> usize {
    let sends = (0..count).map(|_| {
        let bench = bench.clone();
        tokio::spawn(async move { bench.send(&hello()).await.is_ok() })
    });
    let mut good = 0;
    for send in sends.collect::<Vec<_>>() {
        good += usize::from(send.await.unwrap());
    }
    good
}

#[tokio::test(start_paused = true)]
async fn a_hundred_sends_to_a_cold_session_ask_once() {
    let bench = Arc::new(Bench::new());
    let slow = Step::from(Access::ready()).after_ms(500);
    bench.stand_in.script(Script::new([slow]), Script::default());
    assert_eq!(all_at_once(&bench, 100).await, 100);
    assert_eq!((bench.resolves(), bench.posts()), (1, 100));
}

#[tokio::test(start_paused = true)]
async fn a_hundred_sends_to_a_session_that_wakes_up_wait_together() {
    let access = [Access::blocked("waking", Some(1_000)), Access::ready()];
    let bench = Arc::new(Bench::scripted(access, [Turn::Echo]));
    assert_eq!(all_at_once(&bench, 100).await, 100);
    assert_eq!((bench.resolves(), bench.posts()), (2, 100));
    let bench = Arc::new(Bench::new());
    let slow = Step::from(Access::blocked("unavailable", None)).after_ms(100);
    bench.stand_in.script(Script::new([slow]), Script::default());
    assert_eq!(all_at_once(&bench, 100).await, 0);
    assert_eq!((bench.resolves(), bench.posts()), (1, 0), "and are refused together");
}

#[tokio::test(start_paused = true)]
async fn a_token_that_is_rotated_under_load_costs_each_call_one_retry_at_most() {
    let bench = Arc::new(Bench::new());
    bench.send(&hello()).await.unwrap();
    bench.stand_in.load(World { rotate: true, ..World::default() });
    assert_eq!(all_at_once(&bench, 100).await, 100);
    let mut sent = std::collections::BTreeMap::<String, usize>::new();
    for call in bench.stand_in.calls_of(SEND) {
        let id = call.json()["message"]["messageId"].as_str().unwrap_or_default().to_owned();
        *sent.entry(id).or_default() += 1;
    }
    assert!(sent.values().all(|count| *count <= 2), "{sent:?}");
    assert_eq!((bench.resolves(), bench.stand_in.executed()), (2, 101), "one more for all of them");
}

#[tokio::test(start_paused = true)]
async fn calls_that_are_refused_one_after_the_other_share_the_token_that_the_first_one_asked_for() {
    let bench = Arc::new(Bench::new());
    let late = |number: u64| Step::from(Turn::Refused(401)).after_ms(10 * number);
    let turns = (1..=100).map(late).chain([Step::from(Turn::Echo)]);
    bench.stand_in.script(Script::default(), Script::new(turns));
    assert_eq!(all_at_once(&bench, 100).await, 100);
    assert_eq!((bench.resolves(), bench.posts(), bench.stand_in.executed()), (2, 200, 100));
}

#[tokio::test(start_paused = true)]
async fn a_send_with_less_time_than_the_one_that_asks_ends_in_time() {
    let bench = Arc::new(Bench::new());
    let slow = Step::from(Access::ready()).after_ms(5_000);
    bench.stand_in.script(Script::new([slow]), Script::default());
    let (other, letter) = (bench.clone(), hello());
    let first = tokio::spawn(async move { other.send(&hello()).await.is_ok() });
    tokio::task::yield_now().await;
    let (sent, took) = bench.send_within(&letter, 2.0).await;
    assert_eq!((sent.unwrap_err().code(), took), ("mas::platform::not_ready".into(), 2.0));
    assert!(first.await.unwrap());
    assert_eq!((bench.resolves(), bench.posts()), (1, 1));
}

fn filed(folder: &tempfile::TempDir) -> (Bench, std::path::PathBuf) {
    let path = folder.path().join("own/access.json");
    let file = path.clone();
    let bench = Bench::with(Terms::default(), move |clock| {
        Caching::File(Expiry::default(), AccessFile::new(file, clock.clone()))
    });
    (bench, path)
}

/// Another run of a program, which has the file only.
fn next_run(bench: &Bench, path: &std::path::Path) -> mas_platform::Platform {
    let caching = Caching::File(Expiry::default(), AccessFile::new(path, bench.clock.clone()));
    Bench::another(&bench.stand_in, &bench.clock, Terms::default(), caching)
}

#[tokio::test(start_paused = true)]
async fn a_file_keeps_access_between_runs_and_only_its_key_is_seen() {
    let folder = tempfile::tempdir().unwrap();
    let (bench, path) = filed(&folder);
    bench.send(&hello()).await.unwrap();
    let text = fs::read_to_string(&path).unwrap();
    let entries: Map<String, Value> = serde_json::from_str(&text).unwrap();
    let (key, entry) = entries.iter().next().unwrap();
    assert_eq!(key.len(), 64, "a hash");
    assert_eq!(*key, bench.platform.key(&bench.session));
    assert!(!text.contains(TOKEN), "the token for the platform is not kept");
    assert_eq!(entry["value"]["session"], *bench.session);
    let platform = next_run(&bench, &path);
    platform.send(&bench.session, &hello(), None, &platform.budget(None)).await.unwrap();
    assert_eq!((bench.resolves(), bench.posts()), (1, 2));
    tokio::time::sleep(Duration::from_secs(60)).await;
    let platform = next_run(&bench, &path);
    platform.send(&bench.session, &hello(), None, &platform.budget(None)).await.unwrap();
    assert_eq!(bench.resolves(), 2, "it is over");
}

#[tokio::test(start_paused = true)]
async fn a_refusal_drops_both_layers_even_where_the_second_try_fails() {
    let folder = tempfile::tempdir().unwrap();
    let (bench, path) = filed(&folder);
    bench.send(&hello()).await.unwrap();
    bench.stand_in.script(Script::default(), Script::new([Turn::Refused(401)]));
    bench.fails(&hello()).await;
    let entries: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(entries, json!({}));
    bench.stand_in.script(Script::default(), Script::new([Turn::Refused(401), Turn::Echo]));
    let platform = next_run(&bench, &path);
    platform.send(&bench.session, &hello(), None, &platform.budget(None)).await.unwrap();
    assert_eq!(bench.stand_in.calls_of(RESOLVE).len(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_followed_by_a_fresh_answer_and_not_by_what_another_run_kept() {
    let folder = tempfile::tempdir().unwrap();
    let (bench, path) = filed(&folder);
    bench.send(&hello()).await.unwrap();
    // Another run of the program is refused and keeps the next token, which is then rotated as well.
    bench.stand_in.load(World { rotate: true, ..World::default() });
    let other = next_run(&bench, &path);
    other.send(&bench.session, &hello(), None, &other.budget(None)).await.unwrap();
    bench.stand_in.load(World { rotate: true, ..World::default() });
    bench.send(&hello()).await.unwrap();
    assert_eq!(bench.resolves(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_file_that_another_program_holds_does_not_extend_the_budget() {
    let folder = tempfile::tempdir().unwrap();
    let (bench, path) = filed(&folder);
    bench.send(&hello()).await.unwrap();
    let lock = fs::OpenOptions::new().write(true).open(path.with_extension("json.lock")).unwrap();
    lock.lock().unwrap();
    bench.stand_in.script(Script::default(), Script::new([Turn::Refused(401)]));
    let (sent, took) = bench.send_within(&hello(), 0.5).await;
    assert!(sent.is_err());
    assert!(took <= 0.501, "{took}");
}

#[tokio::test(start_paused = true)]
async fn an_entry_that_does_not_let_a_message_go_is_no_hit_and_no_crash() {
    let folder = tempfile::tempdir().unwrap();
    let (bench, path) = filed(&folder);
    bench.send(&hello()).await.unwrap();
    let text = fs::read_to_string(&path).unwrap();
    let kept: Value = serde_json::from_str(&text).unwrap();
    let key = bench.platform.key(&bench.session);
    let changes: [fn(&mut Value); 6] = [
        |value| value["access"]["runtime_interaction"] = Value::Null,
        |value| value["access"]["runtime_interaction"]["can_submit"] = json!(false),
        |value| value["access"]["token"] = Value::Null,
        |value| value["session"] = json!("other"),
        |value| value["backend"] = json!("https://other.example"),
        |value| *value = json!("odd"),
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let mut changed = kept.clone();
        change(&mut changed[&key]["value"]);
        fs::write(&path, changed.to_string()).unwrap();
        let platform = next_run(&bench, &path);
        platform.send(&bench.session, &hello(), None, &platform.budget(None)).await.unwrap();
        assert_eq!(bench.resolves(), number + 2);
    }
}

#[tokio::test(start_paused = true)]
async fn a_file_that_cannot_be_kept_stops_no_send() {
    let folder = tempfile::tempdir().unwrap();
    let (bench, path) = filed(&folder);
    fs::write(path.parent().unwrap(), "in the way").unwrap();
    bench.send(&hello()).await.unwrap();
    assert_eq!(bench.posts(), 1);
}
