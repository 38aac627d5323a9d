//! What a turn needs of its agent.

use std::{collections::HashMap, sync::Arc, time::Duration};

use mas_contracts::{
    AgentCommContract, AgentProfile, ContextManagerContract, Error, ModelContract, PatternContract, Peer,
    Result, Surface, ToolContract, ToolSpec,
};

/// A wired agent.
pub struct Agent {
    /// What it is.
    pub profile: AgentProfile,
    /// The system prompt; empty for none.
    pub system: Arc<str>,
    /// The model's name.
    pub model_name: Arc<str>,
    /// Sampling temperature.
    pub temperature: Option<f64>,
    /// Most tokens that one model call writes.
    pub max_tokens: Option<u64>,
    /// The model.
    pub model: Arc<dyn ModelContract>,
    /// The pattern of its turns.
    pub pattern: Arc<dyn PatternContract>,
    /// What of the past the model sees.
    pub context: Arc<dyn ContextManagerContract>,
    /// Its tools.
    pub toolbox: Toolbox,
    /// Whom it may delegate to, by handle.
    pub routes: HashMap<Arc<str>, Route>,
    /// The limits of its turns.
    pub limits: TurnLimits,
}

/// How a delegation target is reached.
#[derive(Clone)]
pub struct Route {
    /// The name of the backend.
    pub name: Arc<str>,
    /// The backend.
    pub comm: Arc<dyn AgentCommContract>,
    /// The target.
    pub peer: Peer,
}

/// Who answers the question of a peer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnQuestion {
    /// The person at the root: the whole turn waits.
    #[default]
    Root,
    /// The model that delegated.
    Model,
}

/// The limits of one turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnLimits {
    /// Calls that run side by side; more wait; default 16.
    pub calls_at_once: usize,
    /// Delegations in one model answer; those beyond it fail; default 128.
    pub delegations_per_answer: usize,
    /// How long one delegation may take; default 300 s.
    pub delegation: Duration,
    /// Who answers a peer's question; default the root.
    pub on_question: OnQuestion,
}

impl Default for TurnLimits {
    fn default() -> Self {
        Self {
            calls_at_once: 16,
            delegations_per_answer: 128,
            delegation: Duration::from_secs(300),
            on_question: OnQuestion::Root,
        }
    }
}

/// One tool with its source and the check of its arguments.
pub struct Tool {
    /// What the model sees.
    pub spec: Arc<ToolSpec>,
    /// Who runs it.
    pub source: Arc<dyn ToolContract>,
    check: jsonschema::Validator,
}

impl Tool {
    /// Binds a tool; its schema is compiled once, here.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](mas_contracts::ErrorKind::Invalid) when the schema is none.
    pub fn new(spec: ToolSpec, source: Arc<dyn ToolContract>) -> Result<Self> {
        let check = jsonschema::validator_for(&spec.parameters).map_err(|error| {
            Error::invalid(format!(
                "tool `{}` declares parameters that are no JSON schema: {error}",
                spec.name
            ))
            .with_code("mas::tool::schema")
        })?;
        Ok(Self { spec: Arc::new(spec), source, check })
    }

    /// The first way in which arguments differ from the schema.
    pub(super) fn mismatch(&self, arguments: &serde_json::Value) -> Option<String> {
        self.check.validate(arguments).err().map(|error| {
            let place = error.instance_path().to_string();
            let place = if place.is_empty() { String::new() } else { format!(" at `{place}`") };
            format!("{error}{place}")
        })
    }
}

/// The tools on offer: delegation first, then the agent's own, in order of declaration.
#[derive(Default)]
pub struct Toolbox {
    surface: Option<Arc<dyn Surface>>,
    tools: HashMap<Arc<str>, Tool>,
    offered: Vec<Arc<ToolSpec>>,
}

impl Toolbox {
    /// Puts the tools together.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](mas_contracts::ErrorKind::Invalid) for two tools of one name.
    pub fn new(surface: Option<Arc<dyn Surface>>, tools: Vec<Tool>) -> Result<Self> {
        let mut offered: Vec<Arc<ToolSpec>> =
            surface.iter().flat_map(|s| s.tools().iter().cloned()).collect();
        let mut by_name = HashMap::with_capacity(tools.len());
        for tool in tools {
            if offered.iter().any(|spec| spec.name == tool.spec.name) {
                let name = &tool.spec.name;
                return Err(
                    Error::invalid(format!("two tools are named `{name}`")).with_code("mas::tool::duplicate")
                );
            }
            offered.push(tool.spec.clone());
            by_name.insert(tool.spec.name.clone(), tool);
        }
        Ok(Self { surface, tools: by_name, offered })
    }

    /// The tools, as the model sees them.
    #[must_use]
    pub fn offered(&self) -> &[Arc<ToolSpec>] {
        &self.offered
    }

    pub(super) fn surface(&self) -> Option<&Arc<dyn Surface>> {
        self.surface.as_ref()
    }

    /// Where the tools come from, once per tool.
    pub(crate) fn sources(&self) -> impl Iterator<Item = &Arc<dyn ToolContract>> {
        self.tools.values().map(|tool| &tool.source)
    }

    pub(super) fn tool(&self, name: &str) -> Option<&Tool> {
        self.tools.get(name)
    }
}
