//! Source texts and places in them.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, OnceLock};

use super::mask::masked;

/// A text that diagnostics point into, usually a file.
pub struct Source {
    path: PathBuf,
    name: String,
    text: Arc<str>,
    line_starts: OnceLock<Vec<usize>>,
    /// The text as excerpts show it, made when the first one is.
    shown: OnceLock<Arc<str>>,
}

impl Source {
    /// Makes a source from a file's path and text; `base` is the directory that its shown name is relative to.
    pub fn new(path: impl Into<PathBuf>, text: impl Into<Arc<str>>, base: Option<&Path>) -> Arc<Self> {
        let path = path.into();
        let name = shown_name(&path, base);
        Arc::new(Self { path, name, text: text.into(), line_starts: OnceLock::new(), shown: OnceLock::new() })
    }

    /// Makes a source that is not a file, such as a flag or a bundled document; `name` is shown as it is.
    pub fn named(name: impl Into<String>, text: impl Into<Arc<str>>) -> Arc<Self> {
        let name = name.into();
        Arc::new(Self {
            path: PathBuf::from(&name),
            name,
            text: text.into(),
            line_starts: OnceLock::new(),
            shown: OnceLock::new(),
        })
    }

    /// The path the text was read from.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The name shown to people: the path, relative to the base when it is below it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The text.
    pub fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// Line and column (both from 1, the column in characters) of a byte offset; past the end counts as the end.
    pub fn position(&self, offset: usize) -> (usize, usize) {
        let starts = self.line_starts.get_or_init(|| {
            let newlines = self.text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
            std::iter::once(0).chain(newlines.map(|(at, _)| at + 1)).collect()
        });
        let offset = offset.min(self.text.len());
        let line = starts.partition_point(|start| *start <= offset).max(1);
        let start = starts.get(line - 1).copied().unwrap_or(0);
        let column = self.text.char_indices().map(|(at, _)| at);
        let column = match self.text.get(start..offset) {
            Some(before) => before.chars().count(),
            None => column.skip_while(|at| *at < start).take_while(|at| *at < offset).count(),
        };
        (line, column + 1)
    }
}

impl fmt::Debug for Source {
    // The text may hold secrets and is long: the name says enough.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Source").field(&self.name).finish()
    }
}

impl miette::SourceCode for Source {
    fn read_span<'a>(
        &'a self,
        span: &miette::SourceSpan,
        before: usize,
        after: usize,
    ) -> Result<Box<dyn miette::SpanContents<'a> + 'a>, miette::MietteError> {
        let shown = self.shown.get_or_init(|| match masked(&self.text) {
            Cow::Borrowed(_) => self.text.clone(),
            Cow::Owned(masked) => masked.into(),
        });
        let inner = shown.as_ref().read_span(span, before, after)?;
        Ok(Box::new(miette::MietteSpanContents::new_named(
            self.name.clone(),
            inner.data(),
            *inner.span(),
            inner.line(),
            inner.column(),
            inner.line_count(),
        )))
    }
}

/// A place in a source: a byte range.
#[derive(Clone)]
pub struct Location {
    source: Arc<Source>,
    start: u32,
    end: u32,
}

impl Location {
    /// Makes a location; offsets beyond 4 GiB saturate.
    pub fn new(source: Arc<Source>, span: Range<usize>) -> Self {
        let small = |offset: usize| u32::try_from(offset).unwrap_or(u32::MAX);
        Self { source, start: small(span.start), end: small(span.end.max(span.start)) }
    }

    /// The first place of a source, for problems of the whole file.
    pub fn start_of(source: Arc<Source>) -> Self {
        Self { source, start: 0, end: 0 }
    }

    /// A place outside any file, such as a flag, a default or a hand-built test value.
    pub fn named(name: impl Into<String>) -> Self {
        Self::start_of(Source::named(name, ""))
    }

    /// The source.
    pub fn source(&self) -> &Arc<Source> {
        &self.source
    }

    /// The byte range.
    pub fn span(&self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// Line and column of the start, both from 1.
    pub fn position(&self) -> (usize, usize) {
        self.source.position(self.start as usize)
    }

    /// A place of `length` bytes that starts `offset` bytes into this one, clamped to it.
    #[must_use]
    pub fn part(&self, offset: usize, length: usize) -> Self {
        let Range { start, end } = self.span();
        let from = start.saturating_add(offset).min(end);
        Self::new(self.source.clone(), from..from.saturating_add(length).min(end))
    }
}

impl PartialEq for Location {
    fn eq(&self, other: &Self) -> bool {
        self.source.path == other.source.path && self.start == other.start && self.end == other.end
    }
}

impl Eq for Location {}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.source.text.is_empty() {
            return f.write_str(self.source.name());
        }
        let (line, column) = self.position();
        write!(f, "{}:{line}:{column}", self.source.name())
    }
}

impl fmt::Debug for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// Shows a path the short way: relative when it is below `base`, with `.` and `x/..` folded.
pub(crate) fn shown_name(path: &Path, base: Option<&Path>) -> String {
    let path = fold(path);
    let short = base.and_then(|base| path.strip_prefix(fold(base)).ok().map(Path::to_path_buf));
    match short {
        Some(short) if !short.as_os_str().is_empty() => short.display().to_string(),
        _ => path.display().to_string(),
    }
}

/// Folds `.` and `x/..` by name only, without reading the file system.
pub(crate) fn fold(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => match out.components().next_back() {
                Some(Component::Normal(_)) => {
                    out.pop();
                }
                Some(Component::RootDir | Component::Prefix(_)) => {}
                _ => out.push(".."),
            },
            other => out.push(other),
        }
    }
    if out.as_os_str().is_empty() { PathBuf::from(".") } else { out }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_characters_and_clamp() {
        let source = Source::named("a.yaml", "é: 1\nb: 2\n");
        assert_eq!(source.position(0), (1, 1));
        assert_eq!(source.position(2), (1, 2));
        assert_eq!(source.position(6), (2, 1));
        assert_eq!(source.position(999), (3, 1));
        assert_eq!(Source::named("e", "").position(7), (1, 1));
    }

    #[test]
    fn names_are_relative_only_below_the_base() {
        let base = Path::new("/w/app");
        assert_eq!(shown_name(Path::new("/w/app/agents/../mas.yaml"), Some(base)), "mas.yaml");
        assert_eq!(shown_name(Path::new("/w/other/mas.yaml"), Some(base)), "/w/other/mas.yaml");
        assert_eq!(shown_name(Path::new("./a/./b.yaml"), None), "a/b.yaml");
        assert_eq!(shown_name(Path::new("../a.yaml"), None), "../a.yaml");
    }
}
