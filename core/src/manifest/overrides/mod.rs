//! `--override`: one value of what was loaded, replaced from the command line.
//!
//! ```text
//! infra:spec.endpoints["researcher"].url=http://127.0.0.1:9006
//! └┬──┘ └──────────────┬───────────────┘ └──────────┬────────┘
//!  root              path                      value, in YAML
//! ```
//!
//! A step of the path is a key (`spec`), a quoted key (`["any.key"]`), the place in a list (`[0]`), the item of a list
//! by one of its keys (`[id=x]`), or every item or entry (`[*]`). Everything but the last key must be there. Of several
//! documents the last that has the place is changed, for it wins; then it is checked like any document, and every
//! complaint points into the text of the flag.

mod apply;
mod path;

use std::sync::Arc;

pub use apply::apply;

use self::path::Step;
use super::environment::Environment;
use super::yaml::{Node, Value, parse};
use crate::diagnostic::{Diagnostic, Location, Report, Source, nearest, starred};

/// The name of the flag, as the source of what it says.
const FLAG: &str = "--override";

/// What MAS Lab lets this flag change beside the infra, which here is said in the files.
const ELSEWHERE: [&str; 5] = ["agent", "mas", "flavour", "experiment", "workspace"];

/// A value to be replaced, and what by.
#[derive(Clone, Debug)]
pub struct Override {
    steps: Vec<Step>,
    value: Node,
}

impl Override {
    /// Reads `infra:PATH=VALUE`; `env:VAR` in the value is a reference to the environment, as in files.
    ///
    /// # Errors
    /// What cannot be read, at its place in the text.
    pub fn parse(text: &str, environment: &Environment) -> Result<Self, Report> {
        let cut = path::value_of(text);
        let (steps, value) = match cut {
            Some(equals) => (text.get(..equals).unwrap_or_default(), equals + 1),
            None => (text, text.len()),
        };
        let source = Source::named(FLAG, hidden(text, steps, value));
        let problem = |start: usize, end: usize, message: String| -> Diagnostic {
            Diagnostic::error("mas::override::syntax", &Location::new(source.clone(), start..end), message)
        };
        let form = "write it as infra:PATH=VALUE, such as infra:spec.endpoints[\"researcher\"].timeout=30";
        let refuse = |diagnostic: Diagnostic| -> Report { [diagnostic].into_iter().collect() };
        let Some((root, _)) = steps.split_once(':').filter(|(root, _)| !root.contains(['.', '['])) else {
            let missing =
                problem(0, steps.len(), "nothing says what is to be changed: there is no `infra:`".into());
            return Err(refuse(missing.help(form)));
        };
        if root != "infra" {
            return Err(refuse(unknown_root(root, &Location::new(source, 0..root.len()))));
        }
        let begin = root.len() + 1;
        let steps = path::steps(steps, begin, &source)
            .map_err(|(start, end, message)| refuse(problem(start, end, message).help(form)))?;
        if cut.is_none() {
            let missing = problem(text.len(), text.len(), "there is no value: `=` is missing".into());
            return Err(refuse(missing.help(form)));
        }
        let mut value = read_value(text, value, &source)?;
        super::environment::substitute(&mut value, environment, &mut Vec::new());
        Ok(Self { steps, value })
    }
}

/// The text with its value starred out where that is a secret, so that no excerpt shows it.
fn hidden(text: &str, steps: &str, value: usize) -> String {
    let path = steps.to_ascii_lowercase();
    let place = Location::new(Source::named(FLAG, text), value..text.len());
    // A key of its own hides its value as it would in a file.
    let key = path.rsplit(['.', '[', '"', '\'', ']']).find(|part| !part.is_empty()).unwrap_or_default();
    let as_line = format!("{key}: x");
    let secret = path.contains("headers") || starred(&as_line, &[]) != as_line;
    starred(text, if secret { std::slice::from_ref(&place) } else { &[] })
}

fn unknown_root(root: &str, at: &Location) -> Diagnostic {
    let (message, help) = if ELSEWHERE.contains(&root) {
        let message = format!("`{root}:` is not changed by this flag, only `infra:` is");
        (message, "change it in its file".to_owned())
    } else {
        let near = nearest(root, ["infra"]).map(|near| format!("did you mean `{near}:`?"));
        let help = near.unwrap_or_else(|| "this flag changes `infra:`".to_owned());
        (format!("there is no `{root}:` to change"), help)
    };
    Diagnostic::error("mas::override::root", at, message).help(help)
}

/// The value, with places in the text of the flag.
fn read_value(text: &str, start: usize, source: &Arc<Source>) -> Result<Node, Report> {
    let (mut nodes, report) = parse(&Source::named(FLAG, text.get(start..).unwrap_or_default()));
    let here = |at: &Location| {
        let span = at.span();
        Location::new(source.clone(), span.start + start..span.end + start)
    };
    if report.has_errors() {
        let moved = report.into_iter().map(|mut diagnostic| {
            diagnostic.labels.iter_mut().for_each(|label| label.at = here(&label.at));
            diagnostic
        });
        return Err(moved.collect());
    }
    if nodes.len() > 1 {
        let at = Location::new(source.clone(), start..text.len());
        let several =
            Diagnostic::error("mas::override::syntax", &at, "the value is several documents, not one");
        return Err([several].into_iter().collect());
    }
    let nothing = || Node::collection(Value::Null, Location::new(Source::named(FLAG, ""), 0..0));
    let mut value = nodes.pop().unwrap_or_else(nothing);
    place(&mut value, &here);
    Ok(value)
}

fn place(node: &mut Node, here: &impl Fn(&Location) -> Location) {
    node.at = here(&node.at);
    match &mut node.value {
        Value::List(items) => items.iter_mut().for_each(|item| place(item, here)),
        Value::Map(map) => map.iter_mut().for_each(|entry| {
            entry.key_at = here(&entry.key_at);
            place(&mut entry.value, here);
        }),
        _ => {}
    }
}
