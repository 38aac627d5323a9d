//! The model provider, from every infra document that speaks of one.

use super::{types::LlmBlueprint, unsupported};
use crate::diagnostic::{Diagnostic, Location, Report, Severity};
use crate::manifest::{InfraDocument, LlmDocument, Located, Params};

/// What an infra document may say of a connection beside its address and key.
const CONNECTION: &[&str] = &[
    "ca_file",
    "connect_timeout",
    "first_byte_timeout",
    "headers",
    "idle_timeout",
    "proxy",
    "retry",
    "stream",
    "timeout",
    "verify",
];

/// Merges the model providers in order; each part of a later one wins. Without any, OpenAI.
pub(super) fn merge(infra: &[&InfraDocument], report: &mut Report) -> LlmBlueprint {
    let documents = infra.iter().filter_map(|document| match document {
        InfraDocument::Llm(llm) => Some(&**llm),
        _ => None,
    });
    let mut merged: Option<LlmBlueprint> = None;
    let mut used: Vec<&LlmDocument> = Vec::new();
    for llm in documents {
        // Another provider, or another address, shares nothing with the one before: not its key, not its models, not
        // its parameters.
        let elsewhere = |before: &LlmBlueprint| llm.api_base.is_some() && llm.api_base != before.api_base;
        match &mut merged {
            Some(before) if before.provider == llm.provider && !elsewhere(before) => {
                overlay(before, llm);
                used.push(llm);
            }
            _ => {
                let mappings = merged.take().map(|before| before.mappings).unwrap_or_default();
                let mut fresh = LlmBlueprint::named("");
                fresh.mappings = mappings;
                overlay(&mut fresh, llm);
                merged = Some(fresh);
                used = vec![llm];
            }
        }
    }
    for connection in used.iter().map(|llm| &llm.connection) {
        let unknown = connection.filled_keys().filter(|key| !CONNECTION.contains(key));
        report.extend(unknown.map(|key| unsupported::idle(&connection.locate_key(key), key)));
    }
    let merged = merged.unwrap_or_else(openai);
    if !matches!(merged.provider.as_str(), "mock" | "scripted") {
        let missing = used.iter().flat_map(|llm| llm.document.missing.iter());
        report.extend(missing.map(|variable| crate::manifest::missing_variable(variable, Severity::Error)));
    }
    merged
}

/// The provider that one infra document yields by itself.
pub(crate) fn provider_of(infra: &InfraDocument) -> LlmBlueprint {
    merge(&[infra], &mut Report::new())
}

/// What `standard:openai` says, for a run without any infra.
fn openai() -> LlmBlueprint {
    let mut llm = LlmBlueprint::named("openai");
    let at = Location::named("standard:openai");
    llm.api_base = Some(Located::new("https://api.openai.com/v1".to_owned(), at.clone()));
    llm.api_key_env = Some(Located::new("OPENAI_API_KEY".to_owned(), at.clone()));
    llm.at = at;
    llm
}

/// The mock provider, which a flag or a flavour asks for.
pub(super) fn mock(asked: &str) -> LlmBlueprint {
    let at = Location::named(asked);
    LlmBlueprint {
        provider: Located::new("mock".to_owned(), at.clone()),
        params: Params::none(at.clone()),
        at,
        ..LlmBlueprint::named("mock")
    }
}

fn overlay(base: &mut LlmBlueprint, llm: &LlmDocument) {
    base.provider = llm.provider.clone();
    base.at = llm.document.at();
    base.api_base = llm.api_base.clone().or(base.api_base.take());
    base.api_key_env = llm.api_key_env.clone().or(base.api_key_env.take());
    base.default_model = llm.default_model.clone().or(base.default_model.take());
    if !llm.allowed.is_empty() {
        base.allowed.clone_from(&llm.allowed);
    }
    if !llm.params.is_empty() || base.dir.as_os_str().is_empty() {
        base.params = llm.params.clone();
        base.dir = llm.document.dir().to_path_buf();
    }
    if !llm.connection.is_empty() {
        base.connection = llm.connection.clone();
    }
    for (from, to) in &llm.mappings {
        base.mappings.retain(|(known, _)| known != from);
        base.mappings.push((from.clone(), to.clone()));
    }
}

/// The model's name at the provider, checked against those it allows.
pub(super) fn model_name(
    llm: &LlmBlueprint,
    model: &Located<String>,
    report: &mut Report,
) -> Located<String> {
    let mapped = llm.mappings.iter().find(|(from, _)| from == model);
    let name =
        mapped.map_or_else(|| model.clone(), |(_, to)| Located { value: to.value.clone(), ..model.clone() });
    let checked = matches!(llm.provider.as_str(), "openai");
    let known = |name: &Located<String>| llm.allowed.contains(name);
    if checked && !llm.allowed.is_empty() && !known(&name) && !known(model) {
        let message = format!("the model `{}` is not among those that the infra allows", model.shown());
        let names = crate::diagnostic::one_of(llm.allowed.iter().map(|name| name.shown()));
        let mut diagnostic = Diagnostic::error("mas::llm::model_not_allowed", &model.at, message);
        if let Some(first) = llm.allowed.first() {
            diagnostic = diagnostic.label(&first.at, "allowed here");
        }
        report.push(diagnostic.help(format!("allowed: {names}")));
    }
    name
}
