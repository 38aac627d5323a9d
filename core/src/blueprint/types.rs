//! What a blueprint holds.

use std::{path::PathBuf, sync::Arc};

use mas_contracts::{AgentProfile, ProviderProfile, SkillProfile};
use serde_json::Value as Json;

use crate::diagnostic::Location;
use crate::manifest::{Endpoint, Located, MissingVariable, Params, Selection, SkillEntry, Usage};

/// A team as it is to run, with every name still to be found in the registry.
#[derive(Clone, Debug)]
pub struct Blueprint {
    /// The team's name; a lone agent's name.
    pub name: Located<String>,
    /// What the team is for, in a sentence.
    pub intent: Option<String>,
    /// The id of the agent that takes the user's input.
    pub entry: Located<String>,
    /// The agents, in the order of the agency.
    pub agents: Vec<AgentBlueprint>,
    /// Where agents are reached and exposed.
    pub endpoints: Vec<EndpointBlueprint>,
    /// Which comm backend each layer asks for.
    pub agent_comm: CommSelections,
    /// The model provider.
    pub llm: LlmBlueprint,
    /// Observability sinks, in order.
    pub observability: Vec<Selection>,
    /// Where the tasks of exposed agents are kept; the registry's default if absent.
    pub store: Option<Selection>,
    /// Whether delegation may go in circles.
    pub allow_cycles: bool,
    /// Limits that differ from the defaults.
    pub limits: Limits,
    /// SHA-256 in hex over everything above but places and values from the environment.
    pub hash: String,
}

/// One agent.
#[derive(Clone, Debug)]
pub struct AgentBlueprint {
    /// Its id in the team.
    pub id: Located<String>,
    /// Its own name.
    pub name: Located<String>,
    /// Its version; `0.1.0` by default.
    pub version: Located<String>,
    /// What it does, for those who may delegate to it.
    pub description: Located<String>,
    /// Whether it runs elsewhere: it has no document, only an endpoint.
    pub external: bool,
    /// The system prompt, one text.
    pub system_prompt: Located<String>,
    /// The model.
    pub model: ModelBlueprint,
    /// The pattern of its turns.
    pub pattern: Selection,
    /// How its history is shown to the model.
    pub context_manager: Selection,
    /// Its tools, by priority.
    pub tools: Vec<ToolBlueprint>,
    /// The agents it may delegate to.
    pub delegates_to: Vec<Located<String>>,
    /// Its skills, for cards.
    pub skills: Vec<SkillEntry>,
    /// Organization and URL of its provider, for cards.
    pub provider: (Option<String>, Option<String>),
    /// Where it is declared.
    pub at: Location,
}

/// The model of one agent.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelBlueprint {
    /// The name, after the infra's mappings.
    pub id: Located<String>,
    /// Another provider than the team's.
    pub provider: Option<Located<String>>,
    /// Sampling temperature; 0.7 by default.
    pub temperature: f64,
    /// Most tokens of one answer; 2000 by default.
    pub max_tokens: u32,
}

/// One tool of an agent.
#[derive(Clone, Debug)]
pub struct ToolBlueprint {
    /// Its name, as the model calls it.
    pub name: Located<String>,
    /// The text the model sees; absent when only the implementation knows it.
    pub description: Option<String>,
    /// The JSON schema of its arguments; absent when only the implementation knows it.
    pub parameters: Option<Json>,
    /// How it is run.
    pub implementation: ToolImplementation,
    /// Whether calling it twice does no more than calling it once; absent when only the implementation knows it.
    pub idempotent: Option<bool>,
    /// Longest run in seconds; 30 by default.
    pub timeout_seconds: u64,
    /// Order among the agent's tools; 100 by default.
    pub priority: i64,
    /// Where the agent lists it.
    pub at: Location,
}

/// How a tool is run.
#[derive(Clone, Debug)]
pub struct ToolImplementation {
    /// The kind, to be found in the registry: `native`, `python`, ….
    pub kind: Located<String>,
    /// The built-in's name, for kinds that have one.
    pub name: Option<Located<String>>,
    /// The module, for kinds that have one.
    pub module_path: Option<Located<String>>,
    /// The class in the module.
    pub class_name: Option<String>,
    /// Its parameters.
    pub params: Params,
    /// The directory that its relative paths start from.
    pub dir: PathBuf,
}

/// One endpoint.
#[derive(Clone, Debug)]
pub struct EndpointBlueprint {
    /// The agent it is for.
    pub agent: Located<String>,
    /// The backend.
    pub protocol: Located<String>,
    /// What it is for.
    pub usage: Located<Usage>,
    /// The address.
    pub url: Option<Located<String>>,
    /// Headers of each call; `Debug` hides their values.
    pub headers: Vec<(Located<String>, Located<String>)>,
    /// Longest wait in seconds, or several for the phases of a call, as its backend reads them.
    pub timeout_seconds: Option<Located<serde_json::Value>>,
    /// The `a2a` block.
    pub a2a: Option<Params>,
    /// What is put around each send, as [`Layers`](crate::wiring::layers::Layers) are read.
    pub layers: Option<Params>,
    /// Parameters of other protocols.
    pub params: Params,
    /// Variables that it names and that are not set; an error for whoever needs the endpoint.
    pub missing: Vec<MissingVariable>,
    /// The directory that relative paths in it start from.
    pub dir: PathBuf,
    /// Where it is declared.
    pub at: Location,
}

impl From<&Endpoint> for EndpointBlueprint {
    fn from(row: &Endpoint) -> Self {
        Self {
            agent: row.agent.clone(),
            protocol: row.protocol.clone(),
            usage: row.usage.clone(),
            url: row.url.clone(),
            headers: row.headers.clone(),
            timeout_seconds: row.timeout_seconds.clone(),
            a2a: row.a2a.clone(),
            layers: row.layers.clone(),
            params: row.params.clone(),
            missing: row.missing.clone(),
            dir: row.dir.clone(),
            at: row.at.clone(),
        }
    }
}

/// Which comm backend each layer asks for; the first that is there wins, an endpoint's protocol before all.
#[derive(Clone, Debug, Default)]
pub struct CommSelections {
    /// The MAS: `spec.agent_comm`.
    pub team: Option<Selection>,
    /// The flavour.
    pub flavour: Option<Selection>,
    /// The config: `defaults.agent_comm`.
    pub config: Option<Selection>,
}

/// The model provider.
#[derive(Clone, Debug)]
pub struct LlmBlueprint {
    /// Its name, to be found in the registry.
    pub provider: Located<String>,
    /// The address.
    pub api_base: Option<Located<String>>,
    /// The name of the variable that holds the key.
    pub api_key_env: Option<Located<String>>,
    /// Models that may be asked for; none means any.
    pub allowed: Vec<Located<String>>,
    /// Model names of agents to model names of the provider.
    pub mappings: Vec<(Located<String>, Located<String>)>,
    /// The model for agents that name none.
    pub default_model: Option<Located<String>>,
    /// Its parameters.
    pub params: Params,
    /// Parameters of its connection, such as `headers` and `timeout`; those of `params` win.
    pub connection: Params,
    /// The directory that relative paths in the parameters start from.
    pub dir: PathBuf,
    /// Where it is declared.
    pub at: Location,
}

/// Limits that differ from the defaults; absent ones are the defaults.
///
/// A MAS states them at its root, under `x-mas-limits`, by these names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Deepest delegation.
    pub depth: Option<u16>,
    /// Calls of one answer that run side by side.
    pub calls_at_once: Option<usize>,
    /// Delegations in one answer.
    pub delegations_per_answer: Option<usize>,
    /// Longest delegation in seconds.
    pub delegation_seconds: Option<u64>,
    /// Model calls of one run.
    pub model_calls: Option<u64>,
    /// Tokens of one run.
    pub tokens: Option<u64>,
    /// Longest run in seconds.
    pub run_seconds: Option<u64>,
    /// Who answers a peer's question: the model instead of the person at the root.
    pub question_to_model: Option<bool>,
}

impl LlmBlueprint {
    /// A provider by name, without address or parameters.
    pub fn named(provider: &str) -> Self {
        let at = Location::named("(built in)");
        Self {
            provider: Located::new(provider.to_owned(), at.clone()),
            api_base: None,
            api_key_env: None,
            allowed: Vec::new(),
            mappings: Vec::new(),
            default_model: None,
            params: Params::none(at.clone()),
            connection: Params::none(at.clone()),
            dir: PathBuf::new(),
            at,
        }
    }
}

impl AgentBlueprint {
    /// An agent with defaults everywhere, to build teams by hand.
    pub fn named(id: &str) -> Self {
        let text = |value: &str| Located::<String>::unplaced(value);
        Self {
            id: text(id),
            name: text(id),
            version: text("0.1.0"),
            description: text(id),
            external: false,
            system_prompt: text(""),
            model: ModelBlueprint::named("gpt-4o-mini"),
            pattern: Selection::named("react"),
            context_manager: Selection::named("sliding-window"),
            tools: Vec::new(),
            delegates_to: Vec::new(),
            skills: Vec::new(),
            provider: (None, None),
            at: Location::named("(built in)"),
        }
    }

    /// What it is, as its manifest says.
    #[must_use]
    pub fn profile(&self) -> AgentProfile {
        let text = |text: &Option<String>| text.as_deref().map(Arc::<str>::from);
        let skills = self.skills.iter().map(|skill| {
            let name = skill.name.value.as_str();
            // A library's skill is known by its own name.
            let plain =
                name.strip_prefix('@').and_then(|rest| rest.split_once('/')).map_or(name, |(_, own)| own);
            SkillProfile {
                id: text(&skill.id).unwrap_or_else(|| plain.into()),
                name: plain.into(),
                description: text(&skill.description).unwrap_or_default(),
            }
        });
        let (organization, url) = &self.provider;
        AgentProfile {
            id: self.id.value.as_str().into(),
            name: self.name.value.as_str().into(),
            version: self.version.value.as_str().into(),
            description: self.description.value.as_str().into(),
            skills: skills.collect(),
            provider: (organization.is_some() || url.is_some())
                .then(|| ProviderProfile { organization: text(organization), url: text(url) }),
        }
    }
}

impl ModelBlueprint {
    /// A model by name with the default temperature and length.
    pub fn named(id: &str) -> Self {
        Self { id: Located::unplaced(id), provider: None, temperature: 0.7, max_tokens: 2000 }
    }
}

impl Blueprint {
    /// A team of agents, the first of which is the entry, to be filled in by hand.
    pub fn of_agents(name: &str, agents: Vec<AgentBlueprint>) -> Self {
        let entry = agents.first().map_or_else(|| Located::unplaced(""), |agent| agent.id.clone());
        let mut blueprint = Self {
            name: Located::unplaced(name),
            intent: None,
            entry,
            agents,
            endpoints: Vec::new(),
            agent_comm: CommSelections::default(),
            llm: LlmBlueprint::named("mock"),
            observability: Vec::new(),
            store: None,
            allow_cycles: false,
            limits: Limits::default(),
            hash: String::new(),
        };
        blueprint.rehash();
        blueprint
    }

    /// The agent of an id.
    pub fn agent(&self, id: &str) -> Option<&AgentBlueprint> {
        self.agents.iter().find(|agent| agent.id.value == id)
    }
}
