//! A program that serves, under load: every caller here is a process of its own to it.
//!
//! A tenth of each load by itself; by hand `MAS_LOAD=full`, and `MAS_CTL` names another build of the program:
//!
//! ```text
//! MAS_LOAD=full MAS_CTL=target/release/mas-ctl cargo test -p mas-ctl --test load -- --nocapture
//! ```

#![cfg(target_os = "linux")]
#![allow(clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]
#![allow(clippy::print_stderr, reason = "figures are for whoever runs a load by hand")]

#[allow(dead_code, reason = "the tests of the command line use the rest")]
#[path = "../cli/bench.rs"]
mod bench;
mod caller;
mod kills;
mod memory;
mod meter;
#[allow(dead_code, reason = "the tests of the command line use the rest")]
#[path = "../cli/serving.rs"]
mod serving;
mod streams;

use tokio::sync::{Mutex, MutexGuard};

use crate::{bench::Bench, serving::Serving};

/// One load at a time: they measure.
static ALONE: Mutex<()> = Mutex::const_new(());

async fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().await
}

/// This much in full, a tenth of it else.
fn load(full: usize) -> usize {
    let is_full = std::env::var("MAS_LOAD").is_ok_and(|load| load == "full");
    if is_full { full } else { full.div_ceil(10) }
}

/// A program that serves an agent which streams, asks or takes its time as the id of a message says.
fn serve() -> Serving {
    let rules = format!(
        "\
rules:
        - turn_id_prefix: pieces-1000
          response: {{task_state: completed, stream_chunks: [{0}]}}
        - turn_id_prefix: pieces-4000
          response: {{task_state: completed, stream_chunks: [{1}]}}
        - turn_id_prefix: slow
          response: {{task_state: working, stream_chunks: [a, b, c], delay_ms: 30}}
        - turn_id_prefix: ask
          response: {{task_state: input_required, text: What now?}}
        - prompt: go on
          response: {{task_state: completed, stream_chunks: [{0}]}}
",
        pieces(1000),
        pieces(4000)
    );
    serve_by(&rules)
}

/// A program that serves an agent with these rules, which else says that it is done.
fn serve_by(rules: &str) -> Serving {
    let manifest = format!(
        "\
apiVersion: mas/v1
kind: Agent
metadata: {{name: load, version: 1.0.0}}
spec:
  description: Streams, asks or takes its time.
  models: []
  design_pattern:
    type: scripted_response
    params:
      default: {{task_state: completed, text: Done}}
      {rules}
"
    );
    let bench = Bench::new(&[("agent.yaml", &manifest)]);
    Serving::start(&bench, &["serve", "agent.yaml", "--no-events", "--listen", "127.0.0.1:0"])
}

fn pieces(many: usize) -> String {
    (0..many).map(|n| format!("'{n} '")).collect::<Vec<_>>().join(", ")
}

/// What all the pieces are together.
fn text(many: usize) -> String {
    (0..many).map(|n| format!("{n} ")).collect()
}
