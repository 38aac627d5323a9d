//! Callers that go away at any point.

use std::{collections::HashMap, time::Duration};

use futures_util::{StreamExt, stream};
use serde_json::{Value, json};

use crate::{
    alone,
    caller::{Caller, message, request},
    load,
    meter::{at_rest, files, until},
    serve,
};

/// How many callers there are at once.
const AT_ONCE: usize = 50;
/// How long a caller reads at most; the slow answers take less.
const SOON: Duration = Duration::from_millis(60);

/// Numbers that look random, the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}

/// What the message of caller `n` is.
fn said(n: usize) -> Value {
    let kind = ["slow", "pieces-1000", "plain"][n % 3];
    let mut params = message(&format!("{kind}-{n}"));
    params["message"]["contextId"] = json!(format!("trip-{n}"));
    params
}

/// Calls and goes away. Returns the task that it saw, if it came so far.
async fn caller(socket: &str, n: usize) -> Option<(usize, Value)> {
    let mut numbers = Numbers(n as u64);
    let streaming = numbers.below(2) == 0;
    let request = request(if streaming { "SendStreamingMessage" } else { "SendMessage" }, &said(n));
    let mut caller = Caller::connect(socket).await;
    match numbers.below(5) {
        0 => {
            let sent = usize::try_from(numbers.below(request.len() as u64)).expect("it is short");
            caller.write(&request[..sent]).await;
        }
        1 => {
            caller.write(&request).await;
            tokio::time::sleep(Duration::from_millis(numbers.below(40))).await;
        }
        2 => {
            caller.write(&request).await;
            caller.read_some(numbers.below(300), SOON).await;
        }
        3 if streaming => {
            caller.open("SendStreamingMessage", &said(n)).await;
            let task = caller.event().await.expect("a task")["task"]["id"].clone();
            let mut left = numbers.below(20);
            while left > 0 && caller.event().await.is_some() {
                left -= 1;
            }
            return Some((n, task));
        }
        _ if streaming => {
            caller.write(&request).await;
            caller.read_some(numbers.below(50_000), SOON).await;
        }
        _ => {
            let reply = caller.call("SendMessage", &said(n)).await;
            return Some((n, reply["task"]["id"].clone()));
        }
    }
    None
}

#[tokio::test]
async fn callers_that_go_away_leave_nothing_behind() {
    let _alone = alone().await;
    let (serving, callers) = (serve(), load(1000));
    let before = files(&serving);
    let socket = serving.socket();
    let seen = stream::iter(0..callers).map(|n| caller(socket, n)).buffer_unordered(AT_ONCE);
    let seen: HashMap<usize, Value> = seen.filter_map(async |seen| seen).collect().await;
    assert!(seen.len() > callers / 5 && seen.len() < callers, "{} of {callers} saw a task", seen.len());
    at_rest(&serving);
    until("files", before, || files(&serving));

    // Every task that a caller saw is there and over, and saying a message again begins no other.
    let mut asking = Caller::connect(socket).await;
    for state in ["TASK_STATE_SUBMITTED", "TASK_STATE_WORKING", "TASK_STATE_CANCELED", "TASK_STATE_FAILED"] {
        let listed = asking.call("ListTasks", &json!({"status": state})).await;
        assert_eq!(listed["totalSize"], 0, "{listed}");
    }
    let taken = asking.call("ListTasks", &json!({"pageSize": 1})).await["totalSize"].as_u64();
    for n in 0..callers {
        let task = &asking.call("SendMessage", &said(n)).await["task"];
        assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED", "{task}");
        assert!(seen.get(&n).is_none_or(|seen| *seen == task["id"]), "{n} was {:?}, and is {task}", seen[&n]);
    }
    let all = asking.call("ListTasks", &json!({"pageSize": 1})).await;
    assert_eq!(all["totalSize"], callers, "a task for each message");
    eprintln!("{callers} callers went away; {taken:?} of their messages had been taken");
    drop(asking);
    at_rest(&serving);
    until("files", before, || files(&serving));
}
