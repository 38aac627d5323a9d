//! A send to a session, from its words to the answer.

mod tasks;

use std::{fmt, sync::Arc};

use bytes::Bytes;
use mas_comm_kit::{
    access::Lookup,
    http::{Transport, Whole},
    phases::{Budget, Phases},
};
use mas_contracts::{BuildContext, Clock, Error, ErrorKind, Ids, Result, Retry};

use serde_json::Value;

use crate::{
    access::RuntimeAccess,
    address::Base,
    admission::{self, Admission, Grant, decide},
    answer::Received,
    exchange::{Call, Exchange},
    failure::{self, Side},
    kind::ResponseKind,
    letter::{self, Envelope, Letter},
    params::Params,
    profile::Profile,
    service::{Bearer, Handle, Service},
    store::{Caching, Scope, Store},
    terms::Terms,
};

/// The media type of A2A over HTTP.
const A2A_JSON: &str = "application/a2a+json";

/// Sends to the sessions of one platform.
///
/// ```text
///   letter ─▶ body, once ─▶ (task: profile) ─▶ access ─▶ gate ─▶ POST ─▶ answer
///                                                 ▲              │ 401, 403: once more, the same bytes
///                                                 └──────────────┘
/// ```
///
/// Everything happens within one [`Budget`].
pub struct Platform {
    service: Service,
    exchange: Exchange,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn Ids>,
    terms: Terms,
    store: Store,
}

/// What a [`Platform`] is made from.
pub struct Connection {
    /// The address of the platform.
    pub url: String,
    /// Where its token comes from.
    pub bearer: Bearer,
    /// What sends requests.
    pub transport: Arc<dyn Transport>,
    /// The clock that every limit is on.
    pub clock: Arc<dyn Clock>,
    /// Where the ids of messages come from.
    pub ids: Arc<dyn Ids>,
    /// What a send goes by.
    pub terms: Terms,
    /// Where access is kept.
    pub caching: Caching,
}

impl Platform {
    /// The platform at an address.
    ///
    /// # Errors
    /// `mas::platform::url` for an address that no token may be sent to.
    pub fn new(connection: Connection) -> Result<Self> {
        let Connection { url, bearer, transport, clock, ids, terms, caching } = connection;
        let base = Base::read(&url, terms.allow_http).map_err(|why| {
            Error::invalid(format!("the platform's address {why}")).with_code("mas::platform::url")
        })?;
        let exchange = Exchange { transport, clock: clock.clone(), largest: terms.max_response_bytes };
        let scope = Scope { backend: base.as_str().to_owned(), bearer: bearer.clone() };
        let store = Store::new(caching, clock.clone(), scope, terms.allow_http);
        let service = Service { base, bearer, exchange: exchange.clone() };
        Ok(Self { service, exchange, clock, ids, terms, store })
    }

    /// The platform that the parameters of an endpoint describe, whichever session they name, if any.
    ///
    /// # Errors
    /// `mas::params::invalid` for what is wrong with them; `mas::platform::token` for a variable that is not set.
    pub fn of_endpoint(params: &Value, cx: &BuildContext) -> Result<Self> {
        Params::setup(params, cx)?.connect(cx)
    }

    /// What a send goes by.
    #[must_use]
    pub fn terms(&self) -> &Terms {
        &self.terms
    }

    /// The budget of something that begins now, by the terms or by limits of its own.
    #[must_use]
    pub fn budget(&self, timeout: Option<Phases>) -> Budget {
        timeout.unwrap_or(self.terms.timeout).begin(self.clock.now())
    }

    /// The id that a letter is sent with: its own, else a fresh one.
    #[must_use]
    pub fn id_of(&self, letter: &Letter) -> Arc<str> {
        letter::id_of(letter, &self.terms, &*self.ids)
    }

    /// The key under which something of this user at this platform is kept in a file.
    #[must_use]
    pub fn key(&self, of: &str) -> String {
        let scope =
            Scope { backend: self.service.base.as_str().to_owned(), bearer: self.service.bearer.clone() };
        scope.key(of)
    }

    /// The session of a handle, which is made if there is none.
    ///
    /// # Errors
    /// What the platform says; nothing was sent to a session.
    pub async fn session(&self, handle: &Handle, budget: &Budget) -> Result<Arc<str>> {
        self.service.session(handle, budget).await
    }

    /// The kinds of response that the agent of a session offers; `agent` is asked for if absent.
    ///
    /// # Errors
    /// What the platform says, or that the session does not say whose it is.
    pub async fn profile(&self, session: &str, agent: Option<&str>, budget: &Budget) -> Result<Profile> {
        let agent = match agent {
            Some(agent) => agent.to_owned(),
            None => self.service.agent_of(session, budget).await?.ok_or_else(|| {
                let text = format!(
                    "the session `{session}` names no agent, so that the response kind `task` is not advertised for it; nothing was sent"
                );
                Error::new(ErrorKind::Unsupported, text)
                    .with_code("mas::platform::response_kind_unsupported")
                    .with_retry(Retry::Never)
            })?,
        };
        self.service.profile(&agent, &self.terms.response_kind(), budget).await
    }

    /// How the runtime of a session is, as the platform says now; nothing is sent to it, and nothing kept.
    ///
    /// # Errors
    /// What the platform says.
    pub(crate) async fn look(&self, session: &str, budget: &Budget) -> Result<RuntimeAccess> {
        self.service.resolve(session, budget).await
    }

    /// Sends a letter and returns the answer. `profile` is what the agent offers; for a task it is asked for if absent.
    ///
    /// # Errors
    /// With the message's id as `message_id`, and what is known of its delivery:
    /// `mas::platform::request_invalid`, `response_kind_unsupported`, `not_ready`, `submission_blocked`,
    /// `access_invalid`: nothing was sent; `message_limit`: the turn ran and was stopped; `response_invalid`,
    /// `response_kind_mismatch`, `response_too_large`: it was executed; `outcome_ambiguous`: that is not known, and it is
    /// never sent again by itself.
    pub async fn send(
        &self,
        session: &Arc<str>,
        letter: &Letter,
        profile: Option<&Profile>,
        budget: &Budget,
    ) -> Result<Received> {
        let id = self.id_of(letter);
        self.sent(session, letter, &id, profile, budget).await.map_err(|error| error.with("message_id", id))
    }

    async fn sent(
        &self,
        session: &Arc<str>,
        letter: &Letter,
        id: &str,
        profile: Option<&Profile>,
        budget: &Budget,
    ) -> Result<Received> {
        let envelope = letter::write(letter, id, session, &self.terms)?;
        let grant = self.admit(session, envelope.kind, profile, budget).await?;
        self.post(session, &envelope, grant, &|| true, budget).await
    }

    /// Checks a letter, as far as that does not depend on the session.
    ///
    /// # Errors
    /// As [`send`](Self::send), for what cannot be sent.
    pub fn check(&self, letter: &Letter) -> Result<()> {
        letter::check(letter, &self.terms)
    }

    /// The body of a letter, which is checked first.
    ///
    /// # Errors
    /// As [`send`](Self::send), for what cannot be sent.
    pub(crate) fn write(&self, session: &str, letter: &Letter) -> Result<Envelope> {
        letter::write(letter, &self.id_of(letter), session, &self.terms)
    }

    /// Waits until a message may be sent: the agent offers the kind, and the gate is open.
    ///
    /// # Errors
    /// As [`send`](Self::send); nothing was sent.
    pub(crate) async fn admit(
        &self,
        session: &Arc<str>,
        kind: ResponseKind,
        profile: Option<&Profile>,
        budget: &Budget,
    ) -> Result<Arc<Grant>> {
        if kind == ResponseKind::Task {
            match profile {
                Some(profile) => profile.check(kind)?,
                None => self.profile(session, None, budget).await?.check(kind)?,
            }
        }
        self.grant(session, From::Anywhere, budget).await
    }

    /// Sends what was admitted. It is sent a second time only while it is `wanted`.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub(crate) async fn post(
        &self,
        session: &Arc<str>,
        envelope: &Envelope,
        grant: Arc<Grant>,
        wanted: &(dyn Fn() -> bool + Sync),
        budget: &Budget,
    ) -> Result<Received> {
        let headers = [
            ("content-type", A2A_JSON.to_owned()),
            ("accept", A2A_JSON.to_owned()),
            ("a2a-version", "1.0".to_owned()),
            ("a2a-extensions", self.terms.response_kind()),
        ];
        let path = "/api/a2a/v1/message:send";
        let asked = At { method: "POST", path, headers: &headers, body: Some(&envelope.body) };
        self.at_runtime(session, &asked, envelope.kind, grant, wanted, budget).await
    }

    /// Asks the runtime of a session. Access that it refuses is asked for anew, once, and then the same is asked again.
    async fn at_runtime(
        &self,
        session: &Arc<str>,
        asked: &At<'_>,
        kind: ResponseKind,
        grant: Arc<Grant>,
        wanted: &(dyn Fn() -> bool + Sync),
        budget: &Budget,
    ) -> Result<Received> {
        let answer = self.exchange.ask(&asked.call(&grant), budget).await?;
        if !is_refusal(&answer) {
            return self.read(session, asked, &grant, answer, kind);
        }
        self.store.forget(session, &grant, budget.end()).await;
        // What a file keeps may be as old as what was refused.
        let grant = self.grant(session, From::Platform, budget).await?;
        if !wanted() {
            let text = "the caller went away while access to the runtime was renewed; nothing was executed";
            return Err(Error::new(ErrorKind::Cancelled, text).with_code("mas::platform::send_cancelled"));
        }
        let answer = self.exchange.ask(&asked.call(&grant), budget).await?;
        if is_refusal(&answer) {
            self.store.forget(session, &grant, budget.end()).await;
        }
        self.read(session, asked, &grant, answer, kind)
    }

    fn read(
        &self,
        session: &Arc<str>,
        asked: &At<'_>,
        grant: &Grant,
        answer: Whole,
        kind: ResponseKind,
    ) -> Result<Received> {
        if answer.is_success() {
            return Received::read(answer.body.into(), kind, session);
        }
        let limit = failure::message_limit(answer.status, &answer.body, &self.terms.limit_domain);
        Err(match limit.filter(|_| kind == ResponseKind::Message) {
            Some(seconds) => failure::over_limit(seconds),
            None => self.exchange.refused(&asked.call(grant), &answer),
        })
    }

    /// Access to a session, once a message may be sent.
    async fn grant(&self, session: &Arc<str>, from: From, budget: &Budget) -> Result<Arc<Grant>> {
        tokio::select! {
            biased;
            granted = self.store.get(session, self.look_up(session, from, budget)) => granted,
            // Somebody else's lookup, which may take longer than this call has.
            () = self.clock.sleep_until(budget.end()) => {
                let text = "the runtime of the session was not ready in time; nothing was sent, so send it again later, or allow it more time";
                Err(Error::new(ErrorKind::Unavailable, text).with_code(admission::NOT_READY).with_retry(Retry::Backoff))
            }
        }
    }

    /// Asks the platform for access, and again while the session gets ready, as long as that fits.
    async fn look_up(&self, session: &Arc<str>, from: From, budget: &Budget) -> Lookup<Grant> {
        if from == From::Anywhere
            && let Some((grant, ends)) = self.store.of_file(session)
        {
            return Lookup::Granted(grant, ends);
        }
        let mut before = None;
        loop {
            let access = match self.service.resolve(session, budget).await {
                Ok(access) => access,
                Err(error) if error.kind() == ErrorKind::Timeout => {
                    return Lookup::GaveUp(match before {
                        Some(interaction) => {
                            let why = "and the time for the call is spent";
                            admission::not_ready(&interaction, why, Retry::Backoff)
                        }
                        None => error,
                    });
                }
                Err(error) => return Lookup::Refused(error),
            };
            let pause = match decide(&access, self.terms.allow_http) {
                Admission::Go(grant) => {
                    self.store.to_file(session, access.ends, access.received, budget.end()).await;
                    return Lookup::Granted(grant, access.ends);
                }
                Admission::No(error) => return Lookup::Refused(error),
                Admission::Wait(pause) => pause,
            };
            let now = self.clock.now();
            if !budget.fits(pause, now) {
                let left = (budget.remaining(now).as_secs_f64() * 10.0).floor() / 10.0;
                let pause = pause.as_secs_f64();
                let why =
                    format!("and to ask again in {pause} s does not fit into the {left} s that are left");
                let retry = Retry::After(access.interaction.retry_after.unwrap_or_default());
                return Lookup::GaveUp(admission::not_ready(&access.interaction, &why, retry));
            }
            before = Some(access.interaction);
            self.clock.sleep_until(now.checked_add(pause).unwrap_or(now)).await;
        }
    }
}

impl fmt::Debug for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Platform").field("service", &self.service).finish_non_exhaustive()
    }
}

/// Where access may come from that is not kept in the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum From {
    /// The file of another run, else the platform.
    Anywhere,
    /// The platform alone.
    Platform,
}

/// A request to the runtime, wherever that is.
struct At<'a> {
    method: &'static str,
    path: &'a str,
    headers: &'a [(&'static str, String)],
    body: Option<&'a Bytes>,
}

impl<'a> At<'a> {
    fn call(&self, grant: &'a Grant) -> Call<'a>
    where
        Self: 'a,
    {
        let At { method, path, headers, body } = *self;
        Call { side: Side::Runtime, method, base: &grant.runtime, path, token: &grant.token, headers, body }
    }
}

fn is_refusal(answer: &Whole) -> bool {
    matches!(answer.status, 401 | 403)
}
