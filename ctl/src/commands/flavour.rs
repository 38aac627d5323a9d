//! `flavour list` and `flavour show`.

use mas_core::manifest::{bundled_flavours, show_flavour};
use serde_json::json;

use super::{
    infra::{bundled_json, bundled_table, files_json, files_text},
    plan::{place, table},
};
use crate::{cli::FlavourCommand, console, exit::Exit, setup, surroundings::Surroundings};

/// Shows flavours.
pub(crate) fn run(command: &FlavourCommand, around: &Surroundings) -> Exit {
    match command {
        FlavourCommand::List { json, flavour } => list(flavour.as_deref(), *json, around),
        FlavourCommand::Show { name, json } => show(name, *json, around),
    }
}

fn list(flag: Option<&str>, json: bool, around: &Surroundings) -> Exit {
    let mut options = around.options();
    let chosen = around.config(&mut options).and_then(|config| {
        let Some(name) = flag.map(|name| setup::flag("--flavour", name)).or(config.flavour) else {
            return Ok((None, config.warnings));
        };
        let mut shown = show_flavour(&name, &around.cwd, &options, &around.environment)?;
        shown.warnings.merge(config.warnings);
        let file = shown.files.into_iter().map(|(file, _)| file).next().unwrap_or_default();
        Ok((Some((name, file)), shown.warnings))
    });
    let (chosen, warnings) = match chosen {
        Ok(chosen) => chosen,
        Err(report) => return setup::invalid(&report, json),
    };
    let bundled = bundled_flavours();
    if json {
        let chosen =
            chosen.map(|(name, file)| json!({"name": name.shown(), "set_by": place(&name.at), "file": file}));
        let known: Vec<_> = bundled.iter().map(bundled_json).collect();
        console::out_json(&json!({"known": known, "chosen": chosen}));
    } else {
        let mut text = bundled_table(&bundled);
        let rows =
            chosen.iter().map(|(name, file)| vec![name.shown().to_owned(), place(&name.at), file.clone()]);
        table(&mut text, &["CHOSEN", "SET BY", "FILE"], rows.collect());
        console::out(text.trim_start());
    }
    console::err_report(&warnings);
    Exit::Done
}

fn show(name: &str, json: bool, around: &Surroundings) -> Exit {
    let mut options = around.options();
    let shown = around.config(&mut options).and_then(|_| {
        show_flavour(&setup::flag("flavour show", name), &around.cwd, &options, &around.environment)
    });
    let shown = match shown {
        Ok(shown) => shown,
        Err(report) => return setup::invalid(&report, json),
    };
    let comm = shown.holds.agent_comm.as_ref().map(|chosen| chosen.name.shown());
    if json {
        console::out_json(&json!({"files": files_json(&shown), "agent_comm": comm}));
    } else {
        let comm = comm.unwrap_or("what the configuration says");
        console::out(&format!("{}\n# Agents of one process talk over: {comm}\n", files_text(&shown)));
    }
    console::err_report(&shown.warnings);
    Exit::Done
}
