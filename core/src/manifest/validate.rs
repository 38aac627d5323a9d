//! Checking files by name or by directory.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::document::Document;
use super::environment::Environment;
use super::files::{FileId, Files};
use super::options::{Options, Purpose};
use super::typed::InfraDocument;
use crate::diagnostic::{Diagnostic, Location, Report, Source, fold, shown_name};

/// What became of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The file, as shown to people.
    pub path: String,
    /// Its kind, as it spells it; absent when it has none or could not be read.
    pub kind: Option<String>,
    /// Whether it and every file it refers to are free of errors.
    pub ok: bool,
}

/// The outcome of a validation.
#[derive(Clone, Debug, Default)]
pub struct Validation {
    /// One entry for each file that was named or found, in order.
    pub outcomes: Vec<Outcome>,
    /// Every problem, sorted, those of files referred to included.
    pub report: Report,
}

/// Deepest directory a walk enters.
const MAX_WALK_DEPTH: usize = 32;
/// Most files one walk reads.
const MAX_WALK_FILES: usize = 20_000;

/// Looks at one document.
pub type Look<'a> = dyn Fn(&Document, &mut Report) + 'a;

/// What a validation knows beyond the files that it is given.
#[derive(Clone, Copy, Default)]
pub struct Known<'a> {
    /// Looks at each document once its shape is checked, for what only a registry knows.
    pub names: Option<&'a Look<'a>>,
    /// Infra of configuration and flags: what its endpoints provide may be delegated to.
    pub infra: &'a [&'a InfraDocument],
}

impl Known<'_> {
    /// Whether an endpoint makes this agent one that calls reach.
    pub(crate) fn provides(&self, agent: &str) -> bool {
        self.infra.iter().any(|document| match document {
            InfraDocument::Application(application) => {
                application.endpoints.iter().any(|row| row.agent.value == agent && row.usage.value.uses())
            }
            _ => false,
        })
    }
}

/// Checks files; a directory stands for every `*.yaml` and `*.yml` below it that has a `kind`.
///
/// A file named by itself must have a `kind`.
pub fn validate(
    paths: &[PathBuf],
    options: &Options,
    environment: &Environment,
    known: Known<'_>,
) -> Validation {
    let mut files = Files::new(options, environment, Purpose::Validate).knowing(known);
    let mut outside = Report::new();
    let mut named: Vec<(PathBuf, bool)> = Vec::new();
    for path in paths {
        if path.is_dir() {
            let mut found = Vec::new();
            walk(path, 0, &mut found, options, &mut outside);
            found.sort();
            named.extend(found.into_iter().map(|path| (path, true)));
        } else {
            named.push((path.clone(), false));
        }
    }
    let mut checked: Vec<(PathBuf, FileId)> = Vec::new();
    let mut seen = HashSet::new();
    for (path, walked) in named {
        let id = files.open(&path);
        let passed_by = walked && files.file(id).is_some_and(|file| file.kindless);
        if passed_by || !seen.insert(id) {
            continue;
        }
        files.follow(id);
        checked.push((path, id));
    }
    let outcomes: Vec<Outcome> = checked
        .iter()
        .map(|(path, id)| Outcome {
            path: shown_name(path, options.base.as_deref()),
            kind: files.file(*id).and_then(|file| file.kind_text.clone()),
            ok: !fails(&files, *id, &mut HashSet::new()),
        })
        .collect();
    let mut report = outside;
    let mut told = HashSet::new();
    for (_, id) in &checked {
        tell(&files, *id, &mut told, &mut report);
    }
    Validation { outcomes, report: report.sorted() }
}

fn fails(files: &Files<'_>, id: FileId, seen: &mut HashSet<FileId>) -> bool {
    seen.insert(id)
        && files.file(id).is_some_and(|file| {
            file.report.has_errors() || file.uses.iter().any(|used| fails(files, *used, seen))
        })
}

fn tell(files: &Files<'_>, id: FileId, told: &mut HashSet<FileId>, report: &mut Report) {
    if !told.insert(id) {
        return;
    }
    if let Some(file) = files.file(id) {
        report.extend(file.report.iter().cloned());
        for used in &file.uses {
            tell(files, *used, told, report);
        }
    }
}

fn walk(dir: &Path, depth: usize, found: &mut Vec<PathBuf>, options: &Options, report: &mut Report) {
    let at = || Location::start_of(Source::new(dir, "", options.base.as_deref()));
    let entries = match std::fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) => {
            let message = format!("the directory cannot be read: {error}");
            report.push(Diagnostic::error("mas::file::read", &at(), message));
            return;
        }
    };
    for entry in entries.flatten() {
        if found.len() >= MAX_WALK_FILES {
            let message = format!("more than {MAX_WALK_FILES} files: the rest is not checked");
            report.push(Diagnostic::error("mas::file::too_many", &at(), message));
            return;
        }
        let path = entry.path();
        // Links to directories are not entered: they may lead in a circle.
        let Ok(kind) = entry.file_type() else { continue };
        let hidden = entry.file_name().to_string_lossy().starts_with('.');
        if kind.is_dir() {
            if depth < MAX_WALK_DEPTH && !hidden && entry.file_name() != "node_modules" {
                walk(&path, depth + 1, found, options, report);
            }
        } else if path.extension().is_some_and(|end| end == "yaml" || end == "yml") && path.is_file() {
            found.push(fold(&path));
        }
    }
}
