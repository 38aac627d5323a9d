//! Public keys.

use mas_contracts::{Error, Result};
use ring::signature::{
    self, RsaParameters, RsaPublicKeyComponents, UnparsedPublicKey, VerificationAlgorithm,
};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::{Algorithm, decode, encode, pem};

/// What stands before the key in a `SubjectPublicKeyInfo` (RFC 5480, RFC 8410).
const P256: &[u8] = &[
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86,
    0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];
const ED25519: &[u8] = &[0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];

/// The most keys of a set; more are refused.
const MOST_KEYS: usize = 64;

/// A public key, with what its owner says about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PublicKey {
    /// Its name.
    pub(crate) kid: Option<String>,
    /// The only algorithm that it may be used with, if it says so.
    alg: Option<String>,
    material: Material,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Material {
    /// `x` and `y` behind a 4, for P-256.
    P256(Vec<u8>),
    /// The same for P-384.
    P384(Vec<u8>),
    Ed25519(Vec<u8>),
    Rsa {
        n: Vec<u8>,
        e: Vec<u8>,
    },
}

impl PublicKey {
    /// A P-256 key from its uncompressed point.
    pub(super) fn p256(point: &[u8]) -> Self {
        Self { kid: None, alg: None, material: Material::P256(point.to_vec()) }
    }

    /// An Ed25519 key.
    pub(super) fn ed25519(key: &[u8]) -> Self {
        Self { kid: None, alg: None, material: Material::Ed25519(key.to_vec()) }
    }

    /// The key by a name.
    pub(crate) fn named(self, kid: Option<String>) -> Self {
        Self { kid, ..self }
    }

    /// Reads a JWK; nothing for one that signs nothing (`use: enc`, a symmetric key, an unknown curve).
    fn of_jwk(jwk: &Map<String, Value>) -> Option<Self> {
        let text = |key: &str| jwk.get(key).and_then(Value::as_str);
        let bytes = |key: &str| text(key).and_then(decode);
        let usable = |operations: &Vec<Value>| {
            operations.iter().any(|operation| operation == "verify" || operation == "sign")
        };
        let operations = jwk.get("key_ops").and_then(Value::as_array);
        if text("use").is_some_and(|purpose| purpose != "sig") || operations.is_some_and(|list| !usable(list))
        {
            return None;
        }
        let point = |size: usize| {
            let (x, y) = (bytes("x")?, bytes("y")?);
            (x.len() == size && y.len() == size).then(|| [vec![4], x, y].concat())
        };
        let material = match (text("kty")?, text("crv")) {
            ("EC", Some("P-256")) => Material::P256(point(32)?),
            ("EC", Some("P-384")) => Material::P384(point(48)?),
            ("OKP", Some("Ed25519")) => Material::Ed25519(bytes("x").filter(|x| x.len() == 32)?),
            ("RSA", None) => Material::Rsa { n: bytes("n")?, e: bytes("e")? },
            _ => return None,
        };
        Some(Self { kid: text("kid").map(str::to_owned), alg: text("alg").map(str::to_owned), material })
    }

    /// Reads `PUBLIC KEY` in PEM.
    fn of_pem(text: &str) -> Option<Self> {
        let (_, der) = pem(text, &["PUBLIC KEY"])?;
        match (der.strip_prefix(P256), der.strip_prefix(ED25519)) {
            (Some(point), _) if point.len() == 65 => Some(Self::p256(point)),
            (_, Some(key)) if key.len() == 32 => Some(Self::ed25519(key)),
            _ => None,
        }
    }

    /// The key as a JWK.
    pub(crate) fn to_jwk(&self) -> Value {
        let point = |curve: &str, point: &[u8]| {
            let halves = point.get(1..).unwrap_or_default();
            let (x, y) = halves.split_at(halves.len() / 2);
            json!({"crv": curve, "kty": "EC", "x": encode(x), "y": encode(y)})
        };
        let mut jwk = match &self.material {
            Material::P256(at) => point("P-256", at),
            Material::P384(at) => point("P-384", at),
            Material::Ed25519(x) => json!({"crv": "Ed25519", "kty": "OKP", "x": encode(x)}),
            Material::Rsa { n, e } => json!({"e": encode(e), "kty": "RSA", "n": encode(n)}),
        };
        if let (Some(kid), Some(jwk)) = (&self.kid, jwk.as_object_mut()) {
            jwk.insert("kid".to_owned(), kid.as_str().into());
        }
        jwk
    }

    /// Its thumbprint (RFC 7638): the same for the same key, whoever writes it down.
    pub(crate) fn thumbprint(&self) -> String {
        // The members of `to_jwk` are the required ones, in the order of the alphabet.
        let bare = Self { kid: None, ..self.clone() };
        encode(&Sha256::digest(bare.to_jwk().to_string()))
    }

    /// The algorithms that it can be used with.
    pub(crate) fn takes(&self, algorithm: Algorithm) -> bool {
        use Algorithm::{EdDsa, Es256, Es384, Ps256, Ps384, Ps512, Rs256, Rs384, Rs512};
        let fits = match &self.material {
            Material::P256(_) => algorithm == Es256,
            Material::P384(_) => algorithm == Es384,
            Material::Ed25519(_) => algorithm == EdDsa,
            Material::Rsa { .. } => matches!(algorithm, Rs256 | Rs384 | Rs512 | Ps256 | Ps384 | Ps512),
        };
        fits && self.alg.as_deref().is_none_or(|alg| alg == algorithm.name())
    }

    /// Whether the signature is that of the message, by this key. RSA keys under 2048 bits are good for nothing.
    pub(crate) fn verifies(&self, algorithm: Algorithm, message: &[u8], given: &[u8]) -> bool {
        if !self.takes(algorithm) {
            return false;
        }
        let plain = |known: &'static dyn VerificationAlgorithm, key: &[u8]| {
            UnparsedPublicKey::new(known, key).verify(message, given).is_ok()
        };
        match &self.material {
            Material::P256(point) => plain(&signature::ECDSA_P256_SHA256_FIXED, point),
            Material::P384(point) => plain(&signature::ECDSA_P384_SHA384_FIXED, point),
            Material::Ed25519(key) => plain(&signature::ED25519, key),
            Material::Rsa { n, e } => rsa(algorithm).is_some_and(|known| {
                RsaPublicKeyComponents { n: n.as_slice(), e: e.as_slice() }
                    .verify(known, message, given)
                    .is_ok()
            }),
        }
    }
}

fn rsa(algorithm: Algorithm) -> Option<&'static RsaParameters> {
    match algorithm {
        Algorithm::Rs256 => Some(&signature::RSA_PKCS1_2048_8192_SHA256),
        Algorithm::Rs384 => Some(&signature::RSA_PKCS1_2048_8192_SHA384),
        Algorithm::Rs512 => Some(&signature::RSA_PKCS1_2048_8192_SHA512),
        Algorithm::Ps256 => Some(&signature::RSA_PSS_2048_8192_SHA256),
        Algorithm::Ps384 => Some(&signature::RSA_PSS_2048_8192_SHA384),
        Algorithm::Ps512 => Some(&signature::RSA_PSS_2048_8192_SHA512),
        Algorithm::Es256 | Algorithm::Es384 | Algorithm::EdDsa => None,
    }
}

/// Public keys, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct KeySet(Vec<PublicKey>);

impl KeySet {
    /// The keys of a JWK set, of one JWK, or of `PUBLIC KEY` in PEM. Keys that verify no signature are left out.
    ///
    /// # Errors
    /// That there is none left, or that the text is none of these.
    pub(crate) fn read(text: &str) -> Result<Self> {
        let refused = |message: &str| Error::invalid(message).with_code("mas::a2a::keys");
        if text.contains("-----BEGIN") {
            let key = PublicKey::of_pem(text);
            let known = "expected one `PUBLIC KEY` in PEM, of P-256 or Ed25519; write other keys as JWK";
            return key.map(|key| Self(vec![key])).ok_or_else(|| refused(known));
        }
        let value: Value = serde_json::from_str(text).map_err(|error| {
            refused(&format!("it is neither PEM nor JSON (line {}, column {})", error.line(), error.column()))
        })?;
        let jwks: Vec<&Map<String, Value>> = match value.get("keys").and_then(Value::as_array) {
            Some(keys) if keys.len() > MOST_KEYS => {
                return Err(refused(&format!("a set has {MOST_KEYS} keys at most, this one {}", keys.len())));
            }
            Some(keys) => keys.iter().filter_map(Value::as_object).collect(),
            None => value.as_object().into_iter().collect(),
        };
        let keys: Vec<PublicKey> = jwks.into_iter().filter_map(PublicKey::of_jwk).collect();
        if keys.is_empty() {
            return Err(refused(
                "it holds no public key of RSA, P-256, P-384 or Ed25519 that is for signatures",
            ));
        }
        Ok(Self(keys))
    }

    /// These and those together.
    pub(crate) fn and(mut self, others: Self) -> Self {
        self.0.extend(others.0);
        self
    }

    /// The keys that may have made a signature: those of the name; where either side has no name, those that fit.
    pub(crate) fn candidates<'a>(
        &'a self,
        kid: Option<&'a str>,
        algorithm: Algorithm,
    ) -> impl Iterator<Item = &'a PublicKey> {
        let named = move |key: &&PublicKey| match (&key.kid, kid) {
            (Some(own), Some(kid)) => own == kid,
            _ => true,
        };
        self.0.iter().filter(named).filter(move |key| key.takes(algorithm))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thumbprint_is_that_of_the_rfc() {
        // RFC 8037, appendix A.3.
        let jwk = r#"{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#;
        let KeySet(keys) = KeySet::read(jwk).unwrap();
        assert_eq!(keys.first().unwrap().thumbprint(), "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k");
    }

    #[test]
    fn the_signature_of_the_rfc_is_verified() {
        // RFC 8037, appendix A.4 and A.5.
        let jwk = r#"{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#;
        let KeySet(keys) = KeySet::read(jwk).unwrap();
        let message = b"eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc";
        let signature =
            "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg";
        let signature = decode(signature).unwrap();
        let key = keys.first().unwrap();
        assert!(key.verifies(Algorithm::EdDsa, message, &signature));
        assert!(!key.verifies(Algorithm::EdDsa, b"other", &signature));
        assert!(!key.verifies(Algorithm::Es256, message, &signature));
        assert!(!key.verifies(Algorithm::EdDsa, message, &[]));
    }

    #[test]
    fn what_is_no_key_for_signatures_is_refused() {
        for bad in [
            "",
            "{}",
            "[]",
            r#"{"keys": []}"#,
            r#"{"kty": "oct", "k": "c2VjcmV0"}"#,
            r#"{"kty": "OKP", "crv": "Ed25519", "x": "c2hvcnQ"}"#,
            r#"{"kty": "RSA", "n": "AQAB", "e": "AQAB", "use": "enc"}"#,
            "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----",
            "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----",
        ] {
            assert_eq!(KeySet::read(bad).unwrap_err().code(), "mas::a2a::keys", "{bad}");
        }
    }
}
