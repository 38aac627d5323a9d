//! Documents: from the bytes of files to checked, typed manifests that know where every value stands.
//!
//! [`validate`] checks files and reports every problem of every file at once; [`load`] reads an agent or a MAS with
//! everything it refers to, ready for [`crate::blueprint::resolve`]. Nothing here reads the process environment: it
//! comes in as an [`Environment`].

mod checks;
mod document;
mod environment;
mod files;
mod follow;
mod kind;
mod load;
mod located;
mod options;
pub(crate) mod read;
mod references;
mod shape;
mod shapes;
mod skills;
pub mod standard;
mod typed;
mod validate;
pub mod yaml;

pub use document::Document;
pub use environment::{Environment, MissingVariable};
pub use kind::Kind;
pub use load::{Loaded, load, load_flavour, load_infra};
pub use located::{Located, Params, Selection};
pub use options::{Options, Purpose};
pub use skills::SkillEntry;
pub use typed::{
    AgentDocument, Endpoint, FlavourDocument, Implementation, InfraDocument, LlmDocument, LoadedAgent,
    LoadedTool, MiddlewareDocument, ModelChoice, Parameter, SeedText, TeamDocument, TeamNode, ToolDocument,
    ToolSource, Usage,
};
pub use validate::{Outcome, Validation, validate};

pub(crate) use files::is_on;
