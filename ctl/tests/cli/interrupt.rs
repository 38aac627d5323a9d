//! Ctrl-C and the request to end.

use std::{
    io::{BufRead, BufReader},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use crate::bench::team;

const SLOW: &str = "rules:\n  - {chunks: ['begun ', never], chunk_delay_ms: 60000}\n";

#[test]
fn a_signal_ends_a_running_turn_within_200_ms_with_130() {
    for signal in ["INT", "TERM"] {
        let bench = team(SLOW);
        let mut child = bench
            .command(&["run-mas", "mas.yaml", "-q", "go", "--json", "--events-stderr"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        // The turn runs once its first event is on stderr.
        let mut lines = BufReader::new(child.stderr.take().expect("it has a stderr")).lines();
        lines.next().expect("an event").expect("is read");
        let began = Instant::now();
        let sent =
            Command::new("kill").args(["-s", signal, &child.id().to_string()]).status().expect("kill runs");
        assert!(sent.success());
        let code = child.wait().expect("it ends").code();
        let took = began.elapsed();
        assert_eq!(code, Some(130), "{signal}");
        // The limit is 200 ms; starting `kill` on a busy machine is not the program's time.
        assert!(took < Duration::from_millis(600), "{signal}: {took:?}");
    }
}
