//! The declaration of a request.

use std::{collections::BTreeMap, fmt, path::PathBuf, time::Duration};

use mas_comm_kit::{
    Secret,
    http::{Proxying, Settings},
};
use mas_contracts::Problem;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::shape::Shape;
use crate::{
    declared::{self, Declared},
    text::Output,
};

/// Parameters of `http`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Params {
    /// How a model sees it; default: the method and the host, and the arguments that the request names, as texts.
    #[serde(default)]
    pub(super) spec: Option<Declared>,
    /// The request.
    pub(super) params: Declaration,
}

/// A request. In `url`, `query`, `headers` and `body`, `{argument}` stands for an argument and `{env:NAME}` for a
/// variable of the environment, which is a secret; `{{` and `}}` stand for braces. Debug shows no value.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Declaration {
    /// The method; default GET, or POST where there is a body.
    #[serde(default)]
    pub(super) method: Option<Method>,
    /// The URL. Arguments may stand in segments of its path and in values of its query. It may begin with
    /// `{env:NAME}`, for a URL up to some path.
    pub(super) url: String,
    /// Further keys of the query. One whose argument is not given is left out, as in the URL.
    #[serde(default)]
    pub(super) query: BTreeMap<String, Scalar>,
    /// The headers. One whose argument is not given is left out.
    #[serde(default)]
    pub(super) headers: BTreeMap<String, String>,
    /// The body, sent as JSON. A text that is one argument and nothing else becomes its value; a member or an item
    /// whose argument is not given is left out.
    #[serde(default)]
    pub(super) body: Option<Value>,
    /// The statuses that are a success; default 200 to 299.
    #[serde(default)]
    #[schemars(inner(range(min = 200, max = 599)))]
    pub(super) ok: Vec<u16>,
    /// What the answer holds. Default `auto`.
    #[serde(default)]
    pub(super) output: Output,
    /// How many redirects are followed, of GET and HEAD and within the same origin; default 0.
    #[serde(default)]
    #[schemars(range(max = 20))]
    pub(super) redirects: u8,
    /// How long connecting may take, in seconds; default 10.
    #[serde(default)]
    #[schemars(range(min = 0.001, max = 86400))]
    pub(super) connect_timeout: Option<f64>,
    /// A file of certificates (PEM) to trust beside those of the machine, relative to the manifest.
    #[serde(default)]
    ca_file: Option<PathBuf>,
    /// Whether certificates are verified; default true.
    #[serde(default)]
    verify: Option<bool>,
    /// The proxy's URL, or `none`; default what the environment says.
    #[serde(default)]
    proxy: Option<String>,
}

/// A method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub(super) enum Method {
    /// Reads.
    Get,
    /// Asks for the head only.
    Head,
    /// Sends.
    Post,
    /// Puts in place.
    Put,
    /// Changes.
    Patch,
    /// Removes.
    Delete,
}

impl Method {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }

    /// Whether it only reads.
    pub(super) fn is_safe(self) -> bool {
        matches!(self, Self::Get | Self::Head)
    }
}

/// A text, a number or a boolean.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "a text, a number or a boolean")]
pub(super) enum Scalar {
    /// A text, with places for arguments.
    Text(String),
    /// A boolean.
    Bool(bool),
    /// A number.
    Number(serde_json::Number),
}

impl Scalar {
    pub(super) fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Bool(truth) => truth.to_string(),
            Self::Number(number) => number.to_string(),
        }
    }
}

impl fmt::Debug for Declaration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Declaration").field("method", &self.method).finish_non_exhaustive()
    }
}

impl Declaration {
    pub(super) fn method(&self) -> Method {
        self.method.unwrap_or(if self.body.is_some() { Method::Post } else { Method::Get })
    }

    /// The client that sends it.
    pub(super) fn settings(&self) -> Settings {
        let settings = Settings::default();
        let connect = self.connect_timeout.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        Settings {
            connect_timeout: connect.unwrap_or(settings.connect_timeout),
            ca_file: self.ca_file.clone(),
            verify: self.verify.unwrap_or(true),
            proxying: match self.proxy.as_deref() {
                None | Some("") => Proxying::Environment,
                Some("none") => Proxying::Direct,
                Some(url) => Proxying::Through(Secret::new(url)),
            },
            ..settings
        }
    }
}

impl declared::Declaration for Params {
    fn problems(&self) -> Vec<Problem> {
        let mut problems: Vec<Problem> = self.spec.iter().flat_map(Declared::problems).collect();
        let run = &self.params;
        let mut wrong =
            |place: &str, message: &str| problems.push(Problem::new(message).at(format!("params.{place}")));
        let method = run.method();
        if run.body.is_some() && method.is_safe() {
            wrong("body", "a GET and a HEAD have no body: say `method: POST`, or leave the body out");
        }
        if run.redirects > 0 && !method.is_safe() {
            wrong("redirects", "only a GET or a HEAD is sent again to another place");
        }
        if run.redirects > 20 {
            wrong("redirects", "20 redirects at most are followed");
        }
        if run.ok.iter().any(|status| !(200..=599).contains(status)) {
            wrong("ok", "a status is a number from 200 to 599");
        }
        if run.connect_timeout.is_some_and(|seconds| !(0.001..=86_400.0).contains(&seconds)) {
            wrong("connect_timeout", "it is no time from 0.001 to 86400 seconds");
        }
        match Shape::of(run) {
            Err(problem) => problems.push(problem),
            Ok(shape) => problems.extend(shape.problems(self.parameters())),
        }
        problems
    }
}

impl Params {
    /// What the manifest says of the arguments.
    fn parameters(&self) -> Option<&Map<String, Value>> {
        self.spec.as_ref()?.parameters()?.as_object()
    }
}
