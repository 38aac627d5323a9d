//! Reading checked trees into values; what does not fit was reported by the shape check and is skipped.

use serde_json::Value as Json;

use super::located::{Located, Params, Selection};
use super::shape::{read_flag, read_int, read_number};
use super::yaml::{Node, Style};

// A missing variable has no value; its problem is raised where the value is needed.
fn present(node: Option<&Node>) -> Option<&Node> {
    node.filter(|node| !node.is_null() && node.style != Style::MissingEnv)
}

pub(crate) fn text(node: Option<&Node>) -> Option<Located<String>> {
    present(node).filter(|node| node.is_scalar()).map(Located::of)
}

pub(crate) fn filled(node: Option<&Node>) -> Option<Located<String>> {
    text(node).filter(|text| !text.trim().is_empty())
}

pub(crate) fn texts(node: Option<&Node>) -> Vec<Located<String>> {
    node.map_or(&[][..], Node::items).iter().filter_map(|item| text(Some(item))).collect()
}

pub(crate) fn flag(node: Option<&Node>) -> Option<Located<bool>> {
    present(node).and_then(|node| read_flag(node).map(|flag| Located::new(flag, node.at.clone())))
}

pub(crate) fn int(node: Option<&Node>) -> Option<Located<i64>> {
    present(node).and_then(|node| read_int(node).map(|number| Located::new(number, node.at.clone())))
}

pub(crate) fn number(node: Option<&Node>) -> Option<Located<f64>> {
    present(node).and_then(|node| read_number(node).map(|number| Located::new(number, node.at.clone())))
}

/// A number or a list of numbers.
pub(crate) fn numbers(node: Option<&Node>) -> Option<Located<Json>> {
    let node = present(node)?;
    let value = if node.is_scalar() {
        read_number(node).map(Json::from)
    } else {
        node.items().iter().map(|item| read_number(item).map(Json::from)).collect()
    };
    value.map(|value| Located::new(value, node.at.clone()))
}

/// A choice `{type|ref|protocol, params|config}`.
pub(crate) fn selection(node: Option<&Node>) -> Option<Selection> {
    let node = present(node)?;
    if node.is_scalar() {
        return Some(Selection { name: Located::of(node), params: Params::none(node.at.clone()) });
    }
    let name = ["type", "ref", "protocol"].iter().find_map(|key| filled(node.get(key)))?;
    let params = Params::of_or_none(node.get("params").or_else(|| node.get("config")), &name.at);
    Some(Selection { name, params })
}

/// The observability sinks of a list: names, and maps of a name to its parameters.
pub(crate) fn observers(list: Option<&Node>) -> Vec<Selection> {
    let chosen = |item: &Node| -> Vec<Selection> {
        let Some(map) = item.map() else { return selection(Some(item)).into_iter().collect() };
        let entries = map.iter().map(|entry| Selection {
            name: Located::new(entry.key.to_string(), entry.key_at.clone()),
            params: Params::of_or_none(Some(&entry.value), &entry.key_at),
        });
        entries.collect()
    };
    list.map_or(&[][..], Node::items).iter().flat_map(chosen).collect()
}

/// The entries of a map as texts.
pub(crate) fn text_map(node: Option<&Node>) -> Vec<(Located<String>, Located<String>)> {
    let entries = node.and_then(Node::map).into_iter().flat_map(|map| map.iter());
    entries
        .filter_map(|entry| {
            let key = Located::new(entry.key.to_string(), entry.key_at.clone());
            text(Some(&entry.value)).map(|value| (key, value))
        })
        .collect()
}
