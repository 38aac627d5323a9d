//! Each layer, and all of them together, keep the rules of `agent_comm`.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use mas_contracts::{AgentCommContract, AgentHost};
use mas_core::wiring::layers::{BreakerSettings, Layers, RateSettings, RetrySettings, wrap};
use mas_local::Local;
use mas_testkit::{ScriptedHost, comm::CommHarness};

/// The in-process backend in layers.
struct Wrapped(Layers);

#[async_trait]
impl CommHarness for Wrapped {
    fn tells_peers(&self, _comm: &dyn AgentCommContract) -> bool {
        true
    }

    async fn connect(&self, host: Arc<ScriptedHost>) -> Arc<dyn AgentCommContract> {
        let host: Arc<dyn AgentHost> = host;
        wrap(&self.0, Arc::new(Local::new(Arc::downgrade(&host))))
    }
}

fn all() -> Layers {
    Layers {
        retry: Some(RetrySettings::default()),
        tracing: true,
        circuit_breaker: Some(BreakerSettings::default()),
        rate_limit: Some(RateSettings { requests_per_minute: 6_000.0, burst: 10 }),
        timeout: Some(Duration::from_secs(10)),
    }
}

mod retry {
    use super::*;
    mas_testkit::comm_conformance!(Wrapped(Layers { retry: all().retry, ..Layers::default() }));
}

mod tracing {
    use super::*;
    mas_testkit::comm_conformance!(Wrapped(Layers { tracing: true, ..Layers::default() }));
}

mod circuit_breaker {
    use super::*;
    mas_testkit::comm_conformance!(Wrapped(Layers {
        circuit_breaker: all().circuit_breaker,
        ..Layers::default()
    }));
}

mod rate_limit {
    use super::*;
    mas_testkit::comm_conformance!(Wrapped(Layers { rate_limit: all().rate_limit, ..Layers::default() }));
}

mod timeout {
    use super::*;
    mas_testkit::comm_conformance!(Wrapped(Layers { timeout: all().timeout, ..Layers::default() }));
}

/// A limit that comes before the deadline of every rule that waits for one.
mod short_timeout {
    use super::*;

    fn short() -> Wrapped {
        Wrapped(Layers { timeout: Some(Duration::from_millis(299)), ..Layers::default() })
    }

    #[test]
    fn a_dropped_send_is_safe() {
        mas_testkit::comm::check(&short(), mas_testkit::comm::a_dropped_send_is_safe);
    }

    #[test]
    fn concurrent_sends_stay_apart() {
        mas_testkit::comm::check(&short(), mas_testkit::comm::concurrent_sends_stay_apart);
    }
}

mod together {
    use super::*;
    mas_testkit::comm_conformance!(Wrapped(all()));
}
