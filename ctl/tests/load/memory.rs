//! What the program takes at rest, and what many tasks leave.

use futures_util::future::join_all;
use serde_json::json;

use crate::{
    alone,
    caller::{Caller, message, request},
    load,
    meter::{at_rest, resident, worked},
    serve_by,
    serving::Serving,
};

/// How many callers there are at once.
const CALLERS: usize = 16;
/// Tasks in full.
const TASKS: usize = 1_000_000;

#[tokio::test]
async fn it_is_small_at_rest() {
    let _alone = alone().await;
    let serving = serve_by("");
    let resident = resident(&serving);
    eprintln!("{resident} KiB at rest");
    // A build for debugging is about four times as large.
    let debug = cfg!(debug_assertions) && std::env::var_os("MAS_CTL").is_none();
    let most = if debug { 48 } else { 12 } * 1024;
    assert!(resident <= most, "{resident} KiB at rest; {most} KiB are allowed");
}

/// Blocking calls, one after the other, each in a conversation of its own that the caller names, so that the program
/// has all to remember that it ever has.
async fn calls(serving: &Serving, calls: impl Iterator<Item = usize>) {
    let mut connection = Caller::connect(serving.socket()).await;
    let mut params = message("plain-0000000");
    params["message"]["contextId"] = json!("trip-0000000");
    let request = String::from_utf8(request("SendMessage", &params)).expect("text");
    for n in calls {
        connection.write(request.replace("-0000000", &format!("-{n:07}")).as_bytes()).await;
        let body = connection.answer().await;
        assert!(body.contains("TASK_STATE_COMPLETED"), "{body}");
    }
}

#[tokio::test]
async fn memory_is_flat_however_many_tasks_are_served() {
    let _alone = alone().await;
    let serving = serve_by("");
    let all = load(TASKS);
    let mut sizes = Vec::new();
    for tenth in 0..10 {
        let part = all * tenth / 10..all * (tenth + 1) / 10;
        let callers = (0..CALLERS).map(|caller| calls(&serving, part.clone().skip(caller).step_by(CALLERS)));
        join_all(callers).await;
        sizes.push(resident(&serving));
    }
    eprintln!("{all} tasks in {:?} of its time; KiB after each tenth: {sizes:?}", worked(&serving));
    // By then every table is full: tasks of the store, sessions, messages seen.
    let (settled, last) = (sizes[5], sizes[9]);
    assert!(last.saturating_sub(settled) <= 3 * 1024, "{all} tasks; KiB after each tenth: {sizes:?}");
    at_rest(&serving);
}
