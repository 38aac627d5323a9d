//! URLs as they may be shown.

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
