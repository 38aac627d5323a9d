//! `validate`: findings on stdout, one line per file.

use std::{fmt::Write, io::IsTerminal};

use mas_core::{
    diagnostic::Report,
    manifest::{Document, InfraDocument, Known, validate},
    registry::Registry,
    wiring::{check_defaults, check_infra, check_names},
};
use serde_json::json;

use crate::{cli::ValidateArgs, console, exit::Exit, setup, surroundings::Surroundings};

/// Checks the files.
pub(crate) fn run(args: &ValidateArgs, registry: &Registry, around: &Surroundings) -> Exit {
    let mut options = around.options();
    options.resolve_refs = !args.no_resolve_refs;
    options.lenient = args.lenient;
    let config = around.config(&mut options);
    let mut found = Report::new();
    let chosen = config.and_then(|config| {
        check_defaults(registry, &config.defaults, &mut found);
        setup::choose(&args.setup, &config, &options, around)
    });
    let chosen = chosen.map_err(|problems| found.merge(problems)).ok();
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
    result.report.merge(found);
    result.report.merge(chosen.map(|chosen| chosen.warnings).unwrap_or_default());
    let report = result.report.sorted();
    if args.json {
        let files: Vec<_> = result
            .outcomes
            .iter()
            .map(|outcome| json!({"path": outcome.path, "kind": outcome.kind, "ok": outcome.ok}))
            .collect();
        console::out_json(
            &json!({"ok": !report.has_errors(), "files": files, "findings": report.to_records()}),
        );
    } else {
        let mut text = String::new();
        for outcome in &result.outcomes {
            let word = if outcome.ok { "OK  " } else { "FAIL" };
            let kind = outcome.kind.as_deref().unwrap_or("none");
            let _ = writeln!(text, "{word}  {}  kind={kind}", outcome.path);
        }
        text.push_str(&console::render(&report, std::io::stdout().is_terminal()));
        text.push_str(&summary(result.outcomes.len(), &report));
        console::out(&text);
    }
    if report.has_errors() { Exit::Invalid } else { Exit::Done }
}

fn summary(files: usize, report: &Report) -> String {
    let (errors, warnings) = report.counts();
    let plural = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    format!("{}: {}, {}\n", plural(files, "file"), plural(errors, "error"), plural(warnings, "warning"))
}
