//! The card, of both versions. Its messages are also read from the card's JSON, field by field.
//!
//! What both versions have under the same numbers is one message here; of an interface, v0.3 has the first two
//! fields, of flows all but what v1.0 added.

use std::collections::BTreeMap;

use prost::{Message, Oneof};
use prost_types::Struct;
use serde::{Deserialize, Deserializer, de::Error as _};
use serde_json::{Map, Value};

use crate::grpc::values;

/// The card of v1.0.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct AgentCard {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(string, tag = "2")]
    pub(crate) description: String,
    #[prost(message, repeated, tag = "3")]
    pub(crate) supported_interfaces: Vec<AgentInterface>,
    #[prost(message, optional, tag = "4")]
    pub(crate) provider: Option<AgentProvider>,
    #[prost(string, tag = "5")]
    pub(crate) version: String,
    #[prost(string, optional, tag = "6")]
    pub(crate) documentation_url: Option<String>,
    #[prost(message, optional, tag = "7")]
    pub(crate) capabilities: Option<AgentCapabilities>,
    #[prost(btree_map = "string, message", tag = "8")]
    pub(crate) security_schemes: BTreeMap<String, SecurityScheme>,
    #[prost(message, repeated, tag = "9")]
    pub(crate) security_requirements: Vec<SecurityRequirement>,
    #[prost(string, repeated, tag = "10")]
    pub(crate) default_input_modes: Vec<String>,
    #[prost(string, repeated, tag = "11")]
    pub(crate) default_output_modes: Vec<String>,
    #[prost(message, repeated, tag = "12")]
    pub(crate) skills: Vec<AgentSkill>,
    #[prost(message, repeated, tag = "13")]
    pub(crate) signatures: Vec<AgentCardSignature>,
    #[prost(string, optional, tag = "14")]
    pub(crate) icon_url: Option<String>,
}

/// The card of v0.3.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct OldAgentCard {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(string, tag = "2")]
    pub(crate) description: String,
    #[prost(string, tag = "3")]
    pub(crate) url: String,
    #[prost(message, optional, tag = "4")]
    pub(crate) provider: Option<AgentProvider>,
    #[prost(string, tag = "5")]
    pub(crate) version: String,
    #[prost(string, tag = "6")]
    pub(crate) documentation_url: String,
    #[prost(message, optional, tag = "7")]
    pub(crate) capabilities: Option<AgentCapabilities>,
    #[prost(btree_map = "string, message", tag = "8")]
    #[serde(deserialize_with = "old_schemes")]
    pub(crate) security_schemes: BTreeMap<String, SecurityScheme>,
    #[prost(message, repeated, tag = "9")]
    #[serde(deserialize_with = "old_security")]
    pub(crate) security: Vec<SecurityRequirement>,
    #[prost(string, repeated, tag = "10")]
    pub(crate) default_input_modes: Vec<String>,
    #[prost(string, repeated, tag = "11")]
    pub(crate) default_output_modes: Vec<String>,
    #[prost(message, repeated, tag = "12")]
    pub(crate) skills: Vec<AgentSkill>,
    #[prost(bool, tag = "13")]
    pub(crate) supports_authenticated_extended_card: bool,
    #[prost(string, tag = "14")]
    pub(crate) preferred_transport: String,
    #[prost(message, repeated, tag = "15")]
    pub(crate) additional_interfaces: Vec<AgentInterface>,
    #[prost(string, tag = "16")]
    pub(crate) protocol_version: String,
    #[prost(message, repeated, tag = "17")]
    pub(crate) signatures: Vec<AgentCardSignature>,
    #[prost(string, tag = "18")]
    pub(crate) icon_url: String,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct AgentInterface {
    #[prost(string, tag = "1")]
    pub(crate) url: String,
    #[prost(string, tag = "2")]
    #[serde(alias = "transport")]
    pub(crate) protocol_binding: String,
    #[prost(string, tag = "3")]
    pub(crate) tenant: String,
    #[prost(string, tag = "4")]
    pub(crate) protocol_version: String,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
pub(crate) struct AgentProvider {
    #[prost(string, tag = "1")]
    pub(crate) url: String,
    #[prost(string, tag = "2")]
    pub(crate) organization: String,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct AgentCapabilities {
    #[prost(bool, optional, tag = "1")]
    pub(crate) streaming: Option<bool>,
    #[prost(bool, optional, tag = "2")]
    pub(crate) push_notifications: Option<bool>,
    #[prost(message, repeated, tag = "3")]
    pub(crate) extensions: Vec<AgentExtension>,
    #[prost(bool, optional, tag = "4")]
    pub(crate) extended_agent_card: Option<bool>,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
pub(crate) struct AgentExtension {
    #[prost(string, tag = "1")]
    pub(crate) uri: String,
    #[prost(string, tag = "2")]
    pub(crate) description: String,
    #[prost(bool, tag = "3")]
    pub(crate) required: bool,
    #[prost(message, optional, tag = "4")]
    #[serde(deserialize_with = "object")]
    pub(crate) params: Option<Struct>,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct AgentSkill {
    #[prost(string, tag = "1")]
    pub(crate) id: String,
    #[prost(string, tag = "2")]
    pub(crate) name: String,
    #[prost(string, tag = "3")]
    pub(crate) description: String,
    #[prost(string, repeated, tag = "4")]
    pub(crate) tags: Vec<String>,
    #[prost(string, repeated, tag = "5")]
    pub(crate) examples: Vec<String>,
    #[prost(string, repeated, tag = "6")]
    pub(crate) input_modes: Vec<String>,
    #[prost(string, repeated, tag = "7")]
    pub(crate) output_modes: Vec<String>,
    #[prost(message, repeated, tag = "8")]
    pub(crate) security_requirements: Vec<SecurityRequirement>,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
pub(crate) struct AgentCardSignature {
    #[prost(string, tag = "1")]
    pub(crate) protected: String,
    #[prost(string, tag = "2")]
    pub(crate) signature: String,
    #[prost(message, optional, tag = "3")]
    #[serde(deserialize_with = "object")]
    pub(crate) header: Option<Struct>,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
pub(crate) struct SecurityRequirement {
    #[prost(btree_map = "string, message", tag = "1")]
    pub(crate) schemes: BTreeMap<String, StringList>,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
pub(crate) struct StringList {
    #[prost(string, repeated, tag = "1")]
    pub(crate) list: Vec<String>,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(transparent)]
pub(crate) struct SecurityScheme {
    #[prost(oneof = "Scheme", tags = "1, 2, 3, 4, 5")]
    pub(crate) scheme: Option<Scheme>,
}

#[derive(Clone, PartialEq, Oneof, Deserialize)]
pub(crate) enum Scheme {
    #[prost(message, tag = "1")]
    #[serde(rename = "apiKeySecurityScheme", alias = "apiKey")]
    ApiKey(ApiKeySecurityScheme),
    #[prost(message, tag = "2")]
    #[serde(rename = "httpAuthSecurityScheme", alias = "http")]
    HttpAuth(HttpAuthSecurityScheme),
    #[prost(message, tag = "3")]
    #[serde(rename = "oauth2SecurityScheme", alias = "oauth2")]
    OAuth2(OAuth2SecurityScheme),
    #[prost(message, tag = "4")]
    #[serde(rename = "openIdConnectSecurityScheme", alias = "openIdConnect")]
    OpenIdConnect(OpenIdConnectSecurityScheme),
    #[prost(message, tag = "5")]
    #[serde(rename = "mtlsSecurityScheme", alias = "mutualTLS")]
    MutualTls(MutualTlsSecurityScheme),
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
pub(crate) struct ApiKeySecurityScheme {
    #[prost(string, tag = "1")]
    pub(crate) description: String,
    #[prost(string, tag = "2")]
    #[serde(alias = "in")]
    pub(crate) location: String,
    #[prost(string, tag = "3")]
    pub(crate) name: String,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct HttpAuthSecurityScheme {
    #[prost(string, tag = "1")]
    pub(crate) description: String,
    #[prost(string, tag = "2")]
    pub(crate) scheme: String,
    #[prost(string, tag = "3")]
    pub(crate) bearer_format: String,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct OAuth2SecurityScheme {
    #[prost(string, tag = "1")]
    pub(crate) description: String,
    #[prost(message, optional, tag = "2")]
    pub(crate) flows: Option<OAuthFlows>,
    #[prost(string, tag = "3")]
    pub(crate) oauth2_metadata_url: String,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct OpenIdConnectSecurityScheme {
    #[prost(string, tag = "1")]
    pub(crate) description: String,
    #[prost(string, tag = "2")]
    pub(crate) open_id_connect_url: String,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
pub(crate) struct MutualTlsSecurityScheme {
    #[prost(string, tag = "1")]
    pub(crate) description: String,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(transparent)]
pub(crate) struct OAuthFlows {
    #[prost(oneof = "Flow", tags = "1, 2, 3, 4, 5")]
    pub(crate) flow: Option<Flow>,
}

/// A way to a token.
#[derive(Clone, PartialEq, Oneof, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Flow {
    #[prost(message, tag = "1")]
    AuthorizationCode(AuthorizationCodeFlow),
    #[prost(message, tag = "2")]
    ClientCredentials(TokenFlow),
    #[prost(message, tag = "3")]
    Implicit(ImplicitFlow),
    #[prost(message, tag = "4")]
    Password(TokenFlow),
    #[prost(message, tag = "5")]
    DeviceCode(DeviceCodeFlow),
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct AuthorizationCodeFlow {
    #[prost(string, tag = "1")]
    pub(crate) authorization_url: String,
    #[prost(string, tag = "2")]
    pub(crate) token_url: String,
    #[prost(string, tag = "3")]
    pub(crate) refresh_url: String,
    #[prost(btree_map = "string, string", tag = "4")]
    pub(crate) scopes: BTreeMap<String, String>,
    #[prost(bool, tag = "5")]
    pub(crate) pkce_required: bool,
}

/// `ClientCredentialsOAuthFlow` and `PasswordOAuthFlow`, which have the same fields.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct TokenFlow {
    #[prost(string, tag = "1")]
    pub(crate) token_url: String,
    #[prost(string, tag = "2")]
    pub(crate) refresh_url: String,
    #[prost(btree_map = "string, string", tag = "3")]
    pub(crate) scopes: BTreeMap<String, String>,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ImplicitFlow {
    #[prost(string, tag = "1")]
    pub(crate) authorization_url: String,
    #[prost(string, tag = "2")]
    pub(crate) refresh_url: String,
    #[prost(btree_map = "string, string", tag = "3")]
    pub(crate) scopes: BTreeMap<String, String>,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct DeviceCodeFlow {
    #[prost(string, tag = "1")]
    pub(crate) device_authorization_url: String,
    #[prost(string, tag = "2")]
    pub(crate) token_url: String,
    #[prost(string, tag = "3")]
    pub(crate) refresh_url: String,
    #[prost(btree_map = "string, string", tag = "4")]
    pub(crate) scopes: BTreeMap<String, String>,
}

fn object<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Struct>, D::Error> {
    Map::<String, Value>::deserialize(from).map(|map| values::write_object(&map))
}

/// The schemes of v0.3's JSON, which are those of OpenAPI: the kind is a member like the others.
fn old_schemes<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<String, SecurityScheme>, D::Error> {
    let schemes = BTreeMap::<String, Map<String, Value>>::deserialize(from)?;
    let scheme = |(name, mut members): (String, Map<String, Value>)| {
        let Some(Value::String(kind)) = members.remove("type") else {
            return Err(D::Error::missing_field("type"));
        };
        let scheme = Value::Object([(kind, Value::Object(members))].into_iter().collect());
        SecurityScheme::deserialize(scheme).map(|scheme| (name, scheme)).map_err(D::Error::custom)
    };
    schemes.into_iter().map(scheme).collect()
}

/// The requirements of v0.3's JSON: scopes by the name of their scheme.
fn old_security<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<SecurityRequirement>, D::Error> {
    let ways = Vec::<BTreeMap<String, Vec<String>>>::deserialize(from)?;
    let way = |way: BTreeMap<String, Vec<String>>| SecurityRequirement {
        schemes: way.into_iter().map(|(name, list)| (name, StringList { list })).collect(),
    };
    Ok(ways.into_iter().map(way).collect())
}
