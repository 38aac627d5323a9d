//! Variables from a file: `NAME=value` lines, as `--env` or `mas_ctl.env` names one.
//!
//! `export`, quotes, `#` comments and `$NAME` are read as a shell would; text in single quotes stays as it is. Of a
//! name that stands twice the last counts. No value of the file is ever shown: problems name the line only.

use std::{
    cell::Cell,
    io::{self, Read},
    path::Path,
};

use mas_core::{
    diagnostic::{Diagnostic, Location, Source},
    manifest::read_bytes,
};

/// Longest file of variables, in bytes.
const LONGEST: usize = 1024 * 1024;

/// Reads the variables of a file, in its order.
///
/// # Errors
/// A file that cannot be read, is too long or no UTF-8 text, or the first line that cannot be understood.
pub(crate) fn read(path: &Path, base: &Path) -> Result<Vec<(String, String)>, Diagnostic> {
    let bytes = read_bytes(path, Some(base))?;
    if bytes.len() > LONGEST {
        let message = format!("the file of variables is longer than {LONGEST} bytes");
        return Err(Diagnostic::error("mas::env::file", &at(path, base, 1), message));
    }
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let good = error.as_bytes().get(..error.utf8_error().valid_up_to()).unwrap_or_default();
            let line = good.iter().filter(|byte| **byte == b'\n').count().saturating_add(1);
            let message = "the file of variables is not UTF-8 text";
            return Err(Diagnostic::error("mas::env::file", &at(path, base, line), message));
        }
    };
    parse(&text).map_err(|line| {
        Diagnostic::error("mas::env::syntax", &at(path, base, line), "this line sets no variable")
            .help("write `NAME=value`; a value with blanks, `#` or `$` goes in single quotes")
    })
}

/// The variables of a text, or the line, from 1, that cannot be understood.
fn parse(text: &str) -> Result<Vec<(String, String)>, usize> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let line = Cell::new(0);
    // A blank at the very end would count as an open value, so the last line gets its end.
    let reader = Lines { rest: text.as_bytes(), fresh: true, line: &line }.chain("\n".as_bytes());
    dotenvy::from_read_iter(reader)
        .map(|item| {
            item.map_err(|error| match error {
                dotenvy::Error::LineParse(bad, _) => {
                    // A value in quotes goes over lines; it is found where it begins.
                    let more = bad.trim_end_matches(['\r', '\n']).matches('\n').count();
                    line.get().saturating_sub(more).max(1)
                }
                _ => line.get().max(1),
            })
        })
        .collect()
}

/// A place in the file, without its text: values are nobody's to see.
fn at(path: &Path, base: &Path, line: usize) -> Location {
    let mut text = "\n".repeat(line.saturating_sub(1));
    let start = text.len();
    text.push_str("(not shown)");
    let end = text.len();
    Location::new(Source::new(path, text, Some(base)), start..end)
}

/// Hands out one line a read, so that the number of the line that a parser is at is known.
struct Lines<'a> {
    rest: &'a [u8],
    fresh: bool,
    line: &'a Cell<usize>,
}

impl Read for Lines<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.rest.iter().position(|byte| *byte == b'\n').map_or(self.rest.len(), |end| end + 1);
        let length = length.min(buffer.len());
        let (now, later) = self.rest.split_at(length);
        if let Some(place) = buffer.get_mut(..length) {
            place.copy_from_slice(now);
        }
        if self.fresh && length > 0 {
            self.line.set(self.line.get().saturating_add(1));
        }
        self.fresh = now.ends_with(b"\n");
        self.rest = later;
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(text: &str) -> Vec<(String, String)> {
        parse(text).unwrap()
    }

    #[test]
    fn the_usual_spellings_are_read() {
        let text =
            "\u{feff}# keys\r\nA=1\r\nexport B = two \r\nC='a $A #b'\nD=\"x\\ny ${A}\" # note\nE=\nF=last ";
        let wanted = [("A", "1"), ("B", "two"), ("C", "a $A #b"), ("D", "x\ny 1"), ("E", ""), ("F", "last")];
        assert_eq!(pairs(text), wanted.map(|(name, value)| (name.to_owned(), value.to_owned())));
        assert_eq!(pairs(""), []);
        assert_eq!(pairs("\n# nothing\n"), []);
        assert_eq!(pairs("LONG='one\ntwo'\n"), [("LONG".to_owned(), "one\ntwo".to_owned())]);
        let long = "x".repeat(100_000);
        assert_eq!(pairs(&format!("A={long}\nB=1\n")).len(), 2);
    }

    #[test]
    fn a_bad_line_is_counted() {
        for (text, line) in [
            ("secret", 1),
            ("A=1\r\n\r\nsecret", 3),
            ("A=1\n# c\nB='open\nand on\n", 3),
            ("A='1\n2'\nB=two words\n", 3),
            ("A=1\n=x\n", 2),
            ("\u{feff}1A=x\n", 1),
        ] {
            assert_eq!(parse(text), Err(line), "{text:?}");
        }
        let long = "x".repeat(100_000);
        assert_eq!(parse(&format!("A={long}\nbad\n")), Err(2));
    }
}
