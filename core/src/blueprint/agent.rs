//! One agent of the blueprint.

use std::collections::HashMap;

use super::llm::model_name;
use super::resolve::ResolveInput;
use super::types::{AgentBlueprint, LlmBlueprint, ModelBlueprint, ToolBlueprint, ToolImplementation};
use super::unsupported;
use crate::diagnostic::{Diagnostic, Location, Report, nearest, shown_name};
use crate::manifest::{
    AgentDocument, Implementation, InfraDocument, LoadedAgent, LoadedTool, Located, Selection, ToolDocument,
    ToolSource,
};

const DEFAULT_MODEL: &str = "gpt-4o-mini";
const DEFAULT_PATTERN: &str = "react";
const DEFAULT_CONTEXT_MANAGER: &str = "sliding-window";
const DEFAULT_TOOL_SECONDS: u64 = 30;

pub(super) struct AgentResolver<'a> {
    pub(super) input: &'a ResolveInput<'a>,
    pub(super) llm: &'a LlmBlueprint,
    pub(super) infra: &'a [&'a InfraDocument],
}

impl AgentResolver<'_> {
    pub(super) fn resolve(
        &self,
        loaded: &LoadedAgent,
        delegates_to: Vec<Located<String>>,
        report: &mut Report,
    ) -> AgentBlueprint {
        let Some(document) = &loaded.document else {
            return AgentBlueprint {
                id: loaded.id.clone(),
                name: loaded.id.clone(),
                description: loaded.id.clone(),
                external: true,
                delegates_to,
                at: loaded.id.at.clone(),
                ..AgentBlueprint::named(&loaded.id)
            };
        };
        unsupported::check_agent(&document.document, report);
        let config = self.input.defaults;
        let chosen = |own: &Option<Selection>, default: &Option<Selection>, name: &str| {
            own.clone().or_else(|| default.clone()).unwrap_or_else(|| Selection::named(name))
        };
        AgentBlueprint {
            id: loaded.id.clone(),
            name: document.name.clone(),
            version: document.version.clone(),
            description: document.description.clone(),
            external: false,
            system_prompt: system_prompt(loaded, document),
            model: self.model(document, report),
            pattern: chosen(&document.pattern, &config.design_pattern, DEFAULT_PATTERN),
            context_manager: chosen(
                &document.context_manager,
                &config.context_manager,
                DEFAULT_CONTEXT_MANAGER,
            ),
            tools: self.tools(&loaded.tools, report),
            delegates_to,
            skills: document.skills.clone(),
            provider: document.provider.clone(),
            at: loaded.id.at.clone(),
        }
    }

    fn model(&self, document: &AgentDocument, report: &mut Report) -> ModelBlueprint {
        let choice = &document.model;
        let model = self
            .input
            .options
            .model
            .clone()
            .or_else(|| choice.model.clone())
            .or_else(|| self.llm.default_model.clone())
            .or_else(|| self.input.defaults.model.clone())
            .unwrap_or_else(|| Located::unplaced(DEFAULT_MODEL));
        let standard = ModelBlueprint::named("");
        let mocked = unsupported::asks_for_mock(&document.document).then(|| Located::unplaced("mock"));
        let max_tokens = choice.max_tokens.as_ref().and_then(|most| u32::try_from(most.value).ok());
        let forced = self.input.mocked().is_some();
        let provider = mocked.or_else(|| choice.provider.clone()).filter(|_| !forced);
        let id = match &provider {
            // The infra's mappings and its list are about its own provider.
            Some(provider) if *provider != self.llm.provider => model,
            _ => model_name(self.llm, &model, report),
        };
        ModelBlueprint {
            id,
            provider,
            temperature: choice.temperature.as_ref().map_or(standard.temperature, |value| value.value),
            max_tokens: max_tokens.unwrap_or(standard.max_tokens),
        }
    }

    fn tools(&self, tools: &[LoadedTool], report: &mut Report) -> Vec<ToolBlueprint> {
        let resolved: Vec<ToolBlueprint> = tools.iter().filter_map(|tool| self.tool(tool, report)).collect();
        let mut seen: HashMap<&str, &Location> = HashMap::new();
        for tool in &resolved {
            if let Some(first) = seen.insert(&tool.name.value, &tool.at) {
                let message = format!("the tool `{}` is listed twice", tool.name.shown());
                report.push(
                    Diagnostic::error("mas::tool::duplicate", &tool.at, message)
                        .says("again here")
                        .label(first, "first listed here"),
                );
            }
        }
        resolved
    }

    fn tool(&self, tool: &LoadedTool, report: &mut Report) -> Option<ToolBlueprint> {
        let listed = Listed { priority: tool.priority, at: &tool.at };
        match &tool.source {
            ToolSource::Document(document) => {
                Some(of_document(document, &document.implementation, listed, report))
            }
            ToolSource::Inline(implementation) => {
                let name = inline_name(implementation);
                Some(of_implementation(name, implementation, listed, report))
            }
            ToolSource::Named { name, beside, looked } => {
                let provided = self.provided(name);
                match (provided, beside) {
                    // The provider says how it is run, the document beside the app says what it is.
                    (Some(implementation), Some(document)) => {
                        Some(of_document(document, implementation, listed, report))
                    }
                    (Some(implementation), None) => {
                        Some(of_implementation(name.clone(), implementation, listed, report))
                    }
                    (None, Some(document)) => {
                        Some(of_document(document, &document.implementation, listed, report))
                    }
                    (None, None) => {
                        report.push(self.unknown_tool(name, looked));
                        None
                    }
                }
            }
        }
    }

    fn providers(&self) -> impl DoubleEndedIterator<Item = &(Located<String>, Implementation)> {
        self.infra
            .iter()
            .filter_map(|document| match document {
                InfraDocument::Tools(tools) => Some(tools.iter()),
                _ => None,
            })
            .flatten()
    }

    fn provided(&self, name: &Located<String>) -> Option<&Implementation> {
        self.providers().rev().find(|(known, _)| known == name).map(|(_, implementation)| implementation)
    }

    fn unknown_tool(&self, name: &Located<String>, looked: &[std::path::PathBuf]) -> Diagnostic {
        let base = self.input.options.base.as_deref();
        let looked: Vec<String> = looked.iter().map(|path| format!("`{}`", shown_name(path, base))).collect();
        let message = format!("the tool `{}` is not found", name.shown());
        let known = self.providers().map(|(name, _)| name.value.as_str());
        let help =
            nearest(name, known).map(|known| format!("did you mean `{known}`?")).unwrap_or_else(|| {
                format!("no tool provider of the infra has it, and there is no {}", looked.join(" nor "))
            });
        Diagnostic::error("mas::tool::unknown", &name.at, message).help(help)
    }
}

fn system_prompt(loaded: &LoadedAgent, document: &AgentDocument) -> Located<String> {
    let chunk = |label: &str, key: &str, text: &str| format!("[{label}{key}] {}", text.trim_end());
    let mut secret = false;
    let mut chunks = Vec::new();
    let mut add = |label: &str, key: &str, text: &Located<String>| {
        secret |= text.secret;
        chunks.push(chunk(label, key, text));
    };
    loaded.prompts.iter().for_each(|(key, text)| add("", key, text));
    loaded.skill_texts.iter().for_each(|(name, text)| add("skill:", name, text));
    document.seeds.iter().for_each(|seed| add("memory:", &seed.key, &seed.content));
    let at = document
        .document
        .get("spec.context")
        .map_or_else(|| document.document.at(), |node| node.at.part(0, 1));
    Located { value: chunks.join("\n\n"), at, secret }
}

/// A tool by itself, without an agent that lists it.
pub(crate) fn tool_of(document: Option<&ToolDocument>, implementation: &Implementation) -> ToolBlueprint {
    let (listed, scratch) = (Listed { priority: 100, at: &implementation.at }, &mut Report::new());
    match document {
        Some(document) => of_document(document, implementation, listed, scratch),
        None => of_implementation(inline_name(implementation), implementation, listed, scratch),
    }
}

/// How an agent lists a tool.
#[derive(Clone, Copy)]
struct Listed<'a> {
    priority: i64,
    at: &'a Location,
}

fn of_document(
    document: &ToolDocument,
    implementation: &Implementation,
    tool: Listed<'_>,
    report: &mut Report,
) -> ToolBlueprint {
    let mut blueprint = of_implementation(document.name.clone(), implementation, tool, report);
    blueprint.description = Some(document.description.value.clone());
    blueprint.parameters = document.parameters_schema();
    blueprint.idempotent = document.idempotent;
    blueprint.timeout_seconds = document.timeout_seconds;
    blueprint
}

fn of_implementation(
    name: Located<String>,
    implementation: &Implementation,
    tool: Listed<'_>,
    report: &mut Report,
) -> ToolBlueprint {
    report.extend(implementation.broken.clone());
    ToolBlueprint {
        name,
        description: None,
        parameters: None,
        implementation: ToolImplementation {
            kind: implementation.kind.clone(),
            name: implementation.name.clone(),
            module_path: implementation.module_path.clone(),
            class_name: implementation.class_name.clone(),
            params: implementation.params.clone(),
            dir: implementation.dir.clone(),
        },
        idempotent: None,
        timeout_seconds: DEFAULT_TOOL_SECONDS,
        priority: tool.priority,
        at: tool.at.clone(),
    }
}

// A tool given in place is called by the built-in's name, else by its module's.
fn inline_name(implementation: &Implementation) -> Located<String> {
    if let Some(name) = &implementation.name {
        return name.clone();
    }
    match &implementation.module_path {
        Some(module) => {
            let stem =
                module.value.trim_end_matches(".py").rsplit(['/', '.']).next().unwrap_or_default().to_owned();
            module.clone().map(|_| stem)
        }
        None => implementation.kind.clone(),
    }
}
