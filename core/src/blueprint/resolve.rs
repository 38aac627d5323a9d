//! What was loaded to a blueprint.

use std::collections::HashMap;
use std::path::PathBuf;

use super::agent::AgentResolver;
use super::bindings::check_bindings;
use super::limits::limits_of;
use super::types::{Blueprint, CommSelections, EndpointBlueprint, Limits, LlmBlueprint};
use super::{llm, unsupported};
use crate::config::Defaults;
use crate::diagnostic::{Diagnostic, Report, nearest};
use crate::manifest::{
    Binding, Document, Environment, FlavourDocument, InfraDocument, Loaded, Located, Selection, TeamDocument,
    reading,
};

/// The variable that stands for `--infra-ref standard:mock-llm`.
const MOCK_SWITCH: &str = "MAS_MOCK_LLM";

/// Everything that a blueprint is made from.
#[derive(Clone, Copy, Debug)]
pub struct ResolveInput<'a> {
    /// The agent or team.
    pub loaded: &'a Loaded,
    /// The flavour, if one was chosen.
    pub flavour: Option<&'a FlavourDocument>,
    /// Infra of the workspace's config, which the documents' own overrides.
    pub workspace_infra: &'a [InfraDocument],
    /// Infra of flags, which overrides all other.
    pub flag_infra: &'a [InfraDocument],
    /// Defaults of the config.
    pub defaults: &'a Defaults,
    /// The environment.
    pub environment: &'a Environment,
    /// Flags.
    pub options: &'a ResolveOptions,
}

/// Flags that change a blueprint.
#[derive(Clone, Debug, Default)]
pub struct ResolveOptions {
    /// The model of every agent.
    pub model: Option<Located<String>>,
    /// Limits that differ from the defaults.
    pub limits: Limits,
    /// Addresses of agents, which stand in the infra already: here it is told which of them are of no use.
    pub bindings: Vec<Binding>,
    /// The directory that shown paths are relative to.
    pub base: Option<PathBuf>,
}

/// A blueprint, with what was found but stops nothing.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// The blueprint.
    pub blueprint: Blueprint,
    /// Warnings, sorted.
    pub warnings: Report,
}

/// Where the model provider is looked for.
#[derive(Clone, Copy, Debug)]
pub struct ProviderInput<'a> {
    /// Infra of the workspace's config, which the documents' own overrides.
    pub workspace_infra: &'a [InfraDocument],
    /// Infra of the manifest's own.
    pub own_infra: &'a [InfraDocument],
    /// Infra of flags, which overrides all other.
    pub flag_infra: &'a [InfraDocument],
    /// The flavour, if one was chosen.
    pub flavour: Option<&'a FlavourDocument>,
    /// The environment.
    pub environment: &'a Environment,
}

/// The model provider that the infra yields: the mock one where anything asks for it over the rest, OpenAI where
/// nothing says otherwise.
pub fn model_provider(input: ProviderInput<'_>, report: &mut Report) -> LlmBlueprint {
    match input.mocked() {
        Some(asked) => llm::mock(asked),
        None => llm::merge(&input.infra(), report),
    }
}

impl<'a> ProviderInput<'a> {
    fn infra(&self) -> Vec<&'a InfraDocument> {
        self.workspace_infra.iter().chain(self.own_infra).chain(self.flag_infra).collect()
    }

    /// Who asks for the mock provider over everything the infra says, if anyone does.
    fn mocked(&self) -> Option<&'static str> {
        if self.environment.switch(MOCK_SWITCH).unwrap_or(false) {
            return Some(MOCK_SWITCH);
        }
        if self.flavour.is_some_and(|flavour| flavour.name.value == "mock") {
            return Some("--flavour mock");
        }
        let last = self.flag_infra.iter().rev().find_map(|document| match document {
            InfraDocument::Llm(llm) => Some(llm.provider.value == "mock"),
            _ => None,
        });
        last.unwrap_or(false).then_some("standard:mock-llm")
    }
}

impl<'a> ResolveInput<'a> {
    fn provider(&self) -> ProviderInput<'a> {
        ProviderInput {
            workspace_infra: self.workspace_infra,
            own_infra: &self.loaded.infra,
            flag_infra: self.flag_infra,
            flavour: self.flavour,
            environment: self.environment,
        }
    }

    /// Who asks for the mock provider over everything the infra says, if anyone does.
    pub(super) fn mocked(&self) -> Option<&'static str> {
        self.provider().mocked()
    }
}

/// Resolves what was loaded into a blueprint; pure.
///
/// # Errors
/// Every problem at once, when there is an error among them.
pub fn resolve(input: ResolveInput<'_>) -> Result<Resolved, Report> {
    let mut report = input.loaded.warnings.clone();
    report.extend(input.environment.switch(MOCK_SWITCH).err());
    let infra = input.provider().infra();
    let llm = model_provider(input.provider(), &mut report);
    for document in &infra {
        if let InfraDocument::Middleware(middleware) = document {
            let what = format!("the middleware `{}`", middleware.middleware.shown());
            report.push(unsupported::refuse(&middleware.asked_at, &what));
        }
    }
    if let Some(team) = &input.loaded.team {
        unsupported::check_team(&team.document, &mut report);
    }
    if let Some(flavour) = input.flavour {
        unsupported::check_flavour(flavour, &mut report);
    }
    let mut delegates = delegates_of(input.loaded.team.as_ref());
    let resolver = AgentResolver { input: &input, llm: &llm, infra: &infra };
    let agents = input
        .loaded
        .agents
        .iter()
        .map(|agent| {
            let delegates_to = delegates.remove(agent.id.as_str()).unwrap_or_default();
            resolver.resolve(agent, delegates_to, &mut report)
        })
        .collect();
    let entry = entry_of(input.loaded, &mut report);
    let first = entry.as_ref().map(|entry| entry.value.as_str());
    check_bindings(&input.options.bindings, input.loaded, first, &mut report);
    let name = input.loaded.team.as_ref().map_or_else(|| entry.clone(), |team| Some(team.name.clone()));
    let endpoints = endpoints_of(&infra, input.loaded, &mut report);
    let observability = observability_of(&input, &mut report);
    let report = report.sorted();
    let (Some(entry), Some(name), false) = (entry, name, report.has_errors()) else {
        return Err(report);
    };
    let mut blueprint = Blueprint {
        name,
        intent: input.loaded.team.as_ref().and_then(|team| team.intent.clone()),
        entry,
        agents,
        endpoints,
        agent_comm: CommSelections {
            team: input.loaded.team.as_ref().and_then(|team| team.agent_comm.clone()),
            flavour: input.flavour.and_then(|flavour| flavour.agent_comm.clone()),
            config: input.defaults.agent_comm.clone(),
        },
        llm,
        observability,
        store: input.defaults.store.clone(),
        allow_cycles: input.loaded.team.as_ref().is_some_and(|team| team.allow_cycles),
        limits: limits_of(input.loaded.team.as_ref(), &input.options.limits),
        hash: String::new(),
    };
    blueprint.rehash();
    Ok(Resolved { blueprint, warnings: report })
}

fn delegates_of(team: Option<&TeamDocument>) -> HashMap<&str, Vec<Located<String>>> {
    let mut delegates: HashMap<&str, Vec<Located<String>>> = HashMap::new();
    for node in team.into_iter().flat_map(|team| &team.nodes) {
        delegates.entry(node.id.as_str()).or_default().extend(node.delegates_to.iter().cloned());
    }
    delegates
}

fn entry_of(loaded: &Loaded, report: &mut Report) -> Option<Located<String>> {
    let first = loaded.agents.first().map(|agent| agent.id.clone());
    let Some(team) = &loaded.team else { return first };
    if first.is_none() {
        let message = if team.has_agency {
            "the MAS has no agent, so nothing can run"
        } else {
            "this MAS is a fragment: it names no agents, so it cannot run by itself"
        };
        let help = "list the agents under `spec.agency.agents`";
        report.push(Diagnostic::error("mas::blueprint::fragment", &team.document.at(), message).help(help));
        return None;
    }
    let entry = team.entry.clone().or_else(|| team.nodes.first().map(|node| node.id.clone())).or(first)?;
    let ids = || loaded.agents.iter().map(|agent| agent.id.as_str());
    for node in &team.nodes {
        if !ids().any(|id| id == node.id.value) {
            let message =
                format!("a workflow node names `{}`, which is no agent of this MAS", node.id.shown());
            let help = nearest(&node.id, ids()).map(|id| format!("did you mean `{id}`?"));
            report
                .push(Diagnostic::error("mas::manifest::unknown_agent", &node.id.at, message).help_if(help));
        }
    }
    let problem = match loaded.agents.iter().find(|agent| agent.id == entry) {
        Some(agent) if agent.document.is_some() => return Some(entry),
        Some(_) => format!("the entry agent `{}` has no document, so it cannot run here", entry.shown()),
        None => format!("the entry agent `{}` is no agent of this MAS", entry.shown()),
    };
    let help =
        nearest(&entry, ids().filter(|id| *id != entry.value)).map(|id| format!("did you mean `{id}`?"));
    report.push(Diagnostic::error("mas::manifest::unknown_agent", &entry.at, problem).help_if(help));
    None
}

fn endpoints_of(infra: &[&InfraDocument], loaded: &Loaded, report: &mut Report) -> Vec<EndpointBlueprint> {
    let mut rows: Vec<EndpointBlueprint> = Vec::new();
    let all = infra.iter().filter_map(|document| match document {
        InfraDocument::Application(application) => Some(&application.endpoints),
        _ => None,
    });
    for row in all.flatten() {
        // A later document replaces the whole row of an agent.
        rows.retain(|known| known.agent != row.agent);
        rows.push(EndpointBlueprint::from(row));
    }
    // Rows of other teams may stand in the same file; their variables are not needed here.
    let needed = |row: &&EndpointBlueprint| loaded.agents.iter().any(|agent| agent.id == row.agent);
    for row in rows.iter().filter(needed) {
        let missing = row.missing.iter();
        report.extend(
            missing.map(|variable| {
                crate::manifest::missing_variable(variable, crate::diagnostic::Severity::Error)
            }),
        );
    }
    rows
}

/// The sink of MAS Lab's that a run passes over.
pub(crate) const IDLE_SINK: &str = "otel";

fn observability_of(input: &ResolveInput<'_>, report: &mut Report) -> Vec<Selection> {
    let mut sinks: Vec<Selection> = Vec::new();
    let mut add = |document: &Document| {
        for sink in reading::observers(document.get("spec.observability")) {
            if sink.name.value == IDLE_SINK {
                report.push(unsupported::idle(&sink.name.at, &format!("observability: {IDLE_SINK}")));
            } else if !sinks.contains(&sink) {
                sinks.push(sink);
            }
        }
    };
    input
        .loaded
        .agents
        .iter()
        .filter_map(|agent| agent.document.as_ref())
        .for_each(|agent| add(&agent.document));
    input.flavour.into_iter().for_each(|flavour| add(&flavour.document));
    sinks
}
