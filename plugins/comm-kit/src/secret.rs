//! Text that nobody may see.

use std::{borrow::Cow, fmt, sync::Arc};

use crate::http::encoded;

/// What stands where a secret was.
const STARS: &str = "***";

/// A shorter text is no secret: hiding it everywhere would only make other texts unreadable.
const SHORTEST: usize = 4;

/// A text that must not be shown, such as a key. Debug prints stars; there is no Display.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Secret(Arc<str>);

impl Secret {
    /// A secret.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    /// The text itself, for the one place that sends it.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(STARS)
    }
}

/// The secrets that a text from elsewhere might hold, such as a body that echoes the request. Debug prints stars.
#[derive(Clone, Default)]
pub struct Secrets {
    known: Vec<Secret>,
    /// How they may be written, the longest first, for one may be a part of another.
    forms: Vec<Arc<str>>,
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Secrets").field(&self.known).finish()
    }
}

impl Secrets {
    /// No secrets.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Adds a secret. One of fewer than 4 bytes is not looked for.
    pub fn add(&mut self, secret: Secret) {
        if secret.0.len() < SHORTEST || self.known.contains(&secret) {
            return;
        }
        for form in forms(&secret.0) {
            if !self.forms.contains(&form) {
                self.forms.push(form);
            }
        }
        self.forms.sort_by_key(|form| std::cmp::Reverse(form.len()));
        self.known.push(secret);
    }

    /// These and those together.
    #[must_use]
    pub fn and(mut self, others: Self) -> Self {
        others.known.into_iter().for_each(|secret| self.add(secret));
        self
    }

    /// The text with stars for each secret, also for one that is written as a part of a JSON string.
    #[must_use]
    pub fn scrub<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut out = Cow::Borrowed(text);
        for form in &self.forms {
            if out.contains(&**form) {
                out = Cow::Owned(out.replace(&**form, STARS));
            }
        }
        out
    }

    /// As [`Secrets::scrub`], for a text of which parts were cut off before, each with a `…` in its place: the
    /// beginning of a secret before one goes, too, from 4 bytes on.
    #[must_use]
    pub fn scrub_cut(&self, text: &str) -> String {
        let scrubbed = self.scrub(text);
        let mut parts = scrubbed.split('…').peekable();
        let mut out = String::with_capacity(scrubbed.len());
        while let Some(part) = parts.next() {
            let begun = parts.peek().and_then(|_| self.begun_at(part));
            match begun.and_then(|at| part.get(..at)) {
                Some(before) => out.extend([before, STARS]),
                None => out.push_str(part),
            }
            if parts.peek().is_some() {
                out.push('…');
            }
        }
        out
    }

    /// Where in a text a secret begins that goes on after its end.
    fn begun_at(&self, text: &str) -> Option<usize> {
        let begins = |form: &Arc<str>| {
            let lengths = (SHORTEST..form.len()).rev().filter(|length| form.is_char_boundary(*length));
            lengths.filter_map(|length| text.strip_suffix(form.get(..length)?)).map(str::len).next()
        };
        self.forms.iter().filter_map(begins).min()
    }

    /// The first `limit` bytes or a little less of a text, scrubbed; `whole` is false where the text was cut
    /// already, so that a secret may be cut with it.
    #[must_use]
    pub fn excerpt(&self, text: &str, limit: usize, whole: bool) -> String {
        let scrubbed = self.scrub(text);
        let longest = self.forms.first().map_or(0, |form| form.len());
        let usable = if whole { scrubbed.len() } else { scrubbed.len().saturating_sub(longest) };
        let shown = head(&scrubbed, limit.min(usable));
        if shown.len() < scrubbed.len() || !whole { format!("{shown}…") } else { shown.to_owned() }
    }
}

/// A secret as it is, as a part of a JSON string, some of which have slashes escaped, and as a part of a URL or of a
/// form.
fn forms(secret: &str) -> Vec<Arc<str>> {
    let json = secret.replace('\\', "\\\\").replace('"', "\\\"");
    let slashes = json.replace('/', "\\/");
    let encoded = encoded(secret);
    let form = encoded.replace("%20", "+");
    let lower = lower(&encoded);
    [secret.to_owned(), json, slashes, encoded, form, lower].into_iter().map(Arc::from).collect()
}

/// Text in percent signs, with the digits in lower case.
fn lower(encoded: &str) -> String {
    let mut pieces = encoded.split('%');
    let mut out = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (digits, rest) = piece.split_at_checked(2).unwrap_or((piece, ""));
        out.extend(["%", &*digits.to_ascii_lowercase(), rest]);
    }
    out
}

/// The first `limit` bytes, or less where they end within a character.
fn head(text: &str, limit: usize) -> &str {
    text.split_at_checked(text.floor_char_boundary(limit)).map_or(text, |(head, _)| head)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets(texts: &[&str]) -> Secrets {
        let mut secrets = Secrets::new();
        for text in texts {
            secrets.add(Secret::new(*text));
        }
        secrets
    }

    #[test]
    fn a_secret_is_shown_nowhere() {
        assert_eq!(format!("{:?} {:?}", Secret::new("sk-1234"), secrets(&["sk-1234"])), "*** Secrets([***])");
        let known = secrets(&["sk-1234", "sk-1234-long", "a\"b\\c", "on"]);
        assert_eq!(known.scrub("key sk-1234-long, sk-1234, on"), "key ***, ***, on");
        assert_eq!(known.scrub(r#"{"echo": "a\"b\\c"}"#), r#"{"echo": "***"}"#);
        assert!(matches!(known.scrub("nothing here"), Cow::Borrowed(_)));
        let known = secrets(&["a/b c+d=é"]);
        for form in [
            "a/b c+d=é",
            r"a\/b c+d=é",
            "a%2Fb%20c%2Bd%3D%C3%A9",
            "a%2fb%20c%2bd%3d%c3%a9",
            "a%2Fb+c%2Bd%3D%C3%A9",
        ] {
            assert_eq!(known.scrub(form), "***", "{form}");
        }
    }

    #[test]
    fn what_a_cut_left_of_a_secret_is_hidden() {
        let known = secrets(&["sk-1234", "Bearer sk-1234", "a\"b\\cd"]);
        let cases = [
            ("a: sk-12…; b: sk-1234…", "a: ***…; b: ***…"),
            ("a: Bearer sk-123…, sk-12", "a: ***…, sk-12"),
            (r#"{"echo": "a\"b\\…"#, r#"{"echo": "***…"#),
            ("sk-… is short, … and ……", "sk-… is short, … and ……"),
            ("sk-12", "sk-12"),
        ];
        for (text, shown) in cases {
            assert_eq!(known.scrub_cut(text), shown);
        }
    }

    #[test]
    fn an_excerpt_holds_no_part_of_a_secret() {
        let known = secrets(&["sk-1234"]);
        assert_eq!(known.excerpt("all of it", 100, true), "all of it");
        assert_eq!(known.excerpt("naïve", 3, true), "na…");
        for cut in 0.."the key is sk-1234".len() {
            let shown = known.excerpt(head("the key is sk-1234", cut), 100, false);
            assert!(!shown.contains("sk-"), "{shown}");
        }
    }
}
