//! From a manifest and flags to a blueprint.

use std::path::Path;

use mas_core::{
    blueprint::{ResolveInput, ResolveOptions, Resolved, resolve},
    config::Config,
    diagnostic::{Diagnostic, Location, Report, Severity},
    manifest::{
        Binding, FlavourDocument, InfraDocument, Located, Options, Override, apply_overrides, load,
        load_flavour, load_infra,
    },
};

use serde_json::json;

use crate::{
    cli::{RouteArgs, SetupArgs, TeamArgs},
    console,
    exit::Exit,
    surroundings::Surroundings,
};

/// Variables that stand for `--model`, the first that is set before the next.
const MODEL_TWINS: [&str; 2] = ["MAS_CTL_MODEL", "MAS_LLM_MODEL"];

/// Infra and flavour, as flags and configuration choose them.
pub(crate) struct Chosen {
    pub(crate) flavour: Option<FlavourDocument>,
    pub(crate) workspace_infra: Vec<InfraDocument>,
    pub(crate) flag_infra: Vec<InfraDocument>,
    pub(crate) warnings: Report,
}

impl Chosen {
    /// All the infra, the configuration's before that of flags.
    pub(crate) fn infra(&self) -> impl Iterator<Item = &InfraDocument> {
        self.workspace_infra.iter().chain(&self.flag_infra)
    }
}

/// Reads what flags and configuration choose.
pub(crate) fn choose(
    args: &SetupArgs,
    config: &Config,
    options: &Options,
    around: &Surroundings,
) -> Result<Chosen, Report> {
    let mut problems = Report::new();
    let mut warnings = config.warnings.clone();
    let mut keep = |read: Result<(Vec<InfraDocument>, Report), Report>| match read {
        Ok((documents, found)) => {
            warnings.merge(found);
            documents
        }
        Err(found) => {
            problems.merge(found);
            Vec::new()
        }
    };
    let environment = &around.environment;
    let workspace_infra = keep(load_infra(&config.infra_refs, &config.infra_dir, options, environment));
    let flags: Vec<Located<String>> =
        args.infra_refs.iter().map(|reference| flag("--infra-ref", reference)).collect();
    let flag_infra = keep(load_infra(&flags, &around.cwd, options, environment));
    let wanted =
        args.flavour.as_deref().map(|name| flag("--flavour", name)).or_else(|| config.flavour.clone());
    let flavour = match wanted.map(|name| load_flavour(&name, &around.cwd, options, environment)) {
        None => None,
        Some(Ok((flavour, found))) => {
            warnings.merge(found);
            Some(flavour)
        }
        Some(Err(found)) => {
            problems.merge(found);
            None
        }
    };
    if problems.has_errors() {
        return Err(problems);
    }
    Ok(Chosen { flavour, workspace_infra, flag_infra, warnings })
}

/// Reads a manifest and resolves it, with what flags say of the ways to its agents.
pub(crate) fn blueprint(
    manifest: &Path,
    args: &TeamArgs,
    routes: &RouteArgs,
    around: &Surroundings,
) -> Result<Resolved, Report> {
    let mut options = around.options();
    let config = around.config(&mut options)?;
    // What is wrong with the manifest, with the infra and with the flags is told in one go.
    let overrides = overrides(routes, around);
    let chosen = choose(&args.setup, &config, &options, around);
    let loaded = load(manifest, &options, &around.environment);
    let (mut chosen, mut loaded, overrides) = match (chosen, loaded, overrides) {
        (Ok(chosen), Ok(loaded), Ok(overrides)) => (chosen, loaded, overrides),
        (chosen, loaded, overrides) => {
            let mut problems = Report::new();
            problems.merge(chosen.err().unwrap_or_default());
            problems.merge(loaded.err().unwrap_or_default());
            problems.merge(overrides.err().unwrap_or_default());
            return Err(problems.sorted());
        }
    };
    chosen.flag_infra.extend(routes.bindings.iter().map(Binding::to_infra));
    if !overrides.is_empty() {
        let layers = [&mut chosen.workspace_infra, &mut loaded.infra, &mut chosen.flag_infra];
        let mut infra: Vec<&mut InfraDocument> = layers.into_iter().flatten().collect();
        chosen.warnings.merge(apply_overrides(&overrides, &mut infra, &options)?);
    }
    let mut resolved = resolve(ResolveInput {
        loaded: &loaded,
        flavour: chosen.flavour.as_ref(),
        workspace_infra: &chosen.workspace_infra,
        flag_infra: &chosen.flag_infra,
        defaults: &config.defaults,
        environment: &around.environment,
        options: &ResolveOptions {
            model: model(args, around)?,
            bindings: routes.bindings.clone(),
            base: options.base.clone(),
            ..ResolveOptions::default()
        },
    })?;
    resolved.warnings.merge(chosen.warnings);
    Ok(resolved)
}

/// The overrides of the flags.
fn overrides(routes: &RouteArgs, around: &Surroundings) -> Result<Vec<Override>, Report> {
    let mut problems = Report::new();
    let mut read = Vec::new();
    for text in &routes.overrides {
        match Override::parse(text, &around.environment) {
            Ok(change) => read.push(change),
            Err(found) => problems.merge(found),
        }
    }
    problems.into_result(read)
}

/// The model of every agent: the flag, else a variable that stands for it.
pub(crate) fn model(args: &TeamArgs, around: &Surroundings) -> Result<Option<Located<String>>, Report> {
    let Some(name) = &args.model else {
        let twin = |name: &&str| Some(flag(name, around.environment.filled(name)?.trim()));
        return Ok(MODEL_TWINS.iter().find_map(twin));
    };
    if name.trim().is_empty() {
        let at = Location::named("--model");
        let empty =
            Diagnostic::error("mas::llm::no_model", &at, "expected the name of a model, found an empty text");
        return Err([empty].into_iter().collect());
    }
    Ok(Some(flag("--model", name)))
}

/// What is wrong with a flag's text alone, whatever the files say.
const OF_FLAGS: [&str; 2] = ["mas::override::syntax", "mas::override::root"];

/// Ends a command whose manifests or wiring are invalid, or whose flags cannot be read: with `json` the problems are one
/// document on stdout, else a text on stderr.
pub(crate) fn invalid(report: &Report, json: bool) -> Exit {
    if json {
        console::out_json(&json!({"status": "invalid", "findings": report.to_records()}));
    } else {
        console::err_report(report);
    }
    exit_of(report)
}

/// The code for problems: that of the command line where it is all that is wrong.
pub(crate) fn exit_of(report: &Report) -> Exit {
    let mut errors = report.iter().filter(|found| found.severity == Severity::Error).peekable();
    if errors.peek().is_some() && errors.all(|found| OF_FLAGS.contains(&found.code)) {
        Exit::Usage
    } else {
        Exit::Invalid
    }
}

/// A value that a flag gives.
pub(crate) fn flag(name: &str, value: &str) -> Located<String> {
    Located::new(value.to_owned(), Location::named(name))
}
