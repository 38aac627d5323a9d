//! A live team: agents with their backends, sessions, and the host that they are run by.

mod host;

use std::{
    collections::HashMap,
    panic::AssertUnwindSafe,
    pin::pin,
    sync::{Arc, OnceLock, Weak},
    time::Duration,
};

use futures_util::{
    FutureExt,
    future::{join, join_all},
};
use mas_contracts::{
    AgentHost, CallContext, CancelReason, Clock, Delivery, Error, ErrorKind, EventSink, Ids,
    ObservabilityContract, Reply, Result, Scope, SessionKey, StoreContract, Thread, Tree, TreeLimits,
    TurnKey, TurnRequest,
};

use crate::{
    session::{Admission, Admitted, Feed, Session, SessionTable},
    turn::{Agent, Recorder, Stopped, bounded, drive, stop_error},
};

/// How long a root turn may take to end by itself after a cancel; more than a backend is given below it.
const ROOT_GRACE: Duration = Duration::from_millis(150);

/// Where a deadline ends that no clock can hold.
const FAR: Duration = Duration::from_secs(60 * 60 * 24 * 365);

/// The limits of a whole run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TeamLimits {
    /// What a root turn and everything below it may spend.
    pub tree: TreeLimits,
    /// How long a root turn may take; default 900 s.
    pub run: Duration,
    /// How many sessions are kept in memory; beyond it the one that was unused for longest goes. Default 20,000.
    pub sessions: usize,
}

impl Default for TeamLimits {
    fn default() -> Self {
        Self { tree: TreeLimits::default(), run: Duration::from_secs(900), sessions: 20_000 }
    }
}

/// What a team is made of, beside its agents.
pub struct TeamParts {
    /// The limits of a run.
    pub limits: TeamLimits,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// Where ids come from.
    pub ids: Arc<dyn Ids>,
    /// Who receives events.
    pub observers: Vec<Arc<dyn ObservabilityContract>>,
    /// Where sessions are kept beyond the process, if anywhere.
    pub store: Option<Arc<dyn StoreContract>>,
    /// The hash of the blueprint.
    pub blueprint: Arc<str>,
}

/// A live team.
pub struct Team {
    this: Weak<Team>,
    limits: TeamLimits,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn Ids>,
    observers: Arc<[Arc<dyn ObservabilityContract>]>,
    store: Option<Arc<dyn StoreContract>>,
    blueprint: Arc<str>,
    agents: OnceLock<Agents>,
    sessions: SessionTable,
}

struct Agents {
    entry: Arc<str>,
    order: Vec<Arc<str>>,
    by_id: HashMap<Arc<str>, Arc<Agent>>,
}

/// A finished root turn.
#[derive(Debug)]
pub struct TurnOutcome {
    /// Its name.
    pub key: TurnKey,
    /// Its reply.
    pub reply: Result<Reply>,
}

/// A root turn that has been let in.
struct Rooted {
    key: TurnKey,
    agent: Arc<Agent>,
    cx: CallContext,
    admission: Admission,
    session: Arc<Session>,
    feed: Arc<Feed>,
    answers: Option<Arc<str>>,
}

impl Team {
    /// A team without agents yet: backends are built against it, then [`Team::enlist`] completes it.
    #[must_use]
    pub fn new(parts: TeamParts) -> Arc<Self> {
        Arc::new_cyclic(|this| Self {
            this: this.clone(),
            sessions: SessionTable::new(parts.limits.sessions),
            limits: parts.limits,
            clock: parts.clock,
            ids: parts.ids,
            observers: parts.observers.into(),
            store: parts.store,
            blueprint: parts.blueprint,
            agents: OnceLock::new(),
        })
    }

    /// Gives the team its agents, the entry agent first.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] without agents, [`ErrorKind::Conflict`] when it has agents already.
    pub fn enlist(&self, agents: Vec<Agent>) -> Result<()> {
        let order: Vec<Arc<str>> = agents.iter().map(|agent| agent.profile.id.clone()).collect();
        let entry = order.first().cloned().ok_or_else(|| Error::invalid("a team needs an agent"))?;
        let by_id = agents.into_iter().map(|agent| (agent.profile.id.clone(), Arc::new(agent))).collect();
        self.agents
            .set(Agents { entry, order, by_id })
            .map_err(|_| Error::new(ErrorKind::Conflict, "the team has its agents already"))
    }

    /// The team as backends see it.
    #[must_use]
    pub fn host(&self) -> Weak<dyn AgentHost> {
        self.this.clone()
    }

    /// The team's clock.
    #[must_use]
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// Runs a root turn, driven by the caller; its events go to `tap` too. Dropped, the turn stops and the
    /// session goes on with the next one.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] for an unknown agent, [`ErrorKind::Limit`] when the session's queue is full. How
    /// the turn itself went is in the outcome.
    pub async fn turn(&self, request: TurnRequest, tap: Option<Arc<dyn EventSink>>) -> Result<TurnOutcome> {
        let mut rooted = self.root(request, tap, false)?;
        let reply = self.run_root(&mut rooted).await;
        Ok(TurnOutcome { key: rooted.key, reply })
    }

    /// A session of this team, if it is in memory.
    #[must_use]
    pub fn session(&self, key: &SessionKey) -> Option<Arc<Session>> {
        self.sessions.get(key)
    }

    /// How many sessions are in memory.
    #[must_use]
    pub fn session_count(&self) -> usize {
        self.sessions.all().len()
    }

    /// Forgets a root session of `agent` that nobody owns, and every conversation below it, here and in the store.
    /// A turn that runs in it goes on, and is forgotten too. The next turn of that id begins anew.
    ///
    /// # Errors
    /// What the store could not forget; the session is as it was in memory then.
    pub async fn forget(&self, agent: &str, session: &str) -> Result<()> {
        let key = SessionKey { owner: None, agent: agent.into(), session: Thread::root_key(session.into()) };
        if let Some(store) = &self.store {
            store.forget(&key).await?;
        }
        self.sessions.remove_below(&key);
        Ok(())
    }

    /// Stops every turn that runs or waits.
    pub fn stop(&self, reason: CancelReason) {
        for session in self.sessions.all() {
            session.cancel_all(reason);
        }
    }

    /// Releases what tools and backends hold, all at once. To be called when no turn runs any more.
    pub async fn close(&self) {
        join(self.close_tools(), self.close_comms()).await;
    }

    /// Releases what tools hold, such as child processes. To be called when no turn runs any more.
    pub async fn close_tools(&self) {
        let Ok(agents) = self.agents() else { return };
        join_all(agents.by_id.values().flat_map(|agent| agent.toolbox.sources()).map(|tools| tools.close()))
            .await;
    }

    /// Releases what backends hold, once they have said what is still to be said, such as that a task is given up. To
    /// be called when no turn runs any more.
    pub async fn close_comms(&self) {
        let Ok(agents) = self.agents() else { return };
        let routes = agents.by_id.values().flat_map(|agent| agent.routes.values());
        for error in
            join_all(routes.map(|route| route.comm.close())).await.into_iter().filter_map(Result::err)
        {
            tracing::warn!("a backend is not closed in order: {error:#}");
        }
    }

    /// Who receives events.
    #[must_use]
    pub fn observers(&self) -> &[Arc<dyn ObservabilityContract>] {
        &self.observers
    }

    /// The team, for work that outlives the call that begins it.
    fn living(&self) -> Result<Arc<Self>> {
        self.this.upgrade().ok_or_else(|| Error::new(ErrorKind::Unavailable, "the team is gone"))
    }

    fn agents(&self) -> Result<&Agents> {
        self.agents.get().ok_or_else(|| Error::new(ErrorKind::Unavailable, "the team is not connected yet"))
    }

    fn agent(&self, id: &str) -> Result<&Arc<Agent>> {
        let agents = self.agents()?;
        agents.by_id.get(id).ok_or_else(|| {
            let names: Vec<&str> = agents.order.iter().map(|name| &**name).collect();
            Error::new(ErrorKind::NotFound, format!("no agent `{id}` here; there are: {}", names.join(", ")))
                .with_code("mas::host::unknown_agent")
        })
    }

    /// Whether a turn that comes from other agents' turns may run: loops and depth count across processes.
    fn permit(&self, ancestry: &[Arc<str>], depth: u16, agent: &Arc<str>) -> Result<()> {
        let path = || ancestry.iter().chain([agent]).map(|id| &**id).collect::<Vec<_>>().join(" -> ");
        if ancestry.contains(agent) {
            let path = path();
            return Err(Error::new(ErrorKind::Loop, format!("delegation would loop: {path}"))
                .with_code("mas::delegation::loop")
                .with_delivery(Delivery::Rejected)
                .with("path", path));
        }
        let limit = self.limits.tree.depth;
        if depth > limit {
            let path = path();
            return Err(Error::new(
                ErrorKind::Limit,
                format!("delegation is deeper than {limit} levels: {path}"),
            )
            .with_code("mas::delegation::depth")
            .with_delivery(Delivery::Rejected)
            .with("path", path));
        }
        Ok(())
    }

    fn root(&self, request: TurnRequest, tap: Option<Arc<dyn EventSink>>, keep: bool) -> Result<Rooted> {
        let agent = match &request.agent {
            Some(id) => self.agent(id)?,
            None => self.agent(&self.agents()?.entry)?,
        };
        let depth = u16::try_from(request.ancestry.len()).unwrap_or(u16::MAX).max(request.depth);
        self.permit(&request.ancestry, depth, &agent.profile.id)?;
        let new_id = || self.ids.next_id();
        let named = request.session.unwrap_or_else(new_id);
        let session_id = Thread::root_key(named.clone());
        // Only an id of the caller's can come again.
        let remember = (request.turn.is_some() && !request.unrepeated) || keep;
        let turn = request.turn.unwrap_or_else(new_id);
        let feed = Feed::new(self.observers.clone(), tap, keep);
        let tree = Tree::new(self.limits.tree, self.clock.clone());
        let tree = Arc::new(
            tree.owned_by(request.owner.clone()).below(request.ancestry).traced(request.traceparent),
        );
        let scope = Arc::new(Scope {
            session: session_id.clone(),
            turn: turn.clone(),
            agent: agent.profile.id.clone(),
            depth,
            parent: None,
            caller: None,
            sink: feed.clone(),
            tree: tree.clone(),
        });
        let now = self.clock.now();
        let limit = request.timeout.map_or(self.limits.run, |limit| limit.min(self.limits.run));
        let cx = CallContext::new(scope, now.checked_add(limit).unwrap_or_else(|| now + FAR));
        let key =
            SessionKey { owner: request.owner.clone(), agent: agent.profile.id.clone(), session: session_id };
        let turn_key =
            TurnKey { owner: request.owner, agent: key.agent.clone(), session: named, turn: turn.clone() };
        let session = self.sessions.open(key);
        let admission = session.admit(turn, request.parts, &tree, Some(&feed), remember)?;
        Ok(Rooted {
            key: turn_key,
            agent: agent.clone(),
            cx,
            admission,
            session,
            feed,
            answers: request.task,
        })
    }

    /// Runs a root turn; what it is made of stays with the caller, so that no future holds it twice.
    async fn run_root(&self, rooted: &mut Rooted) -> Result<Reply> {
        let Rooted { agent, cx, admission, session, feed, answers, .. } = rooted;
        let reply = match admission {
            Admission::Known(slot) => slot.get().await,
            Admission::New(admitted) => {
                // Pinned where it lies: a turn's state is too large to be moved about.
                let work = pin!(self.run_admitted(agent, cx, session, admitted, answers.as_deref()));
                let mut work = bounded(cx, Some(cx.deadline()), ROOT_GRACE, work);
                match (&mut work).await {
                    Ok(reply) => reply,
                    // At the deadline the tree is told, so that peers are too and every step ends in order.
                    Err(Stopped::Deadline) => {
                        cx.cancel().cancel(CancelReason::Deadline);
                        work.extend(cx.clock().now().checked_add(ROOT_GRACE));
                        work.await.unwrap_or_else(|stopped| Err(stop_error(stopped)))
                    }
                    Err(stopped) => Err(stop_error(stopped)),
                }
            }
        };
        if let Admission::New(admitted) = admission {
            // Nothing is left yet where the turn panicked or was stopped from outside.
            admitted.leave(&reply);
        }
        feed.close();
        reply
    }

    /// Runs a turn of any depth; a panic in it is an error of it.
    async fn run_admitted(
        &self,
        agent: &Agent,
        cx: &CallContext,
        session: &Session,
        admitted: &mut Admitted,
        answers: Option<&str>,
    ) -> Result<Reply> {
        let recorder = match &self.store {
            // What is kept for one call only is kept nowhere else.
            Some(_) if Thread::is_once_key(&session.key().session) => None,
            None => None,
            Some(store) => {
                session.restore(&**store).await?;
                let (store, blueprint) = (store.clone(), self.blueprint.clone());
                Some(Recorder { store, session: session.key().clone(), blueprint })
            }
        };
        let turn = pin!(drive(agent, cx, admitted, answers, recorder.as_ref()));
        AssertUnwindSafe(turn).catch_unwind().await.unwrap_or_else(|_| {
            Err(Error::internal(format!("agent `{}` panicked", agent.profile.id))
                .with_code("mas::turn::panic")
                .with_delivery(Delivery::Unknown))
        })
    }
}
