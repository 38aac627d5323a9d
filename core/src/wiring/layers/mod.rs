//! Layers: what may be put around any `agent_comm` backend, chosen per endpoint.
//!
//! ```text
//!   send ─▶ retry ─▶ tracing ─▶ circuit_breaker ─▶ rate_limit ─▶ timeout ─▶ agent_comm
//!           again?    a span      asked at all?      its turn?     cut off
//! ```
//!
//! The order is this one, whatever the order in the YAML, because each layer relies on it:
//!
//! - `retry` is outermost, so that everything below it holds for each attempt. It never waits for an open circuit.
//! - `tracing` sees each attempt, those too that the layers below it refuse.
//! - `circuit_breaker` is before `rate_limit`, so that a send that is refused takes nobody's turn.
//! - `timeout` is innermost: it bounds the peer's work, not the wait for its turn.
//!
//! Layers are around `send` alone. Capability, attach, cancel, probe and close are the backend's own. What layers
//! remember (failures, turns) is one for each endpoint, whoever sends over it.
//!
//! ```yaml
//! endpoints:
//!   fares:
//!     protocol: a2a
//!     url: https://fares.example
//!     layers:
//!       retry: {attempts: 3, backoff: [0.2, 5]}
//!       tracing: true
//!       circuit_breaker: {failure_threshold: 5, reset_timeout: 30}
//!       rate_limit: {requests_per_minute: 60, burst: 1}
//!       timeout: 30
//! ```

mod breaker;
mod rate;
mod retry;
mod settings;
mod spans;
mod timeout;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use async_trait::async_trait;
use mas_contracts::{
    AgentCommContract, CallContext, Capability, Delivery, Error, ErrorKind, Outbound, Peer, Probe, Reply,
    Result, Retry, Stop, TaskRef,
};

pub use settings::{BreakerSettings, Layers, RateSettings, RetrySettings};

use crate::turn::{Stopped, bounded};

/// The code of a send that an open circuit refuses.
const OPEN: &str = "mas::layers::circuit_open";

/// Something around each send.
#[async_trait]
trait Layer: Send + Sync {
    /// Carries the send on to what is below, or does not.
    async fn send(&self, cx: &CallContext, to: &Peer, message: Outbound, next: Next<'_>) -> Result<Reply>;
}

/// What is below a layer.
#[derive(Clone, Copy)]
struct Next<'a> {
    layers: &'a [Box<dyn Layer>],
    comm: &'a dyn AgentCommContract,
    closed: &'a AtomicBool,
    /// Which attempt this is, from 1.
    attempt: u32,
}

impl Next<'_> {
    async fn send(self, cx: &CallContext, to: &Peer, message: Outbound) -> Result<Reply> {
        match self.layers.split_first() {
            Some((layer, layers)) => layer.send(cx, to, message, Next { layers, ..self }).await,
            None => self.comm.send(cx, to, message).await,
        }
    }

    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }
}

/// A backend with layers around it.
struct Layered {
    layers: Vec<Box<dyn Layer>>,
    comm: Arc<dyn AgentCommContract>,
    closed: AtomicBool,
}

/// Puts layers around a backend. Without any it is the very backend that is given back.
#[must_use]
pub fn wrap(layers: &Layers, comm: Arc<dyn AgentCommContract>) -> Arc<dyn AgentCommContract> {
    // The one place that knows the order.
    let around: [Option<Box<dyn Layer>>; 5] = [
        layers.retry.map(|settings| Box::new(retry::Again::new(settings)) as _),
        layers.tracing.then(|| Box::new(spans::Spans) as _),
        layers.circuit_breaker.map(|settings| Box::new(breaker::Breaker::new(settings)) as _),
        layers.rate_limit.map(|settings| Box::new(rate::Turns::new(settings)) as _),
        layers.timeout.map(|limit| Box::new(timeout::Limit(limit)) as _),
    ];
    let layers: Vec<_> = around.into_iter().flatten().collect();
    if layers.is_empty() {
        return comm;
    }
    Arc::new(Layered { layers, comm, closed: AtomicBool::new(false) })
}

#[async_trait]
impl AgentCommContract for Layered {
    fn capability(&self) -> Capability {
        self.comm.capability()
    }

    async fn send(&self, cx: &CallContext, to: &Peer, message: Outbound) -> Result<Reply> {
        // Said here, so that no layer takes it for a peer that may come back.
        if self.closed.load(Ordering::Acquire) {
            let error = Error::new(ErrorKind::Unavailable, format!("the way to `{}` is closed", to.id));
            return Err(error.with_code("mas::layers::closed").with_retry(Retry::Never));
        }
        let (layers, comm, closed) = (&*self.layers, &*self.comm, &self.closed);
        Next { layers, comm, closed, attempt: 1 }.send(cx, to, message).await
    }

    async fn attach(&self, cx: &CallContext, task: &TaskRef) -> Result<Reply> {
        self.comm.attach(cx, task).await
    }

    async fn cancel(&self, cx: &CallContext, task: &TaskRef, stop: Stop) -> Result<()> {
        self.comm.cancel(cx, task, stop).await
    }

    async fn probe(&self, cx: &CallContext, to: &Peer) -> Result<Probe> {
        self.comm.probe(cx, to).await
    }

    async fn close(&self) -> Result<()> {
        self.closed.store(true, Ordering::Release);
        self.comm.close().await
    }
}

/// Waits until `at`, which is before the deadline; a cancel of the tree ends the wait, and the send with it.
async fn wait(cx: &CallContext, at: Instant, delivery: Delivery) -> Result<()> {
    match bounded(cx, None, Duration::ZERO, cx.clock().sleep_until(at)).await {
        Ok(()) | Err(Stopped::Deadline) => Ok(()),
        Err(Stopped::Cancelled(reason)) => Err(CallContext::stopped(reason).with_delivery(delivery)),
    }
}

/// A time for a person: `30 s`, `0.2 s`.
fn shown(time: Duration) -> String {
    let millis = (time.as_secs_f64() * 1000.0).round() / 1000.0;
    format!("{millis} s")
}
