//! `config.yaml` in layers: package defaults, the user's, the workspace's, the environment.
//!
//! The layers are merged by figment, lowest first; [`Config::explain`] says which layer set a key, and at which line.

mod discover;
mod layer;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use figment::Figment;
use serde_json::Value as Json;

use crate::diagnostic::{Location, Report};
use crate::manifest::yaml::Node;
use crate::manifest::{Environment, Located, Options, Params, Selection, reading};

use layer::Layer;

/// The merged configuration.
#[derive(Debug)]
pub struct Config {
    layers: Vec<Layer>,
    figment: Figment,
    /// Defaults of agents.
    pub defaults: Defaults,
    /// Infra of the workspace, in order.
    pub infra_refs: Vec<Located<String>>,
    /// The directory that relative infra references start from.
    pub infra_dir: PathBuf,
    /// The flavour, by name or path.
    pub flavour: Option<Located<String>>,
    /// The file of variables that `mas_ctl.env` names, from the directory of the config file that names it.
    pub env_file: Option<Located<PathBuf>>,
    /// Directories of libraries by name.
    pub libraries: BTreeMap<String, PathBuf>,
    /// What was found but stops nothing.
    pub warnings: Report,
}

/// What agents get when their documents leave it open.
#[derive(Clone, Debug, Default)]
pub struct Defaults {
    /// The model.
    pub model: Option<Located<String>>,
    /// The pattern.
    pub design_pattern: Option<Selection>,
    /// The context manager.
    pub context_manager: Option<Selection>,
    /// The comm backend.
    pub agent_comm: Option<Selection>,
    /// Where the tasks of exposed agents are kept.
    pub store: Option<Selection>,
}

/// One value of the configuration and who set it.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// The key, as `defaults.model`.
    pub key: String,
    /// The value; text from the environment is hidden.
    pub value: Json,
    /// The layer, as `workspace`.
    pub layer: &'static str,
    /// The file and line, or the variable.
    pub at: Location,
}

impl Config {
    /// Reads every layer that is there; `cwd` is where the search for a workspace begins.
    ///
    /// # Errors
    /// Every problem of every layer, when there is an error among them.
    pub fn load(cwd: &Path, options: &Options, environment: &Environment) -> Result<Self, Report> {
        let mut report = Report::new();
        let layers = discover::layers(cwd, options, environment, &mut report);
        let report = report.sorted();
        if report.has_errors() {
            return Err(report);
        }
        Ok(Self::of(layers, cwd, report))
    }

    /// The configuration of the package alone.
    pub fn built_in() -> Self {
        let mut report = Report::new();
        let layers = vec![discover::package(&Environment::default(), &mut report)];
        Self::of(layers, Path::new(""), report)
    }

    fn of(layers: Vec<Layer>, cwd: &Path, warnings: Report) -> Self {
        let figment = layers.iter().fold(Figment::new(), |figment, layer| figment.merge(layer));
        let top = |path: &str| top(&layers, path);
        let choice = |path: &str| reading::selection(top(path).map(|(_, node)| node));
        let defaults = Defaults {
            model: reading::filled(top("defaults.model").map(|(_, node)| node)),
            design_pattern: choice("defaults.design_pattern"),
            context_manager: choice("defaults.context_manager"),
            agent_comm: choice("defaults.agent_comm"),
            store: choice("defaults.store"),
        };
        let (infra_refs, infra_dir) = match top("infra_refs") {
            Some((layer, node)) if node.is_scalar() => {
                (reading::filled(Some(node)).into_iter().collect(), layer.dir(cwd))
            }
            Some((layer, node)) => (reading::texts(Some(node)), layer.dir(cwd)),
            None => (Vec::new(), cwd.to_path_buf()),
        };
        let mut libraries = BTreeMap::new();
        for layer in &layers {
            for (name, path) in reading::text_map(layer.node.get("manifest_libraries")) {
                libraries.insert(name.value, layer.dir(cwd).join(path.value));
            }
        }
        let env_file = top("mas_ctl.env").and_then(|(layer, node)| {
            Some(reading::filled(Some(node))?.map(|path| layer.dir(cwd).join(path)))
        });
        let flavour = reading::filled(top("mas_ctl.flavour").map(|(_, node)| node));
        Self { figment, defaults, infra_refs, infra_dir, flavour, env_file, libraries, warnings, layers }
    }

    /// The value of a key and who set it; a map of several layers is shown merged, under its topmost one.
    pub fn explain(&self, key: &str) -> Option<Setting> {
        let (layer, node) = top(&self.layers, key)?;
        let value = if node.map().is_some() {
            let merged = self.figment.find_value(key).ok()?;
            serde_json::to_value(merged).ok()?
        } else {
            Params::of(node).public_value()
        };
        Some(Setting { key: key.to_owned(), value, layer: layer.name, at: node.at.clone() })
    }

    /// Every value of the merged configuration and who set it, by key.
    pub fn show(&self) -> Vec<Setting> {
        let mut keys = Vec::new();
        for layer in &self.layers {
            leaves(&layer.node, &mut String::new(), &mut keys);
        }
        keys.sort_unstable();
        keys.dedup();
        // A key that a higher layer replaced by something else than a map is gone from the merged value.
        keys.retain(|key| self.figment.contains(key));
        let settings = keys.iter().filter_map(|key| self.explain(key));
        // One layer's plain value may be another's map, whose own values are listed.
        settings.filter(|setting| setting.value.as_object().is_none_or(serde_json::Map::is_empty)).collect()
    }
}

/// The value of a path in the highest layer that has it.
fn top<'a>(layers: &'a [Layer], path: &str) -> Option<(&'a Layer, &'a Node)> {
    layers.iter().rev().find_map(|layer| layer.node.at_path(path).map(|node| (layer, node)))
}

fn leaves(node: &Node, path: &mut String, keys: &mut Vec<String>) {
    match node.map() {
        Some(map) if !map.is_empty() => {
            for entry in map.iter() {
                let length = path.len();
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(&entry.key);
                leaves(&entry.value, path, keys);
                path.truncate(length);
            }
        }
        _ => keys.push(path.clone()),
    }
}
