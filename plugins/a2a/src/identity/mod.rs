//! What this side shows of itself to agents elsewhere, to whom, and which of their cards it takes.
//!
//! The parameters say what is shown; the card says where it goes, and what is asked for. Nothing goes to a host that
//! neither the endpoint's `url` nor `trusted_hosts` names, and nothing goes without TLS but to this machine.

mod demand;
mod discreet;
mod hosts;
mod params;
mod signatures;
#[cfg(test)]
mod tests;

use std::{borrow::Cow, sync::Arc};

use base64::{Engine, engine::general_purpose::STANDARD};
use mas_comm_kit::{
    Secret, Secrets,
    auth::{ClientCredentials, Credential, Tokens},
    http::{HeaderText, Settings, shown},
};
use mas_contracts::{BuildContext, Delivery, Error, ErrorKind, Result};
use serde_json::Value;

use crate::params::{ApiKeyPlace, SecretText};
use demand::Demand;
use hosts::Host;

pub(crate) use discreet::Discreet;
pub(crate) use params::{Auth, Signatures};
pub(crate) use signatures::Seal;

/// Where the parameters stand, for a person.
const PLACE: &str = "a2a.client.auth";

/// Words in the names of headers whose values are secret, even where they stand among the parameters.
const SECRET_NAMES: [&str; 6] = ["auth", "cookie", "key", "token", "secret", "password"];

/// A header of an endpoint. It is secret if its value stands in a variable or a file, or if its name says so.
///
/// # Errors
/// That the variable or the file cannot be had.
pub(crate) fn header(name: &str, text: &SecretText, cx: &BuildContext) -> Result<HeaderText> {
    let lower = name.to_ascii_lowercase();
    let secret = text.is_elsewhere() || SECRET_NAMES.iter().any(|word| lower.contains(word));
    let value = text.open(cx)?;
    Ok(if secret { HeaderText::Secret(value) } else { HeaderText::Plain(value.reveal().to_owned()) })
}

/// What this side shows of itself to the agent of one endpoint.
#[derive(Debug)]
pub(crate) struct Identity {
    given: Option<Given>,
    /// What goes to the agent in any case, whatever its card says.
    headers: Vec<(String, Secret)>,
    /// Whether a certificate is shown to who asks for one.
    certificate: bool,
    /// The only scheme of the card that may be used.
    scheme: Option<String>,
    /// The endpoint's address.
    url: String,
    trusted: Vec<Host>,
    allow_http: bool,
    /// What no text may show, but for tokens.
    secrets: Secrets,
}

/// What is given to show who is asking.
#[derive(Clone, Debug)]
enum Given {
    /// A secret: the card says where it goes.
    Secret(Secret),
    Bearer(Secret),
    ApiKey {
        place: ApiKeyPlace,
        name: String,
        key: Secret,
    },
    Token(Arc<Tokens>),
}

impl Identity {
    /// What the parameters of the endpoint at `url` give, its secret `headers` included. `settings` are those of its
    /// client.
    ///
    /// # Errors
    /// `mas::a2a::secret` for a secret that cannot be had, `mas::a2a::credentials` for an address without TLS, and those of
    /// [`Tokens::shared`].
    pub(crate) fn open(
        auth: Option<&Auth>,
        headers: Vec<(String, Secret)>,
        url: &str,
        settings: &Settings,
        cx: &BuildContext,
    ) -> Result<Self> {
        let none = Auth::default();
        let auth = auth.unwrap_or(&none);
        let given = match auth {
            Auth { secret: Some(secret), .. } => Some(Given::Secret(secret.open(cx)?)),
            Auth { bearer: Some(bearer), .. } => Some(Given::Bearer(bearer.open(cx)?)),
            Auth { api_key: Some(key), .. } => {
                Some(Given::ApiKey { place: key.place, name: key.name.clone(), key: key.key.open(cx)? })
            }
            Auth { oauth2: Some(client), .. } => {
                let client = ClientCredentials {
                    token_url: client.token_url.clone(),
                    client_id: client.client_id.open(cx)?.reveal().to_owned(),
                    client_secret: client.client_secret.open(cx)?,
                    scopes: client.scopes.clone(),
                    audience: client.audience.clone(),
                    resource: client.resource.clone(),
                    auth: client.method.into(),
                };
                Some(Given::Token(Tokens::shared(&client, settings, cx)?))
            }
            _ => None,
        };
        let mut identity = Self {
            secrets: Secrets::new(),
            given,
            headers,
            certificate: auth.client_cert.is_some(),
            scheme: auth.scheme.clone(),
            url: url.to_owned(),
            trusted: auth.trusted_hosts.iter().filter_map(|host| Host::named(host)).collect(),
            allow_http: auth.allow_http,
        };
        if identity.shows_anything() {
            identity.admit(url)?;
        }
        let mut secrets = Secrets::new();
        match &identity.given {
            // As one of several things, in which each half is as secret.
            Some(Given::Secret(secret)) => {
                secrets.add(secret.clone());
                secrets.add(Secret::new(STANDARD.encode(secret.reveal())));
                let password = secret.reveal().split_once(':').map(|(_, password)| password);
                password.into_iter().for_each(|password| secrets.add(Secret::new(password)));
            }
            Some(Given::Bearer(secret) | Given::ApiKey { key: secret, .. }) => secrets.add(secret.clone()),
            Some(Given::Token(_)) | None => {}
        }
        identity.secrets = identity.fixed().fold(secrets, |known, one| known.and(one.secrets()));
        Ok(identity)
    }

    /// The settings of a client, with the certificate of this side.
    pub(crate) fn settings(auth: Option<&Auth>, settings: Settings) -> Settings {
        let Some(auth) = auth else { return settings };
        Settings { client_cert: auth.client_cert.clone(), client_key: auth.client_key.clone(), ..settings }
    }

    /// What no text may show.
    pub(crate) fn secrets(&self) -> Cow<'_, Secrets> {
        match &self.given {
            Some(Given::Token(tokens)) => Cow::Owned(self.secrets.clone().and(tokens.secrets())),
            _ => Cow::Borrowed(&self.secrets),
        }
    }

    /// An error without secrets, also where its words were cut short.
    pub(crate) fn hushed(&self, error: Error) -> Error {
        error.reworded(|words| self.secrets().scrub_cut(words))
    }

    /// A card without secrets.
    pub(crate) fn scrubbed(&self, card: Value) -> Value {
        let secrets = self.secrets();
        if secrets.is_empty() { card } else { discreet::scrubbed(&secrets, card) }
    }

    /// What is shown to who has the card, at one of the places where it may be: nothing to a host that is not the
    /// endpoint's, nor what only the card knows a place for.
    pub(crate) fn for_card(&self, place: &str) -> Vec<Credential> {
        if !self.trusts(place) || self.admit(place).is_err() {
            return Vec::new();
        }
        let given = match &self.given {
            None | Some(Given::Secret(_)) => None,
            Some(given) => Some(given.as_it_is()),
        };
        self.fixed().chain(given).collect()
    }

    /// What is shown to the agent at the address `to`, as its card asks for it; `card` is null where there is none.
    ///
    /// # Errors
    /// `mas::a2a::credentials`, before anything is sent: the card asks for what is not given, does not say where a secret
    /// goes, or leads to a host that is not trusted or has no TLS.
    pub(crate) fn for_interface(&self, card: &Value, to: &str) -> Result<Vec<Credential>> {
        let demand = Demand::of(card);
        let given = demand.met_by(self).map_err(|message| {
            let text = format!("the agent at {}: {message}", shown(&self.url));
            refused(ErrorKind::Unauthenticated, text)
        })?;
        if self.shows_anything() {
            if !self.trusts(to) {
                let (other, own) = (Host::of(to), Host::of(&self.url));
                let name = |host: Option<Host>| host.map_or_else(|| "?".to_owned(), |host| host.to_string());
                let (other, own) = (name(other), name(own));
                return Err(refused(
                    ErrorKind::Denied,
                    format!(
                        "the card of the agent at `{own}` sends its callers to `{other}`, where no credentials go by \
                         themselves; if that is right, name it: `{PLACE}.trusted_hosts: [\"{other}\"]`"
                    ),
                ));
            }
            self.admit(to)?;
        }
        Ok(self.fixed().chain(given).collect())
    }

    fn shows_anything(&self) -> bool {
        self.given.is_some() || self.certificate || !self.headers.is_empty()
    }

    fn trusts(&self, place: &str) -> bool {
        let Some(host) = Host::of(place) else { return false };
        let own = Host::of(&self.url).is_some_and(|own| own.is_same_machine(&host));
        own || self.trusted.iter().any(|known| known.covers(&host))
    }

    /// That a place is this machine or has TLS, unless it need not.
    fn admit(&self, place: &str) -> Result<()> {
        if self.allow_http || hosts::is_private(place) {
            return Ok(());
        }
        let text = format!(
            "credentials would go to `{}` where everybody on the way can read them; use https, or say \
             `{PLACE}.allow_http: true`",
            shown(place)
        );
        Err(refused(ErrorKind::Denied, text))
    }

    fn fixed(&self) -> impl Iterator<Item = Credential> {
        self.headers.iter().map(|(name, text)| Credential::Header(name.clone(), text.clone()))
    }

    fn has_header(&self, name: &str) -> bool {
        self.headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name))
    }
}

impl Given {
    /// As it is shown where no card says otherwise.
    fn as_it_is(&self) -> Credential {
        match self {
            Self::Secret(secret) | Self::Bearer(secret) => {
                Credential::Authorization("Bearer", secret.clone())
            }
            Self::ApiKey { place, name, key } => at(*place, name, key),
            Self::Token(tokens) => Credential::Token(tokens.clone()),
        }
    }
}

/// A key in its place.
fn at(place: ApiKeyPlace, name: &str, key: &Secret) -> Credential {
    let (name, key) = (name.to_owned(), key.clone());
    match place {
        ApiKeyPlace::Header => Credential::Header(name, key),
        ApiKeyPlace::Query => Credential::Query(name, key),
        ApiKeyPlace::Cookie => Credential::Cookie(name, key),
    }
}

fn refused(kind: ErrorKind, message: String) -> Error {
    Error::new(kind, message).with_code("mas::a2a::credentials").with_delivery(Delivery::NotSent)
}
