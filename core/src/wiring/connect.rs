//! Backends built, tools listed, agents enlisted.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use mas_contracts::{
    AgentCommContract, BuildContext, Category, Clock, Env, Error, Ids, ModelContract, ObservabilityContract,
    Peer, PeerCard, Result, Shared, StoreContract, TreeLimits,
};
use serde_json::Value;

use super::{
    layers::{self, Layers},
    routes::PlannedRoute,
    wire::{PlannedAgent, PlannedTool, Wiring, route_params},
};
use crate::{
    blueprint::{Blueprint, Limits},
    diagnostic::{Diagnostic, Location, Report, Severity},
    registry::Registry,
    team::{Team, TeamLimits, TeamParts},
    turn::{Agent, OnQuestion, Route, Tool, Toolbox, TurnLimits},
};

/// What a team is connected with.
pub struct Connection<'a> {
    /// Where implementations are found.
    pub registry: &'a Registry,
    /// The environment.
    pub env: Env,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// Where ids come from.
    pub ids: Arc<dyn Ids>,
    /// Where sessions are kept beyond the process, if anywhere.
    pub store: Option<Arc<dyn StoreContract>>,
    /// Receivers of events beside those that the manifests name.
    pub observers: Vec<Arc<dyn ObservabilityContract>>,
    /// The folder that paths of flags are relative to.
    pub base: &'a Path,
}

/// Connects a wired team: builds its backends, lists its tools, enlists its agents. What only observes and
/// cannot be set up is a warning: it never keeps a team from its work.
///
/// # Errors
/// Every problem at once, each at its place in the YAML.
pub async fn connect(
    wiring: &Wiring<'_>,
    with: Connection<'_>,
) -> std::result::Result<(Arc<Team>, Report), Report> {
    let mut report = Report::new();
    let blueprint = wiring.blueprint;
    let place = blueprint.entry.at.clone();
    let mut observers = with.observers;
    let base = with.base.to_path_buf();
    let outside = BuildContext {
        host: std::sync::Weak::<Team>::new(),
        env: with.env.clone(),
        clock: with.clock.clone(),
        ids: with.ids.clone(),
        base,
        shared: Shared::default(),
    };
    for planned in &wiring.observers {
        match with.registry.build_observability(&planned.name, &outside, &planned.params) {
            Ok(observer) => observers.push(observer),
            Err(error) => {
                let what = format!("observability `{}`", planned.name);
                report.push(failed(&planned.at, &what, &error).severity(Severity::Warning));
            }
        }
    }
    let team = Team::new(TeamParts {
        limits: team_limits(&blueprint.limits),
        clock: with.clock.clone(),
        ids: with.ids.clone(),
        observers,
        store: with.store,
        blueprint: blueprint.hash.as_str().into(),
    });
    let build = BuildContext { host: team.host(), ..outside };
    let mut assembly = Assembly {
        blueprint,
        registry: with.registry,
        build,
        models: Vec::new(),
        comms: Vec::new(),
        layered: HashMap::new(),
    };
    let mut agents = Vec::new();
    for planned in &wiring.agents {
        let routes: Vec<_> =
            wiring.routes.iter().filter(|route| route.from == planned.blueprint.id.value).collect();
        agents.extend(assembly.agent(planned, &routes, &mut report).await);
    }
    if report.has_errors() {
        return Err(report.sorted());
    }
    // The entry agent first: the team takes its first for it.
    agents.sort_by_key(|agent| *agent.profile.id != *blueprint.entry.value);
    match team.enlist(agents) {
        Ok(()) => Ok((team, report.sorted())),
        Err(error) => {
            report.push(failed(&place, "the team", &error));
            Err(report)
        }
    }
}

struct Assembly<'a> {
    blueprint: &'a Blueprint,
    registry: &'a Registry,
    build: BuildContext,
    models: Vec<(super::models::PlannedModel, Arc<dyn ModelContract>)>,
    comms: Vec<Comm>,
    /// The backends with layers around them, by the agent whose endpoint has them.
    layered: HashMap<String, Arc<dyn AgentCommContract>>,
}

/// A backend that is built, and what it was built from.
struct Comm {
    name: String,
    params: Value,
    base: PathBuf,
    built: Arc<dyn AgentCommContract>,
}

/// What the backend of a route is built with: paths of an endpoint are relative to its file.
pub(super) fn comm_context(route: &PlannedRoute<'_>, build: &BuildContext) -> BuildContext {
    match route.endpoint {
        Some(endpoint) if !endpoint.dir.as_os_str().is_empty() => {
            BuildContext { base: endpoint.dir.clone(), ..build.clone() }
        }
        _ => build.clone(),
    }
}

impl Assembly<'_> {
    async fn agent(
        &mut self,
        planned: &PlannedAgent<'_>,
        routes: &[&PlannedRoute<'_>],
        report: &mut Report,
    ) -> Option<Agent> {
        let blueprint = planned.blueprint;
        let at = &blueprint.at;
        let mut keep = |what: &str, error: &Error| report.push(failed(at, what, error));
        let model = self.model(planned).map_err(|error| keep("the model provider", &error)).ok();
        let pattern = &planned.pattern;
        let pattern = self
            .registry
            .build_pattern(&pattern.name, &self.build, &pattern.params)
            .map_err(|error| keep("the design pattern", &error))
            .ok();
        let context = &planned.context;
        let context = self
            .registry
            .build_context_manager(&context.name, &self.build, &context.params)
            .map_err(|error| keep("the context manager", &error))
            .ok();
        let mut by_id = HashMap::new();
        for route in routes {
            match self.way(route) {
                Ok(comm) => {
                    let id: Arc<str> = route.to.value.as_str().into();
                    let peer = Peer { id: id.clone() };
                    by_id.insert(id, Route { name: route.comm.as_str().into(), comm, peer });
                }
                Err(error) => {
                    report.push(failed(&route.to.at, &format!("the way to `{}`", route.to.value), &error));
                }
            }
        }
        let mut tools = Vec::new();
        for tool in &planned.tools {
            match self.tools(tool).await {
                Ok(listed) => tools.extend(listed),
                Err(error) => {
                    let what = format!("the tool `{}`", tool.blueprint.name.value);
                    report.push(failed(&tool.blueprint.at, &what, &error));
                }
            }
        }
        let toolbox = self
            .surface(routes)
            .and_then(|surface| Toolbox::new(Some(surface), tools))
            .map_err(|error| report.push(failed(at, "the tools", &error)))
            .ok();
        Some(Agent {
            profile: blueprint.profile(),
            system: blueprint.system_prompt.value.as_str().into(),
            model_name: blueprint.model.id.value.as_str().into(),
            temperature: Some(blueprint.model.temperature),
            max_tokens: Some(u64::from(blueprint.model.max_tokens)),
            model: model?,
            pattern: pattern?,
            context: context?,
            toolbox: toolbox?,
            routes: by_id,
            limits: turn_limits(&self.blueprint.limits),
        })
    }

    /// One provider serves every agent that asks for the same.
    fn model(&mut self, planned: &PlannedAgent<'_>) -> Result<Arc<dyn ModelContract>> {
        let Some(wanted) = &planned.model else { return Ok(Arc::new(NoModel)) };
        if let Some((_, model)) = self.models.iter().find(|(known, _)| known == wanted) {
            return Ok(model.clone());
        }
        let build = BuildContext { base: self.blueprint.llm.dir.clone(), ..self.build.clone() };
        let model = self.registry.build_model(&wanted.provider, &build, &wanted.params)?;
        self.models.push((wanted.clone(), model.clone()));
        Ok(model)
    }

    /// The backend of a route, in its layers. Layers count what all agents send over an endpoint, so they are one
    /// for each endpoint.
    fn way(&mut self, route: &PlannedRoute<'_>) -> Result<Arc<dyn AgentCommContract>> {
        let comm = self.comm(route)?;
        if route.layers == Layers::default() {
            return Ok(comm);
        }
        let known = self.layered.entry(route.to.value.clone());
        Ok(known.or_insert_with(|| layers::wrap(&route.layers, comm)).clone())
    }

    /// One backend serves every route of the same parameters.
    fn comm(&mut self, route: &PlannedRoute<'_>) -> Result<Arc<dyn AgentCommContract>> {
        let params = route_params(route);
        let build = comm_context(route, &self.build);
        let same =
            |known: &&Comm| known.name == route.comm && known.params == params && known.base == build.base;
        if let Some(known) = self.comms.iter().find(same) {
            return Ok(known.built.clone());
        }
        let built = self.registry.build_agent_comm(&route.comm, &build, &params)?;
        self.comms.push(Comm { name: route.comm.clone(), params, base: build.base, built: built.clone() });
        Ok(built)
    }

    async fn tools(&self, planned: &PlannedTool<'_>) -> Result<Vec<Tool>> {
        let build = BuildContext { base: planned.blueprint.implementation.dir.clone(), ..self.build.clone() };
        let source = self.registry.build_tool(&planned.source.name, &build, &planned.source.params)?;
        let specs = source.list().await?;
        specs.into_iter().map(|spec| Tool::new(spec, source.clone())).collect()
    }

    fn surface(&self, routes: &[&PlannedRoute<'_>]) -> Result<Arc<dyn mas_contracts::Surface>> {
        let name = self.registry.default_name(Category::Delegation).unwrap_or("delegate_tools");
        let delegation = self.registry.build_delegation(name, &self.build, &Value::Null)?;
        let peers: Vec<PeerCard> = routes
            .iter()
            .map(|route| {
                let id: Arc<str> = route.to.value.as_str().into();
                let described = self.blueprint.agent(&id).filter(|agent| !agent.external);
                PeerCard {
                    id,
                    description: described.map_or("", |agent| agent.description.value.as_str()).into(),
                }
            })
            .collect();
        delegation.bind(&peers).map_err(|problems| {
            let list: Vec<String> = problems.into_iter().map(|problem| problem.message).collect();
            Error::invalid(list.join("; ")).with_code("mas::delegation::names")
        })
    }
}

pub(crate) fn failed(at: &Location, what: &str, error: &Error) -> Diagnostic {
    Diagnostic::error("mas::connect::failed", at, format!("{what} cannot be set up: {error:#}"))
}

fn team_limits(limits: &Limits) -> TeamLimits {
    let standard = TeamLimits::default();
    TeamLimits {
        tree: TreeLimits {
            model_calls: limits.model_calls.unwrap_or(standard.tree.model_calls),
            tokens: limits.tokens.unwrap_or(standard.tree.tokens),
            depth: limits.depth.unwrap_or(standard.tree.depth),
        },
        run: limits.run_seconds.map_or(standard.run, Duration::from_secs),
        ..standard
    }
}

fn turn_limits(limits: &Limits) -> TurnLimits {
    let standard = TurnLimits::default();
    TurnLimits {
        calls_at_once: limits.calls_at_once.unwrap_or(standard.calls_at_once),
        delegations_per_answer: limits.delegations_per_answer.unwrap_or(standard.delegations_per_answer),
        delegation: limits.delegation_seconds.map_or(standard.delegation, Duration::from_secs),
        on_question: match limits.question_to_model {
            Some(true) => OnQuestion::Model,
            Some(false) | None => standard.on_question,
        },
    }
}

/// Stands where a pattern never asks for a model.
struct NoModel;

#[async_trait::async_trait]
impl ModelContract for NoModel {
    async fn chat(
        &self,
        cx: &mas_contracts::CallContext,
        _request: mas_contracts::ChatRequest<'_>,
    ) -> Result<mas_contracts::Completion> {
        Err(Error::internal(format!("agent `{}` has no model", cx.scope().agent)))
    }
}
