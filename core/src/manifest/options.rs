//! How documents are read.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// What documents are read for: a validation forgives what only a run needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Only checked.
    Validate,
    /// To be run.
    Run,
}

/// Options of reading documents.
#[derive(Clone, Debug)]
pub struct Options {
    /// The directory that shown paths are relative to, usually the working directory.
    pub base: Option<PathBuf>,
    /// Whether references to other files are checked; true by default.
    pub resolve_refs: bool,
    /// Whether unknown keys and slips in the metadata are warnings; false by default.
    pub lenient: bool,
    /// Directories of libraries, by the name before the colon in `samples:tools/calc.tool.yaml`.
    pub libraries: BTreeMap<String, PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Self { base: None, resolve_refs: true, lenient: false, libraries: BTreeMap::new() }
    }
}
