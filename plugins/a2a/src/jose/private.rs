//! Private keys.

use std::fmt;

use mas_contracts::{Error, Result};
use ring::{
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair},
};
use serde_json::Value;

use super::{Algorithm, PublicKey, decode, pem};

/// A key that signs. Debug shows nothing of it.
pub(crate) struct PrivateKey {
    pair: Pair,
    /// The name that a JWK has.
    pub(crate) kid: Option<String>,
}

enum Pair {
    P256(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
}

impl PrivateKey {
    /// Reads `PRIVATE KEY` (PKCS#8) in PEM, or a JWK.
    ///
    /// # Errors
    /// That it is none of P-256 or Ed25519; nothing of the text is told.
    pub(crate) fn read(text: &str) -> Result<Self> {
        let refused = |message: &str| Error::invalid(message).with_code("mas::a2a::keys");
        if !text.contains("-----BEGIN") {
            let jwk: Value = serde_json::from_str(text)
                .map_err(|_| refused("it is no private key: neither PEM nor JSON (a JWK) is in it"))?;
            return Self::of_jwk(&jwk).ok_or_else(|| {
                refused("the JWK is no private key of P-256 or Ed25519: `kty`, `crv`, `x`, (`y`) and `d` must fit")
            });
        }
        let known = ["PRIVATE KEY", "EC PRIVATE KEY", "ENCRYPTED PRIVATE KEY", "RSA PRIVATE KEY"];
        match pem(text, &known) {
            Some(("PRIVATE KEY", der)) => Self::of_pkcs8(&der).ok_or_else(|| {
                refused("the key is none of P-256 or Ed25519; `openssl genpkey -algorithm ed25519` makes one")
            }),
            Some(("EC PRIVATE KEY", _)) => Err(refused(
                "the key is in an older form: `openssl pkcs8 -topk8 -nocrypt -in KEY` makes a PKCS#8 key of it",
            )),
            Some(("ENCRYPTED PRIVATE KEY", _)) => {
                Err(refused("the key is encrypted: keep it readable for this program only"))
            }
            Some(_) => Err(refused("RSA signs no card here: make a P-256 or an Ed25519 key")),
            None => Err(refused("there is no `PRIVATE KEY` in it")),
        }
    }

    fn of_pkcs8(der: &[u8]) -> Option<Self> {
        let ec = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, der, &SystemRandom::new());
        // Keys of openssl hold no public half to check.
        let pair = ec
            .map(Pair::P256)
            .or_else(|_| Ed25519KeyPair::from_pkcs8_maybe_unchecked(der).map(Pair::Ed25519));
        Some(Self { pair: pair.ok()?, kid: None })
    }

    fn of_jwk(jwk: &Value) -> Option<Self> {
        let text = |key: &str| jwk.get(key).and_then(Value::as_str);
        let bytes = |key: &str| text(key).and_then(decode);
        let (x, d) = (bytes("x")?, bytes("d")?);
        let pair = match (text("kty")?, text("crv")?) {
            ("EC", "P-256") => {
                let point = [vec![4], x, bytes("y")?].concat();
                let random = SystemRandom::new();
                let known = &ECDSA_P256_SHA256_FIXED_SIGNING;
                Pair::P256(EcdsaKeyPair::from_private_key_and_public_key(known, &d, &point, &random).ok()?)
            }
            ("OKP", "Ed25519") => Pair::Ed25519(Ed25519KeyPair::from_seed_and_public_key(&d, &x).ok()?),
            _ => return None,
        };
        Some(Self { pair, kid: text("kid").map(str::to_owned) })
    }

    /// The algorithm that it signs with.
    pub(crate) fn algorithm(&self) -> Algorithm {
        match self.pair {
            Pair::P256(_) => Algorithm::Es256,
            Pair::Ed25519(_) => Algorithm::EdDsa,
        }
    }

    /// Its public half.
    pub(crate) fn public(&self) -> PublicKey {
        let key = match &self.pair {
            Pair::P256(pair) => PublicKey::p256(pair.public_key().as_ref()),
            Pair::Ed25519(pair) => PublicKey::ed25519(pair.public_key().as_ref()),
        };
        key.named(self.kid.clone())
    }

    /// Signs a message.
    ///
    /// # Errors
    /// That the system yields no random bytes.
    pub(crate) fn sign(&self, message: &[u8]) -> Result<Vec<u8>> {
        match &self.pair {
            Pair::P256(pair) => pair
                .sign(&SystemRandom::new(), message)
                .map(|signature| signature.as_ref().to_vec())
                .map_err(|_| Error::internal("the system yields no random bytes to sign with")),
            Pair::Ed25519(pair) => Ok(pair.sign(message).as_ref().to_vec()),
        }
    }
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PrivateKey({})", self.algorithm().name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ED25519: &str = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n-----END PRIVATE KEY-----\n";
    const ED25519_JWK: &str = r#"{"kty":"OKP","crv":"Ed25519","kid":"of-the-rfc",
        "d":"nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#;

    #[test]
    fn the_same_key_is_read_from_pem_and_from_jwk() {
        let (pem, jwk) = (PrivateKey::read(ED25519).unwrap(), PrivateKey::read(ED25519_JWK).unwrap());
        assert_eq!(pem.public().thumbprint(), jwk.public().thumbprint());
        assert_eq!(jwk.public().kid.as_deref(), Some("of-the-rfc"));
        let signature = pem.sign(b"message").unwrap();
        assert!(jwk.public().verifies(Algorithm::EdDsa, b"message", &signature));
        assert_eq!(format!("{pem:?}"), "PrivateKey(EdDSA)");
    }

    #[test]
    fn other_keys_are_refused_with_what_to_do() {
        let says = |text: &str| PrivateKey::read(text).unwrap_err().to_string();
        let block = |label: &str| format!("-----BEGIN {label}-----\nAAAA\n-----END {label}-----");
        assert!(says(&block("EC PRIVATE KEY")).contains("openssl pkcs8 -topk8"));
        assert!(says(&block("ENCRYPTED PRIVATE KEY")).contains("encrypted"));
        assert!(says(&block("RSA PRIVATE KEY")).contains("RSA"));
        assert!(says(&block("PRIVATE KEY")).contains("genpkey"));
        assert!(says(&block("PUBLIC KEY")).contains("no `PRIVATE KEY`"));
        assert!(says("{}").contains("JWK") && says("secret").contains("neither"));
        // Half of a pair that is not its own.
        let wrong = ED25519_JWK.replace("11qY", "12qY");
        assert!(says(&wrong).contains("must fit"));
    }
}
