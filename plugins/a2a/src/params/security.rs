//! Ways to authenticate.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::SecretText;

/// A way to authenticate.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Scheme {
    /// A token in `Authorization: Bearer`.
    Bearer(Bearer),
    /// A key in a header, the query or a cookie.
    ApiKey(ApiKey),
    /// A signed token (JWT) in `Authorization: Bearer`.
    Jwt(Jwt),
}

/// Tokens of `Authorization: Bearer`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Bearer {
    /// What the card says of it.
    #[serde(default)]
    pub(crate) description: Option<String>,
    /// The tokens, by the name of who holds them.
    pub(crate) tokens: BTreeMap<String, SecretText>,
}

/// API keys.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ApiKey {
    /// What the card says of it.
    #[serde(default)]
    pub(crate) description: Option<String>,
    /// Where the key is sent; default `header`. gRPC has no query.
    #[serde(default, rename = "in")]
    pub(crate) place: ApiKeyPlace,
    /// The name of the header, of the query's field or of the cookie.
    pub(crate) name: String,
    /// The keys, by the name of who holds them.
    pub(crate) keys: BTreeMap<String, SecretText>,
}

/// Where an API key is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ApiKeyPlace {
    /// In a header.
    #[default]
    Header,
    /// In the query.
    Query,
    /// In a cookie.
    Cookie,
}

impl ApiKeyPlace {
    /// The word that cards use.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Header => "header",
            Self::Query => "query",
            Self::Cookie => "cookie",
        }
    }
}

/// Signed tokens.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Jwt {
    /// What the card says of it.
    #[serde(default)]
    pub(crate) description: Option<String>,
    /// Who must have issued a token (`iss`).
    pub(crate) issuer: String,
    /// Whom a token must be for (`aud`).
    pub(crate) audience: String,
    /// The issuer's public keys as a JWK set: a file relative to the infra file, or an https address. Nothing that
    /// a token names is ever asked.
    pub(crate) jwks: String,
    /// Accepted algorithms; default RS256, PS256, ES256 and EdDSA. RS384, RS512, PS384, PS512 and ES384 are known
    /// too.
    #[serde(default)]
    pub(crate) algorithms: Option<Vec<String>>,
    /// Scopes that a token must have (`scope` or `scp`); default none.
    #[serde(default)]
    pub(crate) scopes: Vec<String>,
    /// The claim that says who the caller is; default `sub`.
    #[serde(default = "subject")]
    pub(crate) owner: String,
    /// How far clocks may differ, in seconds; default 60.
    #[serde(default = "leeway")]
    pub(crate) leeway: u64,
    /// How long fetched keys are taken as fresh, in seconds; default 300.
    #[serde(default = "refresh")]
    pub(crate) refresh: u64,
}

fn subject() -> String {
    "sub".to_owned()
}

fn leeway() -> u64 {
    60
}

fn refresh() -> u64 {
    300
}
