//! Diagnostics and the report that collects them.

use std::fmt;

use miette::LabeledSpan;
use serde::Serialize;

use super::Location;

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
    elsewhere: Vec<Elsewhere>,
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

/// A diagnostic seen as a `miette::Diagnostic`, whose message is shown without the place.
#[derive(Debug)]
pub struct Rendered<'a>(&'a Diagnostic);

impl Diagnostic {
    /// The view that miette's handlers render with source lines and carets.
    pub fn rendered(&self) -> Rendered<'_> {
        Rendered(self)
    }
}

impl fmt::Display for Rendered<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl std::error::Error for Rendered<'_> {}

impl miette::Diagnostic for Rendered<'_> {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        miette::Diagnostic::code(self.0)
    }

    fn severity(&self) -> Option<miette::Severity> {
        miette::Diagnostic::severity(self.0)
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        miette::Diagnostic::help(self.0)
    }

    fn source_code(&self) -> Option<&dyn miette::SourceCode> {
        miette::Diagnostic::source_code(self.0)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        miette::Diagnostic::labels(self.0)
    }

    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn miette::Diagnostic> + 'a>> {
        miette::Diagnostic::related(self.0)
    }
}

impl std::error::Error for Diagnostic {}

fn labelled(label: &Label) -> LabeledSpan {
    let span = label.at.span();
    let text = (!label.text.is_empty()).then(|| label.text.clone());
    LabeledSpan::new(text, span.start, span.len())
}

fn code_of(label: &Label) -> Option<&dyn miette::SourceCode> {
    let source = label.at.source();
    (!source.text().is_empty()).then(|| source.as_ref() as &dyn miette::SourceCode)
}

impl miette::Diagnostic for Diagnostic {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(self.code))
    }

    fn severity(&self) -> Option<miette::Severity> {
        Some(match self.severity {
            Severity::Error => miette::Severity::Error,
            Severity::Warning => miette::Severity::Warning,
        })
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.help.as_ref().map(|help| Box::new(help) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn miette::SourceCode> {
        self.labels.first().and_then(code_of)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let first = self.labels.first()?;
        code_of(first)?;
        let here = self.labels.iter().filter(|label| label.at.source().path() == first.at.source().path());
        Some(Box::new(here.map(labelled)))
    }

    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn miette::Diagnostic> + 'a>> {
        if self.elsewhere.is_empty() {
            return None;
        }
        Some(Box::new(self.elsewhere.iter().map(|other| other as &dyn miette::Diagnostic)))
    }
}

// One miette diagnostic holds one source; a label in another file becomes a related one.
#[derive(Clone, Debug)]
struct Elsewhere(Label);

impl fmt::Display for Elsewhere {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.text.is_empty() { "see also" } else { &self.0.text })
    }
}

impl std::error::Error for Elsewhere {}

impl miette::Diagnostic for Elsewhere {
    fn severity(&self) -> Option<miette::Severity> {
        Some(miette::Severity::Advice)
    }

    fn source_code(&self) -> Option<&dyn miette::SourceCode> {
        code_of(&self.0)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        code_of(&self.0)?;
        let span = self.0.at.span();
        Some(Box::new(std::iter::once(LabeledSpan::new(None, span.start, span.len()))))
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
