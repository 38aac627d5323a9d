//! The shapes of the kinds, one table a topic.

mod agent;
mod config;
mod infra;
mod mas;
mod overlay;
mod rules;
mod runtime;
mod tool;

pub(super) use agent::AGENT;
pub(super) use config::CONFIG;
pub(super) use infra::{APPLICATION, INFRA_BUNDLE, INFRA_MIDDLEWARE, LLM, TOOL_PROVIDER};
pub(super) use mas::{FLAVOUR, MAS};
pub(super) use overlay::OVERLAY;
pub(super) use runtime::{DEPLOYMENT, ENVELOPE, MEMORY_SEED, PLACEMENT_PLAN, RUNTIME_PROFILE};
pub(super) use tool::TOOL;
