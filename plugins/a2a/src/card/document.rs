//! The card as a document, in the shapes of both versions.
//!
//! No member is ever empty, and what has a default is written only where it differs, so that readers who drop
//! empty members before they verify a signature see what was signed.

use mas_contracts::AgentProfile;
use serde_json::{Map, Value, json};

use super::Place;
use crate::params::{ApiKey, CardShape, ExtendedCard, Params, Scheme};

/// The organization of an agent whose manifest names an address only.
const ORGANIZATION: &str = "MAS Lab";

/// What a card is made from.
#[derive(Clone, Copy)]
pub(super) struct Card<'a> {
    pub(super) profile: &'a AgentProfile,
    pub(super) params: &'a Params,
    pub(super) place: &'a Place,
    pub(super) extended: Option<&'a ExtendedCard>,
}

impl Card<'_> {
    /// The shape of v1.0 (section 4.4.1), unsigned.
    pub(super) fn v1(&self) -> Value {
        let mut card = Map::new();
        let mut put = |key: &str, value: Value| card.insert(key.to_owned(), value);
        put("name", self.name().into());
        put("description", self.description().into());
        put("supportedInterfaces", self.interfaces());
        if let Some(provider) = self.provider() {
            put("provider", provider);
        }
        put("version", filled(&self.profile.version, "0.1.0").into());
        self.addresses(&mut put);
        put("capabilities", self.capabilities_v1());
        if !self.params.a2a.security.is_empty() {
            let schemes =
                self.params.a2a.security.iter().map(|(name, scheme)| (name.clone(), scheme_v1(scheme)));
            put("securitySchemes", Value::Object(schemes.collect()));
            // Each requirement is a way of its own: one is enough.
            let ways = self.params.a2a.security.iter().map(|(name, scheme)| {
                let scopes = scopes(scheme);
                let list = if scopes.is_empty() { json!({}) } else { json!({"list": scopes}) };
                json!({"schemes": {name: list}})
            });
            put("securityRequirements", ways.collect());
        }
        put("defaultInputModes", self.params.input_modes().into());
        put("defaultOutputModes", self.params.output_modes().into());
        put("skills", self.skills());
        Value::Object(card)
    }

    /// The shape of v0.3 (section 5.5 there).
    pub(super) fn v03(&self) -> Value {
        let mut card = Map::new();
        let mut put = |key: &str, value: Value| card.insert(key.to_owned(), value);
        let (base, rest) = (self.place.base.as_str(), self.rest());
        put("protocolVersion", "0.3.0".into());
        put("name", self.name().into());
        put("description", self.description().into());
        put("url", base.into());
        put("preferredTransport", "JSONRPC".into());
        let mut others = vec![
            json!({"url": base, "transport": "JSONRPC"}),
            json!({"url": rest, "transport": "HTTP+JSON"}),
        ];
        // v0.3 knows no tenants, so gRPC leads to another agent where one is needed.
        let grpc = self.place.grpc.iter().filter(|_| self.place.tenant.is_none());
        others.extend(grpc.map(|at| json!({"url": at, "transport": "GRPC"})));
        put("additionalInterfaces", others.into());
        if let Some(provider) = self.provider() {
            put("provider", provider);
        }
        put("version", filled(&self.profile.version, "0.1.0").into());
        self.addresses(&mut put);
        let mut capabilities = self.capabilities_v1();
        if let Some(members) = capabilities.as_object_mut() {
            members.remove("extendedAgentCard");
        }
        put("capabilities", capabilities);
        if !self.params.a2a.security.is_empty() {
            let schemes =
                self.params.a2a.security.iter().map(|(name, scheme)| (name.clone(), scheme_v03(scheme)));
            put("securitySchemes", Value::Object(schemes.collect()));
            let ways = self.params.a2a.security.iter().map(|(name, scheme)| json!({name: scopes(scheme)}));
            put("security", ways.collect());
        }
        put("defaultInputModes", self.params.input_modes().into());
        put("defaultOutputModes", self.params.output_modes().into());
        put("skills", self.skills());
        let extended = self.params.a2a.capabilities.extended_agent_card;
        put("supportsAuthenticatedExtendedCard", extended.into());
        Value::Object(card)
    }

    fn name(&self) -> &str {
        filled(&self.profile.name, &self.profile.id)
    }

    fn description(&self) -> &str {
        let extended = self.extended.and_then(|extended| extended.description.as_deref());
        filled(extended.unwrap_or(&self.profile.description), self.name())
    }

    fn rest(&self) -> String {
        format!("{}/a2a/rest", self.place.base)
    }

    /// One entry per binding and version, the preferred first (section 8.3.1); v1.0 before v0.3.
    fn interfaces(&self) -> Value {
        let rest = self.rest();
        let versions: &[&str] = match self.params.a2a.card {
            CardShape::Union => &["1.0", "0.3"],
            CardShape::V1 => &["1.0"],
        };
        let of_version = |version: &&str| {
            let entry = |url: &str, binding: &str| json!({"url": url, "protocolBinding": binding, "protocolVersion": version});
            let mut entries = vec![entry(&self.place.base, "JSONRPC"), entry(&rest, "HTTP+JSON")];
            if let Some(at) = &self.place.grpc {
                let mut grpc = entry(at, "GRPC");
                if let (Some(tenant), "1.0", Some(grpc)) =
                    (&self.place.tenant, *version, grpc.as_object_mut())
                {
                    grpc.insert("tenant".to_owned(), tenant.as_str().into());
                }
                if *version == "1.0" || self.place.tenant.is_none() {
                    entries.push(grpc);
                }
            }
            entries
        };
        versions.iter().flat_map(of_version).collect()
    }

    /// A provider has both members (section 4.4.2); without an address there is none to tell.
    fn provider(&self) -> Option<Value> {
        let declared = self.profile.provider.as_ref()?;
        let url = declared.url.as_deref().filter(|url| !url.is_empty())?;
        let organization = declared.organization.as_deref().unwrap_or_default();
        Some(json!({"organization": filled(organization, ORGANIZATION), "url": url}))
    }

    fn addresses(&self, put: &mut impl FnMut(&str, Value) -> Option<Value>) {
        let a2a = &self.params.a2a;
        for (key, url) in [("documentationUrl", &a2a.documentation_url), ("iconUrl", &a2a.icon_url)] {
            if let Some(url) = url {
                put(key, url.as_str().into());
            }
        }
    }

    fn capabilities_v1(&self) -> Value {
        let declared = &self.params.a2a.capabilities;
        let mut capabilities = json!({
            "streaming": declared.streaming,
            "pushNotifications": declared.push_notifications,
            "extendedAgentCard": declared.extended_agent_card,
        });
        let extensions = declared.extensions.iter().map(|one| {
            let mut extension = Map::new();
            extension.insert("uri".to_owned(), one.uri.as_str().into());
            if let Some(description) = one.description.as_deref().filter(|text| !text.is_empty()) {
                extension.insert("description".to_owned(), description.into());
            }
            if one.required {
                extension.insert("required".to_owned(), true.into());
            }
            if let Some(params) = one.params.as_ref().filter(|params| !params.is_empty()) {
                extension.insert("params".to_owned(), Value::Object(params.clone()));
            }
            Value::Object(extension)
        });
        let extensions: Vec<Value> = extensions.collect();
        if let (false, Some(members)) = (extensions.is_empty(), capabilities.as_object_mut()) {
            members.insert("extensions".to_owned(), extensions.into());
        }
        capabilities
    }

    /// The skills of the manifest, or a general one, since a card has at least one.
    fn skills(&self) -> Value {
        let own = self.profile.skills.iter().map(|skill| {
            let name = filled(&skill.name, &skill.id);
            json!({
                "id": filled(&skill.id, name),
                "name": name,
                "description": filled(&skill.description, name),
                "tags": [filled(&skill.id, name)],
            })
        });
        let mut skills: Vec<Value> = own.collect();
        if skills.is_empty() {
            skills.push(json!({
                "id": "general",
                "name": self.name(),
                "description": filled(&self.profile.description, self.name()),
                "tags": ["general"],
            }));
        }
        for more in self.extended.iter().flat_map(|extended| &extended.skills) {
            let tags = if more.tags.is_empty() { std::slice::from_ref(&more.id) } else { &more.tags };
            let mut skill = json!({
                "id": more.id,
                "name": more.name.as_deref().map_or(more.id.as_str(), |name| filled(name, &more.id)),
                "description": more.description,
                "tags": tags,
            });
            if let (false, Some(members)) = (more.examples.is_empty(), skill.as_object_mut()) {
                members.insert("examples".to_owned(), more.examples.clone().into());
            }
            skills.push(skill);
        }
        skills.into()
    }
}

/// One document for readers of both versions: the members of v1.0, those that only v0.3 has beside them, and the
/// security schemes in both spellings, as the official Python SDK has it.
pub(super) fn union(v1: Value, v03: Value) -> Value {
    let (Value::Object(mut card), Value::Object(old)) = (v1, v03) else { return Value::Null };
    for (key, value) in old {
        match (card.get_mut(&key), value) {
            (Some(Value::Object(known)), Value::Object(old)) if key == "securitySchemes" => {
                for (name, scheme) in old {
                    if let (Some(Value::Object(known)), Value::Object(scheme)) =
                        (known.get_mut(&name), scheme)
                    {
                        known.extend(scheme);
                    }
                }
            }
            (Some(_), _) => {}
            (None, value) => {
                card.insert(key, value);
            }
        }
    }
    Value::Object(card)
}

fn described(mut scheme: Value, description: Option<&String>) -> Value {
    if let (Some(text), Some(members)) = (description.filter(|text| !text.is_empty()), scheme.as_object_mut())
    {
        members.insert("description".to_owned(), text.as_str().into());
    }
    scheme
}

/// A scheme as v1.0 has it (section 4.5).
fn scheme_v1(scheme: &Scheme) -> Value {
    match scheme {
        Scheme::Bearer(bearer) => {
            let inner = described(json!({"scheme": "Bearer"}), bearer.description.as_ref());
            json!({"httpAuthSecurityScheme": inner})
        }
        Scheme::Jwt(jwt) => {
            let inner = json!({"scheme": "Bearer", "bearerFormat": "JWT"});
            json!({"httpAuthSecurityScheme": described(inner, jwt.description.as_ref())})
        }
        Scheme::ApiKey(ApiKey { description, place, name, .. }) => {
            let inner = json!({"location": place.word(), "name": name});
            json!({"apiKeySecurityScheme": described(inner, description.as_ref())})
        }
    }
}

/// A scheme as v0.3 and OpenAPI have it.
fn scheme_v03(scheme: &Scheme) -> Value {
    match scheme {
        Scheme::Bearer(bearer) => {
            described(json!({"type": "http", "scheme": "Bearer"}), bearer.description.as_ref())
        }
        Scheme::Jwt(jwt) => {
            let inner = json!({"type": "http", "scheme": "Bearer", "bearerFormat": "JWT"});
            described(inner, jwt.description.as_ref())
        }
        Scheme::ApiKey(ApiKey { description, place, name, .. }) => {
            let inner = json!({"type": "apiKey", "in": place.word(), "name": name});
            described(inner, description.as_ref())
        }
    }
}

/// The scopes that a caller needs by this way.
fn scopes(scheme: &Scheme) -> &[String] {
    match scheme {
        Scheme::Jwt(jwt) => &jwt.scopes,
        Scheme::Bearer(_) | Scheme::ApiKey(_) => &[],
    }
}

fn filled<'a>(text: &'a str, otherwise: &'a str) -> &'a str {
    if text.trim().is_empty() { otherwise } else { text }
}
