//! Compares mas with its floor and prints what was reached.
//!
//! ```text
//! ratios [--quick] [--json] [--cold PROGRAM [ARGUMENT…]]
//! ```
//!
//! Every section runs in a process of its own, so that no memory and no thread of one is seen by another. Exit code
//! 1 means that a side dropped work or answered wrongly; a missed target is a line of the report, not a failure.

use std::{
    io::{self, Write},
    path::PathBuf,
    process::{Command, ExitCode, Stdio},
    time::Duration,
};

use mas_benches::{
    Failure, Result, floor,
    floor::Floor,
    generate::{validate_system, write_system},
    measure::{self, Compared, Desk, Flavour, Program, Side},
    team,
    team::Bench,
    work::{self, Models},
};
use mas_core::{
    blueprint::{ResolveInput, ResolveOptions, resolve},
    config::Defaults,
    diagnostic::Report,
    manifest::{Environment, Located, Options, load, load_infra},
    registry::Registry,
    wiring::{Hosting, wire},
};
use mas_models as _;
use mas_tools as _;
use saphyr_parser::Parser;
use serde_json::{Map, Value, json};

/// How many sessions a team of a sequential section keeps: few, so that memory is used again.
const FEW_SESSIONS: usize = 1_000;
/// How many sessions a team keeps where all of them stay.
const ALL_SESSIONS: usize = 100_000;
const CHILDREN: u32 = 100;
const FAN_OUT: &str = "delegate:100";
const FAN_OUT_THINKS: Duration = Duration::from_millis(50);
const SESSION_THINKS: Duration = Duration::from_millis(100);
const MANY: u64 = 10_000;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match arguments.split_first() {
        Some((first, rest)) if first == "--section" => section(rest).and_then(|figures| print(&figures)),
        _ => ask(&arguments).and_then(|ask| report(&ask)),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // Nothing is left to tell a failure of standard error to.
            let _ = writeln!(io::stderr(), "ratios: {failure}");
            ExitCode::FAILURE
        }
    }
}

/// What is asked for.
#[derive(Debug, Default)]
struct Ask {
    quick: bool,
    json: bool,
    cold: Option<Program>,
}

fn ask(arguments: &[String]) -> Result<Ask> {
    let mut ask = Ask::default();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--quick" => ask.quick = true,
            "--json" => ask.json = true,
            "--cold" => {
                let path = rest.next().ok_or_else(|| Failure::Wrong("--cold needs a program".to_owned()))?;
                ask.cold = Some(Program { path: path.into(), arguments: rest.by_ref().cloned().collect() });
            }
            other => return Err(Failure::Wrong(format!("there is no option `{other}`"))),
        }
    }
    Ok(ask)
}

/// One line of the report.
struct Row {
    runtime: &'static str,
    name: &'static str,
    floor: Option<f64>,
    ours: f64,
    unit: &'static str,
    /// What the target is about: a ratio, or the figure itself.
    value: f64,
    target: Option<f64>,
    stretch: Option<f64>,
}

impl Row {
    fn verdict(&self) -> &'static str {
        match (self.target, self.stretch) {
            (Some(_), Some(stretch)) if self.value <= stretch => "stretch reached",
            (Some(target), _) if self.value <= target => "reached",
            (Some(_), _) => "missed",
            (None, _) => "",
        }
    }

    fn json(&self) -> Value {
        json!({
            "runtime": self.runtime,
            "name": self.name,
            "floor": self.floor,
            "ours": self.ours,
            "unit": self.unit,
            "value": self.value,
            "target": self.target,
            "stretch": self.stretch,
            "verdict": self.verdict(),
        })
    }

    fn line(&self) -> String {
        let floor = self.floor.map_or_else(|| "-".to_owned(), |floor| format!("{floor:.2}"));
        let target = match (self.target, self.stretch) {
            (Some(target), Some(stretch)) => format!("<= {target} ({stretch})"),
            (Some(target), None) => format!("<= {target}"),
            (None, _) => String::new(),
        };
        let line = format!(
            "{:<15} {:<40} {:>9} {:>9.2} {:<5} {:>8.3}  {:<12} {}",
            self.runtime,
            self.name,
            floor,
            self.ours,
            self.unit,
            self.value,
            target,
            self.verdict(),
        );
        line.trim_end().to_owned()
    }
}

fn report(ask: &Ask) -> Result<()> {
    let mut rows = Vec::new();
    for flavour in Flavour::ALL {
        rows.extend(rows_of(flavour, ask)?);
    }
    rows.extend(rows_of_systems(ask)?);
    if let Some(program) = &ask.cold {
        rows.extend(rows_of_cold_start(program, ask)?);
    }
    if ask.json {
        return print(&json!({"quick": ask.quick, "rows": rows.iter().map(Row::json).collect::<Vec<_>>()}));
    }
    let mut out = io::stdout().lock();
    writeln!(
        out,
        "{:<15} {:<40} {:>9} {:>9} {:<5} {:>8}  {:<12}",
        "runtime", "what", "floor", "mas", "unit", "value", "target"
    )?;
    for row in &rows {
        writeln!(out, "{}", row.line())?;
    }
    Ok(())
}

fn rows_of(flavour: Flavour, ask: &Ask) -> Result<Vec<Row>> {
    let child = |section: &str| child(section, flavour, ask.quick);
    let runtime = flavour.as_str();
    let against_floor = |figures: &Value, key: &str, name, unit, target, stretch| -> Result<Row> {
        let floor = number(figures, &format!("{key}_floor"))?;
        let ours = number(figures, key)?;
        let ratio = format!("{key}_ratio");
        let value = if figures.get(&ratio).is_some() { number(figures, &ratio)? } else { ours / floor };
        Ok(Row { runtime, name, floor: Some(floor), ours, unit, value, target, stretch })
    };
    let figure = |name, ours, unit, target| Row {
        runtime,
        name,
        floor: None,
        ours,
        unit,
        value: ours,
        target,
        stretch: None,
    };

    let cpu = child("cpu")?;
    let fan_out = child("fan-out")?;
    let many = child("many")?;
    let idle = child("idle")?;
    let in_flight = number(&child("in-flight")?, "kib")?;
    let floor_in_flight = number(&child("in-flight-floor")?, "kib")?;
    let ideal = FAN_OUT_THINKS.as_secs_f64() * 3.0 * 1e3;
    let fan_out_ms = number(&fan_out, "wall")?;
    Ok(vec![
        against_floor(&cpu, "plain", "plain turn, CPU", "us", Some(6.0), Some(5.0))?,
        against_floor(&cpu, "delegation", "delegation, CPU", "us", Some(3.0), Some(2.2))?,
        figure("events per delegation", number(&cpu, "events")?, "", None),
        against_floor(&cpu, "spawned", "spawned plain turn, CPU", "us", None, None)?,
        Row {
            value: fan_out_ms / ideal,
            ..against_floor(&fan_out, "wall", "fan-out to 100, wall (ideal 150)", "ms", Some(1.07), None)?
        },
        against_floor(&many, "wall_1000", "1,000 sessions, wall (ideal 300)", "ms", Some(1.15), None)?,
        against_floor(&many, "wall_10000", "10,000 sessions, wall (ideal 300)", "ms", None, None)?,
        figure("idle session of two agents, memory", number(&idle, "kib")?, "KiB", Some(8.0)),
        Row {
            runtime,
            name: "session in flight, memory",
            floor: Some(floor_in_flight),
            ours: in_flight,
            unit: "KiB",
            value: in_flight / floor_in_flight,
            target: Some(1.5),
            stretch: None,
        },
    ])
}

fn rows_of_systems(ask: &Ask) -> Result<Vec<Row>> {
    let figures = child("systems", Flavour::CurrentThread, ask.quick)?;
    let row = |key: &str, name| -> Result<Row> {
        let (floor, ours) = (number(&figures, &format!("{key}_floor"))?, number(&figures, key)?);
        let ratio = number(&figures, &format!("{key}_ratio"))?;
        let (floor, ours) = (floor / 1e3, ours / 1e3);
        Ok(Row {
            runtime: "-",
            name,
            floor: Some(floor),
            ours,
            unit: "ms",
            value: ratio,
            target: None,
            stretch: None,
        })
    };
    Ok(vec![
        row("validate_200", "validate 200 agents, CPU (floor: parse)")?,
        row("validate_1000", "validate 1,000 agents, CPU (floor: parse)")?,
        row("wire_200", "load, resolve and wire 200 agents, CPU (floor: parse)")?,
        row("wire_1000", "load, resolve and wire 1,000 agents, CPU (floor: parse)")?,
    ])
}

fn rows_of_cold_start(program: &Program, ask: &Ask) -> Result<Vec<Row>> {
    let floor = Program { path: sibling("cold_floor")?, arguments: Vec::new() };
    let (floor, ours) = measure::cold_starts(if ask.quick { 11 } else { 51 }, &floor, program)?;
    let row = |name, floor: Duration, ours: Duration| Row {
        runtime: "-",
        name,
        floor: Some(floor.as_secs_f64() * 1e3),
        ours: ours.as_secs_f64() * 1e3,
        unit: "ms",
        value: ours.as_secs_f64() / floor.as_secs_f64().max(f64::MIN_POSITIVE),
        target: None,
        stretch: None,
    };
    Ok(vec![row("cold start, CPU", floor.cpu, ours.cpu), row("cold start, wall", floor.wall, ours.wall)])
}

/// A binary of this crate, beside this one.
fn sibling(name: &str) -> Result<PathBuf> {
    let path = std::env::current_exe()?.with_file_name(name);
    if path.is_file() {
        return Ok(path);
    }
    Err(Failure::Wrong(format!("`{}` is not built; build this crate with --bins", path.display())))
}

/// Runs a section in a process of its own and returns its figures.
fn child(section: &str, flavour: Flavour, quick: bool) -> Result<Value> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["--section", section, flavour.as_str()]).stderr(Stdio::inherit());
    if quick {
        command.arg("--quick");
    }
    let output = command.output()?;
    let wrong = || Failure::Wrong(format!("section {section} on {} failed", flavour.as_str()));
    if !output.status.success() {
        return Err(wrong());
    }
    serde_json::from_slice(&output.stdout).map_err(|_| wrong())
}

fn number(figures: &Value, key: &str) -> Result<f64> {
    let number = figures.get(key).and_then(Value::as_f64);
    number.ok_or_else(|| Failure::Wrong(format!("a section left out `{key}`")))
}

fn print(value: &Value) -> Result<()> {
    writeln!(io::stdout(), "{value:#}")?;
    Ok(())
}

/// One section, in its own process.
fn section(arguments: &[String]) -> Result<Value> {
    let mut arguments = arguments.iter().map(String::as_str);
    let name = arguments.next().unwrap_or_default();
    let flavour = arguments.next().unwrap_or_default();
    let quick = arguments.next() == Some("--quick");
    let known = Flavour::ALL.into_iter().find(|known| known.as_str() == flavour);
    let flavour = known.ok_or_else(|| Failure::Wrong(format!("there is no runtime `{flavour}`")))?;
    let desk = Desk::new(flavour)?;
    match name {
        "cpu" => cpu(&desk, quick),
        "fan-out" => fan_out(&desk, quick),
        "many" => many(&desk, quick),
        "idle" => idle(&desk, quick),
        "in-flight" => in_flight(&desk, quick),
        "in-flight-floor" => in_flight_floor(&desk, quick),
        "systems" => systems(quick),
        _ => Err(Failure::Wrong(format!("there is no section `{name}`"))),
    }
}

fn cpu(desk: &Desk, quick: bool) -> Result<Value> {
    let (pairs, batch) = if quick { (7, 10) } else { (31, 40) };
    let batch = Duration::from_millis(batch);
    let floor = desk.enter(|| Floor::start(Models::thinking(Duration::ZERO)));
    let ours = Bench::start(Models::thinking(Duration::ZERO), FEW_SESSIONS)?;
    let events = checked_delegations(desk, &floor, &ours)?;

    let compare = |text: &'static str| {
        let floor = |count| desk.run(floor::turns(floor.clone(), text, count));
        let ours = |count| desk.run(team::turns(ours.clone(), text, count));
        measure::compare(pairs, batch, &floor, &ours)
    };
    let plain = compare(work::PLAIN)?;
    let delegation = compare(work::DELEGATE)?;
    let spawned = measure::compare(
        pairs,
        batch,
        &|count| desk.run(floor::spawned_turns(floor.clone(), work::PLAIN, count)),
        &|count| desk.run(team::submitted_turns(ours.clone(), work::PLAIN, count)),
    )?;
    let mut figures = Map::new();
    for (name, compared) in [("plain", plain), ("delegation", delegation), ("spawned", spawned)] {
        let Compared { floor_us, ours_us, ratio } = compared;
        figures.insert(name.to_owned(), json!(ours_us));
        figures.insert(format!("{name}_floor"), json!(floor_us));
        figures.insert(format!("{name}_ratio"), json!(ratio));
    }
    figures.insert("events".to_owned(), json!(events));
    Ok(Value::Object(figures))
}

/// Checks that neither side drops work, and returns how many events a delegation has.
fn checked_delegations(
    desk: &Desk,
    floor: &std::sync::Arc<Floor>,
    ours: &std::sync::Arc<Bench>,
) -> Result<u64> {
    const TURNS: u64 = 100;
    let (floor_before, ours_before, events) = (floor.models().calls(), ours.models().calls(), ours.events());
    desk.run(floor::turns(floor.clone(), work::DELEGATE, TURNS))?;
    desk.run(team::turns(ours.clone(), work::DELEGATE, TURNS))?;
    work::check_calls("the floor's delegations", floor.models().calls() - floor_before, TURNS * 3)?;
    work::check_calls("the delegations", ours.models().calls() - ours_before, TURNS * 3)?;
    Ok((ours.events() - events) / TURNS)
}

fn fan_out(desk: &Desk, quick: bool) -> Result<Value> {
    let floor = desk.enter(|| Floor::start(Models::thinking(FAN_OUT_THINKS)));
    let ours = Bench::start(Models::thinking(FAN_OUT_THINKS), ALL_SESSIONS)?;
    let (mut floors, mut all_ours) = (Vec::new(), Vec::new());
    let rounds = if quick { 3 } else { 9 };
    for _ in 0..rounds {
        floors.push(wall_ms(|| desk.run(floor::turns(floor.clone(), FAN_OUT, 1)))?);
        all_ours.push(wall_ms(|| desk.run(team::turns(ours.clone(), FAN_OUT, 1)))?);
    }
    let expected = rounds * (u64::from(CHILDREN) + 2);
    work::check_calls("the floor's fan-outs", floor.models().calls(), expected)?;
    work::check_calls("the fan-outs", ours.models().calls(), expected)?;
    Ok(json!({"wall_floor": measure::median(floors), "wall": measure::median(all_ours)}))
}

fn many(desk: &Desk, quick: bool) -> Result<Value> {
    let floor = desk.enter(|| Floor::start(Models::thinking(SESSION_THINKS)));
    let ours = Bench::start(Models::thinking(SESSION_THINKS), ALL_SESSIONS)?;
    let mut figures = Map::new();
    let mut expected = 0;
    for (sessions, rounds) in [(1_000, if quick { 3 } else { 7 }), (MANY, if quick { 1 } else { 3 })] {
        let (mut floors, mut all_ours) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            floors.push(wall_ms(|| desk.run(floor::turns_at_once(floor.clone(), work::DELEGATE, sessions)))?);
            all_ours.push(wall_ms(|| desk.run(team::turns_at_once(ours.clone(), work::DELEGATE, sessions)))?);
            expected += sessions * 3;
        }
        figures.insert(format!("wall_{sessions}_floor"), json!(measure::median(floors)));
        figures.insert(format!("wall_{sessions}"), json!(measure::median(all_ours)));
    }
    work::check_calls("the floor's sessions", floor.models().calls(), expected)?;
    work::check_calls("the sessions", ours.models().calls(), expected)?;
    Ok(Value::Object(figures))
}

fn wall_ms(work: impl FnOnce() -> Result<()>) -> Result<f64> {
    Ok(measure::wall(work)?.as_secs_f64() * 1e3)
}

/// Memory of a conversation that has had one delegation and is idle, its child's included.
#[allow(clippy::cast_precision_loss)]
fn idle(desk: &Desk, quick: bool) -> Result<Value> {
    let count = if quick { 2_000 } else { MANY };
    let ours = Bench::start(Models::thinking(Duration::ZERO), ALL_SESSIONS)?;
    desk.run(team::conversations(ours.clone(), 200))?;
    let (before, sessions) = (measure::resident_kib()?, ours.sessions());
    desk.run(team::conversations(ours.clone(), count))?;
    let after = measure::resident_kib()?;
    let kept = u64::try_from(ours.sessions() - sessions).unwrap_or(0);
    if kept != count * 2 {
        return Err(Failure::Wrong(format!("{kept} sessions are kept instead of {}", count * 2)));
    }
    Ok(json!({"kib": (after - before) / count as f64}))
}

#[allow(clippy::cast_precision_loss)]
fn in_flight(desk: &Desk, quick: bool) -> Result<Value> {
    let count = if quick { 2_000 } else { MANY };
    let ours = Bench::start(Models::thinking(SESSION_THINKS), ALL_SESSIONS)?;
    desk.run(team::turns_at_once(ours.clone(), work::DELEGATE, 10))?;
    let peak = measure::peak_kib(|| desk.run(team::turns_at_once(ours.clone(), work::DELEGATE, count)))?;
    Ok(json!({"kib": peak / count as f64}))
}

#[allow(clippy::cast_precision_loss)]
fn in_flight_floor(desk: &Desk, quick: bool) -> Result<Value> {
    let count = if quick { 2_000 } else { MANY };
    let floor = desk.enter(|| Floor::start(Models::thinking(SESSION_THINKS)));
    desk.run(floor::turns_at_once(floor.clone(), work::DELEGATE, 10))?;
    let peak = measure::peak_kib(|| desk.run(floor::turns_at_once(floor.clone(), work::DELEGATE, count)))?;
    Ok(json!({"kib": peak / count as f64}))
}

/// Validates and wires generated systems; the floor only reads the files and parses them.
fn systems(quick: bool) -> Result<Value> {
    let mut figures = Map::new();
    let registry = Registry::linked().map_err(|errors| Failure::Wrong(format!("{errors:?}")))?;
    for agents in [200, 1_000] {
        let dir = tempfile::tempdir()?;
        let path = write_system(dir.path(), agents)?;
        let environment = Environment::default();
        let ours = |count: u64| validate_system(&path, count);
        let files = files_below(dir.path())?;
        let floor = |count: u64| {
            for _ in 0..count {
                for file in &files {
                    let text = std::fs::read_to_string(file)?;
                    for event in Parser::new_from_str(&text) {
                        event.map_err(|error| Failure::Wrong(error.to_string()))?;
                    }
                }
            }
            Ok(())
        };
        let wired = |count: u64| (0..count).try_for_each(|_| wire_system(&path, &registry, &environment));
        let pairs = if quick { 3 } else { 7 };
        for (what, side) in [("validate", &ours as Side<'_>), ("wire", &wired)] {
            let compared = measure::compare_counts(pairs, (1, &floor), (1, side))?;
            figures.insert(format!("{what}_{agents}"), json!(compared.ours_us));
            figures.insert(format!("{what}_{agents}_floor"), json!(compared.floor_us));
            figures.insert(format!("{what}_{agents}_ratio"), json!(compared.ratio));
        }
    }
    Ok(Value::Object(figures))
}

/// From the files to a wiring, with the mock model.
fn wire_system(path: &std::path::Path, registry: &Registry, environment: &Environment) -> Result<()> {
    let wrong = |report: Report| Failure::Wrong(report.to_string());
    let options = Options::default();
    let loaded = load(path, &options, environment).map_err(wrong)?;
    let mock = [Located::unplaced("standard:mock-llm")];
    let (infra, _) = load_infra(&mock, std::path::Path::new("."), &options, environment).map_err(wrong)?;
    let resolved = resolve(ResolveInput {
        loaded: &loaded,
        flavour: None,
        workspace_infra: &[],
        flag_infra: &infra,
        defaults: &Defaults::default(),
        environment,
        options: &ResolveOptions::default(),
    })
    .map_err(wrong)?;
    let wiring = wire(&resolved.blueprint, registry, environment, Hosting::Everything).map_err(wrong)?;
    if wiring.routes.len() + 1 != resolved.blueprint.agents.len() {
        return Err(Failure::Wrong(format!("{} routes are wired", wiring.routes.len())));
    }
    Ok(())
}

fn files_below(dir: &std::path::Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(files_below(&path)?);
        } else {
            files.push(path);
        }
    }
    Ok(files)
}
