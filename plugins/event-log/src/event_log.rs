//! The observability `native`.

use std::{
    borrow::Cow,
    fmt,
    io::Write,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::Duration,
};

use async_trait::async_trait;
use mas_contracts::{
    Build, BuildContext, Builder, Clock, Descriptor, Error, ErrorKind, Event, ObservabilityContract, Result,
    check_params, inventory, parse_params, schema_of,
};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{place, queue::Queue, writer};

const FLUSH_LIMIT: Duration = Duration::from_secs(5);
const LAST_CHANCE: Duration = Duration::from_millis(250);
const DROP_LIMIT: Duration = Duration::from_secs(2);

/// Parameters of `native`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Params {
    /// The file, relative to the manifest, to which a run appends; also `events_file`. Default a new file of its
    /// own in the state folder of the user.
    #[serde(default, alias = "events_file")]
    path: Option<String>,
}

inventory::submit! {
    Descriptor {
        name: Cow::Borrowed("native"),
        aliases: Cow::Borrowed(&["event-log"]),
        origin: Cow::Borrowed(env!("CARGO_PKG_NAME")),
        version: Cow::Borrowed(env!("CARGO_PKG_VERSION")),
        summary: Cow::Borrowed("Writes the events of a run to a JSON Lines file, in order."),
        example: Cow::Borrowed("observability:\n  - native: {path: traces/events.jsonl}\n"),
        schema: schema_of::<Params>,
        check: check_params::<Params>,
        builder: Builder::Observability(Build::Linked(|cx, params| {
            let params: Params = parse_params(params)?;
            Ok(Arc::new(EventLog::open(cx, params.path.as_deref())?))
        })),
    }
}

/// The observability `native`: one run's file and its writer.
pub struct EventLog {
    queue: Arc<Queue>,
    clock: Arc<dyn Clock>,
    path: Option<PathBuf>,
    run: Arc<str>,
}

impl fmt::Debug for EventLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventLog").field("run", &self.run).field("path", &self.path).finish_non_exhaustive()
    }
}

impl EventLog {
    /// Opens the file of a new run and starts its writer.
    ///
    /// # Errors
    /// [`ErrorKind::Unavailable`] when the file cannot be opened, [`ErrorKind::Invalid`] when the environment
    /// names no folder for it.
    pub fn open(cx: &BuildContext, path: Option<&str>) -> Result<Self> {
        let run = cx.ids.next_id();
        let (file, path) = place::open(cx, path, &run)?;
        Self::begin(cx, run, Box::new(file), Some(path))
    }

    /// Starts the writer of a new run, which writes to `out`: whole batches of lines, each batch flushed.
    ///
    /// # Errors
    /// [`ErrorKind::Unavailable`] when the writer cannot be started.
    pub fn to(cx: &BuildContext, out: Box<dyn Write + Send>) -> Result<Self> {
        Self::begin(cx, cx.ids.next_id(), out, None)
    }

    fn begin(
        cx: &BuildContext,
        run: Arc<str>,
        out: Box<dyn Write + Send>,
        path: Option<PathBuf>,
    ) -> Result<Self> {
        let queue = Arc::new(Queue::default());
        let (theirs, id) = (queue.clone(), run.clone());
        thread::Builder::new()
            .name("mas-event-log".to_owned())
            .spawn(move || writer::run(&theirs, out, id))
            .map_err(|error| {
                Error::new(ErrorKind::Unavailable, "the writer of the event log cannot be started")
                    .caused_by(error)
            })?;
        Ok(Self { queue, clock: cx.clock.clone(), path, run })
    }

    /// The file, if it is one that this log opened.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// The id of the run.
    #[must_use]
    pub fn run(&self) -> &Arc<str> {
        &self.run
    }

    fn failed(&self, cause: &str) -> Error {
        let name = self.path.as_ref().map(|path| format!(" `{}`", path.display())).unwrap_or_default();
        Error::new(ErrorKind::Unavailable, format!("the event log{name} cannot be written"))
            .with_code("mas::event_log::write")
            .caused_by(cause)
    }
}

#[async_trait]
impl ObservabilityContract for EventLog {
    fn observe(&self, event: &Event) {
        self.queue.push(&*self.clock, event);
    }

    async fn flush(&self) -> Result<()> {
        let mut told = self.queue.flush();
        let now = self.clock.now();
        let limit = self.clock.sleep_until(now.checked_add(FLUSH_LIMIT).unwrap_or(now));
        let told = tokio::select! {
            biased;
            told = &mut told => told.ok(),
            () = limit => {
                // The writer lives in real time: a clock that runs ahead of it gets a last, short chance.
                self.queue.settle(LAST_CHANCE);
                told.try_recv().ok()
            }
        };
        match told {
            Some(Ok(())) => Ok(()),
            Some(Err(cause)) => Err(self.failed(&cause)),
            None => Err(self.failed("it does not come to an end")),
        }
    }
}

impl Drop for EventLog {
    fn drop(&mut self) {
        self.queue.close(DROP_LIMIT);
    }
}
