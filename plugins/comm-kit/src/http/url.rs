//! URLs as they may be shown, and what is in them.

use std::{fmt::Write, net::IpAddr};

use reqwest::Url;

/// Words in the name of a query parameter whose value is not shown.
const HIDDEN: [&str; 6] = ["key", "token", "secret", "sig", "password", "code"];

/// The URL without a user's name and password, and with stars for the values of query parameters that look like
/// secrets by their name.
#[must_use]
pub fn shown(url: &str) -> String {
    let url = url.split('#').next().unwrap_or(url);
    let (before, query) = match url.split_once('?') {
        Some((before, query)) => (before, Some(query)),
        None => (url, None),
    };
    let mut out = match before.split_once("://") {
        Some((scheme, rest)) => {
            let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
            format!("{scheme}://{host}{path}")
        }
        None => before.rsplit_once('@').map_or(before, |(_, rest)| rest).to_owned(),
    };
    for (index, pair) in query.into_iter().flat_map(|query| query.split('&')).enumerate() {
        out.push(if index == 0 { '?' } else { '&' });
        match pair.split_once('=') {
            Some((name, _)) if is_hidden(name) => {
                out.push_str(name);
                out.push_str("=***");
            }
            _ => out.push_str(pair),
        }
    }
    out
}

/// What of a URL [`shown`] hides: the password, or a user's name without one, and the values of such parameters, as they are written.
pub(super) fn secrets(url: &str) -> impl Iterator<Item = &str> {
    let url = url.split('#').next().unwrap_or(url);
    let (before, query) = url.split_once('?').unwrap_or((url, ""));
    let authority = before.split_once("://").map_or(before, |(_, rest)| rest);
    let authority = authority.split('/').next().unwrap_or(authority);
    let user = authority.rsplit_once('@').map(|(user, _)| user);
    let password = user.map(|user| user.split_once(':').map_or(user, |(_, password)| password));
    let hidden = query.split('&').filter_map(|pair| pair.split_once('=')).filter(|(name, _)| is_hidden(name));
    password.into_iter().chain(hidden.map(|(_, value)| value))
}

/// Text as a segment of a path or as a part of a query (RFC 3986): all but unreserved characters in percent signs.
#[must_use]
pub fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(char::from(byte)),
            other => {
                let _ = write!(out, "%{other:02X}");
            }
        }
    }
    out
}

/// Whether the host of a URL is this machine: `localhost`, a name below it, or an address of the loopback.
#[must_use]
pub fn is_loopback(url: &str) -> bool {
    let Ok(url) = Url::parse(url) else { return false };
    let Some(host) = url.host_str() else { return false };
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    let host = host.trim_end_matches('.');
    match host.parse::<IpAddr>() {
        Ok(address) => address.to_canonical().is_loopback(),
        Err(_) => host == "localhost" || host.ends_with(".localhost"),
    }
}

/// Whether a secret may be sent to a URL: with TLS, or to this machine.
#[must_use]
pub fn keeps_secrets(url: &str) -> bool {
    url.starts_with("https://") || (url.starts_with("http://") && is_loopback(url))
}

fn is_hidden(name: &str) -> bool {
    HIDDEN.iter().any(|word| name.to_ascii_lowercase().contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_secret_in_a_url_is_not_shown() {
        let cases = [
            ("https://h/v1?api-version=1", "https://h/v1?api-version=1"),
            ("https://me:pass@h:8/v1/a@b", "https://h:8/v1/a@b"),
            ("http://a:b@c@h", "http://h"),
            ("https://h?key=1&x=2&X-Api-Token=3#f", "https://h?key=***&x=2&X-Api-Token=***"),
            ("me:pass@proxy:3128", "proxy:3128"),
            ("h", "h"),
            ("", ""),
        ];
        for (url, expected) in cases {
            assert_eq!(shown(url), expected);
        }
    }

    #[test]
    fn this_machine_is_told_from_others() {
        for url in ["http://localhost", "http://LOCALHOST:1/x", "https://a.localhost", "http://127.9.9.9:1"] {
            assert!(is_loopback(url), "{url}");
        }
        for url in ["http://[::1]/", "http://2130706433/", "http://[::ffff:127.0.0.1]/", "http://localhost."]
        {
            assert!(is_loopback(url), "{url}");
        }
        for url in
            ["http://h", "http://localhost.example", "http://128.0.0.1", "http://me@h#localhost", "no url"]
        {
            assert!(!is_loopback(url), "{url}");
        }
    }

    #[test]
    fn what_is_secret_in_a_url_is_known() {
        let cases: [(&str, &[&str]); 5] = [
            ("https://me:pass@h:8/v1?api-version=1&key=abc&sig=d%2Fe#key=f", &["pass", "abc", "d%2Fe"]),
            ("http://a:b@c@h/x:y@z", &["b@c"]),
            ("https://token@h:8080/v1", &["token"]),
            ("https://h:8080/v1", &[]),
            ("", &[]),
        ];
        for (url, expected) in cases {
            assert_eq!(secrets(url).collect::<Vec<_>>(), expected, "{url}");
        }
    }
}
