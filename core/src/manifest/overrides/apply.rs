//! Overrides put into documents.

use std::sync::Arc;

use super::Override;
use super::path::{Pick, Step};
use crate::diagnostic::{Diagnostic, Location, Report, nearest, one_of};
use crate::manifest::checks;
use crate::manifest::document::Document;
use crate::manifest::environment::missing_of;
use crate::manifest::options::{Options, Purpose};
use crate::manifest::shape;
use crate::manifest::typed::InfraDocument;
use crate::manifest::validate::Known;
use crate::manifest::yaml::{Entry, Map, Node, Value};

/// Puts every override into the infra, in order; later documents win over earlier ones. What is changed is checked like
/// any document; the answer holds what that finds and stops nothing.
///
/// # Errors
/// Every problem at its place in the text of the flag: nothing there to change, or a value that does not fit.
pub fn apply(
    overrides: &[Override],
    infra: &mut [&mut InfraDocument],
    options: &Options,
) -> Result<Report, Report> {
    let mut report = Report::new();
    let mut changed = vec![false; infra.len()];
    for change in overrides {
        match places(&change.steps, infra) {
            Ok(places) => {
                for at in places {
                    let document = infra.get_mut(at).and_then(|infra| infra.document_mut());
                    if let (Some(document), Some(changed)) = (document, changed.get_mut(at)) {
                        put(Arc::make_mut(&mut document.node), &change.steps, &change.value);
                        *changed = true;
                    }
                }
            }
            Err(problem) => report.push(*problem),
        }
    }
    for (infra, _) in infra.iter_mut().zip(changed).filter(|(_, changed)| *changed) {
        let Some(document) = infra.document_mut() else { continue };
        shape::check(&document.node, document.kind.shape(), options.lenient, &mut report);
        checks::check_document(document.kind, &document.node, Purpose::Run, Known::default(), &mut report);
        document.missing = missing_of(&document.node).into();
        infra.read_again();
    }
    let report = report.sorted();
    if report.has_errors() { Err(report) } else { Ok(report) }
}

/// Why a path leads nowhere, and how far it led.
struct Miss {
    depth: usize,
    message: String,
    help: Option<String>,
}

/// Which documents an override changes, by their place: the last that has it, for that one wins.
fn places(steps: &[Step], infra: &[&mut InfraDocument]) -> Result<Vec<usize>, Box<Diagnostic>> {
    let documents: Vec<(usize, &Document)> =
        infra.iter().enumerate().rev().filter_map(|(at, infra)| Some((at, infra.document()?))).collect();
    if documents.is_empty() {
        let message = "there is no infra to change: no file declares endpoints or a model provider";
        let help = "give infra by --infra-ref, or the address of an agent by --bind NAME=a2a://HOST:PORT";
        let at = place_of(steps, 0);
        return Err(Box::new(Diagnostic::error("mas::override::nothing", &at, message).help(help)));
    }
    let row = row_of(steps);
    let has_row = |document: &Document| match row {
        Some(Pick::Key(row)) => document.get("spec.endpoints").is_some_and(|rows| rows.get(row).is_some()),
        _ => false,
    };
    // The row of a later document stands for that of an earlier one: no other counts.
    let owner = documents.iter().find(|(_, document)| has_row(document));
    let looked = owner.map_or(documents.as_slice(), std::slice::from_ref);
    let (mut found, mut deepest) = (Vec::new(), None::<Miss>);
    for (at, document) in looked {
        match look(&document.node, steps, 0) {
            Ok(()) => found.push(*at),
            Err(miss) if deepest.as_ref().is_none_or(|best| miss.depth > best.depth) => deepest = Some(miss),
            Err(_) => {}
        }
    }
    if let (true, Some(miss)) = (found.is_empty(), deepest) {
        let at = place_of(steps, miss.depth);
        return Err(Box::new(
            Diagnostic::error("mas::override::unknown", &at, miss.message).help_if(miss.help),
        ));
    }
    if row != Some(&Pick::Every) {
        found.truncate(1);
    }
    Ok(found)
}

/// What picks the row of an endpoint.
fn row_of(steps: &[Step]) -> Option<&Pick> {
    let endpoints = steps.get(1).is_some_and(|step| step.pick == Pick::Key("endpoints".to_owned()));
    steps.get(2).filter(|_| endpoints).map(|step| &step.pick)
}

fn place_of(steps: &[Step], depth: usize) -> Location {
    let step = steps.get(depth).or(steps.last());
    step.map_or_else(|| Location::named(super::FLAG), |step| step.at.clone())
}

/// Whether the steps lead somewhere from a node.
fn look(node: &Node, steps: &[Step], depth: usize) -> Result<(), Miss> {
    let Some(step) = steps.get(depth) else { return Ok(()) };
    let last = depth + 1 == steps.len();
    let miss = |message: String, help: Option<String>| Err(Miss { depth, message, help });
    let whose = steps
        .get(depth.wrapping_sub(1))
        .map_or_else(|| "the document".to_owned(), |above| format!("`{}`", above.shown()));
    match (&step.pick, &node.value) {
        (Pick::Key(key), Value::Map(map)) => match map.get(key) {
            Some(value) => look(value, steps, depth + 1),
            None if last => Ok(()),
            None => {
                let keys = || map.iter().map(|entry| &*entry.key);
                let help = dotted(map, steps.get(depth..).unwrap_or_default())
                    .map(|key| format!("a key with a dot is quoted: [\"{key}\"]"));
                let help =
                    help.or_else(|| nearest(key, keys()).map(|near| format!("did you mean `{near}`?")));
                let help = help.or_else(|| {
                    let whole = whole(steps.get(depth..).unwrap_or_default());
                    (!map.is_empty()).then(|| format!("there: {}{whole}", one_of(keys())))
                });
                miss(format!("there is no `{key}` in {whose}"), help)
            }
        },
        (Pick::Key(key), _) => miss(format!("{whose} is {}, so it has no `{key}`", node.noun()), None),
        (Pick::Index(index), Value::List(items)) => match items.get(*index) {
            Some(item) => look(item, steps, depth + 1),
            None => miss(format!("{whose} has {} items, counted from 0", items.len()), None),
        },
        (Pick::Index(_) | Pick::Where(..), Value::Map(map)) => {
            let keys = one_of(map.iter().map(|entry| &*entry.key));
            miss(format!("{whose} is a map: its entries are picked by key"), Some(format!("there: {keys}")))
        }
        (Pick::Where(key, wanted), Value::List(items)) => {
            let texts = || items.iter().filter_map(|item| item.get(key)).map(Node::text);
            let mut fitting = items.iter().filter(|item| fits(item, key, wanted)).peekable();
            if fitting.peek().is_none() {
                let help = nearest(wanted, texts()).map(|near| format!("did you mean `{near}`?"));
                return miss(format!("no item of {whose} has `{key}: {wanted}`"), help);
            }
            fitting.try_for_each(|item| look(item, steps, depth + 1))
        }
        (Pick::Every, Value::List(items)) if !items.is_empty() => {
            items.iter().try_for_each(|item| look(item, steps, depth + 1))
        }
        (Pick::Every, Value::Map(map)) if !map.is_empty() => {
            map.iter().try_for_each(|entry| look(&entry.value, steps, depth + 1))
        }
        (Pick::Every, Value::List(_) | Value::Map(_)) => miss(format!("{whose} is empty"), None),
        (_, _) => miss(format!("{whose} is {}, so nothing is picked from it", node.noun()), None),
    }
}

/// A key of the map that holds dots, where the steps are its pieces.
fn dotted<'a>(map: &'a Map, steps: &[Step]) -> Option<&'a str> {
    map.iter().map(|entry| &*entry.key).find(|key| {
        let mut steps = steps.iter();
        let is = |step: Option<&Step>, piece: &str| {
            step.is_some_and(|step| matches!(&step.pick, Pick::Key(key) if key == piece))
        };
        key.contains('.') && key.split('.').all(|piece| is(steps.next(), piece))
    })
}

/// How a map that is not there is given together with one key of it.
fn whole(steps: &[Step]) -> String {
    match steps {
        [Step { pick: Pick::Key(map), .. }, Step { pick: Pick::Key(key), .. }] => {
            format!("; what is not there is given as a whole: {map}={{\"{key}\": VALUE}}")
        }
        _ => String::new(),
    }
}

fn fits(item: &Node, key: &str, wanted: &str) -> bool {
    item.get(key).is_some_and(|value| value.is_scalar() && value.text() == wanted)
}

/// Replaces what the steps lead to.
fn put(node: &mut Node, steps: &[Step], value: &Node) {
    let Some((step, below)) = steps.split_first() else {
        *node = value.clone();
        return;
    };
    match (&step.pick, &mut node.value) {
        (Pick::Key(key), Value::Map(map)) => match map.get_mut(key) {
            Some(inner) => put(inner, below, value),
            None => {
                let entry =
                    Entry { key: Arc::from(key.as_str()), key_at: step.at.clone(), value: value.clone() };
                *map = Map::new(map.iter().cloned().chain([entry]).collect());
            }
        },
        (Pick::Index(index), Value::List(items)) => {
            items.get_mut(*index).into_iter().for_each(|item| put(item, below, value));
        }
        (Pick::Where(key, wanted), Value::List(items)) => {
            let fitting = items.iter_mut().filter(|item| fits(item, key, wanted));
            fitting.for_each(|item| put(item, below, value));
        }
        (Pick::Every, Value::List(items)) => items.iter_mut().for_each(|item| put(item, below, value)),
        (Pick::Every, Value::Map(map)) => {
            map.iter_mut().for_each(|entry| put(&mut entry.value, below, value));
        }
        _ => {}
    }
}
