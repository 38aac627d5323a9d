//! Tokens by the client credentials grant (RFC 6749, section 4.4).

use std::{
    fmt,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use base64::{Engine, engine::general_purpose::STANDARD};
use mas_contracts::{BuildContext, Clock, Delivery, Error, Result};
use tokio::sync::Mutex;

use super::answer;
use crate::{
    Secret, Secrets,
    http::{self, Bounds, HeaderText, Request, Settings, Transport, encoded, keeps_secrets, shown},
};

/// The longest that an authorization server may take.
const LONGEST: Duration = Duration::from_secs(10);

/// The largest answer of one.
const LARGEST: usize = 256 * 1024;

/// How long before its end a token is replaced; half of its time for one that lives shorter than twice as long.
const SKEW: Duration = Duration::from_secs(30);

/// How long a token is used whose time is not told.
const UNTOLD: Duration = Duration::from_secs(300);

/// How a client shows itself to its authorization server (RFC 6749, section 2.3.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClientAuth {
    /// `client_secret_basic`: in the header `Authorization: Basic`.
    #[default]
    Basic,
    /// `client_secret_post`: in the body.
    Post,
}

/// Whose tokens are fetched, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientCredentials {
    /// The token endpoint: https, or http on this machine.
    pub token_url: String,
    /// The client.
    pub client_id: String,
    /// Its secret.
    pub client_secret: Secret,
    /// What the tokens are to allow; empty for what the server gives by default.
    pub scopes: Vec<String>,
    /// Whom the tokens are for, where the server wants `audience`.
    pub audience: Option<String>,
    /// The same as `resource` (RFC 8707).
    pub resource: Option<String>,
    /// How the client shows itself; default in the header.
    pub auth: ClientAuth,
}

/// The tokens of a client: the current one is kept until half a minute before its end, and fetched by one caller at a
/// time. Debug shows nothing of it.
pub struct Tokens {
    client: ClientCredentials,
    transport: Arc<dyn Transport>,
    clock: Arc<dyn Clock>,
    current: RwLock<Option<Current>>,
    /// How many fetches have failed.
    failures: AtomicU64,
    /// Held by who fetches; why the last fetch failed.
    fetching: Mutex<Option<Error>>,
}

#[derive(Clone)]
struct Current {
    token: Secret,
    /// The one before, which an answer may still tell of.
    before: Option<Secret>,
    until: Instant,
}

impl Tokens {
    /// The tokens of a client of an authorization server that is reached by `settings`; equal ones share theirs within a
    /// team.
    ///
    /// # Errors
    /// `mas::oauth::url` for a token endpoint that is none or has no TLS, and those of [`Settings::connect`].
    pub fn shared(client: &ClientCredentials, settings: &Settings, cx: &BuildContext) -> Result<Arc<Self>> {
        let transport = settings.connect(cx)?;
        let key = format!("{client:?} {} {}", client.client_secret.reveal(), settings.key(&cx.base));
        cx.shared.get_or_make(&key, || Self::new(client.clone(), transport, cx.clock.clone()))
    }

    /// The same over a transport of the caller, not shared.
    ///
    /// # Errors
    /// `mas::oauth::url` for a token endpoint that is none or has no TLS.
    pub fn new(
        client: ClientCredentials,
        transport: Arc<dyn Transport>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self> {
        let url = &client.token_url;
        if !keeps_secrets(url) {
            let text = format!(
                "`{}` is no token endpoint: it has to begin with https://, for a secret is sent there; http:// will do on \
                 this machine only",
                shown(url)
            );
            return Err(Error::invalid(text).with_code("mas::oauth::url"));
        }
        let (current, failures, fetching) = (RwLock::default(), AtomicU64::new(0), Mutex::default());
        Ok(Self { client, transport, clock, current, failures, fetching })
    }

    /// A token that is good: the current one, else a fresh one. Callers who need a fresh one at the same time wait for
    /// one fetch, and share its failure.
    ///
    /// # Errors
    /// What the authorization server says (`mas::oauth::refused`), that what it says is no token (`mas::oauth::answer`),
    /// or why it cannot be asked; always [`Delivery::NotSent`].
    pub async fn get(&self) -> Result<Secret> {
        if let Some(token) = self.current() {
            return Ok(token);
        }
        let failures = self.failures.load(Relaxed);
        let mut failed = self.fetching.lock().await;
        if let Some(token) = self.current() {
            return Ok(token);
        }
        // It failed while this caller waited for it.
        if let Some(error) = failed.as_ref().filter(|_| self.failures.load(Relaxed) != failures) {
            return Err(error.clone());
        }
        let fetched = self.fetch().await.map_err(|error| error.with_delivery(Delivery::NotSent));
        if let Err(error) = &fetched {
            self.failures.fetch_add(1, Relaxed);
            *failed = Some(error.clone());
        }
        let mut fresh = fetched?;
        let token = fresh.token.clone();
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        fresh.before = current.take().map(|current| current.token);
        *current = Some(fresh);
        Ok(token)
    }

    /// Forgets a token that was refused, unless another one has taken its place already.
    pub fn forget(&self, refused: &Secret) {
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(current) = current.as_mut().filter(|current| current.token == *refused) {
            current.until = self.clock.now();
        }
    }

    /// What no text may show: the client's secret as it is and as it is sent, and the current token.
    #[must_use]
    pub fn secrets(&self) -> Secrets {
        let mut secrets = Secrets::new();
        secrets.add(self.client.client_secret.clone());
        secrets.add(Secret::new(self.basic()));
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        for current in current.iter() {
            secrets.add(current.token.clone());
            current.before.iter().for_each(|before| secrets.add(before.clone()));
        }
        secrets
    }

    fn current(&self) -> Option<Secret> {
        let now = self.clock.now();
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        current.as_ref().filter(|current| now < current.until).map(|current| current.token.clone())
    }

    /// Name and secret of the client as the header has them, each encoded as in a form first.
    fn basic(&self) -> String {
        let ClientCredentials { client_id, client_secret, .. } = &self.client;
        STANDARD.encode(format!("{}:{}", encoded(client_id), encoded(client_secret.reveal())))
    }

    async fn fetch(&self) -> Result<Current> {
        let began = self.clock.now();
        let bounds = Bounds { clock: &*self.clock, timeout: LONGEST, largest: LARGEST, redirects: 0 };
        let answer = http::ask(&*self.transport, &self.request(), &bounds).await?;
        let place = shown(&self.client.token_url);
        let granted = answer::read(&answer, &place, &self.secrets(), self.clock.unix_time())?;
        let lives = granted.lives.unwrap_or(UNTOLD);
        let used = lives.saturating_sub(SKEW.min(lives / 2));
        tracing::debug!("{place} gave a token, which is used for {} s", used.as_secs());
        Ok(Current { token: granted.token, before: None, until: began.checked_add(used).unwrap_or(began) })
    }

    fn request(&self) -> Request {
        let ClientCredentials { client_id, client_secret, scopes, audience, resource, .. } = &self.client;
        let scope = (!scopes.is_empty()).then(|| scopes.join(" "));
        let mut form = vec![("grant_type", "client_credentials")];
        form.extend(scope.as_deref().map(|scope| ("scope", scope)));
        form.extend(audience.as_deref().map(|audience| ("audience", audience)));
        form.extend(resource.as_deref().map(|resource| ("resource", resource)));
        let plain = |name: &str, value: &str| (name.to_owned(), HeaderText::Plain(value.to_owned()));
        let mut headers = vec![
            plain("content-type", "application/x-www-form-urlencoded"),
            plain("accept", "application/json"),
        ];
        match self.client.auth {
            ClientAuth::Basic => {
                let text = Secret::new(format!("Basic {}", self.basic()));
                headers.push(("authorization".to_owned(), HeaderText::Secret(text)));
            }
            ClientAuth::Post => {
                form.push(("client_id", client_id));
                form.push(("client_secret", client_secret.reveal()));
            }
        }
        let pairs: Vec<String> =
            form.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
        Request {
            method: "POST".to_owned(),
            url: self.client.token_url.clone(),
            headers,
            body: Some(pairs.join("&").into()),
            ..Request::default()
        }
    }
}

/// Those of the same client.
impl PartialEq for Tokens {
    fn eq(&self, other: &Self) -> bool {
        self.client == other.client
    }
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tokens")
    }
}
