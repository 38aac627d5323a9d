//! References from one document to another file.

use std::path::{Path, PathBuf};

use super::files::{FileId, Files};
use super::kind::Kind;
use super::located::Located;
use super::options::{Options, Purpose};
use super::standard;
use crate::diagnostic::{Diagnostic, Report, Severity, fold, nearest, one_of, shown_name};

/// Where a reference leads.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// A file that may or may not exist.
    File(PathBuf),
    /// A bundled document.
    Standard(String),
    /// A library that is not known here.
    UnknownLibrary(String),
    /// A scheme that is not read, such as `bundle://`.
    Scheme(String),
}

/// Finds where a reference leads from a directory; libraries come after the directory itself.
pub(crate) fn target(text: &str, dir: &Path, options: &Options) -> Target {
    let text = text.trim();
    if let Some((scheme, _)) = text.split_once("://") {
        return Target::Scheme(scheme.to_owned());
    }
    if let Some((library, rest)) = text.split_once(':') {
        let name = library.len() > 1
            && library.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'));
        if name && library == "standard" {
            return Target::Standard(rest.to_owned());
        }
        if name {
            return match options.libraries.get(library) {
                Some(root) => Target::File(fold(&root.join(rest))),
                None => Target::UnknownLibrary(library.to_owned()),
            };
        }
    }
    let path = fold(&dir.join(text));
    if !path.exists()
        && let Some(found) =
            options.libraries.values().map(|root| root.join(text)).find(|path| path.is_file())
    {
        return Target::File(fold(&found));
    }
    Target::File(path)
}

impl Files<'_> {
    /// Opens what a reference leads to, or reports why that cannot be done.
    ///
    /// A library that is not known, or a scheme that is not read, only matters when the document is to be run.
    pub(crate) fn open_reference(
        &mut self,
        reference: &Located<String>,
        dir: &Path,
        what: &str,
        report: &mut Report,
    ) -> Option<FileId> {
        match target(reference, dir, self.options) {
            Target::File(path) => {
                if !path.exists() {
                    report.push(missing_file(reference, &path, what, self.options));
                    return None;
                }
                Some(self.open(&path))
            }
            Target::Standard(name) => {
                let found = self.open_standard(&name);
                if found.is_none() {
                    report.push(unknown_standard(reference, &name));
                }
                found
            }
            Target::UnknownLibrary(library) => {
                let message = format!("{what} comes from the library `{library}`, which is not known here");
                let names = one_of(self.options.libraries.keys().map(String::as_str));
                let help = if names.is_empty() {
                    format!("name its directory in config.yaml: `manifest_libraries: {{{library}: path}}`")
                } else {
                    format!("known libraries: {names}")
                };
                report.push(self.for_run("mas::ref::library", reference, message).help(help));
                None
            }
            Target::Scheme(scheme) => {
                let message = format!("{what} is given as `{scheme}://…`, which is not supported");
                report.push(self.for_run("mas::ref::scheme", reference, message).help("refer to a file"));
                None
            }
        }
    }

    /// A problem that only a run minds: a warning when validating.
    pub(crate) fn for_run<T>(&self, code: &'static str, at: &Located<T>, message: String) -> Diagnostic {
        let severity = match self.purpose {
            Purpose::Validate => Severity::Warning,
            Purpose::Run => Severity::Error,
        };
        Diagnostic::error(code, &at.at, message).severity(severity)
    }

    /// Reports when a file holds no document of the wanted kinds.
    pub(crate) fn expect_kind(
        &self,
        id: FileId,
        wanted: &[Kind],
        reference: &Located<String>,
        what: &str,
        report: &mut Report,
    ) {
        let Some(file) = self.file(id) else { return };
        if file.documents.is_empty() || file.documents.iter().any(|document| wanted.contains(&document.kind))
        {
            return;
        }
        let found: Vec<&str> = file.documents.iter().map(|document| document.kind.name()).collect();
        let names: Vec<&str> = wanted.iter().map(|kind| kind.name()).collect();
        let message =
            format!("{what} must be of kind {}, but the file holds {}", names.join(" or "), found.join(", "));
        let mut diagnostic = Diagnostic::error("mas::ref::wrong_kind", &reference.at, message);
        if let Some(document) = file.documents.first() {
            diagnostic = diagnostic.label(&document.at(), "the file says so here");
        }
        report.push(diagnostic);
    }
}

/// The diagnostic of a file that is not there.
pub(crate) fn missing_file(
    reference: &Located<String>,
    path: &Path,
    what: &str,
    options: &Options,
) -> Diagnostic {
    let shown = shown_name(path, options.base.as_deref());
    let shown = if reference.secret { "that the environment names".to_owned() } else { format!("`{shown}`") };
    let message = format!("{what}: the file {shown} does not exist");
    Diagnostic::error("mas::ref::missing", &reference.at, message)
        .says("not found")
        .help_if(similar_file(path))
}

fn similar_file(path: &Path) -> Option<String> {
    const MOST: usize = 500;
    let name = path.file_name()?.to_str()?;
    let entries = std::fs::read_dir(path.parent()?).ok()?;
    let names: Vec<String> =
        entries.take(MOST).filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    nearest(name, names.iter().map(String::as_str))
        .map(|name| format!("did you mean `{name}`, in the same directory?"))
}

fn unknown_standard(reference: &Located<String>, name: &str) -> Diagnostic {
    let message = format!("`standard:{name}` is not bundled with this program");
    let help = nearest(name, standard::infra_names())
        .map(|name| format!("did you mean `standard:{name}`?"))
        .unwrap_or_else(|| format!("bundled: {}", one_of(standard::infra_names())));
    Diagnostic::error("mas::ref::unknown_standard", &reference.at, message).help(help)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemes_libraries_and_paths() {
        let options = Options::default();
        let dir = Path::new("/app/agents");
        assert_eq!(target("../tools/a.yaml", dir, &options), Target::File("/app/tools/a.yaml".into()));
        assert_eq!(target("standard:openai", dir, &options), Target::Standard("openai".into()));
        assert_eq!(target("samples:x", dir, &options), Target::UnknownLibrary("samples".into()));
        assert_eq!(target("bundle://a/b", dir, &options), Target::Scheme("bundle".into()));
        assert_eq!(target("/abs/a.yaml", dir, &options), Target::File("/abs/a.yaml".into()));
    }
}
