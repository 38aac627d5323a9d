//! Who is behind an address: the card, kept as long as it is fresh, and the way that it names.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use mas_comm_kit::{
    http::{HeaderText, shown},
    phases::seconds,
    turn::Upstream,
};
use mas_contracts::{BuildContext, CallContext, Clock, Delivery, Error, ErrorKind, Result};
use serde_json::Value;

use super::params::{CardSource, Terms};
use crate::{
    card::LARGEST,
    client::{
        Bounds, Interface, Options,
        card::{Chosen, Wanted, choose},
        discover::{self, Found, Place, Revalidated},
        line::Line,
        upstream::Agent,
        wire::Wire,
    },
    identity::{self, Discreet, Identity, Seal},
};

/// How long the card of an agent that is not known may take.
const FIRST: Duration = Duration::from_secs(30);

/// How long a card that is known is asked for again; then it is used as it is.
const AGAIN: Duration = Duration::from_secs(5);

/// How long a card is used that could not be had again.
const STALE: Duration = Duration::from_secs(10);

/// Errors for cards that are not taken; one that was taken before does not help.
const REFUSALS: [&str; 2] = ["mas::a2a::credentials", "mas::a2a::signature"];

/// An agent that was found, and the way to it.
pub(super) struct Contact {
    /// The agent, as turns ask it.
    pub(super) upstream: Arc<dyn Upstream>,
    /// Its card; null where it is called without one.
    pub(super) card: Value,
    /// Why it is reached that way.
    pub(super) because: String,
    /// Its address, for a person.
    pub(super) address: String,
    line: Arc<Line>,
    found: Option<Found>,
}

impl Contact {
    /// The interface that is used.
    pub(super) fn interface(&self) -> &Interface {
        self.line.interface()
    }

    /// Where the card was found, for a person; none where it was not fetched.
    pub(super) fn place(&self) -> Option<String> {
        self.found.as_ref().map(|found| shown(&found.place.url))
    }
}

/// Finds the agent of one endpoint. Those who ask at once make one request.
pub(super) struct Finder {
    source: Source,
    wanted: Wanted,
    direct: Option<Interface>,
    ttl: Duration,
    bounds: Bounds,
    wire: Wire,
    identity: Arc<Identity>,
    seal: Option<Seal>,
    /// The endpoint's address.
    url: String,
    known: Mutex<Option<Known>>,
    looking: tokio::sync::Mutex<()>,
}

/// Where the card comes from.
enum Source {
    /// It is here.
    Given(Value),
    /// It stands at one of these places.
    At(Vec<Place>),
}

#[derive(Clone)]
struct Known {
    contact: Arc<Contact>,
    /// Until when nobody is asked again; none for ever.
    until: Option<Instant>,
}

impl Finder {
    /// A finder of the agent that `terms` names. Only a file is read.
    ///
    /// # Errors
    /// That a secret or the file of a card cannot be had.
    pub(super) fn new(terms: &Terms, cx: &BuildContext) -> Result<Self> {
        let client = terms.client();
        let source = match &client.card {
            None => Source::At(discover::places(&terms.url)?),
            Some(CardSource::Url(url)) => Source::At(vec![Place::named(url.as_str())]),
            Some(CardSource::Inline(card)) => Source::Given(Value::Object(card.clone())),
            Some(CardSource::File(path)) => Source::Given(read(&cx.base.join(path))?),
        };
        let (mut headers, mut secret) = (Vec::new(), Vec::new());
        for (name, text) in &terms.row.headers {
            match identity::header(name, text, cx)? {
                HeaderText::Secret(text) => secret.push((name.clone(), text)),
                plain @ HeaderText::Plain(_) => headers.push((name.clone(), plain)),
            }
        }
        let settings = terms.settings(cx)?;
        let identity = Identity::open(client.auth.as_ref(), secret, &terms.url, &settings, cx)?;
        let signatures = client.signatures.as_ref();
        let seal = signatures.map(|signatures| Seal::open(signatures, &settings, cx)).transpose()?;
        let options = Options { headers, settings, timeout: terms.limit(), ..Options::default() };
        let identity = Arc::new(identity);
        let direct = client.direct().map(|(version, binding)| Interface {
            url: terms.url.clone(),
            binding,
            version,
            tenant: None,
        });
        Ok(Self {
            source,
            wanted: client.wanted(),
            direct,
            ttl: client.card_ttl(),
            wire: Wire::new(&options, cx)?.by(identity.clone()),
            identity,
            seal: seal.flatten(),
            url: terms.url.clone(),
            bounds: client.bounds(),
            known: Mutex::new(None),
            looking: tokio::sync::Mutex::new(()),
        })
    }

    /// The agent, asked for its card where the one that is known is no longer fresh.
    ///
    /// # Errors
    /// Why it cannot be found; nothing was sent.
    pub(super) async fn contact(&self, cx: &CallContext) -> Result<Arc<Contact>> {
        if let Some(known) = self.fresh(cx.clock()) {
            return Ok(known);
        }
        let stale = self.lock().as_ref().map(|known| known.contact.clone());
        let limit = if stale.is_some() { AGAIN } else { FIRST };
        let now = cx.clock().now();
        let end = now.checked_add(limit).unwrap_or(now).min(cx.deadline());
        let found = tokio::select! {
            biased;
            reason = cx.cancel().cancelled() => {
                return Err(CallContext::stopped(reason).with_delivery(Delivery::NotSent));
            }
            found = self.look(cx.clock()) => found.map_err(|error| self.identity.hushed(error)),
            () = cx.clock().sleep_until(end) => Err(self.late(end.saturating_duration_since(now))),
        };
        match (found, stale) {
            (Err(error), Some(stale))
                if error.kind() != ErrorKind::Cancelled
                    && !REFUSALS.contains(&&*error.code())
                    && !cx.remaining().is_zero() =>
            {
                // The agent may be there all the same: the send will tell.
                tracing::debug!(%error, "the card of an agent cannot be had again, and is used as it is known");
                let until = cx.clock().now().checked_add(STALE.min(self.ttl));
                *self.lock() = Some(Known { contact: stale.clone(), until });
                Ok(stale)
            }
            (found, _) => found,
        }
    }

    /// Has the card asked for again before it is used again.
    pub(super) fn doubt(&self, clock: &dyn Clock) {
        if let Some(known) = self.lock().as_mut().filter(|known| known.until.is_some()) {
            known.until = Some(clock.now());
        }
    }

    /// Forgets whom it found, and with them their connections.
    pub(super) fn forget(&self) {
        *self.lock() = None;
    }

    fn fresh(&self, clock: &dyn Clock) -> Option<Arc<Contact>> {
        let known = self.lock();
        let known = known.as_ref()?;
        known.until.is_none_or(|until| clock.now() < until).then(|| known.contact.clone())
    }

    async fn look(&self, clock: &dyn Clock) -> Result<Arc<Contact>> {
        let _one = self.looking.lock().await;
        // Who waited may find what the one before found.
        if let Some(known) = self.fresh(clock) {
            return Ok(known);
        }
        let known = self.lock().as_ref().map(|known| known.contact.clone());
        let (contact, until) = match &self.source {
            Source::Given(card) => (self.settled(card.clone(), None, known.as_ref()).await?, None),
            Source::At(places) => {
                let (contact, fresh) = self.asked(places, known.as_ref()).await?;
                let ttl = fresh.map_or(self.ttl, |fresh| fresh.min(self.ttl));
                (contact, Some(clock.now().checked_add(ttl).unwrap_or(clock.now())))
            }
        };
        *self.lock() = Some(Known { contact: contact.clone(), until });
        Ok(contact)
    }

    /// Asks for the card, and says how long its server lets it be kept.
    async fn asked(
        &self,
        places: &[Place],
        known: Option<&Arc<Contact>>,
    ) -> Result<(Arc<Contact>, Option<Duration>)> {
        let before = known.and_then(|known| Some((known, known.found.as_ref()?)));
        let found = match before {
            Some((known, before)) => match discover::revalidate(&self.wire, before, places, AGAIN).await {
                Ok(Revalidated::Same(fresh)) => return Ok((known.clone(), fresh.or(before.fresh))),
                Ok(Revalidated::New(found)) => Ok(found),
                Err(error) => Err(error),
            },
            None => discover::look(&self.wire, places, FIRST).await,
        };
        match (found, &self.direct) {
            (Ok(found), _) => {
                let fresh = found.fresh;
                Ok((self.settled(found.card.clone(), Some(found), known).await?, fresh))
            }
            (Err(error), Some(direct))
                if error.kind() == ErrorKind::NotFound
                    && !self.seal.as_ref().is_some_and(Seal::is_required) =>
            {
                let because = "there is no card, and the endpoint says how the agent is called";
                let chosen = Chosen { interface: direct.clone(), because: because.to_owned() };
                Ok((self.reached(Value::Null, None, chosen, known)?, None))
            }
            (Err(error), _) => Err(error),
        }
    }

    /// The way that a card names.
    async fn settled(
        &self,
        card: Value,
        found: Option<Found>,
        known: Option<&Arc<Contact>>,
    ) -> Result<Arc<Contact>> {
        let place = found.as_ref().map_or(&*self.url, |found| &*found.place.url);
        let card = match &self.seal {
            Some(seal) => seal.checked(card, place).await?,
            None => card,
        };
        let mut chosen = choose(&card, place, &self.wanted)?;
        chosen.interface = chosen.interface.beside(place);
        self.reached(card, found, chosen, known)
    }

    /// A way that is known already is kept, with its connections.
    fn reached(
        &self,
        card: Value,
        found: Option<Found>,
        chosen: Chosen,
        known: Option<&Arc<Contact>>,
    ) -> Result<Arc<Contact>> {
        let Chosen { interface, because } = chosen;
        let credentials = self.identity.for_interface(&card, &interface.url)?;
        let same = |known: &&Arc<Contact>| {
            *known.interface() == interface && known.line.credentials() == credentials
        };
        let line = match known.filter(same) {
            Some(known) => known.line.clone(),
            None => Arc::new(Line::new(self.wire.showing(credentials), interface, self.bounds)?),
        };
        let card = self.identity.scrubbed(card);
        let secrets = self.identity.secrets();
        let address = secrets.scrub(&shown(&line.interface().url)).into_owned();
        let because = secrets.scrub(&because).into_owned();
        // Who calls without a card is refused the stream by an agent that has none.
        let streams = card.is_null() || card.pointer("/capabilities/streaming") == Some(&Value::Bool(true));
        let upstream = Discreet::new(Arc::new(Agent::new(line.clone(), streams)), self.identity.clone());
        let upstream = Arc::new(upstream);
        Ok(Arc::new(Contact { upstream, card, because, address, line, found }))
    }

    fn late(&self, limit: Duration) -> Error {
        let place = match &self.source {
            Source::At(places) => places.first().map(|place| shown(&place.url)).unwrap_or_default(),
            Source::Given(_) => String::new(),
        };
        let what = format!("the card at {place} did not come within {} s", seconds(limit));
        Error::new(ErrorKind::Timeout, what).with_code("mas::a2a::card")
    }

    fn lock(&self) -> MutexGuard<'_, Option<Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The card of a file.
fn read(path: &std::path::Path) -> Result<Value> {
    use std::io::Read;
    let shown = path.display();
    let refused = |what: String| Error::invalid(what).with_code("mas::a2a::card");
    let most = u64::try_from(LARGEST).unwrap_or(u64::MAX);
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path);
    file.and_then(|file| file.take(most.saturating_add(1)).read_to_end(&mut bytes))
        .map_err(|error| refused(format!("the card `{shown}` cannot be read: {error}")))?;
    if bytes.len() > LARGEST {
        return Err(refused(format!("the card `{shown}` is larger than {LARGEST} bytes")));
    }
    let card: Value = serde_json::from_slice(&bytes)
        .map_err(|error| refused(format!("the card `{shown}` is no JSON: {error}")))?;
    if card.is_object() {
        Ok(card)
    } else {
        Err(refused(format!("`{shown}` is no card: it is no JSON object")))
    }
}
