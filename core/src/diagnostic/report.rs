//! Diagnostics and the report that collects them.

use std::fmt;

use serde::Serialize;

use super::Location;
use super::render::Elsewhere;

/// How bad a diagnostic is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Nothing can run until it is fixed.
    Error,
    /// It runs, but not as the author may think.
    Warning,
}

/// A place with a short text that says what is wrong there.
#[derive(Clone, Debug)]
pub struct Label {
    /// The place.
    pub at: Location,
    /// The text under the caret; may be empty.
    pub text: String,
}

/// One problem: a stable code, a sentence, the places it concerns and what to do about it.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    /// Stable name, `mas::<area>::<name>`.
    pub code: &'static str,
    /// Error or warning.
    pub severity: Severity,
    /// One sentence in lower case, without a full stop.
    pub message: String,
    /// The places, the primary one first; empty for a problem without a place.
    pub labels: Vec<Label>,
    /// What to do, if that is known.
    pub help: Option<String>,
    pub(super) elsewhere: Vec<Elsewhere>,
}

impl Diagnostic {
    /// Makes an error at a place.
    pub fn error(code: &'static str, at: &Location, message: impl Into<String>) -> Self {
        Self::new(code, Severity::Error, message).label(at, "")
    }

    /// Makes a warning at a place.
    pub fn warning(code: &'static str, at: &Location, message: impl Into<String>) -> Self {
        Self::new(code, Severity::Warning, message).label(at, "")
    }

    /// Makes a diagnostic without a place.
    pub fn new(code: &'static str, severity: Severity, message: impl Into<String>) -> Self {
        Self {
            code,
            severity,
            message: message.into(),
            labels: Vec::new(),
            help: None,
            elsewhere: Vec::new(),
        }
    }

    /// Sets the text at the primary place.
    #[must_use]
    pub fn says(mut self, text: impl Into<String>) -> Self {
        if let Some(first) = self.labels.first_mut() {
            first.text = text.into();
        }
        self
    }

    /// Adds a place.
    #[must_use]
    pub fn label(mut self, at: &Location, text: impl Into<String>) -> Self {
        let label = Label { at: at.clone(), text: text.into() };
        let abroad = self.labels.first().is_some_and(|first| first.at.source().path() != at.source().path());
        if abroad {
            self.elsewhere.push(Elsewhere(label.clone()));
        }
        self.labels.push(label);
        self
    }

    /// Sets the help line.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Sets the help line if there is one.
    #[must_use]
    pub fn help_if(mut self, help: Option<String>) -> Self {
        self.help = help.or(self.help);
        self
    }

    /// Sets the severity.
    #[must_use]
    pub fn severity(mut self, severity: Severity) -> Self {
        self.severity = severity;
        self
    }

    /// The primary place, if any.
    pub fn at(&self) -> Option<&Location> {
        self.labels.first().map(|label| &label.at)
    }

    fn order(&self) -> (String, usize, Severity, &'static str) {
        match self.at() {
            Some(at) => (at.source().name().to_owned(), at.span().start, self.severity, self.code),
            None => (String::new(), 0, self.severity, self.code),
        }
    }

    /// The form scripts read: file, line and column are absent for a problem without a place.
    pub fn to_record(&self) -> Record {
        let at = self.at();
        let (line, column) = at.map(Location::position).unzip();
        Record {
            file: at.map(|at| at.source().name().to_owned()),
            line,
            column,
            code: self.code.to_owned(),
            severity: self.severity,
            message: self.message.clone(),
            help: self.help.clone(),
        }
    }
}

/// Shows the one-line form, `file:line:col: error[code]: message`.
impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.alternate() {
            return f.write_str(&self.message);
        }
        if let Some(at) = self.at() {
            let (line, column) = at.position();
            write!(f, "{}:{line}:{column}: ", at.source().name())?;
        }
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        write!(f, "{severity}[{}]: {}", self.code, self.message)
    }
}

/// A diagnostic as scripts read it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Record {
    /// The file, as shown to people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Line from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// Column from 1, in characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<usize>,
    /// Stable code.
    pub code: String,
    /// Error or warning.
    pub severity: Severity,
    /// The sentence.
    pub message: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
}

/// All problems found so far.
#[derive(Clone, Debug, Default)]
pub struct Report {
    diagnostics: Vec<Diagnostic>,
}

impl Report {
    /// Makes an empty report.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a problem.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    /// Adds all problems of another report.
    pub fn merge(&mut self, other: Report) {
        self.diagnostics.extend(other.diagnostics);
    }

    /// Whether nothing was found.
    pub fn is_empty(&self) -> bool {
        self.diagnostics.is_empty()
    }

    /// Whether there is an error among them.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error)
    }

    /// Number of errors and of warnings.
    pub fn counts(&self) -> (usize, usize) {
        let errors =
            self.diagnostics.iter().filter(|diagnostic| diagnostic.severity == Severity::Error).count();
        (errors, self.diagnostics.len() - errors)
    }

    /// Sorts by file and place, and drops exact repeats.
    pub fn sort(&mut self) {
        self.diagnostics.sort_by_cached_key(|diagnostic| {
            let (file, offset, severity, code) = diagnostic.order();
            (file, offset, severity, code, diagnostic.message.clone())
        });
        self.diagnostics.dedup_by(|a, b| a.code == b.code && a.at() == b.at() && a.message == b.message);
    }

    /// The report, sorted.
    #[must_use]
    pub fn sorted(mut self) -> Self {
        self.sort();
        self
    }

    /// The diagnostics, in their present order.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.diagnostics.iter()
    }

    /// The diagnostics as scripts read them.
    pub fn to_records(&self) -> Vec<Record> {
        self.diagnostics.iter().map(Diagnostic::to_record).collect()
    }

    /// `value` if there is no error, else the report, sorted.
    ///
    /// # Errors
    /// The report itself when it holds an error.
    pub fn into_result<T>(self, value: T) -> Result<T, Report> {
        if self.has_errors() { Err(self.sorted()) } else { Ok(value) }
    }
}

impl Serialize for Report {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.diagnostics.iter().map(Diagnostic::to_record))
    }
}

impl Extend<Diagnostic> for Report {
    fn extend<I: IntoIterator<Item = Diagnostic>>(&mut self, items: I) {
        self.diagnostics.extend(items);
    }
}

impl FromIterator<Diagnostic> for Report {
    fn from_iter<I: IntoIterator<Item = Diagnostic>>(items: I) -> Self {
        Self { diagnostics: items.into_iter().collect() }
    }
}

impl IntoIterator for Report {
    type Item = Diagnostic;
    type IntoIter = std::vec::IntoIter<Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.diagnostics.into_iter()
    }
}

impl<'a> IntoIterator for &'a Report {
    type Item = &'a Diagnostic;
    type IntoIter = std::slice::Iter<'a, Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.diagnostics.iter()
    }
}

/// Shows one line per diagnostic, each followed by its help.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for diagnostic in &self.diagnostics {
            writeln!(f, "{diagnostic}")?;
            if let Some(help) = &diagnostic.help {
                writeln!(f, "  help: {help}")?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for Report {}
