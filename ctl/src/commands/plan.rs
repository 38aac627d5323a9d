//! `plan`: how a team is wired, and why.

use std::fmt::Write;

use mas_core::{
    blueprint::{AgentBlueprint, Resolved},
    diagnostic::Location,
    registry::Registry,
    wiring::{Hosting, Wiring, wire},
};
use serde_json::{Value, json};

use super::live::Live;
use crate::{cli::PlanArgs, console, exit::Exit, exposing, setup, surroundings::Surroundings};

/// Shows the plan of `run-mas`.
pub(crate) async fn run(args: &PlanArgs, registry: &Registry, around: &Surroundings) -> Exit {
    let Resolved { blueprint, warnings } =
        match setup::blueprint(&args.manifest, &args.team, &args.routes, around) {
            Ok(resolved) => resolved,
            Err(report) => return setup::invalid(&report, args.json),
        };
    console::err_report(&warnings);
    let wiring = match wire(&blueprint, registry, &around.environment, Hosting::Everything) {
        Ok(wiring) => wiring,
        Err(report) => return setup::invalid(&report, args.json),
    };
    if let Err(report) = exposing::check(&wiring, registry, around) {
        return setup::invalid(&report, args.json);
    }
    let live = if args.live { Some(Live::ask(&wiring.routes, registry, around).await) } else { None };
    let problems = live.as_ref().map(Live::problems).unwrap_or_default();
    if args.json {
        let mut plan = to_json(&wiring);
        if let (Some(live), Some(plan)) = (&live, plan.as_object_mut()) {
            plan.insert("live".to_owned(), live.to_json());
            plan.insert("findings".to_owned(), json!(problems.to_records()));
        }
        console::out_json(&plan);
    } else {
        let mut text = to_text(&wiring);
        if let Some(live) = &live {
            text.push_str(&live.to_text());
        }
        console::out(&text);
        console::err_report(&problems);
    }
    if problems.has_errors() { Exit::Invalid } else { Exit::Done }
}

/// Where an agent does its work: elsewhere also where it is declared here, but every way to it leads over an endpoint.
fn runs(wiring: &Wiring<'_>, agent: &AgentBlueprint) -> &'static str {
    let id = &agent.id.value;
    let stays = *id == wiring.blueprint.entry.value
        || wiring.exposures.iter().any(|exposure| exposure.endpoint.agent.value == *id);
    let mut ways = wiring.routes.iter().filter(|route| route.to.value == *id).peekable();
    let leaves = ways.peek().is_some() && ways.all(|route| route.endpoint.is_some());
    if agent.external || (leaves && !stays) { "elsewhere" } else { "here" }
}

fn to_json(wiring: &Wiring<'_>) -> Value {
    let blueprint = wiring.blueprint;
    let agents = blueprint.agents.iter().map(|agent| {
        json!({
            "id": agent.id.value,
            "name": agent.name.shown(),
            "runs": runs(wiring, agent),
            "entry": agent.id.value == blueprint.entry.value,
            "model": if agent.external { Value::Null } else { agent.model.id.shown().into() },
            "model_set_by": if agent.external { Value::Null } else { place(&agent.model.id.at).into() },
            "pattern": if agent.external { Value::Null } else { agent.pattern.name.shown().into() },
            "tools": agent.tools.iter().map(|tool| tool.name.shown()).collect::<Vec<_>>(),
        })
    });
    let routes = wiring.routes.iter().map(|route| {
        json!({
            "from": route.from,
            "to": route.to.value,
            "over": route.comm,
            "url": route.endpoint.and_then(|endpoint| endpoint.url.as_ref()).map(|url| url.shown()),
            "chosen_by": route.source.as_str(),
            "why": route.why.to_string(),
            "layers": route.layers.to_json(),
        })
    });
    let exposures = wiring.exposures.iter().map(|exposure| {
        json!({
            "agent": exposure.endpoint.agent.value,
            "protocol": exposure.endpoint.protocol.shown(),
            "usage": exposure.endpoint.usage.value.word(),
            "url": exposure.endpoint.url.as_ref().map(|url| url.shown()),
            "entry": exposure.entry,
        })
    });
    json!({
        "team": blueprint.name.shown(),
        "entry": blueprint.entry.value,
        "provider": blueprint.llm.provider.shown(),
        "blueprint": blueprint.hash,
        "agents": agents.collect::<Vec<_>>(),
        "routes": routes.collect::<Vec<_>>(),
        "exposures": exposures.collect::<Vec<_>>(),
    })
}

fn to_text(wiring: &Wiring<'_>) -> String {
    let blueprint = wiring.blueprint;
    let mut text = String::new();
    let hash = blueprint.hash.get(..12).unwrap_or(&blueprint.hash);
    let _ = writeln!(
        text,
        "{} (entry {}, models by {}, blueprint {hash})",
        blueprint.name.shown(),
        blueprint.entry.value,
        blueprint.llm.provider.shown()
    );
    let agents = blueprint.agents.iter().map(|agent| {
        let tools: Vec<&str> = agent.tools.iter().map(|tool| tool.name.shown()).collect();
        let runs = runs(wiring, agent);
        let (pattern, model, set_by) = if agent.external {
            ("-", "-", "-".to_owned())
        } else {
            (agent.pattern.name.shown(), agent.model.id.shown(), place(&agent.model.id.at))
        };
        let tools = if tools.is_empty() { "-".to_owned() } else { tools.join(", ") };
        vec![agent.id.value.clone(), runs.to_owned(), pattern.to_owned(), model.to_owned(), set_by, tools]
    });
    table(&mut text, &["AGENT", "RUNS", "PATTERN", "MODEL", "SET BY", "TOOLS"], agents.collect());
    let routes = wiring.routes.iter().map(|route| {
        let url = route.endpoint.and_then(|endpoint| endpoint.url.as_ref());
        let over = url.map_or_else(|| route.comm.clone(), |url| format!("{} {}", route.comm, url.shown()));
        vec![route.from.to_owned(), route.to.value.clone(), over, format!("{}; {}", route.why, route.source)]
    });
    table(&mut text, &["FROM", "TO", "OVER", "WHY"], routes.collect());
    table(&mut text, &["SENT TO", "LAYER", "EFFECT"], layers_of(wiring));
    let exposures = wiring.exposures.iter().map(|exposure| {
        let endpoint = exposure.endpoint;
        let url = endpoint.url.as_ref().map_or("-", |url| url.shown());
        vec![
            endpoint.agent.value.clone(),
            endpoint.protocol.shown().to_owned(),
            url.to_owned(),
            endpoint.usage.value.word().to_owned(),
        ]
    });
    table(&mut text, &["LISTENS FOR", "PROTOCOL", "URL", "USAGE"], exposures.collect());
    text
}

/// The layers of each endpoint that is sent over, outermost first.
fn layers_of(wiring: &Wiring<'_>) -> Vec<Vec<String>> {
    let mut rows: Vec<Vec<String>> = Vec::new();
    for (index, route) in wiring.routes.iter().enumerate() {
        let told = wiring.routes.iter().take(index).any(|earlier| earlier.to.value == route.to.value);
        let effects = if told { Vec::new() } else { route.layers.effects() };
        for (row, (name, effect)) in effects.into_iter().enumerate() {
            let to = if row == 0 { route.to.value.clone() } else { String::new() };
            rows.push(vec![to, name.to_owned(), effect]);
        }
    }
    rows
}

/// The file and line of a value, or the flag, variable or default that it comes from.
pub(super) fn place(at: &Location) -> String {
    let name = at.source().name();
    // What is inside the program, and a flag, have no line that anybody can look at.
    if at.source().text().is_empty() || name.starts_with('(') {
        return name.to_owned();
    }
    format!("{name}:{}", at.position().0)
}

/// Appends a table with a blank line before it; nothing for no rows.
pub(super) fn table(text: &mut String, head: &[&str], rows: Vec<Vec<String>>) {
    if rows.is_empty() {
        return;
    }
    let head: Vec<String> = head.iter().map(|cell| (*cell).to_owned()).collect();
    let rows: Vec<Vec<String>> = std::iter::once(head).chain(rows).collect();
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |at: usize| {
        rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    text.push('\n');
    for row in &rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            let _ = write!(line, "{cell:<width$}  ");
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }
}
