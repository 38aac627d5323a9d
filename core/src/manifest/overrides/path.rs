//! The path of an override: text to steps.

use std::sync::Arc;

use crate::diagnostic::{Location, Source};

/// One step down.
#[derive(Clone, Debug)]
pub(super) struct Step {
    /// What it picks.
    pub(super) pick: Pick,
    /// Where it stands in the flag.
    pub(super) at: Location,
}

impl Step {
    /// The step, for a message.
    pub(super) fn shown(&self) -> String {
        match &self.pick {
            Pick::Key(key) => key.clone(),
            Pick::Index(index) => format!("[{index}]"),
            Pick::Where(key, value) => format!("[{key}={value}]"),
            Pick::Every => "[*]".to_owned(),
        }
    }
}

/// What a step picks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Pick {
    /// The entry of a map.
    Key(String),
    /// An item of a list, from 0.
    Index(usize),
    /// The items of a list whose key has this text.
    Where(String, String),
    /// Every item or entry.
    Every,
}

/// What is wrong with a path: from where to where, and why.
pub(super) type Slip = (usize, usize, String);

/// Where the `=` before the value stands: the first outside brackets.
pub(super) fn value_of(text: &str) -> Option<usize> {
    let mut quote = None;
    let mut escaped = false;
    let mut inside = false;
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(_), _) if escaped => escaped = false,
            (Some('"'), '\\') => escaped = true,
            (Some(open), c) if open == c => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') if inside => quote = Some(c),
            (None, '[') => inside = true,
            (None, ']') => inside = false,
            (None, '=') if !inside => return Some(at),
            (None, _) => {}
        }
    }
    None
}

/// The steps of `text` from `begin` on.
pub(super) fn steps(text: &str, begin: usize, source: &Arc<Source>) -> Result<Vec<Step>, Slip> {
    let mut steps = Vec::new();
    let mut at = begin;
    loop {
        let rest = text.get(at..).unwrap_or_default();
        let (pick, length) = if rest.starts_with('[') && at > begin {
            bracketed(rest, at)?
        } else {
            // After a selector, or between two keys, stands a dot.
            let dot = usize::from(at > begin);
            if dot == 1 && !rest.starts_with('.') {
                return Err((at, at + 1, "expected `.` or `[`".to_owned()));
            }
            let key = rest.get(dot..).unwrap_or_default();
            let end = key.find(['.', '[', ']']).unwrap_or(key.len());
            let key = key.get(..end).unwrap_or_default();
            if key.is_empty() || key.contains(char::is_whitespace) {
                let message = "expected the name of a key; one with dots or spaces is quoted: [\"a.b\"]";
                return Err((at, at + dot + end.max(1), message.to_owned()));
            }
            (Pick::Key(key.to_owned()), dot + end)
        };
        let dot = usize::from(rest.starts_with('.'));
        steps.push(Step { pick, at: Location::new(source.clone(), at + dot..at + length) });
        at += length;
        if at >= text.len() {
            break;
        }
    }
    let first = steps.first().filter(|step| step.pick == Pick::Key("spec".to_owned()));
    if first.is_none() || steps.len() < 2 {
        let message = "the path goes into `spec`: infra:spec.…";
        return Err((begin, text.len(), message.to_owned()));
    }
    Ok(steps)
}

/// A selector, and its length.
fn bracketed(rest: &str, at: usize) -> Result<(Pick, usize), Slip> {
    let inner = rest.get(1..).unwrap_or_default();
    let open = |what: &str| (at, at + rest.len(), format!("the {what} does not end"));
    if let Some((text, length)) = quoted(inner) {
        let text = text.ok_or_else(|| open("quoted key"))?;
        if !inner.get(length..).is_some_and(|rest| rest.starts_with(']')) {
            return Err((at, at + 1 + length, "expected `]` after the quoted key".to_owned()));
        }
        return Ok((Pick::Key(text), length + 2));
    }
    let end = inner.find(']').ok_or_else(|| open("selector"))?;
    let text = inner.get(..end).unwrap_or_default();
    let pick = match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() && !value.trim().is_empty() => {
            let value = value.trim();
            let value = quoted(value).and_then(|(value, _)| value).unwrap_or_else(|| value.to_owned());
            Some(Pick::Where(key.trim().to_owned(), value))
        }
        Some(_) => None,
        None if text == "*" => Some(Pick::Every),
        None => text.parse().ok().map(Pick::Index),
    };
    let message = "expected [0], [*], [id=x] or [\"key\"]; a key in brackets is quoted";
    pick.map(|pick| (pick, end + 2)).ok_or_else(|| (at, at + end + 2, message.to_owned()))
}

/// A quoted text at the beginning, nothing if it does not end, and its length; none for what is not quoted.
fn quoted(text: &str) -> Option<(Option<String>, usize)> {
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let mut out = String::new();
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => {
                out.push(c);
                escaped = false;
            }
            '\\' if quote == '"' => escaped = true,
            c if c == quote => return Some((Some(out), at + 1)),
            c => out.push(c),
        }
    }
    Some((None, text.len()))
}
