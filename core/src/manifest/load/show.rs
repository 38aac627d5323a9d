//! Infra and flavours for a person to look at.

use std::path::Path;

use super::{Loader, load_flavour};
use crate::diagnostic::{Location, Report, Severity, starred};
use crate::manifest::document::Document;
use crate::manifest::environment::Environment;
use crate::manifest::files::Files;
use crate::manifest::located::Located;
use crate::manifest::options::{Options, Purpose};
use crate::manifest::read;
use crate::manifest::standard;
use crate::manifest::typed::{FlavourDocument, InfraDocument};
use crate::manifest::yaml::{Node, Value};

/// A document inside the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bundled {
    /// How it is referred to, as `standard:openai` or `local`.
    pub reference: String,
    /// Its kind, as documents write it.
    pub kind: &'static str,
    /// One sentence; empty if it has none.
    pub description: String,
}

/// Files with what they come to.
#[derive(Debug)]
pub struct Shown<T> {
    /// The name and the text of each file, in the order in which they are opened. A reference to the environment
    /// stands as it is written; the values of headers and of keys that hold secrets are starred out.
    pub files: Vec<(String, String)>,
    /// What they come to.
    pub holds: T,
    /// What was found but keeps nothing from being shown.
    pub warnings: Report,
}

/// Every infra document that `standard:NAME` knows.
pub fn bundled_infra() -> Vec<Bundled> {
    bundled(standard::infra_names(), "standard:", |files, name| files.open_standard(name))
}

/// Every flavour that is known by name.
pub fn bundled_flavours() -> Vec<Bundled> {
    bundled(standard::flavour_names(), "", |files, name| files.open_flavour(name))
}

fn bundled(
    names: impl Iterator<Item = &'static str>,
    prefix: &str,
    open: impl Fn(&mut Files<'_>, &str) -> Option<usize>,
) -> Vec<Bundled> {
    let (options, environment) = (Options::default(), Environment::default());
    let mut files = Files::new(&options, &environment, Purpose::Run);
    let mut list = Vec::new();
    for name in names {
        let Some(id) = open(&mut files, name) else { continue };
        let Some(document) = files.file(id).and_then(|file| file.documents.first()) else { continue };
        let description = read::filled(document.get("metadata.description"));
        list.push(Bundled {
            reference: format!("{prefix}{name}"),
            kind: document.kind.name(),
            description: description.map(|text| text.value).unwrap_or_default(),
        });
    }
    list
}

/// Reads one infra reference to show it; bundles are followed, and a variable that is not set is a warning.
///
/// # Errors
/// Every problem of every file, when there is an error among them.
pub fn show_infra(
    reference: &Located<String>,
    dir: &Path,
    options: &Options,
    environment: &Environment,
) -> Result<Shown<Vec<InfraDocument>>, Report> {
    let mut loader = Loader::new(options, environment);
    let mut holds = Vec::new();
    loader.infra(reference, dir, &reference.at, &mut holds);
    for document in loader.opened.clone() {
        loader.need_variables(&document);
    }
    let warnings = forgiven(loader.report).sorted();
    if warnings.has_errors() {
        return Err(warnings);
    }
    Ok(Shown { files: texts(&loader.opened), holds, warnings })
}

/// Reads one flavour to show it; a variable that is not set is a warning.
///
/// # Errors
/// Every problem of the file, or that there is no such flavour.
pub fn show_flavour(
    name: &Located<String>,
    dir: &Path,
    options: &Options,
    environment: &Environment,
) -> Result<Shown<FlavourDocument>, Report> {
    let (flavour, warnings) = load_flavour(name, dir, options, environment)?;
    let files = texts(std::slice::from_ref(&flavour.document));
    Ok(Shown { files, holds: flavour, warnings })
}

fn forgiven(report: Report) -> Report {
    let forgive = |diagnostic: crate::diagnostic::Diagnostic| {
        if diagnostic.code == "mas::env::missing" {
            diagnostic.severity(Severity::Warning)
        } else {
            diagnostic
        }
    };
    report.into_iter().map(forgive).collect()
}

/// The text of each file, once.
fn texts(documents: &[Document]) -> Vec<(String, String)> {
    let mut files: Vec<(String, String)> = Vec::new();
    for document in documents {
        let source = document.node.at.source();
        if files.iter().any(|(name, _)| name == source.name()) {
            continue;
        }
        let mut hidden = Vec::new();
        let same = documents.iter().filter(|other| other.node.at.source().path() == source.path());
        same.for_each(|document| headers(&document.node, &mut hidden));
        files.push((source.name().to_owned(), starred(source.text(), &hidden)));
    }
    files
}

/// The places of literal values of headers.
fn headers(node: &Node, places: &mut Vec<Location>) {
    match &node.value {
        Value::List(items) => items.iter().for_each(|item| headers(item, places)),
        Value::Map(map) => {
            for entry in map.iter() {
                match &entry.value.value {
                    Value::Map(values) if &*entry.key == "headers" => {
                        places.extend(values.iter().map(|header| header.value.at.clone()));
                    }
                    _ => headers(&entry.value, places),
                }
            }
        }
        _ => {}
    }
}
