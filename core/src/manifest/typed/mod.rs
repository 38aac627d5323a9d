//! Documents as types.

mod agent;
mod infra;
mod team;
mod tool;

pub use agent::{AgentDocument, LoadedAgent, LoadedTool, ModelChoice, SeedText, ToolSource};
pub use infra::{ApplicationDocument, Endpoint, InfraDocument, LlmDocument, MiddlewareDocument, Usage};
pub use team::{FlavourDocument, TeamDocument, TeamNode};
pub use tool::{Implementation, Parameter, ToolDocument};
