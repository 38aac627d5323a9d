//! Shapes: what a document of a kind may hold, as data.
//!
//! A shape is checked against the whole tree at once, so that every problem of a file shows in one run; after that,
//! reading the tree into types cannot fail, it only skips what was already reported.

mod search;
mod table;
mod values;

use search::{distance, places_of};
pub(crate) use table::{Field, Fields, Rule, Shape, closed, may, must, open};
pub(crate) use values::{read_flag, read_int, read_number};

use crate::diagnostic::{Diagnostic, Report, Severity, nearest, one_of};
use crate::manifest::yaml::{Entry, Map, Node, Style, Value};

/// Checks a tree against a shape; `root` is the whole kind's shape, searched for keys at the wrong level.
pub(crate) fn check(node: &Node, shape: &Shape, lenient: bool, report: &mut Report) {
    let mut walker = Walker { root: shape, path: Vec::new(), lenient, report };
    walker.visit(node, shape);
}

struct Walker<'a> {
    root: &'a Shape,
    path: Vec<Step<'a>>,
    lenient: bool,
    report: &'a mut Report,
}

enum Step<'a> {
    Key(&'a str),
    Index(usize),
}

impl<'a> Walker<'a> {
    fn visit(&mut self, node: &'a Node, shape: &'a Shape) {
        // Already warned about; its type is not known.
        if node.style == Style::MissingEnv && takes_scalar(shape) {
            return;
        }
        match shape {
            Shape::Any => {}
            Shape::Maybe(_) if node.is_null() => {}
            Shape::Maybe(inner) => self.visit(node, inner),
            Shape::Either(options) => self.either(node, options),
            Shape::Text => self.text(node).map_or((), |_| ()),
            Shape::Name => {
                if let Some(text) = self.text(node)
                    && text.trim().is_empty()
                {
                    self.wrong(node, "expected a text, found an empty string".to_owned());
                }
            }
            Shape::Ruled(rule) => {
                // A schema cannot tell `True` from `true`, so such a name is written in quotes.
                let plain = !matches!(node.value, Value::Bool(_)) || rule.plain.contains(&"boolean");
                if let Some(text) = self.text(node)
                    && !(plain && (rule.fits)(text))
                {
                    self.wrong(node, format!("expected {}, found {}", rule.what, quoted(node)));
                }
            }
            Shape::Word(words) => self.word(node, words),
            Shape::Flag => {
                if read_flag(node).is_none() {
                    self.wrong(node, format!("expected `true` or `false`, found {}", found(node)));
                }
            }
            Shape::Int(low, high) => match read_int(node) {
                Some(number) if (*low..=*high).contains(&number) => {}
                Some(_) => self.wrong(
                    node,
                    format!(
                        "expected a whole number {}, found {}",
                        bounds(low, high, *high == i64::MAX),
                        found(node)
                    ),
                ),
                None => self.wrong(node, format!("expected a whole number, found {}", found(node))),
            },
            Shape::Number(low, high) => match read_number(node) {
                Some(number) if number.is_finite() && (*low..=*high).contains(&number) => {}
                Some(_) => self.wrong(
                    node,
                    format!(
                        "expected a number {}, found {}",
                        bounds(low, high, *high == f64::MAX),
                        found(node)
                    ),
                ),
                None => self.wrong(node, format!("expected a number, found {}", found(node))),
            },
            Shape::List(item) | Shape::Filled(item) => match &node.value {
                Value::List(items) => {
                    if items.is_empty() && matches!(shape, Shape::Filled(_)) {
                        self.wrong(node, "expected at least one item, found an empty list".to_owned());
                    }
                    for (index, node) in items.iter().enumerate() {
                        self.path.push(Step::Index(index));
                        self.visit(node, item);
                        self.path.pop();
                    }
                }
                _ => self.wrong(node, format!("expected a list, found {}", found(node))),
            },
            Shape::MapOf(value) => match &node.value {
                Value::Map(map) => {
                    for entry in map.iter() {
                        self.step(&entry.key, &entry.value, value);
                    }
                }
                _ => self.wrong(node, format!("expected a map, found {}", found(node))),
            },
            Shape::Record(fields) => match &node.value {
                Value::Map(map) => self.record(node, map, fields),
                _ => self.wrong(node, format!("expected a map, found {}", found(node))),
            },
        }
    }

    fn step(&mut self, key: &'a str, node: &'a Node, shape: &'a Shape) {
        self.path.push(Step::Key(key));
        self.visit(node, shape);
        self.path.pop();
    }

    fn either(&mut self, node: &'a Node, options: &'a [Shape]) {
        let fit = options.iter().find(|option| fits_outside(node, option));
        if let Some(option) = fit {
            return self.visit(node, option);
        }
        let wanted: Vec<&str> = options.iter().map(outside).collect();
        self.wrong(node, format!("expected {}, found {}", wanted.join(" or "), found(node)));
    }

    fn record(&mut self, node: &'a Node, map: &'a Map, fields: &'a Fields) {
        for entry in map.iter() {
            match fields.fields.iter().find(|field| *entry.key == *field.name) {
                Some(field) => self.step(&entry.key, &entry.value, &field.shape),
                None if entry.key.starts_with("x-mas-") => self.unknown_own(entry, fields),
                None if entry.key.starts_with("x-") || fields.open => {}
                None => self.unknown(entry, map, fields),
            }
        }
        for field in fields.fields.iter().filter(|field| field.required && map.get(field.name).is_none()) {
            let place = self.shown();
            let place = if place.is_empty() { String::new() } else { format!("{place}: ") };
            let severity =
                if self.lenient && self.path.is_empty() { Severity::Warning } else { Severity::Error };
            // The whole map as a label would paint the file red: its first character is enough.
            let at = node.at.part(0, 1);
            self.report.push(
                Diagnostic::error(
                    "mas::manifest::missing",
                    &at,
                    format!("{place}the key `{}` is missing", field.name),
                )
                .severity(severity)
                .says(format!("`{}` belongs in this map", field.name)),
            );
        }
    }

    fn unknown(&mut self, entry: &Entry, map: &Map, fields: &Fields) {
        let place = self.shown();
        let message = if place.is_empty() {
            format!("unknown key `{}` at the top level", entry.key)
        } else {
            format!("{place}: unknown key `{}`", entry.key)
        };
        let free = fields.fields.iter().map(|field| field.name).filter(|name| map.get(name).is_none());
        let help = nearest(&entry.key, free)
            .map(|name| format!("did you mean `{name}`?"))
            .or_else(|| self.elsewhere(&entry.key))
            .unwrap_or_else(|| {
                let names = fields.fields.iter().map(|field| field.name);
                format!("known here: {}; extensions begin with `x-`", one_of(names))
            });
        let severity = if self.lenient { Severity::Warning } else { Severity::Error };
        let diagnostic = Diagnostic::error("mas::manifest::unknown_key", &entry.key_at, message);
        self.report.push(diagnostic.severity(severity).help(help));
    }

    fn unknown_own(&mut self, entry: &Entry, fields: &Fields) {
        let own = fields.fields.iter().map(|field| field.name).filter(|name| name.starts_with("x-mas-"));
        let help =
            nearest(&entry.key, own.clone()).map(|name| format!("did you mean `{name}`?")).or_else(|| {
                let names = one_of(own);
                Some(if names.is_empty() {
                    "no `x-mas-…` key is known here".to_owned()
                } else {
                    format!("known here: {names}")
                })
            });
        let message =
            format!("unknown key `{}`: keys that begin with `x-mas-` are this program's own", entry.key);
        self.report
            .push(Diagnostic::error("mas::manifest::unknown_key", &entry.key_at, message).help_if(help));
    }

    fn elsewhere(&self, key: &str) -> Option<String> {
        let mut places = Vec::new();
        places_of(self.root, key, &mut String::new(), 0, &mut places);
        let here = self.pattern();
        places.retain(|place| *place != here);
        let place = places.into_iter().min_by_key(|place| distance(place, &here))?;
        let place = if place.is_empty() { "at the top level".to_owned() } else { format!("in `{place}`") };
        Some(format!("`{key}` belongs {place}"))
    }

    fn text<'n>(&mut self, node: &'n Node) -> Option<&'n str> {
        match node.value {
            Value::Str | Value::Int(_) | Value::Float(_) | Value::Bool(_) => Some(node.text()),
            _ => {
                self.wrong(node, format!("expected a string, found {}", found(node)));
                None
            }
        }
    }

    fn word(&mut self, node: &Node, words: &[&'static str]) {
        let Some(text) = self.text(node) else { return };
        if words.contains(&text) {
            return;
        }
        let message =
            self.at_path(format!("expected {}, found {}", one_of(words.iter().copied()), quoted(node)));
        let help = nearest(text, words.iter().copied()).map(|word| format!("did you mean `{word}`?"));
        self.report.push(Diagnostic::error("mas::manifest::value", &node.at, message).help_if(help));
    }

    fn wrong(&mut self, node: &Node, message: String) {
        let at = if node.is_scalar() { node.at.clone() } else { node.at.part(0, first_line(node)) };
        let message = self.at_path(message);
        let help = node.is_null().then(|| "give it a value or remove the key".to_owned());
        self.report.push(Diagnostic::error("mas::manifest::type", &at, message).help_if(help));
    }

    fn at_path(&self, message: String) -> String {
        let place = self.shown();
        if place.is_empty() { message } else { format!("{place}: {message}") }
    }

    fn shown(&self) -> String {
        join(&self.path, |index| format!("[{index}]"))
    }

    fn pattern(&self) -> String {
        join(&self.path, |_| "[]".to_owned())
    }
}

fn join(path: &[Step<'_>], index: impl Fn(usize) -> String) -> String {
    path.iter().fold(String::new(), |mut out, step| {
        match step {
            Step::Index(at) => out.push_str(&index(*at)),
            Step::Key(key) => {
                if !out.is_empty() {
                    out.push('.');
                }
                out.push_str(key);
            }
        }
        out
    })
}

fn first_line(node: &Node) -> usize {
    let text = node.at.source().text();
    text.get(node.at.span())
        .and_then(|part| part.lines().next())
        .map_or(1, |line| line.trim_end().len().max(1))
}

fn quoted(node: &Node) -> String {
    if node.is_secret() {
        return "a value from the environment".to_owned();
    }
    let mut short: String = node.text().chars().take(40).collect();
    if short.len() < node.text().len() {
        short.push('…');
    }
    format!("`{short}`")
}

fn found(node: &Node) -> String {
    match node.value {
        Value::Bool(_) | Value::Int(_) | Value::Float(_) if !node.is_secret() => {
            format!("{} ({})", node.noun(), quoted(node))
        }
        _ => node.noun().to_owned(),
    }
}

fn bounds<T: std::fmt::Display>(low: &T, high: &T, unbounded: bool) -> String {
    if unbounded { format!("of at least {low}") } else { format!("from {low} to {high}") }
}

/// Whether a scalar other than nothing may stand here.
pub(crate) fn takes_scalar(shape: &Shape) -> bool {
    match shape {
        Shape::List(_) | Shape::Filled(_) | Shape::MapOf(_) | Shape::Record(_) => false,
        Shape::Maybe(inner) => takes_scalar(inner),
        Shape::Either(options) => options.iter().any(takes_scalar),
        _ => true,
    }
}

fn outside(shape: &Shape) -> &'static str {
    match shape {
        Shape::List(_) | Shape::Filled(_) => "a list",
        Shape::MapOf(_) | Shape::Record(_) => "a map",
        Shape::Flag => "`true` or `false`",
        Shape::Int(..) => "a whole number",
        Shape::Number(..) => "a number",
        Shape::Maybe(inner) => outside(inner),
        _ => "a string",
    }
}

fn fits_outside(node: &Node, shape: &Shape) -> bool {
    match shape {
        Shape::Any => true,
        Shape::List(_) | Shape::Filled(_) => matches!(node.value, Value::List(_)),
        Shape::MapOf(_) | Shape::Record(_) => matches!(node.value, Value::Map(_)),
        Shape::Maybe(inner) => node.is_null() || fits_outside(node, inner),
        Shape::Either(options) => options.iter().any(|option| fits_outside(node, option)),
        Shape::Flag => read_flag(node).is_some(),
        Shape::Int(..) => read_int(node).is_some(),
        Shape::Number(..) => read_number(node).is_some(),
        _ => node.is_scalar() && !node.is_null(),
    }
}
