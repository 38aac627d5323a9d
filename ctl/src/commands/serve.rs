//! `serve`: agents that callers reach over the network, until it is told to end.

use std::{sync::Arc, time::Duration};

use mas_contracts::{CancelReason, Category};
use mas_core::{
    blueprint::{Blueprint, Resolved},
    clock::{RandomIds, TokioClock},
    diagnostic::Report,
    exposure::{Asked, Exposed, ask},
    registry::Registry,
    team::Team,
    wiring::{Connection, Hosting, connect, wire},
};

use crate::{
    cli::ServeArgs,
    console, conversation,
    exit::Exit,
    exposing, setup,
    stop::{Ending, Stop},
    surroundings::Surroundings,
};

/// Where an agent listens when nothing says where.
const DEFAULT: (&str, u16) = ("127.0.0.1", 8080);

/// How long what runs may take to end once no more is taken.
const DRAIN: Duration = Duration::from_secs(20);

/// Serves what the arguments say until a signal ends it.
pub(crate) async fn run(args: &ServeArgs, registry: &Registry, around: &Surroundings) -> Exit {
    let Resolved { mut blueprint, warnings } =
        match setup::blueprint(&args.manifest, &args.team, &args.routes, around) {
            Ok(resolved) => resolved,
            Err(report) => return setup::invalid(&report, false),
        };
    console::err_report(&warnings);
    conversation::choose_events(&mut blueprint, &args.events, registry);
    // Before anything listens, so that no signal is lost.
    let mut stop = Stop::new();
    let (team, exposed) = match open(args, &mut blueprint, registry, around).await {
        Ok(opened) => opened,
        Err(report) => return setup::invalid(&report, false),
    };
    console::err("Ready. Ctrl-C ends it.\n");
    let why = stop.requested().await;
    console::err("Ending: what runs may finish; a second signal ends it at once.\n");
    let drained = tokio::select! {
        biased;
        () = exposing::close(exposed, DRAIN) => true,
        _ = stop.requested() => false,
    };
    team.stop(CancelReason::Shutdown);
    conversation::close(&team).await;
    match (drained, why) {
        (false, _) => Exit::Interrupted,
        (true, Ending::Asked(_) | Ending::Unread) => Exit::Done,
    }
}

/// From a blueprint to sockets that listen.
async fn open(
    args: &ServeArgs,
    blueprint: &mut Blueprint,
    registry: &Registry,
    around: &Surroundings,
) -> Result<(Arc<Team>, Exposed), Report> {
    let asked = Asked {
        all: args.all,
        listen: args.listen.as_ref().map(|listen| (listen.host.as_str(), listen.port)),
        default: DEFAULT,
        protocol: registry.default_name(Category::AgentExpose).unwrap_or("a2a"),
    };
    ask(blueprint, &asked)?;
    let entry = blueprint.entry.value.clone();
    let hosting = if args.all { Hosting::Everything } else { Hosting::Agent(&entry) };
    exposing::meet_neighbours(blueprint, registry, around, hosting, true).await?;
    let wiring = wire(blueprint, registry, &around.environment, hosting)?;
    let plan = exposing::plan(&wiring, registry, around, true)?;
    let observers = conversation::observers(&args.events, registry, around).map_err(|error| {
        let problem = mas_core::diagnostic::Diagnostic::new(
            "mas::connect::failed",
            mas_core::diagnostic::Severity::Error,
            format!("the event log cannot be set up: {error:#}"),
        );
        [problem].into_iter().collect::<Report>()
    })?;
    let connection = Connection {
        registry,
        env: around.env.clone(),
        clock: Arc::new(TokioClock),
        ids: Arc::new(RandomIds),
        store: None,
        observers,
        base: &around.cwd,
    };
    let (team, warnings) = connect(&wiring, connection).await?;
    console::err_report(&warnings);
    let exposed = exposing::bind(plan, &team).await?;
    Ok((team, exposed))
}
