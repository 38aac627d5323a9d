//! The delegation graph by itself: self-delegation, repeats, cycles.

use std::collections::{HashMap, HashSet};

use crate::{
    diagnostic::{Diagnostic, Location, Report},
    manifest::Located,
};

/// Checks who delegates to whom. Cycles are errors unless they are allowed; delegating to oneself and naming
/// a target twice are errors in any case.
pub fn check_graph<'a>(
    agents: impl IntoIterator<Item = (&'a str, &'a [Located<String>])>,
    allow_cycles: bool,
    report: &mut Report,
) {
    let mut edges: Vec<(&str, &[Located<String>])> = Vec::new();
    for (agent, targets) in agents {
        check_targets(agent, targets, report);
        edges.push((agent, targets));
    }
    if allow_cycles {
        return;
    }
    for cycle in cycles(&edges) {
        report_cycle(&cycle, report);
    }
}

fn check_targets(agent: &str, targets: &[Located<String>], report: &mut Report) {
    let mut seen: HashMap<&str, &Location> = HashMap::new();
    for target in targets {
        if target.value == agent {
            let message = format!("agent `{agent}` delegates to itself");
            report.push(
                Diagnostic::error("mas::route::self", &target.at, message).says("this is the agent itself"),
            );
        }
        if let Some(first) = seen.insert(&target.value, &target.at) {
            let message = format!("agent `{agent}` names the delegate `{}` twice", target.value);
            report.push(
                Diagnostic::error("mas::route::duplicate", &target.at, message)
                    .says("again here")
                    .label(first, "first here"),
            );
        }
    }
}

/// One step of a cycle: the agent and the item that leads on.
type Step<'a> = (&'a str, &'a Located<String>);

/// Every cycle that a depth-first walk closes, each once.
fn cycles<'a>(edges: &[(&'a str, &'a [Located<String>])]) -> Vec<Vec<Step<'a>>> {
    let targets: HashMap<&str, &'a [Located<String>]> = edges.iter().copied().collect();
    let mut found = Vec::new();
    let mut done: HashSet<&str> = HashSet::new();
    for (start, _) in edges {
        if done.contains(start) {
            continue;
        }
        // The path from `start`: each agent with what of its targets is still to be tried.
        let mut path: Vec<Step<'a>> = Vec::new();
        let mut rest = vec![(*start, targets.get(start).copied().unwrap_or_default().iter())];
        let mut on_path: HashMap<&str, usize> = HashMap::from([(*start, 0)]);
        while let Some((agent, left)) = rest.last_mut() {
            let agent = *agent;
            let Some(target) = left.next() else {
                done.insert(agent);
                on_path.remove(agent);
                rest.pop();
                path.pop();
                continue;
            };
            let next = target.value.as_str();
            if next == agent || done.contains(next) {
                continue;
            }
            if let Some(from) = on_path.get(next) {
                let mut cycle: Vec<Step<'a>> = path.iter().skip(*from).copied().collect();
                cycle.push((agent, target));
                found.push(cycle);
                continue;
            }
            let Some((known, list)) = targets.get_key_value(next) else { continue };
            path.push((agent, target));
            on_path.insert(known, rest.len());
            rest.push((known, list.iter()));
        }
    }
    found
}

fn report_cycle(cycle: &[Step<'_>], report: &mut Report) {
    let Some(((first, _), (last, closing))) = cycle.first().copied().zip(cycle.last().copied()) else {
        return;
    };
    let mut names: Vec<&str> = cycle.iter().map(|(agent, _)| *agent).collect();
    names.push(first);
    let message = format!("delegation goes in a circle: {}", names.join(" -> "));
    let mut diagnostic = Diagnostic::error("mas::route::cycle", &closing.at, message)
        .says(format!("`{last}` delegates back to `{first}`"))
        .help("remove one of these, or say `x-mas-allow-cycles: true` at the root of the MAS; limits hold then too");
    for (agent, target) in cycle.iter().take(cycle.len().saturating_sub(1)) {
        diagnostic = diagnostic.label(&target.at, format!("`{agent}` delegates to `{}`", target.value));
    }
    report.push(diagnostic);
}
