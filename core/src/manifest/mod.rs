//! Documents: from the bytes of files to checked, typed manifests that know where every value stands.
//!
//! [`validate`] checks files and reports every problem of every file at once; [`load`] reads an agent or a MAS with
//! everything it refers to, ready for [`crate::blueprint::resolve`]. Nothing here reads the process environment: it
//! comes in as an [`Environment`].

mod binding;
mod checks;
mod document;
mod environment;
mod files;
mod follow;
mod graph;
mod kind;
mod load;
mod located;
mod options;
mod overrides;
pub(crate) mod read;
mod references;
pub mod schema;
mod shape;
mod shapes;
mod skills;
pub mod standard;
mod typed;
mod validate;
pub mod yaml;

pub use binding::Binding;
pub use document::Document;
pub use environment::{Environment, MissingVariable};
pub use files::read_bytes;
pub use graph::check_graph;
pub use kind::Kind;
pub use load::{
    Bundled, Loaded, Shown, bundled_flavours, bundled_infra, load, load_flavour, load_infra, show_flavour,
    show_infra,
};
pub use located::{Located, Params, Selection};
pub use options::{Options, Purpose};
pub use overrides::{Override, apply as apply_overrides};
pub use skills::SkillEntry;
pub use typed::{
    AgentDocument, ApplicationDocument, Endpoint, FlavourDocument, Implementation, InfraDocument,
    LlmDocument, LoadedAgent, LoadedTool, MiddlewareDocument, ModelChoice, Parameter, SeedText, TeamDocument,
    TeamNode, ToolDocument, ToolSource, Usage,
};
pub use validate::{Known, Look, Outcome, Validation, validate};

pub(crate) use files::{is_on, missing_variable};
pub(crate) use read as reading;

use crate::diagnostic::{Diagnostic, Report, Source};

/// Reads a text file as a source.
pub(crate) fn source_text(
    path: &std::path::Path,
    base: Option<&std::path::Path>,
) -> Result<std::sync::Arc<Source>, Diagnostic> {
    files::read_bytes(path, base).and_then(|bytes| yaml::decode_text(path, bytes, base))
}

/// Puts the environment into a tree; the answer is what it names and is not set.
pub(crate) fn substitute_tree(node: &mut yaml::Node, environment: &Environment) -> Vec<MissingVariable> {
    let mut missing = Vec::new();
    environment::substitute(node, environment, &mut missing);
    missing
}

/// Checks the tree of a `config.yaml`.
pub(crate) fn config_shape_check(node: &yaml::Node, report: &mut Report) {
    shape::check(node, &shapes::CONFIG, false, report);
}
