//! The event log: its lines, their order, its size, its bounds.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)] // a test may stop short

mod support;

use std::{fs, path::Path, sync::Arc, time::Duration};

use mas_contracts::{
    Arguments, Artifact, Audience, Builder, CallContext, CallId, Descriptor, Error, ErrorKind, Event,
    EventKind, Message, NoEvents, ObservabilityContract, Part, Scope, TaskState, ToolCall, ToolOutput, Tree,
    TreeLimits, TurnStatus, Usage, inventory,
};
use mas_event_log::{EventLog, KINDS};
use serde_json::{Value, json};
use support::{TokioClock, build_context};

fn scope(agent: &str, turn: &str, parent: Option<(Arc<Scope>, CallId)>) -> Arc<Scope> {
    let tree = match &parent {
        Some((parent, _)) => parent.tree.clone(),
        None => Arc::new(Tree::new(TreeLimits::default(), Arc::new(TokioClock))),
    };
    Arc::new(Scope {
        session: "s".into(),
        turn: turn.into(),
        agent: agent.into(),
        depth: u16::from(parent.is_some()),
        caller: parent.as_ref().map(|(_, call)| *call),
        parent: parent.map(|(scope, _)| scope),
        sink: Arc::new(NoEvents),
        tree,
    })
}

struct Turn<'a> {
    log: &'a EventLog,
    cx: CallContext,
}

impl<'a> Turn<'a> {
    fn new(log: &'a EventLog, scope: Arc<Scope>) -> Self {
        Self { log, cx: CallContext::new(scope, std::time::Instant::now()) }
    }

    fn see(&self, kind: EventKind) {
        self.log.observe(&Event { scope: self.cx.scope().clone(), call: self.cx.call(), kind });
    }

    fn begin(&self, text: &str) {
        self.see(EventKind::TurnStarted { input: Arc::new(Message::user(text)) });
    }

    fn model(&self, message: Message) {
        self.see(EventKind::ModelStarted { model: "gpt-4o".into(), messages: 1 });
        self.see(EventKind::TextDelta { audience: Audience::Answer, text: "piece".into() });
        self.see(EventKind::ModelEnded {
            message: Some(Arc::new(message)),
            error: None,
            usage: Usage { input_tokens: 5, output_tokens: 2, model_calls: 1 },
            latency: Duration::from_micros(1500),
        });
    }

    fn end(&self, answer: &str) {
        self.see(EventKind::Answer { parts: vec![Part::text(answer)] });
        self.see(EventKind::TurnEnded {
            status: TurnStatus::Completed,
            error: None,
            usage: Usage::default(),
        });
    }
}

fn open(folder: &Path) -> EventLog {
    EventLog::open(&build_context(Path::new("."), &[("XDG_STATE_HOME", folder.to_str().unwrap())]), None)
        .unwrap()
}

fn lines(path: &Path) -> Vec<Value> {
    fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn kinds(lines: &[Value]) -> Vec<&str> {
    lines.iter().map(|line| line["kind"].as_str().unwrap()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_plain_turn_is_five_small_lines() {
    let folder = tempfile::tempdir().unwrap();
    let log = open(folder.path());
    let turn = Turn::new(&log, scope("qa", "0199-turn", None));
    turn.begin("What is the capital of France?");
    turn.model(Message::assistant("Paris."));
    turn.end("Paris.");
    log.flush().await.unwrap();
    let lines = lines(log.path().unwrap());
    let expected = ["execution_start", "llm_call_start", "llm_call_end", "user_response", "execution_end"];
    assert_eq!(kinds(&lines), expected);
    for line in &lines {
        assert_eq!(line["run_id"], json!(log.run()));
        assert_ne!(line["run_id"], json!(""));
        assert_eq!(line["ts"], json!(1_764_000_000.25));
        assert_eq!((&line["agent_id"], &line["call_id"]), (&json!("qa"), &json!("c1")));
        assert_eq!(line.get("parent_call_id"), None);
    }
    assert_eq!(lines[2]["model"], "gpt-4o");
    assert_eq!(lines[2]["latency_ms"], 1.5);
    assert_eq!(lines[2]["usage"], json!({"input_tokens": 5, "output_tokens": 2}));
    assert_eq!(lines[2]["message"]["parts"][0]["text"], "Paris.");
    assert_eq!(lines[3].get("message"), None, "written once");
    assert_eq!(lines[3]["message_id"], lines[2]["message_id"]);
    let size = fs::metadata(log.path().unwrap()).unwrap().len();
    assert!(size < 1500, "{size} bytes");
}

#[tokio::test]
async fn a_delegation_stands_between_its_start_and_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let log = open(folder.path());
    let root = scope("moderator", "t1", None);
    let above = Turn::new(&log, root.clone());
    above.begin("trip");
    let arguments = Arguments::from_text(r#"{"task":"fare"}"#);
    let call = ToolCall { id: "k1".into(), name: "delegate_to_fares".into(), arguments };
    above.model(Message::Assistant {
        parts: vec![],
        reasoning: None,
        calls: vec![call.clone()],
        provider_data: None,
    });
    above.see(EventKind::ToolStarted { call: Arc::new(call) });
    above.see(EventKind::DelegationStarted {
        to: "fares".into(),
        route: "local".into(),
        tool_call: Some("k1".into()),
        task: "fare".into(),
    });
    let below = Turn::new(&log, scope("fares", "t2", Some((root, above.cx.call()))));
    below.begin("fare");
    below.end("42");
    above.see(EventKind::DelegationEnded {
        to: "fares".into(),
        route: "local".into(),
        tool_call: Some("k1".into()),
        state: TaskState::Failed,
        error: Some(Error::new(ErrorKind::Failed, "no fare")),
        latency: Duration::from_millis(3),
    });
    let output = Arc::new(ToolOutput::error("no fare"));
    let latency = Duration::from_millis(4);
    above.see(EventKind::ToolEnded { id: "k1".into(), name: "delegate_to_fares".into(), output, latency });
    let (path, run) = (log.path().unwrap().to_owned(), log.run().clone());
    drop(log);
    let lines = lines(&path);
    assert_eq!(path.file_stem().unwrap().to_str(), Some(&*run));
    let expected = [
        "execution_start",
        "llm_call_start",
        "llm_call_end",
        "tool_call_start",
        "delegation_start",
        "execution_start",
        "user_response",
        "execution_end",
        "delegation_end",
        "tool_call_end",
    ];
    assert_eq!(kinds(&lines), expected);
    let child = &lines[5];
    assert_eq!((&child["agent_id"], &child["depth"]), (&json!("fares"), &json!(1)));
    assert_eq!((&child["parent_call_id"], &child["root_turn_id"]), (&json!("c1"), &json!("t1")));
    assert_eq!(child["message_id"], lines[4]["message_id"], "the task is the child's input");
    assert_eq!(child.get("message"), None);
    assert_eq!(lines[8]["error"], json!({"code": "mas::run::failed", "message": "no fare"}));
    assert_eq!(lines[9]["is_error"], true);
    assert!(kinds(&lines).iter().all(|kind| KINDS.contains(kind)));
}

#[tokio::test]
async fn a_full_queue_drops_chatter_first_and_says_how_much() {
    let folder = tempfile::tempdir().unwrap();
    let log = open(folder.path());
    let turn = Turn::new(&log, scope("qa", "t", None));
    turn.begin("go");
    let artifact = Artifact::new("a", vec![Part::text("x".repeat(2000))]);
    let artifact = Arc::new(artifact);
    let sent = 60_000_u64;
    for _ in 0..sent {
        turn.see(EventKind::ArtifactChunk { artifact: artifact.clone(), append: true, last: false });
    }
    turn.end("done");
    log.flush().await.unwrap();
    let lines = lines(log.path().unwrap());
    let of = |kind: &str| lines.iter().filter(|line| line["kind"] == kind).count() as u64;
    let dropped: u64 = lines
        .iter()
        .filter(|line| line["kind"] == "dropped")
        .map(|line| line["count"].as_u64().unwrap())
        .sum();
    assert_eq!(of("artifact") + dropped, sent, "every event is there or counted");
    assert_eq!((of("user_response"), of("execution_end")), (1, 1), "what matters is there");
}

#[tokio::test]
async fn runs_side_by_side_never_meet() {
    let folder = tempfile::tempdir().unwrap();
    let cx = build_context(folder.path(), &[("HOME", folder.path().to_str().unwrap())]);
    let (one, two) = (EventLog::open(&cx, None).unwrap(), EventLog::open(&cx, None).unwrap());
    assert_ne!(one.path().unwrap(), two.path().unwrap());
    assert!(one.path().unwrap().starts_with(folder.path().join(".local/state/mas/runs")));
    let (one, two) =
        (EventLog::open(&cx, Some("e.jsonl")).unwrap(), EventLog::open(&cx, Some("e.jsonl")).unwrap());
    for log in [&one, &two] {
        Turn::new(log, scope("qa", "t", None)).begin("hi");
        log.flush().await.unwrap();
    }
    let lines = lines(&folder.path().join("e.jsonl"));
    assert_eq!((&lines[0]["run_id"], &lines[1]["run_id"]), (&json!(one.run()), &json!(two.run())));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(one.path().unwrap()), 0o600);
        assert_eq!(mode(&folder.path().join(".local/state/mas/runs")), 0o700);
    }
}

#[test]
fn of_the_files_in_the_state_folder_the_newest_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let runs = folder.path().join("mas/runs");
    fs::create_dir_all(&runs).unwrap();
    let name = |at: usize| format!("0199{at:04}-0000-7000-8000-000000000000.jsonl");
    for at in 0..1005 {
        fs::write(runs.join(name(at)), "").unwrap();
    }
    let others = ["mine.jsonl", "01990000-0000-7000-8000-000000000000.txt", "0199-0-0-0-0.jsonl"];
    for other in others {
        fs::write(runs.join(other), "").unwrap();
    }
    fs::create_dir(runs.join("00000000-0000-7000-8000-000000000000.jsonl")).unwrap();
    let log = open(folder.path());
    assert!(log.path().unwrap().exists());
    // The folder and the new file, whose id is none of a real run, count as others here.
    assert_eq!(fs::read_dir(&runs).unwrap().count(), 1000 + others.len() + 2);
    assert!(!runs.join(name(4)).exists() && runs.join(name(5)).exists());
    assert!(others.iter().all(|other| runs.join(other).exists()));
    // A file that was given is not of that folder's runs, wherever it is.
    let given = build_context(&runs, &[("XDG_STATE_HOME", folder.path().to_str().unwrap())]);
    for at in 0..5 {
        fs::write(runs.join(name(at)), "").unwrap();
    }
    drop(EventLog::open(&given, Some("given.jsonl")).unwrap());
    assert!(runs.join(name(0)).exists());
}

#[test]
fn params_and_places_are_checked() {
    let d = inventory::iter::<Descriptor>().find(|d| d.name == "native").unwrap();
    assert!((d.check)(&json!({"events_file": "x"})).is_empty());
    assert!((d.check)(&json!({"file": "x"}))[0].message.contains("unknown field `file`"));
    assert!(matches!(d.builder, Builder::Observability(_)));
    let nowhere = EventLog::open(&build_context(Path::new("."), &[]), None).err().unwrap();
    assert_eq!(nowhere.code(), "mas::event_log::no_folder");
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("plain"), "").unwrap();
    let blocked = EventLog::open(&build_context(folder.path(), &[]), Some("plain/e.jsonl")).err().unwrap();
    assert_eq!(blocked.kind(), ErrorKind::Unavailable);
}
