//! One layer, as figment reads it.

use std::path::{Path, PathBuf};

use figment::value::{Dict, Map, Value as Figure};
use figment::{Metadata, Profile, Provider, Source};

use crate::manifest::yaml::{Node, Value};

/// A layer of the configuration.
#[derive(Debug)]
pub(super) struct Layer {
    /// `package`, `user`, `workspace` or `environment`.
    pub(super) name: &'static str,
    /// The file, if it is one.
    pub(super) file: Option<PathBuf>,
    /// Its tree: a map.
    pub(super) node: Node,
}

impl Layer {
    /// The directory that its relative paths start from.
    pub(super) fn dir(&self, cwd: &Path) -> PathBuf {
        self.file.as_deref().and_then(Path::parent).unwrap_or(cwd).to_path_buf()
    }
}

impl Provider for Layer {
    fn metadata(&self) -> Metadata {
        let metadata = Metadata::named(self.name);
        match &self.file {
            Some(file) => metadata.source(Source::File(file.clone())),
            None => metadata,
        }
    }

    fn data(&self) -> Result<Map<Profile, Dict>, figment::Error> {
        let dict = match figure(&self.node) {
            Figure::Dict(_, dict) => dict,
            _ => Dict::new(),
        };
        Ok(Profile::Default.collect(dict))
    }
}

fn figure(node: &Node) -> Figure {
    match &node.value {
        Value::Null => Figure::from(figment::value::Empty::None),
        Value::Bool(flag) => Figure::from(*flag),
        Value::Int(number) => Figure::from(*number),
        Value::Float(number) => Figure::from(*number),
        Value::Str if node.is_secret() => Figure::from("<from the environment>"),
        Value::Str => Figure::from(node.text()),
        Value::List(items) => Figure::from(items.iter().map(figure).collect::<Vec<_>>()),
        Value::Map(map) => Figure::from(
            map.iter().map(|entry| (entry.key.to_string(), figure(&entry.value))).collect::<Dict>(),
        ),
    }
}
