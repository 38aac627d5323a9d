//! The parameters `a2a.client.auth` and `a2a.client.signatures`.

use std::path::PathBuf;

use mas_comm_kit::{auth::ClientAuth, http::keeps_secrets};
use mas_contracts::Problem;
use schemars::JsonSchema;
use serde::Deserialize;

use super::hosts::Host;
use crate::params::{ApiKeyPlace, SecretText};

/// What shows the agent who is asking: one of `secret`, `bearer`, `api_key` and `oauth2`, a certificate, or both.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Auth {
    /// A secret alone. The agent's card says where it goes: as a bearer token, as an API key, or as `USER:PASSWORD` of
    /// HTTP's basic scheme.
    pub(super) secret: Option<SecretText>,
    /// A token for `Authorization: Bearer`.
    pub(super) bearer: Option<SecretText>,
    /// A key in a header, the query or a cookie.
    pub(super) api_key: Option<ApiKey>,
    /// Tokens of an authorization server, by the client credentials grant.
    pub(super) oauth2: Option<OAuth2>,
    /// The scheme of the card to use; default the first that fits what is given.
    pub(super) scheme: Option<String>,
    /// A file with the certificate (PEM) that is shown to servers which ask for one; relative to the infra file.
    pub(super) client_cert: Option<PathBuf>,
    /// The file with its private key (PEM).
    pub(super) client_key: Option<PathBuf>,
    /// Hosts beside that of `url` that the card may lead to, as `host` or `host:port`. Credentials go nowhere else.
    pub(super) trusted_hosts: Vec<String>,
    /// Whether credentials may go without TLS to another machine than this; default false.
    pub(super) allow_http: bool,
}

/// An API key and its place.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ApiKey {
    /// The key.
    pub(super) key: SecretText,
    /// Where it is sent; default `header`. gRPC has no query.
    #[serde(default, rename = "in")]
    pub(super) place: ApiKeyPlace,
    /// The name of the header, of the query's field or of the cookie.
    pub(super) name: String,
}

/// A client of an authorization server (RFC 6749, section 4.4).
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OAuth2 {
    /// The token endpoint: https, or http on this machine.
    pub(super) token_url: String,
    /// The client's name there.
    pub(super) client_id: SecretText,
    /// Its secret.
    pub(super) client_secret: SecretText,
    /// What the tokens are to allow; default what the server gives.
    #[serde(default)]
    pub(super) scopes: Vec<String>,
    /// Whom the tokens are for, where the server wants `audience`.
    #[serde(default)]
    pub(super) audience: Option<String>,
    /// The same where it wants `resource` (RFC 8707).
    #[serde(default)]
    pub(super) resource: Option<String>,
    /// How the client shows itself: `basic`, in the header, or `post`, in the body; default `basic`.
    #[serde(default)]
    pub(super) method: Method,
}

/// How a client shows itself to its authorization server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Method {
    /// `client_secret_basic`.
    #[default]
    Basic,
    /// `client_secret_post`.
    Post,
}

impl From<Method> for ClientAuth {
    fn from(method: Method) -> Self {
        match method {
            Method::Basic => Self::Basic,
            Method::Post => Self::Post,
        }
    }
}

/// Which cards are taken, by who signed them.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Signatures {
    /// What becomes of a card.
    pub(super) check: Check,
    /// Files with the public keys that are trusted: a JWK set, a JWK, or PEM; relative to the infra file.
    #[serde(default)]
    pub(super) keys: Vec<PathBuf>,
    /// The https addresses of JWK sets that are trusted, where a signature names them as its `jku`. No other is asked.
    #[serde(default)]
    pub(super) jku: Vec<String>,
}

/// What becomes of a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Check {
    /// It is taken only with a right signature, and as far as it is signed.
    Require,
    /// One that is signed is taken only so; one that is not is taken with a warning.
    Verify,
    /// It is taken as it is.
    Ignore,
}

impl Auth {
    /// What is wrong beside the shape; places are those within `auth`.
    pub(crate) fn problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        let mut wrong = |place: &str, message: &str| problems.push(Problem::new(message).at(place));
        let ways = [
            ("secret", self.secret.is_some()),
            ("bearer", self.bearer.is_some()),
            ("api_key", self.api_key.is_some()),
            ("oauth2", self.oauth2.is_some()),
        ];
        let mut given = ways.into_iter().filter(|(_, given)| *given).map(|(name, _)| name);
        if let (Some(_), Some(second)) = (given.next(), given.next()) {
            wrong(second, "only one of `secret`, `bearer`, `api_key` and `oauth2` can be shown");
        }
        for (place, secret) in [("secret", &self.secret), ("bearer", &self.bearer)] {
            if secret.as_ref().is_some_and(SecretText::is_empty) {
                wrong(place, "it is empty");
            }
        }
        if let Some(key) = &self.api_key {
            if key.key.is_empty() {
                wrong("api_key.key", "it is empty");
            }
            let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
            if key.name.is_empty() || (key.place != ApiKeyPlace::Query && !key.name.bytes().all(token)) {
                wrong("api_key.name", "no header and no cookie can have this name");
            }
        }
        if let Some(client) = &self.oauth2 {
            let url = &client.token_url;
            if !keeps_secrets(url) {
                wrong("oauth2.token_url", "expected an https address; http is for this machine only");
            }
            for (place, text) in
                [("oauth2.client_id", &client.client_id), ("oauth2.client_secret", &client.client_secret)]
            {
                if text.is_empty() {
                    wrong(place, "it is empty");
                }
            }
        }
        match (&self.client_cert, &self.client_key) {
            (Some(_), None) => wrong("client_cert", "it needs `client_key`, the file of its key"),
            (None, Some(_)) => wrong("client_key", "it needs `client_cert`, its certificate"),
            _ => {}
        }
        for (at, host) in self.trusted_hosts.iter().enumerate() {
            if Host::named(host).is_none() {
                wrong(&format!("trusted_hosts[{at}]"), "expected `host` or `host:port`");
            }
        }
        problems
    }
}

impl Signatures {
    /// What is wrong beside the shape; places are those within `signatures`.
    pub(crate) fn problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        if self.check != Check::Ignore && self.keys.is_empty() && self.jku.is_empty() {
            let message = "nothing says whose signatures are right";
            let help = "name files of public keys as `keys`, or addresses of key sets as `jku`";
            problems.push(Problem::new(message).at("check").help(help));
        }
        for (at, url) in self.jku.iter().enumerate() {
            if !keeps_secrets(url) {
                let message = "expected an https address; http is for this machine only";
                problems.push(Problem::new(message).at(format!("jku[{at}]")));
            }
        }
        problems
    }
}
