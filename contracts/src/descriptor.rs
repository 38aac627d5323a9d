//! Descriptors: how an implementation is found by name, listed, documented and built.

use std::{borrow::Cow, fmt, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    AgentCommContract, AgentExposeContract, BuildContext, ContextManagerContract, ControlContract,
    DelegationContract, ModelContract, ObservabilityContract, PatternContract, Problem, Result,
    StoreContract, ToolContract,
};

/// What an implementation is an implementation of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    /// [`DelegationContract`].
    Delegation,
    /// [`AgentCommContract`].
    AgentComm,
    /// [`AgentExposeContract`].
    AgentExpose,
    /// [`PatternContract`].
    DesignPattern,
    /// [`ModelContract`].
    LlmProvider,
    /// [`ToolContract`].
    ToolProvider,
    /// [`ContextManagerContract`].
    ContextManager,
    /// [`StoreContract`].
    Store,
    /// [`ObservabilityContract`].
    Observability,
    /// [`ControlContract`].
    ControlProtocol,
}

impl Category {
    /// Every category, in the order of listings.
    pub const ALL: [Self; 10] = [
        Self::Delegation,
        Self::AgentComm,
        Self::AgentExpose,
        Self::DesignPattern,
        Self::LlmProvider,
        Self::ToolProvider,
        Self::ContextManager,
        Self::Store,
        Self::Observability,
        Self::ControlProtocol,
    ];

    /// The name used in manifests, listings and errors.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Delegation => "delegation",
            Self::AgentComm => "agent_comm",
            Self::AgentExpose => "agent_expose",
            Self::DesignPattern => "design_pattern",
            Self::LlmProvider => "llm_provider",
            Self::ToolProvider => "tool_provider",
            Self::ContextManager => "context_manager",
            Self::Store => "store",
            Self::Observability => "observability",
            Self::ControlProtocol => "control_protocol",
        }
    }
}

impl fmt::Display for Category {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A builder of a loaded library.
pub type LoadedBuild<T> = dyn Fn(&BuildContext, &Value) -> Result<Arc<T>> + Send + Sync;

/// Builds an implementation from its parameters.
pub enum Build<T: ?Sized> {
    /// Linked into the program.
    Linked(fn(&BuildContext, &Value) -> Result<Arc<T>>),
    /// Loaded at run time.
    Loaded(Arc<LoadedBuild<T>>),
}

impl<T: ?Sized> Build<T> {
    /// Builds it.
    ///
    /// # Errors
    /// Whatever the implementation reports.
    pub fn build(&self, cx: &BuildContext, params: &Value) -> Result<Arc<T>> {
        match self {
            Self::Linked(build) => build(cx, params),
            Self::Loaded(build) => build(cx, params),
        }
    }
}

impl<T: ?Sized> Clone for Build<T> {
    fn clone(&self) -> Self {
        match self {
            Self::Linked(build) => Self::Linked(*build),
            Self::Loaded(build) => Self::Loaded(build.clone()),
        }
    }
}

/// The builder of each category.
#[derive(Clone)]
pub enum Builder {
    /// [`Category::Delegation`].
    Delegation(Build<dyn DelegationContract>),
    /// [`Category::AgentComm`].
    AgentComm(Build<dyn AgentCommContract>),
    /// [`Category::AgentExpose`].
    AgentExpose(Build<dyn AgentExposeContract>),
    /// [`Category::DesignPattern`].
    Pattern(Build<dyn PatternContract>),
    /// [`Category::LlmProvider`].
    Model(Build<dyn ModelContract>),
    /// [`Category::ToolProvider`].
    Tool(Build<dyn ToolContract>),
    /// [`Category::ContextManager`].
    ContextManager(Build<dyn ContextManagerContract>),
    /// [`Category::Store`].
    Store(Build<dyn StoreContract>),
    /// [`Category::Observability`].
    Observability(Build<dyn ObservabilityContract>),
    /// [`Category::ControlProtocol`].
    Control(Build<dyn ControlContract>),
}

impl Builder {
    /// The category that it builds for.
    #[must_use]
    pub fn category(&self) -> Category {
        match self {
            Self::Delegation(_) => Category::Delegation,
            Self::AgentComm(_) => Category::AgentComm,
            Self::AgentExpose(_) => Category::AgentExpose,
            Self::Pattern(_) => Category::DesignPattern,
            Self::Model(_) => Category::LlmProvider,
            Self::Tool(_) => Category::ToolProvider,
            Self::ContextManager(_) => Category::ContextManager,
            Self::Store(_) => Category::Store,
            Self::Observability(_) => Category::Observability,
            Self::Control(_) => Category::ControlProtocol,
        }
    }
}

/// An implementation: names, documentation, parameter check and builder.
///
/// A built-in submits one with `inventory::submit!`; a loaded library yields the same type.
#[derive(Clone)]
pub struct Descriptor {
    /// The name by which manifests select it.
    pub name: Cow<'static, str>,
    /// Other names of the same thing.
    pub aliases: Cow<'static, [&'static str]>,
    /// Where it comes from: the crate, or the path of the library.
    pub origin: Cow<'static, str>,
    /// Its version.
    pub version: Cow<'static, str>,
    /// One sentence.
    pub summary: Cow<'static, str>,
    /// A short example of its parameters, in YAML.
    pub example: Cow<'static, str>,
    /// The JSON schema of its parameters.
    pub schema: fn() -> Value,
    /// Checks parameters without touching anything outside them.
    pub check: fn(&Value) -> Vec<Problem>,
    /// Builds it.
    pub builder: Builder,
}

impl fmt::Debug for Descriptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} from {}", self.builder.category(), self.name, self.origin)
    }
}

inventory::collect!(Descriptor);
