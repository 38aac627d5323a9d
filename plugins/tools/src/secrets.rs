//! Values that nobody is shown.

use std::fmt;

/// What stands where a secret was.
const STARS: &str = "***";

/// A shorter value is no secret, and would blank out half of any text.
const SHORTEST: usize = 4;

/// Ends of names whose values are secrets, whatever stands before them.
const SENSITIVE: [&str; 9] =
    ["authorization", "token", "secret", "password", "passwd", "key", "cookie", "credential", "credentials"];

/// Whether a variable or a header of this name holds a secret.
pub(crate) fn is_sensitive(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SENSITIVE.iter().any(|end| name.ends_with(end))
}

/// The secrets that a tool is given. Debug prints how many.
#[derive(Clone, Default)]
pub(crate) struct Secrets(Vec<String>);

impl Secrets {
    /// Keeps these; a value within another is hidden after it.
    pub(crate) fn new(values: impl IntoIterator<Item = String>) -> Self {
        let mut values: Vec<String> = values.into_iter().filter(|value| value.len() >= SHORTEST).collect();
        values.sort_by_key(|value| std::cmp::Reverse(value.len()));
        values.dedup();
        Self(values)
    }

    /// The text with every secret starred out.
    pub(crate) fn hide(&self, text: String) -> String {
        self.0.iter().fold(text, |text, secret| {
            if text.contains(secret.as_str()) { text.replace(secret.as_str(), STARS) } else { text }
        })
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secrets({})", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longer_of_two_goes_first() {
        let secrets = Secrets::new(["s3cr".to_owned(), "s3cret".to_owned(), "abc".to_owned()]);
        assert_eq!(secrets.hide("s3cret s3cr abc".to_owned()), "*** *** abc");
        assert_eq!(format!("{secrets:?}"), "Secrets(2)");
    }

    #[test]
    fn names_tell() {
        for name in ["Authorization", "OPENAI_API_KEY", "X-Api-Key", "GH_TOKEN", "Set-Cookie"] {
            assert!(is_sensitive(name), "{name}");
        }
        for name in ["PATH", "HOME", "LC_ALL", "Accept", "KEYBOARD"] {
            assert!(!is_sensitive(name), "{name}");
        }
    }
}
