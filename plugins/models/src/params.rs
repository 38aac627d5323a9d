//! The parameters that every provider over HTTP has.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc, time::Duration};

use mas_comm_kit::{
    Secret,
    http::{HeaderText, Proxying, Settings, Transport},
    retry::Policy,
};
use mas_contracts::{BuildContext, Error, ErrorKind, Problem, Result, check_params, parse_params};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::exchange::{Exchange, Limits};

/// Switches the verification of certificates off, with `0`, `false`, `no` or `off`, where `verify` says nothing.
const VERIFY_SWITCH: &str = "MAS_LLM_VERIFY_SSL";

/// Parameters of a provider over HTTP. Times are in seconds. It has no Debug, since headers may be secret.
#[derive(Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Params {
    /// Where the models are; default the provider's own address.
    #[serde(default)]
    pub(crate) api_base: Option<String>,
    /// The variable that holds the key.
    #[serde(default)]
    pub(crate) api_key_env: Option<String>,
    /// Headers to send beside the provider's; their values are never shown.
    #[serde(default)]
    headers: BTreeMap<String, String>,
    /// Whether a stream is asked for; default true.
    #[serde(default)]
    stream: Option<bool>,
    /// How long connecting may take; default 10.
    #[serde(default)]
    #[schemars(range(min = 0.001, max = 86400))]
    connect_timeout: Option<f64>,
    /// How long the first piece of an answer may take; default 60. Only of a stream.
    #[serde(default)]
    #[schemars(range(min = 0.001, max = 86400))]
    first_byte_timeout: Option<f64>,
    /// How long the next piece of an answer may take; default 60.
    #[serde(default)]
    #[schemars(range(min = 0.001, max = 86400))]
    idle_timeout: Option<f64>,
    /// How long one attempt may take; default none for a stream, else 300. The limits of the run hold in any case.
    #[serde(default)]
    #[schemars(range(min = 0.001, max = 86400))]
    timeout: Option<f64>,
    /// When a request is sent again.
    #[serde(default)]
    retry: RetryParams,
    /// A file of certificates (PEM) to trust beside those of the machine.
    #[serde(default)]
    ca_file: Option<PathBuf>,
    /// Whether certificates are verified; default true, unless `MAS_LLM_VERIFY_SSL` is 0 or false.
    #[serde(default)]
    verify: Option<bool>,
    /// The proxy's URL, or `none`; default what the environment says.
    #[serde(default)]
    proxy: Option<String>,
    /// Fields to add to the body of each request, such as `top_p` or `seed`; they win over the provider's.
    #[serde(default)]
    pub(crate) body: Map<String, Value>,
}

/// When a request is sent again.
#[derive(Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RetryParams {
    /// How often a request is sent in all; default 4, at most 20.
    #[serde(default)]
    #[schemars(range(min = 1, max = 20))]
    attempts: Option<u32>,
    /// The first pause, which doubles; default 0.5.
    #[serde(default)]
    #[schemars(range(min = 0.001, max = 86400))]
    base: Option<f64>,
    /// The longest pause; default 8. A server may ask for a longer one.
    #[serde(default)]
    #[schemars(range(min = 0.001, max = 86400))]
    max: Option<f64>,
}

/// A key, and the variable that holds it.
pub(crate) struct Key {
    pub(crate) variable: String,
    pub(crate) secret: Secret,
}

impl Params {
    /// Reads parameters.
    pub(crate) fn read(params: &Value) -> Result<Self> {
        let read: Self = parse_params(params)?;
        match read.problems().first() {
            Some(problem) => Err(Error::invalid(format!("`{}`: {}", problem.path, problem.message))
                .with_code("mas::params::invalid")),
            None => Ok(read),
        }
    }

    /// Checks parameters; the `check` of a descriptor.
    pub(crate) fn check(params: &Value) -> Vec<Problem> {
        match parse_params::<Self>(params) {
            Ok(read) => read.problems(),
            Err(_) => check_params::<Self>(params),
        }
    }

    fn problems(&self) -> Vec<Problem> {
        let times = [
            ("connect_timeout", self.connect_timeout),
            ("first_byte_timeout", self.first_byte_timeout),
            ("idle_timeout", self.idle_timeout),
            ("timeout", self.timeout),
            ("retry.base", self.retry.base),
            ("retry.max", self.retry.max),
        ];
        let wrong =
            |(_, time): &(&str, Option<f64>)| time.is_some_and(|time| !(0.001..=86_400.0).contains(&time));
        let mut problems: Vec<_> = times
            .into_iter()
            .filter(wrong)
            .map(|(path, _)| Problem::new("it is no time from 0.001 to 86400 seconds").at(path))
            .collect();
        if self.retry.attempts.is_some_and(|attempts| !(1..=20).contains(&attempts)) {
            problems.push(Problem::new("it is no number from 1 to 20").at("retry.attempts"));
        }
        if let Some(base) = self.api_base.as_deref() {
            let help = "write it with http:// or https://, such as `http://localhost:11434/v1`";
            if !is_http(base) {
                problems.push(Problem::new("it is no URL").at("api_base").help(help));
            } else if base.contains('#') {
                problems.push(Problem::new("it has a fragment, which is never sent").at("api_base"));
            }
        }
        for (name, value) in &self.headers {
            let what = if name.is_empty() || !name.bytes().all(is_name) {
                "it is no name of a header"
            } else if value.chars().any(|c| c.is_control() && c != '\t') {
                "its value holds a character that no header may"
            } else {
                continue;
            };
            problems.push(Problem::new(what).at(format!("headers.{name}")));
        }
        problems
    }

    /// The key: from the variable that is named, else from `usual` where no address of their own is given.
    ///
    /// # Errors
    /// `mas::llm::no_key` when the variable is unset.
    pub(crate) fn key(&self, cx: &BuildContext, usual: Option<&str>) -> Result<Option<Key>> {
        let named = self.api_key_env.as_deref().filter(|name| !name.is_empty());
        let usual = usual.filter(|_| self.api_base.is_none());
        let Some(name) = named.or(usual) else { return Ok(None) };
        match cx.env.get(name).map(str::trim).filter(|key| !key.is_empty()) {
            Some(key) => Ok(Some(Key { variable: name.to_owned(), secret: Secret::new(key) })),
            None => {
                let what = format!(
                    "the variable {name}, which holds the model's key, is not set; set it, or put it into the file that --env names"
                );
                Err(Error::new(ErrorKind::Unauthenticated, what).with_code("mas::llm::no_key"))
            }
        }
    }

    /// The headers to add.
    pub(crate) fn headers(&self) -> Vec<(String, HeaderText)> {
        let secret = |(name, value): (&String, &String)| {
            (name.clone(), HeaderText::Secret(Secret::new(value.as_str())))
        };
        self.headers.iter().map(secret).collect()
    }

    /// What makes the calls: over the team's HTTP client, unless a transport is given.
    ///
    /// # Errors
    /// Those of [`Settings::connect`].
    pub(crate) fn exchange(
        &self,
        cx: &BuildContext,
        transport: Option<Arc<dyn Transport>>,
    ) -> Result<Exchange> {
        let transport = match transport {
            Some(transport) => transport,
            None => self.settings(cx).connect(cx)?,
        };
        let policy = Policy::default();
        Ok(Exchange {
            transport,
            limits: Limits {
                first_byte: seconds(self.first_byte_timeout).unwrap_or(Duration::from_secs(60)),
                idle: seconds(self.idle_timeout).unwrap_or(Duration::from_secs(60)),
                whole: seconds(self.timeout),
            },
            policy: Policy {
                attempts: self.retry.attempts.unwrap_or(policy.attempts),
                base: seconds(self.retry.base).unwrap_or(policy.base),
                max: seconds(self.retry.max).unwrap_or(policy.max),
            },
            stream: self.stream.unwrap_or(true),
        })
    }

    fn settings(&self, cx: &BuildContext) -> Settings {
        let off = |value: &str| matches!(value.to_ascii_lowercase().as_str(), "0" | "false" | "no" | "off");
        let settings = Settings::default();
        Settings {
            connect_timeout: seconds(self.connect_timeout).unwrap_or(settings.connect_timeout),
            ca_file: self.ca_file.clone(),
            verify: self.verify.unwrap_or_else(|| !cx.env.get(VERIFY_SWITCH).is_some_and(off)),
            proxying: match self.proxy.as_deref() {
                None | Some("") => Proxying::Environment,
                Some("none") => Proxying::Direct,
                Some(url) => Proxying::Through(Secret::new(url)),
            },
            ..settings
        }
    }
}

/// Whether the name of a header may hold this byte (RFC 9110, "token").
fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

fn is_http(url: &str) -> bool {
    let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
    rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/'))
}

fn seconds(seconds: Option<f64>) -> Option<Duration> {
    seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
}
