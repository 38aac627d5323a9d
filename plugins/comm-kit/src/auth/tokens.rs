//! Tokens by the client credentials grant (RFC 6749, section 4.4).

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use base64::{Engine, engine::general_purpose::STANDARD};
use mas_contracts::{BuildContext, Clock, Delivery, Error, Result};

use super::answer;
use crate::{
    Secret, Secrets,
    access::{AccessCache, Expiry, Lookup},
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
    cache: AccessCache<(), Secret>,
    /// The last two tokens, which an answer may tell of.
    told: Mutex<[Option<Secret>; 2]>,
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
        // How long before its end a token is replaced depends on its life, so that it is known here.
        let expiry = Expiry { skew: Duration::ZERO, ttl: UNTOLD };
        let cache = AccessCache::new(clock.clone(), expiry, 1);
        Ok(Self { client, transport, clock, cache, told: Mutex::default() })
    }

    /// A token that is good: the current one, else a fresh one. Callers who need a fresh one at the same time wait for
    /// one fetch, and share its failure.
    ///
    /// # Errors
    /// What the authorization server says (`mas::oauth::refused`), that what it says is no token (`mas::oauth::answer`),
    /// or why it cannot be asked; always [`Delivery::NotSent`].
    pub async fn get(&self) -> Result<Arc<Secret>> {
        let lookup = async {
            match self.fetch().await {
                Ok((token, until)) => Lookup::Granted(token, Some(until)),
                Err(error) => Lookup::Refused(error.with_delivery(Delivery::NotSent)),
            }
        };
        self.cache.get(&(), lookup).await
    }

    /// Forgets a token that was refused, unless another one has taken its place already.
    pub fn forget(&self, refused: &Arc<Secret>) {
        self.cache.drop_value(&(), refused);
    }

    /// What no text may show: the client's secret as it is and as it is sent, the current token, the one before.
    #[must_use]
    pub fn secrets(&self) -> Secrets {
        let mut secrets = Secrets::new();
        secrets.add(self.client.client_secret.clone());
        secrets.add(Secret::new(self.basic()));
        self.told().iter().flatten().for_each(|token| secrets.add(token.clone()));
        secrets
    }

    fn told(&self) -> MutexGuard<'_, [Option<Secret>; 2]> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Name and secret of the client as the header has them, each encoded as in a form first.
    fn basic(&self) -> String {
        let ClientCredentials { client_id, client_secret, .. } = &self.client;
        STANDARD.encode(format!("{}:{}", encoded(client_id), encoded(client_secret.reveal())))
    }

    /// A fresh token, and until when it is used, as a time since the Unix epoch.
    async fn fetch(&self) -> Result<(Secret, Duration)> {
        let began = self.clock.unix_time();
        let bounds = Bounds { clock: &*self.clock, timeout: LONGEST, largest: LARGEST, redirects: 0 };
        let answer = http::ask(&*self.transport, &self.request(), &bounds).await?;
        let place = shown(&self.client.token_url);
        let granted = answer::read(&answer, &place, &self.secrets(), self.clock.unix_time())?;
        let lives = granted.lives.unwrap_or(UNTOLD);
        let used = lives.saturating_sub(SKEW.min(lives / 2));
        tracing::debug!("{place} gave a token, which is used for {} s", used.as_secs());
        let [last, before] = &mut *self.told();
        *before = last.replace(granted.token.clone());
        Ok((granted.token, began.saturating_add(used)))
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
