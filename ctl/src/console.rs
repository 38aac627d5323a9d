//! stdout, stderr and the rendering of problems.

use std::io::{self, IsTerminal, Write};

use mas_core::diagnostic::{Report, Severity};
use miette::{GraphicalReportHandler, GraphicalTheme};
use serde::Serialize;
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

/// Writes to stdout; a reader that has gone is no error of ours.
pub(crate) fn out(text: &str) {
    let mut stdout = anstream::stdout().lock();
    let _ = stdout.write_all(text.as_bytes());
    let _ = stdout.flush();
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
