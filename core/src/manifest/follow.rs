//! Following the references of a file: every file that it leads to is read and checked too.

use std::path::{Path, PathBuf};

use super::document::Document;
use super::files::{FileId, Files, Following};
use super::kind::Kind;
use super::located::Located;
use super::options::Purpose;
use super::read;
use super::references::missing_file;
use super::typed::Implementation;
use super::yaml::Node;
use super::{checks, skills};
use crate::diagnostic::{Diagnostic, Report, fold};

impl Files<'_> {
    /// Follows the references of a file, and of the files they lead to.
    pub(crate) fn follow(&mut self, id: FileId) {
        let Some(file) = self.file_mut(id) else { return };
        if file.following != Following::Not || !self.options.resolve_refs {
            return;
        }
        let Some(file) = self.file_mut(id) else { return };
        file.following = Following::Now;
        let documents = file.documents.clone();
        let mut walk = Walk { uses: Vec::new(), report: Report::new() };
        for document in &documents {
            self.follow_document(document, &mut walk);
        }
        if let Some(file) = self.file_mut(id) {
            file.following = Following::Done;
            file.uses = walk.uses;
            file.report.merge(walk.report);
        }
    }

    fn follow_document(&mut self, document: &Document, walk: &mut Walk) {
        let dir = document.dir().to_path_buf();
        match document.kind {
            Kind::Agent => self.follow_agent(&document.node, &dir, std::slice::from_ref(&dir), walk),
            Kind::Mas => self.follow_team(document, walk),
            Kind::Tool => {
                if let Some(implementation) = document.get("spec.impl") {
                    self.check_module(implementation, &dir, walk);
                }
            }
            // A run looks at the bindings that its agents use; a validation does not know them and looks at all.
            Kind::ToolProvider if self.purpose == Purpose::Validate => {
                let tools = document.get("spec.tools").and_then(Node::map);
                for entry in tools.into_iter().flat_map(|map| map.iter()) {
                    self.check_module(&entry.value, &dir, walk);
                }
            }
            Kind::InfraBundle => self.follow_bundle(&document.node, &dir, walk),
            Kind::Overlay => {
                let spec = document.get("spec");
                let patch = document.get("spec.patch");
                for holder in [spec, patch].into_iter().flatten() {
                    self.follow_tools(holder.get("tools"), &dir, walk);
                    self.follow_prompts(holder.get("context"), &dir, walk);
                    self.follow_infra(holder.get("infra_refs"), &dir, walk);
                    self.follow_infra(holder.get("infra_interceptors"), &dir, walk);
                }
            }
            Kind::PlacementPlan => {
                for row in document.get("spec.agents").map_or(&[][..], Node::items) {
                    if let Some(manifest) = read::filled(row.get("manifest")) {
                        self.follow_one(
                            &manifest,
                            &dir,
                            &[Kind::Agent],
                            "the manifest of a placed agent",
                            walk,
                        );
                    }
                }
            }
            _ => {}
        }
    }

    fn follow_team(&mut self, document: &Document, walk: &mut Walk) {
        let dir = document.dir().to_path_buf();
        for row in checks::agency_rows(&document.node) {
            if let Some(reference) = read::filled(row.get("ref")) {
                self.follow_one(&reference, &dir, &[Kind::Agent], "the agent", walk);
            } else if row.get("spec").is_some() {
                // A row holds a whole document, with the file's directory as its own.
                let mut row = row.clone();
                drop_row_id(&mut row);
                if let Some(inline) = self.check_document(&document.path, row, &mut walk.report) {
                    self.follow_agent(&inline.node, &dir, std::slice::from_ref(&dir), walk);
                }
            }
        }
        self.follow_infra(document.get("spec.infra_refs"), &dir, walk);
    }

    fn follow_agent(&mut self, node: &Node, dir: &Path, roots: &[PathBuf], walk: &mut Walk) {
        self.follow_prompts(node.at_path("spec.context"), dir, walk);
        self.follow_tools(node.at_path("spec.tools"), dir, walk);
        self.follow_infra(node.at_path("spec.infra_refs"), dir, walk);
        self.follow_infra(node.at_path("spec.infra_interceptors"), dir, walk);
        // A run looks from the team's directory too, so it checks where it reads.
        if self.purpose == Purpose::Validate {
            for skill in skills::names(node) {
                if skills::find(&skill, dir, roots, self.options).is_none() {
                    walk.report.push(skills::missing(&skill, self.purpose));
                }
            }
        }
    }

    fn follow_prompts(&mut self, context: Option<&Node>, dir: &Path, walk: &mut Walk) {
        for entry in context.and_then(Node::map).into_iter().flat_map(|map| map.iter()) {
            if let Some(reference) = read::filled(entry.value.get("ref")) {
                let path = fold(&dir.join(&reference.value));
                if !path.is_file() {
                    walk.report.push(missing_file(&reference, &path, "the prompt", self.options));
                }
            }
        }
    }

    fn follow_tools(&mut self, tools: Option<&Node>, dir: &Path, walk: &mut Walk) {
        for tool in tools.map_or(&[][..], Node::items) {
            match read::filled(tool.get("ref")) {
                Some(reference) => self.follow_one(&reference, dir, &[Kind::Tool], "the tool", walk),
                None => self.check_module(tool, dir, walk),
            }
        }
    }

    /// Checks that the Python file of a tool exists; a dotted module path is Python's to find.
    fn check_module(&mut self, implementation: &Node, dir: &Path, walk: &mut Walk) {
        if let Some(diagnostic) = self.missing_module(implementation, dir) {
            walk.report.push(diagnostic);
        }
    }

    fn missing_module(&self, implementation: &Node, dir: &Path) -> Option<Diagnostic> {
        let module = python_file(implementation)?;
        if self.home_of_module(&module, dir).is_some() {
            return None;
        }
        let path = fold(&dir.join(&module.value));
        let shown = crate::diagnostic::shown_name(&path, self.options.base.as_deref());
        let shown =
            if module.secret { "that the environment names".to_owned() } else { format!("`{shown}`") };
        let message = format!("the Python file {shown} of this tool does not exist");
        Some(self.for_run("mas::tool::missing_module", &module, message).says("not found"))
    }

    /// Reads how a tool is run; its directory is the one that its Python file is in, if that is a library's.
    pub(crate) fn implementation(&self, node: &Node, dir: &Path) -> Implementation {
        let home = python_file(node).and_then(|module| self.home_of_module(&module, dir));
        Implementation::of(node, home.unwrap_or(dir).to_path_buf(), self.missing_module(node, dir))
    }

    /// The directory that a module's path starts from; libraries come after the directory itself.
    fn home_of_module<'b>(&'b self, module: &str, dir: &'b Path) -> Option<&'b Path> {
        let libraries = self.options.libraries.values().map(PathBuf::as_path);
        std::iter::once(dir).chain(libraries).find(|home| fold(&home.join(module)).is_file())
    }

    fn follow_infra(&mut self, references: Option<&Node>, dir: &Path, walk: &mut Walk) {
        for reference in read::texts(references) {
            self.follow_one(&reference, dir, INFRA_KINDS, "the infra", walk);
        }
    }

    fn follow_bundle(&mut self, node: &Node, dir: &Path, walk: &mut Walk) {
        for entry in node.at_path("spec.entries").map_or(&[][..], Node::items) {
            if let Some(reference) = read::filled(entry.get("ref")) {
                let wanted = read::text(entry.get("type")).map_or(INFRA_KINDS, |name| kinds_of_entry(&name));
                self.follow_one(&reference, dir, wanted, "the entry", walk);
            }
            self.follow_stages(entry.get("pipeline"), dir, walk);
        }
        self.follow_infra(node.at_path("spec.includes"), dir, walk);
        self.follow_stages(node.at_path("spec.interceptors"), dir, walk);
    }

    fn follow_stages(&mut self, stages: Option<&Node>, dir: &Path, walk: &mut Walk) {
        for stage in stages.map_or(&[][..], Node::items) {
            let reference =
                if stage.is_scalar() { read::filled(Some(stage)) } else { read::filled(stage.get("ref")) };
            if let Some(reference) = reference {
                self.follow_one(&reference, dir, &[Kind::InfraMiddleware], "the interceptor", walk);
            }
        }
    }

    pub(crate) fn follow_one(
        &mut self,
        reference: &Located<String>,
        dir: &Path,
        wanted: &[Kind],
        what: &str,
        walk: &mut Walk,
    ) {
        let Some(id) = self.open_reference(reference, dir, what, &mut walk.report) else { return };
        self.expect_kind(id, wanted, reference, what, &mut walk.report);
        if self.file(id).is_some_and(|file| file.following == Following::Now) {
            let message = format!("{what} refers back to a file that refers to it");
            let diagnostic = Diagnostic::error("mas::ref::cycle", &reference.at, message);
            walk.report.push(diagnostic.help("take one of the references out"));
            return;
        }
        walk.uses.push(id);
        self.follow(id);
    }
}

/// What following one file collects.
#[derive(Debug)]
pub(crate) struct Walk {
    pub(crate) uses: Vec<FileId>,
    pub(crate) report: Report,
}

/// The kinds that `infra_refs` may name.
pub(crate) const INFRA_KINDS: &[Kind] = &[
    Kind::LlmProxy,
    Kind::LlmLocal,
    Kind::InfraBundle,
    Kind::InfraMiddleware,
    Kind::Application,
    Kind::ToolProvider,
    Kind::Recognised("ToolServerRegistry"),
    Kind::Recognised("ToolRegistry"),
    Kind::Recognised("PersonalSecrets"),
    Kind::Recognised("SecretsProvider"),
    Kind::Recognised("Datastore"),
    Kind::Recognised("Infrastructure"),
    Kind::Recognised("RuntimeEngine"),
];

/// The file that a Python tool names; a dotted module path is none.
fn python_file(implementation: &Node) -> Option<Located<String>> {
    let module = Implementation::module_of(implementation)?;
    let kind = read::text(implementation.get("kind"));
    let is_python = kind.is_none_or(|kind| kind.value == "python");
    (is_python && (module.contains('/') || module.ends_with(".py"))).then_some(module)
}

fn kinds_of_entry(name: &str) -> &'static [Kind] {
    match name {
        "llm_provider" | "llm_local" => &[Kind::LlmProxy, Kind::LlmLocal, Kind::InfraBundle],
        "tool_provider" => &[Kind::ToolProvider],
        "application" => &[Kind::Application],
        "infra_middleware" => &[Kind::InfraMiddleware],
        _ => INFRA_KINDS,
    }
}

/// Takes the agency's `id` out of a row that is otherwise an Agent document.
pub(crate) fn drop_row_id(row: &mut Node) {
    use super::yaml::{Map, Value};
    let Value::Map(map) = &row.value else { return };
    let mut entries: Vec<_> = map.iter().filter(|entry| &*entry.key != "id").cloned().collect();
    // Inside a MAS the version may be left out: it is the MAS's.
    if map.entry("apiVersion").is_none()
        && let Some(first) = entries.first().cloned()
    {
        let version = Node::string("mas/v1", first.key_at.clone());
        entries.push(super::yaml::Entry { key: "apiVersion".into(), key_at: first.key_at, value: version });
    }
    row.value = Value::Map(Map::new(entries));
}
