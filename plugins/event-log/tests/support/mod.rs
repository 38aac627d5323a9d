//! A build context for tests, on tokio's clock.

use std::{
    path::Path,
    sync::{Arc, Weak},
    time::{Duration, Instant},
};

use async_trait::async_trait;
use mas_contracts::{
    AgentHost, AgentProfile, BoxFuture, BuildContext, CallContext, CancelReason, Clock, Env, Error,
    EventStream, Ids, Outbound, Reply, Result, TurnKey, TurnRequest, TurnTicket,
};

static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);

#[derive(Debug)]
pub(crate) struct TokioClock;

impl Clock for TokioClock {
    fn now(&self) -> Instant {
        tokio::time::Instant::now().into_std()
    }

    fn unix_time(&self) -> Duration {
        Duration::from_millis(1_764_000_000_250)
    }

    fn sleep_until(&self, at: Instant) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep_until(at.into()))
    }
}

impl Ids for TokioClock {
    fn next_id(&self) -> Arc<str> {
        format!("run-{}", NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed)).into()
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

pub(crate) fn build_context(base: &Path, env: &[(&str, &str)]) -> BuildContext {
    BuildContext {
        host: Weak::<NoAgents>::new(),
        env: Env::new(env.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))),
        clock: Arc::new(TokioClock),
        ids: Arc::new(TokioClock),
        base: base.into(),
    }
}
