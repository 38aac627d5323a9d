//! The blueprint: what files, flags and tests all produce, before anything is wired.
//!
//! [`resolve`] is pure: it takes what was loaded and answers with a [`Blueprint`] or with every problem at once.

mod agent;
mod bindings;
mod hash;
mod limits;
mod llm;
mod resolve;
mod types;
mod unsupported;

pub(crate) use agent::tool_of;
pub(crate) use llm::provider_of;
pub(crate) use resolve::IDLE_SINK;
pub use resolve::{ProviderInput, ResolveInput, ResolveOptions, Resolved, model_provider, resolve};
pub use types::{
    AgentBlueprint, Blueprint, CommSelections, EndpointBlueprint, Limits, LlmBlueprint, ModelBlueprint,
    ToolBlueprint, ToolImplementation,
};
