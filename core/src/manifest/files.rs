//! Files read once: bytes to checked documents.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::document::Document;
use super::environment::{Environment, substitute};
use super::kind::Kind;
use super::options::{Options, Purpose};
use super::shape::check;
use super::standard;
use super::validate::Known;
use super::yaml::{Node, Value, decode_text, parse};
use super::{checks, shape};
use crate::diagnostic::{Diagnostic, Location, Report, Severity, Source, fold, nearest, one_of};

/// The index of a file in [`Files`].
pub(crate) type FileId = usize;

/// How far the references of a file were followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Following {
    Not,
    Now,
    Done,
}

/// One file that was read.
#[derive(Debug)]
pub(crate) struct File {
    pub(crate) documents: Vec<Document>,
    pub(crate) report: Report,
    pub(crate) uses: Vec<FileId>,
    pub(crate) following: Following,
    /// Whether it has no `kind` at all, which a walk over a directory passes by.
    pub(crate) kindless: bool,
    /// The kind as the file spells it, known or not.
    pub(crate) kind_text: Option<String>,
}

/// Every file read so far, each once.
pub(crate) struct Files<'a> {
    pub(crate) options: &'a Options,
    pub(crate) environment: &'a Environment,
    pub(crate) purpose: Purpose,
    known: Known<'a>,
    index: HashMap<PathBuf, FileId>,
    files: Vec<File>,
}

impl<'a> Files<'a> {
    pub(crate) fn new(options: &'a Options, environment: &'a Environment, purpose: Purpose) -> Self {
        let known = Known::default();
        Self { options, environment, purpose, known, index: HashMap::new(), files: Vec::new() }
    }

    /// With what is known beyond the files.
    pub(crate) fn knowing(self, known: Known<'a>) -> Self {
        Self { known, ..self }
    }

    pub(crate) fn file(&self, id: FileId) -> Option<&File> {
        self.files.get(id)
    }

    pub(crate) fn file_mut(&mut self, id: FileId) -> Option<&mut File> {
        self.files.get_mut(id)
    }

    /// Reads a file, or returns the one already read.
    pub(crate) fn open(&mut self, path: &Path) -> FileId {
        let path = fold(path);
        if let Some(id) = self.index.get(&path) {
            return *id;
        }
        let file = match read_bytes(&path, self.options.base.as_deref()) {
            Ok(bytes) => match decode_text(&path, bytes, self.options.base.as_deref()) {
                Ok(source) => self.check_source(&path, &source),
                Err(diagnostic) => File::broken(diagnostic),
            },
            Err(diagnostic) => File::broken(diagnostic),
        };
        self.keep(path, file)
    }

    /// The bundled infra document of a name, if there is one.
    pub(crate) fn open_standard(&mut self, name: &str) -> Option<FileId> {
        let text = standard::infra(name)?;
        Some(self.open_text(format!("standard:{name}"), text))
    }

    /// The bundled flavour of a name, if there is one.
    pub(crate) fn open_flavour(&mut self, name: &str) -> Option<FileId> {
        let text = standard::flavour(name)?;
        Some(self.open_text(format!("flavour:{name}"), text))
    }

    fn open_text(&mut self, name: String, text: &'static str) -> FileId {
        let path = PathBuf::from(&name);
        if let Some(id) = self.index.get(&path) {
            return *id;
        }
        let source = Source::named(name, text);
        let file = self.check_source(&path, &source);
        self.keep(path, file)
    }

    fn keep(&mut self, path: PathBuf, file: File) -> FileId {
        let id = self.files.len();
        self.files.push(file);
        self.index.insert(path, id);
        id
    }

    fn check_source(&self, path: &Path, source: &Arc<Source>) -> File {
        let (nodes, report) = parse(source);
        let mut file = File { report, ..File::empty() };
        if file.report.has_errors() {
            return file;
        }
        let Some(first) = nodes.first() else {
            let at = Location::start_of(source.clone());
            file.report.push(
                Diagnostic::error("mas::file::empty", &at, "the file holds no document").says("nothing here"),
            );
            file.kindless = true;
            return file;
        };
        file.kind_text = first.get("kind").map(|kind| kind.text().to_owned());
        // A list or a bare value is data of some other program, as is a map without `kind`.
        file.kindless = nodes.iter().all(|node| node.get("kind").is_none());
        let several = nodes.len() > 1;
        for node in nodes {
            let at = node.at.part(0, 1);
            if let Some(document) = self.check_document(path, node, &mut file.report) {
                if several && !document.kind.is_infra() {
                    let message = format!(
                        "a file with several documents may hold infra documents only, found {}",
                        document.kind.name()
                    );
                    file.report.push(
                        Diagnostic::error("mas::manifest::several", &at, message)
                            .help("give each its own file"),
                    );
                }
                file.documents.push(document);
            }
        }
        file
    }

    /// Checks a tree as one document; without a known kind there is none.
    pub(crate) fn check_document(
        &self,
        path: &Path,
        mut node: Node,
        report: &mut Report,
    ) -> Option<Document> {
        let kind = self.kind_of(path, &node, report)?;
        if let Kind::Lab(name) = kind {
            let message = format!("{name} is not a runtime kind: experiments and datasets are not read here");
            report.push(Diagnostic::warning("mas::manifest::lab_kind", &kind_place(&node), message));
            return None;
        }
        check_version(kind, &node, report);
        let mut missing = Vec::new();
        substitute(&mut node, self.environment, &mut missing);
        check(&node, kind.shape(), self.options.lenient, report);
        checks::check_document(kind, &node, self.purpose, self.known, report);
        if let Kind::Recognised(name) = kind {
            let message = format!("the kind {name} is recognised but not used yet");
            report.push(Diagnostic::warning("mas::manifest::unused_kind", &kind_place(&node), message));
        }
        if self.purpose == Purpose::Validate {
            for variable in &missing {
                report.push(missing_variable(variable, Severity::Warning));
            }
        }
        let document =
            Document { kind, node: Arc::new(node), path: path.to_path_buf(), missing: missing.into() };
        if let Some(check) = self.known.names {
            check(&document, report);
        }
        Some(document)
    }

    fn kind_of(&self, path: &Path, node: &Node, report: &mut Report) -> Option<Kind> {
        let Value::Map(_) = node.value else {
            let message = format!(
                "expected a document with `apiVersion`, `kind`, `metadata` and `spec`, found {}",
                node.noun()
            );
            report.push(Diagnostic::error("mas::manifest::type", &node.at.part(0, 1), message));
            return None;
        };
        let Some(kind) = node.get("kind") else {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if matches!(&*name, "library.yaml" | "library.yml" | "config.yaml" | "config.yml") {
                let message = format!("{name} is recognised but not checked here");
                report.push(Diagnostic::warning("mas::manifest::unused_kind", &node.at.part(0, 1), message));
                return None;
            }
            let entries = node.map().into_iter().flat_map(|map| map.iter());
            let slip = entries.into_iter().find(|entry| nearest(&entry.key, ["kind"]).is_some());
            let (at, help) = match slip {
                Some(entry) => {
                    (entry.key_at.clone(), format!("did you mean `kind` instead of `{}`?", entry.key))
                }
                None => (node.at.part(0, 1), format!("say what it is: {}", one_of(Kind::names()))),
            };
            let message = "no kind: the document does not say what it is";
            report.push(Diagnostic::error("mas::manifest::no_kind", &at, message).help(help));
            return None;
        };
        let parsed = Kind::parse(kind.text());
        if parsed.is_none() {
            let message = if kind.is_scalar() {
                format!("unknown kind `{}`", kind.text())
            } else {
                format!("kind: expected a string, found {}", kind.noun())
            };
            let help = nearest(kind.text(), Kind::names()).map(|name| format!("did you mean `{name}`?"));
            let help = help.unwrap_or_else(|| format!("known kinds: {}", one_of(Kind::names())));
            report.push(Diagnostic::error("mas::manifest::unknown_kind", &kind.at, message).help(help));
        }
        parsed
    }
}

/// Checks that `apiVersion` goes with the kind.
pub(super) fn check_version(kind: Kind, node: &Node, report: &mut Report) {
    let versions = kind.api_versions();
    let Some(version) = node.get("apiVersion") else { return };
    if !version.is_scalar() || version.is_null() || versions.is_empty() || versions.contains(&version.text())
    {
        return;
    }
    let message = if Kind::all_api_versions().any(|known| known == version.text()) {
        format!("kind {} does not go with apiVersion `{}`", kind.name(), version.text())
    } else {
        format!("unknown apiVersion `{}`", version.text())
    };
    let help = format!("write `apiVersion: {}`", versions.join("` or `apiVersion: "));
    report.push(Diagnostic::error("mas::manifest::api_version", &version.at, message).help(help));
}

impl File {
    fn empty() -> Self {
        Self {
            documents: Vec::new(),
            report: Report::new(),
            uses: Vec::new(),
            following: Following::Not,
            kindless: false,
            kind_text: None,
        }
    }

    fn broken(diagnostic: Diagnostic) -> Self {
        Self { report: [diagnostic].into_iter().collect(), ..Self::empty() }
    }
}

/// The diagnostic of a variable that is not set.
pub(crate) fn missing_variable(
    variable: &super::environment::MissingVariable,
    severity: Severity,
) -> Diagnostic {
    let message = format!("the environment variable {} is not set", variable.name);
    Diagnostic::error("mas::env::missing", &variable.at, message)
        .severity(severity)
        .help(format!("set {0}, or give a default: `env:{0}|default`", variable.name))
}

fn kind_place(node: &Node) -> Location {
    node.get("kind").map_or_else(|| node.at.part(0, 1), |kind| kind.at.clone())
}

/// Reads a file's bytes, one more than a manifest may have at most; `base` is what its shown name is relative to.
///
/// # Errors
/// A diagnostic of the whole file, for anything that is not a readable, regular file.
pub fn read_bytes(path: &Path, base: Option<&Path>) -> Result<Vec<u8>, Diagnostic> {
    use std::io::Read;
    let at = || Location::start_of(Source::new(path, "", base));
    let broken = |error: &std::io::Error| {
        let message = match error.kind() {
            std::io::ErrorKind::NotFound => "the file does not exist".to_owned(),
            std::io::ErrorKind::PermissionDenied => "the file may not be read: permission denied".to_owned(),
            _ => format!("the file cannot be read: {error}"),
        };
        Diagnostic::error("mas::file::read", &at(), message)
    };
    // Looked at before it is opened: opening a pipe waits for its writer.
    let metadata = std::fs::metadata(path).map_err(|error| broken(&error))?;
    if metadata.is_dir() {
        return Err(Diagnostic::error(
            "mas::file::directory",
            &at(),
            "a directory stands where a file is needed",
        ));
    }
    if !metadata.is_file() {
        // A pipe or a device could block or never end.
        return Err(Diagnostic::error("mas::file::read", &at(), "it is not a regular file"));
    }
    let limit = super::yaml::MAX_FILE_BYTES as u64 + 1;
    let file = std::fs::File::open(path).map_err(|error| broken(&error))?;
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len().min(limit)).unwrap_or(0));
    file.take(limit).read_to_end(&mut bytes).map_err(|error| broken(&error))?;
    Ok(bytes)
}

/// The flag `enabled`-like reading used by several kinds.
pub(crate) fn is_on(node: Option<&Node>) -> bool {
    node.and_then(shape::read_flag).unwrap_or(false)
}
