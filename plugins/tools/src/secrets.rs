//! Values that nobody is shown.

use mas_comm_kit::Secret;

/// Ends of names whose values are secrets, whatever stands before them.
const SENSITIVE: [&str; 9] =
    ["authorization", "token", "secret", "password", "passwd", "key", "cookie", "credential", "credentials"];

/// Whether a variable or a header of this name holds a secret.
pub(crate) fn is_sensitive(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SENSITIVE.iter().any(|end| name.ends_with(end))
}

/// The secrets that a tool is given.
#[derive(Clone, Debug, Default)]
pub(crate) struct Secrets(mas_comm_kit::Secrets);

impl Secrets {
    /// Keeps these.
    pub(crate) fn new(values: impl IntoIterator<Item = String>) -> Self {
        let mut secrets = mas_comm_kit::Secrets::new();
        values.into_iter().for_each(|value| secrets.add(Secret::new(value)));
        Self(secrets)
    }

    /// The text with every secret starred out.
    pub(crate) fn hide(&self, text: String) -> String {
        match self.0.scrub(&text) {
            std::borrow::Cow::Borrowed(_) => text,
            std::borrow::Cow::Owned(hidden) => hidden,
        }
    }

    /// As the HTTP client wants them.
    pub(crate) fn inner(&self) -> &mas_comm_kit::Secrets {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
