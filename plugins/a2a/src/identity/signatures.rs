//! Which cards are taken, by who signed them (A2A v1.0, section 8.4).

use std::sync::Arc;

use mas_comm_kit::http::{Settings, shown};
use mas_contracts::{BuildContext, Delivery, Error, ErrorKind, Result};
use serde_json::Value;

use super::params::{Check, Signatures};
use crate::{auth::keys::Keys, card::signing, jose::KeySet};

/// How long fetched keys are taken as fresh, in seconds.
const REFRESH: u64 = 300;

/// What cards are held to.
pub(crate) struct Seal {
    required: bool,
    files: Vec<Keys>,
    sets: Vec<(String, Keys)>,
}

impl Seal {
    /// What parameters hold cards to; nothing where signatures are ignored. Files of keys are read now, addresses are
    /// asked when a card names them.
    ///
    /// # Errors
    /// `mas::a2a::keys` for a file that holds none.
    pub(crate) fn open(
        signatures: &Signatures,
        settings: &Settings,
        cx: &BuildContext,
    ) -> Result<Option<Self>> {
        let required = match signatures.check {
            Check::Ignore => return Ok(None),
            Check::Verify => false,
            Check::Require => true,
        };
        let open = |place: &str| Keys::open(place, REFRESH, settings, cx);
        let files =
            signatures.keys.iter().map(|file| open(&file.to_string_lossy())).collect::<Result<_>>()?;
        let sets = signatures.jku.iter().map(|url| Ok((url.clone(), open(url)?))).collect::<Result<_>>()?;
        Ok(Some(Self { required, files, sets }))
    }

    /// Whether a card has to be signed.
    pub(crate) fn is_required(&self) -> bool {
        self.required
    }

    /// The card as far as it is signed, so that nobody on the way can have added to it: v0.3's own members are not, and
    /// are left out. One that is not signed is taken whole where no signature is required.
    ///
    /// # Errors
    /// `mas::a2a::signature` for a card that is not taken; nothing was sent.
    pub(crate) async fn checked(&self, card: Value, place: &str) -> Result<Value> {
        let headers = signing::headers(&card);
        let bare = card.get("signatures").and_then(Value::as_array).is_none_or(Vec::is_empty);
        if bare && !self.required {
            tracing::warn!("the card at {} is not signed, and taken all the same", shown(place));
            return Ok(card);
        }
        let mut known: Vec<Arc<KeySet>> = Vec::new();
        for header in &headers {
            let named = self.sets.iter().filter(|(url, _)| header.jku.as_deref() == Some(url));
            for keys in self.files.iter().chain(named.map(|(_, keys)| keys)) {
                // Keys that cannot be had now verify nothing; what is refused says which one was looked for.
                known.extend(keys.get(Some(&header.kid), header.algorithm).await);
            }
        }
        let keys = known.iter().fold(KeySet::default(), |all, keys| all.and(KeySet::clone(keys)));
        let signed = signing::verify(&card, &keys).and_then(|valid| signing::signed(&card, valid.form));
        signed.map_err(|error| {
            let text = format!(
                "the card at {} is not taken, for `a2a.client.signatures` wants one that is signed: {}",
                shown(place),
                error.message()
            );
            Error::new(ErrorKind::Denied, text)
                .with_code("mas::a2a::signature")
                .with_delivery(Delivery::NotSent)
        })
    }
}
