//! A checked document, before it is read into a type.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::environment::MissingVariable;
use super::kind::Kind;
use super::located::Located;
use super::read;
use super::yaml::Node;
use crate::diagnostic::Location;

/// One checked document of a file.
#[derive(Clone, Debug)]
pub struct Document {
    /// Its kind.
    pub kind: Kind,
    /// Its tree, with the environment put in.
    pub node: Arc<Node>,
    /// The file it stands in; for a bundled document, its name.
    pub path: PathBuf,
    /// Variables it names that are not set.
    pub missing: Arc<[MissingVariable]>,
}

impl Document {
    /// The directory that its relative paths start from.
    pub fn dir(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new(""))
    }

    /// `metadata.name`, or the file's stem.
    pub fn name(&self) -> Located<String> {
        read::filled(self.node.at_path("metadata.name")).unwrap_or_else(|| {
            let stem = self.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            Located::new(stem, self.at())
        })
    }

    /// The place of the document: its `kind`, else its beginning.
    pub fn at(&self) -> Location {
        self.node.get("kind").map_or_else(|| self.node.at.part(0, 1), |kind| kind.at.clone())
    }

    /// A value by its path of keys, as `spec.workflow.entry`.
    pub fn get(&self, path: &str) -> Option<&Node> {
        self.node.at_path(path)
    }
}
