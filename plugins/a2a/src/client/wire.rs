//! What requests go out by.

use std::{sync::Arc, time::Duration};

use mas_comm_kit::{
    Secrets,
    auth::{self, Credential, Shown},
    http::{self, Client, HeaderText, Request, Response, Settings, Whole},
    sse::EVENT_LIMIT,
};
use mas_contracts::{BuildContext, Clock, Delivery, Error, ErrorKind, Result};
use serde_json::Value;

use super::{Binding, DEFAULT_TIMEOUT, Version, discover, grpc::Dial};
use crate::{card::LARGEST, identity::Identity};

/// How often an agent may send whoever asks for its card elsewhere.
const REDIRECTS: u8 = 3;

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
    /// How much is read.
    pub bounds: Bounds,
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
            bounds: Bounds::default(),
            credentials: Arc::new([]),
        }
    }
}

/// How much is read of an agent, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Of an answer that is no stream; default 64 MiB.
    pub reply: usize,
    /// Of one event of a stream; default [`EVENT_LIMIT`].
    pub event: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { reply: 64 * 1024 * 1024, event: EVENT_LIMIT }
    }
}

/// What requests go out by. It has no limit of time.
#[derive(Clone)]
pub(crate) struct Wire {
    http: Arc<Client>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) headers: Vec<(String, HeaderText)>,
    pub(super) credentials: Arc<[Credential]>,
    pub(super) dial: Dial,
    /// Who is shown to those who have cards.
    identity: Option<Arc<Identity>>,
    /// How long a call may take that does not say it itself; an agent over gRPC is told.
    pub(super) timeout: Duration,
}

/// The card of the agent at `url`: that of the file it names, else the well-known one below it, else the well-known
/// one of its host, by the name of v1.0 and by that of v0.2.
///
/// # Errors
/// That nothing there is a card, or that nothing answers.
pub async fn fetch_card(url: &str, options: &Options, cx: &BuildContext) -> Result<Value> {
    let (wire, places) = (Wire::new(options, cx)?, discover::places(url)?);
    let look = discover::look(&wire, &places, options.timeout);
    let found = within(&*cx.clock, options.timeout, look).await?;
    Ok(found.card)
}

impl Wire {
    pub(crate) fn new(options: &Options, cx: &BuildContext) -> Result<Self> {
        Ok(Self {
            http: options.settings.connect(cx)?,
            clock: cx.clock.clone(),
            headers: options.headers.clone(),
            credentials: options.credentials.clone(),
            dial: Dial::new(&options.settings, cx)?,
            identity: None,
            timeout: options.timeout,
        })
    }

    /// The same, which shows those who have cards who is asking.
    pub(crate) fn by(self, identity: Arc<Identity>) -> Self {
        Self { identity: Some(identity), ..self }
    }

    /// The same with these credentials.
    pub(crate) fn showing(&self, credentials: Vec<Credential>) -> Self {
        Self { credentials: credentials.into(), ..self.clone() }
    }

    /// What of it no text may show.
    pub(crate) fn secrets(&self) -> Secrets {
        let mut secrets = Secrets::new();
        for (name, text) in &self.headers {
            if let HeaderText::Secret(text) = text {
                secrets = secrets.and(Credential::Header(name.clone(), text.clone()).secrets());
            }
        }
        secrets = self.credentials.iter().fold(secrets, |known, one| known.and(one.secrets()));
        match &self.identity {
            Some(identity) => secrets.and(identity.secrets().into_owned()),
            None => secrets,
        }
    }

    /// Asks for a card, and follows where it is sent to; what is secret stays with the host that it is for.
    ///
    /// # Errors
    /// Why there is no answer within `timeout`.
    pub(super) async fn card(&self, request: &Request, timeout: Duration) -> Result<Whole> {
        let bounds = http::Bounds { clock: &*self.clock, timeout, largest: LARGEST, redirects: REDIRECTS };
        let credentials =
            self.identity.as_ref().map_or_else(Vec::new, |identity| identity.for_card(&request.url));
        let shown = Shown::of(&credentials).await?;
        let whole = http::ask(&*self.http, &shown.on(request), &bounds).await?;
        match whole.status {
            401 => match shown.renewed(&credentials).await? {
                Some(again) => http::ask(&*self.http, &again.on(request), &bounds).await,
                None => Ok(whole),
            },
            _ => Ok(whole),
        }
    }

    /// Sends a request with the credentials and waits for the head of the answer.
    ///
    /// # Errors
    /// Why there is none.
    pub(super) async fn send(&self, request: &Request) -> Result<Response> {
        auth::send(&*self.http, &self.credentials, request).await
    }
}

/// Does `work` in this time.
pub(super) async fn within<T>(
    clock: &dyn Clock,
    limit: Duration,
    work: impl Future<Output = Result<T>>,
) -> Result<T> {
    let now = clock.now();
    let late = clock.sleep_until(now.checked_add(limit).unwrap_or(now));
    tokio::select! {
        biased;
        done = work => done,
        () = late => Err(late_by(limit)),
    }
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
