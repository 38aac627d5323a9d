//! Loading what is to be run.

mod infra;
mod show;

pub use show::{Bundled, Shown, bundled_flavours, bundled_infra, show_flavour, show_infra};

use std::path::{Path, PathBuf};

use super::checks;
use super::document::Document;
use super::environment::Environment;
use super::files::{Files, missing_variable, read_bytes};
use super::follow::drop_row_id;
use super::kind::Kind;
use super::located::Located;
use super::options::{Options, Purpose};
use super::read;
use super::skills;
use super::typed::{
    AgentDocument, FlavourDocument, InfraDocument, LoadedAgent, LoadedTool, TeamDocument, ToolDocument,
    ToolSource,
};
use super::yaml::{Node, decode_text};
use crate::diagnostic::{Diagnostic, Location, Report, Severity, fold, nearest, one_of, shown_name};

/// An agent or a team, with everything its documents refer to.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The MAS document; absent when a lone agent was loaded.
    pub team: Option<TeamDocument>,
    /// The agents, in the order of the agency.
    pub agents: Vec<LoadedAgent>,
    /// The infra that the documents themselves ask for, in order.
    pub infra: Vec<InfraDocument>,
    /// What was found but stops nothing.
    pub warnings: Report,
}

/// Reads an Agent or a MAS, and everything it refers to, for a run.
///
/// # Errors
/// Every problem of every file, when there is an error among them.
pub fn load(path: &Path, options: &Options, environment: &Environment) -> Result<Loaded, Report> {
    let mut loader = Loader::new(options, environment);
    let id = loader.files.open(path);
    let documents = loader.take(id);
    let mut loaded = Loaded { team: None, agents: Vec::new(), infra: Vec::new(), warnings: Report::new() };
    match documents.into_iter().next() {
        Some(document) if document.kind == Kind::Agent => {
            let root = document.dir().to_path_buf();
            loader.need_variables(&document);
            let agent = AgentDocument::of(document);
            loader.infra_of(&agent.document, &mut loaded.infra);
            loaded.agents.push(loader.agent(agent.name.clone(), agent, &root));
        }
        Some(document) if document.kind == Kind::Mas => loader.team(document, &mut loaded),
        Some(document) => {
            let message =
                format!("a run starts from an Agent or a MAS, but this is of kind {}", document.kind.name());
            loader.report.push(Diagnostic::error("mas::manifest::not_runnable", &document.at(), message));
        }
        None => {}
    }
    let mut report = loader.report.sorted();
    if report.has_errors() {
        if let Some(inside) = manifest_in(path) {
            let name = shown_name(&inside, options.base.as_deref());
            report = report.iter().map(|d| d.clone().help(format!("did you mean `{name}`?"))).collect();
        }
        return Err(report);
    }
    loaded.warnings = report;
    Ok(loaded)
}

/// The manifest that a folder holds under its usual name.
fn manifest_in(folder: &Path) -> Option<PathBuf> {
    let files = ["mas.yaml", "agent.yaml"].map(|name| folder.join(name));
    folder.is_dir().then(|| files.into_iter().find(|file| file.is_file()))?
}

/// Reads infra documents by reference; relative ones start from `dir`.
///
/// # Errors
/// Every problem of every file, when there is an error among them.
pub fn load_infra(
    references: &[Located<String>],
    dir: &Path,
    options: &Options,
    environment: &Environment,
) -> Result<(Vec<InfraDocument>, Report), Report> {
    let mut loader = Loader::new(options, environment);
    let mut infra = Vec::new();
    for reference in references {
        loader.infra(reference, dir, &reference.at, &mut infra);
    }
    let report = loader.report.sorted();
    if report.has_errors() { Err(report) } else { Ok((infra, report)) }
}

/// Reads a flavour: a bundled name, a file of that name in `flavours/` under `dir`, or a path.
///
/// # Errors
/// Every problem of the file, or that there is no such flavour.
pub fn load_flavour(
    name: &Located<String>,
    dir: &Path,
    options: &Options,
    environment: &Environment,
) -> Result<(FlavourDocument, Report), Report> {
    let mut loader = Loader::new(options, environment);
    let by_path = name.contains(['/', '\\']) || name.ends_with(".yaml") || name.ends_with(".yml");
    let near = dir.join("flavours").join(format!("{}.yaml", name.value));
    let id = if by_path {
        Some(loader.files.open(&dir.join(&name.value)))
    } else if near.is_file() {
        Some(loader.files.open(&near))
    } else {
        loader.files.open_flavour(name)
    };
    let Some(id) = id else {
        let message = format!("there is no flavour `{}`", name.shown());
        let help = nearest(name, super::standard::flavour_names())
            .map(|known| format!("did you mean `{known}`?"))
            .unwrap_or_else(|| {
                format!("known: {}; a file is given by its path", one_of(super::standard::flavour_names()))
            });
        let report = [Diagnostic::error("mas::ref::unknown_flavour", &name.at, message).help(help)];
        return Err(report.into_iter().collect());
    };
    let documents = loader.take(id);
    loader.files.expect_kind(id, &[Kind::Flavour], name, "the flavour", &mut loader.report);
    let flavour =
        documents.into_iter().find(|document| document.kind == Kind::Flavour).map(FlavourDocument::of);
    match flavour {
        Some(flavour) if !loader.report.has_errors() => {
            loader.need_variables(&flavour.document);
            loader.report.clone().into_result((flavour, loader.report.sorted()))
        }
        _ => Err(loader.report.sorted()),
    }
}

struct Loader<'a> {
    files: Files<'a>,
    report: Report,
    open_bundles: Vec<PathBuf>,
    /// Infra documents in the order in which they were opened, bundles before what they hold.
    opened: Vec<Document>,
}

impl<'a> Loader<'a> {
    fn new(options: &'a Options, environment: &'a Environment) -> Self {
        Self {
            files: Files::new(options, environment, Purpose::Run),
            report: Report::new(),
            open_bundles: Vec::new(),
            opened: Vec::new(),
        }
    }

    /// The documents of a file; its problems go to the report once.
    fn take(&mut self, id: usize) -> Vec<Document> {
        let Some(file) = self.files.file_mut(id) else { return Vec::new() };
        self.report.merge(std::mem::take(&mut file.report));
        file.documents.clone()
    }

    fn need_variables(&mut self, document: &Document) {
        self.report
            .extend(document.missing.iter().map(|variable| missing_variable(variable, Severity::Error)));
    }

    fn open(
        &mut self,
        reference: &Located<String>,
        dir: &Path,
        wanted: &[Kind],
        what: &str,
    ) -> Vec<Document> {
        let Some(id) = self.files.open_reference(reference, dir, what, &mut self.report) else {
            return Vec::new();
        };
        let documents = self.take(id);
        self.files.expect_kind(id, wanted, reference, what, &mut self.report);
        documents.into_iter().filter(|document| wanted.contains(&document.kind)).collect()
    }

    fn team(&mut self, document: Document, loaded: &mut Loaded) {
        self.need_variables(&document);
        let dir = document.dir().to_path_buf();
        self.infra_of(&document, &mut loaded.infra);
        let rows: Vec<Node> = checks::agency_rows(&document.node).cloned().collect();
        for row in rows {
            let id = read::filled(row.get("id"));
            if let Some(reference) = read::filled(row.get("ref")) {
                for agent in self.open(&reference, &dir, &[Kind::Agent], "the agent") {
                    self.need_variables(&agent);
                    let agent = AgentDocument::of(agent);
                    self.infra_of(&agent.document, &mut loaded.infra);
                    let id = id.clone().unwrap_or_else(|| agent.name.clone());
                    let agent = self.agent(id, agent, &dir);
                    loaded.agents.push(agent);
                }
            } else if row.get("spec").is_some() {
                let mut inline = row.clone();
                drop_row_id(&mut inline);
                if let Some(agent) = self.files.check_document(&document.path, inline, &mut self.report) {
                    let agent = AgentDocument::of(agent);
                    let id = id.unwrap_or_else(|| agent.name.clone());
                    let agent = self.agent(id, agent, &dir);
                    loaded.agents.push(agent);
                }
            } else if let Some(id) = id {
                loaded.agents.push(LoadedAgent {
                    id,
                    document: None,
                    prompts: Vec::new(),
                    skill_texts: Vec::new(),
                    tools: Vec::new(),
                    dir: dir.clone(),
                });
            }
        }
        self.check_ids(&loaded.agents);
        loaded.team = Some(TeamDocument::of(document));
    }

    // Ids that come from the agents' own files are known only now.
    fn check_ids(&mut self, agents: &[LoadedAgent]) {
        let mut seen = std::collections::HashMap::new();
        for agent in agents {
            if let Some(first) = seen.insert(agent.id.value.as_str(), &agent.id.at)
                && *first != agent.id.at
            {
                let message = format!("the agent id `{}` is given twice", agent.id.shown());
                self.report.push(
                    Diagnostic::error("mas::manifest::duplicate_agent", &agent.id.at, message)
                        .says("again here")
                        .label(first, "first given here"),
                );
            }
        }
    }

    fn agent(&mut self, id: Located<String>, agent: AgentDocument, root: &Path) -> LoadedAgent {
        let dir = agent.document.dir().to_path_buf();
        let node = agent.document.node.clone();
        let prompts = self.prompts(&node, &dir);
        let skill_texts = self.skills(&node, &dir, root);
        let mut tools: Vec<LoadedTool> = Vec::new();
        for item in node.at_path("spec.tools").map_or(&[][..], Node::items) {
            if let Some(tool) = self.tool(item, &dir, root) {
                tools.push(tool);
            }
        }
        // A stable sort: equal priorities keep the order of the file.
        tools.sort_by_key(|tool| tool.priority);
        LoadedAgent { id, document: Some(agent), prompts, skill_texts, tools, dir }
    }

    fn prompts(&mut self, node: &Node, dir: &Path) -> Vec<(String, Located<String>)> {
        let chunks = node.at_path("spec.context").and_then(Node::map);
        let mut prompts = Vec::new();
        for entry in chunks.into_iter().flat_map(|map| map.iter()) {
            let text = match read::filled(entry.value.get("ref")) {
                Some(reference) => {
                    let path = fold(&dir.join(&reference.value));
                    if path.is_file() {
                        self.text_file(&path, &reference)
                    } else {
                        let options = self.files.options;
                        self.report.push(super::references::missing_file(
                            &reference,
                            &path,
                            "the prompt",
                            options,
                        ));
                        None
                    }
                }
                None => read::text(Some(&entry.value)).and_then(|text| match prompt_path(&text, dir) {
                    Some(path) => self.text_file(&path, &text),
                    None => Some(text),
                }),
            };
            prompts.extend(text.map(|text| (entry.key.to_string(), text)));
        }
        prompts
    }

    fn text_file(&mut self, path: &Path, reference: &Located<String>) -> Option<Located<String>> {
        let base = self.files.options.base.as_deref();
        let source = read_bytes(path, base).and_then(|bytes| decode_text(path, bytes, base));
        match source {
            Ok(source) => Some(Located::new(source.text().to_string(), reference.at.clone())),
            Err(diagnostic) => {
                self.report.push(diagnostic.label(&reference.at, "referred to here"));
                None
            }
        }
    }

    fn skills(&mut self, node: &Node, dir: &Path, root: &Path) -> Vec<(String, Located<String>)> {
        let mut texts = Vec::new();
        for name in skills::names(node) {
            let found = skills::find(&name, dir, &[root.to_path_buf()], self.files.options);
            let text = match found {
                Some(path) => self.text_file(&path, &name),
                None => {
                    self.report.push(skills::missing(&name, Purpose::Run));
                    None
                }
            };
            let plain = name.rsplit('/').next().unwrap_or(&name).to_owned();
            texts.extend(text.map(|text| (plain, text)));
        }
        texts
    }

    fn tool(&mut self, item: &Node, dir: &Path, root: &Path) -> Option<LoadedTool> {
        const DEFAULT_PRIORITY: i64 = 100;
        let priority = read::int(item.get("priority")).map_or(DEFAULT_PRIORITY, |priority| priority.value);
        let listed = |source, at: &Location| Some(LoadedTool { source, priority, at: at.clone() });
        if item.is_scalar() {
            let name = read::filled(Some(item))?;
            // A listing such as `samples:tools/calc.tool.yaml` is a reference without the word.
            if name.ends_with(".yaml") || name.contains(':') || name.contains('/') {
                return listed(self.tool_file(&name, dir)?, &item.at);
            }
            let mut looked = Vec::new();
            let mut beside = None;
            for place in [dir, root] {
                let path = fold(&place.join("tools").join(format!("{}.tool.yaml", name.value)));
                if beside.is_none() && path.is_file() {
                    let here = Located { value: path.display().to_string(), ..name.clone() };
                    if let Some(ToolSource::Document(tool)) = self.tool_file(&here, Path::new("")) {
                        beside = Some(tool);
                    }
                }
                if !looked.contains(&path) {
                    looked.push(path);
                }
            }
            return listed(ToolSource::Named { name, beside, looked }, &item.at);
        }
        if let Some(reference) = read::filled(item.get("ref")) {
            return listed(self.tool_file(&reference, dir)?, &reference.at);
        }
        let implementation = self.files.implementation(item, dir);
        listed(ToolSource::Inline(Box::new(implementation)), &item.at.part(0, 1))
    }

    fn tool_file(&mut self, reference: &Located<String>, dir: &Path) -> Option<ToolSource> {
        let document = self.open(reference, dir, &[Kind::Tool], "the tool").into_iter().next()?;
        self.need_variables(&document);
        let node = document.get("spec.impl").unwrap_or(&document.node);
        let implementation = self.files.implementation(node, document.dir());
        Some(ToolSource::Document(Box::new(ToolDocument::of(document, implementation))))
    }
}

// A text that names an existing file is read as that file; a value from the environment stays the text it is.
fn prompt_path(text: &Located<String>, dir: &Path) -> Option<PathBuf> {
    const LONGEST: usize = 512;
    let plain = text.value.trim();
    let like_a_path =
        !plain.is_empty() && plain.len() <= LONGEST && !plain.contains(['\n', '\0']) && !text.secret;
    let path = like_a_path.then(|| fold(&dir.join(plain)))?;
    path.is_file().then_some(path)
}
