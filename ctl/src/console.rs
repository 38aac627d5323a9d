//! stdout, stderr and the rendering of problems.

use std::{
    io::{self, IsTerminal, Write},
    sync::OnceLock,
};

use mas_core::diagnostic::{Report, Severity};
use miette::{GraphicalReportHandler, GraphicalTheme};
use serde::Serialize;
use tokio::sync::Notify;
use tracing_subscriber::filter::LevelFilter;

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
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal())
        .without_time()
        .try_init();
}

/// The first failure of stdout. One per process, as stdout is.
static FAILURE: OnceLock<io::ErrorKind> = OnceLock::new();
static UNREAD: Notify = Notify::const_new();

/// Writes to stdout. What cannot be written is remembered: see [`failure`].
pub(crate) fn out(text: &str) {
    let mut stdout = anstream::stdout().lock();
    if let Err(error) = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush())
        && FAILURE.set(error.kind()).is_ok()
    {
        UNREAD.notify_one();
    }
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

/// Writes to stderr.
pub(crate) fn err(text: &str) {
    let mut stderr = anstream::stderr().lock();
    let _ = stderr.write_all(text.as_bytes());
    let _ = stderr.flush();
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
        err(&render(report, io::stderr().is_terminal()));
    }
}
