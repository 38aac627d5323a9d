//! Sessions that are controlled over sockets.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests; the exemption in clippy.toml reaches test functions only"
)]

use std::{
    os::unix::fs::PermissionsExt,
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use futures_util::stream;
use mas_contracts::{
    Activity, Actor, ControlContract, ControlHost, ControlReply, Controlled, Controlling, Error, ErrorKind,
    Event, EventKind, EventStream, Part, Place, QueueView, QueuedItem, Result, SequencedEvent, SessionKey,
    SessionView, Verb,
};
use mas_control::{Client, ControlDirectory, Entry, JsonLines, Params, Transport};
use mas_testkit::{CallContextBuilder, build_context};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::UnixStream,
    sync::broadcast,
};

/// A session with a queue and nothing else, and a note of every change in the order in which it was made.
#[derive(Debug)]
struct Queue {
    state: Mutex<State>,
    events: broadcast::Sender<u64>,
}

#[derive(Debug, Default)]
struct State {
    items: Vec<Arc<str>>,
    revision: u64,
    made: Vec<(u64, Verb)>,
}

impl State {
    /// Does a verb to the items: the whole rule of the queue.
    fn apply(items: &mut Vec<Arc<str>>, verb: &Verb) -> Result<()> {
        let gone = |item: &str| {
            Error::new(ErrorKind::NotFound, format!("no item `{item}`")).with_code("mas::control::gone")
        };
        match verb {
            Verb::SendMessage { text } => items.push(text.as_str().into()),
            Verb::Enqueue { text, at, .. } => {
                let place = match at {
                    Place::Head => 0,
                    Place::Tail => items.len(),
                    Place::Index(place) => (*place).min(items.len()),
                };
                items.insert(place, text.as_str().into());
            }
            Verb::CancelQueued { item, .. } => {
                let place = items.iter().position(|known| known == item).ok_or_else(|| gone(item))?;
                items.remove(place);
            }
            Verb::Reorder { item, to, .. } => {
                let place = items.iter().position(|known| known == item).ok_or_else(|| gone(item))?;
                let item = items.remove(place);
                let to = (*to).min(items.len());
                items.insert(to, item);
            }
            other => panic!("not scripted: {}", other.method()),
        }
        Ok(())
    }
}

fn key() -> SessionKey {
    SessionKey { owner: None, agent: "entry".into(), session: "talk".into() }
}

#[async_trait]
impl ControlHost for Queue {
    fn sessions(&self) -> Vec<SessionView> {
        let state = self.state.lock().unwrap();
        let view = SessionView {
            key: key(),
            activity: Activity::Idle,
            queued: state.items.len(),
            revision: state.revision,
            messages: 0,
            questions: Vec::new(),
        };
        vec![view]
    }

    async fn control(&self, by: &Actor, _: &SessionKey, verb: Verb) -> Result<ControlReply> {
        assert!(by.may(verb.method()), "the protocol asks for what is allowed only");
        let mut state = self.state.lock().unwrap();
        let seen = match &verb {
            Verb::InspectQueue => {
                let item = |item: &Arc<str>| QueuedItem {
                    item: item.clone(),
                    parts: vec![Part::text(item.clone())],
                    action: mas_contracts::QueuedAction::Turn,
                    by: Some(by.name.clone()),
                };
                let items = state.items.iter().map(item).collect();
                return Ok(ControlReply::Queue(QueueView { revision: state.revision, items }));
            }
            Verb::CancelQueued { revision, .. } | Verb::Reorder { revision, .. } => Some(*revision),
            _ => None,
        };
        if seen.is_some_and(|seen| seen != state.revision) {
            return Err(Error::new(ErrorKind::Conflict, "the queue has moved on")
                .with_code("mas::control::revision")
                .with("revision", state.revision));
        }
        State::apply(&mut state.items, &verb)?;
        state.revision += 1;
        let revision = state.revision;
        state.made.push((revision, verb));
        Ok(ControlReply::Done { revision })
    }

    fn follow(&self, _: &SessionKey) -> EventStream {
        let receiver = self.events.subscribe();
        let scope = CallContextBuilder::new("entry").session("talk").turn("t1").scope();
        Box::pin(stream::unfold((receiver, scope), |(mut receiver, scope)| async move {
            let seq = receiver.recv().await.ok()?;
            let kind = EventKind::Notice { text: format!("note {seq}").into() };
            let event = Event { scope: scope.clone(), call: mas_contracts::CallId(seq), kind };
            Some((SequencedEvent { seq, event }, (receiver, scope)))
        }))
    }
}

struct Stage {
    folder: tempfile::TempDir,
    queue: Arc<Queue>,
    clock: Arc<dyn mas_contracts::Clock>,
    control: Box<dyn Controlled>,
}

impl Stage {
    async fn set(transport: Transport) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let queue = Arc::new(Queue { state: Mutex::default(), events: broadcast::channel(8192).0 });
        let (control, clock) = serve(folder.path(), queue.clone(), transport).await.unwrap();
        Self { folder, queue, clock, control }
    }

    fn directory(&self) -> ControlDirectory {
        ControlDirectory::open(Some(&self.folder.path().join("c")), &mas_contracts::Env::default()).unwrap()
    }

    fn live(&self) -> Vec<Entry> {
        self.directory().live(self.clock.unix_time()).unwrap()
    }

    async fn client(&self) -> Client {
        Client::connect(&self.live()[0], false).await.unwrap()
    }

    async fn wire(&self) -> UnixStream {
        UnixStream::connect(self.live()[0].socket().unwrap()).await.unwrap()
    }
}

type Open = (Box<dyn Controlled>, Arc<dyn mas_contracts::Clock>);

async fn serve(folder: &Path, host: Arc<dyn ControlHost>, transport: Transport) -> Result<Open> {
    let dir = Some("c".into());
    let build = build_context(folder, &[]);
    let clock = build.clock.clone();
    let params = Params { dir, transport, ..Params::default() };
    let controlling = Controlling { build, host, session: key(), label: "talks".into() };
    Ok((JsonLines::new(params)?.serve(controlling).await?, clock))
}

async fn say(wire: &mut UnixStream, line: &str) {
    wire.write_all(format!("{line}\n").as_bytes()).await.unwrap();
}

async fn all_said(mut wire: UnixStream) -> Vec<Value> {
    let mut text = String::new();
    tokio::time::timeout(Duration::from_secs(5), wire.read_to_string(&mut text)).await.unwrap().unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Numbers that look random and are the same each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_callers_see_one_order_and_lose_nothing() {
    let stage = Stage::set(Transport::Unix).await;
    let entry = stage.live().remove(0);
    let everyone = (0..200_u64).map(|number| {
        let entry = entry.clone();
        tokio::spawn(async move {
            let mut client = Client::connect(&entry, false).await.unwrap();
            let mut dice = Dice(number);
            let (mut done, mut conflicts) = (Vec::new(), 0_u32);
            let mut queue = json!({"revision": 0, "items": []});
            for step in 0..10 {
                let items = queue["items"].as_array().unwrap();
                let item = if items.is_empty() {
                    json!("none")
                } else {
                    items[dice.below(items.len())]["item"].clone()
                };
                let text = format!("{number}-{step}");
                let (method, args) = match dice.below(5) {
                    0 => ("send_message", json!({"text": text})),
                    1 => ("enqueue", json!({"text": text, "at": {"index": dice.below(9)}})),
                    2 => ("cancel_queued", json!({"item": item, "revision": queue["revision"]})),
                    3 => {
                        ("reorder", json!({"item": item, "to": dice.below(9), "revision": queue["revision"]}))
                    }
                    _ => {
                        queue = client.call(None, "inspect_queue", None).await.unwrap();
                        continue;
                    }
                };
                match client.call(Some("talk"), method, Some(args.clone())).await {
                    Ok(reply) => {
                        let verb = serde_json::from_value(json!({"method": method, "args": args})).unwrap();
                        done.push((reply["revision"].as_u64().unwrap(), verb));
                    }
                    Err(error) if error.kind() == ErrorKind::Conflict => {
                        assert_eq!(error.code(), "mas::control::revision");
                        conflicts += 1;
                    }
                    Err(error) => assert_eq!(error.code(), "mas::control::gone", "{error:?}"),
                }
            }
            (done, conflicts)
        })
    });
    let mut done: Vec<(u64, Verb)> = Vec::new();
    let mut conflicts = 0;
    for outcome in futures_util::future::join_all(everyone).await {
        let (mine, lost) = outcome.unwrap();
        assert!(mine.is_sorted_by_key(|(revision, _)| *revision), "one caller's verbs keep its order");
        done.extend(mine);
        conflicts += lost;
    }
    done.sort_by_key(|(revision, _)| *revision);
    let state = stage.queue.state.lock().unwrap();
    assert_eq!(done, state.made, "what callers were told is what was done, each at a revision of its own");
    let mut replayed = Vec::new();
    for (_, verb) in &done {
        State::apply(&mut replayed, verb).unwrap();
    }
    assert_eq!(replayed, state.items);
    assert!(conflicts > 0, "nobody met anybody");
}

#[tokio::test]
async fn one_who_only_looks_changes_nothing() {
    let stage = Stage::set(Transport::Unix).await;
    let mut client = Client::connect(&stage.live()[0], true).await.unwrap();
    let methods = client.call(None, "capabilities", None).await.unwrap()["methods"].clone();
    assert!(methods.as_array().unwrap().contains(&json!("inspect")));
    assert!(!methods.as_array().unwrap().contains(&json!("steer")));
    let error = client.call(None, "send_message", Some(json!({"text": "a"}))).await.unwrap_err();
    assert_eq!((error.kind(), &*error.code()), (ErrorKind::Denied, "mas::control::denied"));
    client.call(None, "inspect_queue", None).await.unwrap();
    assert_eq!(stage.queue.state.lock().unwrap().revision, 0);
}

#[tokio::test]
async fn nothing_is_done_without_the_token() {
    let stage = Stage::set(Transport::Unix).await;
    for line in [
        r#"{"id": 1, "method": "send_message", "args": {"text": "a"}}"#,
        r#"{"id": 1, "method": "hello", "token": "guessed"}"#,
        "no request",
    ] {
        let mut wire = stage.wire().await;
        say(&mut wire, line).await;
        let said = all_said(wire).await;
        assert_eq!(said.len(), 1, "{line}: {said:?}");
        assert_eq!(said[0]["ok"], false, "{line}");
        assert!(!said[0].to_string().contains("guessed"), "what was shown is not repeated");
    }
    assert_eq!(stage.queue.state.lock().unwrap().revision, 0);
    assert!(!format!("{:?}", stage.live()).contains(&stage_token(&stage)));
}

fn stage_token(stage: &Stage) -> String {
    let text = std::fs::read_to_string(stage.folder.path().join("c/talk.json")).unwrap();
    serde_json::from_str::<Value>(&text).unwrap()["token"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn wrong_requests_are_told_apart_and_the_connection_goes_on() {
    let stage = Stage::set(Transport::Unix).await;
    let mut client = stage.client().await;
    let mut codes = Vec::new();
    for (session, method, args) in [
        (None, "explode", None),
        (None, "send_message", None),
        (None, "enqueue", Some(json!({"text": "a", "where": "head"}))),
        (Some("nobody"), "inspect_queue", None),
        (None, "hello", Some(json!({"name": "a\nb"}))),
    ] {
        codes.push(client.call(session, method, args).await.unwrap_err().code().into_owned());
    }
    let expected = ["method", "args", "args", "session", "name"].map(|name| format!("mas::control::{name}"));
    assert_eq!(codes, expected);
    client.call(None, "inspect_queue", None).await.unwrap();
}

#[tokio::test]
async fn a_line_without_an_end_is_refused() {
    let stage = Stage::set(Transport::Unix).await;
    let mut wire = stage.wire().await;
    wire.write_all(&vec![b'x'; 1024 * 1024 + 1]).await.unwrap();
    let said = all_said(wire).await;
    assert_eq!(said[0]["error"]["code"], "mas::control::line");
}

#[tokio::test]
async fn a_caller_too_many_is_told_so_and_the_others_stay() {
    let stage = Stage::set(Transport::Unix).await;
    let mut callers = Vec::new();
    for _ in 0..256 {
        let mut client = stage.client().await;
        client.call(None, "hello", None).await.unwrap();
        callers.push(client);
    }
    let said = all_said(stage.wire().await).await;
    assert_eq!(said[0]["error"]["code"], "mas::control::full");
    callers[255].call(None, "inspect_queue", None).await.unwrap();
}

#[tokio::test]
async fn events_arrive_until_the_session_ends() {
    let stage = Stage::set(Transport::Tcp).await;
    assert!(stage.live()[0].rpc.starts_with("tcp:127.0.0.1:"));
    let mut followed = stage.client().await.attach(None).await.unwrap();
    for seq in 1..=3 {
        stage.queue.events.send(seq).unwrap();
    }
    for seq in 1..=3_u64 {
        let event = followed.next().await.unwrap().unwrap();
        assert_eq!((&event["seq"], &event["kind"]), (&json!(seq), &json!("notice")));
        assert_eq!((&event["agent"], &event["text"]), (&json!("entry"), &json!(format!("note {seq}"))));
    }
    stage.control.close(Duration::from_secs(5)).await.unwrap();
    assert_eq!(followed.next().await.unwrap(), None);
}

#[tokio::test]
async fn a_slow_reader_is_told_what_it_lost_and_holds_nobody_up() {
    let stage = Stage::set(Transport::Unix).await;
    let token = stage_token(&stage);
    let mut slow = stage.wire().await;
    say(&mut slow, &json!({"id": 7, "method": "attach", "token": token}).to_string()).await;
    let mut slow = BufReader::new(slow);
    let mut line = String::new();
    slow.read_line(&mut line).await.unwrap();
    for seq in 1..=6000 {
        stage.queue.events.send(seq).unwrap();
        if seq % 50 == 0 {
            tokio::task::yield_now().await;
        }
    }
    stage.client().await.call(None, "inspect_queue", None).await.unwrap();
    let (mut seen, mut missed) = (0, 0);
    let mut count = async |slow: &mut BufReader<UnixStream>| {
        let mut line = String::new();
        slow.read_line(&mut line).await.unwrap();
        let line: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(line["id"], 7);
        match line["event"]["missed"].as_u64() {
            Some(lost) => missed += lost,
            None => seen += 1,
        }
        seen + missed
    };
    // What is told of is told with the next event that has room.
    let mut next = 6001;
    while count(&mut slow).await < 6000 {
        if next < 8000 {
            stage.queue.events.send(next).unwrap();
            next += 1;
        }
    }
    assert!(missed > 0, "the reader was quick enough for everything");
}

#[tokio::test]
async fn the_file_is_of_the_user_alone_and_goes_with_the_session() {
    let stage = Stage::set(Transport::Unix).await;
    let path = stage.folder.path().join("c/talk.json");
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    let entry = stage.live().remove(0);
    assert_eq!((entry.label.as_str(), entry.agent.as_str()), ("talks", "entry"));
    assert_eq!(mode(entry.socket().unwrap()), 0o600);
    let again = serve(stage.folder.path(), stage.queue.clone(), Transport::Unix).await;
    assert_eq!(again.err().unwrap().code(), "mas::control::taken", "a live session is not taken over");
    drop(stage.control);
    assert_eq!(std::fs::read_dir(stage.folder.path().join("c")).unwrap().count(), 0);
}

#[tokio::test]
async fn what_a_killed_process_left_is_seen_as_dead_and_removed() {
    let stage = Stage::set(Transport::Unix).await;
    let directory = stage.directory();
    let mut child = std::process::Command::new("true").spawn().unwrap();
    let gone = child.id();
    child.wait().unwrap();
    let socket = directory.path().join(format!("{gone}-x.sock"));
    std::fs::write(&socket, "").unwrap();
    let mut entry = serde_json::to_value(&stage.live()[0]).unwrap();
    entry["session_id"] = json!("killed");
    entry["pid"] = json!(gone);
    entry["rpc"] = json!(format!("unix:{}", socket.display()));
    let path = directory.path().join("killed.json");
    std::fs::write(&path, entry.to_string()).unwrap();
    let live: Vec<String> = stage.live().into_iter().map(|entry| entry.session_id).collect();
    assert_eq!(live, ["talk"]);
    assert!(!path.exists() && !socket.exists());
}

#[tokio::test(start_paused = true)]
async fn a_session_says_each_second_that_it_lives() {
    let stage = Stage::set(Transport::Unix).await;
    for _ in 0..20 {
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    assert_eq!(stage.live().len(), 1);
    // One that says nothing for longer than five seconds is dead, whatever its process does.
    let late = stage.clock.unix_time() + Duration::from_secs(7);
    assert!(stage.directory().live(late).unwrap().is_empty());
}

#[test]
fn a_folder_that_somebody_planted_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let env = mas_contracts::Env::default();
    let open = folder.path().join("open");
    std::fs::create_dir(&open).unwrap();
    std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o755)).unwrap();
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(&open, &link).unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    for planted in [open, link, file] {
        let error = ControlDirectory::open(Some(&planted), &env).unwrap_err();
        assert_eq!(
            (error.kind(), &*error.code()),
            (ErrorKind::Denied, "mas::control::folder"),
            "{}",
            planted.display()
        );
    }
}

#[test]
fn the_folder_is_the_first_that_can_be_used() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = folder.path().join("run");
    std::fs::create_dir(&runtime).unwrap();
    let named = folder.path().join("named");
    let pairs = [("XDG_RUNTIME_DIR", runtime.clone()), ("MAS_CONTROL_DIR", named.clone())];
    let env = |pairs: &[(&str, std::path::PathBuf)]| {
        mas_contracts::Env::new(
            pairs.iter().map(|(name, path)| ((*name).to_owned(), path.display().to_string())),
        )
    };
    let path = |given: Option<&Path>, env: &mas_contracts::Env| {
        ControlDirectory::open(given, env).unwrap().path().to_owned()
    };
    let given = folder.path().join("given");
    assert_eq!(path(Some(&given), &env(&pairs)), given);
    assert_eq!(path(None, &env(&pairs)), named);
    assert_eq!(path(None, &env(&pairs[..1])), runtime.join("mas-ctl"));
}

#[test]
fn control_stays_on_this_machine() {
    let params = Params { transport: Transport::Tcp, host: Some([0, 0, 0, 0].into()), ..Params::default() };
    let error = JsonLines::new(params).unwrap_err();
    assert_eq!((error.kind(), &*error.code()), (ErrorKind::Invalid, "mas::control::address"));
}
