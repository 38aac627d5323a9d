//! The models of a team: one provider per name, built once.

use std::sync::Arc;

use mas_contracts::{BuildContext, Category, ModelContract};
use serde_json::{Value, json};

use super::wire::{check_params, find};
use crate::{
    blueprint::{AgentBlueprint, Blueprint, LlmBlueprint},
    diagnostic::{Diagnostic, Report, one_of},
    manifest::{Environment, Params},
    registry::Registry,
};

/// Builds the provider of a blueprint by itself, without a team.
///
/// # Errors
/// Every problem at once.
pub fn build_provider(
    llm: &LlmBlueprint,
    registry: &Registry,
    environment: &Environment,
    build: &BuildContext,
) -> Result<Arc<dyn ModelContract>, Report> {
    let mut report = Report::new();
    check_key(llm, environment, &mut report);
    let descriptor = find(registry, Category::LlmProvider, &llm.provider, &mut report);
    let Some(descriptor) = descriptor.filter(|_| !report.has_errors()) else { return Err(report) };
    let params = params_of(llm, &(descriptor.schema)());
    check_params(descriptor, &params, &llm.params, &mut report);
    if report.has_errors() {
        return Err(report);
    }
    let build = BuildContext { base: llm.dir.clone(), ..build.clone() };
    registry.build_model(&descriptor.name, &build, &params).map_err(|error| {
        [super::connect::failed(&llm.at, "the model provider", &error)].into_iter().collect()
    })
}

/// The provider of one agent: its name in the registry and its parameters.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PlannedModel {
    pub(super) provider: String,
    pub(super) params: Value,
}

/// Finds the provider of an agent and checks what it needs.
pub(super) fn plan_model(
    blueprint: &Blueprint,
    agent: &AgentBlueprint,
    registry: &Registry,
    report: &mut Report,
) -> Option<PlannedModel> {
    let llm = &blueprint.llm;
    let own = agent.model.provider.as_ref().filter(|own| own.value != llm.provider.value);
    let provider = own.unwrap_or(&llm.provider);
    let descriptor = find(registry, Category::LlmProvider, provider, report)?;
    if own.is_none()
        && !llm.allowed.is_empty()
        && provider.value != "mock"
        && !llm.allowed.contains(&agent.model.id)
    {
        let allowed = one_of(llm.allowed.iter().map(|model| model.shown()));
        let message =
            format!("the model `{}` is not allowed by the provider's infra", agent.model.id.shown());
        report.push(
            Diagnostic::error("mas::llm::not_allowed", &agent.model.id.at, message)
                .help(format!("allowed: {allowed}")),
        );
    }
    let params = if own.is_some() { json!({}) } else { params_of(llm, &(descriptor.schema)()) };
    let place = if own.is_some() { Params::none(provider.at.clone()) } else { llm.params.clone() };
    check_params(descriptor, &params, &place, report);
    Some(PlannedModel { provider: descriptor.name.to_string(), params })
}

/// Checks that the key of the team's provider is there; told once, however many agents need it.
pub(super) fn check_key(llm: &LlmBlueprint, environment: &Environment, report: &mut Report) -> bool {
    let Some(key) = llm.api_key_env.as_ref().filter(|key| !key.value.is_empty()) else { return true };
    if environment.filled(&key.value).is_some() {
        return true;
    }
    let name = key.shown();
    let message = format!(
        "the variable `{name}` is not set, and the model provider `{}` needs the key in it",
        llm.provider.shown()
    );
    report.push(Diagnostic::error("mas::llm::no_key", &key.at, message).help(format!(
        "set `{name}`, or run offline with `--flavour mock`, `--infra-ref standard:mock-llm` or MAS_MOCK_LLM=1"
    )));
    false
}

/// The provider's own parameters, and beside them those of the connection that it takes: what describes a server
/// for others, such as `health_endpoint`, is not its business.
pub(super) fn params_of(llm: &LlmBlueprint, schema: &Value) -> Value {
    let mut params = llm.params.value().clone();
    if let Some(map) = params.as_object_mut() {
        map.retain(|_, value| !value.is_null());
        let takes = |key: &str| schema.get("properties").is_some_and(|known| known.get(key).is_some());
        for (key, value) in llm.connection.value().as_object().into_iter().flatten() {
            if takes(key) && !value.is_null() && !map.contains_key(key) {
                map.insert(key.clone(), value.clone());
            }
        }
        if let Some(base) = llm.api_base.as_ref().filter(|base| !base.value.is_empty()) {
            map.insert("api_base".to_owned(), Value::from(base.value.as_str()));
        }
        if let Some(key) = llm.api_key_env.as_ref().filter(|key| !key.value.is_empty()) {
            map.insert("api_key_env".to_owned(), Value::from(key.value.as_str()));
        }
    }
    params
}
