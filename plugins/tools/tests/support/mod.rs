//! A build context and a call for tests: no agents, a clock that stands still.

use std::{
    sync::{Arc, Weak},
    time::{Duration, Instant},
};

use async_trait::async_trait;
use mas_contracts::{
    AgentHost, AgentProfile, BoxFuture, BuildContext, CallContext, CancelReason, Clock, Env, Error,
    EventStream, Ids, NoEvents, Outbound, Reply, Result, Scope, Tree, TreeLimits, TurnKey, TurnRequest,
    TurnTicket,
};
use mas_tools as _; // links the registrations

#[derive(Debug)]
struct Still;

impl Clock for Still {
    fn now(&self) -> Instant {
        Instant::now()
    }

    fn unix_time(&self) -> Duration {
        Duration::ZERO
    }

    fn sleep_until(&self, _at: Instant) -> BoxFuture<'static, ()> {
        Box::pin(std::future::ready(()))
    }
}

impl Ids for Still {
    fn next_id(&self) -> Arc<str> {
        "id".into()
    }
}

struct NoAgents;

#[async_trait]
impl AgentHost for NoAgents {
    async fn run(&self, _cx: &CallContext, _to: &str, _message: Outbound) -> Result<Reply> {
        Err(Error::internal("no agents here"))
    }

    fn submit(&self, _request: TurnRequest) -> Result<TurnTicket> {
        Err(Error::internal("no agents here"))
    }

    fn cancel(&self, _turn: &TurnKey, _reason: CancelReason) -> bool {
        false
    }

    fn subscribe(&self, _turn: &TurnKey, _after: u64) -> Option<EventStream> {
        None
    }

    fn describe(&self, _agent: &str) -> Option<AgentProfile> {
        None
    }

    fn agents(&self) -> Vec<Arc<str>> {
        Vec::new()
    }
}

/// A build context without agents.
pub(crate) fn build_context(base: &std::path::Path) -> BuildContext {
    BuildContext {
        host: Weak::<NoAgents>::new(),
        env: Env::default(),
        clock: Arc::new(Still),
        ids: Arc::new(Still),
        base: base.into(),
    }
}

/// A call of an agent's turn.
pub(crate) fn call_context() -> CallContext {
    let scope = Scope {
        session: "s".into(),
        turn: "t".into(),
        agent: "a".into(),
        depth: 0,
        parent: None,
        caller: None,
        sink: Arc::new(NoEvents),
        tree: Arc::new(Tree::new(TreeLimits::default(), Arc::new(Still))),
    };
    CallContext::new(Arc::new(scope), Instant::now() + Duration::from_secs(60))
}
