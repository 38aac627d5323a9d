//! What the system and the program itself say of the program.

use std::{
    fs,
    time::{Duration, Instant},
};

use crate::serving::Serving;

/// How long the program may take to come to rest.
const REST: Duration = Duration::from_secs(60);

/// A line of the program's status, in KiB.
pub(crate) fn kib(serving: &Serving, name: &str) -> usize {
    let status = fs::read_to_string(format!("/proc/{}/status", serving.id())).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("Linux says so");
    line.trim_start_matches(':').trim().trim_end_matches(" kB").parse().expect("a number")
}

/// The memory that it has now, in KiB.
pub(crate) fn resident(serving: &Serving) -> usize {
    kib(serving, "VmRSS")
}

/// How much processor time it took.
pub(crate) fn worked(serving: &Serving) -> Duration {
    let threads = fs::read_dir(format!("/proc/{}/task", serving.id())).expect("it runs");
    let time = |thread: fs::DirEntry| -> u64 {
        let said = fs::read_to_string(thread.path().join("schedstat")).unwrap_or_default();
        said.split(' ').next().and_then(|nanos| nanos.parse().ok()).unwrap_or_default()
    };
    Duration::from_nanos(threads.flatten().map(time).sum())
}

/// How many files it has open.
pub(crate) fn files(serving: &Serving) -> usize {
    fs::read_dir(format!("/proc/{}/fd", serving.id())).expect("it runs").count()
}

/// A gauge of `/metrics`.
pub(crate) fn gauge(serving: &Serving, name: &str) -> usize {
    let (_, _, text) = serving.ask("GET", "/metrics", None);
    let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_else(|| panic!("{text}"));
    line.rsplit(' ').next().and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("{line}"))
}

/// Asks until there are this many.
pub(crate) fn until(what: &str, many: usize, ask: impl Fn() -> usize) {
    let begun = Instant::now();
    loop {
        let now = ask();
        if now == many {
            return;
        }
        assert!(begun.elapsed() < REST, "{what}: still {now}, not {many}");
    }
}

/// Waits until no turn runs and no stream is open, nor a connection but the one that asks.
pub(crate) fn at_rest(serving: &Serving) {
    for (name, many) in [("mas_a2a_turns{", 0), ("mas_a2a_streams{", 0), ("mas_a2a_connections ", 1)] {
        until(name, many, || gauge(serving, name));
    }
}
