//! What `serve` is asked for, as rows of endpoints.

use serde_json::{Map, Value, json};

use crate::{
    blueprint::{Blueprint, EndpointBlueprint},
    diagnostic::{Diagnostic, Location, Report},
    manifest::{Located, Params, Usage},
};

/// What to serve.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// Every agent of this process, not the entry agent alone.
    pub all: bool,
    /// Host and port that the entry agent's endpoint is to listen on, whatever its row says.
    pub listen: Option<(&'a str, u16)>,
    /// Host and port where neither a flag nor a row says one.
    pub default: (&'a str, u16),
    /// The protocol of agents without a row.
    pub protocol: &'a str,
}

/// Gives every agent that is asked for an endpoint that listens. One without a row gets one: the entry agent at the
/// root, the others below it, with everything that the entry agent's row says of security and limits.
///
/// # Errors
/// Each agent that is asked for and whose row only says how to reach it.
pub fn ask(blueprint: &mut Blueprint, asked: &Asked<'_>) -> Result<(), Report> {
    let entry = blueprint.entry.value.clone();
    let wanted: Vec<String> = blueprint
        .agents
        .iter()
        .filter(|agent| !agent.external && (asked.all || agent.id.value == entry))
        .map(|agent| agent.id.value.clone())
        .collect();
    let mut report = Report::new();
    for row in blueprint.endpoints.iter().filter(|row| wanted.contains(&row.agent.value)) {
        if !row.usage.deploys() {
            report.push(only_used(row));
        }
    }
    report.into_result(())?;
    let row_of = |rows: &[EndpointBlueprint], id: &str| rows.iter().position(|row| row.agent.value == id);
    let root = match row_of(&blueprint.endpoints, &entry) {
        Some(at) => {
            if let (Some(listen), Some(row)) = (asked.listen, blueprint.endpoints.get_mut(at)) {
                move_to(row, listen);
            }
            blueprint.endpoints.get(at).cloned()
        }
        None => {
            let row = made(&entry, asked);
            blueprint.endpoints.push(row.clone());
            Some(row)
        }
    };
    for id in wanted.iter().filter(|id| **id != entry) {
        if row_of(&blueprint.endpoints, id).is_none()
            && let Some(root) = &root
        {
            blueprint.endpoints.push(below(root, id));
        }
    }
    Ok(())
}

fn only_used(row: &EndpointBlueprint) -> Diagnostic {
    let agent = row.agent.shown();
    let message = format!("`{agent}` is to be served, and its endpoint only says how to reach it");
    Diagnostic::error("mas::exposure::only_used", &row.usage.at, message)
        .says("`usage: use`: it runs elsewhere")
        .help("say `usage: deploy` or `usage: use-and-deploy`, or leave the row out to serve it without one")
}

/// A row for an agent that has none.
fn made(id: &str, asked: &Asked<'_>) -> EndpointBlueprint {
    let (host, port) = asked.listen.unwrap_or(asked.default);
    let at = Location::named(if asked.listen.is_some() { "--listen" } else { "(default)" });
    EndpointBlueprint {
        agent: Located::new(id.to_owned(), at.clone()),
        protocol: Located::new(asked.protocol.to_owned(), at.clone()),
        usage: Located::new(Usage::Deploy, at.clone()),
        url: None,
        headers: Vec::new(),
        timeout_seconds: None,
        a2a: Some(Params::new(json!({"listen": {"host": host, "port": port}}))),
        layers: None,
        params: Params::none(at.clone()),
        missing: Vec::new(),
        dir: std::path::PathBuf::new(),
        at,
    }
}

/// Lets a row listen elsewhere. An address for callers that says where it listened before goes with it; one that
/// stands beside a socket of its own is that of something in front, and stays.
fn move_to(row: &mut EndpointBlueprint, (host, port): (&str, u16)) {
    let mut a2a = row.a2a.as_ref().and_then(|a2a| a2a.value().as_object().cloned()).unwrap_or_default();
    if a2a.insert("listen".to_owned(), json!({"host": host, "port": port})).is_none() {
        row.url = None;
    }
    row.a2a = Some(Params::new(Value::Object(a2a)));
}

/// A row for an agent that has none, on the socket of the entry agent.
fn below(root: &EndpointBlueprint, id: &str) -> EndpointBlueprint {
    let mut row = root.clone();
    row.agent = Located::new(id.to_owned(), root.at.clone());
    row.usage = Located::new(Usage::Deploy, root.usage.at.clone());
    row.url = root.url.as_ref().map(|url| {
        let below = format!("{}/agents/{id}", url.value.trim_end_matches('/'));
        Located { value: below, at: url.at.clone(), secret: url.secret }
    });
    row.headers = Vec::new();
    row.params = Params::none(root.at.clone());
    if let Some(Value::Object(a2a)) = root.a2a.as_ref().map(Params::value) {
        // What describes the entry agent does not describe another.
        let of_entry = |key: &str| matches!(key, "extended_card" | "documentation_url" | "icon_url");
        let shared: Map<String, Value> = a2a
            .iter()
            .filter(|(key, _)| !of_entry(key))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        row.a2a = Some(Params::new(Value::Object(shared)));
    }
    row
}
