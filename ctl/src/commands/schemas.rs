//! `schemas`: JSON Schemas of the documents, for editors and other programs.

use std::{fs, io, path::Path};

use mas_core::{
    diagnostic::nearest,
    manifest::{Kind, schema},
};
use serde_json::Value;

use super::plan::table;
use crate::{cli::SchemasArgs, console, exit::Exit};

/// The names beside kinds, and what each is the schema of.
const ANY: &str = "any";
const CONFIG: &str = "config";

/// Lists, prints or writes.
pub(crate) fn run(args: &SchemasArgs) -> Exit {
    match (&args.write, &args.kind) {
        (Some(folder), _) => write(folder),
        (None, Some(name)) => print(name),
        (None, None) => {
            console::out(list().trim_start());
            Exit::Done
        }
    }
}

fn list() -> String {
    let kinds = Kind::all().map(|kind| (kind.name(), kind.api_versions().join(", ")));
    let others = [(ANY, "every kind in one".to_owned()), (CONFIG, "config.yaml".to_owned())];
    let rows = kinds.chain(others).map(|(name, versions)| vec![name.to_owned(), versions, file(name)]);
    let mut text = String::new();
    table(&mut text, &["KIND", "API VERSION", "FILE OF --write"], rows.collect());
    text
}

fn names() -> impl Iterator<Item = &'static str> {
    Kind::all().map(Kind::name).chain([ANY, CONFIG])
}

fn file(name: &str) -> String {
    if name == ANY { "mas.schema.json".to_owned() } else { format!("{name}.schema.json") }
}

/// The schema of a name in any case; another spelling of a kind is that kind.
fn of(name: &str) -> Option<Value> {
    if name.eq_ignore_ascii_case(ANY) {
        return Some(schema::of_any());
    }
    if name.eq_ignore_ascii_case(CONFIG) {
        return Some(schema::of_config());
    }
    let called = |kind: &Kind| kind.spellings().any(|spelling| spelling.eq_ignore_ascii_case(name));
    Kind::all().find(called).map(schema::of)
}

fn print(name: &str) -> Exit {
    if let Some(schema) = of(name) {
        console::out_json(&schema);
        return Exit::Done;
    }
    let help = nearest(name, names()).map_or_else(
        || "`mas-ctl schemas` lists the kinds".to_owned(),
        |meant| format!("did you mean `{meant}`?"),
    );
    console::err(&format!("error: there is no schema of `{name}`\nhelp: {help}\n"));
    Exit::Usage
}

fn write(folder: &Path) -> Exit {
    match write_all(folder) {
        Ok(count) => {
            let index = folder.join(file(ANY));
            console::out(&format!(
                "{count} schemas are in {}. An editor with the YAML language server takes them by\n\
                 the first line of a manifest, with the path from there:\n\
                 # yaml-language-server: $schema={}\n",
                folder.display(),
                index.display(),
            ));
            Exit::Done
        }
        Err(error) => {
            console::err(&format!("error: the schemas cannot be written to {}: {error}\n", folder.display()));
            Exit::Failed
        }
    }
}

fn write_all(folder: &Path) -> io::Result<usize> {
    fs::create_dir_all(folder)?;
    let mut count = 0;
    for name in names() {
        let Some(schema) = of(name) else { continue };
        fs::write(folder.join(file(name)), serde_json::to_string_pretty(&schema)? + "\n")?;
        count += 1;
    }
    Ok(count)
}
