//! `validate`: findings on stdout, one line per file.

use std::{fmt::Write, io::IsTerminal};

use mas_core::{
    diagnostic::Report,
    manifest::{Binding, Document, InfraDocument, Known, Validation, validate},
    registry::Registry,
    wiring::{Hosting, check_defaults, check_infra, check_names, check_routes},
};
use serde_json::json;

use super::live::Live;
use crate::{
    cli::{TeamArgs, ValidateArgs},
    console,
    exit::Exit,
    setup,
    surroundings::Surroundings,
};

/// Checks the files.
pub(crate) async fn run(args: &ValidateArgs, registry: &Registry, around: &Surroundings) -> Exit {
    let mut options = around.options();
    options.resolve_refs = !args.no_resolve_refs;
    options.lenient = args.lenient;
    let config = around.config(&mut options);
    let mut found = Report::new();
    let chosen = config.and_then(|config| {
        check_defaults(registry, &config.defaults, &mut found);
        setup::choose(&args.setup, &config, &options, around)
    });
    let mut chosen = chosen.map_err(|problems| found.merge(problems)).ok();
    if let Some(chosen) = &mut chosen {
        chosen.flag_infra.extend(args.routes.bindings.iter().map(Binding::to_infra));
    }
    let infra: Vec<&InfraDocument> = chosen.iter().flat_map(setup::Chosen::infra).collect();
    for document in &infra {
        check_infra(registry, document, &mut found);
    }
    if let Some(flavour) = chosen.as_ref().and_then(|chosen| chosen.flavour.as_ref()) {
        check_names(registry, &flavour.document, &mut found);
    }
    let names = |document: &Document, report: &mut Report| check_names(registry, document, report);
    let known = Known { names: Some(&names), infra: &infra };
    let mut result = validate(&args.paths, &options, &around.environment, known);
    result.report.merge(std::mem::take(&mut found));
    result.report.merge(chosen.map(|chosen| chosen.warnings).unwrap_or_default());
    let live = ways(&result, args, registry, around, &mut found).await;
    result.report.merge(found);
    let report = result.report.sorted();
    if args.json {
        let files: Vec<_> = result
            .outcomes
            .iter()
            .map(|outcome| json!({"path": outcome.path, "kind": outcome.kind, "ok": outcome.ok}))
            .collect();
        let mut document =
            json!({"ok": !report.has_errors(), "files": files, "findings": report.to_records()});
        if let (true, Some(document)) = (args.live, document.as_object_mut()) {
            document.insert("live".to_owned(), live.iter().map(Live::to_json).collect());
        }
        console::out_json(&document);
    } else {
        let mut text = String::new();
        for outcome in &result.outcomes {
            let word = if outcome.ok { "OK  " } else { "FAIL" };
            let kind = outcome.kind.as_deref().unwrap_or("none");
            let _ = writeln!(text, "{word}  {}  kind={kind}", outcome.path);
        }
        for live in &live {
            text.push_str(&live.to_text());
        }
        text.push_str(&console::render(&report, std::io::stdout().is_terminal()));
        text.push_str(&summary(result.outcomes.len(), &report));
        console::out(&text);
    }
    if report.has_errors() { setup::exit_of(&report) } else { Exit::Done }
}

/// The ways of every team among the files, as flags make them: their problems, and who is there if that is asked.
async fn ways(
    checked: &Validation,
    args: &ValidateArgs,
    registry: &Registry,
    around: &Surroundings,
    report: &mut Report,
) -> Vec<Live> {
    let mut live = Vec::new();
    if !args.live && args.routes.is_empty() {
        return live;
    }
    let of_kind = |kind: &'static str| {
        checked.outcomes.iter().filter(move |outcome| outcome.kind.as_deref() == Some(kind))
    };
    // An agent by itself delegates to nobody: it counts where there is no team.
    let kind = if of_kind("MAS").next().is_some() { "MAS" } else { "Agent" };
    let team = TeamArgs { model: None, setup: args.setup.clone() };
    for outcome in of_kind(kind).filter(|outcome| outcome.ok) {
        let path = around.cwd.join(&outcome.path);
        match setup::blueprint(&path, &team, &args.routes, around) {
            Ok(resolved) => {
                let mut problems = Report::new();
                let blueprint = resolved.blueprint;
                let routes = check_routes(&blueprint, registry, Hosting::Everything, &mut problems);
                if args.live && !problems.has_errors() {
                    let asked = Live::ask(&routes, registry, around).await;
                    problems.merge(asked.problems());
                    live.push(asked);
                }
                report.merge(problems);
            }
            Err(problems) => report.merge(problems),
        }
    }
    live
}

fn summary(files: usize, report: &Report) -> String {
    let (errors, warnings) = report.counts();
    let plural = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    format!("{}: {}, {}\n", plural(files, "file"), plural(errors, "error"), plural(warnings, "warning"))
}
