//! What a card asks its callers for (A2A v1.0, sections 4.5 and 7; OpenAPI's words in v0.3).

use base64::{Engine, engine::general_purpose::STANDARD};
use mas_comm_kit::{Secret, auth::Credential};
use serde_json::{Map, Value};

use super::{Given, Identity, PLACE, at};
use crate::{card::signing::shown, params::ApiKeyPlace};

/// The most ways that an error names.
const MOST: usize = 8;

/// What a card asks for.
#[derive(Debug, Default)]
pub(super) struct Demand {
    schemes: Vec<(String, Scheme)>,
    /// The ways in, each with the names of all schemes that it takes. None at all: the card asks for nothing.
    ways: Vec<Vec<String>>,
}

/// How a scheme is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Scheme {
    ApiKey(ApiKeyPlace, String),
    /// A scheme of `Authorization`.
    Http(String),
    /// Tokens of an authorization server.
    Token,
    Certificate,
    Unknown,
}

impl Demand {
    /// What a card asks for, in the shape of either version.
    pub(super) fn of(card: &Value) -> Self {
        let filled =
            |names: &[&str]| names.iter().filter_map(|name| card.get(*name)).find(|it| !is_empty(it));
        let schemes = filled(&["securitySchemes", "security_schemes"]).and_then(Value::as_object);
        let ways = filled(&["securityRequirements", "security_requirements", "security"]);
        let way = |way: &Value| {
            let named = way.get("schemes").and_then(Value::as_object).or(way.as_object());
            named.map_or_else(Vec::new, |named| named.keys().cloned().collect())
        };
        Self {
            schemes: schemes.into_iter().flatten().map(|(name, it)| (name.clone(), Scheme::of(it))).collect(),
            ways: ways.and_then(Value::as_array).into_iter().flatten().map(way).collect(),
        }
    }

    /// What of an identity is shown, beside its headers.
    ///
    /// # Errors
    /// That it is not enough, or that there is no telling where it goes.
    pub(super) fn met_by(&self, identity: &Identity) -> Result<Option<Credential>, String> {
        let Identity { given, scheme: only, .. } = identity;
        if let Some(only) = only.as_ref().filter(|only| !self.schemes.iter().any(|(name, _)| name == *only)) {
            let known: Vec<_> = self.schemes.iter().map(|(name, _)| format!("`{name}`")).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            return Err(format!(
                "its card has no security scheme `{only}`; it has {known} (`{PLACE}.scheme`)"
            ));
        }
        if self.ways.is_empty() {
            return self.placed(identity);
        }
        let may = |way: &&Vec<String>| only.as_ref().is_none_or(|only| way.contains(only));
        // A way that shows something before one that lets everybody in.
        let (open, asking): (Vec<_>, Vec<_>) = self.ways.iter().filter(may).partition(|way| way.is_empty());
        if let Some(shown) = asking.into_iter().find_map(|way| self.shown(way, identity)) {
            return Ok(shown);
        }
        match given {
            None if !open.is_empty() => Ok(None),
            Some(_) if !open.is_empty() => self.placed(identity),
            _ => Err(self.unmet(given.as_ref())),
        }
    }

    /// Where it goes if nothing is asked for.
    fn placed(&self, identity: &Identity) -> Result<Option<Credential>, String> {
        let Some(given) = &identity.given else { return Ok(None) };
        let Given::Secret(_) = given else { return Ok(Some(given.as_it_is())) };
        let may = |name: &str| identity.scheme.as_deref().is_none_or(|only| only == name);
        let fitting = self.schemes.iter().filter(|(name, _)| may(name));
        let mut fitting = fitting.filter_map(|(_, scheme)| scheme.shown(identity).flatten());
        match (fitting.next(), fitting.next()) {
            (Some(one), None) => Ok(Some(one)),
            (Some(_), Some(_)) => Err(format!(
                "its card has several places for a secret, and asks for none of them; name one as `{PLACE}.scheme`"
            )),
            (None, _) => Err(format!(
                "its card does not say where a secret goes; write `{PLACE}.bearer`, or `{PLACE}.api_key` with its place"
            )),
        }
    }

    /// What is shown on one way in; nothing where it is not enough.
    #[expect(
        clippy::option_option,
        reason = "not enough is something else than nothing more than the headers"
    )]
    fn shown(&self, way: &[String], identity: &Identity) -> Option<Option<Credential>> {
        let mut credential = None;
        for name in way {
            let known = self.schemes.iter().find(|(known, _)| known == name);
            let scheme = known.map_or(&Scheme::Unknown, |(_, scheme)| scheme);
            credential = scheme.shown(identity)?.or(credential);
        }
        Some(credential)
    }

    fn unmet(&self, given: Option<&Given>) -> String {
        let name = |name: &String| {
            let known = self.schemes.iter().find(|(known, _)| known == name);
            format!("{} (`{}`)", known.map_or(Scheme::Unknown, |(_, it)| it.clone()).words(), shown(name))
        };
        let way = |way: &Vec<String>| way.iter().map(name).collect::<Vec<_>>().join(" with ");
        let mut ways: Vec<String> =
            self.ways.iter().filter(|way| !way.is_empty()).take(MOST).map(way).collect();
        if self.ways.len() > MOST {
            ways.push("…".to_owned());
        }
        let given = match given {
            None => "nothing",
            Some(Given::Secret(_)) => "a secret",
            Some(Given::Bearer(_)) => "a bearer token",
            Some(Given::ApiKey { .. }) => "an API key for another place",
            Some(Given::Token(_)) => "tokens of an authorization server",
        };
        format!("its card asks for {}, and the endpoint gives {given} (`{PLACE}`)", ways.join(", or "))
    }
}

impl Scheme {
    fn of(scheme: &Value) -> Self {
        let inner = |names: [&str; 2]| names.iter().find_map(|name| scheme.get(*name)?.as_object());
        let text = |of: &Map<String, Value>, name: &str| of.get(name)?.as_str().map(str::to_owned);
        let key = |of: &Map<String, Value>, place: &str| {
            let place = match text(of, place)?.to_ascii_lowercase().as_str() {
                "header" => ApiKeyPlace::Header,
                "query" => ApiKeyPlace::Query,
                "cookie" => ApiKeyPlace::Cookie,
                _ => return None,
            };
            Some(Self::ApiKey(place, text(of, "name").filter(|name| !name.is_empty())?))
        };
        let http = |of: &Map<String, Value>| text(of, "scheme").map(Self::Http);
        let known = if let Some(it) = inner(["apiKeySecurityScheme", "api_key_security_scheme"]) {
            key(it, "location")
        } else if let Some(it) = inner(["httpAuthSecurityScheme", "http_auth_security_scheme"]) {
            http(it)
        } else if inner(["oauth2SecurityScheme", "oauth2_security_scheme"])
            .or(inner(["openIdConnectSecurityScheme", "open_id_connect_security_scheme"]))
            .is_some()
        {
            Some(Self::Token)
        } else if inner(["mtlsSecurityScheme", "mtls_security_scheme"]).is_some() {
            Some(Self::Certificate)
        } else {
            scheme.as_object().and_then(|it| match text(it, "type")?.as_str() {
                "apiKey" => key(it, "in"),
                "http" => http(it),
                "oauth2" | "openIdConnect" => Some(Self::Token),
                "mutualTLS" => Some(Self::Certificate),
                _ => None,
            })
        };
        known.unwrap_or(Self::Unknown)
    }

    /// What is shown for it beside the headers; nothing where nothing that is given fits.
    #[expect(
        clippy::option_option,
        reason = "not enough is something else than nothing more than the headers"
    )]
    fn shown(&self, identity: &Identity) -> Option<Option<Credential>> {
        let bearer = |secret: &Secret| Some(Some(Credential::Authorization("Bearer", secret.clone())));
        let header = match self {
            Self::ApiKey(ApiKeyPlace::Header, name) => Some(name.as_str()),
            Self::ApiKey(ApiKeyPlace::Cookie, _) => Some("cookie"),
            Self::Http(_) | Self::Token => Some("authorization"),
            _ => None,
        };
        let by_header = || header.filter(|name| identity.has_header(name)).map(|_| None);
        match (self, &identity.given) {
            (Self::Certificate, _) => identity.certificate.then_some(None),
            (Self::ApiKey(place, name), Some(Given::Secret(key))) => Some(Some(at(*place, name, key))),
            (Self::Http(scheme), Some(Given::Secret(secret))) if scheme.eq_ignore_ascii_case("basic") => {
                let pair = secret.reveal();
                let whole = Secret::new(STANDARD.encode(pair));
                pair.contains(':').then_some(Some(Credential::Authorization("Basic", whole)))
            }
            (Self::Http(scheme), Some(Given::Secret(secret) | Given::Bearer(secret)))
                if scheme.eq_ignore_ascii_case("bearer") =>
            {
                bearer(secret)
            }
            (Self::Token, Some(Given::Secret(secret) | Given::Bearer(secret))) => bearer(secret),
            (Self::Token, Some(given @ Given::Token(_))) => Some(Some(given.as_it_is())),
            (Self::Http(scheme), Some(given @ Given::Token(_))) if scheme.eq_ignore_ascii_case("bearer") => {
                Some(Some(given.as_it_is()))
            }
            (Self::ApiKey(wanted, name), Some(given @ Given::ApiKey { place, name: known, .. })) => {
                let same = match wanted {
                    ApiKeyPlace::Header => name.eq_ignore_ascii_case(known),
                    _ => name == known,
                };
                if *wanted == *place && same { Some(Some(given.as_it_is())) } else { by_header() }
            }
            // What nobody here knows may be what was given with its place.
            (Self::Unknown, Some(given @ (Given::Bearer(_) | Given::ApiKey { .. } | Given::Token(_)))) => {
                Some(Some(given.as_it_is()))
            }
            _ => by_header(),
        }
    }

    fn words(&self) -> String {
        match self {
            Self::ApiKey(place, name) => {
                let place = match place {
                    ApiKeyPlace::Header => "header",
                    ApiKeyPlace::Query => "query field",
                    ApiKeyPlace::Cookie => "cookie",
                };
                format!("an API key in the {place} `{}`", shown(name))
            }
            Self::Http(scheme) if scheme.eq_ignore_ascii_case("bearer") => "a bearer token".to_owned(),
            Self::Http(scheme) => format!("`Authorization: {}`", shown(scheme)),
            Self::Token => "a token of an authorization server".to_owned(),
            Self::Certificate => "a certificate of this side".to_owned(),
            Self::Unknown => "something that is not known here".to_owned(),
        }
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => true,
    }
}
