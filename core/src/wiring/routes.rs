//! The route builder: every `delegates_to` finds its peer, or says why not.

use std::{collections::HashSet, fmt};

use crate::{
    blueprint::{AgentBlueprint, Blueprint, EndpointBlueprint},
    diagnostic::{Diagnostic, Report, nearest, one_of},
    manifest::{Located, Params, Usage, check_graph},
    registry::{Choices, Registry, Source, select_agent_comm},
};
use mas_contracts::Category;

use super::{exposures::PlannedExposure, layers::Layers};

/// A route that is found.
#[derive(Clone, Debug)]
pub struct PlannedRoute<'a> {
    /// Who delegates.
    pub from: &'a str,
    /// To whom, as `delegates_to` names it.
    pub to: &'a Located<String>,
    /// The backend, by the name it is registered under.
    pub comm: String,
    /// The layer that chose the backend.
    pub source: Source,
    /// The endpoint that it goes over; none in this process.
    pub endpoint: Option<&'a EndpointBlueprint>,
    /// The backend's parameters.
    pub params: Params,
    /// What is around each send over the endpoint.
    pub layers: Layers,
    /// Why this way.
    pub why: Why,
}

/// Why a route goes the way it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The agent runs in this process, and no endpoint says otherwise.
    Hosted,
    /// The agent runs in this process and has an endpoint, but it is the entry agent.
    Entry,
    /// The agent runs in this process, which exposes it itself.
    ExposedHere,
    /// An endpoint provides it.
    Endpoint,
    /// An endpoint provides it, and wins over the agent of this process.
    EndpointWins,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Hosted => "hosted in this process",
            Self::Entry => "the entry agent is always in process",
            Self::ExposedHere => "this process exposes it itself",
            Self::Endpoint => "its endpoint",
            Self::EndpointWins => "its endpoint wins over the local agent",
        })
    }
}

/// Finds a route for every `delegates_to`. Every problem goes into the report.
pub fn plan_routes<'a>(
    blueprint: &'a Blueprint,
    registry: &Registry,
    exposures: &[PlannedExposure<'_>],
    report: &mut Report,
) -> Vec<PlannedRoute<'a>> {
    let agents = &blueprint.agents;
    check_graph(
        agents.iter().map(|agent| (agent.id.value.as_str(), agent.delegates_to.as_slice())),
        blueprint.allow_cycles,
        report,
    );
    let exposed: HashSet<&str> =
        exposures.iter().map(|exposure| exposure.endpoint.agent.value.as_str()).collect();
    let builder = RouteBuilder { blueprint, registry, exposed };
    let mut routes = Vec::new();
    for agent in agents {
        for target in agent.delegates_to.iter().filter(|target| target.value != agent.id.value) {
            match builder.route(agent, target) {
                Ok(route) => routes.push(route),
                Err(problem) => report.push(*problem),
            }
        }
    }
    routes
}

struct RouteBuilder<'a, 'b> {
    blueprint: &'a Blueprint,
    registry: &'b Registry,
    exposed: HashSet<&'b str>,
}

impl<'a> RouteBuilder<'a, '_> {
    fn route(
        &self,
        from: &'a AgentBlueprint,
        to: &'a Located<String>,
    ) -> Result<PlannedRoute<'a>, Box<Diagnostic>> {
        let id = to.value.as_str();
        let hosted = self.blueprint.agent(id).filter(|agent| !agent.external);
        let endpoints = || self.blueprint.endpoints.iter().filter(|endpoint| endpoint.agent.value == id);
        let usable =
            endpoints().find(|endpoint| matches!(endpoint.usage.value, Usage::Use | Usage::UseAndDeploy));
        match (hosted, usable) {
            (Some(_), None) => self.local(from, to, Why::Hosted),
            (Some(_), Some(_)) if id == self.blueprint.entry.value => self.local(from, to, Why::Entry),
            (Some(_), Some(_)) if self.exposed.contains(id) => self.local(from, to, Why::ExposedHere),
            (hosted, Some(endpoint)) => {
                let why = if hosted.is_some() { Why::EndpointWins } else { Why::Endpoint };
                self.remote(from, to, endpoint, why)
            }
            (None, None) => Err(Box::new(self.missing(from, to, endpoints().next()))),
        }
    }

    fn local(
        &self,
        from: &'a AgentBlueprint,
        to: &'a Located<String>,
        why: Why,
    ) -> Result<PlannedRoute<'a>, Box<Diagnostic>> {
        let comm = &self.blueprint.agent_comm;
        let name = |choice: &'a Option<crate::manifest::Selection>| {
            choice.as_ref().map(|choice| choice.name.as_str())
        };
        let choices = Choices {
            endpoint: None,
            spec: name(&comm.team),
            flavour: name(&comm.flavour),
            defaults: name(&comm.config),
        };
        let default = self.registry.default_name(Category::AgentComm).unwrap_or("local");
        let selected = select_agent_comm(&choices, default);
        let chosen = match selected.source {
            Source::Spec => comm.team.as_ref(),
            Source::Flavour => comm.flavour.as_ref(),
            Source::Defaults => comm.config.as_ref(),
            Source::Endpoint | Source::Registry => None,
        };
        let at = chosen.map_or(&to.at, |chosen| &chosen.name.at);
        let comm = self.find(selected.name, at)?;
        let params = chosen.map_or_else(|| Params::none(to.at.clone()), |chosen| chosen.params.clone());
        Ok(PlannedRoute {
            from: &from.id.value,
            to,
            comm,
            source: selected.source,
            endpoint: None,
            params,
            layers: Layers::default(),
            why,
        })
    }

    fn remote(
        &self,
        from: &'a AgentBlueprint,
        to: &'a Located<String>,
        endpoint: &'a EndpointBlueprint,
        why: Why,
    ) -> Result<PlannedRoute<'a>, Box<Diagnostic>> {
        let comm = self.find(&endpoint.protocol.value, &endpoint.protocol.at)?;
        if let Some(missing) = endpoint.missing.first() {
            let message = format!(
                "the endpoint of `{}` needs the variable `{}`, which is not set",
                to.value, missing.name
            );
            return Err(Box::new(
                Diagnostic::error("mas::env::missing", &missing.at, message)
                    .label(&to.at, format!("`{}` delegates to it here", from.id.value)),
            ));
        }
        Ok(PlannedRoute {
            from: &from.id.value,
            to,
            comm,
            source: Source::Endpoint,
            endpoint: Some(endpoint),
            params: endpoint.params.clone(),
            layers: Layers::read(endpoint.layers.as_ref()).0,
            why,
        })
    }

    fn find(&self, name: &str, at: &crate::diagnostic::Location) -> Result<String, Box<Diagnostic>> {
        self.registry.find(Category::AgentComm, name).map(|descriptor| descriptor.name.to_string()).map_err(
            |error| {
                Box::new(
                    Diagnostic::error("mas::registry::unknown_name", at, error.to_string())
                        .help_if(error.help()),
                )
            },
        )
    }

    fn missing(
        &self,
        from: &AgentBlueprint,
        to: &Located<String>,
        endpoint: Option<&EndpointBlueprint>,
    ) -> Diagnostic {
        let (agent, id) = (&from.id.value, &to.value);
        if let Some(endpoint) = endpoint {
            let message = format!("agent `{agent}` delegates to `{id}`, whose endpoint only deploys");
            return Diagnostic::error("mas::route::deploy_only", &to.at, message)
                .says("cannot be reached")
                .label(&endpoint.usage.at, "deploys an agent, offers no way to it")
                .help("say `usage: use` or `usage: use-and-deploy` in the endpoint");
        }
        if let Some(external) = self.blueprint.agent(id) {
            let message =
                format!("agent `{agent}` delegates to `{id}`, which runs elsewhere and has no endpoint");
            return Diagnostic::error("mas::route::unreachable", &to.at, message)
                .says("cannot be reached")
                .label(&external.at, "no `ref`: it runs elsewhere")
                .help(format!(
                    "give it an endpoint `{id}` with `usage: use` in an infra Application, or a `ref`"
                ));
        }
        let known = || {
            let agents = self.blueprint.agents.iter().map(|agent| agent.id.value.as_str());
            agents.chain(self.blueprint.endpoints.iter().map(|endpoint| endpoint.agent.value.as_str()))
        };
        let help = nearest(id, known()).map(|near| format!("did you mean `{near}`?")).unwrap_or_else(|| {
            let mut names: Vec<&str> = known().collect();
            names.sort_unstable();
            names.dedup();
            format!("known: {}; declare it in the agency or as an endpoint", one_of(names))
        });
        Diagnostic::error(
            "mas::route::unknown_target",
            &to.at,
            format!("agent `{agent}` delegates to `{id}`, which nothing provides"),
        )
        .says("not a local agent and not an endpoint with `usage: use`")
        .help(help)
    }
}
