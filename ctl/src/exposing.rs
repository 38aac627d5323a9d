//! Listening, for the commands that do: planned before the team is connected, bound after it.

use std::{sync::Arc, time::Duration};

use mas_contracts::{BuildContext, Served};
use mas_core::{
    blueprint::Blueprint,
    diagnostic::Report,
    exposure::{Exposed, ExposurePlan, check_sockets, use_as_peers},
    registry::Registry,
    team::Team,
    wiring::{Hosting, Wiring, wire},
};

use crate::{console, conversation::build_context, surroundings::Surroundings};

/// Makes peers of the agents that another process serves at their socket already, and says so.
///
/// # Errors
/// What is wrong with the wiring or with what is to listen.
pub(crate) async fn meet_neighbours(
    blueprint: &mut Blueprint,
    registry: &Registry,
    around: &Surroundings,
    hosting: Hosting<'_>,
    foreground: bool,
) -> Result<(), Report> {
    let neighbours = {
        let wiring = wire(blueprint, registry, &around.environment, hosting)?;
        plan(&wiring, registry, around, foreground)?.neighbours().await
    };
    for agent in &neighbours {
        let url = blueprint.endpoints.iter().find(|row| *row.agent.value == **agent);
        let url = url.and_then(|row| row.url.as_ref()).map_or("its socket", |url| url.shown());
        console::err(&format!("`{agent}` is served at {url} already: it is used as a peer.\n"));
    }
    use_as_peers(blueprint, &neighbours);
    Ok(())
}

/// Plans what listens.
///
/// # Errors
/// Every problem at its place.
pub(crate) fn plan<'a>(
    wiring: &Wiring<'a>,
    registry: &Registry,
    around: &Surroundings,
    foreground: bool,
) -> Result<ExposurePlan<'a>, Report> {
    let build: BuildContext = build_context(around, &around.cwd);
    ExposurePlan::of(wiring, registry, &build, foreground)
}

/// Checks that what a wiring exposes beside a conversation can be bound together.
///
/// # Errors
/// Every problem at its place.
pub(crate) fn check(wiring: &Wiring<'_>, registry: &Registry, around: &Surroundings) -> Result<(), Report> {
    check_sockets(wiring, registry, &build_context(around, &around.cwd), false)
}

/// Binds what is planned and says where it listens, each with its address.
///
/// # Errors
/// What cannot be bound.
pub(crate) async fn bind(plan: ExposurePlan<'_>, team: &Arc<Team>) -> Result<Exposed, Report> {
    let exposed = plan.bind(team).await?;
    console::err(&exposed.served().iter().map(line).collect::<String>());
    Ok(exposed)
}

fn line(served: &Served) -> String {
    let Served { agent, what, url, socket } = served;
    format!("`{agent}` is served at {url} ({what} on {socket})\n")
}

/// Ends what listens within a limit, and says what did not end in order.
pub(crate) async fn close(exposed: Exposed, limit: Duration) {
    for error in exposed.close(limit).await {
        console::err(&format!("warning: a listener did not end in order: {error:#}\n"));
    }
}
