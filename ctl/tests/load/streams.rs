//! Many streams, and long ones.

use std::time::Duration;

use futures_util::{StreamExt, future::join_all, stream};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use serde_json::{Value, json};

use crate::{
    alone,
    caller::{Caller, Followed, message},
    load,
    meter::{at_rest, gauge, kib, resident, until, worked},
    serve,
    serving::Serving,
    text,
};

/// How many connections are made at once.
const AT_ONCE: usize = 100;

async fn streamed(socket: &str, id: &str) -> Followed {
    let mut caller = Caller::connect(socket).await;
    caller.open("SendStreamingMessage", &message(id)).await;
    caller.follow().await
}

/// The ids of this many tasks that wait for an answer.
async fn asked(serving: &Serving, many: usize) -> Vec<Value> {
    let mut caller = Caller::connect(serving.socket()).await;
    let mut ids = Vec::new();
    for n in 0..many {
        let reply = caller.call("SendMessage", &message(&format!("ask-{n}"))).await;
        assert_eq!(reply["task"]["status"]["state"], "TASK_STATE_INPUT_REQUIRED");
        ids.push(reply["task"]["id"].clone());
    }
    ids
}

/// A stream of a task that is there, open, with its first event read.
async fn subscribed(socket: &str, task: &Value) -> Caller {
    let mut caller = Caller::connect(socket).await;
    caller.open("SubscribeToTask", &json!({"id": task})).await;
    let first = caller.event().await.expect("a task");
    assert_eq!(first["task"]["id"], *task);
    caller
}

fn answer_to(task: &Value, text: &str) -> Value {
    let parts = [json!({"text": text})];
    json!({"message": {"messageId": "answer", "taskId": task, "role": "ROLE_USER", "parts": parts}})
}

#[tokio::test]
async fn a_hundred_readers_lose_none_of_a_thousand_pieces() {
    let _alone = alone().await;
    let (serving, clients, all) = (serve(), load(100), text(1000));
    let ids: Vec<String> = (0..clients).map(|n| format!("pieces-1000-{n}")).collect();
    let followed = join_all(ids.iter().map(|id| streamed(serving.socket(), id))).await;
    for one in followed {
        assert_eq!((one.state.as_str(), &one.text), ("TASK_STATE_COMPLETED", &all));
        assert!(one.events >= 1000, "each piece is an event: {}", one.events);
    }
    // And all of one task.
    let task = &asked(&serving, 1).await[0];
    let mut callers = join_all((0..clients).map(|_| subscribed(serving.socket(), task))).await;
    let mut answering = Caller::connect(serving.socket()).await;
    let answer = answer_to(task, "go on");
    let (_, followed) = tokio::join!(
        answering.call("SendMessage", &answer),
        join_all(callers.iter_mut().map(Caller::follow)),
    );
    for one in followed {
        assert_eq!((one.state.as_str(), &one.text), ("TASK_STATE_COMPLETED", &all));
        assert!(one.events >= 1000, "each piece is an event: {}", one.events);
    }
    drop((callers, answering));
    at_rest(&serving);
}

/// Whether this process, and with it the program, may have this many files open; the limit is raised where it can
/// be.
fn may_open(files: u64) -> bool {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).expect("there is a limit");
    soft >= files || (hard >= files && setrlimit(Resource::RLIMIT_NOFILE, files, hard).is_ok())
}

#[tokio::test]
async fn ten_thousand_streams_are_open_at_once() {
    let _alone = alone().await;
    let streams = load(10_000);
    if !may_open(streams as u64 + 200) {
        eprintln!("skipped: fewer than {streams} files may be open");
        return;
    }
    let serving = serve();
    let tasks = asked(&serving, 100).await;
    let before = resident(&serving);
    let sockets = (0..streams).map(|n| subscribed(serving.socket(), &tasks[n % tasks.len()]));
    let mut callers: Vec<Caller> = stream::iter(sockets).buffer_unordered(AT_ONCE).collect().await;
    until("streams", streams, || gauge(&serving, "mas_a2a_streams{"));
    let each = resident(&serving).saturating_sub(before) / streams;
    let begun = worked(&serving);
    let mut answering = Caller::connect(serving.socket()).await;
    let answers = async {
        for task in &tasks {
            let reply = answering.call("SendMessage", &answer_to(task, "that is all")).await;
            assert_eq!(reply["task"]["status"]["state"], "TASK_STATE_COMPLETED");
        }
    };
    let ((), followed) = tokio::join!(answers, join_all(callers.iter_mut().map(Caller::follow)));
    let told = worked(&serving).saturating_sub(begun);
    assert!(followed.iter().all(|one| one.state == "TASK_STATE_COMPLETED"));
    eprintln!("{streams} streams: {each} KiB each; all told of the end in {told:?} of its time");
    assert!(each <= 40, "{each} KiB a stream");
    drop((callers, answering));
    at_rest(&serving);
}

#[tokio::test]
async fn a_long_answer_costs_as_much_as_its_length() {
    let _alone = alone().await;
    let serving = serve();
    let answers = load(50);
    // The least of several rounds: other programs only ever add to it.
    let mut least = [Duration::MAX; 2];
    let mut settled = 0;
    for round in 0..3 {
        for (least, many) in least.iter_mut().zip([1000, 4000]) {
            let begun = worked(&serving);
            for n in 0..answers {
                let one = streamed(serving.socket(), &format!("pieces-{many}-{round}-{n}")).await;
                assert_eq!((one.state.as_str(), one.text), ("TASK_STATE_COMPLETED", text(many)));
            }
            *least = (*least).min(worked(&serving).saturating_sub(begun));
        }
        if round == 0 {
            settled = kib(&serving, "VmHWM");
        }
    }
    let [short, long] = least;
    let peak = kib(&serving, "VmHWM");
    eprintln!("{answers} answers of 1,000 pieces: {short:?}; of 4,000: {long:?}; at most {peak} KiB");
    assert!(long.as_secs_f64() <= 4.5 * short.as_secs_f64(), "{short:?} for 1,000, {long:?} for 4,000");
    assert!(
        peak - settled <= 8 * 1024,
        "{settled} KiB at most after the first round, {peak} KiB after the last"
    );
}
