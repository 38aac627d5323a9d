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
pub(crate) struct Secrets {
    known: mas_comm_kit::Secrets,
    longest: usize,
}

impl Secrets {
    /// Keeps these.
    pub(crate) fn new(values: impl IntoIterator<Item = String>) -> Self {
        let mut secrets = Self::default();
        for value in values {
            secrets.longest = secrets.longest.max(value.len());
            secrets.known.add(Secret::new(value));
        }
        secrets
    }

    /// The text with every secret starred out.
    pub(crate) fn hide(&self, text: String) -> String {
        match self.known.scrub(&text) {
            std::borrow::Cow::Borrowed(_) => text,
            std::borrow::Cow::Owned(hidden) => hidden,
        }
    }

    /// The last `most` bytes of an output as text, without secrets and the white space around it; `…` stands for
    /// what is left out. `whole` is false where the output was cut before, so that a secret may be cut with it.
    pub(crate) fn tail(&self, output: &[u8], whole: bool, most: usize) -> String {
        let text = self.hide(String::from_utf8_lossy(output).into_owned());
        let unsafe_part = if whole { 0 } else { self.longest };
        let from = text.ceil_char_boundary(text.len().saturating_sub(most).max(unsafe_part));
        let dots = if from > 0 || !whole { "…" } else { "" };
        format!("{dots}{}", text.get(from..).unwrap_or_default().trim())
    }

    /// A text that is not yet at its end, in two: what can be shown of it, and what has to wait for the rest, for
    /// it may be the beginning of a secret.
    pub(crate) fn settled(&self, text: String) -> (String, String) {
        let mut text = self.hide(text);
        let at = text.floor_char_boundary(text.len().saturating_sub(self.longest));
        let waiting = text.split_off(at);
        (text, waiting)
    }

    /// As the HTTP client wants them.
    pub(crate) fn inner(&self) -> &mas_comm_kit::Secrets {
        &self.known
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tail_is_cut_between_characters() {
        let none = Secrets::default();
        assert_eq!(none.tail("  aé \n".as_bytes(), true, 10), "aé");
        assert_eq!(none.tail("aéb".as_bytes(), true, 2), "…b");
        assert_eq!(none.tail(b"a\xff", true, 10), "a\u{fffd}");
        assert_eq!(none.tail(b"", true, 3), "");
    }

    #[test]
    fn a_secret_that_is_cut_in_two_is_not_shown_either() {
        let secrets = Secrets::new(["secret/of/mine".to_owned()]);
        let said = "the key is secret/of/mine, it says";
        for most in 0..said.len() {
            let shown = secrets.tail(said.as_bytes(), true, most);
            assert!(!shown.contains("mine"), "{shown}");
        }
        for (cut, _) in said.char_indices() {
            let (before, after) = said.split_at(cut);
            let shown = secrets.tail(after.as_bytes(), false, said.len());
            assert!(!shown.contains("mine"), "{shown}");
            let (shown, waiting) = secrets.settled(before.to_owned());
            assert!(!shown.contains("secret"), "{shown}");
            assert_eq!(shown + &secrets.hide(waiting + after), "the key is ***, it says");
        }
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
