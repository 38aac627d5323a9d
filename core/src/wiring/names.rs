//! Names and parameters of one document by itself, as a validation looks at them: before anything is resolved.
//!
//! What a run would refuse is an error here too. The one exception is a name that MAS Lab has and this program does
//! not have yet: the file is as it should be, so that is a warning.

use mas_contracts::Category;
use serde_json::Value;

use super::{
    exposures,
    models::params_of,
    wire::{
        check_layers, check_params, comm_params, find, refuse_idle_layers, refused_row, tool_params,
        unusable_row,
    },
};
use crate::{
    blueprint::{EndpointBlueprint, IDLE_SINK, ToolBlueprint, provider_of, tool_of},
    config::Defaults,
    diagnostic::{Diagnostic, Report},
    manifest::{
        ApplicationDocument, Document, FlavourDocument, Implementation, InfraDocument, Kind, LlmDocument,
        Located, Params, Selection, ToolDocument, reading, yaml::Node,
    },
    registry::Registry,
};

/// Names of MAS Lab's that nothing here has yet, by category.
const LATER: &[(Category, &[&str])] = &[
    (
        Category::DesignPattern,
        &[
            "broadcast_ack",
            "cot",
            "deterministic_linear",
            "deterministic_parallel",
            "deterministic_single",
            "introspection",
            "plan_execute",
            "reflection",
            "tot",
            "tree_of_thoughts",
        ],
    ),
    (Category::ContextManager, &["summarising", "summarizing"]),
    (Category::ToolProvider, &["mcp", "openapi", "remote_tool"]),
    (Category::AgentComm, &["nats"]),
];

/// Checks every name of a plugin in a document, and its parameters where the document is sound so far: `report` has
/// what was found in it.
pub fn check_names(registry: &Registry, document: &Document, report: &mut Report) {
    // What a variable that is not set would say is not known.
    let sound = !report.has_errors() && document.missing.is_empty();
    let mut look = Look { registry, sound, report };
    let get = |path: &str| document.get(path);
    match document.kind {
        Kind::Agent => {
            look.selection(Category::DesignPattern, reading::selection(get("spec.design_pattern")));
            look.selection(Category::ContextManager, reading::selection(get("spec.context_manager")));
            let first = get("spec.models").and_then(|models| models.items().first());
            for holder in [get("spec.llm"), first].into_iter().flatten() {
                look.provider(reading::filled(holder.get("provider")));
            }
            for tool in get("spec.tools").map_or(&[][..], Node::items) {
                if tool.map().is_some() && tool.get("ref").is_none() {
                    look.implementation(tool, document);
                }
            }
        }
        Kind::Tool => {
            if let Some(node) = get("spec.impl").filter(|node| node.map().is_some()) {
                let implementation = Implementation::of(node, document.dir().to_path_buf(), None);
                let document = ToolDocument::of(document.clone(), implementation);
                look.tool(&tool_of(Some(&document), &document.implementation));
            }
        }
        Kind::ToolProvider => {
            for entry in get("spec.tools").and_then(Node::map).into_iter().flat_map(|map| map.iter()) {
                look.implementation(&entry.value, document);
            }
        }
        Kind::LlmProxy | Kind::LlmLocal => {
            look.infra(&InfraDocument::Llm(Box::new(LlmDocument::of(document.clone()))));
        }
        Kind::Application => {
            look.infra(&InfraDocument::Application(Box::new(ApplicationDocument::of(document.clone()))));
        }
        Kind::Mas => look.backend(reading::selection(get("spec.agent_comm")).map(|chosen| chosen.name)),
        Kind::Flavour => {
            look.backend(FlavourDocument::of(document.clone()).agent_comm.map(|chosen| chosen.name));
        }
        _ => {}
    }
    if matches!(document.kind, Kind::Agent | Kind::Flavour) {
        // What has no effect yet stops no run, which warns of it.
        let sinks = reading::observers(get("spec.observability"));
        for observer in sinks.into_iter().filter(|sink| sink.name.value != IDLE_SINK) {
            look.selection(Category::Observability, Some(observer));
        }
    }
}

/// Checks the names and parameters of infra that flags and configuration choose, which is sound.
pub fn check_infra(registry: &Registry, infra: &InfraDocument, report: &mut Report) {
    Look { registry, sound: true, report }.infra(infra);
}

/// Checks the names and parameters of a configuration's defaults.
pub fn check_defaults(registry: &Registry, defaults: &Defaults, report: &mut Report) {
    let mut look = Look { registry, sound: true, report };
    look.selection(Category::DesignPattern, defaults.design_pattern.clone());
    look.selection(Category::ContextManager, defaults.context_manager.clone());
    look.selection(Category::Store, defaults.store.clone());
    look.backend(defaults.agent_comm.clone().map(|chosen| chosen.name));
}

struct Look<'a> {
    registry: &'a Registry,
    sound: bool,
    report: &'a mut Report,
}

impl Look<'_> {
    /// Whether a name is one for later, which is told.
    fn comes_later(&mut self, category: Category, name: &Located<String>) -> bool {
        let plain = name.value.split('@').next().unwrap_or_default();
        let listed = LATER.iter().any(|(of, names)| *of == category && names.contains(&plain));
        let later = listed && self.registry.find(category, &name.value).is_err();
        if later {
            let message =
                format!("the {category} `{}` is not there yet: a run that needs it is refused", name.shown());
            let names = self.registry.list(Some(category));
            let help = crate::diagnostic::one_of(names.iter().map(|row| row.name.as_str()));
            self.report.push(
                Diagnostic::warning("mas::registry::not_yet", &name.at, message)
                    .help(format!("there are: {help}")),
            );
        }
        later
    }

    fn check(&mut self, category: Category, name: &Located<String>, params: &Value, place: &Params) {
        if self.comes_later(category, name) {
            return;
        }
        if let Some(descriptor) = find(self.registry, category, name, self.report)
            && self.sound
        {
            check_params(descriptor, params, place, self.report);
        }
    }

    fn selection(&mut self, category: Category, choice: Option<Selection>) {
        if let Some(Selection { name, params }) = choice {
            self.check(category, &name, params.value(), &params);
        }
    }

    fn provider(&mut self, name: Option<Located<String>>) {
        // Its parameters are the infra's, where that names the same provider.
        if let Some(name) = name {
            find(self.registry, Category::LlmProvider, &name, self.report);
        }
    }

    /// Its parameters depend on the endpoint that a delegation goes to.
    fn backend(&mut self, name: Option<Located<String>>) {
        if let Some(name) = name
            && !self.comes_later(Category::AgentComm, &name)
        {
            find(self.registry, Category::AgentComm, &name, self.report);
        }
    }

    fn protocol(&mut self, name: &Located<String>) {
        if self.registry.find(Category::AgentExpose, &name.value).is_err() {
            self.backend(Some(name.clone()));
        }
    }

    /// What its protocol says of an endpoint that listens, and of one that is used. What both refuse is told once.
    fn endpoint(&mut self, row: &EndpointBlueprint) {
        refuse_idle_layers(row, self.report);
        check_layers(row, self.report);
        let find = |category| self.registry.find(category, &row.protocol.value).ok();
        let listens = find(Category::AgentExpose).filter(|_| row.usage.value.deploys());
        let problems =
            listens.map(|descriptor| (descriptor.check)(&exposures::params_of(row))).unwrap_or_default();
        if !problems.is_empty() {
            self.report.extend(problems.into_iter().map(|problem| refused_row(row, problem)));
        } else if let Some(descriptor) = find(Category::AgentComm).filter(|_| row.usage.value.uses()) {
            let problems = (descriptor.check)(&comm_params(&row.params, Some(row))).into_iter();
            self.report.extend(problems.map(|problem| unusable_row(row, problem)));
        }
    }

    fn implementation(&mut self, node: &Node, document: &Document) {
        if node.map().is_some() {
            let implementation = Implementation::of(node, document.dir().to_path_buf(), None);
            self.tool(&tool_of(None, &implementation));
        }
    }

    fn tool(&mut self, tool: &ToolBlueprint) {
        let implementation = &tool.implementation;
        self.check(Category::ToolProvider, &implementation.kind, &tool_params(tool), &implementation.params);
    }

    fn infra(&mut self, infra: &InfraDocument) {
        match infra {
            InfraDocument::Llm(llm) => self.llm(infra, llm),
            InfraDocument::Application(application) => {
                for endpoint in &application.endpoints {
                    self.protocol(&endpoint.protocol);
                    if self.sound && endpoint.missing.is_empty() {
                        self.endpoint(&EndpointBlueprint::from(endpoint));
                    }
                }
            }
            InfraDocument::Tools(tools) => {
                for (_, implementation) in tools {
                    self.tool(&tool_of(None, implementation));
                }
            }
            InfraDocument::Middleware(_) => {}
        }
    }

    fn llm(&mut self, infra: &InfraDocument, llm: &LlmDocument) {
        let Some(descriptor) = find(self.registry, Category::LlmProvider, &llm.provider, self.report) else {
            return;
        };
        if self.sound && llm.document.missing.is_empty() {
            let merged = provider_of(infra);
            let params = params_of(&merged, &(descriptor.schema)());
            check_params(descriptor, &params, &merged.params, self.report);
        }
    }
}
