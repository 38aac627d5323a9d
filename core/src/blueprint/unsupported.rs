//! Fields that are valid but have no effect yet.
//!
//! A field that keeps a team safe, or decides who runs, must not be passed over in silence: it stops the run. Anything
//! else is a warning.

use crate::diagnostic::{Diagnostic, Location, Report, Severity};
use crate::manifest::yaml::{Map, Node, Value};
use crate::manifest::{Document, FlavourDocument, is_on, reading};

const STOPS_TEAM: &[(&str, &str)] = &[
    ("spec.workflow.plugin", "a workflow of one's own"),
    ("spec.workflow.max_rounds", "`max_rounds`"),
    ("spec.middleware", "middleware"),
];
const WARNS_TEAM: &[&str] = &[
    "spec.memory_stores",
    "spec.telemetry",
    "spec.tools_ref",
    "spec.models",
    "spec.params",
    "spec.capabilities",
];
const STOPS_AGENT: &[(&str, &str)] = &[
    ("spec.governance", "governance"),
    ("spec.control.budget", "a budget"),
    ("spec.control.circuit_breaker", "a circuit breaker"),
    ("spec.control.rate_limiter", "a rate limiter"),
    ("spec.budget", "a budget"),
];
const WARNS_AGENT: &[&str] = &[
    "spec.memory",
    "spec.context_manager.memory",
    "spec.plugins",
    "spec.tools_ref",
    "spec.behavior",
    "spec.execution.cache",
    "spec.execution.parallel",
    "spec.execution.live",
    "spec.execution.timeout",
    "spec.collaboration.params",
];
const WARNS_FLAVOUR: &[&str] =
    &["spec.telemetry", "spec.capabilities", "spec.config", "spec.operator", "spec.agent_comm.agents"];

pub(super) fn check_team(document: &Document, report: &mut Report) {
    stop(document, STOPS_TEAM, report);
    warn(document, WARNS_TEAM, report);
    if let Some(kind) = reading::text(document.get("spec.workflow.type"))
        && !matches!(kind.as_str(), "dynamic" | "single")
    {
        report.push(refuse(&kind.at, &format!("a workflow of type `{}`", kind.shown())));
    }
    if let Some(adapter) = reading::text(document.get("spec.framework.default_adapter"))
        && adapter.value != "native"
    {
        report.push(refuse(&adapter.at, &format!("the framework `{}`", adapter.shown())));
    }
    for key in ["spec.transport.type", "spec.transport.mode"] {
        if let Some(word) = reading::text(document.get(key))
            && matches!(word.as_str(), "remote" | "agent-remote")
        {
            let help = "give the agents endpoints in an Application document";
            report.push(refuse(&word.at, "a remote transport of the whole team").help(help));
        }
    }
    for node in document.get("spec.workflow.nodes").map_or(&[][..], Node::items) {
        if let Some(dispatch) = reading::filled(node.get("dispatch")) {
            report.push(refuse(&dispatch.at, "`dispatch`"));
        }
        if let Some(entry) =
            node.map().and_then(|map| map.entry("config")).filter(|entry| !is_empty(&entry.value))
        {
            report.push(idle(&entry.key_at, "config"));
        }
    }
}

pub(super) fn check_agent(document: &Document, report: &mut Report) {
    stop(document, STOPS_AGENT, report);
    warn(document, WARNS_AGENT, report);
}

pub(super) fn check_flavour(flavour: &FlavourDocument, report: &mut Report) {
    let document = &flavour.document;
    let controls = [
        ("spec.control.budget", "a budget"),
        ("spec.control.circuit_breaker", "a circuit breaker"),
        ("spec.control.rate_limiter", "a rate limiter"),
    ];
    stop(document, &controls, report);
    warn(document, WARNS_FLAVOUR, report);
    // A list that lets everything through restricts nothing.
    let allowed = reading::texts(document.get("spec.tools.allowed"));
    if let (Some(node), false) =
        (document.get("spec.tools.allowed"), allowed.iter().any(|name| name.value == "*"))
    {
        report.push(refuse(&node.at, "a list of allowed tools"));
    }
}

/// Whether an agent's document asks for made-up answers.
pub(super) fn asks_for_mock(document: &Document) -> bool {
    is_on(document.get("spec.execution.mocking.enabled"))
}

fn stop(document: &Document, fields: &[(&str, &str)], report: &mut Report) {
    for (path, what) in fields {
        if let Some(at) = given(document, path) {
            report.push(refuse(&at, what));
        }
    }
}

fn warn(document: &Document, fields: &[&str], report: &mut Report) {
    for path in fields {
        if let Some(at) = given(document, path) {
            report.push(idle(&at, path));
        }
    }
}

fn given(document: &Document, path: &str) -> Option<Location> {
    let (parent, key) = path.rsplit_once('.')?;
    let entry = document.get(parent)?.map()?.entry(key)?;
    (!is_empty(&entry.value)).then(|| entry.key_at.clone())
}

fn is_empty(node: &Node) -> bool {
    match &node.value {
        Value::Null | Value::Bool(false) => true,
        Value::List(items) => items.is_empty(),
        Value::Map(map) => map.iter().all(|entry| is_empty(&entry.value)) || Map::is_empty(map),
        Value::Str => node.text().is_empty(),
        _ => false,
    }
}

pub(super) fn refuse(at: &Location, what: &str) -> Diagnostic {
    let message =
        format!("{what} is not supported yet, and running without it could do harm or mean something else");
    Diagnostic::error("mas::unsupported::field", at, message).help("remove it, or keep to `validate` for now")
}

pub(super) fn idle(at: &Location, path: &str) -> Diagnostic {
    let message = format!("`{path}` has no effect yet");
    Diagnostic::error("mas::unsupported::ignored", at, message).severity(Severity::Warning)
}
