//! Infra documents, bundles taken apart.

use std::path::Path;
use std::sync::Arc;

use super::Loader;
use crate::diagnostic::{Diagnostic, Location};
use crate::manifest::document::Document;
use crate::manifest::follow::INFRA_KINDS;
use crate::manifest::kind::Kind;
use crate::manifest::located::Located;
use crate::manifest::read;
use crate::manifest::typed::{ApplicationDocument, InfraDocument, LlmDocument, MiddlewareDocument};
use crate::manifest::yaml::Node;

impl Loader<'_> {
    pub(super) fn infra_of(&mut self, document: &Document, infra: &mut Vec<InfraDocument>) {
        let dir = document.dir().to_path_buf();
        for list in ["spec.infra_refs", "spec.infra_interceptors"] {
            for reference in read::texts(document.get(list)) {
                self.infra(&reference, &dir, &reference.at, infra);
            }
        }
    }

    pub(super) fn infra(
        &mut self,
        reference: &Located<String>,
        dir: &Path,
        asked_at: &Location,
        infra: &mut Vec<InfraDocument>,
    ) {
        for document in self.open(reference, dir, INFRA_KINDS, "the infra") {
            self.opened.push(document.clone());
            match document.kind {
                Kind::LlmProxy | Kind::LlmLocal => {
                    infra.push(InfraDocument::Llm(Box::new(LlmDocument::of(document))));
                }
                Kind::Application => {
                    infra.push(InfraDocument::Application(Box::new(ApplicationDocument::of(document))));
                }
                Kind::ToolProvider => infra.push(self.tools_of(&document)),
                Kind::InfraMiddleware => {
                    let middleware =
                        read::filled(document.get("spec.middleware")).unwrap_or_else(|| document.name());
                    infra.push(InfraDocument::Middleware(MiddlewareDocument {
                        middleware,
                        asked_at: asked_at.clone(),
                    }));
                }
                Kind::InfraBundle => self.bundle(&document, reference, asked_at, infra),
                _ => {}
            }
        }
    }

    fn bundle(
        &mut self,
        document: &Document,
        reference: &Located<String>,
        asked_at: &Location,
        infra: &mut Vec<InfraDocument>,
    ) {
        if self.open_bundles.contains(&document.path) {
            let message = "the bundle refers back to a file that refers to it";
            let diagnostic = Diagnostic::error("mas::ref::cycle", &reference.at, message);
            self.report.push(diagnostic.help("take one of the references out"));
            return;
        }
        self.need_variables(document);
        self.open_bundles.push(document.path.clone());
        let dir = document.dir().to_path_buf();
        // Problems of a bundled document are shown where a person asked for it.
        let bundled = document.path.to_string_lossy().starts_with("standard:");
        let asked = |at: &Location| if bundled { asked_at.clone() } else { at.clone() };
        let mut references: Vec<Located<String>> = read::texts(document.get("spec.includes"));
        let mut stages: Vec<&Node> =
            document.get("spec.interceptors").map_or(&[][..], Node::items).iter().collect();
        for entry in document.get("spec.entries").map_or(&[][..], Node::items) {
            references.extend(read::filled(entry.get("ref")));
            stages.extend(entry.get("pipeline").map_or(&[][..], Node::items));
        }
        for stage in stages {
            if let Some(middleware) = read::filled(stage.get("middleware")) {
                let asked_at = asked(&middleware.at);
                infra.push(InfraDocument::Middleware(MiddlewareDocument { middleware, asked_at }));
            } else {
                let stage = if stage.is_scalar() {
                    read::filled(Some(stage))
                } else {
                    read::filled(stage.get("ref"))
                };
                references.extend(stage);
            }
        }
        for reference in references {
            let at = asked(&reference.at);
            self.infra(&reference, &dir, &at, infra);
        }
        self.open_bundles.pop();
    }

    fn tools_of(&mut self, document: &Document) -> InfraDocument {
        let dir: Arc<Path> = Arc::from(document.dir());
        let entries = document.get("spec.tools").and_then(Node::map).into_iter().flat_map(|map| map.iter());
        let tools = entries.map(|entry| {
            let name = Located::new(entry.key.to_string(), entry.key_at.clone());
            (name, self.files.implementation(&entry.value, &dir))
        });
        InfraDocument::Tools(tools.collect())
    }
}
