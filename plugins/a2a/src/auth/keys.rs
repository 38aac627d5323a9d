//! The keys of an issuer, from a file or an address, and how long they are taken for fresh.

use std::{
    io::Read,
    path::PathBuf,
    sync::{Arc, PoisonError, RwLock},
    time::{Duration, Instant},
};

use futures_util::future::{Either, select};
use mas_comm_kit::http::{Request, Settings, Transport};
use mas_contracts::{BuildContext, Clock, Error, Result};
use tokio::sync::Mutex;

use crate::{
    jose::{Algorithm, KeySet},
    model::{Failure, Reason},
};

/// The largest set of keys: 256 KiB.
const LARGEST: usize = 256 * 1024;

/// The longest that an answer may take.
const LONGEST: Duration = Duration::from_secs(10);

/// The shortest time between two attempts, so that tokens with made-up names of keys cost the issuer nothing.
const PAUSE: Duration = Duration::from_secs(30);

/// How long known keys are used beyond their time while the issuer cannot be asked.
const GRACE: Duration = Duration::from_secs(3_600);

/// The keys of an issuer.
pub(crate) struct Keys {
    source: Source,
    refresh: Duration,
    clock: Arc<dyn Clock>,
    known: RwLock<Known>,
    fetching: Mutex<()>,
}

enum Source {
    File(PathBuf),
    Url(String, Arc<dyn Transport>),
}

#[derive(Clone, Default)]
struct Known {
    keys: Arc<KeySet>,
    fetched: Option<Instant>,
    tried: Option<Instant>,
}

impl Keys {
    /// The keys at a place: a file is read now, an address is asked when the first token comes.
    pub(crate) fn open(place: &str, refresh: u64, settings: &Settings, cx: &BuildContext) -> Result<Self> {
        let source = if place.contains("://") {
            Source::Url(place.to_owned(), settings.connect(cx)?)
        } else {
            Source::File(cx.base.join(place))
        };
        let keys = Self::of(source, refresh, cx.clock.clone());
        if let Source::File(path) = &keys.source {
            let read = read_file(path).map_err(|error| {
                let message = format!("the keys `{place}` cannot be used: {}", error.message());
                Error::new(error.kind(), message).with_code("mas::a2a::keys")
            })?;
            keys.keep(read);
        }
        Ok(keys)
    }

    /// The keys at an address, over a transport of the caller.
    #[cfg(test)]
    pub(super) fn over(
        transport: Arc<dyn Transport>,
        url: &str,
        refresh: u64,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self::of(Source::Url(url.to_owned(), transport), refresh, clock)
    }

    fn of(source: Source, refresh: u64, clock: Arc<dyn Clock>) -> Self {
        let refresh = Duration::from_secs(refresh);
        Self { source, refresh, clock, known: RwLock::default(), fetching: Mutex::default() }
    }

    /// Keys among which is one for a token, if the issuer has it.
    pub(crate) async fn get(&self, kid: Option<&str>, algorithm: Algorithm) -> Result<Arc<KeySet>, Failure> {
        let known = self.known();
        let has_key = known.keys.candidates(kid, algorithm).next().is_some();
        if has_key && self.is_within(known.fetched, self.refresh) {
            return Ok(known.keys);
        }
        if self.is_within(known.tried, PAUSE) {
            return self.usable(known);
        }
        let turn = match self.fetching.try_lock() {
            Ok(turn) => turn,
            // Somebody asks already; keys that are a little old are as good as an answer that is late.
            Err(_) if has_key && self.is_usable(&known) => return Ok(known.keys),
            Err(_) => self.fetching.lock().await,
        };
        let known = self.known();
        if self.is_within(known.tried, PAUSE) {
            drop(turn);
            return self.usable(known);
        }
        self.tried();
        match self.fetch().await {
            Ok(keys) => self.keep(keys),
            Err(error) => tracing::warn!("the keys of an issuer cannot be had: {error:#}"),
        }
        drop(turn);
        self.usable(self.known())
    }

    fn usable(&self, known: Known) -> Result<Arc<KeySet>, Failure> {
        if self.is_usable(&known) {
            return Ok(known.keys);
        }
        let message = "the keys of the token's issuer cannot be had now";
        Err(Failure::new(Reason::Unavailable, message).retry_after(PAUSE))
    }

    fn is_usable(&self, known: &Known) -> bool {
        self.is_within(known.fetched, self.refresh.saturating_add(GRACE))
    }

    fn is_within(&self, moment: Option<Instant>, time: Duration) -> bool {
        moment.is_some_and(|moment| self.clock.now().saturating_duration_since(moment) < time)
    }

    fn known(&self) -> Known {
        self.known.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn tried(&self) {
        self.known.write().unwrap_or_else(PoisonError::into_inner).tried = Some(self.clock.now());
    }

    fn keep(&self, keys: KeySet) {
        let now = self.clock.now();
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        known.keys = Arc::new(keys);
        known.fetched = Some(now);
    }

    async fn fetch(&self) -> Result<KeySet> {
        match &self.source {
            Source::File(path) => {
                let path = path.clone();
                let read = tokio::task::spawn_blocking(move || read_file(&path)).await;
                read.map_err(|_| Error::internal("the file of keys was not read"))?
            }
            Source::Url(url, transport) => {
                let late = self.clock.sleep_until(self.clock.now() + LONGEST);
                match select(std::pin::pin!(fetch_url(url, transport.as_ref())), late).await {
                    Either::Left((keys, _)) => keys,
                    Either::Right(_) => {
                        Err(Error::invalid(format!("no answer within {} seconds", LONGEST.as_secs())))
                    }
                }
            }
        }
    }
}

async fn fetch_url(url: &str, transport: &dyn Transport) -> Result<KeySet> {
    let accept =
        mas_comm_kit::http::HeaderText::Plain("application/jwk-set+json, application/json".to_owned());
    let headers = vec![("accept".to_owned(), accept)];
    let request = Request { method: "GET".to_owned(), url: url.to_owned(), headers, ..Request::default() };
    let mut response = transport.send(&request).await?;
    // Nothing is followed: only the declared address says what the keys are.
    if response.status() != 200 {
        return Err(Error::invalid(format!("the answer has the status {}", response.status())));
    }
    let body = response.read(LARGEST).await?;
    KeySet::read(&String::from_utf8_lossy(&body))
}

fn read_file(path: &std::path::Path) -> Result<KeySet> {
    let unreadable = |error: std::io::Error| Error::invalid(format!("it cannot be read: {error}"));
    let file = std::fs::File::open(path).map_err(unreadable)?;
    let mut text = String::new();
    let most = u64::try_from(LARGEST).unwrap_or(u64::MAX);
    file.take(most).read_to_string(&mut text).map_err(unreadable)?;
    KeySet::read(&text)
}
