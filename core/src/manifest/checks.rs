//! Checks that a shape cannot say: one key depends on another.

use std::collections::HashMap;

use super::graph::check_graph;
use super::is_on;
use super::kind::Kind;
use super::options::Purpose;
use super::read;
use super::validate::Known;
use super::yaml::{Node, Style};
use crate::diagnostic::{Diagnostic, Location, Report, Severity, nearest};

/// Checks a document of a kind beyond its shape.
pub(crate) fn check_document(
    kind: Kind,
    node: &Node,
    purpose: Purpose,
    known: Known<'_>,
    report: &mut Report,
) {
    match kind {
        Kind::Agent => check_agent(node, report),
        Kind::Mas => check_team(node, purpose, known, report),
        Kind::Tool => {
            if let Some(implementation) = node.at_path("spec.impl") {
                check_implementation(implementation, report);
            }
            check_repeats(node.at_path("spec.parameters"), "name", "parameter", report);
        }
        Kind::Application => {
            for entry in
                node.at_path("spec.endpoints").and_then(Node::map).into_iter().flat_map(|map| map.iter())
            {
                check_endpoint(&entry.value, report);
            }
        }
        Kind::ToolProvider => {
            for entry in node.at_path("spec.tools").and_then(Node::map).into_iter().flat_map(|map| map.iter())
            {
                check_implementation(&entry.value, report);
            }
        }
        Kind::Flavour => check_flavour(node, report),
        _ => {}
    }
}

fn check_agent(node: &Node, report: &mut Report) {
    for tool in node.at_path("spec.tools").map_or(&[][..], Node::items) {
        let Some(map) = tool.map() else { continue };
        match map.entry("ref") {
            Some(_) => {
                for extra in map.iter().filter(|entry| !matches!(&*entry.key, "ref" | "priority")) {
                    let message =
                        format!("`{}` does not go with `ref`: the tool's own file says it", extra.key);
                    report.push(Diagnostic::error("mas::manifest::conflict", &extra.key_at, message));
                }
            }
            None => check_implementation(tool, report),
        }
    }
    if let Some(pattern) = node.at_path("spec.design_pattern").and_then(Node::map)
        && let (Some(_), Some(reference)) = (pattern.entry("type"), pattern.entry("ref"))
    {
        let message = "spec.design_pattern: `type` and `ref` are two ways to say the same, give one";
        report.push(Diagnostic::error("mas::manifest::conflict", &reference.key_at, message));
    }
}

const BY_MODULE: &[&str] = &["python", "remote_tool", "openapi"];
const BY_NAME: &[&str] = &["native", "system"];

fn check_implementation(node: &Node, report: &mut Report) {
    if node.map().is_none() {
        return;
    }
    let kind = read::text(node.get("kind"));
    let kind = kind.as_ref().map_or("python", |kind| kind.value.as_str());
    let at = node.get("kind").map_or_else(|| node.at.part(0, 1), |kind| kind.at.clone());
    let needs =
        |key: &str| Diagnostic::error("mas::manifest::missing", &at, format!("a {kind} tool needs `{key}`"));
    let has = |key: &str| node.get(key).is_some_and(|value| !value.is_null());
    if BY_NAME.contains(&kind) && !has("name") {
        report.push(needs("name").help("name the built-in tool, as `name: calc`"));
    } else if BY_MODULE.contains(&kind) && !has("module_path") && !has("module") && !has("url") {
        report.push(
            needs("module_path").help("give the file that holds the tool, or use `kind: native` with `name`"),
        );
    }
}

/// The rows of a team, wherever they stand.
pub(crate) fn agency_rows(node: &Node) -> impl Iterator<Item = &Node> {
    let long = node.at_path("spec.agency.agents").map_or(&[][..], Node::items);
    let short = node.at_path("spec.agents").map_or(&[][..], Node::items);
    long.iter().chain(short)
}

/// Whether a document says which agents its team has; without, it is a fragment.
pub(crate) fn has_agency(node: &Node) -> bool {
    node.at_path("spec.agency").is_some() || node.at_path("spec.agents").is_some()
}

fn check_team(node: &Node, purpose: Purpose, beyond: Known<'_>, report: &mut Report) {
    let mut ids: HashMap<&str, &Location> = HashMap::new();
    let mut unnamed = false;
    for row in agency_rows(node).filter(|row| row.map().is_some()) {
        let inline = row.get("kind").is_some() || row.get("spec").is_some();
        if inline && row.get("ref").is_some() {
            let message = "an agent is given either by `ref` or in place, not both";
            report.push(Diagnostic::error("mas::manifest::conflict", &row.at.part(0, 1), message));
        }
        let id = row.get("id").or_else(|| row.at_path("metadata.name"));
        match id.filter(|id| id.is_scalar()) {
            Some(id) => {
                if let Some(first) = ids.insert(id.text(), &id.at) {
                    let message = format!("the agent id `{}` is given twice", id.shown());
                    report.push(
                        Diagnostic::error("mas::manifest::duplicate_agent", &id.at, message)
                            .says("again here")
                            .label(first, "first given here"),
                    );
                }
            }
            // Its id is the name in the file it refers to, which is not read here.
            None if row.get("ref").is_some() => unnamed = true,
            None => report.push(
                Diagnostic::error(
                    "mas::manifest::missing",
                    &row.at.part(0, 1),
                    "an agent needs `id`, `ref` or both",
                )
                .help("an id without `ref` names an agent that runs elsewhere"),
            ),
        }
    }
    check_repeats(node.at_path("spec.workflow.nodes"), "id", "node", report);
    if !has_agency(node) || unnamed {
        return;
    }
    let known = || ids.keys().copied();
    let unknown = |node: &Node, what: &str, code: &'static str| {
        let id = node.text();
        let help = nearest(id, known()).map(|name| format!("did you mean `{name}`?")).unwrap_or_else(|| {
            let mut names: Vec<&str> = known().collect();
            names.sort_unstable();
            format!("agents here: {}", crate::diagnostic::one_of(names))
        });
        Diagnostic::error(code, &node.at, format!("{what} `{}`, which is no agent of this MAS", node.shown()))
            .says("not in the agency")
            .help(help)
    };
    if let Some(entry) =
        node.at_path("spec.workflow.entry").filter(|entry| entry.is_scalar() && !entry.is_null())
        && !ids.contains_key(entry.text())
    {
        report.push(unknown(entry, "spec.workflow.entry names", "mas::manifest::unknown_agent"));
    }
    let names_infra = node.at_path("spec.infra_refs").is_some_and(|refs| !refs.items().is_empty());
    let mut edges = Vec::new();
    for row in node.at_path("spec.workflow.nodes").map_or(&[][..], Node::items) {
        let Some(id) = row.get("agent").or_else(|| row.get("id")).filter(|id| id.is_scalar()) else {
            continue;
        };
        if !ids.contains_key(id.text()) {
            report.push(unknown(id, "a workflow node names", "mas::manifest::unknown_agent"));
        }
        // For a run, the wiring knows more: an endpoint of the infra may provide the target.
        if purpose == Purpose::Run {
            continue;
        }
        edges.push((id.text(), read::texts(row.get("delegates_to"))));
        for target in
            row.get("delegates_to").map_or(&[][..], Node::items).iter().filter(|target| target.is_scalar())
        {
            if !ids.contains_key(target.text()) && !beyond.provides(target.text()) {
                let what = format!("agent `{}` delegates to", id.shown());
                let problem = unknown(target, &what, "mas::route::unknown_target");
                // The MAS names infra, whose endpoints only a run reads: one of them may provide the target.
                report.push(if names_infra { problem.severity(Severity::Warning) } else { problem });
            }
        }
    }
    let edges = edges.iter().map(|(agent, targets)| (*agent, targets.as_slice()));
    check_graph(edges, allows_cycles(node), report);
}

/// Whether the MAS says, anywhere it may, that delegation may go in circles.
pub(super) fn allows_cycles(node: &Node) -> bool {
    let places = [Some(node), node.get("metadata"), node.get("spec")];
    places.into_iter().flatten().any(|place| is_on(place.get("x-mas-allow-cycles")))
}

fn check_repeats(list: Option<&Node>, key: &str, what: &str, report: &mut Report) {
    let mut seen: HashMap<&str, &Location> = HashMap::new();
    for item in list.map_or(&[][..], Node::items) {
        let Some(name) = item.get(key).filter(|name| name.is_scalar()) else { continue };
        if let Some(first) = seen.insert(name.text(), &name.at) {
            let message = format!("the {what} `{}` is given twice", name.shown());
            report.push(
                Diagnostic::error("mas::manifest::duplicate", &name.at, message)
                    .says("again here")
                    .label(first, "first given here"),
            );
        }
    }
}

fn check_flavour(node: &Node, report: &mut Report) {
    const MOVED: &[(&str, &str)] = &[
        ("llm", "the agent's `spec.models` or `spec.llm`"),
        ("skills", "the agent's `spec.skills`"),
        ("mocking", "an overlay's `execution.mocking`"),
        ("prefer_local", "the infra"),
        ("infra_refs", "config.yaml or `--infra-ref`"),
    ];
    let Some(spec) = node.get("spec").and_then(Node::map) else { return };
    for (key, place) in MOVED {
        if let Some(entry) = spec.entry(key) {
            let message = format!("`{key}` does not belong in a flavour");
            report.push(
                Diagnostic::error("mas::manifest::conflict", &entry.key_at, message)
                    .help(format!("it belongs in {place}")),
            );
        }
    }
}

fn check_endpoint(node: &Node, report: &mut Report) {
    // Other keys are the protocol's own parameters; one that is nearly a key of every endpoint is a slip.
    const KEYS: [&str; 7] = ["protocol", "usage", "expose", "url", "headers", "timeout", "a2a"];
    for entry in node.map().into_iter().flat_map(|map| map.iter()) {
        let near = nearest(&entry.key, KEYS).filter(|near| *near != &*entry.key);
        if let Some(near) = near.filter(|_| !KEYS.contains(&&*entry.key) && entry.key.chars().count() > 3) {
            let message = format!("unknown key `{}` of an endpoint", entry.key);
            report.push(
                Diagnostic::error("mas::manifest::unknown_key", &entry.key_at, message)
                    .help(format!("did you mean `{near}`?")),
            );
        }
    }
    let Some(url) = node.get("url").filter(|url| url.is_scalar() && url.style != Style::MissingEnv) else {
        return;
    };
    let shown = if url.is_secret() {
        "the value from the environment".to_owned()
    } else {
        format!("`{}`", url.text())
    };
    let a2a = read::text(node.get("protocol")).is_some_and(|protocol| protocol.value == "a2a");
    let problem = match split_url(url.text()) {
        Err(problem) if a2a || url.text().contains("://") => Some(problem),
        Err(_) => Some("expected an absolute http or https address"),
        Ok(path) if a2a && path.contains(['?', '#']) => Some("an a2a endpoint has no query and no fragment"),
        Ok(_) => None,
    };
    if let Some(problem) = problem {
        report.push(
            Diagnostic::error("mas::endpoint::url", &url.at, format!("url: {problem}, found {shown}"))
                .help("write it as `http://host:port`"),
        );
    }
}

/// What follows the authority of an absolute http(s) URL.
pub(super) fn split_url(url: &str) -> Result<&str, &'static str> {
    let lower = url.get(..8).unwrap_or(url).to_ascii_lowercase();
    let rest = if lower.starts_with("https://") {
        url.get(8..)
    } else if lower.starts_with("http://") {
        url.get(7..)
    } else {
        return Err("expected an absolute http or https address");
    };
    let rest = rest.unwrap_or_default();
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let (host, port) = match host.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (host, None),
    };
    if host.is_empty() || host.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return Err("the host is missing or malformed");
    }
    if port.is_some_and(|port| port.parse::<u16>().is_err()) {
        return Err("the port is not a number up to 65535");
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_absolute_with_a_host() {
        assert_eq!(split_url("http://127.0.0.1:9006"), Ok(""));
        assert_eq!(split_url("HTTPS://[::1]:9006/"), Ok("/"));
        assert_eq!(split_url("http://[::1]"), Ok(""));
        assert_eq!(split_url("http://h/x"), Ok("/x"));
        for bad in ["", "h:80", "ftp://h", "http://", "http://:80", "http://h:99999", "/x", "http://a b"] {
            assert!(split_url(bad).is_err(), "{bad}");
        }
    }
}
