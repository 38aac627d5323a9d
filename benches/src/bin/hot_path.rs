//! Runs one operation a number of times, on one thread and without randomness of its own, to have its instructions
//! counted.
//!
//! ```text
//! hot_path plain|delegation|fan_out_10|floor_plain|floor_delegation|validate COUNT
//! ```

use std::{
    io::{self, Write},
    process::ExitCode,
    time::Duration,
};

use mas_benches::{
    Failure, Result, floor,
    floor::Floor,
    generate::{validate_system, write_system},
    measure::{Desk, Flavour},
    team,
    team::Bench,
    work::{self, Models},
};

const SESSIONS: usize = 1_000;
const AGENTS: usize = 20;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // Nothing is left to tell a failure of standard error to.
            let _ = writeln!(io::stderr(), "hot_path: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let usage = || Failure::Wrong("name an operation and how many of it".to_owned());
    let mut arguments = std::env::args().skip(1);
    let (operation, count) = arguments.next().zip(arguments.next()).ok_or_else(usage)?;
    let count: u64 = count.parse().map_err(|_| usage())?;
    match operation.as_str() {
        "plain" => turns(work::PLAIN, count),
        "delegation" => turns(work::DELEGATE, count),
        "fan_out_10" => turns("delegate:10", count),
        "floor_plain" => floor_turns(work::PLAIN, count),
        "floor_delegation" => floor_turns(work::DELEGATE, count),
        "validate" => validations(count),
        other => Err(Failure::Wrong(format!("there is no operation `{other}`"))),
    }
}

fn turns(text: &'static str, count: u64) -> Result<()> {
    let bench = Bench::start(Models::thinking(Duration::ZERO), SESSIONS)?;
    Desk::new(Flavour::CurrentThread)?.run(team::turns(bench, text, count))
}

fn floor_turns(text: &'static str, count: u64) -> Result<()> {
    let desk = Desk::new(Flavour::CurrentThread)?;
    let floor = desk.enter(|| Floor::start(Models::thinking(Duration::ZERO)));
    desk.run(floor::turns(floor, text, count))
}

fn validations(count: u64) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let path = write_system(dir.path(), AGENTS)?;
    validate_system(&path, count)
}
