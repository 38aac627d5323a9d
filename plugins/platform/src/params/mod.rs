//! What an endpoint's row says of a session of a platform.

#[cfg(test)]
mod tests;

use std::{path::PathBuf, time::Duration};

use mas_comm_kit::{
    Secret,
    access::{AccessFile, Expiry},
    http::Settings,
    phases::Phases,
};
use mas_contracts::{BuildContext, Error, Problem, Result, check_params, parse_params};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::{
    address::Base,
    client::{Connection, Platform},
    kind::{Output, REPAIRS, ResponseKind},
    service::{Bearer, Handle},
    store::Caching,
    terms::Terms,
};

/// A day, in seconds: no time is longer.
const DAY: f64 = 86_400.0;

/// A session of a platform. Times are in seconds.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Params {
    /// The address of the platform's API; also as `url`.
    #[serde(alias = "url")]
    pub(crate) platform_url: Option<String>,
    /// The variable that holds the token for the platform.
    token_env: Option<String>,
    /// The file that holds it, which is read for each request, for it may be renewed; relative to the infra file.
    token_file: Option<PathBuf>,
    /// The session. Without it: `agent_uid` and `handle`.
    agent_session_uid: Option<String>,
    /// The agent whose session is found by `handle`, or made.
    agent_uid: Option<String>,
    /// The handle of the session, unique for the agent.
    handle: Option<String>,
    /// What a session is called that is made for the handle.
    session_name: Option<String>,
    /// The session that it belongs to.
    parent_session_uid: Option<String>,
    /// What messages are answered with: `message`, or `task`, which is waited for; default `message`. That the agent
    /// offers tasks is checked before the first message, and by `plan --live` and `validate --live`.
    #[serde(default)]
    response_kind: ResponseKind,
    /// No parameter here, and false at most: a team is wired without asking anybody. `plan --live` checks the profile.
    verify: Option<bool>,
    /// What answers are made of: `text`, or `dictionary`, which is one JSON object, strictly; default `text`.
    #[serde(default)]
    output: OutputWord,
    /// How often an answer that is no dictionary is repaired; default 3.
    json_repair_attempts: Option<u32>,
    /// How long a send may take with all that it needs: seconds in all, or `[connect, read]`; default `[5, 900]`.
    timeout: Option<Phases>,
    /// What the ids of messages begin with; default `msg-`.
    message_id_prefix: Option<String>,
    /// How often a task is asked for; default 1.
    task_poll_interval: Option<f64>,
    /// How long a task is waited for; default 900.
    task_wait_timeout: Option<f64>,
    /// Where access to the runtime is kept.
    #[serde(default)]
    cache: Cache,
    /// The most bytes of an answer; default 32 MiB.
    max_response_bytes: Option<usize>,
    /// The most bytes of one file; default 15 MiB.
    max_file_bytes: Option<usize>,
    /// Whether tokens may go over plain http to other machines; default false.
    #[serde(default)]
    allow_http: bool,
    /// What the URIs of the platform's extensions begin with; default `https://mainsequence.ai/a2a/extensions`.
    extension_base: Option<String>,
    /// Whose errors those of the platform are; default `mainsequence.ai`.
    limit_domain: Option<String>,
    /// A file of certificates (PEM) to trust beside those of the machine; relative to the infra file.
    pub(crate) ca_file: Option<PathBuf>,
}

/// What answers are made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum OutputWord {
    #[default]
    Text,
    Dictionary,
}

/// Where access to the runtime is kept.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Cache {
    /// `memory`: within the process; `file`: between runs, too; `off`: the platform is asked for each send. Default
    /// `memory`.
    mode: CacheMode,
    /// The file; relative to the infra file. Its folder must be its owner's alone. It needs the mode `file`, and
    /// that needs it.
    path: Option<PathBuf>,
    /// How long before its end access is not used any more; default 30.
    skew: f64,
    /// How long access is kept that does not say when it ends; default 60.
    ttl: f64,
}

impl Default for Cache {
    fn default() -> Self {
        Self { mode: CacheMode::Memory, path: None, skew: 30.0, ttl: 60.0 }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum CacheMode {
    Memory,
    File,
    Off,
}

/// Which session is sent to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// This one.
    Session(String),
    /// The one of a handle.
    Handle(Handle),
}

/// Parameters that were checked.
pub(crate) struct Setup {
    pub(crate) url: String,
    pub(crate) bearer: Bearer,
    pub(crate) kind: ResponseKind,
    pub(crate) output: Output,
    pub(crate) terms: Terms,
    pub(crate) caching: Caching,
    pub(crate) ca_file: Option<PathBuf>,
}

impl Setup {
    /// The platform that they describe, over sockets.
    ///
    /// # Errors
    /// `mas::platform::url` for an address that no token may be sent to, `mas::http::ca_file` for a file of certificates
    /// that is of no use.
    pub(crate) fn connect(self, cx: &BuildContext) -> Result<Platform> {
        let Self { url, bearer, terms, caching, ca_file, .. } = self;
        let settings = Settings { connect_timeout: terms.timeout.connect(), ca_file, ..Settings::default() };
        let transport = settings.connect(cx)?;
        let (clock, ids) = (cx.clock.clone(), cx.ids.clone());
        Platform::new(Connection { url, bearer, transport, clock, ids, terms, caching })
    }
}

/// Checks the parameters without touching anything outside them.
pub(crate) fn check(params: &Value) -> Vec<Problem> {
    let shape = check_params::<Params>(params);
    if !shape.is_empty() {
        return shape;
    }
    parse_params::<Params>(params).map_or_else(|_| Vec::new(), |params| params.problems())
}

impl Params {
    /// Everything that is wrong with them.
    fn problems(&self) -> Vec<Problem> {
        let mut found = self.own_problems();
        found.extend(self.target().err().map(|(path, what)| Problem::new(what).at(path)));
        found
    }

    /// As [`problems`](Self::problems), whichever session is sent to.
    fn own_problems(&self) -> Vec<Problem> {
        let mut found = Vec::new();
        let mut push = |path: &str, what: &str| found.push(Problem::new(what).at(path));
        match self.platform_url.as_deref().map(|url| Base::read(url, self.allow_http)) {
            None => push("platform_url", "the address of the platform is missing (`platform_url`, or `url`)"),
            Some(Err(why)) => push("platform_url", &format!("the address {why}")),
            Some(Ok(_)) => {}
        }
        match (&self.token_env, &self.token_file) {
            (None, None) => push(
                "token_env",
                "the token for the platform is missing: name a variable (`token_env`) or a file (`token_file`)",
            ),
            (Some(_), Some(_)) => {
                push("token_file", "there are both `token_env` and `token_file`: leave one out");
            }
            (Some(name), None) if name.trim().is_empty() => {
                push("token_env", "the name of the variable is blank");
            }
            _ => {}
        }
        for (path, seconds) in [
            ("task_poll_interval", self.task_poll_interval),
            ("task_wait_timeout", self.task_wait_timeout),
            ("cache.ttl", Some(self.cache.ttl)),
        ] {
            if seconds.is_some_and(|seconds| !(seconds > 0.0 && seconds <= DAY)) {
                push(path, "must be more than 0 seconds, and a day at most");
            }
        }
        if !(0.0..=DAY).contains(&self.cache.skew) {
            push("cache.skew", "must be 0 seconds at least, and a day at most");
        }
        for (path, bytes) in
            [("max_response_bytes", self.max_response_bytes), ("max_file_bytes", self.max_file_bytes)]
        {
            if bytes == Some(0) {
                push(path, "must be 1 at least");
            }
        }
        if self.verify == Some(true) {
            push(
                "verify",
                "is not taken, for wiring asks nobody: `plan --live` and `validate --live` check that the agent \
                 offers the response kind, and so does the first send before anything is sent",
            );
        }
        match (self.output, self.json_repair_attempts) {
            (_, Some(0)) => push("json_repair_attempts", "must be 1 at least"),
            (OutputWord::Text, Some(_)) => {
                push("json_repair_attempts", "goes with `output: dictionary` only");
            }
            _ => {}
        }
        match (self.cache.mode, &self.cache.path) {
            (CacheMode::File, None) => push("cache.path", "the mode `file` needs a path"),
            (CacheMode::Memory | CacheMode::Off, Some(_)) => {
                push("cache.path", "goes with `mode: file` only");
            }
            _ => {}
        }
        for (path, text) in [("extension_base", &self.extension_base), ("limit_domain", &self.limit_domain)] {
            if text.as_deref().is_some_and(|text| text.trim().is_empty()) {
                push(path, "must not be blank");
            }
        }
        found
    }

    fn target(&self) -> std::result::Result<Target, (&'static str, &'static str)> {
        let filled = |text: &Option<String>| text.as_deref().is_some_and(|text| !text.trim().is_empty());
        let of_handle = [&self.agent_uid, &self.handle, &self.session_name, &self.parent_session_uid];
        if let Some(session) = &self.agent_session_uid {
            return match (filled(&self.agent_session_uid), of_handle.iter().any(|text| text.is_some())) {
                (false, _) => Err(("agent_session_uid", "must not be blank")),
                (_, true) => Err((
                    "agent_session_uid",
                    "goes without `agent_uid`, `handle`, `session_name` and `parent_session_uid`",
                )),
                (true, false) => Ok(Target::Session(session.trim().to_owned())),
            };
        }
        match (&self.agent_uid, &self.handle) {
            (Some(agent), Some(handle)) if filled(&self.agent_uid) && filled(&self.handle) => {
                Ok(Target::Handle(Handle {
                    agent_uid: agent.trim().to_owned(),
                    handle: handle.trim().to_owned(),
                    session_name: self.session_name.clone(),
                    parent_session_uid: self.parent_session_uid.clone(),
                }))
            }
            (None, None) => Err((
                "agent_session_uid",
                "the session is missing: say `agent_session_uid`, or `agent_uid` and `handle`",
            )),
            (_, None) => Err(("handle", "`agent_uid` goes with a `handle`")),
            (None, _) => Err(("agent_uid", "`handle` goes with an `agent_uid`")),
            _ => Err(("handle", "`agent_uid` and `handle` must not be blank")),
        }
    }

    /// Which session is sent to.
    ///
    /// # Errors
    /// `mas::params::invalid` unless exactly one is named.
    pub(crate) fn session(params: &Value) -> Result<Target> {
        let params: Self = parse_params(params)?;
        params.target().map_err(|(path, what)| refused(&Problem::new(what).at(path)))
    }

    /// Everything that a send needs but the session.
    ///
    /// # Errors
    /// `mas::params::invalid` for what is wrong with them; `mas::platform::token` for a variable that is not set.
    pub(crate) fn setup(params: &Value, cx: &BuildContext) -> Result<Setup> {
        let params: Self = parse_params(params)?;
        if let Some(problem) = params.own_problems().first() {
            return Err(refused(problem));
        }
        let bearer = match (&params.token_env, &params.token_file) {
            (Some(name), _) => Bearer::Token(of_env(cx, name)?),
            (None, file) => Bearer::File(cx.base.join(file.clone().unwrap_or_default())),
        };
        let seconds = |given: Option<f64>, default: Duration| given.map_or(default, of_seconds);
        let standard = Terms::default();
        let terms = Terms {
            timeout: params.timeout.unwrap_or(standard.timeout),
            message_id_prefix: params.message_id_prefix.unwrap_or(standard.message_id_prefix),
            task_poll_interval: seconds(params.task_poll_interval, standard.task_poll_interval),
            task_wait_timeout: seconds(params.task_wait_timeout, standard.task_wait_timeout),
            max_response_bytes: params.max_response_bytes.unwrap_or(standard.max_response_bytes),
            max_file_bytes: params.max_file_bytes.unwrap_or(standard.max_file_bytes),
            allow_http: params.allow_http,
            extension_base: params
                .extension_base
                .map_or(standard.extension_base, |base| base.trim().trim_end_matches('/').to_owned()),
            limit_domain: params.limit_domain.unwrap_or(standard.limit_domain),
        };
        let expiry = Expiry { skew: of_seconds(params.cache.skew), ttl: of_seconds(params.cache.ttl) };
        let caching = match (params.cache.mode, params.cache.path) {
            (CacheMode::Off, _) => Caching::Off,
            (CacheMode::File, Some(path)) => {
                Caching::File(expiry, AccessFile::new(cx.base.join(path), cx.clock.clone()))
            }
            _ => Caching::Memory(expiry),
        };
        let output = match params.output {
            OutputWord::Text => Output::Text,
            OutputWord::Dictionary => {
                Output::Dictionary { repairs: params.json_repair_attempts.unwrap_or(REPAIRS) }
            }
        };
        Ok(Setup {
            url: params.platform_url.unwrap_or_default(),
            bearer,
            kind: params.response_kind,
            output,
            terms,
            caching,
            ca_file: params.ca_file,
        })
    }
}

fn refused(problem: &Problem) -> Error {
    Error::invalid(format!("`{}`: {}", problem.path, problem.message)).with_code("mas::params::invalid")
}

/// The token of a variable.
fn of_env(cx: &BuildContext, name: &str) -> Result<Secret> {
    let value = cx.env.get(name.trim()).map(str::trim).filter(|value| !value.is_empty());
    value.map(Secret::new).ok_or_else(|| {
        let text =
            format!("the variable `{}`, which holds the token for the platform, is not set", name.trim());
        Error::invalid(text).with_code("mas::platform::token")
    })
}

fn of_seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or_default()
}
