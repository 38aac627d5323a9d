//! Infra.

use std::path::PathBuf;

use super::tool::Implementation;
use crate::diagnostic::Location;
use crate::manifest::document::Document;
use crate::manifest::environment::{MissingVariable, missing_of};
use crate::manifest::located::{Located, Params};
use crate::manifest::read;
use crate::manifest::yaml::Node;

/// One infra document, bundles taken apart.
#[derive(Clone, Debug)]
pub enum InfraDocument {
    /// A model provider.
    Llm(Box<LlmDocument>),
    /// Something around calls.
    Middleware(MiddlewareDocument),
    /// Where agents are reached and exposed.
    Application(Box<ApplicationDocument>),
    /// Tools by name.
    Tools(Vec<(Located<String>, Implementation)>),
}

/// Where agents are reached and exposed.
#[derive(Clone, Debug)]
pub struct ApplicationDocument {
    /// The checked document.
    pub document: Document,
    /// Its rows.
    pub endpoints: Vec<Endpoint>,
}

/// A model provider's document.
#[derive(Clone, Debug)]
pub struct LlmDocument {
    /// The checked document.
    pub document: Document,
    /// The provider's name; `openai` when the document only gives an address.
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
    /// Parameters of the provider.
    pub params: Params,
    /// What `proxy` or `server` says beside the address and the key, such as `headers` and `timeout`: more
    /// parameters of the provider.
    pub connection: Params,
}

/// A middleware, with the reference that asks for it.
#[derive(Clone, Debug)]
pub struct MiddlewareDocument {
    /// Its kind, as `llm_cache`.
    pub middleware: Located<String>,
    /// Where it is asked for.
    pub asked_at: Location,
}

/// What an endpoint is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Usage {
    /// Only to reach the agent.
    #[default]
    Use,
    /// Only to listen.
    Deploy,
    /// Both.
    UseAndDeploy,
}

impl Usage {
    /// Whether calls go through the endpoint.
    pub fn uses(self) -> bool {
        matches!(self, Self::Use | Self::UseAndDeploy)
    }

    /// Whether the endpoint may listen.
    pub fn deploys(self) -> bool {
        matches!(self, Self::Deploy | Self::UseAndDeploy)
    }

    /// The word in documents.
    pub fn word(self) -> &'static str {
        match self {
            Self::Use => "use",
            Self::Deploy => "deploy",
            Self::UseAndDeploy => "use-and-deploy",
        }
    }
}

/// One endpoint row of an Application.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// The agent it is for.
    pub agent: Located<String>,
    /// The backend.
    pub protocol: Located<String>,
    /// What it is for.
    pub usage: Located<Usage>,
    /// The address.
    pub url: Option<Located<String>>,
    /// Headers of each call; their values are never shown.
    pub headers: Vec<(Located<String>, Located<String>)>,
    /// Longest wait in seconds, or several for the phases of a call, as its backend reads them.
    pub timeout_seconds: Option<Located<serde_json::Value>>,
    /// The `a2a` block.
    pub a2a: Option<Params>,
    /// What is put around each send, as [`Layers`](crate::wiring::layers::Layers) are read.
    pub layers: Option<Params>,
    /// Everything else in the row, for its backend to check.
    pub params: Params,
    /// Variables the row names that are not set.
    pub missing: Vec<MissingVariable>,
    /// The directory that relative paths in the row start from.
    pub dir: PathBuf,
    /// Where the row stands.
    pub at: Location,
}

impl LlmDocument {
    const ADDRESS: &[&str] = &["api_base", "api_key_env"];

    pub(crate) fn of(document: Document) -> Self {
        let spec = |path: &str| document.get("spec").and_then(|spec| spec.at_path(path));
        let address = |key: &str| {
            let holders = [spec("proxy"), spec("server")];
            holders.into_iter().flatten().find_map(|holder| read::filled(holder.get(key)))
        };
        let provider = ["model_access.provider", "provider", "protocol"]
            .iter()
            .find_map(|path| read::filled(spec(path)))
            .unwrap_or_else(|| Located::new("openai".to_owned(), document.at()));
        let params = spec("model_access.params").or_else(|| spec("params"));
        Self {
            api_base: address("api_base"),
            api_key_env: address("api_key_env"),
            allowed: read::texts(spec("models.allowed")),
            mappings: read::text_map(spec("models.mappings")),
            default_model: read::filled(spec("models.defaults.llm"))
                .or_else(|| read::filled(spec("defaults.llm"))),
            params: Params::of_or_none(params, &provider.at),
            connection: spec("proxy")
                .or_else(|| spec("server"))
                .map_or_else(|| Params::none(provider.at.clone()), |node| without(node, Self::ADDRESS)),
            provider,
            document,
        }
    }
}

impl ApplicationDocument {
    pub(crate) fn of(document: Document) -> Self {
        let rows = document.get("spec.endpoints").and_then(Node::map);
        let rows = rows.into_iter().flat_map(|map| map.iter());
        let endpoints =
            rows.filter_map(|row| Endpoint::of(&row.key, &row.key_at, &row.value, &document)).collect();
        Self { document, endpoints }
    }
}

impl InfraDocument {
    /// The document whose values an override may change.
    pub(crate) fn document(&self) -> Option<&Document> {
        match self {
            Self::Llm(llm) => Some(&llm.document),
            Self::Application(application) => Some(&application.document),
            Self::Middleware(_) | Self::Tools(_) => None,
        }
    }

    pub(crate) fn document_mut(&mut self) -> Option<&mut Document> {
        match self {
            Self::Llm(llm) => Some(&mut llm.document),
            Self::Application(application) => Some(&mut application.document),
            Self::Middleware(_) | Self::Tools(_) => None,
        }
    }

    /// Reads the document anew, after it was changed.
    pub(crate) fn read_again(&mut self) {
        match self {
            Self::Llm(llm) => **llm = LlmDocument::of(llm.document.clone()),
            Self::Application(application) => {
                **application = ApplicationDocument::of(application.document.clone());
            }
            Self::Middleware(_) | Self::Tools(_) => {}
        }
    }
}

impl Endpoint {
    const OWN: &[&str] = &["protocol", "usage", "expose", "url", "headers", "timeout", "a2a", "layers"];

    fn of(key: &str, key_at: &Location, node: &Node, document: &Document) -> Option<Self> {
        let at = key_at.clone();
        let usage = match (read::filled(node.get("usage")), read::flag(node.get("expose"))) {
            (Some(word), _) => word.map(|word| match word.as_str() {
                "deploy" => Usage::Deploy,
                "use-and-deploy" => Usage::UseAndDeploy,
                _ => Usage::Use,
            }),
            (None, Some(expose)) if expose.value => Located::new(Usage::UseAndDeploy, expose.at),
            _ => Located::new(Usage::Use, at.clone()),
        };
        Some(Self {
            agent: Located::new(key.to_owned(), at.clone()),
            protocol: read::filled(node.get("protocol"))?,
            usage,
            url: read::filled(node.get("url")),
            headers: read::text_map(node.get("headers"))
                .into_iter()
                .map(|(name, value)| (name, Located { secret: true, ..value }))
                .collect(),
            timeout_seconds: read::numbers(node.get("timeout")),
            a2a: node.get("a2a").filter(|block| !block.is_null()).map(Params::of),
            layers: node.get("layers").filter(|block| !block.is_null()).map(Params::of),
            params: without(node, Self::OWN),
            missing: missing_of(node),
            dir: document.dir().to_path_buf(),
            at,
        })
    }
}

/// The parameters in a map, but for some keys and those that begin with `x-`.
fn without(node: &Node, own: &[&str]) -> Params {
    use crate::manifest::yaml::{Map, Value};
    let Some(map) = node.map() else { return Params::none(node.at.clone()) };
    let kept = |key: &str| !own.contains(&key) && !key.starts_with("x-");
    let entries: Vec<_> = map.iter().filter(|entry| kept(&entry.key)).cloned().collect();
    if entries.is_empty() {
        return Params::none(node.at.clone());
    }
    Params::of(&Node::collection(Value::Map(Map::new(entries)), node.at.clone()))
}
