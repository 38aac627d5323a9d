//! Everything found and checked, nothing built yet.

use mas_contracts::{Category, Descriptor, Problem};
use serde_json::{Map, Value, json};

use super::{
    exposures::{Hosting, PlannedExposure, plan_exposures},
    layers::Layers,
    models::{PlannedModel, check_key, plan_model},
    routes::{PlannedRoute, plan_routes},
};
use crate::{
    blueprint::{AgentBlueprint, Blueprint, EndpointBlueprint, ToolBlueprint},
    diagnostic::{Diagnostic, Location, Report, nearest},
    manifest::{Environment, Located, Params, Selection},
    registry::Registry,
};

/// A team whose every name is found and every parameter checked.
#[derive(Debug)]
pub struct Wiring<'a> {
    /// What is wired.
    pub blueprint: &'a Blueprint,
    /// Who reaches whom.
    pub routes: Vec<PlannedRoute<'a>>,
    /// What listens.
    pub exposures: Vec<PlannedExposure<'a>>,
    /// Where the tasks of what listens are kept.
    pub(crate) store: Option<Planned>,
    pub(super) agents: Vec<PlannedAgent<'a>>,
    pub(super) observers: Vec<Planned>,
}

/// An agent of this process.
#[derive(Debug)]
pub(super) struct PlannedAgent<'a> {
    pub(super) blueprint: &'a AgentBlueprint,
    pub(super) model: Option<PlannedModel>,
    pub(super) pattern: Planned,
    pub(super) context: Planned,
    pub(super) tools: Vec<PlannedTool<'a>>,
}

/// A plugin that is found, with its parameters.
#[derive(Clone, Debug)]
pub(crate) struct Planned {
    pub(crate) name: String,
    pub(crate) params: Value,
    pub(crate) at: Location,
}

#[derive(Debug)]
pub(super) struct PlannedTool<'a> {
    pub(super) blueprint: &'a ToolBlueprint,
    pub(super) source: Planned,
}

/// Wires a blueprint: finds every name and checks every parameter. Pure.
///
/// # Errors
/// Every problem at once.
pub fn wire<'a>(
    blueprint: &'a Blueprint,
    registry: &Registry,
    environment: &Environment,
    hosting: Hosting<'_>,
) -> Result<Wiring<'a>, Report> {
    let mut report = Report::new();
    let exposures = plan_exposures(blueprint, hosting);
    for exposure in &exposures {
        refuse_idle_layers(exposure.endpoint, &mut report);
        let protocol = &exposure.endpoint.protocol;
        let found = find(registry, Category::AgentExpose, protocol, &mut report);
        let hosted = blueprint.agent(&exposure.endpoint.agent.value).map(|agent| exposure.hosted(agent));
        if let (Some(found), Some(hosted)) = (found, hosted) {
            let problems = (found.check)(&hosted.params).into_iter();
            report.extend(problems.map(|problem| refused_row(exposure.endpoint, problem)));
        }
    }
    let store = match &blueprint.store {
        _ if exposures.is_empty() => None,
        Some(store) => plan(registry, Category::Store, store, &mut report),
        None => {
            let store = Selection::named(registry.default_name(Category::Store).unwrap_or("memory"));
            plan(registry, Category::Store, &store, &mut report)
        }
    };
    let routes = checked_routes(blueprint, registry, &exposures, &mut report);
    let needs_key = |agent: &AgentBlueprint| {
        let own = agent.model.provider.as_ref().is_some_and(|own| own.value != blueprint.llm.provider.value);
        !agent.external && !asks_no_model(registry, agent) && !own
    };
    let has_key =
        !blueprint.agents.iter().any(needs_key) || check_key(&blueprint.llm, environment, &mut report);
    let agents = blueprint
        .agents
        .iter()
        .filter(|agent| !agent.external)
        .filter_map(|agent| plan_agent(blueprint, agent, registry, has_key, &mut report))
        .collect();
    let observers = blueprint
        .observability
        .iter()
        .filter_map(|choice| plan(registry, Category::Observability, choice, &mut report))
        .collect();
    report.into_result(Wiring { blueprint, routes, exposures, store, agents, observers })
}

/// The routes of a blueprint in a process that hosts this much, with every problem of theirs. Pure.
pub fn check_routes<'a>(
    blueprint: &'a Blueprint,
    registry: &Registry,
    hosting: Hosting<'_>,
    report: &mut Report,
) -> Vec<PlannedRoute<'a>> {
    checked_routes(blueprint, registry, &plan_exposures(blueprint, hosting), report)
}

fn checked_routes<'a>(
    blueprint: &'a Blueprint,
    registry: &Registry,
    exposures: &[PlannedExposure<'_>],
    report: &mut Report,
) -> Vec<PlannedRoute<'a>> {
    let routes = plan_routes(blueprint, registry, exposures, report);
    for route in &routes {
        let Ok(descriptor) = registry.find(Category::AgentComm, &route.comm) else { continue };
        match route.endpoint {
            Some(endpoint) => {
                let problems = (descriptor.check)(&route_params(route)).into_iter();
                report.extend(problems.map(|problem| unusable_row(endpoint, problem)));
                check_layers(endpoint, report);
            }
            None => check_params(descriptor, &route_params(route), &route.params, report),
        }
    }
    routes
}

fn plan_agent<'a>(
    blueprint: &Blueprint,
    agent: &'a AgentBlueprint,
    registry: &Registry,
    has_key: bool,
    report: &mut Report,
) -> Option<PlannedAgent<'a>> {
    // Without its key the provider is told of once already.
    let model = if asks_no_model(registry, agent) || !has_key {
        None
    } else {
        Some(plan_model(blueprint, agent, registry, report))
    };
    let pattern = plan(registry, Category::DesignPattern, &agent.pattern, report);
    let context = plan(registry, Category::ContextManager, &agent.context_manager, report);
    let tools = agent.tools.iter().filter_map(|tool| plan_tool(tool, registry, report)).collect();
    Some(PlannedAgent {
        blueprint: agent,
        model: match model {
            None => None,
            Some(planned) => Some(planned?),
        },
        pattern: pattern?,
        context: context?,
        tools,
    })
}

/// Whether the pattern is one that never calls a model, so that none need be there.
fn asks_no_model(registry: &Registry, agent: &AgentBlueprint) -> bool {
    let pattern = registry.find(Category::DesignPattern, &agent.pattern.name.value);
    pattern.is_ok_and(|pattern| pattern.name == "scripted_response")
}

fn plan(registry: &Registry, category: Category, choice: &Selection, report: &mut Report) -> Option<Planned> {
    let descriptor = find(registry, category, &choice.name, report)?;
    check_params(descriptor, choice.params.value(), &choice.params, report);
    Some(Planned {
        name: descriptor.name.to_string(),
        params: choice.params.value().clone(),
        at: choice.name.at.clone(),
    })
}

fn plan_tool<'a>(
    tool: &'a ToolBlueprint,
    registry: &Registry,
    report: &mut Report,
) -> Option<PlannedTool<'a>> {
    let implementation = &tool.implementation;
    let kind = &implementation.kind;
    let descriptor = find(registry, Category::ToolProvider, kind, report)?;
    let params = tool_params(tool);
    check_params(descriptor, &params, &implementation.params, report);
    Some(PlannedTool {
        blueprint: tool,
        source: Planned { name: descriptor.name.to_string(), params, at: kind.at.clone() },
    })
}

/// The parameters that a tool provider is given for a tool.
pub(super) fn tool_params(tool: &ToolBlueprint) -> Value {
    let implementation = &tool.implementation;
    let mut params = Map::new();
    if let Some(name) = &implementation.name {
        params.insert("name".to_owned(), Value::from(name.value.as_str()));
    }
    if let Some(module) = &implementation.module_path {
        params.insert("module_path".to_owned(), Value::from(module.value.as_str()));
    }
    if let Some(class) = &implementation.class_name {
        params.insert("class_name".to_owned(), Value::from(class.as_str()));
    }
    if let Some(description) = &tool.description {
        params.insert("spec".to_owned(), tool_spec(tool, description));
    }
    if !implementation.params.is_empty() {
        params.insert("params".to_owned(), implementation.params.value().clone());
    }
    Value::Object(params)
}

/// What a document says of its tool. What it leaves out, the tool may know itself.
fn tool_spec(tool: &ToolBlueprint, description: &str) -> Value {
    let mut spec = Map::new();
    spec.insert("name".to_owned(), Value::from(tool.name.value.as_str()));
    // The name stands in for a description that is not there.
    if description != tool.name.value {
        spec.insert("description".to_owned(), Value::from(description));
    }
    if let Some(parameters) = &tool.parameters {
        spec.insert("parameters".to_owned(), parameters.clone());
    }
    if let Some(idempotent) = tool.idempotent {
        spec.insert("idempotent".to_owned(), Value::from(idempotent));
    }
    spec.insert("timeout".to_owned(), json!({"secs": tool.timeout_seconds, "nanos": 0}));
    Value::Object(spec)
}

/// The parameters that a backend is given for a route: the selection's, and the endpoint's where there is one.
pub(super) fn route_params(route: &PlannedRoute<'_>) -> Value {
    comm_params(&route.params, route.endpoint)
}

/// The parameters that a backend is given: these, and those of an endpoint.
pub(super) fn comm_params(own: &Params, endpoint: Option<&EndpointBlueprint>) -> Value {
    let mut params = match own.value() {
        Value::Object(map) => map.clone(),
        Value::Null => Map::new(),
        other => return other.clone(),
    };
    // What a flavour says beside the protocol describes its own runtime, not the backend.
    params.retain(|key, _| !matches!(key.as_str(), "mode" | "emulation"));
    if let Some(endpoint) = endpoint {
        add_endpoint(&mut params, endpoint);
    }
    Value::Object(params)
}

/// Adds what an endpoint says in words of its own, whatever its protocol.
pub(super) fn add_endpoint(params: &mut Map<String, Value>, endpoint: &EndpointBlueprint) {
    if let Some(url) = &endpoint.url {
        params.insert("url".to_owned(), Value::from(url.value.as_str()));
    }
    if let Some(timeout) = &endpoint.timeout_seconds {
        params.insert("timeout".to_owned(), timeout.value.clone());
    }
    if !endpoint.headers.is_empty() {
        let headers =
            endpoint.headers.iter().map(|(name, value)| (name.value.clone(), value.value.clone().into()));
        params.insert("headers".to_owned(), Value::Object(headers.collect()));
    }
    if let Some(a2a) = &endpoint.a2a {
        params.insert("a2a".to_owned(), a2a.value().clone());
    }
}

pub(super) fn find<'a>(
    registry: &'a Registry,
    category: Category,
    name: &Located<String>,
    report: &mut Report,
) -> Option<&'a Descriptor> {
    registry
        .find(category, &name.value)
        .map_err(|error| {
            let error = error.shown_as(name.shown());
            report.push(Diagnostic::error(error.code(), &name.at, error.problem()).help_if(error.help()));
        })
        .ok()
}

/// A problem of an endpoint that is to listen, placed as closely as its path allows.
pub(crate) fn refused_row(endpoint: &EndpointBlueprint, problem: Problem) -> Diagnostic {
    problem_of_row(endpoint, (Category::AgentExpose, "listened for"), problem)
}

/// The same of one that is to be used.
pub(super) fn unusable_row(endpoint: &EndpointBlueprint, problem: Problem) -> Diagnostic {
    problem_of_row(endpoint, (Category::AgentComm, "used"), problem)
}

/// Checks the layers of an endpoint that is used.
pub(super) fn check_layers(endpoint: &EndpointBlueprint, report: &mut Report) {
    let Some(block) = &endpoint.layers else { return };
    let agent = endpoint.agent.shown();
    for problem in Layers::read(Some(block)).1 {
        let at = block.locate(&pointer(&problem.path));
        let message = format!(
            "the endpoint of `{agent}` cannot have such layers: `{}`: {}",
            problem.path, problem.message
        );
        report.push(Diagnostic::error("mas::layers::invalid", &at, block.hide_secrets(message)));
    }
}

/// Refuses layers of an endpoint that is never sent over.
pub(super) fn refuse_idle_layers(endpoint: &EndpointBlueprint, report: &mut Report) {
    let Some(block) = endpoint.layers.as_ref().filter(|_| !endpoint.usage.value.uses()) else { return };
    let message = format!(
        "the endpoint of `{}` only deploys: its layers would never have an effect",
        endpoint.agent.shown()
    );
    report.push(
        Diagnostic::error("mas::layers::idle", block.at(), message)
            .says("around each send, of which there is none")
            .label(&endpoint.usage.at, "deploys an agent, offers no way to it")
            .help("say `usage: use-and-deploy`, or leave `layers` to the infra of those who delegate to it"),
    );
}

/// A problem of an endpoint, placed as closely as its path allows: who refuses it, and what cannot be done with it.
fn problem_of_row(
    endpoint: &EndpointBlueprint,
    (category, what): (Category, &str),
    problem: Problem,
) -> Diagnostic {
    let pointer = pointer(&problem.path);
    let first = pointer.split('/').next().unwrap_or_default();
    let header = |name: &str| endpoint.headers.iter().find(|(known, _)| known.value == name);
    let at = match (first, &endpoint.a2a, &endpoint.url) {
        ("a2a", Some(a2a), _) => a2a.locate(pointer.strip_prefix("a2a").unwrap_or_default()),
        ("url", _, Some(url)) => url.at.clone(),
        ("usage", ..) => endpoint.usage.at.clone(),
        ("timeout", ..) if endpoint.timeout_seconds.is_some() => {
            endpoint.timeout_seconds.as_ref().map_or(&endpoint.at, |timeout| &timeout.at).clone()
        }
        ("headers", ..) => {
            let name = problem.path.strip_prefix("headers.").unwrap_or_default();
            header(name).map_or(&endpoint.at, |(name, _)| &name.at).clone()
        }
        (key, ..) if endpoint.params.value().get(key).is_some() => endpoint.params.locate(&pointer),
        _ => endpoint.at.clone(),
    };
    let refused = if problem.path.is_empty() { "it".to_owned() } else { format!("`{}`", problem.path) };
    let (agent, plugin) = (endpoint.agent.shown(), endpoint.protocol.shown());
    let why = problem.message;
    let message =
        format!("the endpoint of `{agent}` cannot be {what}: {category} `{plugin}` refuses {refused}: {why}");
    let hide = |text: String| {
        let text = endpoint.params.hide_secrets(text);
        endpoint.a2a.as_ref().map_or_else(|| text.clone(), |a2a| a2a.hide_secrets(text.clone()))
    };
    let (message, help) = (hide(message), problem.help.map(hide));
    let help = help.or_else(|| meant(&message));
    Diagnostic::error("mas::params::invalid", &at, message).help_if(help)
}

/// What a word of parameters that nobody knows may stand for, where the message lists those that are known.
fn meant(message: &str) -> Option<String> {
    let rest =
        ["unknown field `", "unknown variant `"].iter().find_map(|it| Some(message.split_once(it)?.1))?;
    let (word, known) = rest.split_once("`, expected ")?;
    let near = nearest(word, known.split('`').skip(1).step_by(2))?;
    Some(format!("did you mean `{near}`?"))
}

/// A path such as `a2a.security[0]` as the steps of a JSON pointer.
fn pointer(path: &str) -> String {
    path.replace(['.', '['], "/").replace(']', "")
}

/// Checks parameters; problems are placed in the YAML as closely as their path allows.
pub(super) fn check_params(descriptor: &Descriptor, params: &Value, place: &Params, report: &mut Report) {
    for problem in (descriptor.check)(params) {
        let inner = problem.path.strip_prefix("params.").unwrap_or(&problem.path);
        let at = place.locate(&pointer(inner));
        let subject = format!("{} `{}`", descriptor.builder.category(), descriptor.name);
        let inside = if problem.path.is_empty() { String::new() } else { format!(" `{}`:", problem.path) };
        let message = format!("{subject} does not take these parameters:{inside} {}", problem.message);
        let (message, help) = (place.hide_secrets(message), problem.help.map(|it| place.hide_secrets(it)));
        let help = help.or_else(|| meant(&message));
        report.push(Diagnostic::error("mas::params::invalid", &at, message).help_if(help));
    }
}
