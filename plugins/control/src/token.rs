//! What proves that one may ask.

use std::fmt;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use mas_contracts::{Error, Result};
use ring::rand::{SecureRandom, SystemRandom};
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;

/// A secret of one session. It never shows but where it is serialized: in the file of the session, and in requests.
#[derive(Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Token(String);

impl Token {
    /// A fresh one: 32 bytes of the system's randomness.
    ///
    /// # Errors
    /// A system without randomness.
    pub fn fresh() -> Result<Self> {
        let mut bytes = [0; 32];
        SystemRandom::new()
            .fill(&mut bytes)
            .map_err(|_| Error::internal("the system gives no randomness, so no token can be made"))?;
        Ok(Self(URL_SAFE_NO_PAD.encode(bytes)))
    }

    /// A few signs of it, for one that is used as a name and never as a secret.
    pub(crate) fn mark(&self) -> String {
        self.0.chars().filter(char::is_ascii_alphanumeric).take(8).collect()
    }

    /// Whether it is the one that a caller shows, in a time that says nothing of how much of it is right.
    #[must_use]
    pub fn is(&self, shown: &Self) -> bool {
        self.0.as_bytes().ct_eq(shown.0.as_bytes()).into()
    }
}

impl From<&str> for Token {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}
