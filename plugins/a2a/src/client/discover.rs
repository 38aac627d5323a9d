//! Where the card of an agent is found.

use std::time::Duration;

use mas_comm_kit::{
    Secrets,
    http::{EXCERPT, Request, Whole, shown},
};
use mas_contracts::{Delivery, Error, ErrorKind, Result, Retry};
use serde_json::Value;

use super::{
    failure,
    wire::{Wire, plain},
};

/// A place where the card of an agent may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Its address.
    pub(crate) url: String,
    /// The path of the agent, where the place is that of its whole host: what stands there may be the card of another
    /// agent.
    below: Option<String>,
}

impl Place {
    /// The place of a card that somebody named.
    pub(crate) fn named(url: impl Into<String>) -> Self {
        Self { url: url.into(), below: None }
    }

    /// Whether a card that stands here is that of the agent: one of the host has to name an address of the agent's.
    fn is_of(&self, card: &Value) -> bool {
        let Some(path) = &self.below else { return true };
        super::card::interfaces(card).iter().any(|interface| {
            let rest = interface.url.split_once("://").map_or(&*interface.url, |(_, rest)| rest);
            let at = rest.find('/').and_then(|at| rest.get(at..)).unwrap_or_default();
            at.strip_prefix(&**path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }
}

/// A card that was found.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Found {
    /// The card.
    pub(crate) card: Value,
    /// Where.
    pub(crate) place: Place,
    /// What tells this card from the next one there (`ETag`).
    pub(crate) etag: Option<String>,
    /// How long its server says that it may be kept; none where it does not say.
    pub(crate) fresh: Option<Duration>,
}

/// What became of a card that is known.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Revalidated {
    /// It is as it was, for this long again.
    Same(Option<Duration>),
    /// There is another.
    New(Found),
}

/// The first card at these places, each asked for `limit` at most. Nothing of it is a message to the agent, so that
/// every error says that nothing was sent.
///
/// # Errors
/// [`ErrorKind::NotFound`] where none of them has one, [`ErrorKind::Unauthenticated`] where a place wants to know who
/// asks; else why there is no answer.
pub(crate) async fn look(wire: &Wire, places: &[Place], limit: Duration) -> Result<Found> {
    let mut last = None;
    for place in places {
        let whole = ask(wire, &place.url, None, limit).await?;
        match card(&whole, place, &wire.secrets())? {
            Ok(found) => return Ok(found),
            Err(why) => last = Some(last.unwrap_or(why)),
        }
    }
    Err(last.unwrap_or_else(|| Error::invalid("there is no place to look for a card")))
}

/// Asks whether a card that is known is still the card.
///
/// # Errors
/// As [`look`].
pub(crate) async fn revalidate(
    wire: &Wire,
    known: &Found,
    places: &[Place],
    limit: Duration,
) -> Result<Revalidated> {
    let whole = ask(wire, &known.place.url, known.etag.as_deref(), limit).await?;
    if whole.status == 304 {
        return Ok(Revalidated::Same(fresh(&whole)));
    }
    match card(&whole, &known.place, &wire.secrets())? {
        Ok(found) => Ok(Revalidated::New(found)),
        Err(_) => look(wire, places, limit).await.map(Revalidated::New),
    }
}

async fn ask(wire: &Wire, place: &str, etag: Option<&str>, limit: Duration) -> Result<Whole> {
    let mut headers = vec![plain("accept", "application/json"), plain("a2a-version", "1.0")];
    headers.extend(etag.map(|etag| plain("if-none-match", etag)));
    headers.extend(wire.headers.iter().cloned());
    let request = Request { method: "GET".to_owned(), url: place.to_owned(), headers, ..Request::default() };
    wire.card(&request, limit).await.map_err(|error| error.with_delivery(Delivery::NotSent))
}

/// The card of an answer; why there is none, where the next place may have one.
fn card(whole: &Whole, at: &Place, secrets: &Secrets) -> Result<Result<Found>> {
    let place = shown(&at.url);
    let status = whole.status;
    let refused = |kind, what: String| Error::new(kind, what).with_code("mas::a2a::card");
    if matches!(status, 404 | 405 | 410) {
        return Ok(Err(refused(ErrorKind::NotFound, format!("there is no card at {place} (HTTP {status})"))));
    }
    if !whole.is_success() {
        let retry = if matches!(status, 500..=599 | 429) { Retry::Backoff } else { Retry::Never };
        let what = match status {
            401 => format!(
                "the card at {place} is shown only to callers with credentials (HTTP 401); they go in a header, such \
                 as `Authorization`"
            ),
            403 => format!("the card at {place} is not shown to this caller (HTTP 403)"),
            _ => format!("the card at {place} cannot be had (HTTP {status})"),
        };
        return Err(refused(failure::kind_of(status), what).with_retry(retry));
    }
    let bytes = &whole.body;
    let found = serde_json::from_slice(bytes).ok().filter(Value::is_object);
    Ok(match found {
        Some(card) if !at.is_of(&card) => {
            Err(refused(ErrorKind::NotFound, format!("what stands at {place} is the card of another agent")))
        }
        Some(card) => Ok(Found {
            card,
            place: at.clone(),
            etag: whole.header("etag").filter(|etag| !etag.is_empty()).map(str::to_owned),
            fresh: fresh(whole),
        }),
        // A site that answers every path with its page.
        None => {
            let told = String::from_utf8_lossy(bytes.get(..bytes.len().min(EXCERPT)).unwrap_or_default());
            let told = secrets.excerpt(told.trim(), 200, bytes.len() <= EXCERPT);
            Err(refused(ErrorKind::NotFound, format!("what stands at {place} is no card: {told}")))
        }
    })
}

/// How long an answer may be kept, as it says itself.
fn fresh(whole: &Whole) -> Option<Duration> {
    let said = whole.header("cache-control")?.to_ascii_lowercase();
    let mut words = said.split(',').map(str::trim);
    if words.clone().any(|word| matches!(word, "no-store" | "no-cache")) {
        return Some(Duration::ZERO);
    }
    let age = words.find_map(|word| word.strip_prefix("max-age="))?;
    age.trim_matches('"').parse().ok().map(Duration::from_secs)
}

/// Where the card of a URL may be.
///
/// # Errors
/// [`ErrorKind::Invalid`] for a URL that is none of http or https.
pub(crate) fn places(url: &str) -> Result<Vec<Place>> {
    let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
    let Some(rest) = rest.filter(|rest| !rest.is_empty() && !rest.starts_with('/')) else {
        let url = shown(url);
        let text = format!("`{url}` is no address of an agent: it has to begin with http:// or https://");
        return Err(Error::invalid(text).with_code("mas::a2a::url"));
    };
    let without_query = url.split(['?', '#']).next().unwrap_or(url);
    if without_query.ends_with(".json") {
        return Ok(vec![Place::named(url)]);
    }
    let base = without_query.trim_end_matches('/');
    let scheme = url.len() - rest.len();
    let host = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    let origin = format!("{}{host}", url.get(..scheme).unwrap_or_default());
    let path = base.strip_prefix(&*origin).unwrap_or_default().to_owned();
    let mut bases = vec![(base, None)];
    if !path.is_empty() {
        bases.push((&*origin, Some(path)));
    }
    let names = ["/.well-known/agent-card.json", "/.well-known/agent.json"];
    let place = |name, (base, below): &(&str, Option<String>)| Place {
        url: format!("{base}{name}"),
        below: below.clone(),
    };
    Ok(names.iter().flat_map(|name| bases.iter().map(move |base| place(name, base))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_is_looked_for_below_the_address_and_at_the_host() {
        let urls = |url| places(url).expect("places").into_iter().map(|place| place.url).collect::<Vec<_>>();
        assert_eq!(urls("http://h:1/x/card.json"), ["http://h:1/x/card.json"]);
        assert_eq!(
            urls("https://h/agents/a/"),
            [
                "https://h/agents/a/.well-known/agent-card.json",
                "https://h/.well-known/agent-card.json",
                "https://h/agents/a/.well-known/agent.json",
                "https://h/.well-known/agent.json",
            ]
        );
        assert_eq!(urls("http://h").len(), 2);
        assert!(places("h:1").is_err() && places("http://").is_err());
    }

    #[test]
    fn a_card_of_a_host_is_that_of_an_agent_only_if_it_names_its_address() {
        let places = places("http://h/agents/a").expect("places");
        let card = |url: &str| serde_json::json!({"url": url});
        for (url, own) in [
            ("http://h/", false),
            ("http://h/agents/ab", false),
            ("http://other/agents/a", true),
            ("http://h/agents/a/rest", true),
        ] {
            assert!(places[0].is_of(&card(url)), "{url}");
            assert_eq!(places[1].is_of(&card(url)), own, "{url}");
        }
    }
}
