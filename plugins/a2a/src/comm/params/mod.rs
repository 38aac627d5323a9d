//! What an endpoint's row says of calls through it: `url`, `headers`, `timeout`, and the block `a2a.client`.

mod check;
mod words;

use std::{borrow::Cow, path::PathBuf, time::Duration};

use mas_comm_kit::{
    ContextMode, IDENTITY_SECRETS,
    http::{Proxying, Settings},
    retry::Policy,
    turn::{Poll, TurnPolicy},
};
use mas_contracts::{BuildContext, Error, Result, parse_params};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::{
    client::{Binding, Bounds, Version, card::Wanted},
    identity::{Auth, Identity, Signatures},
    params::{Params, SecretText},
};
pub(crate) use check::check;
use check::problems;
pub(crate) use words::CardSource;
use words::{BindingWord, Protocol};

/// How long connecting may take, and a whole call, where nothing else is said.
const LIMITS: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(305));

/// How an agent elsewhere is called. Times are in seconds.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Client {
    /// The card itself, or where it is: a file relative to the infra file, or an http or https address. Default: the
    /// one that is published at `url`.
    pub(super) card: Option<CardSource>,
    /// How long a fetched card is taken as fresh; default 300. Its server may shorten it.
    card_ttl: f64,
    /// The version to speak: `auto`, which is the newest of the card, `1.0` or `0.3`; default `auto`. With `bindings`,
    /// an agent without a card is called at `url` itself.
    protocol: Protocol,
    /// The bindings that may be used, the best first: `jsonrpc`, `http+json`, `grpc`; default these, in this order.
    bindings: Option<Vec<BindingWord>>,
    /// Whether answers are streamed: `auto`, where the card says so, or `never`; default `auto`.
    stream: Streaming,
    /// Where the ids of conversations come from: `derived`, `server`, or `{fixed: ID}`; default `derived`.
    context: Context,
    /// The variable that holds the secret of derived ids; default `MAS_IDENTITY_SECRET`, then `A4H_IDENTITY_SECRET`.
    identity_secret_env: Option<String>,
    /// How a stream that broke is taken up again.
    reconnect: Reconnect,
    /// The longest silence of a stream; then it counts as broken. Default 60.
    stream_idle: f64,
    /// How a task that cannot be listened to is asked for.
    poll: Polling,
    /// Whether a task is cancelled when the time is over; default true.
    cancel_on_timeout: bool,
    /// Whether a task is cancelled when its caller stops or goes away; default true.
    cancel_on_drop: bool,
    /// How long that cancel may take; default 5.
    cancel_timeout: f64,
    /// How long a task may wait for credentials that come from elsewhere; default as long as the call may take.
    auth_wait: Option<f64>,
    /// Whether an answer to a waiting task names the task; default true.
    resume_interrupted: bool,
    /// Media types that are taken, the best first; default `text/plain`.
    accepted_output_modes: Vec<String>,
    /// The largest event of a stream, in bytes; default 10 MiB.
    max_event_bytes: usize,
    /// The largest answer, in bytes; default 32 MiB.
    max_reply_bytes: usize,
    /// A file of certificates (PEM) to trust beside those of the machine; relative to the infra file.
    ca_file: Option<PathBuf>,
    /// Whether certificates are verified; default true.
    verify: bool,
    /// The proxy's URL, or `none`; default what the environment says. gRPC goes through none.
    proxy: Option<SecretText>,
    /// What shows the agent who is asking; default nothing but the endpoint's `headers`.
    pub(super) auth: Option<Auth>,
    /// Which cards are taken, by who signed them; default all.
    pub(super) signatures: Option<Signatures>,
}

impl Default for Client {
    fn default() -> Self {
        Self {
            card: None,
            card_ttl: 300.0,
            protocol: Protocol::Auto,
            bindings: None,
            stream: Streaming::Auto,
            context: Context::Derived,
            identity_secret_env: None,
            reconnect: Reconnect::default(),
            stream_idle: 60.0,
            poll: Polling::default(),
            cancel_on_timeout: true,
            cancel_on_drop: true,
            cancel_timeout: 5.0,
            auth_wait: None,
            resume_interrupted: true,
            accepted_output_modes: vec!["text/plain".to_owned()],
            max_event_bytes: 10 * 1024 * 1024,
            max_reply_bytes: 32 * 1024 * 1024,
            ca_file: None,
            verify: true,
            proxy: None,
            auth: None,
            signatures: None,
        }
    }
}

/// Whether answers are streamed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Streaming {
    /// Where the card says so.
    Auto,
    /// Not at all.
    Never,
}

/// Where the ids of conversations come from.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Context {
    /// From the agent and the conversation, so that the same conversation has the same id everywhere.
    Derived,
    /// From the agent.
    Server,
    /// This one, always.
    Fixed(String),
}

/// How a stream that broke is taken up again.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Reconnect {
    /// How often without news; default 3, at most 100.
    attempts: u32,
    /// The first pause, which doubles, and the longest; default `[0.5, 5]`.
    backoff: [f64; 2],
}

impl Default for Reconnect {
    fn default() -> Self {
        Self { attempts: 3, backoff: [0.5, 5.0] }
    }
}

/// How a task that cannot be listened to is asked for.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Polling {
    /// The first pause; default 1.
    initial: f64,
    /// By how much each further one is longer; default 1.5.
    factor: f64,
    /// The longest; default 10.
    max: f64,
    /// How many failures in a row are passed over; default 3.
    tolerate: u32,
}

impl Default for Polling {
    fn default() -> Self {
        Self { initial: 1.0, factor: 1.5, max: 10.0, tolerate: 3 }
    }
}

/// What a row says of calls, read and checked.
#[derive(Clone, Debug)]
pub(super) struct Terms {
    /// The address, of http or https.
    pub(super) url: String,
    /// The row.
    pub(super) row: Params,
}

impl Terms {
    /// Reads the parameters of a row.
    ///
    /// # Errors
    /// The first problem, with its place.
    pub(super) fn read(params: &Value) -> Result<Self> {
        let row: Params = parse_params(params)?;
        match problems(&row).first() {
            None => Ok(Self { url: row.url.as_deref().map(address).unwrap_or_default().into_owned(), row }),
            Some(problem) => {
                let message = format!("`{}`: {}", problem.path, problem.message);
                Err(Error::invalid(message).with_code("mas::params::invalid"))
            }
        }
    }

    /// The block of the client.
    pub(super) fn client(&self) -> &Client {
        &self.row.a2a.client
    }

    /// How long a call may take.
    pub(super) fn limit(&self) -> Duration {
        self.row.timeout.map_or(LIMITS.1, |limits| limits.total())
    }

    /// How connections are made.
    ///
    /// # Errors
    /// That the secret of the proxy cannot be had.
    pub(super) fn settings(&self, cx: &BuildContext) -> Result<Settings> {
        let client = self.client();
        let proxy = client.proxy.as_ref().map(|proxy| proxy.open(cx)).transpose()?;
        let settings = Settings {
            connect_timeout: self.row.timeout.map_or(LIMITS.0, |limits| limits.connect()),
            ca_file: client.ca_file.clone(),
            verify: client.verify,
            proxying: match proxy {
                None => Proxying::Environment,
                Some(word) if word.reveal().trim().is_empty() => Proxying::Environment,
                Some(word) if word.reveal() == "none" => Proxying::Direct,
                Some(url) => Proxying::Through(url),
            },
            ..Settings::default()
        };
        Ok(Identity::settings(client.auth.as_ref(), settings))
    }
}

impl Client {
    /// Which interfaces of a card may be taken.
    pub(super) fn wanted(&self) -> Wanted {
        let all = [Binding::JsonRpc, Binding::Rest, Binding::Grpc];
        let bindings = self.bindings.as_ref().map(|words| words.iter().map(|word| word.0).collect());
        let version = match self.protocol {
            Protocol::Auto => None,
            Protocol::Only(version) => Some(version),
        };
        Wanted { bindings: bindings.unwrap_or_else(|| all.to_vec()), version }
    }

    /// The way to an agent without a card, where the row says it all.
    pub(super) fn direct(&self) -> Option<(Version, Binding)> {
        match (self.protocol, self.bindings.as_deref()) {
            (Protocol::Only(version), Some([first, ..])) => Some((version, first.0)),
            _ => None,
        }
    }

    /// How long a card is fresh.
    pub(super) fn card_ttl(&self) -> Duration {
        seconds(self.card_ttl)
    }

    /// How much is read.
    pub(super) fn bounds(&self) -> Bounds {
        Bounds { reply: self.max_reply_bytes, event: self.max_event_bytes }
    }

    /// Where the ids of conversations come from, and the variables that may hold their secret.
    pub(super) fn contexts(&self) -> (ContextMode, Vec<&str>) {
        let mode = match &self.context {
            Context::Derived => ContextMode::Derived,
            Context::Server => ContextMode::Server,
            Context::Fixed(id) => ContextMode::Fixed(id.as_str().into()),
        };
        let names = self.identity_secret_env.as_deref().map_or(IDENTITY_SECRETS.to_vec(), |name| vec![name]);
        (mode, names)
    }

    /// How turns are carried.
    pub(super) fn policy(&self) -> TurnPolicy {
        let [base, max] = self.reconnect.backoff;
        TurnPolicy {
            stream: self.stream == Streaming::Auto,
            idle: seconds(self.stream_idle),
            reconnect: Policy { attempts: self.reconnect.attempts, base: seconds(base), max: seconds(max) },
            poll: Poll {
                first: seconds(self.poll.initial),
                factor: self.poll.factor,
                max: seconds(self.poll.max),
                tolerate: self.poll.tolerate,
            },
            cancel_on_timeout: self.cancel_on_timeout,
            cancel_on_drop: self.cancel_on_drop,
            cancel_timeout: seconds(self.cancel_timeout),
            resume_interrupted: self.resume_interrupted,
            output_modes: self.accepted_output_modes.clone(),
            auth_wait: self.auth_wait.map(seconds),
            largest: self.max_reply_bytes,
        }
    }
}

/// The address in words of HTTP: `a2a://` is plain, `a2as://` is with TLS.
fn address(url: &str) -> Cow<'_, str> {
    let url = url.trim();
    let begins = |scheme: &str| {
        let begin = url.get(..scheme.len())?;
        begin.eq_ignore_ascii_case(scheme).then(|| url.get(scheme.len()..)).flatten()
    };
    let known =
        [("a2as://", "https://"), ("a2a://", "http://"), ("https://", "https://"), ("http://", "http://")];
    let found = known.iter().find_map(|(scheme, plain)| Some((plain, begins(scheme)?)));
    match found {
        Some((plain, rest)) if !url.starts_with(plain) => Cow::Owned(format!("{plain}{rest}")),
        _ => Cow::Borrowed(url),
    }
}

fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
}
