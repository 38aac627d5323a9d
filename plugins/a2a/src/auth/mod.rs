//! Who calls: authentication at the edge, for every operation of every binding (A2A v1.0, sections 7 and 13.1).
//!
//! A caller needs one of the declared ways. What it presents is compared by digest and in constant time; nothing
//! of it is told again.

mod jwt;
pub(crate) mod keys;
mod query;
#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, fmt, sync::Arc};

use http::{HeaderMap, header::AUTHORIZATION, header::COOKIE};
use mas_contracts::{BuildContext, Result};
use sha2::{Digest, Sha256};
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};

use crate::{
    model::{Failure, Reason},
    params::{ApiKeyPlace, Params, Scheme, SecretText},
};
use jwt::Tokens;

/// What `WWW-Authenticate` calls this server.
const REALM: &str = "realm=\"a2a\"";

/// Lets callers in. Debug shows the ways, and nothing of the secrets.
pub(crate) struct Gate {
    bearers: Vec<Holders>,
    api_keys: Vec<(ApiKeyPlace, String, Holders)>,
    tokens: Vec<Tokens>,
}

impl Gate {
    /// The gate of an endpoint: secrets are read now, keys from an address when the first token comes.
    ///
    /// # Errors
    /// Which secret or which file of keys cannot be read.
    pub(crate) fn open(params: &Params, cx: &BuildContext) -> Result<Self> {
        let mut gate = Self { bearers: Vec::new(), api_keys: Vec::new(), tokens: Vec::new() };
        for (name, scheme) in &params.a2a.security {
            match scheme {
                Scheme::Bearer(bearer) => gate.bearers.push(Holders::open(&bearer.tokens, cx)?),
                Scheme::ApiKey(key) => {
                    gate.api_keys.push((key.place, key.name.clone(), Holders::open(&key.keys, cx)?));
                }
                Scheme::Jwt(jwt) => gate.tokens.push(Tokens::open(name, jwt, cx)?),
            }
        }
        Ok(gate)
    }

    /// Whether nobody needs to authenticate.
    pub(crate) fn is_open(&self) -> bool {
        self.bearers.is_empty() && self.api_keys.is_empty() && self.tokens.is_empty()
    }

    /// Who sent a request with these headers (or metadata) and this query; nobody where the gate is open.
    ///
    /// # Errors
    /// [`Reason::Unauthenticated`] with a challenge, [`Reason::PermissionDenied`] for a token without a scope, and
    /// [`Reason::Unavailable`] when the keys of an issuer cannot be had.
    pub(crate) async fn admit(
        &self,
        headers: &HeaderMap,
        query: Option<&str>,
    ) -> Result<Option<Arc<str>>, Failure> {
        if self.is_open() {
            return Ok(None);
        }
        let bearer = bearer(headers);
        let owner = bearer.and_then(|token| self.bearers.iter().find_map(|holders| holders.owner(token)));
        if owner.is_some() {
            return Ok(owner);
        }
        for (place, name, holders) in &self.api_keys {
            let owner = match place {
                ApiKeyPlace::Header => {
                    let mut given = headers.get_all(name.as_str()).iter();
                    let one = given.next().filter(|_| given.next().is_none());
                    one.and_then(|value| value.to_str().ok()).and_then(|key| holders.owner(key.trim()))
                }
                ApiKeyPlace::Query => {
                    query.and_then(|query| query::value(query, name)).and_then(|key| holders.owner(&key))
                }
                ApiKeyPlace::Cookie => cookie(headers, name).and_then(|key| holders.owner(key)),
            };
            if owner.is_some() {
                return Ok(owner);
            }
        }
        let mut refusal = None;
        if let Some(token) = bearer {
            for tokens in &self.tokens {
                match tokens.owner(token).await {
                    Ok(owner) => return Ok(Some(owner)),
                    // A token that is right but not enough says more than one of another issuer.
                    Err(failure) if refusal.is_none() || failure.reason != Reason::Unauthenticated => {
                        refusal = Some(failure);
                    }
                    Err(_) => {}
                }
            }
        }
        Err(refusal.unwrap_or_else(|| self.unknown(bearer.is_some())))
    }

    fn unknown(&self, presented: bool) -> Failure {
        let has_bearer = !(self.bearers.is_empty() && self.tokens.is_empty());
        let message = match (presented, has_bearer) {
            (true, true) => "the credentials are not known here",
            (_, _) => "authentication is needed: the card says how",
        };
        let challenge = match (has_bearer, presented) {
            (true, true) => format!("Bearer {REALM}, error=\"invalid_token\""),
            (true, false) => format!("Bearer {REALM}"),
            // There is no registered scheme for keys; a challenge there must be (RFC 9110, section 15.5.2).
            (false, _) => format!("ApiKey {REALM}"),
        };
        Failure { challenge: Some(challenge), ..Failure::new(Reason::Unauthenticated, message) }
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate")
            .field("bearers", &self.bearers.len())
            .field("api_keys", &self.api_keys.len())
            .field("tokens", &self.tokens.len())
            .finish()
    }
}

/// Who holds which secret, by digest.
struct Holders(Vec<([u8; 32], Arc<str>)>);

impl Holders {
    fn open(holders: &BTreeMap<String, SecretText>, cx: &BuildContext) -> Result<Self> {
        let digest = |(name, secret): (&String, &SecretText)| {
            let secret = secret.open(cx)?;
            Ok((Sha256::digest(secret.reveal()).into(), Arc::from(name.as_str())))
        };
        holders.iter().map(digest).collect::<Result<Vec<_>>>().map(Self)
    }

    /// Who holds a secret. It takes as long for a right one as for a wrong one.
    fn owner(&self, given: &str) -> Option<Arc<str>> {
        let given: [u8; 32] = Sha256::digest(given).into();
        let mut found = u32::MAX;
        for (at, (digest, _)) in (0u32..).zip(&self.0) {
            let same: Choice = digest.ct_eq(&given);
            found.conditional_assign(&at, same);
        }
        let (_, owner) = self.0.get(usize::try_from(found).ok()?)?;
        Some(owner.clone())
    }
}

/// The token of `Authorization: Bearer`, of which there must be one only.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut given = headers.get_all(AUTHORIZATION).iter();
    let one = given.next().filter(|_| given.next().is_none())?;
    let (scheme, token) = one.to_str().ok()?.trim().split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

/// The value of a cookie.
fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let pairs = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    pairs.flat_map(|pairs| pairs.split(';')).find_map(|pair| {
        let (known, value) = pair.trim().split_once('=')?;
        (known == name).then(|| value.trim_matches('"'))
    })
}
