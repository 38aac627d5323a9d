//! The environment as a value, and `env:` in scalars.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::yaml::{Node, Style, Value};
use crate::diagnostic::{Diagnostic, Location, one_of};

/// A snapshot of environment variables; below the edge of the program nothing else reads them.
#[derive(Clone, Default)]
pub struct Environment(Arc<BTreeMap<String, String>>);

impl Environment {
    /// The value of a variable; a variable that is set but empty is there.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// The value of a variable that is set and not blank.
    pub fn filled(&self, name: &str) -> Option<&str> {
        self.get(name).filter(|value| !value.trim().is_empty())
    }

    /// Whether a switch such as `MAS_MOCK_LLM` is on: `1`, `true`, `yes` or `on`; it is off when it says the
    /// opposite, is blank or is not set.
    ///
    /// # Errors
    /// Any other text: nobody can tell which way it was meant.
    pub fn switch(&self, name: &str) -> Result<bool, Diagnostic> {
        const ON: [&str; 4] = ["1", "true", "yes", "on"];
        const OFF: [&str; 4] = ["0", "false", "no", "off"];
        let Some(text) = self.filled(name).map(str::trim) else { return Ok(false) };
        let says = |words: [&str; 4]| words.iter().any(|word| text.eq_ignore_ascii_case(word));
        if says(ON) || says(OFF) {
            return Ok(says(ON));
        }
        let message = "the text of this switch is neither on nor off";
        let help = format!("on: {}; off: {}", one_of(ON), one_of(OFF));
        Err(Diagnostic::error("mas::env::switch", &Location::named(name), message).help(help))
    }
}

impl<K: Into<String>, V: Into<String>> FromIterator<(K, V)> for Environment {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(items: I) -> Self {
        Self(Arc::new(items.into_iter().map(|(name, value)| (name.into(), value.into())).collect()))
    }
}

impl fmt::Debug for Environment {
    // Values may be secrets; names are not.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// A variable that a file names without a default and that is not set.
#[derive(Clone, Debug)]
pub struct MissingVariable {
    /// Its name.
    pub name: String,
    /// Where the file names it.
    pub at: Location,
}

/// The variables that a tree names and that are not set.
pub(crate) fn missing_of(node: &Node) -> Vec<MissingVariable> {
    let mut missing = Vec::new();
    node.walk(&mut |node| {
        if node.style == Style::MissingEnv {
            missing.push(MissingVariable { name: node.text().to_owned(), at: node.at.clone() });
        }
    });
    missing
}

/// Puts the environment into every scalar that reads `env:VAR` or `env:VAR|default`.
///
/// The result is exactly the variable's text, as one string: it is never parsed and never expanded again.
pub(crate) fn substitute(node: &mut Node, environment: &Environment, missing: &mut Vec<MissingVariable>) {
    match &mut node.value {
        Value::List(items) => items.iter_mut().for_each(|item| substitute(item, environment, missing)),
        Value::Map(map) => {
            map.iter_mut().for_each(|entry| substitute(&mut entry.value, environment, missing));
        }
        Value::Str => {
            let Some((name, default)) = reference(node.text()) else { return };
            match (environment.get(name), default) {
                (Some(value), _) => {
                    let value = Arc::from(value);
                    node.set_text(value, Style::Env);
                }
                (None, Some(default)) => {
                    let default = Arc::from(default);
                    node.set_text(default, Style::EnvDefault);
                }
                (None, None) => {
                    let name = name.to_owned();
                    missing.push(MissingVariable { name: name.clone(), at: node.at.clone() });
                    node.set_text(Arc::from(name), Style::MissingEnv);
                }
            }
        }
        _ => {}
    }
}

fn reference(text: &str) -> Option<(&str, Option<&str>)> {
    let rest = text.strip_prefix("env:")?;
    let (name, default) = match rest.split_once('|') {
        Some((name, default)) => (name, Some(default)),
        None => (rest, None),
    };
    let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    // "env: see below" in a prompt is prose, not a reference.
    (starts && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')).then_some((name, default))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_references_count() {
        assert_eq!(reference("env:A"), Some(("A", None)));
        assert_eq!(reference("env:A|"), Some(("A", Some(""))));
        assert_eq!(reference("env:A|b|c"), Some(("A", Some("b|c"))));
        assert_eq!(reference("env: A"), None);
        assert_eq!(reference("env:"), None);
        assert_eq!(reference("env:1A"), None);
        assert_eq!(reference("xenv:A"), None);
    }

    #[test]
    fn debug_names_variables_but_not_values() {
        let environment: Environment = [("KEY", "s3cret")].into_iter().collect();
        assert_eq!(format!("{environment:?}"), "{\"KEY\"}");
    }
}
