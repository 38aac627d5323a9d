//! The kinds of documents, and which `apiVersion` each has.

use super::shape::Shape;
use super::shapes;

/// A kind of document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// An agent.
    Agent,
    /// A team of agents.
    Mas,
    /// A change to apply to an agent or a team.
    Overlay,
    /// A tool.
    Tool,
    /// How a team is deployed.
    Flavour,
    /// A model provider behind an address.
    LlmProxy,
    /// A model provider on this machine.
    LlmLocal,
    /// Infra documents that belong together.
    InfraBundle,
    /// Something put around calls to a provider.
    InfraMiddleware,
    /// Where agents are reached and exposed.
    Application,
    /// Tools by name.
    ToolProvider,
    /// Where agents are placed.
    Deployment,
    /// Agents placed.
    PlacementPlan,
    /// Switches of a runtime.
    RuntimeProfile,
    /// Texts that a memory begins with.
    MemorySeed,
    /// A kind that is known by name only: its envelope is checked, it is not used yet.
    Recognised(&'static str),
    /// A kind of experiments and datasets, which no run reads.
    Lab(&'static str),
}

use Kind::{
    Agent, Application, Deployment, Flavour, InfraBundle, InfraMiddleware, Lab, LlmLocal, LlmProxy, Mas,
    MemorySeed, Overlay, PlacementPlan, Recognised, RuntimeProfile, Tool, ToolProvider,
};

const MAS_V1: &[&str] = &["mas/v1"];
const INFRA_V1: &[&str] = &["infra/v1"];

/// Every spelling of `kind`, the kind, and the `apiVersion`s it goes with (none: any).
const KINDS: &[(&str, Kind, &[&str])] = &[
    ("Agent", Agent, MAS_V1),
    ("MAS", Mas, MAS_V1),
    ("Overlay", Overlay, MAS_V1),
    ("Tool", Tool, MAS_V1),
    ("ToolBundle", Recognised("ToolBundle"), MAS_V1),
    ("PromptBundle", Recognised("PromptBundle"), MAS_V1),
    ("Flavour", Flavour, &["flavour/v1", "mas/v1"]),
    ("LLMProxy", LlmProxy, INFRA_V1),
    ("LLMLocal", LlmLocal, INFRA_V1),
    ("InfraBundle", InfraBundle, INFRA_V1),
    ("InfraMiddleware", InfraMiddleware, INFRA_V1),
    ("InfraInterceptor", InfraMiddleware, INFRA_V1),
    ("Interceptor", InfraMiddleware, INFRA_V1),
    ("Application", Application, INFRA_V1),
    ("ToolProvider", ToolProvider, INFRA_V1),
    ("ToolServerRegistry", Recognised("ToolServerRegistry"), INFRA_V1),
    ("ToolRegistry", Recognised("ToolRegistry"), INFRA_V1),
    ("PersonalSecrets", Recognised("PersonalSecrets"), INFRA_V1),
    ("SecretsProvider", Recognised("SecretsProvider"), INFRA_V1),
    ("Datastore", Recognised("Datastore"), INFRA_V1),
    ("Infrastructure", Recognised("Infrastructure"), INFRA_V1),
    ("RuntimeEngine", Recognised("RuntimeEngine"), INFRA_V1),
    ("Workflow", Recognised("Workflow"), &["workflow/v1"]),
    ("Deployment", Deployment, &["deployment/v1"]),
    ("PlacementPlan", PlacementPlan, &["placement/v1"]),
    ("RuntimeProfile", RuntimeProfile, &["runtime-profile/v1"]),
    ("MemorySeed", MemorySeed, &["memory-seed/v1"]),
    ("Experiment", Lab("Experiment"), &[]),
    ("Dataset", Lab("Dataset"), &[]),
    ("Pipeline", Lab("Pipeline"), &[]),
    ("Lab", Lab("Lab"), &[]),
    ("LabConfig", Lab("LabConfig"), &[]),
    ("Benchmark", Lab("Benchmark"), &[]),
    ("Scenario", Lab("Scenario"), &[]),
    ("Suite", Lab("Suite"), &[]),
];

impl Kind {
    /// The kind written as `name`, compared exactly; lab kinds ignore case.
    pub fn parse(name: &str) -> Option<Self> {
        let lab = |kind: &Kind| matches!(kind, Lab(_));
        KINDS
            .iter()
            .find(|(spelling, kind, _)| {
                *spelling == name || (lab(kind) && spelling.eq_ignore_ascii_case(name))
            })
            .map(|(_, kind, _)| *kind)
    }

    /// Every spelling of `kind`.
    pub fn names() -> impl Iterator<Item = &'static str> {
        KINDS.iter().map(|(name, _, _)| *name)
    }

    /// Every kind that a run may read, once, in the order of [`Kind::names`]; lab kinds are none of them.
    pub fn all() -> impl Iterator<Item = Self> {
        let mut seen = Vec::new();
        let kinds = KINDS.iter().map(|(_, kind, _)| *kind).filter(|kind| !matches!(kind, Lab(_)));
        kinds.filter(move |kind| {
            let new = !seen.contains(kind);
            seen.push(*kind);
            new
        })
    }

    /// Every spelling of this kind.
    pub fn spellings(self) -> impl Iterator<Item = &'static str> {
        KINDS.iter().filter(move |(_, kind, _)| *kind == self).map(|(name, _, _)| *name)
    }

    /// Spellings of lab kinds, which any document of experiments has, in any case.
    pub(crate) fn lab_names() -> impl Iterator<Item = &'static str> {
        KINDS.iter().filter(|(_, kind, _)| matches!(kind, Lab(_))).map(|(name, _, _)| *name)
    }

    /// The name as documents write it.
    pub fn name(self) -> &'static str {
        match self {
            Recognised(name) | Lab(name) => name,
            _ => KINDS.iter().find(|(_, kind, _)| *kind == self).map_or("", |(name, _, _)| name),
        }
    }

    /// The `apiVersion`s it goes with; empty when any will do.
    pub fn api_versions(self) -> &'static [&'static str] {
        KINDS.iter().find(|(_, kind, _)| *kind == self).map_or(&[], |(_, _, versions)| versions)
    }

    /// Every known `apiVersion`.
    pub(crate) fn all_api_versions() -> impl Iterator<Item = &'static str> {
        let mut seen = Vec::new();
        KINDS.iter().flat_map(|(_, _, versions)| versions.iter().copied()).filter(move |version| {
            let new = !seen.contains(version);
            seen.push(*version);
            new
        })
    }

    /// Whether it is an infra document, which `infra_refs` may name.
    pub fn is_infra(self) -> bool {
        self.api_versions() == INFRA_V1
    }

    pub(crate) fn shape(self) -> &'static Shape {
        match self {
            Agent => &shapes::AGENT,
            Mas => &shapes::MAS,
            Overlay => &shapes::OVERLAY,
            Tool => &shapes::TOOL,
            Flavour => &shapes::FLAVOUR,
            LlmProxy | LlmLocal => &shapes::LLM,
            InfraBundle => &shapes::INFRA_BUNDLE,
            InfraMiddleware => &shapes::INFRA_MIDDLEWARE,
            Application => &shapes::APPLICATION,
            ToolProvider => &shapes::TOOL_PROVIDER,
            Deployment => &shapes::DEPLOYMENT,
            PlacementPlan => &shapes::PLACEMENT_PLAN,
            RuntimeProfile => &shapes::RUNTIME_PROFILE,
            MemorySeed => &shapes::MEMORY_SEED,
            Recognised(_) => &shapes::ENVELOPE,
            Lab(_) => &Shape::Any,
        }
    }
}
