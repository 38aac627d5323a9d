//! From arguments to a live team, and a conversation with it.

use std::{path::Path, sync::Arc, time::Duration};

use mas_contracts::{BuildContext, Category, ObservabilityContract};
use mas_core::{
    blueprint::{Blueprint, Resolved},
    clock::{RandomIds, TokioClock},
    manifest::Selection,
    registry::Registry,
    team::Team,
    wiring::{Connection, Hosting, connect, wire},
};
use serde_json::{Map, Value};

use crate::{
    built_ins,
    cli::{EventArgs, EventsFormat, RunArgs},
    console,
    exit::Exit,
    exposing,
    report::RunReport,
    setup,
    stop::Stop,
    surroundings::Surroundings,
    turns::Turns,
};

/// How long callers from outside may take to finish once the conversation is over.
const DRAIN: Duration = Duration::from_secs(2);

/// How long tools may take to end.
const CLOSE_GRACE: Duration = Duration::from_millis(150);

/// How long agents elsewhere may take to hear that their tasks are given up. Without such tasks nobody waits.
const FAREWELL: Duration = Duration::from_secs(2);

/// What differs between `run-mas` and `chat`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    /// What this process hosts.
    pub(crate) hosting: Hosting<'static>,
    /// The name before each answer; the entry agent's id if absent.
    pub(crate) speaker: Option<&'static str>,
}

/// Runs the conversation that the arguments describe.
pub(crate) async fn converse(
    args: &RunArgs,
    style: Style,
    registry: &Registry,
    around: &Surroundings,
) -> Exit {
    let Resolved { mut blueprint, warnings } =
        match setup::blueprint(&args.manifest, &args.team, &args.routes, around) {
            Ok(resolved) => resolved,
            Err(report) => return setup::invalid(&report, args.json),
        };
    console::err_report(&warnings);
    choose_events(&mut blueprint, &args.events, registry);
    let (observers, store) = match extras(args, registry, around) {
        Ok(extras) => extras,
        Err(error) => {
            if args.json {
                let session = args.session.as_deref().unwrap_or_default();
                console::out_json(&RunReport::unbegun(session, &error));
            } else {
                console::err(&format!("error[{}]: {error:#}\n", error.code()));
            }
            return Exit::Failed;
        }
    };
    let met = exposing::meet_neighbours(&mut blueprint, registry, around, style.hosting, false).await;
    if let Err(report) = met {
        return setup::invalid(&report, args.json);
    }
    let planned = wire(&blueprint, registry, &around.environment, style.hosting)
        .and_then(|wiring| exposing::plan(&wiring, registry, around, false).map(|plan| (wiring, plan)));
    let (wiring, plan) = match planned {
        Ok(planned) => planned,
        Err(report) => return setup::invalid(&report, args.json),
    };
    let connection = Connection {
        registry,
        env: around.env.clone(),
        clock: Arc::new(TokioClock),
        ids: Arc::new(RandomIds),
        store,
        observers: observers.clone(),
        base: &around.cwd,
    };
    let team = match connect(&wiring, connection).await {
        Ok((team, warnings)) => {
            console::err_report(&warnings);
            team
        }
        Err(report) => return setup::invalid(&report, args.json),
    };
    let exposed = match exposing::bind(plan, &team).await {
        Ok(exposed) => exposed,
        Err(report) => {
            close(&team).await;
            return setup::invalid(&report, args.json);
        }
    };
    let speaker = style.speaker.unwrap_or(&blueprint.entry.value);
    let entry = &blueprint.entry.value;
    let exit = Turns::new(args, &team, entry, speaker, &around.env).run().await;
    // The conversation is over; callers from outside may finish what they are at, if that is soon. Who interrupts
    // waits for nobody.
    if exit == Exit::Interrupted {
        drop(exposed);
    } else {
        exposing::close(exposed, DRAIN).await;
    }
    close(&team).await;
    exit
}

/// Releases what a team holds, and writes the rest of its events.
pub(crate) async fn close(team: &Team) {
    // What does not end in time ends with the program.
    let tools = tokio::time::timeout(CLOSE_GRACE, team.close_tools());
    let mut stop = Stop::new();
    let comms = async {
        tokio::select! {
            biased;
            () = team.close_comms() => {}
            // Who interrupts again waits for nobody.
            _ = stop.signalled() => {}
            () = tokio::time::sleep(FAREWELL) => {}
        }
    };
    let _ = tokio::join!(tools, comms);
    for observer in team.observers() {
        if let Err(error) = observer.flush().await {
            console::err(&format!("warning: the event log is not complete: {error:#}\n"));
        }
    }
}

/// Flags about events win over what manifests say.
pub(crate) fn choose_events(blueprint: &mut Blueprint, args: &EventArgs, registry: &Registry) {
    let EventsFormat::Native = args.events_format;
    let name = |choice: &Selection| {
        registry.find(Category::Observability, &choice.name.value).ok().map(|d| d.name.clone())
    };
    let is_native = |choice: &Selection| name(choice).is_some_and(|name| name == "native");
    if args.no_events || args.events_file.is_some() || args.events_stderr {
        blueprint.observability.retain(|choice| !is_native(choice));
    } else if args.events && !blueprint.observability.iter().any(is_native) {
        blueprint.observability.push(Selection::named("native"));
    }
}

type Extras = (Vec<Arc<dyn ObservabilityContract>>, Option<Arc<dyn mas_contracts::StoreContract>>);

/// What flags ask for beside the manifests: an event log elsewhere, a store for a named session.
fn extras(
    args: &RunArgs,
    registry: &Registry,
    around: &Surroundings,
) -> Result<Extras, mas_contracts::Error> {
    let observers = observers(&args.events, registry, around)?;
    let store = match &args.session {
        Some(_) => Some(registry.build_store("file", &build_context(around, &around.cwd), &Value::Null)?),
        None => None,
    };
    Ok((observers, store))
}

/// The event log that flags ask for, elsewhere than where manifests say.
///
/// # Errors
/// That it cannot be set up.
pub(crate) fn observers(
    args: &EventArgs,
    registry: &Registry,
    around: &Surroundings,
) -> Result<Vec<Arc<dyn ObservabilityContract>>, mas_contracts::Error> {
    let build = build_context(around, &around.cwd);
    Ok(match (&args.events_file, args.events_stderr) {
        (Some(file), _) => {
            let path = Value::from(file.to_string_lossy());
            let params = Map::from_iter([("path".to_owned(), path)]);
            vec![registry.build_observability("native", &build, &Value::Object(params))?]
        }
        (None, true) => vec![built_ins::event_log_to(&build, Box::new(console::WholeLines::default()))?],
        (None, false) => Vec::new(),
    })
}

/// What a builder outside a team is given.
pub(crate) fn build_context(around: &Surroundings, base: &Path) -> BuildContext {
    BuildContext {
        host: std::sync::Weak::<Team>::new(),
        env: around.env.clone(),
        clock: Arc::new(TokioClock),
        ids: Arc::new(RandomIds),
        base: base.to_path_buf(),
        shared: mas_contracts::Shared::default(),
    }
}
