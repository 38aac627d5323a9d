//! What was asked of the stand-in.

use std::{collections::VecDeque, time::Duration};

use bytes::Bytes;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{Asked, Half};

/// The most calls that are remembered; the oldest go first.
const MOST: usize = 10_000;
/// The longest body that is remembered as it was.
const LONGEST: usize = 64 * 1024;

/// A request as it came. No token is in it.
#[derive(Clone, Debug)]
pub struct Call {
    /// Where it came.
    pub half: Half,
    /// The method.
    pub method: String,
    /// The path, with the query.
    pub path: String,
    /// The headers, their names in lower case; in the place of a token is its hash.
    pub headers: Vec<(String, String)>,
    /// The SHA-256 of the body, in hex.
    pub body_sha256: String,
    /// The body, if it has 64 KiB at most.
    pub body: Bytes,
    /// When it came, since the Unix epoch.
    pub at: Duration,
}

impl Call {
    pub(crate) fn of(half: Half, asked: &Asked, at: Duration) -> Self {
        let shown = |(name, value): &(String, String)| match &**name {
            "authorization" => (name.clone(), format!("sha256:{}", sha256(value.as_bytes()))),
            _ => (name.clone(), value.clone()),
        };
        Self {
            half,
            method: asked.method.clone(),
            path: asked.path.clone(),
            headers: asked.headers.iter().map(shown).collect(),
            body_sha256: sha256(&asked.body),
            body: if asked.body.len() <= LONGEST { asked.body.clone() } else { Bytes::new() },
            at,
        }
    }

    /// The first value of a header, named in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| &**value)
    }

    /// The body as JSON; null where it is none.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    pub(crate) fn to_json(&self) -> Value {
        let headers: serde_json::Map<_, _> =
            self.headers.iter().map(|(name, value)| (name.clone(), value.clone().into())).collect();
        json!({
            "half": self.half.as_str(), "method": self.method, "path": self.path, "headers": headers,
            "body_sha256": self.body_sha256, "time": self.at.as_secs_f64(),
        })
    }
}

/// The latest calls.
#[derive(Debug, Default)]
pub(crate) struct Record(VecDeque<Call>);

impl Record {
    pub(crate) fn add(&mut self, call: Call) {
        if self.0.len() >= MOST {
            self.0.pop_front();
        }
        self.0.push_back(call);
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Call> {
        self.0.iter()
    }
}

/// The SHA-256 of bytes, in hex.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
