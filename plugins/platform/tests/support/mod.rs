//! The stand-in behind a transport without sockets, so that every wait is on a paused clock.

#![allow(dead_code, reason = "each test uses a part of it")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "functions that tests share")]

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use mas_comm_kit::{
    Secret,
    access::Expiry,
    http::{Body, Request, Response, Transport},
    phases::Phases,
};
use mas_contracts::{Clock, Delivery, Error, ErrorKind, Result};
use mas_platform::{Bearer, Caching, Connection, Letter, Platform, Received, Terms};
use mas_platform_stand_in::{Access, Asked, Half, Manner, Script, StandIn, Turn};
use mas_testkit::{SeqIds, TokioClock};

pub(crate) const TOKEN: &str = "user-token-1234";
const PLATFORM: &str = "http://platform.localhost";
const RUNTIME: &str = "http://runtime.localhost";

/// The end of the path that access is asked for at.
pub(crate) const RESOLVE: &str = "/resolve-runtime-access/";
/// The end of the path that messages go to.
pub(crate) const SEND: &str = "/message:send";

/// Hands requests to the stand-in.
pub(crate) struct InMemory {
    stand_in: StandIn,
    clock: Arc<dyn Clock>,
}

async fn pause(clock: &dyn Clock, time: Duration) {
    clock.sleep_until(clock.now() + time).await;
}

#[async_trait]
impl Transport for InMemory {
    async fn send(&self, request: &Request) -> Result<Response> {
        let (half, path) = match (request.url.strip_prefix(PLATFORM), request.url.strip_prefix(RUNTIME)) {
            (Some(path), _) => (Half::Platform, path),
            (_, Some(path)) => (Half::Runtime, path),
            _ => {
                let error =
                    Error::new(ErrorKind::Unavailable, "no connection").with_code("mas::http::connect");
                return Err(error.with_delivery(Delivery::NotSent));
            }
        };
        let headers = request.headers.iter();
        let asked = Asked {
            method: request.method.clone(),
            path: path.to_owned(),
            headers: headers.map(|(name, value)| (name.clone(), value.reveal().to_owned())).collect(),
            body: request.body.clone().unwrap_or_default(),
        };
        let answer = self.stand_in.answer(half, &asked);
        pause(&*self.clock, answer.delay).await;
        if answer.manner == Manner::Silent {
            std::future::pending::<()>().await;
        }
        let headers = vec![("content-type".to_owned(), answer.content_type.to_owned())];
        let body =
            Written { body: answer.body, manner: answer.manner, clock: self.clock.clone(), begun: false };
        Ok(Response::new(answer.status, headers, Box::new(body)))
    }
}

struct Written {
    body: Bytes,
    manner: Manner,
    clock: Arc<dyn Clock>,
    begun: bool,
}

#[async_trait]
impl Body for Written {
    async fn chunk(&mut self) -> Result<Option<Bytes>> {
        match self.manner {
            Manner::Cut => {
                let error =
                    Error::new(ErrorKind::Unavailable, "the answer was cut off").with_code("mas::http::cut");
                Err(error.with_delivery(Delivery::Unknown))
            }
            _ if self.body.is_empty() => Ok(None),
            Manner::Drip(milliseconds) => {
                if self.begun {
                    pause(&*self.clock, Duration::from_millis(milliseconds)).await;
                }
                self.begun = true;
                Ok(Some(self.body.split_to(1)))
            }
            Manner::Whole | Manner::Silent => Ok(Some(std::mem::take(&mut self.body))),
        }
    }
}

/// A platform, and this side of it.
pub(crate) struct Bench {
    pub(crate) stand_in: StandIn,
    pub(crate) platform: Platform,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) session: Arc<str>,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self::with(Terms::default(), |_| Caching::Memory(Expiry::default()))
    }

    pub(crate) fn scripted(
        access: impl IntoIterator<Item = Access>,
        turns: impl IntoIterator<Item = Turn>,
    ) -> Self {
        let bench = Self::new();
        bench.stand_in.script(Script::new(access), Script::new(turns));
        bench
    }

    pub(crate) fn with(terms: Terms, caching: impl FnOnce(&Arc<dyn Clock>) -> Caching) -> Self {
        let clock = TokioClock::shared();
        let stand_in = StandIn::new(TOKEN, RUNTIME, clock.clone());
        let platform = Self::another(&stand_in, &clock, terms, caching(&clock));
        Self { stand_in, platform, clock, session: StandIn::SESSION.into() }
    }

    /// Another client of the same stand-in.
    pub(crate) fn another(
        stand_in: &StandIn,
        clock: &Arc<dyn Clock>,
        terms: Terms,
        caching: Caching,
    ) -> Platform {
        let connection = Connection {
            url: format!("{PLATFORM}/"),
            bearer: Bearer::Token(Secret::new(TOKEN)),
            transport: Arc::new(InMemory { stand_in: stand_in.clone(), clock: clock.clone() }),
            clock: clock.clone(),
            ids: Arc::new(SeqIds::default()),
            terms,
            caching,
        };
        Platform::new(connection).unwrap()
    }

    pub(crate) async fn send(&self, letter: &Letter) -> Result<Received> {
        self.platform.send(&self.session, letter, None, &self.platform.budget(None)).await
    }

    /// A send within so many seconds, and how many it took.
    pub(crate) async fn send_within(&self, letter: &Letter, seconds: f64) -> (Result<Received>, f64) {
        let began = self.clock.now();
        let budget = self.platform.budget(Some(Phases::from_secs(seconds).unwrap()));
        let sent = self.platform.send(&self.session, letter, None, &budget).await;
        (sent, (self.clock.now() - began).as_secs_f64())
    }

    pub(crate) async fn fails(&self, letter: &Letter) -> Error {
        match self.send(letter).await {
            Ok(received) => panic!("an answer instead of an error: {received:?}"),
            Err(error) => {
                assert!(error.context().any(|(key, _)| key == "message_id"), "no message id: {error:?}");
                error
            }
        }
    }

    pub(crate) fn resolves(&self) -> usize {
        self.stand_in.calls_of(RESOLVE).len()
    }

    pub(crate) fn posts(&self) -> usize {
        self.stand_in.calls_of(SEND).len()
    }

    pub(crate) async fn pass(&self, seconds: u64) {
        pause(&*self.clock, Duration::from_secs(seconds)).await;
    }
}

pub(crate) fn hello() -> Letter {
    Letter::text("hello")
}
