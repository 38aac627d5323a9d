//! Cards for people: what an endpoint would publish, and signing and verifying documents.

use std::time::Duration;

use mas_contracts::{AgentProfile, BuildContext, Error, Problem, Result};
use serde_json::Value;

use super::{Place, Published, Signer, canonical::Form, signing};
use crate::{jose::KeySet, params::Params};

/// The largest card: 1 MiB.
pub const LARGEST: usize = 1024 * 1024;

/// Everything that is wrong with the parameters of an endpoint, as an infra Application declares them.
#[must_use]
pub fn check_params(params: &Value) -> Vec<Problem> {
    Params::check(params)
}

/// The card that an endpoint publishes under `serve`, for parameters as an infra Application declares them; signed
/// where they name a key.
///
/// # Errors
/// The first problem of the parameters, or that the key cannot be read.
pub fn agent_card(profile: &AgentProfile, params: &Value, cx: &BuildContext) -> Result<Value> {
    let params = Params::read(params)?;
    let place = Place::declared(&params, true).ok_or_else(|| {
        Error::invalid("`url`: nothing says what callers are told; the port 0 is known only after the bind")
            .with_code("mas::params::invalid")
    })?;
    let signer = params.a2a.signing.as_ref().map(|signing| Signer::open(signing, cx)).transpose()?;
    let published = Published::new(profile, &params, &place, signer.as_ref(), Duration::ZERO)?;
    serde_json::from_slice(published.document().body())
        .map_err(|error| Error::internal(format!("the card that was made is no JSON: {error}")))
}

/// A card with its signature.
#[derive(Clone, Debug, PartialEq)]
pub struct Signed {
    /// The card, with one signature more.
    pub card: Value,
    /// The public key with its name, as a JWK: what callers need to verify it.
    pub public_key: Value,
}

/// Signs a card with a private key, in PEM (PKCS#8) or as JWK. The name of the key is `kid`, else that of the JWK,
/// else its thumbprint; `jku` is the https address of its JWK set.
///
/// # Errors
/// `mas::a2a::keys` for a text that holds no such key, `mas::a2a::card` with the place for what is no card.
pub fn sign_card(card: Value, key: &str, kid: Option<&str>, jku: Option<&str>) -> Result<Signed> {
    let signer = Signer::new(key, kid, jku)?;
    Ok(Signed { card: signer.sign(card)?, public_key: signer.public().to_jwk() })
}

/// What a right signature says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// Which signature of the card it is, from 0.
    pub signature: usize,
    /// The name of the key.
    pub kid: String,
    /// The algorithm, such as `ES256`.
    pub algorithm: &'static str,
    /// Whether it holds for the card without its empty members only, as the official SDKs sign: then nothing that
    /// is empty in the card can be trusted.
    pub without_empty: bool,
}

/// Looks for one right signature of a card, by keys that are trusted: each a JWK set, a JWK, or `PUBLIC KEY` in PEM.
///
/// # Errors
/// `mas::a2a::keys` for what are no keys, `mas::a2a::card` for what is no card, `mas::a2a::signature` where no
/// signature is right, with the reason for each.
pub fn verify_card(card: &Value, keys: &[&str]) -> Result<Verified> {
    let mut trusted = KeySet::default();
    for text in keys {
        trusted = trusted.and(KeySet::read(text)?);
    }
    let valid = signing::verify(card, &trusted)?;
    Ok(Verified {
        signature: valid.at,
        kid: valid.kid,
        algorithm: valid.algorithm.name(),
        without_empty: valid.form == Form::Sdk,
    })
}
