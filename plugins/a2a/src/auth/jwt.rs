//! Signed tokens (RFC 7519, with the rules of RFC 8725).

use std::sync::Arc;

use mas_comm_kit::http::Settings;
use mas_contracts::{BuildContext, Clock, Result};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{REALM, keys::Keys};
use crate::{
    jose::{self, Algorithm},
    model::{Failure, Reason},
    params::Jwt,
};

/// The longest token: 16 KiB.
const LONGEST: usize = 16 * 1024;

/// The tokens of one issuer.
pub(super) struct Tokens {
    /// The scheme's name, which is a part of each owner: the subject of a token is never the holder of a key.
    scheme: String,
    rules: Jwt,
    algorithms: Vec<Algorithm>,
    keys: Keys,
    clock: Arc<dyn Clock>,
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    #[serde(default)]
    kid: Option<String>,
    #[serde(default)]
    crit: Option<Value>,
}

impl Tokens {
    pub(super) fn open(scheme: &str, rules: &Jwt, cx: &BuildContext) -> Result<Self> {
        let named =
            rules.algorithms.as_ref().map(|names| names.iter().filter_map(|name| Algorithm::named(name)));
        Ok(Self {
            scheme: scheme.to_owned(),
            algorithms: named.map_or_else(|| Algorithm::USUAL.to_vec(), Iterator::collect),
            keys: Keys::open(&rules.jwks, rules.refresh, &Settings::default(), cx)?,
            rules: rules.clone(),
            clock: cx.clock.clone(),
        })
    }

    /// Who a token is for, as `scheme/subject`.
    pub(super) async fn owner(&self, token: &str) -> Result<Arc<str>, Failure> {
        if token.len() > LONGEST {
            return Err(invalid("the token is too long"));
        }
        let mut parts = token.split('.');
        let (Some(header), Some(payload), Some(signature), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(invalid("the credentials are not known here"));
        };
        let read: Option<Header> = jose::decode(header).and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let read = read.ok_or_else(|| invalid("the token is malformed"))?;
        let given = jose::decode(signature).ok_or_else(|| invalid("the token is malformed"))?;
        if read.crit.is_some() {
            return Err(invalid("the token has critical headers that are not known here"));
        }
        let algorithm = Algorithm::named(&read.alg).filter(|algorithm| self.algorithms.contains(algorithm));
        let algorithm = algorithm.ok_or_else(|| invalid("the algorithm of the token is not accepted"))?;
        let kid = read.kid.as_deref();
        let keys = self.keys.get(kid, algorithm).await?;
        let signed = token.get(..header.len() + 1 + payload.len()).unwrap_or_default().as_bytes();
        if !keys.candidates(kid, algorithm).any(|key| key.verifies(algorithm, signed, &given)) {
            return Err(invalid("the signature of the token is not that of its issuer"));
        }
        let claims =
            jose::decode(payload).and_then(|bytes| serde_json::from_slice::<Map<String, Value>>(&bytes).ok());
        self.check(&claims.ok_or_else(|| invalid("the token is malformed"))?)
    }

    fn check(&self, claims: &Map<String, Value>) -> Result<Arc<str>, Failure> {
        let text = |name: &str| claims.get(name).and_then(Value::as_str);
        let time = |name: &str| claims.get(name).map(|value| value.as_f64().unwrap_or(f64::NAN));
        let now = self.clock.unix_time().as_secs_f64();
        let leeway = std::time::Duration::from_secs(self.rules.leeway).as_secs_f64();
        if text("iss") != Some(self.rules.issuer.as_str()) {
            return Err(invalid("the token is of another issuer"));
        }
        let audience = self.rules.audience.as_str();
        let is_for_us = match claims.get("aud") {
            Some(Value::String(one)) => one == audience,
            Some(Value::Array(several)) => several.iter().any(|one| one == audience),
            _ => false,
        };
        if !is_for_us {
            return Err(invalid("the token is for another audience"));
        }
        let is_after = |bound: Option<f64>| bound.is_none_or(|bound| bound <= now + leeway);
        // What is no number is before every moment.
        let end = time("exp").ok_or_else(|| invalid("the token has no end (`exp`)"))?;
        if end.is_nan() || end <= now - leeway {
            return Err(invalid("the token has expired"));
        }
        if !is_after(time("nbf")) || !is_after(time("iat")) {
            return Err(invalid("the token is not valid yet"));
        }
        let subject = text(&self.rules.owner).filter(|subject| !subject.trim().is_empty());
        let subject = subject.ok_or_else(|| invalid("the token does not say who the caller is"))?;
        let held = |wanted: &String| {
            ["scope", "scp"].iter().any(|name| match claims.get(*name) {
                Some(Value::String(scopes)) => scopes.split(' ').any(|scope| scope == wanted),
                Some(Value::Array(scopes)) => scopes.iter().any(|scope| scope == wanted),
                _ => false,
            })
        };
        if !self.rules.scopes.iter().all(held) {
            let scopes = self.rules.scopes.join(" ");
            let message = format!("the token lacks a scope; needed: {scopes}");
            let plain: String =
                scopes.chars().filter(|c| c.is_ascii_graphic() && *c != '"' || *c == ' ').collect();
            let challenge = Some(format!("Bearer {REALM}, error=\"insufficient_scope\", scope=\"{plain}\""));
            return Err(Failure { challenge, ..Failure::new(Reason::PermissionDenied, message) });
        }
        Ok(format!("{}/{subject}", self.scheme).into())
    }
}

fn invalid(message: &'static str) -> Failure {
    let challenge =
        Some(format!("Bearer {REALM}, error=\"invalid_token\", error_description=\"{}\"", plain(message)));
    Failure { challenge, ..Failure::new(Reason::Unauthenticated, message) }
}

/// A description has no quotes in it (RFC 6750, section 3).
fn plain(message: &str) -> String {
    message.replace(['"', '\\', '`'], "")
}
