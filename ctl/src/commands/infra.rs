//! `infra list` and `infra show`.

use std::path::Path;

use mas_core::{
    config::Config,
    diagnostic::Report,
    manifest::{Bundled, Endpoint, InfraDocument, LlmDocument, Located, Shown, bundled_infra, show_infra},
};
use serde_json::{Value, json};

use super::plan::{place, table};
use crate::{cli::InfraCommand, console, exit::Exit, setup, surroundings::Surroundings};

/// Shows infra.
pub(crate) fn run(command: &InfraCommand, around: &Surroundings) -> Exit {
    match command {
        InfraCommand::List { json, infra_refs } => list(infra_refs, *json, around),
        InfraCommand::Show { reference, json } => show(reference, *json, around),
    }
}

/// What configuration and flags choose, lowest first, with warnings.
///
/// # Errors
/// Everything that cannot be read.
pub(super) fn documents(
    flags: &[String],
    around: &Surroundings,
) -> Result<(Vec<InfraDocument>, Report), Report> {
    let (choices, warnings) = choices(flags, around)?;
    Ok((choices.into_iter().flat_map(|choice| choice.holds).collect(), warnings))
}

/// One reference that configuration or flags choose.
struct Choice {
    reference: Located<String>,
    files: Vec<String>,
    holds: Vec<InfraDocument>,
}

fn list(flags: &[String], json: bool, around: &Surroundings) -> Exit {
    let (choices, warnings) = match choices(flags, around) {
        Ok(found) => found,
        Err(report) => return setup::invalid(&report, json),
    };
    let bundled = bundled_infra();
    if json {
        let chosen = choices.iter().map(|choice| {
            json!({
                "reference": choice.reference.shown(),
                "set_by": place(&choice.reference.at),
                "files": choice.files,
            })
        });
        console::out_json(&json!({
            "standard": bundled.iter().map(bundled_json).collect::<Vec<_>>(),
            "chosen": chosen.collect::<Vec<_>>(),
        }));
    } else {
        let mut text = bundled_table(&bundled);
        let rows = choices.iter().map(|choice| {
            vec![choice.reference.shown().to_owned(), place(&choice.reference.at), choice.files.join(", ")]
        });
        table(&mut text, &["CHOSEN", "SET BY", "FILES"], rows.collect());
        console::out(text.trim_start());
    }
    console::err_report(&warnings);
    Exit::Done
}

/// What configuration and flags choose, lowest first, with the files that each leads to.
fn choices(flags: &[String], around: &Surroundings) -> Result<(Vec<Choice>, Report), Report> {
    let mut options = around.options();
    let Config { infra_refs, infra_dir, warnings, .. } = around.config(&mut options)?;
    let of_config = infra_refs.into_iter().map(|reference| (reference, infra_dir.as_path()));
    let of_flags =
        flags.iter().map(|reference| (setup::flag("--infra-ref", reference), around.cwd.as_path()));
    let mut warnings = warnings;
    let mut problems = Report::new();
    let mut choices = Vec::new();
    for (reference, dir) in of_config.chain(of_flags) {
        match show_infra(&reference, dir, &options, &around.environment) {
            Ok(shown) => {
                warnings.merge(shown.warnings);
                let files = shown.files.into_iter().map(|(name, _)| name).collect();
                choices.push(Choice { reference, files, holds: shown.holds });
            }
            Err(report) => problems.merge(report),
        }
    }
    if problems.has_errors() { Err(problems.sorted()) } else { Ok((choices, warnings.sorted())) }
}

pub(super) fn bundled_table(bundled: &[Bundled]) -> String {
    let rows =
        bundled.iter().map(|one| vec![one.reference.clone(), one.kind.to_owned(), one.description.clone()]);
    let mut text = String::new();
    table(&mut text, &["NAME", "KIND", "DESCRIPTION"], rows.collect());
    text
}

pub(super) fn bundled_json(one: &Bundled) -> Value {
    json!({"name": one.reference, "kind": one.kind, "description": one.description})
}

fn show(reference: &str, json: bool, around: &Surroundings) -> Exit {
    let mut options = around.options();
    // A name that no file here has is a standard one.
    let known = || bundled_infra().into_iter().map(|one| one.reference);
    let standard = format!("standard:{reference}");
    let is_file = around.cwd.join(Path::new(reference)).exists();
    let reference = if !is_file && known().any(|name| name == standard) { &standard } else { reference };
    let shown = around.config(&mut options).and_then(|_| {
        show_infra(&setup::flag("infra show", reference), &around.cwd, &options, &around.environment)
    });
    let shown = match shown {
        Ok(shown) => shown,
        Err(report) => return setup::invalid(&report, json),
    };
    let provides = provides(&shown.holds);
    if json {
        let rows =
            provides.iter().map(|row| json!({"what": row.what, "name": row.name, "detail": row.detail}));
        console::out_json(&json!({"files": files_json(&shown), "provides": rows.collect::<Vec<_>>()}));
    } else {
        let mut text = files_text(&shown);
        text.push_str("\n# It provides:\n");
        if provides.is_empty() {
            text.push_str("#   nothing\n");
        }
        for Provided { what, name, detail } in &provides {
            let detail = if detail.is_empty() { String::new() } else { format!(", {}", detail.join(", ")) };
            text.push_str(&format!("#   {what} {name}{detail}\n"));
        }
        console::out(&text);
    }
    console::err_report(&shown.warnings);
    Exit::Done
}

/// The files as one text of YAML, each after a comment with its name.
pub(super) fn files_text<T>(shown: &Shown<T>) -> String {
    let files = shown.files.iter().map(|(name, text)| format!("# {name}\n{}\n", text.trim_end()));
    files.collect::<Vec<_>>().join("---\n")
}

pub(super) fn files_json<T>(shown: &Shown<T>) -> Vec<Value> {
    shown.files.iter().map(|(name, text)| json!({"file": name, "text": text})).collect()
}

/// One thing that infra provides.
struct Provided {
    what: &'static str,
    name: String,
    detail: Vec<String>,
}

fn provides(documents: &[InfraDocument]) -> Vec<Provided> {
    let mut rows = Vec::new();
    for document in documents {
        match document {
            InfraDocument::Llm(llm) => rows.push(of_llm(llm)),
            InfraDocument::Middleware(middleware) => rows.push(Provided {
                what: "middleware",
                name: middleware.middleware.shown().to_owned(),
                detail: Vec::new(),
            }),
            InfraDocument::Application(application) => {
                rows.extend(application.endpoints.iter().map(of_endpoint));
            }
            InfraDocument::Tools(tools) => rows.extend(tools.iter().map(|(name, implementation)| Provided {
                what: "tool",
                name: name.shown().to_owned(),
                detail: vec![implementation.kind.shown().to_owned()],
            })),
        }
    }
    rows
}

fn of_llm(llm: &LlmDocument) -> Provided {
    let listed =
        |names: &[Located<String>]| names.iter().map(|name| name.shown()).collect::<Vec<_>>().join(" ");
    let mut detail = Vec::new();
    let mut tell = |what: &str, value: &Option<Located<String>>| {
        detail.extend(value.as_ref().map(|value| format!("{what} {}", value.shown())));
    };
    tell("at", &llm.api_base);
    tell("key in", &llm.api_key_env);
    tell("default model", &llm.default_model);
    if !llm.allowed.is_empty() {
        detail.push(format!("models allowed: {}", listed(&llm.allowed)));
    }
    detail.extend(llm.mappings.iter().map(|(from, to)| format!("{} is {}", from.shown(), to.shown())));
    Provided { what: "model provider", name: llm.provider.shown().to_owned(), detail }
}

fn of_endpoint(endpoint: &Endpoint) -> Provided {
    let url = endpoint.url.as_ref().map(|url| format!("at {}", url.shown()));
    let mut detail = vec![endpoint.protocol.shown().to_owned(), endpoint.usage.value.word().to_owned()];
    detail.extend(url);
    Provided { what: "endpoint of", name: endpoint.agent.shown().to_owned(), detail }
}
