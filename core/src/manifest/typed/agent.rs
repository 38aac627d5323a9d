//! Agents.

use std::path::PathBuf;

use super::tool::{Implementation, ToolDocument};
use crate::diagnostic::Location;
use crate::manifest::document::Document;
use crate::manifest::located::{Located, Selection};
use crate::manifest::read;
use crate::manifest::skills::{self, SkillEntry};
use crate::manifest::yaml::Node;

/// An Agent document.
#[derive(Clone, Debug)]
pub struct AgentDocument {
    /// The checked document.
    pub document: Document,
    /// `metadata.name`; the id in a MAS may differ.
    pub name: Located<String>,
    /// `spec.description`, else `metadata.description`, else the name.
    pub description: Located<String>,
    /// `metadata.version`, `0.1.0` by default.
    pub version: Located<String>,
    /// The model: `spec.llm` over the first of `spec.models`.
    pub model: ModelChoice,
    /// `spec.design_pattern`.
    pub pattern: Option<Selection>,
    /// `spec.context_manager`, when it names a type.
    pub context_manager: Option<Selection>,
    /// `spec.skills`.
    pub skills: Vec<SkillEntry>,
    /// `spec.memory_seed`.
    pub seeds: Vec<SeedText>,
    /// `spec.provider`: organization and URL, for cards.
    pub provider: (Option<String>, Option<String>),
}

/// Which model an agent asks for; absent parts come from the infra, the config or the defaults.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelChoice {
    /// The model's name.
    pub model: Option<Located<String>>,
    /// The provider, overriding the infra's.
    pub provider: Option<Located<String>>,
    /// Sampling temperature, 0 to 2.
    pub temperature: Option<Located<f64>>,
    /// Most tokens of one answer.
    pub max_tokens: Option<Located<i64>>,
}

/// A text that an agent's memory begins with.
#[derive(Clone, Debug, PartialEq)]
pub struct SeedText {
    /// Its key: `key`, else `id`, else `source`.
    pub key: String,
    /// The text.
    pub content: Located<String>,
}

/// An agent of a team with everything it refers to.
#[derive(Clone, Debug)]
pub struct LoadedAgent {
    /// Its id in the team.
    pub id: Located<String>,
    /// Its document; absent for an agent that runs elsewhere.
    pub document: Option<AgentDocument>,
    /// The prompt chunks, by key in file order, files read.
    pub prompts: Vec<(String, Located<String>)>,
    /// The texts of its skills, by name.
    pub skill_texts: Vec<(String, Located<String>)>,
    /// Its tools.
    pub tools: Vec<LoadedTool>,
    /// Its directory.
    pub dir: PathBuf,
}

/// A tool that an agent lists.
#[derive(Clone, Debug)]
pub struct LoadedTool {
    /// What the listing leads to.
    pub source: ToolSource,
    /// Order among the agent's tools; 100 by default.
    pub priority: i64,
    /// Where the agent lists it.
    pub at: Location,
}

/// What a tool listing leads to.
#[derive(Clone, Debug)]
pub enum ToolSource {
    /// A Tool document.
    Document(Box<ToolDocument>),
    /// A name, which the infra's tool providers or a file beside the app resolve.
    Named {
        /// The name.
        name: Located<String>,
        /// The Tool document of that name beside the app, if there is one.
        beside: Option<Box<ToolDocument>>,
        /// The files that were looked for.
        looked: Vec<PathBuf>,
    },
    /// An implementation given in place.
    Inline(Box<Implementation>),
}

impl AgentDocument {
    pub(crate) fn of(document: Document) -> Self {
        let name = document.name();
        let description = read::filled(document.get("spec.description"))
            .or_else(|| read::filled(document.get("metadata.description")))
            .unwrap_or_else(|| name.clone());
        let version = read::filled(document.get("metadata.version"))
            .unwrap_or_else(|| Located::new("0.1.0".to_owned(), document.at()));
        let provider =
            |key: &str| read::filled(document.get("spec.provider").and_then(|p| p.get(key))).map(|t| t.value);
        Self {
            model: model_of(&document),
            pattern: read::selection(document.get("spec.design_pattern")),
            context_manager: read::selection(document.get("spec.context_manager")),
            skills: skills::entries(&document.node),
            seeds: seeds_of(document.get("spec.memory_seed")),
            provider: (provider("organization"), provider("url")),
            name,
            description,
            version,
            document,
        }
    }
}

fn model_of(document: &Document) -> ModelChoice {
    let first = document.get("spec.models").and_then(|models| models.items().first());
    let llm = document.get("spec.llm");
    let pick =
        |key: &str| llm.and_then(|llm| llm.get(key)).or_else(|| first.and_then(|first| first.get(key)));
    // `any` is what a compiled manifest says when the model is left to the infra.
    let model = read::filled(pick("model")).filter(|model| model.value != "any");
    ModelChoice {
        model,
        provider: read::filled(pick("provider")),
        temperature: read::number(pick("temperature")),
        max_tokens: read::int(pick("max_tokens")),
    }
}

pub(crate) fn seeds_of(list: Option<&Node>) -> Vec<SeedText> {
    let items = list.map_or(&[][..], Node::items);
    let seed = |(index, item): (usize, &Node)| {
        let key = ["key", "id", "source"].iter().find_map(|key| read::filled(item.get(key)));
        let key = key.map_or_else(|| format!("{}", index + 1), |key| key.value);
        Some(SeedText { key, content: read::text(item.get("content"))? })
    };
    items.iter().enumerate().filter_map(seed).collect()
}
