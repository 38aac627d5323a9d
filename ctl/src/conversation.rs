//! Turns, one after the other, until the prompts end.

use std::{io::IsTerminal, path::Path, sync::Arc, time::Duration};

use mas_contracts::{
    BuildContext, CallContext, Category, EventSink, Ids, ObservabilityContract, Part, TurnRequest,
};
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
    cli::{EventArgs, EventsFormat, RunArgs},
    console,
    exit::Exit,
    prompts::Prompts,
    report::{Delegations, RunReport, Several, TurnReport},
    screen::Screen,
    setup,
    stop::{Ending, Stop},
    surroundings::Surroundings,
    trace::{Depth, Trace},
};

/// How long a stopped turn may take to end before the program ends without it.
const STOP_GRACE: Duration = Duration::from_millis(180);

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
    let Resolved { mut blueprint, warnings } = match setup::blueprint(&args.manifest, &args.team, around) {
        Ok(resolved) => resolved,
        Err(report) => return setup::invalid(&report, args.json),
    };
    console::err_report(&warnings);
    choose_events(&mut blueprint, &args.events, registry);
    let (observers, store) = match extras(args, registry, around) {
        Ok(extras) => extras,
        Err(message) => {
            console::err(&format!("error: {message}\n"));
            return Exit::Failed;
        }
    };
    let wiring = match wire(&blueprint, registry, &around.environment, style.hosting) {
        Ok(wiring) => wiring,
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
    let speaker = style.speaker.unwrap_or(&blueprint.entry.value);
    let exit = turns(args, &team, speaker).await;
    for observer in team.observers() {
        if let Err(error) = observer.flush().await {
            console::err(&format!("warning: the event log is not complete: {error:#}\n"));
        }
    }
    exit
}

async fn turns(args: &RunArgs, team: &Team, speaker: &str) -> Exit {
    let session = args.session.clone().unwrap_or_else(|| RandomIds.next_id().to_string());
    let screen = (!args.json).then(|| Arc::new(Screen::new(speaker)));
    let delegations = Arc::new(Delegations::default());
    let mut sinks: Vec<Arc<dyn EventSink>> = vec![delegations.clone()];
    if args.trace {
        sinks.push(Arc::new(Trace(Depth::Full)));
    } else if std::io::stderr().is_terminal() {
        sinks.push(Arc::new(Trace(Depth::Progress)));
    }
    sinks.extend(screen.clone().map(|screen| screen as Arc<dyn EventSink>));
    let tap: Arc<dyn EventSink> = Arc::new(Several(sinks));

    let mut prompts = Prompts::new(args);
    let mut reports = Vec::new();
    let mut stop = Stop::new();
    let mut ended = None;
    let mut broken = false;
    while ended.is_none() {
        let prompt = tokio::select! {
            biased;
            why = stop.requested() => {
                ended = Some(why);
                break;
            }
            prompt = prompts.next() => prompt,
        };
        let prompt = match prompt {
            Ok(Some(prompt)) => prompt,
            Ok(None) => break,
            Err(error) => {
                console::err(&format!("error: stdin cannot be read: {error}\n"));
                broken = true;
                break;
            }
        };
        if let Some(screen) = &screen {
            screen.prompt(&prompt);
        }
        let id = RandomIds.next_id();
        let request = TurnRequest {
            session: Some(session.as_str().into()),
            turn: Some(id.clone()),
            parts: vec![Part::text(prompt.as_str())],
            ..TurnRequest::default()
        };
        let turn = team.turn(request, Some(tap.clone()));
        tokio::pin!(turn);
        let outcome = tokio::select! {
            biased;
            why = stop.requested() => {
                ended = Some(why);
                team.stop(why.reason());
                let late = || Err(CallContext::stopped(why.reason()));
                tokio::time::timeout(STOP_GRACE, &mut turn).await.unwrap_or_else(|_| late())
            }
            outcome = &mut turn => outcome,
        };
        let reply = outcome.and_then(|outcome| outcome.reply);
        if let Some(screen) = &screen {
            screen.finish(reply.as_ref().ok());
        }
        let report = TurnReport::new(&id, &prompt, &reply, delegations.take());
        if !args.json {
            console::err(&report.complaints());
        }
        reports.push(report);
        if args.single_turn {
            break;
        }
    }
    let failed = broken || reports.iter().any(TurnReport::failed);
    let interrupted = matches!(ended, Some(Ending::Asked(_)));
    if args.json {
        let status = match (interrupted, broken) {
            (true, _) => Some("cancelled"),
            (false, true) => Some("failed"),
            (false, false) => None,
        };
        console::out_json(&RunReport::new(&session, status, reports));
    }
    match (interrupted, failed) {
        (true, _) => Exit::Interrupted,
        (false, true) if ended.is_none() => Exit::Failed,
        (false, _) => Exit::Done,
    }
}

/// Flags about events win over what manifests say.
fn choose_events(blueprint: &mut Blueprint, args: &EventArgs, registry: &Registry) {
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
    let build = build_context(around, &around.cwd);
    let path = match (&args.events.events_file, args.events.events_stderr) {
        (Some(file), _) => Some(file.to_string_lossy().into_owned()),
        (None, true) => Some("/dev/stderr".to_owned()),
        (None, false) => None,
    };
    let observers = match path {
        Some(path) => {
            let params = Map::from_iter([("path".to_owned(), Value::from(path))]);
            vec![registry.build_observability("native", &build, &Value::Object(params))?]
        }
        None => Vec::new(),
    };
    let store = match &args.session {
        Some(_) => Some(registry.build_store("file", &build, &Value::Null)?),
        None => None,
    };
    Ok((observers, store))
}

fn build_context(around: &Surroundings, base: &Path) -> BuildContext {
    BuildContext {
        host: std::sync::Weak::<Team>::new(),
        env: around.env.clone(),
        clock: Arc::new(TokioClock),
        ids: Arc::new(RandomIds),
        base: base.to_path_buf(),
    }
}
