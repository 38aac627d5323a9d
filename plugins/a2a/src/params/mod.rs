//! The parameters of an endpoint: what its row in an infra Application says, and what of it is wrong.

mod address;
mod check;
mod limits;
mod secret;
mod security;
#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, path::PathBuf};

use mas_comm_kit::phases::Phases;
use mas_contracts::{Error, Problem, Result, check_params, parse_params};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{
    comm::Client,
    model::{RESPONSE_KIND, ResponseKind},
};
pub(crate) use address::Address;
pub(crate) use limits::{Cors, Keep, Limits, Push};
pub(crate) use secret::SecretText;
pub(crate) use security::{ApiKey, ApiKeyPlace, Jwt, Scheme};

/// An endpoint, as an infra Application declares it.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Params {
    /// What the endpoint is for; default `use`. Only an endpoint that deploys is listened for.
    #[serde(default)]
    usage: Option<Usage>,
    /// The older word for `usage: use-and-deploy`; `usage` wins.
    #[serde(default)]
    expose: Option<bool>,
    /// The address that callers are told: absolute, http or https, with a path if several agents share a socket.
    /// Default: that of `a2a.listen`.
    #[serde(default)]
    pub(crate) url: Option<String>,
    /// Headers of calls through the endpoint; a listener sends none.
    #[serde(default)]
    pub(crate) headers: BTreeMap<String, SecretText>,
    /// How long a call through the endpoint may take, in seconds, or `[seconds to connect, seconds of
    /// silence]`; default `[5, 300]`. A listener makes none.
    #[serde(default)]
    pub(crate) timeout: Option<Phases>,
    /// How the agent is served, and how it is called.
    #[serde(default)]
    pub(crate) a2a: A2a,
}

/// What an endpoint is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Usage {
    /// Only to reach the agent.
    Use,
    /// Only to listen.
    Deploy,
    /// Both.
    UseAndDeploy,
}

/// How an agent is served over A2A, and in `client` how it is called.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct A2a {
    /// The socket to bind; default host and port of `url`. Needed where `url` is https and `tls` is absent, since
    /// TLS then ends in front of the program.
    pub(crate) listen: Option<Listen>,
    /// The port of gRPC, on the host of `listen`; default the one in `grpc_url`. Without both there is no gRPC.
    /// It is listened on under `serve` only.
    pub(crate) grpc_port: Option<u16>,
    /// The address of gRPC that callers are told, as `host:port`; default the host of `url` with `grpc_port`.
    pub(crate) grpc_url: Option<String>,
    /// What the card says the agent can do.
    pub(crate) capabilities: Capabilities,
    /// Which card is published; default `union`.
    pub(crate) card: CardShape,
    /// What CancelTask does; default `interrupt`.
    pub(crate) cancel: Cancel,
    /// Media types that the agent takes; default `text/plain`.
    pub(crate) input_modes: Option<Vec<String>>,
    /// Media types that the agent answers in; default `text/plain`.
    pub(crate) output_modes: Option<Vec<String>>,
    /// Where the agent is documented.
    pub(crate) documentation_url: Option<String>,
    /// A picture of the agent.
    pub(crate) icon_url: Option<String>,
    /// What authenticated callers are told beyond the public card.
    pub(crate) extended_card: Option<ExtendedCard>,
    /// Ways to authenticate, by the name that the card gives them; a caller needs one of them. Default none, which
    /// lets everybody in.
    pub(crate) security: BTreeMap<String, Scheme>,
    /// Certificate and key; default plain HTTP.
    pub(crate) tls: Option<Tls>,
    /// The key that signs the card; default unsigned.
    pub(crate) signing: Option<Signing>,
    /// The kinds of response that callers may ask for by `configuration.responseKind`, as managed platforms have it:
    /// `message`, which must be among them, and `task`. The card then names the extension, and HTTP+JSON is below
    /// `/api/a2a/v1` too. Default none.
    pub(crate) response_kinds: Vec<ResponseKind>,
    /// How many seconds a turn may take whose caller asks for a message; then it is stopped. Platforms have 90. Default
    /// no limit of its own; it goes with `response_kinds`.
    pub(crate) message_limit: Option<f64>,
    /// Delivery to webhooks.
    pub(crate) push: Push,
    /// What a caller may ask of the server.
    pub(crate) limits: Limits,
    /// What is kept of each task beside the task itself.
    pub(crate) keep: Keep,
    /// Which pages of browsers may call; default none.
    pub(crate) cors: Option<Cors>,
    /// How the agent is called; a listener calls nobody.
    pub(crate) client: Client,
}

/// A socket to bind.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Listen {
    /// Host name or address; default `127.0.0.1`.
    #[serde(default = "loopback")]
    pub(crate) host: String,
    /// Port; 0 lets the system choose.
    pub(crate) port: u16,
}

fn loopback() -> String {
    "127.0.0.1".to_owned()
}

/// What the card says the agent can do.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "camelCase")]
pub(crate) struct Capabilities {
    /// Whether answers may be streamed; default true.
    pub(crate) streaming: bool,
    /// Whether webhooks may be registered; default false.
    pub(crate) push_notifications: bool,
    /// Whether authenticated callers get an extended card; default false.
    pub(crate) extended_agent_card: bool,
    /// Extensions of the protocol.
    pub(crate) extensions: Vec<Extension>,
}

impl Default for Capabilities {
    fn default() -> Self {
        Self {
            streaming: true,
            push_notifications: false,
            extended_agent_card: false,
            extensions: Vec::new(),
        }
    }
}

/// An extension of the protocol.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Extension {
    /// Its URI.
    pub(crate) uri: String,
    /// How the agent uses it.
    #[serde(default)]
    pub(crate) description: Option<String>,
    /// Whether callers must ask for it; default false.
    #[serde(default)]
    pub(crate) required: bool,
    /// Its parameters.
    #[serde(default)]
    pub(crate) params: Option<Map<String, Value>>,
}

/// Which card is published.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CardShape {
    /// One document for readers of v1.0 and of v0.3.
    #[default]
    Union,
    /// v1.0 only; v0.3 is served, but not told of.
    V1,
}

/// What CancelTask does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Cancel {
    /// Stops the turn and everything below it.
    #[default]
    Interrupt,
    /// Ends the task and lets the turn run on.
    Detach,
}

/// What authenticated callers are told beyond the public card.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ExtendedCard {
    /// Another description; default the public one.
    pub(crate) description: Option<String>,
    /// Skills beside the public ones.
    pub(crate) skills: Vec<Skill>,
}

/// A skill.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Skill {
    /// Its id, unlike all others.
    pub(crate) id: String,
    /// Its name; default the id.
    #[serde(default)]
    pub(crate) name: Option<String>,
    /// What it does.
    pub(crate) description: String,
    /// Words to find it by; default its id.
    #[serde(default)]
    pub(crate) tags: Vec<String>,
    /// Things to say to it.
    #[serde(default)]
    pub(crate) examples: Vec<String>,
}

/// Certificate and key of a server, in PEM; relative to the infra file.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tls {
    /// The certificate, with those that vouch for it behind.
    pub(crate) cert: PathBuf,
    /// Its private key.
    pub(crate) key: PathBuf,
}

/// The key that signs the card.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Signing {
    /// A file with a private key: PEM (PKCS#8) or JWK, P-256 (ES256) or Ed25519 (EdDSA); relative to the infra
    /// file.
    pub(crate) key: PathBuf,
    /// The name of the key; default that of the JWK, else its thumbprint (RFC 7638).
    #[serde(default)]
    pub(crate) kid: Option<String>,
    /// Where the public key is published as a JWK set: https.
    #[serde(default)]
    pub(crate) jku: Option<String>,
}

impl Params {
    /// Reads parameters that [`Params::check`] finds nothing wrong with.
    ///
    /// # Errors
    /// The first problem, with its place.
    pub(crate) fn read(params: &Value) -> Result<Self> {
        let read: Self = parse_params(params)?;
        match read.problems().first() {
            None => Ok(read.with_kinds()),
            Some(problem) => {
                let message = format!("`{}`: {}", problem.path, problem.message);
                Err(Error::invalid(message).with_code("mas::params::invalid"))
            }
        }
    }

    /// Has the card name the extension of the kinds of response, if there are any.
    fn with_kinds(mut self) -> Self {
        let kinds: Vec<&str> = self.a2a.response_kinds.iter().map(|kind| kind.as_str()).collect();
        if !kinds.is_empty() {
            let params = [
                ("supportedResponseKinds".to_owned(), Value::from(kinds)),
                ("defaultResponseKind".to_owned(), ResponseKind::Message.as_str().into()),
            ];
            self.a2a.capabilities.extensions.push(Extension {
                uri: RESPONSE_KIND.to_owned(),
                description: Some("Whether a message is answered with a message or a task.".to_owned()),
                required: false,
                params: Some(params.into_iter().collect()),
            });
        }
        self
    }

    /// Everything that is wrong with parameters. Nothing is opened or asked for it.
    pub(crate) fn check(params: &Value) -> Vec<Problem> {
        let problems = check_params::<Self>(params);
        if !problems.is_empty() {
            return problems;
        }
        parse_params::<Self>(params).map(|params| params.problems()).unwrap_or_default()
    }

    /// Whether the endpoint is listened for.
    pub(crate) fn deploys(&self) -> bool {
        match self.usage {
            Some(usage) => usage != Usage::Use,
            None => self.expose.unwrap_or(false),
        }
    }

    /// Media types that the agent takes.
    pub(crate) fn input_modes(&self) -> Vec<String> {
        self.a2a.input_modes.clone().unwrap_or_else(|| vec!["text/plain".to_owned()])
    }

    /// Media types that the agent answers in.
    pub(crate) fn output_modes(&self) -> Vec<String> {
        self.a2a.output_modes.clone().unwrap_or_else(|| vec!["text/plain".to_owned()])
    }
}
