//! Which endpoints this process listens on.

use mas_contracts::{HostedEndpoint, Problem};
use serde_json::{Map, Value};

use super::wire::{add_endpoint, refused_row};
use crate::{
    blueprint::{AgentBlueprint, Blueprint, EndpointBlueprint},
    diagnostic::Diagnostic,
    manifest::Usage,
};

/// What this process hosts, by command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hosting<'a> {
    /// Nothing listens: checks and plans of a client.
    Nothing,
    /// `serve`: this agent.
    Agent(&'a str),
    /// `chat` and `tui`: the agent that the person talks to, in the background.
    Conversation,
    /// `run-mas`, and `serve --all`: every hosted agent.
    Everything,
}

/// An endpoint that this process listens on.
#[derive(Clone, Copy, Debug)]
pub struct PlannedExposure<'a> {
    /// The endpoint.
    pub endpoint: &'a EndpointBlueprint,
    /// Whether its agent is the entry agent, which owns the root of a shared socket.
    pub entry: bool,
}

impl PlannedExposure<'_> {
    /// The endpoint as its protocol is given it, for the agent that it exposes.
    #[must_use]
    pub fn hosted(&self, agent: &AgentBlueprint) -> HostedEndpoint {
        let endpoint = self.endpoint;
        HostedEndpoint {
            agent: agent.id.value.as_str().into(),
            entry: self.entry,
            profile: agent.profile(),
            params: params_of(endpoint),
            base: endpoint.dir.clone(),
        }
    }

    /// What the protocol finds wrong with the endpoint, at its place in the YAML.
    #[must_use]
    pub fn refused(&self, problem: Problem) -> Diagnostic {
        refused_row(self.endpoint, problem)
    }
}

/// The parameters of an endpoint, as the protocol that listens for it is given them.
pub(super) fn params_of(endpoint: &EndpointBlueprint) -> Value {
    let mut params = match endpoint.params.value() {
        Value::Object(own) => own.clone(),
        _ => Map::new(),
    };
    params.insert("usage".to_owned(), endpoint.usage.value.word().into());
    add_endpoint(&mut params, endpoint);
    Value::Object(params)
}

/// The endpoints that this process listens on: those of hosted agents whose usage deploys. `use` never listens.
#[must_use]
pub fn plan_exposures<'a>(blueprint: &'a Blueprint, hosting: Hosting<'_>) -> Vec<PlannedExposure<'a>> {
    let hosts = |agent: &str| match hosting {
        Hosting::Nothing => false,
        Hosting::Agent(one) => one == agent,
        Hosting::Conversation => blueprint.entry.value == agent,
        Hosting::Everything => true,
    };
    blueprint
        .endpoints
        .iter()
        .filter(|endpoint| matches!(endpoint.usage.value, Usage::Deploy | Usage::UseAndDeploy))
        .filter(|endpoint| hosts(&endpoint.agent.value))
        .filter(|endpoint| blueprint.agent(&endpoint.agent.value).is_some_and(|agent| !agent.external))
        .map(|endpoint| PlannedExposure { endpoint, entry: endpoint.agent.value == blueprint.entry.value })
        .collect()
}
