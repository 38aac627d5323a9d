//! Addresses that a token may be sent to.

use mas_comm_kit::http::is_loopback;
use url::Url;

/// An address to which paths are added, without a slash at its end.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Base(String);

impl Base {
    /// Reads an address: http or https, without a user, a query or a fragment; http on this machine only unless
    /// `allow_http`. What is wrong with it is told without showing it.
    pub(crate) fn read(text: &str, allow_http: bool) -> Result<Self, &'static str> {
        let text = text.trim();
        let Ok(url) = Url::parse(text) else { return Err("is no URL") };
        match url.scheme() {
            "https" => {}
            "http" if allow_http || is_loopback(text) => {}
            "http" => {
                return Err(
                    "is plain http, over which no token is sent except on this machine; set `allow_http`",
                );
            }
            _ => return Err("is neither http nor https"),
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err("holds a user or a password");
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err("holds a query or a fragment");
        }
        if !url.has_host() {
            return Err("names no host");
        }
        Ok(Self(text.trim_end_matches('/').to_owned()))
    }

    /// The address of a path, which begins with a slash.
    pub(crate) fn at(&self, path: &str) -> String {
        format!("{}{path}", self.0)
    }

    /// The address.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::Base;

    #[test]
    fn paths_are_added_to_an_address_with_or_without_a_slash() {
        for text in ["https://h/base", "https://h/base/", " https://h/base// "] {
            assert_eq!(Base::read(text, false).unwrap().at("/api"), "https://h/base/api");
        }
    }

    #[test]
    fn a_token_goes_over_https_or_stays_on_this_machine() {
        for (text, allow_http, good) in [
            ("https://h", false, true),
            ("http://127.0.0.1:80/x", false, true),
            ("http://runtime.localhost", false, true),
            ("http://h", false, false),
            ("http://h", true, true),
            ("ftp://h", true, false),
            ("https://me@h", true, false),
            ("https://me:pass@h", true, false),
            ("https://h/?a=1", true, false),
            ("https://h/#a", true, false),
            ("//h", true, false),
            ("h", true, false),
            ("", true, false),
        ] {
            assert_eq!(Base::read(text, allow_http).is_ok(), good, "{text}");
        }
    }
}
