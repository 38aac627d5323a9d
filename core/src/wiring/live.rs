//! Whether the agents that routes lead to elsewhere are there, asked without running anything.

use std::{sync::Arc, time::Duration};

use futures_util::future::{Either, join_all, select};
use mas_contracts::{
    BuildContext, CallContext, Error, ErrorKind, NoEvents, Peer, Probe, Result, Scope, Tree, TreeLimits,
};

use super::{connect::comm_context, routes::PlannedRoute, wire::route_params};
use crate::{blueprint::EndpointBlueprint, diagnostic::Diagnostic, registry::Registry};

/// What an agent elsewhere said, or why nothing came.
#[derive(Debug)]
pub struct Probed<'a> {
    /// The first route that leads to it.
    pub route: PlannedRoute<'a>,
    /// The endpoint that it goes over.
    pub endpoint: &'a EndpointBlueprint,
    /// What a send would use, or why it would fail.
    pub outcome: Result<Probe>,
}

impl Probed<'_> {
    /// Why it cannot be used, at the endpoint in the YAML; none if it can.
    #[must_use]
    pub fn problem(&self) -> Option<Diagnostic> {
        let error = self.outcome.as_ref().err()?;
        let at = self.endpoint.url.as_ref().map_or(&self.endpoint.at, |url| &url.at);
        let message = format!("`{}` cannot be used: {error:#}", self.endpoint.agent.shown());
        Some(
            Diagnostic::error("mas::live::unusable", at, message)
                .label(&self.route.to.at, format!("`{}` delegates to it here", self.route.from)),
        )
    }
}

/// Asks every agent that routes reach over an endpoint, all at once and each within `limit`; each is asked once.
pub async fn probe_routes<'a>(
    routes: &[PlannedRoute<'a>],
    registry: &Registry,
    build: &BuildContext,
    limit: Duration,
) -> Vec<Probed<'a>> {
    let mut asked: Vec<(PlannedRoute<'a>, &'a EndpointBlueprint)> = Vec::new();
    for route in routes {
        if let Some(endpoint) = route.endpoint
            && !asked.iter().any(|(known, _)| known.to.value == route.to.value)
        {
            asked.push((route.clone(), endpoint));
        }
    }
    join_all(asked.into_iter().map(async |(route, endpoint)| {
        let outcome = probe(&route, registry, build, limit).await;
        Probed { route, endpoint, outcome }
    }))
    .await
}

async fn probe(
    route: &PlannedRoute<'_>,
    registry: &Registry,
    build: &BuildContext,
    limit: Duration,
) -> Result<Probe> {
    let comm = registry.build_agent_comm(&route.comm, &comm_context(route, build), &route_params(route))?;
    let now = build.clock.now();
    let end = now.checked_add(limit).unwrap_or(now);
    let cx = CallContext::new(root_scope(route.from, build), end);
    let peer = Peer { id: route.to.value.as_str().into() };
    let asked = async {
        let probe = comm.probe(&cx, &peer).await;
        // What it said counts, whatever becomes of the backend.
        let _ = comm.close().await;
        probe
    };
    match select(Box::pin(asked), build.clock.sleep_until(end)).await {
        Either::Left((outcome, _)) => outcome,
        Either::Right(_) => {
            let message = format!("it says nothing within {limit:?}");
            Err(Error::new(ErrorKind::Timeout, message).with_code("mas::live::silent"))
        }
    }
}

/// A turn that never runs: what a probe is asked on behalf of.
fn root_scope(agent: &str, build: &BuildContext) -> Arc<Scope> {
    Arc::new(Scope {
        session: build.ids.next_id(),
        turn: build.ids.next_id(),
        agent: agent.into(),
        depth: 0,
        parent: None,
        caller: None,
        sink: Arc::new(NoEvents),
        tree: Arc::new(Tree::new(TreeLimits::default(), build.clock.clone())),
    })
}
