//! The registry: every implementation that the program knows, by category and name.
//!
//! ```text
//!   inventory (linked in) ─┐
//!   libraries (loaded)    ─┴─ Descriptor ── Registry ─┬─ find, build_*   wiring
//!                                                     ├─ list, query     listings, docs
//!                                                     └─ default_name ── select_agent_comm
//! ```
//!
//! Within one category a name or an alias belongs to one descriptor. `name@v1` is read as `name` unless
//! versions of it are registered apart (as `name@v2`).

mod build;
mod error;
mod list;
mod select;

use std::collections::{BTreeMap, btree_map};

use mas_contracts::{Category, Descriptor, inventory};

use crate::diagnostic::nearest;

pub use error::RegistryError;
pub use list::Row;
pub use select::{Choices, Selection, Source, select_agent_comm};

/// The implementations that the program knows, sorted by category and name.
#[derive(Clone, Debug)]
pub struct Registry {
    descriptors: Vec<Descriptor>,
    names: BTreeMap<Category, BTreeMap<String, usize>>,
    defaults: BTreeMap<Category, String>,
}

impl Registry {
    /// The registry of what is linked into the program.
    ///
    /// # Errors
    /// Every name that is blank or claimed twice.
    pub fn linked() -> Result<Self, Vec<RegistryError>> {
        Self::new(inventory::iter::<Descriptor>.into_iter().cloned())
    }

    /// The registry of these descriptors, in any order.
    ///
    /// # Errors
    /// Every name that is blank or claimed twice.
    pub fn new(descriptors: impl IntoIterator<Item = Descriptor>) -> Result<Self, Vec<RegistryError>> {
        let (registry, errors) = Self::collect(descriptors);
        if errors.is_empty() { Ok(registry) } else { Err(errors) }
    }

    /// The registry of the descriptors that claim their names first, and what is wrong with the others.
    ///
    /// The order of the claims is that of category, name, origin and version, whatever the order given. A
    /// descriptor loses only the names that are taken.
    pub fn collect(descriptors: impl IntoIterator<Item = Descriptor>) -> (Self, Vec<RegistryError>) {
        let mut descriptors: Vec<_> = descriptors.into_iter().collect();
        descriptors.sort_by(|a, b| {
            let key = |d: &Descriptor| d.builder.category();
            key(a)
                .cmp(&key(b))
                .then_with(|| a.name.cmp(&b.name))
                .then_with(|| a.origin.cmp(&b.origin))
                .then_with(|| a.version.cmp(&b.version))
        });
        let mut errors = Vec::new();
        let mut names: BTreeMap<Category, BTreeMap<String, usize>> = BTreeMap::new();
        let mut claim = |index: usize, descriptor: &Descriptor, name: &str| {
            let category = descriptor.builder.category();
            if name.trim().is_empty() {
                errors.push(RegistryError::Blank { category, origin: descriptor.origin.to_string() });
                return;
            }
            match names.entry(category).or_default().entry(name.to_owned()) {
                btree_map::Entry::Vacant(free) => {
                    free.insert(index);
                }
                btree_map::Entry::Occupied(taken) => errors.push(RegistryError::Duplicate {
                    category,
                    name: name.to_owned(),
                    first: descriptors.get(*taken.get()).map(|d| d.origin.to_string()).unwrap_or_default(),
                    second: descriptor.origin.to_string(),
                }),
            }
        };
        // Names before aliases, so that an alias never takes the name of another descriptor.
        for (index, descriptor) in descriptors.iter().enumerate() {
            claim(index, descriptor, &descriptor.name);
        }
        for (index, descriptor) in descriptors.iter().enumerate() {
            for alias in descriptor.aliases.iter() {
                claim(index, descriptor, alias);
            }
        }
        (Self { descriptors, names, defaults: BTreeMap::new() }, errors)
    }

    /// Sets the default of a category, as `defaults` of a configuration does.
    #[must_use]
    pub fn with_default(mut self, category: Category, name: impl Into<String>) -> Self {
        self.defaults.insert(category, name.into());
        self
    }

    /// The name that a category falls back to; none for one that stays empty unless it is asked for.
    #[must_use]
    pub fn default_name(&self, category: Category) -> Option<&str> {
        self.defaults.get(&category).map(String::as_str).or(match category {
            Category::Delegation => Some("delegate_tools"),
            Category::AgentComm => Some("local"),
            Category::AgentExpose => Some("a2a"),
            Category::DesignPattern => Some("react"),
            Category::LlmProvider => Some("openai"),
            Category::ToolProvider => Some("native"),
            Category::ContextManager => Some("sliding-window"),
            Category::Store => Some("memory"),
            Category::ControlProtocol | Category::Observability => None,
        })
    }

    /// The descriptor of this name or alias.
    ///
    /// # Errors
    /// [`RegistryError::Unknown`], with the names available and what was probably meant.
    pub fn find(&self, category: Category, name: &str) -> Result<&Descriptor, RegistryError> {
        self.lookup(category, name).ok_or_else(|| self.unknown(category, name))
    }

    /// Every descriptor, sorted by category and name.
    pub fn descriptors(&self) -> impl Iterator<Item = &Descriptor> {
        self.descriptors.iter()
    }

    fn lookup(&self, category: Category, name: &str) -> Option<&Descriptor> {
        let names = self.names.get(&category)?;
        let index = names.get(name).or_else(|| {
            let base = unversioned(name)?;
            let apart = |other: &String| other.strip_prefix(base).is_some_and(|rest| rest.starts_with('@'));
            if names.keys().any(apart) { None } else { names.get(base) }
        })?;
        self.descriptors.get(*index)
    }

    fn unknown(&self, category: Category, name: &str) -> RegistryError {
        let default = self.default_name(category);
        let mut available: Vec<_> = self.of(category).map(|d| d.name.to_string()).collect();
        available.sort_by_key(|name| Some(name.as_str()) != default);
        available.dedup();
        let elsewhere =
            Category::ALL.into_iter().find(|other| *other != category && self.lookup(*other, name).is_some());
        let claimed = self.names.get(&category).into_iter().flat_map(BTreeMap::keys).map(String::as_str);
        let meant = match elsewhere {
            Some(_) => None,
            None => nearest(unversioned(name).unwrap_or(name), claimed).map(str::to_owned),
        };
        RegistryError::Unknown { category, name: name.to_owned(), available, meant, elsewhere }
    }

    fn of(&self, category: Category) -> impl Iterator<Item = &Descriptor> {
        self.descriptors.iter().filter(move |descriptor| descriptor.builder.category() == category)
    }
}

/// The name without a version such as `@v1` or `@1.2`; none if it has no version.
fn unversioned(name: &str) -> Option<&str> {
    let (base, version) = name.rsplit_once('@')?;
    let digits = version.strip_prefix('v').unwrap_or(version);
    let versioned =
        digits.split('.').all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()));
    (versioned && !base.is_empty()).then_some(base)
}

#[cfg(test)]
mod tests;
