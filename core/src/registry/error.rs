//! What can be wrong with a name.

use std::fmt;

use mas_contracts::{Category, Error, ErrorKind};

/// What is wrong with a name, or with those that claim it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RegistryError {
    /// Nothing of this category has the name.
    Unknown {
        /// The category asked.
        category: Category,
        /// The name asked for.
        name: String,
        /// The names of the category, its default first.
        available: Vec<String>,
        /// The name or alias that was probably meant.
        meant: Option<String>,
        /// The category that does have the name.
        elsewhere: Option<Category>,
    },
    /// No category has this name.
    UnknownCategory {
        /// The name asked for.
        name: String,
        /// The category that was probably meant.
        meant: Option<&'static str>,
    },
    /// Two descriptors of one category claim a name or an alias.
    Duplicate {
        /// The category.
        category: Category,
        /// The name.
        name: String,
        /// Where the one that holds it comes from.
        first: String,
        /// Where the other one comes from.
        second: String,
    },
    /// A descriptor has a blank name or alias.
    Blank {
        /// The category.
        category: Category,
        /// Where it comes from.
        origin: String,
    },
}

impl RegistryError {
    /// The stable code, `mas::registry::<name>`.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unknown { .. } => "mas::registry::unknown_name",
            Self::UnknownCategory { .. } => "mas::registry::unknown_category",
            Self::Duplicate { .. } => "mas::registry::duplicate",
            Self::Blank { .. } => "mas::registry::blank_name",
        }
    }

    /// What to do about it, without the sentence that says what is wrong.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Unknown { name, elsewhere: Some(other), .. } => Some(format!("`{name}` is a {other}")),
            Self::Unknown { meant: Some(meant), .. } => Some(format!("did you mean `{meant}`?")),
            Self::UnknownCategory { meant: Some(meant), .. } => Some(format!("did you mean `{meant}`?")),
            _ => None,
        }
    }

    /// What is wrong, without the sentence that says what to do about it.
    #[must_use]
    pub fn problem(&self) -> String {
        match self {
            Self::Unknown { category, name, available, .. } if available.is_empty() => {
                format!("unknown {category} `{name}`; none is registered")
            }
            Self::Unknown { category, name, available, .. } => {
                format!("unknown {category} `{name}`; available: {}", available.join(", "))
            }
            Self::UnknownCategory { name, .. } => {
                let all = Category::ALL.map(Category::as_str).join(", ");
                format!("unknown category `{name}`; categories: {all}")
            }
            Self::Duplicate { category, name, first, second } if first == second => {
                format!("{category} `{name}` is claimed twice by {first}")
            }
            Self::Duplicate { category, name, first, second } => {
                format!("{category} `{name}` is claimed by {first} and by {second}")
            }
            Self::Blank { category, origin } => format!("{origin} registers a blank name as {category}"),
        }
    }

    /// The same of a name that is shown otherwise, such as one that must not be told.
    #[must_use]
    pub fn shown_as(mut self, shown: &str) -> Self {
        if let Self::Unknown { name, .. } | Self::UnknownCategory { name, .. } = &mut self {
            shown.clone_into(name);
        }
        self
    }
}

impl fmt::Display for RegistryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problem())?;
        match self.help() {
            Some(help) => write!(f, "; {help}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for RegistryError {}

impl From<RegistryError> for Error {
    fn from(error: RegistryError) -> Self {
        let kind = match error {
            RegistryError::Unknown { .. } | RegistryError::UnknownCategory { .. } => ErrorKind::NotFound,
            RegistryError::Duplicate { .. } | RegistryError::Blank { .. } => ErrorKind::Conflict,
        };
        Self::new(kind, error.to_string()).with_code(error.code())
    }
}
