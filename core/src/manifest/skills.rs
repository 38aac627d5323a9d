//! Skills: directories with a `SKILL.md`.

use std::path::{Path, PathBuf};

use super::located::Located;
use super::options::{Options, Purpose};
use super::read;
use super::yaml::Node;
use crate::diagnostic::{Diagnostic, Severity};

/// A skill as an agent lists it.
#[derive(Clone, Debug, PartialEq)]
pub struct SkillEntry {
    /// Its name, as listed; may begin with `@library/`.
    pub name: Located<String>,
    /// The id for cards, if given.
    pub id: Option<String>,
    /// The description for cards, if given.
    pub description: Option<String>,
}

/// The skills an agent lists under `spec.skills`.
pub(crate) fn entries(agent: &Node) -> Vec<SkillEntry> {
    let items = agent.at_path("spec.skills").map_or(&[][..], Node::items);
    items
        .iter()
        .filter_map(|item| {
            let name =
                if item.is_scalar() { read::filled(Some(item)) } else { read::filled(item.get("name")) };
            Some(SkillEntry {
                name: name?,
                id: read::filled(item.get("id")).map(|id| id.value),
                description: read::filled(item.get("description")).map(|text| text.value),
            })
        })
        .collect()
}

/// Every skill whose text an agent needs, each once. An entry with its own description is for cards only.
pub(crate) fn names(agent: &Node) -> Vec<Located<String>> {
    let listed =
        entries(agent).into_iter().filter(|entry| entry.description.is_none()).map(|entry| entry.name);
    let mut names: Vec<Located<String>> = Vec::new();
    for name in listed.chain(read::texts(agent.at_path("spec.context_manager.skills"))) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Finds a skill's file: in the agent's directory and upwards to each root, then in the libraries.
pub(crate) fn find(
    name: &Located<String>,
    dir: &Path,
    roots: &[PathBuf],
    options: &Options,
) -> Option<PathBuf> {
    const MOST_UPWARDS: usize = 8;
    let (library, plain) = match name.strip_prefix('@').and_then(|rest| rest.split_once('/')) {
        Some((library, plain)) => (Some(library), plain),
        None => (None, name.value.as_str()),
    };
    // A name is one directory, never a way out of the application.
    if plain.is_empty() || plain.contains(['/', '\\']) || plain == ".." {
        return None;
    }
    let spellings = [plain.to_owned(), plain.replace('-', "_"), plain.replace('_', "-")];
    let within = |root: &Path| {
        let mut places = spellings.iter().flat_map(|name| [root.join("skills").join(name), root.join(name)]);
        places.find_map(|place| Some(place.join("SKILL.md")).filter(|file| file.is_file()))
    };
    if let Some(library) = library {
        return within(options.libraries.get(library)?);
    }
    let stop = |place: &Path| roots.iter().any(|root| root == place);
    let mut above = dir.ancestors().take(MOST_UPWARDS);
    // A lone agent file often lies in `agents/<name>/` of its application.
    let upwards = roots.iter().all(|root| root == dir);
    let found = if upwards {
        above.take(3).find_map(within)
    } else {
        let mut found = None;
        for place in above.by_ref() {
            found = within(place);
            if found.is_some() || stop(place) {
                break;
            }
        }
        found
    };
    found
        .or_else(|| roots.iter().find_map(|root| within(root)))
        .or_else(|| options.libraries.values().find_map(|root| within(root)))
}

/// The diagnostic of a skill that is not there.
pub(crate) fn missing(name: &Located<String>, purpose: Purpose) -> Diagnostic {
    let severity = if purpose == Purpose::Run { Severity::Error } else { Severity::Warning };
    let message = format!("the skill `{}` is not found", name.shown());
    let plain = name.rsplit('/').next().unwrap_or_default();
    let plain = if name.secret { "NAME" } else { plain };
    Diagnostic::error("mas::skill::missing", &name.at, message)
        .severity(severity)
        .help(format!("put it into `skills/{plain}/SKILL.md` beside the agent or the MAS"))
}
