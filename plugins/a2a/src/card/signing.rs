//! Signatures of cards: detached JWS over the canonical card (A2A v1.0, section 8.4).

use std::io::Read;

use mas_contracts::{BuildContext, Error, Result};
use serde_json::{Map, Value, json};

use super::canonical::{Form, canonical};
use crate::{
    jose::{self, Algorithm, KeySet, PrivateKey, PublicKey},
    params::Signing,
};

/// Algorithms that a card may be signed with; the rest of what is known is not looked at.
const ACCEPTED: [Algorithm; 4] = [Algorithm::Es256, Algorithm::EdDsa, Algorithm::Rs256, Algorithm::Ps256];

/// The largest key file: 64 KiB.
const LARGEST_KEY: u64 = 64 * 1024;

/// The most signatures of one card that are looked at.
const MOST_SIGNATURES: usize = 16;

/// Signs cards.
#[derive(Debug)]
pub(crate) struct Signer {
    key: PrivateKey,
    protected: String,
    kid: String,
}

impl Signer {
    /// The signer that parameters declare.
    ///
    /// # Errors
    /// That the key file cannot be read, or holds no key that signs.
    pub(crate) fn open(signing: &Signing, cx: &BuildContext) -> Result<Self> {
        let shown = signing.key.display();
        let unreadable = |error: std::io::Error| {
            let message = format!("the key `{shown}` that signs the card cannot be read: {error}");
            Error::invalid(message).with_code("mas::a2a::keys")
        };
        let mut text = String::new();
        let file = std::fs::File::open(cx.base.join(&signing.key)).map_err(unreadable)?;
        file.take(LARGEST_KEY).read_to_string(&mut text).map_err(unreadable)?;
        Self::new(&text, signing.kid.as_deref(), signing.jku.as_deref()).map_err(|error| {
            let message = format!("the key `{shown}` signs no card: {}", error.message());
            Error::new(error.kind(), message).with_code(error.code().into_owned())
        })
    }

    /// A signer with a key in PEM or as JWK.
    ///
    /// # Errors
    /// That the text holds no key that signs.
    pub(crate) fn new(key: &str, kid: Option<&str>, jku: Option<&str>) -> Result<Self> {
        let key = PrivateKey::read(key)?;
        let kid =
            kid.map(str::to_owned).or_else(|| key.kid.clone()).unwrap_or_else(|| key.public().thumbprint());
        let mut header = Map::new();
        header.insert("alg".to_owned(), key.algorithm().name().into());
        header.insert("kid".to_owned(), kid.as_str().into());
        header.insert("typ".to_owned(), "JOSE".into());
        if let Some(jku) = jku {
            header.insert("jku".to_owned(), jku.into());
        }
        let protected = jose::encode(Value::Object(header).to_string().as_bytes());
        Ok(Self { key, protected, kid })
    }

    /// The public half of the key, with its name: what verifies the signatures.
    pub(crate) fn public(&self) -> PublicKey {
        self.key.public().named(Some(self.kid.clone()))
    }

    /// Adds a signature to a card; a second one where the official SDKs read another card than the specification.
    ///
    /// # Errors
    /// That the document is no card.
    pub(crate) fn sign(&self, mut card: Value) -> Result<Value> {
        let sdk = canonical(&card, Form::Sdk)?;
        let specified = canonical(&card, Form::Specified)?;
        let mut payloads = vec![sdk];
        if !payloads.contains(&specified) {
            payloads.push(specified);
        }
        let mut signatures = match card.get("signatures") {
            Some(Value::Array(known)) => known.clone(),
            _ => Vec::new(),
        };
        for payload in payloads {
            let signature = self.key.sign(input(&self.protected, &payload).as_bytes())?;
            signatures.push(json!({"protected": self.protected, "signature": jose::encode(&signature)}));
        }
        if let Some(members) = card.as_object_mut() {
            members.insert("signatures".to_owned(), signatures.into());
        }
        Ok(card)
    }
}

fn input(protected: &str, payload: &str) -> String {
    format!("{protected}.{}", jose::encode(payload.as_bytes()))
}

/// A signature that is right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Valid {
    pub(super) at: usize,
    pub(super) kid: String,
    pub(super) algorithm: Algorithm,
    /// The form of the card that it is over.
    pub(crate) form: Form,
}

/// What the header of a signature says of its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Named {
    pub(crate) kid: String,
    pub(crate) algorithm: Algorithm,
    pub(crate) jku: Option<String>,
}

/// The keys that the signatures of a card name; those that cannot be read or may not be used are left out.
pub(crate) fn headers(card: &Value) -> Vec<Named> {
    let signatures = card.get("signatures").and_then(Value::as_array);
    let header = |signature: &Value| {
        let header = jose::decode(signature.get("protected")?.as_str()?)?;
        let header: Map<String, Value> = serde_json::from_slice(&header).ok()?;
        let text = |name: &str| header.get(name)?.as_str().map(str::to_owned);
        let algorithm = Algorithm::named(&text("alg")?).filter(|it| ACCEPTED.contains(it))?;
        Some(Named { kid: text("kid")?, algorithm, jku: text("jku") })
    };
    signatures.into_iter().flatten().take(MOST_SIGNATURES).filter_map(header).collect()
}

/// The card as far as its signatures cover it.
///
/// # Errors
/// That the document is no card.
pub(crate) fn signed(card: &Value, form: Form) -> Result<Value> {
    serde_json::from_str(&canonical(card, form)?)
        .map_err(|error| Error::internal(format!("the canonical card is no JSON: {error}")))
}

/// Looks for one right signature of a card by one of these keys. No address in the card is ever asked for keys.
///
/// # Errors
/// Why none of the signatures is right.
pub(crate) fn verify(card: &Value, keys: &KeySet) -> Result<Valid> {
    let refused = |message: String| Error::invalid(message).with_code("mas::a2a::signature");
    let specified = canonical(card, Form::Specified)?;
    let sdk = canonical(card, Form::Sdk)?;
    let signatures = match card.get("signatures") {
        Some(Value::Array(signatures)) if !signatures.is_empty() => signatures,
        _ => return Err(refused("the card is not signed".to_owned())),
    };
    let mut problems = Vec::new();
    for (at, signature) in signatures.iter().take(MOST_SIGNATURES).enumerate() {
        let forms = [(Form::Specified, specified.as_str()), (Form::Sdk, sdk.as_str())];
        match verify_one(signature, &forms, keys) {
            Ok((kid, algorithm, form)) => return Ok(Valid { at, kid, algorithm, form }),
            Err(problem) => problems.push(format!("signatures[{at}]: {problem}")),
        }
    }
    if signatures.len() > MOST_SIGNATURES {
        problems.push(format!("only the first {MOST_SIGNATURES} are looked at"));
    }
    Err(refused(format!("no signature of the card is right: {}", problems.join("; "))))
}

fn verify_one(
    signature: &Value,
    forms: &[(Form, &str)],
    keys: &KeySet,
) -> Result<(String, Algorithm, Form), String> {
    let text = |key: &str| signature.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    let protected = text("protected").ok_or("`protected` is missing")?;
    let given = text("signature").and_then(jose::decode).ok_or("`signature` is no base64url")?;
    let header =
        jose::decode(protected).and_then(|bytes| serde_json::from_slice::<Map<String, Value>>(&bytes).ok());
    let header = header.ok_or("`protected` is no JSON in base64url")?;
    let name = header.get("alg").and_then(Value::as_str).ok_or("its header names no `alg`")?;
    let kid = header.get("kid").and_then(Value::as_str).ok_or("its header names no `kid`")?;
    // RFC 7515, section 4.1.11: what is critical and not understood makes the signature invalid.
    if header.contains_key("crit") {
        return Err("its header has `crit`, of which nothing is known here".to_owned());
    }
    let algorithm = Algorithm::named(name).filter(|algorithm| ACCEPTED.contains(algorithm));
    let algorithm = algorithm.ok_or("its algorithm is not one of ES256, EdDSA, RS256 and PS256")?;
    let mut candidates = keys.candidates(Some(kid), algorithm).peekable();
    if candidates.peek().is_none() {
        return Err(format!("no key that is trusted has the name `{}` and fits {name}", shown(kid)));
    }
    for key in candidates {
        for (form, payload) in forms {
            if key.verifies(algorithm, input(protected, payload).as_bytes(), &given) {
                return Ok((kid.to_owned(), algorithm, *form));
            }
        }
    }
    Err(format!("it is not that of this card by the key `{}`", shown(kid)))
}

/// A name from outside, as a message may show it; where it is cut, a `…` says so.
pub(crate) fn shown(text: &str) -> String {
    let mut rest = text.chars().filter(|c| !c.is_control());
    let mut shown: String = rest.by_ref().take(80).collect();
    shown.extend(rest.next().map(|_| '…'));
    shown
}
