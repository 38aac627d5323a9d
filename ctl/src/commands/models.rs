//! `models list` and `models test`: what the infra declares of models, and whether it holds.

mod attempt;

use std::fmt::Write;

use mas_core::{
    blueprint::{Blueprint, LlmBlueprint, ModelBlueprint, ProviderInput, model_provider},
    diagnostic::Report,
    manifest::Located,
    registry::Registry,
    wiring::build_provider,
};
use serde_json::{Value, json};

use super::plan::table;
use crate::{
    cli::{ModelsArgs, ModelsCommand, RouteArgs},
    console,
    conversation::build_context,
    exit::Exit,
    setup,
    surroundings::Surroundings,
};
use attempt::Attempt;

/// The model that is tried where nothing names one.
const ANY_MODEL: &str = "gpt-4o-mini";

/// The provider, and the models that are declared for it.
struct Declared {
    llm: LlmBlueprint,
    models: Vec<DeclaredModel>,
}

/// A model by its name at the provider.
struct DeclaredModel {
    name: String,
    /// Who names it: agents, `default`, `allowed`, a mapping.
    named_by: Vec<String>,
}

/// Shows or tries the models.
pub(crate) async fn run(command: &ModelsCommand, registry: &Registry, around: &Surroundings) -> Exit {
    let (ModelsCommand::List(args) | ModelsCommand::Test(args)) = command;
    let declared = match declared(args, around) {
        Ok((declared, warnings)) => {
            console::err_report(&warnings);
            declared
        }
        Err(report) => return setup::invalid(&report, args.json),
    };
    match command {
        ModelsCommand::List(_) => list(&declared, args.json, around),
        ModelsCommand::Test(_) => test(&declared, args.json, registry, around).await,
    }
}

fn declared(args: &ModelsArgs, around: &Surroundings) -> Result<(Declared, Report), Report> {
    let mut declared = Vec::new();
    let mut name = |model: &Located<String>, by: &str| declared.push((model.value.clone(), by.to_owned()));
    let (llm, warnings) = match &args.manifest {
        Some(manifest) => {
            let resolved = setup::blueprint(manifest, &args.team, &RouteArgs::default(), around)?;
            for (model, agent) in own_models(&resolved.blueprint) {
                name(&model.id, agent);
            }
            (resolved.blueprint.llm, resolved.warnings)
        }
        None => {
            let mut options = around.options();
            let config = around.config(&mut options)?;
            let chosen = setup::choose(&args.team.setup, &config, &options, around)?;
            let mut report = chosen.warnings;
            let input = ProviderInput {
                workspace_infra: &chosen.workspace_infra,
                own_infra: &[],
                flag_infra: &chosen.flag_infra,
                flavour: chosen.flavour.as_ref(),
                environment: &around.environment,
            };
            let llm = model_provider(input, &mut report);
            let config_default = config.defaults.model.as_ref().filter(|_| llm.default_model.is_none());
            if let Some(model) = config_default {
                name(model, "defaults.model");
            }
            (llm, report)
        }
    };
    if warnings.has_errors() {
        return Err(warnings);
    }
    if let Some(model) = setup::model(&args.team, around)? {
        // One model is asked for; what else is declared is not.
        let mapped = llm.mappings.iter().find(|(from, _)| *from == model).map(|(_, to)| to);
        let name = mapped.unwrap_or(&model).value.clone();
        let models = vec![DeclaredModel { name, named_by: vec![model.at.source().name().to_owned()] }];
        return Ok((Declared { llm, models }, warnings));
    }
    if let Some(model) = &llm.default_model {
        name(model, "default");
    }
    llm.allowed.iter().for_each(|model| name(model, "allowed"));
    for (from, to) in &llm.mappings {
        name(to, &format!("mapping of {}", from.shown()));
    }
    if declared.is_empty() {
        declared.push((ANY_MODEL.to_owned(), "built in".to_owned()));
    }
    let mut models: Vec<DeclaredModel> = Vec::new();
    for (name, by) in declared {
        match models.iter_mut().find(|model| model.name == name) {
            Some(model) if model.named_by.contains(&by) => {}
            Some(model) => model.named_by.push(by),
            None => models.push(DeclaredModel { name, named_by: vec![by] }),
        }
    }
    Ok((Declared { llm, models }, warnings))
}

/// The models of the agents that use the team's provider.
fn own_models(blueprint: &Blueprint) -> impl Iterator<Item = (&ModelBlueprint, &str)> {
    let shares = |model: &&ModelBlueprint| {
        model.provider.as_ref().is_none_or(|own| own.value == blueprint.llm.provider.value)
    };
    blueprint
        .agents
        .iter()
        .filter(|agent| !agent.external)
        .map(|agent| (&agent.model, agent.id.as_str()))
        .filter(move |(model, _)| shares(model))
}

/// The variable of the key, and whether it is set.
fn key(llm: &LlmBlueprint, around: &Surroundings) -> Option<(String, bool)> {
    let name = llm.api_key_env.as_ref().filter(|name| !name.value.is_empty())?;
    Some((name.shown().to_owned(), around.environment.filled(&name.value).is_some()))
}

fn list(declared: &Declared, json: bool, around: &Surroundings) -> Exit {
    let Declared { llm, models } = declared;
    let address = llm.api_base.as_ref().map(|base| base.shown()).filter(|base| !base.is_empty());
    let (line, _) = llm.at.position();
    let key = key(llm, around);
    if json {
        let (key_env, key_set) = key.unzip();
        console::out_json(&json!({
            "provider": llm.provider.shown(),
            "api_base": address,
            "api_key_env": key_env,
            "api_key_set": key_set,
            "declared_by": llm.at.source().name(),
            "models": models.iter().map(|model| json!({"name": model.name, "named_by": model.named_by})).collect::<Vec<_>>(),
        }));
        return Exit::Done;
    }
    let mut text = String::new();
    let at = address.map(|address| format!(" at {address}")).unwrap_or_default();
    let by = llm.at.source().name();
    let by = if llm.at.source().text().is_empty() { by.to_owned() } else { format!("{by}:{line}") };
    let _ = writeln!(text, "{}{at} ({by})", llm.provider.shown());
    if let Some((name, is_set)) = key {
        let _ = writeln!(text, "key in {name}, which is {}", if is_set { "set" } else { "not set" });
    }
    let rows = models.iter().map(|model| vec![model.name.clone(), model.named_by.join(", ")]);
    table(&mut text, &["MODEL", "NAMED BY"], rows.collect());
    console::out(&text);
    Exit::Done
}

async fn test(declared: &Declared, json: bool, registry: &Registry, around: &Surroundings) -> Exit {
    let build = build_context(around, &around.cwd);
    let provider = match build_provider(&declared.llm, registry, &around.environment, &build) {
        Ok(provider) => provider,
        Err(report) => return setup::invalid(&report, json),
    };
    let mut stop = crate::stop::Stop::new();
    let mut attempts = Vec::new();
    for model in &declared.models {
        let attempt = tokio::select! {
            biased;
            _ = stop.requested() => return Exit::Interrupted,
            attempt = Attempt::make(&*provider, &model.name) => attempt,
        };
        if !json {
            console::out(&format!("{attempt}\n"));
        }
        attempts.push(attempt);
    }
    let failed = attempts.iter().any(Attempt::failed);
    if json {
        let tried: Vec<Value> = attempts.iter().map(Attempt::to_json).collect();
        console::out_json(&json!({
            "provider": declared.llm.provider.shown(),
            "status": if failed { "failed" } else { "completed" },
            "models": tried,
        }));
    }
    if failed { Exit::Failed } else { Exit::Done }
}
