//! Diagnostics as miette's handlers read them.

use std::fmt;

use miette::LabeledSpan;

use super::report::{Diagnostic, Label, Severity};

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
pub(super) struct Elsewhere(pub(super) Label);

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

#[cfg(test)]
mod tests {
    use miette::NarratableReportHandler;

    use super::*;
    use crate::diagnostic::{Location, Source};

    #[test]
    fn labels_of_two_files_both_show() {
        let here = Source::new("mas.yaml", "a: 1\nb: [reserch]\n", None);
        let there = Source::new("agent.yaml", "kind: Tool\n", None);
        let diagnostic =
            Diagnostic::error("mas::route::unknown_target", &Location::new(here, 9..16), "no such agent")
                .says("not in the agency")
                .label(&Location::new(there, 6..10), "the file says so here")
                .help("did you mean `research`?");
        let mut shown = String::new();
        NarratableReportHandler::new().render_report(&mut shown, &diagnostic.rendered()).unwrap();
        for part in
            ["no such agent", "mas.yaml", "b: [reserch]", "not in the agency", "kind: Tool", "research"]
        {
            assert!(shown.contains(part), "{part} is missing in:\n{shown}");
        }
        assert_eq!(diagnostic.to_string(), "mas.yaml:2:5: error[mas::route::unknown_target]: no such agent");
    }
}
