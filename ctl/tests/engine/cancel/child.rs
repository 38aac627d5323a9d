//! A cancel while a program runs, or a tool in Python.

use std::{
    fs::File,
    io::{BufRead, BufReader, Read},
    process::Command,
    sync::Arc,
    time::{Duration, Instant},
};

use mas_contracts::{CancelReason, ErrorKind, Message};
use mas_core::registry::Registry;
use mas_testkit::{ScriptedModel, asks_for, build_context, says};
use mas_tools as _;
use serde_json::{Value, json};
use tokio::task::spawn_blocking;

use crate::team::{Member, ask, say_in, team};

/// Every process of the script has the pipe `life` open, so that its end is the end of them all.
const SCRIPT: &str = "exec 3>life; sleep 600 & sleep 600 & echo ready >&3; wait";

/// The same, in Python.
const CLASS: &str = "
import subprocess, time

class Work:
    def get_name(self):
        return 'work'

    def execute(self):
        life = open('LIFE', 'w')
        subprocess.Popen(['sleep', '600'], stdout=life)
        print('ready', file=life, flush=True)
        while True:
            try:
                time.sleep(600)
            except BaseException:
                pass
";

#[rstest::rstest]
#[case::command("command", json!({"spec": {"name": "work"}, "params": {"command": ["sh", "-c", SCRIPT]}}))]
#[case::python("python", json!({"module_path": "./work.py"}))]
#[tokio::test]
async fn a_cancel_leaves_no_process_and_a_history_to_go_on_with(#[case] kind: &str, #[case] params: Value) {
    let folder = tempfile::tempdir().expect("a folder");
    let life = folder.path().join("life");
    assert!(Command::new("mkfifo").arg(&life).status().expect("mkfifo runs").success());
    let class = CLASS.replace("LIFE", life.to_str().expect("a text"));
    std::fs::write(folder.path().join("work.py"), class).expect("it is written");
    let build = build_context(folder.path(), &[("PATH", &std::env::var("PATH").expect("there is a PATH"))]);
    let tool = Registry::linked().expect("it is whole").build_tool(kind, &build, &params);
    let two = [("work", json!({})), ("work", json!({}))];
    let model = Arc::new(ScriptedModel::new(vec![asks_for(two), says("begun anew")]));
    let team = team(vec![Member::new("a", model.clone()).with_tool(tool.expect("it builds"))]).await;

    let ready = spawn_blocking(move || {
        let mut lines = BufReader::new(File::open(life).expect("the pipe opens"));
        let mut line = String::new();
        for _ in 0..2 {
            lines.read_line(&mut line).expect("it is read");
        }
        (line, lines)
    });
    let stop = async {
        let (line, lines) = ready.await.expect("it ends");
        assert_eq!(line, "ready\nready\n");
        team.stop(CancelReason::Requested);
        (Instant::now(), lines)
    };
    let ((reply, _), (began, mut lines)) = tokio::join!(ask(&team, say_in("s", "go")), stop);
    assert_eq!(reply.expect_err("it is stopped").kind(), ErrorKind::Cancelled);
    // 200 ms, and what a busy machine adds.
    assert!(began.elapsed() < Duration::from_millis(600), "{:?}", began.elapsed());
    spawn_blocking(move || lines.read_to_end(&mut Vec::new())).await.expect("it ends").expect("it is read");
    assert!(began.elapsed() < Duration::from_millis(900), "a process lived on for {:?}", began.elapsed());

    let (reply, _) = ask(&team, say_in("s", "again")).await;
    assert_eq!(&*reply.expect("it goes on").text(), "begun anew");
    let seen = &model.asked()[1].messages;
    let calls = seen.iter().flat_map(|message| message.calls()).map(|call| &call.id);
    let results = seen.iter().filter_map(|message| match &**message {
        Message::Tool { call, .. } => Some(call),
        _ => None,
    });
    assert_eq!(Vec::from_iter(calls), Vec::from_iter(results), "every call has its one result");
}
