//! Listings.

use mas_contracts::{Category, Descriptor};
use serde::Serialize;
use serde_json::Value;

use super::{Registry, RegistryError};
use crate::diagnostic::nearest;

/// One line of a listing.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The category.
    pub category: Category,
    /// The name.
    pub name: String,
    /// Other names of the same thing.
    pub aliases: Vec<String>,
    /// Whether the category falls back to it.
    pub default: bool,
    /// Its version.
    pub version: String,
    /// The crate it is linked from, or the path of its library.
    pub origin: String,
    /// One sentence.
    pub summary: String,
    /// A short example of its parameters, in YAML.
    pub example: String,
    /// The JSON schema of its parameters.
    pub parameters: Value,
}

impl Registry {
    /// The category of this name.
    ///
    /// # Errors
    /// [`RegistryError::UnknownCategory`], with the categories and what was probably meant.
    pub fn category(name: &str) -> Result<Category, RegistryError> {
        Category::ALL.into_iter().find(|category| category.as_str() == name).ok_or_else(|| {
            let meant = nearest(name, Category::ALL.map(Category::as_str));
            RegistryError::UnknownCategory { name: name.to_owned(), meant }
        })
    }

    /// Everything, or everything of one category, sorted by category and name.
    #[must_use]
    pub fn list(&self, only: Option<Category>) -> Vec<Row> {
        self.rows(|descriptor| only.is_none_or(|category| descriptor.builder.category() == category))
    }

    /// What begins with `prefix`, whatever the case: the name, an alias, the category, or `category/name`.
    #[must_use]
    pub fn query(&self, prefix: &str) -> Vec<Row> {
        let prefix = prefix.to_lowercase();
        let begins = |name: &str| name.to_lowercase().starts_with(&prefix);
        self.rows(|descriptor| {
            let category = descriptor.builder.category().as_str();
            begins(&descriptor.name)
                || descriptor.aliases.iter().any(|alias| begins(alias))
                || begins(&format!("{category}/{}", descriptor.name))
        })
    }

    fn rows(&self, wanted: impl Fn(&Descriptor) -> bool) -> Vec<Row> {
        self.descriptors.iter().filter(|descriptor| wanted(descriptor)).map(|d| self.row(d)).collect()
    }

    fn row(&self, descriptor: &Descriptor) -> Row {
        let category = descriptor.builder.category();
        let default = self
            .default_name(category)
            .and_then(|name| self.lookup(category, name))
            .is_some_and(|found| std::ptr::eq(found, descriptor));
        let mut aliases: Vec<_> = descriptor.aliases.iter().map(|alias| (*alias).to_owned()).collect();
        aliases.sort();
        Row {
            category,
            name: descriptor.name.to_string(),
            aliases,
            default,
            version: descriptor.version.to_string(),
            origin: descriptor.origin.to_string(),
            summary: descriptor.summary.to_string(),
            example: descriptor.example.to_string(),
            parameters: (descriptor.schema)(),
        }
    }
}
