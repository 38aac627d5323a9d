//! What requests go out by, and how a card is found.

use std::{sync::Arc, time::Duration};

use mas_comm_kit::{
    auth::{self, Credential},
    http::{Client, HeaderText, Request, Response, Settings, Transport},
};
use mas_contracts::{BuildContext, Clock, Delivery, Error, ErrorKind, Result};
use serde_json::Value;

use super::{Binding, DEFAULT_TIMEOUT, Version, failure, grpc::Dial};

/// How an agent is to be reached.
#[derive(Clone, Debug)]
pub struct Options {
    /// The binding; default that of the first interface of the card that is spoken here.
    pub binding: Option<Binding>,
    /// The version; default the newest that the card names.
    pub version: Option<Version>,
    /// Headers of every request, such as `Authorization`.
    pub headers: Vec<(String, HeaderText)>,
    /// How long a call may take, its whole answer included; default [`DEFAULT_TIMEOUT`].
    pub timeout: Duration,
    /// How connections are made.
    pub settings: Settings,
    /// What shows who is asking, once the card is known; default nothing.
    pub credentials: Arc<[Credential]>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            binding: None,
            version: None,
            headers: Vec::new(),
            timeout: DEFAULT_TIMEOUT,
            settings: Settings::default(),
            credentials: Arc::new([]),
        }
    }
}

/// What requests go out by.
pub(super) struct Wire {
    pub(super) http: Arc<Client>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) headers: Vec<(String, HeaderText)>,
    pub(super) credentials: Arc<[Credential]>,
    pub(super) dial: Dial,
    pub(super) timeout: Duration,
}

/// The card of the agent at `url`: that of the file it names, else the well-known one below it, else the well-known
/// one of its host, by the name of v1.0 and by that of v0.2.
///
/// # Errors
/// That nothing there is a card, or that nothing answers.
pub async fn fetch_card(url: &str, options: &Options, cx: &BuildContext) -> Result<Value> {
    Wire::new(options, cx)?.card(url).await
}

impl Wire {
    pub(super) fn new(options: &Options, cx: &BuildContext) -> Result<Self> {
        Ok(Self {
            http: options.settings.connect(cx)?,
            clock: cx.clock.clone(),
            headers: options.headers.clone(),
            credentials: options.credentials.clone(),
            dial: Dial::new(&options.settings, cx)?,
            timeout: options.timeout,
        })
    }

    /// Sends a request with the credentials and waits for the head of the answer.
    ///
    /// # Errors
    /// Why there is none.
    pub(super) async fn send(&self, request: &Request) -> Result<Response> {
        auth::send(&*self.http, &self.credentials, request).await
    }

    fn deadline(&self) -> std::time::Instant {
        let now = self.clock.now();
        now.checked_add(self.timeout).unwrap_or(now)
    }

    pub(super) async fn within<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        let late = self.clock.sleep_until(self.deadline());
        tokio::select! {
            biased;
            done = work => done,
            () = late => Err(late_by(self.timeout)),
        }
    }

    pub(super) async fn card(&self, url: &str) -> Result<Value> {
        self.within(async {
            let mut last = None;
            for place in places(url)? {
                let mut headers = vec![plain("accept", "application/json"), plain("a2a-version", "1.0")];
                headers.extend(self.headers.iter().cloned());
                let request =
                    Request { method: "GET".to_owned(), url: place.clone(), headers, ..Request::default() };
                let mut response = self.http.send(&request).await?;
                if response.is_success() {
                    let bytes = response.read(crate::card::LARGEST).await?;
                    let card: Value = serde_json::from_slice(&bytes).map_err(|error| {
                        failure::unreadable(format!("what stands at {place} is no card: {error}"))
                    })?;
                    return Ok(card);
                }
                let status = response.status();
                last = Some(Error::new(
                    if status == 401 { ErrorKind::Unauthenticated } else { ErrorKind::NotFound },
                    format!("there is no card at {place} (HTTP {status})"),
                ));
                if !matches!(status, 404 | 405) {
                    break;
                }
            }
            let error = last.unwrap_or_else(|| Error::invalid("no place to look for a card"));
            Err(error.with_code("mas::a2a::card").with_delivery(Delivery::Rejected))
        })
        .await
    }
}

/// Where the card of a URL may be.
fn places(url: &str) -> Result<Vec<String>> {
    let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
    let Some(rest) = rest.filter(|rest| !rest.is_empty() && !rest.starts_with('/')) else {
        let text = format!("`{url}` is no address of an agent: it has to begin with http:// or https://");
        return Err(Error::invalid(text).with_code("mas::a2a::url"));
    };
    let without_query = url.split(['?', '#']).next().unwrap_or(url);
    if without_query.ends_with(".json") {
        return Ok(vec![url.to_owned()]);
    }
    let base = without_query.trim_end_matches('/');
    let scheme = url.len() - rest.len();
    let host = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    let origin = format!("{}{host}", url.get(..scheme).unwrap_or_default());
    let mut bases = vec![base.to_owned()];
    if base != origin {
        bases.push(origin);
    }
    let names = ["/.well-known/agent-card.json", "/.well-known/agent.json"];
    Ok(names.iter().flat_map(|name| bases.iter().map(move |base| format!("{base}{name}"))).collect())
}

/// A header that may be shown.
pub(super) fn plain(name: &str, value: &str) -> (String, HeaderText) {
    (name.to_owned(), HeaderText::Plain(value.to_owned()))
}

/// The error of a call that took too long.
pub(super) fn late_by(timeout: Duration) -> Error {
    Error::new(ErrorKind::Timeout, format!("the agent did not answer within {} s", timeout.as_secs_f32()))
        .with_code("mas::a2a::timeout")
        .with_delivery(Delivery::Unknown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_is_looked_for_below_the_address_and_at_the_host() {
        assert_eq!(places("http://h:1/x/card.json").expect("places"), ["http://h:1/x/card.json"]);
        assert_eq!(
            places("https://h/agents/a/").expect("places"),
            [
                "https://h/agents/a/.well-known/agent-card.json",
                "https://h/.well-known/agent-card.json",
                "https://h/agents/a/.well-known/agent.json",
                "https://h/.well-known/agent.json",
            ]
        );
        assert_eq!(places("http://h").expect("places").len(), 2);
        assert!(places("h:1").is_err() && places("http://").is_err());
    }
}
