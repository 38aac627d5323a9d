//! stdout, stderr and the rendering of problems.

use std::{
    io::{self, IsTerminal, Write},
    sync::{Arc, LazyLock, Mutex, MutexGuard, OnceLock, PoisonError},
};

use mas_core::diagnostic::{Report, Severity};
use miette::{GraphicalReportHandler, GraphicalTheme};
use serde::Serialize;
use tokio::sync::Notify;
use tracing::Metadata;
use tracing_subscriber::{filter::LevelFilter, fmt::MakeWriter};

use crate::{cursor::Cursor, harmless::harmless};

/// Sends logs to stderr.
pub(crate) fn log_to_stderr(verbose: u8) {
    let level = match verbose {
        0 => LevelFilter::WARN,
        1 => LevelFilter::INFO,
        2 => LevelFilter::DEBUG,
        _ => LevelFilter::TRACE,
    };
    // Set once per process; a second call in one process (a test) changes nothing.
    let _ = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(Log)
        .with_ansi(in_color())
        .without_time()
        .try_init();
}

/// The first failure of stdout. One per process, as stdout is.
static FAILURE: OnceLock<io::ErrorKind> = OnceLock::new();
static UNREAD: Notify = Notify::const_new();

/// Where the cursor is. One per process, as the terminal is.
static CURSOR: LazyLock<Mutex<Cursor>> =
    LazyLock::new(|| Mutex::new(Cursor::new(io::stdout().is_terminal() && io::stderr().is_terminal())));

/// Prints above the line that a person is editing.
pub(crate) type Above = Arc<Mutex<dyn FnMut(String) + Send>>;

static EDITED: Mutex<Option<Above>> = Mutex::new(None);

/// Writes to stdout. What cannot be written is remembered: see [`failure`]. To a terminal, nothing is written that does
/// more there than to be read.
pub(crate) fn out(text: &str) {
    let mut cursor = cursor();
    let text = if io::stdout().is_terminal() { harmless(text) } else { text.into() };
    write_out(&text);
    cursor.printed(&text);
}

/// Tells the terminal to do something.
pub(crate) fn control(sequence: &str) {
    let _cursor = cursor();
    write_out(sequence);
}

/// Ends the line on stdout, if one is begun.
pub(crate) fn fresh_line() {
    let mut cursor = cursor();
    if cursor.breaks() {
        write_out("\n");
    }
}

/// Says that the terminal itself has written: the keys that a person pressed.
pub(crate) fn echoed(text: &str) {
    cursor().printed(text);
}

/// While a line is edited, what goes to stderr is printed above it; `None` when it is no longer edited.
pub(crate) fn edited(above: Option<Above>) {
    *EDITED.lock().unwrap_or_else(PoisonError::into_inner) = above;
}

fn write_out(text: &str) {
    let mut stdout = anstream::stdout().lock();
    if let Err(error) = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush())
        && FAILURE.set(error.kind()).is_ok()
    {
        UNREAD.notify_one();
    }
}

fn cursor() -> MutexGuard<'static, Cursor> {
    CURSOR.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits until stdout cannot be written any more.
pub(crate) async fn unread() {
    if FAILURE.get().is_none() {
        UNREAD.notified().await;
    }
}

/// Why stdout could not be written; a reader that has gone is no failure of ours.
pub(crate) fn failure() -> Option<io::ErrorKind> {
    FAILURE.get().copied().filter(|kind| *kind != io::ErrorKind::BrokenPipe)
}

/// Writes to stderr, nothing that does more than to be read. On a terminal that shows stdout too, it begins on a line of
/// its own.
pub(crate) fn err(text: &str) {
    if text.is_empty() {
        return;
    }
    let text = &*harmless(text);
    let above = EDITED.lock().unwrap_or_else(PoisonError::into_inner).clone();
    if let Some(above) = above {
        let mut print = above.lock().unwrap_or_else(PoisonError::into_inner);
        return print(text.to_owned());
    }
    let mut cursor = cursor();
    let mut stderr = anstream::stderr().lock();
    if cursor.breaks_for_note() {
        let _ = stderr.write_all(b"\n");
    }
    let _ = stderr.write_all(text.as_bytes());
    let _ = stderr.flush();
    cursor.noted(text);
}

/// A writer to stderr that hands over whole lines, so that none is broken by what else is written there.
#[derive(Debug, Default)]
pub(crate) struct WholeLines(Vec<u8>);

impl Write for WholeLines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.extend_from_slice(bytes);
        if let Some(end) = self.0.iter().rposition(|byte| *byte == b'\n') {
            let rest = self.0.split_off(end.saturating_add(1));
            err(&String::from_utf8_lossy(&self.0));
            self.0 = rest;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Whether stderr shows colours: a terminal, and nobody said `NO_COLOR`.
fn in_color() -> bool {
    let choice = anstream::AutoStream::choice(&io::stderr());
    !matches!(choice, anstream::ColorChoice::Never)
}

/// Where log lines go: to stderr, as all else.
struct Log;

/// A log line on its way.
pub(crate) struct LogLine {
    wanted: bool,
}

impl Write for LogLine {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.wanted {
            err(&String::from_utf8_lossy(bytes));
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Log {
    type Writer = LogLine;

    fn make_writer(&self) -> LogLine {
        LogLine { wanted: true }
    }

    // The line editor must not wait for itself to print what it says of itself.
    fn make_writer_for(&self, meta: &Metadata<'_>) -> LogLine {
        LogLine { wanted: !meta.target().starts_with("rustyline") }
    }
}

/// Writes one JSON document to stdout.
pub(crate) fn out_json(document: &impl Serialize) {
    match serde_json::to_string_pretty(document) {
        Ok(text) => out(&(text + "\n")),
        Err(error) => err(&format!("error: the document cannot be written: {error}\n")),
    }
}

/// Problems as a person reads them: source lines, carets, help; warnings included.
pub(crate) fn render(report: &Report, color: bool) -> String {
    let theme = if color { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
    let handler = GraphicalReportHandler::new_themed(theme).with_links(false).with_width(100);
    let mut text = String::new();
    for diagnostic in report.iter() {
        // A file that could not be read has no line to show, so its name goes before the message.
        if let Some(at) = diagnostic.at().filter(|at| at.source().text().is_empty()) {
            let sign = if diagnostic.severity == Severity::Error { '×' } else { '⚠' };
            let (code, name) = (diagnostic.code, at.source().name());
            let help = diagnostic.help.as_ref().map(|help| format!("  help: {help}\n")).unwrap_or_default();
            text.push_str(&format!("{code}\n\n  {sign} {name}: {diagnostic:#}\n{help}\n"));
            continue;
        }
        if handler.render_report(&mut text, &diagnostic.rendered()).is_err() {
            text.push_str(&diagnostic.to_string());
        }
        text.push('\n');
    }
    text
}

/// Writes problems to stderr.
pub(crate) fn err_report(report: &Report) {
    if !report.is_empty() {
        err(&render(report, in_color()));
    }
}
