//! The backend `a2a`: delegates to agents elsewhere.
//!
//! ```text
//!   send ─▶ contact: card, kept while fresh ─▶ interface ─▶ line ─┐
//!        └▶ TurnEngine of comm-kit: the calls of the turn ────────┴▶ the agent
//! ```
//!
//! One backend is one agent: that of the endpoint's `url`. Nothing is asked before the first send, and what was found
//! then is used by every further one.

mod contact;
mod params;
#[cfg(test)]
mod tests;

use std::{
    borrow::Cow,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use mas_comm_kit::{ContextIds, turn::TurnEngine};
use mas_contracts::{
    AgentCommContract, Build, BuildContext, Builder, CallContext, Capability, Delivery, Descriptor, Error,
    ErrorKind, Outbound, Peer, Probe, Reply, Result, Stop, TaskRef, inventory, schema_of,
};
use serde_json::Value;

use crate::params::Params;
use contact::Finder;
pub(crate) use params::Client;

inventory::submit! {
    Descriptor {
        name: Cow::Borrowed("a2a"),
        aliases: Cow::Borrowed(&[]),
        origin: Cow::Borrowed(env!("CARGO_PKG_NAME")),
        version: Cow::Borrowed(env!("CARGO_PKG_VERSION")),
        summary: Cow::Borrowed("Delegates to agents elsewhere over A2A: v1.0 and v0.3, by JSON-RPC, HTTP+JSON and gRPC."),
        example: Cow::Borrowed(
            "fares: {protocol: a2a, usage: use, url: \"https://fares.example\", headers: {Authorization: \"env:FARES_AUTH\"}, timeout: [5, 300]}\n",
        ),
        schema: schema_of::<Params>,
        check: params::check,
        builder: Builder::AgentComm(Build::Linked(|cx, params| Ok(Arc::new(Comm::new(cx, params)?)))),
    }
}

/// Delegates to the agent of one endpoint.
struct Comm {
    finder: Finder,
    engine: TurnEngine,
    limit: Duration,
    cancel: Duration,
    stream: bool,
    closed: AtomicBool,
}

impl Comm {
    fn new(cx: &BuildContext, params: &Value) -> Result<Self> {
        let terms = params::Terms::read(params)?;
        let client = terms.client();
        let policy = client.policy();
        let (mode, secrets) = client.contexts();
        let contexts = ContextIds::from_env(mode, &cx.env, &secrets)?;
        Ok(Self {
            finder: Finder::new(&terms, cx)?,
            limit: terms.limit(),
            cancel: policy.cancel_timeout,
            stream: policy.stream,
            engine: TurnEngine::new(policy, Arc::new(contexts)),
            closed: AtomicBool::new(false),
        })
    }

    /// The agent, with the time that a call may take at most.
    async fn reach(&self, cx: &CallContext, limit: Duration) -> Result<(Arc<contact::Contact>, CallContext)> {
        if self.closed.load(Ordering::Acquire) {
            let error = Error::new(ErrorKind::Unavailable, "the way to the agent is closed");
            return Err(error.with_code("mas::a2a::closed"));
        }
        let cx = cx.clone().within(cx.clock().now(), limit);
        let contact = self.finder.contact(&cx).await?;
        Ok((contact, cx))
    }

    /// Has an agent that could not be reached looked for anew by the next call.
    fn learn<T>(&self, cx: &CallContext, result: Result<T>) -> Result<T> {
        if result.as_ref().is_err_and(|error| error.delivery() == Delivery::NotSent) {
            self.finder.doubt(cx.clock());
        }
        result
    }
}

#[async_trait]
impl AgentCommContract for Comm {
    fn capability(&self) -> Capability {
        Capability { stream: self.stream, attach: true, cancel: true, dedupes: false }
    }

    async fn send(&self, cx: &CallContext, to: &Peer, message: Outbound) -> Result<Reply> {
        let (contact, cx) = self.reach(cx, self.limit).await?;
        self.learn(&cx, self.engine.run(&contact.upstream, &cx, to, message).await)
    }

    async fn attach(&self, cx: &CallContext, task: &TaskRef) -> Result<Reply> {
        let (contact, cx) = self.reach(cx, self.limit).await?;
        self.learn(&cx, self.engine.attach(&contact.upstream, &cx, task).await)
    }

    async fn cancel(&self, cx: &CallContext, task: &TaskRef, stop: Stop) -> Result<()> {
        if stop == Stop::Leave {
            return Ok(());
        }
        let (contact, cx) = self.reach(cx, self.cancel).await?;
        let late = || {
            let what = format!("`{}` did not confirm in time that its task ends", task.peer);
            Error::new(ErrorKind::Timeout, what)
                .with_code("mas::a2a::cancel")
                .with_delivery(Delivery::Unknown)
        };
        let done = tokio::select! {
            biased;
            done = contact.upstream.cancel(&task.task) => done,
            () = cx.clock().sleep_until(cx.deadline()) => Err(late()),
        };
        match self.learn(&cx, done) {
            Ok(_) => Ok(()),
            // It is over already.
            Err(error) if error.kind() == ErrorKind::Conflict => Ok(()),
            Err(error) => Err(error),
        }
    }

    async fn probe(&self, cx: &CallContext, _to: &Peer) -> Result<Probe> {
        let (contact, _) = self.reach(cx, self.limit).await?;
        let said = |name: &str| contact.card.get(name).and_then(Value::as_str).map(Arc::from);
        let interface = contact.interface();
        let mut route: Vec<(Cow<'static, str>, Arc<str>)> = Vec::new();
        route.extend(contact.place().map(|place| ("card".into(), place.into())));
        route.push(("interface".into(), contact.address.as_str().into()));
        route.push(("binding".into(), interface.binding.as_str().into()));
        route.push(("protocol".into(), interface.version.as_str().into()));
        route.push(("because".into(), contact.because.as_str().into()));
        let stream = self.stream && contact.upstream.streams();
        Ok(Probe { name: said("name"), version: said("version"), stream, route })
    }

    async fn close(&self) -> Result<()> {
        self.closed.store(true, Ordering::Release);
        self.engine.close().await;
        self.finder.forget();
        Ok(())
    }
}
