//! A delegation to an agent in another process, beside a bare round trip of HTTP and the same delegation in process.
//!
//! ```text
//! remote MAS_CTL [ROUNDS]
//! ```
//!
//! One process each: the floor (`a2a_floor`, beside this program) and `MAS_CTL serve` with an agent that answers at
//! once. The three take turns, one at a time, so that all see the same machine. Target: the median of a remote turn is at most three round trips above that of a local
//! one. Exit code 1 means a wrong answer or a process that did not start; a missed target is a line of the report.

use std::{
    io::{self, BufRead, BufReader, Write},
    path::Path,
    process::{Child, Command, ExitCode, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use mas_a2a as _;
use mas_benches::{
    Failure, Result,
    measure::median,
    team::Bench,
    work::{self, Models},
};
use mas_comm_kit::http::{Client, Request, Settings, Transport};
use mas_contracts::{BuildContext, Env, Shared};
use mas_core::{
    clock::{RandomIds, TokioClock},
    registry::Registry,
    team::Team,
};
use serde_json::{Value, json};

const SESSIONS: usize = 1_000;
const BATCH: usize = 50;
const LARGEST: usize = 1 << 20;
const FLOOR: &str = "127.0.0.1:9311";
/// How many round trips a remote delegation may take beyond what it takes in process.
const TARGET: f64 = 3.0;

const CHILD: &str = r#"{
  "apiVersion": "mas/v1", "kind": "Agent", "metadata": {"name": "child"},
  "spec": {
    "description": "Answers at once.", "models": [],
    "design_pattern": {"type": "scripted_response", "params": {"default": {"task_state": "completed", "text": "final answer"}}}
  }
}"#;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // Nothing is left to tell a failure of standard error to.
            let _ = writeln!(io::stderr(), "remote: {failure}");
            ExitCode::FAILURE
        }
    }
}

/// A process that ends with this one.
struct Served(Child);

impl Drop for Served {
    fn drop(&mut self) {
        // One that has ended already is what is wanted.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn run() -> Result<()> {
    let usage = || Failure::Wrong("name the program `mas-ctl`, and how many rounds if not 40".to_owned());
    let mut arguments = std::env::args().skip(1);
    let program = arguments.next().ok_or_else(usage)?;
    let rounds = arguments.next().map_or(Ok(40), |count| count.parse::<usize>()).map_err(|_| usage())?;
    let own = std::env::current_exe()?;
    let floor = Command::new(own.with_file_name("a2a_floor")).arg(FLOOR).spawn().map(Served)?;
    let folder = tempfile::tempdir()?;
    let (serving, url) = serve(Path::new(&program), folder.path())?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let outcome = runtime.block_on(measure(&url, rounds));
    drop((floor, serving));
    outcome
}

/// Starts `mas-ctl serve` on a free port and returns where it listens.
fn serve(program: &Path, folder: &Path) -> Result<(Served, String)> {
    let manifest = folder.join("child.yaml");
    std::fs::write(&manifest, CHILD)?;
    let mut child = Command::new(program)
        .arg("serve")
        .arg(&manifest)
        .args(["--no-events", "--listen=127.0.0.1:0"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    let said = child.stderr.take();
    let serving = Served(child);
    let mut seen = String::new();
    for line in BufReader::new(said.ok_or_else(|| Failure::Wrong("no stderr".to_owned()))?).lines() {
        let line = line?;
        if let Some(at) = line.find("http://") {
            let url = line.split_at(at).1.split_whitespace().next().unwrap_or_default();
            return Ok((serving, url.to_owned()));
        }
        seen.push_str(&line);
        seen.push('\n');
    }
    Err(Failure::Wrong(format!("`{}` did not listen:\n{seen}", program.display())))
}

async fn measure(url: &str, rounds: usize) -> Result<()> {
    let registry = Registry::linked().map_err(|problems| Failure::Wrong(format!("{problems:?}")))?;
    let build = BuildContext {
        host: std::sync::Weak::<Team>::new(),
        env: Env::new([("MAS_IDENTITY_SECRET".to_owned(), "bench".to_owned())]),
        clock: Arc::new(TokioClock),
        ids: Arc::new(RandomIds),
        base: ".".into(),
        shared: Shared::default(),
    };
    let there = registry.build_agent_comm("a2a", &build, &json!({"url": url}))?;
    let local = Bench::start(Models::thinking(Duration::ZERO), SESSIONS)?;
    let remote = Bench::reaching(Models::thinking(Duration::ZERO), SESSIONS, |_| ("a2a", there))?;
    let http = Settings::default().connect(&build)?;
    let (mut floors, mut locals, mut remotes) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..=rounds {
        for _ in 0..BATCH {
            let taken = [trip(&http).await?, turn(&local).await?, turn(&remote).await?];
            // The first round warms up.
            if round > 0 {
                let [floor, local, remote] = taken;
                floors.push(floor);
                locals.push(local);
                remotes.push(remote);
            }
        }
    }
    let (floor, local, remote) = (median(floors), median(locals), median(remotes));
    let trips = (remote - local) / floor;
    let verdict = if trips <= TARGET { "reached" } else { "missed" };
    let text = format!(
        "round trip p50 {floor:.0} us; turn with a delegation p50: local {local:.0} us, remote {remote:.0} us\n\
         remote above local: {trips:.2} round trips; target {TARGET:.0}: {verdict}\n"
    );
    io::stdout().write_all(text.as_bytes()).map_err(Failure::Io)
}

/// One bare round trip, in µs: a request of JSON-RPC out, the answer parsed.
async fn trip(http: &Client) -> Result<f64> {
    let message = json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "t1"}]});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}});
    let began = Instant::now();
    let request = Request {
        method: "POST".to_owned(),
        url: format!("http://{FLOOR}/"),
        query: Vec::new(),
        headers: Vec::new(),
        body: Some(body.to_string().into()),
    };
    let bytes = http.send(&request).await?.read(LARGEST).await?;
    let answer: Value = serde_json::from_slice(&bytes).map_err(|error| Failure::Wrong(error.to_string()))?;
    let took = began.elapsed();
    if answer.pointer("/result/task/id").is_none() {
        return Err(Failure::Wrong(format!("the floor answers {answer}")));
    }
    Ok(took.as_secs_f64() * 1e6)
}

/// One turn with one delegation, in µs.
async fn turn(bench: &Bench) -> Result<f64> {
    let conversation = bench.conversation();
    let began = Instant::now();
    bench.turn(&conversation, work::DELEGATE).await?;
    Ok(began.elapsed().as_secs_f64() * 1e6)
}
