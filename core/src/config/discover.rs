//! Finding and checking the layers.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::layer::Layer;
use crate::diagnostic::{Diagnostic, Location, Report, Severity, Source, nearest};
use crate::manifest::yaml::{Entry, Map, Node, Value};
use crate::manifest::{Environment, Options, missing_variable, source_text};
use crate::manifest::{config_shape_check, substitute_tree};

/// Directories above the working directory that are searched for a workspace.
const MAX_UPWARDS: usize = 64;

pub(super) fn layers(
    cwd: &Path,
    options: &Options,
    environment: &Environment,
    report: &mut Report,
) -> Vec<Layer> {
    let mut layers = vec![package(environment, report)];
    let user = user_file(environment).filter(|file| file.is_file());
    let workspace = workspace_file(cwd, environment, report).filter(|file| Some(file) != user.as_ref());
    for (name, file) in [("user", user), ("workspace", workspace)] {
        let Some(file) = file else { continue };
        match source_text(&file, options.base.as_deref()) {
            Ok(source) => layers.extend(layer(name, Some(file), &source, environment, report)),
            Err(diagnostic) => report.push(diagnostic),
        }
    }
    layers.extend(environment_layer(environment));
    layers
}

pub(super) fn package(environment: &Environment, report: &mut Report) -> Layer {
    let source = Source::named("(package defaults)", include_str!("package.yaml"));
    let at = Location::start_of(source.clone());
    layer("package", None, &source, environment, report).unwrap_or_else(|| Layer {
        name: "package",
        file: None,
        node: Node::collection(Value::Map(Map::default()), at),
    })
}

fn layer(
    name: &'static str,
    file: Option<PathBuf>,
    source: &Arc<Source>,
    environment: &Environment,
    report: &mut Report,
) -> Option<Layer> {
    let (nodes, problems) = crate::manifest::yaml::parse(source);
    report.merge(problems);
    // A file of comments only is an empty layer.
    let mut node = nodes.into_iter().next()?;
    if node.map().is_none() {
        let message = format!("expected a map of settings, found {}", node.noun());
        report.push(Diagnostic::error("mas::config::type", &node.at.part(0, 1), message));
        return None;
    }
    let missing = substitute_tree(&mut node, environment);
    report.extend(missing.iter().map(|variable| missing_variable(variable, Severity::Warning)));
    config_shape_check(&node, report);
    check_keys(&node, report);
    Some(Layer { name, file, node })
}

/// Complains of keys that a shape cannot judge: defaults that nothing falls back to, and slips where keys are free.
fn check_keys(node: &Node, report: &mut Report) {
    const DEFAULTS: [&str; 5] = ["model", "design_pattern", "context_manager", "agent_comm", "store"];
    const PROGRAM: [&str; 5] = ["flavour", "env", "deployment", "runtime_id", "runtime_profile"];
    let entries = |key: &str| node.get(key).and_then(Node::map).into_iter().flat_map(|map| map.iter());
    for entry in entries("defaults").filter(|entry| !DEFAULTS.contains(&&*entry.key)) {
        // A key that the shape refuses is told already.
        if entry.key.starts_with("x-") || report.iter().any(|known| known.at() == Some(&entry.key_at)) {
            continue;
        }
        let message = format!("defaults.{} is not used yet and is without effect", entry.key);
        report.push(Diagnostic::warning("mas::config::unused", &entry.key_at, message));
    }
    for entry in entries("mas_ctl").filter(|entry| !PROGRAM.contains(&&*entry.key)) {
        if let Some(meant) = nearest(&entry.key, PROGRAM) {
            let message = format!("mas_ctl: unknown key `{}`", entry.key);
            let diagnostic = Diagnostic::error("mas::manifest::unknown_key", &entry.key_at, message);
            report.push(diagnostic.help(format!("did you mean `{meant}`?")));
        }
    }
}

fn user_file(environment: &Environment) -> Option<PathBuf> {
    let home = environment.filled("XDG_CONFIG_HOME").map(PathBuf::from);
    let home = home.or_else(|| environment.filled("HOME").map(|home| Path::new(home).join(".config")))?;
    Some(home.join("mas").join("config.yaml"))
}

fn workspace_file(cwd: &Path, environment: &Environment, report: &mut Report) -> Option<PathBuf> {
    if let Some(root) = environment.filled("MAS_WORKSPACE_ROOT") {
        let file = cwd.join(root).join("config.yaml");
        if file.is_file() {
            return Some(file);
        }
        let at = Location::named("MAS_WORKSPACE_ROOT");
        let message = "MAS_WORKSPACE_ROOT names a directory without a config.yaml";
        report.push(Diagnostic::warning("mas::config::workspace", &at, message));
        return None;
    }
    let candidates = cwd.ancestors().take(MAX_UPWARDS).map(|dir| dir.join("config.yaml"));
    candidates.into_iter().find(|file| file.is_file() && is_ours(file))
}

// Many programs have a `config.yaml`; one without a single key of ours is another program's.
fn is_ours(file: &Path) -> bool {
    const KEYS: &[&str] =
        &["mas_ctl", "mas_lab", "infra_refs", "infra_interceptors", "manifest_libraries", "defaults"];
    let Ok(source) = source_text(file, None) else { return false };
    source.text().lines().any(|line| {
        KEYS.iter().any(|key| line.strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with(':')))
    })
}

fn environment_layer(environment: &Environment) -> Option<Layer> {
    let text = environment.filled("MAS_INFRA_REFS")?;
    let at = Location::named("MAS_INFRA_REFS");
    let names = text.split([',', ' ', '\t', '\n']).filter(|name| !name.is_empty());
    let items = names.map(|name| Node::string(name, at.clone())).collect();
    let value = Node::collection(Value::List(items), at.clone());
    let entry = Entry { key: "infra_refs".into(), key_at: at.clone(), value };
    let node = Node::collection(Value::Map(Map::new(vec![entry])), at);
    Some(Layer { name: "environment", file: None, node })
}
