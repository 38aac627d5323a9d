//! The URL of a request: where an argument may stand in it, and what it can never change.

use mas_contracts::Env;
use serde_json::{Map, Value};

use super::template::{Refusal, Template, encode, encode_but};

/// A URL with places for arguments, below one origin.
#[derive(Clone, Debug)]
pub(super) struct Address {
    /// Scheme, host and port: `https://host:8443`.
    pub(super) origin: String,
    segments: Vec<Template>,
    query: Vec<(String, Template)>,
    /// How many of its places the URL itself has.
    pub(super) in_url: usize,
}

impl Address {
    /// Reads a URL whose beginning, up to the path, is literal.
    ///
    /// # Errors
    /// What is wrong with it. The URL is not shown, for it may hold a secret.
    pub(super) fn parse(url: &str) -> Result<Self, String> {
        if url.contains(|c: char| c.is_control() || c.is_whitespace() || c == '\\') {
            return Err("a URL has no white space and no `\\` in it".to_owned());
        }
        if url.contains('#') {
            return Err("a `#` and what follows it is never sent: leave it out".to_owned());
        }
        let rest =
            ["http://", "https://"].into_iter().find_map(|scheme| Some((scheme, url.strip_prefix(scheme)?)));
        let Some((scheme, rest)) = rest else {
            return Err(
                "a URL begins with http:// or https://, and nothing of that is an argument's".to_owned()
            );
        };
        let (authority, rest) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        check_authority(authority)?;
        let (path, query) = rest.split_once('?').map_or((rest, None), |(path, query)| (path, Some(query)));
        let segments: Vec<Template> =
            path.strip_prefix('/').unwrap_or(path).split('/').map(segment).collect::<Result<_, _>>()?;
        let pairs = query.into_iter().flat_map(|query| query.split('&')).filter(|pair| !pair.is_empty());
        let query: Vec<(String, Template)> = pairs.map(pair).collect::<Result<_, _>>()?;
        let in_url = segments.len() + query.len();
        Ok(Self { origin: format!("{scheme}{}", authority.to_ascii_lowercase()), segments, query, in_url })
    }

    /// Adds a query key with its value.
    pub(super) fn push(&mut self, key: &str, value: Template) {
        self.query.push((encode(key), value.encoded(encode)));
    }

    /// The arguments in the path, without which there is no URL.
    pub(super) fn path_arguments(&self) -> impl Iterator<Item = &str> {
        self.segments.iter().flat_map(Template::arguments)
    }

    /// All places.
    pub(super) fn templates(&self) -> impl Iterator<Item = &Template> {
        self.segments.iter().chain(self.query.iter().map(|(_, value)| value))
    }

    /// The same with the values of variables in it.
    ///
    /// # Errors
    /// The variable that is not set.
    pub(super) fn resolved(self, env: &Env) -> Result<Self, String> {
        let resolved = |place: Template| place.resolved(env, encode);
        Ok(Self {
            origin: self.origin,
            in_url: self.in_url,
            segments: self.segments.into_iter().map(resolved).collect::<Result<_, _>>()?,
            query: self
                .query
                .into_iter()
                .map(|(key, value)| resolved(value).map(|value| (key, value)))
                .collect::<Result<_, _>>()?,
        })
    }

    /// The URL with these arguments in it. A query key whose argument is not given is left out.
    ///
    /// # Errors
    /// An argument of the path that is missing, or that would be read as another path.
    pub(super) fn filled(&self, arguments: &Map<String, Value>) -> Result<String, Refusal> {
        let mut url = self.origin.clone();
        for segment in &self.segments {
            url.push('/');
            let names = || Vec::from_iter(segment.arguments()).join("`, `");
            let Some(text) = segment.filled(arguments, encode)? else {
                return Err(Refusal(format!("`{}` is needed for the path", names())));
            };
            let has_arguments = segment.arguments().next().is_some();
            if is_dots(&text) || (text.is_empty() && has_arguments) {
                return Err(Refusal(format!("`{}` must be more than dots, and not empty", names())));
            }
            url.push_str(&text);
        }
        let mut mark = '?';
        for (key, value) in &self.query {
            if let Some(value) = value.filled(arguments, encode)? {
                url.push(mark);
                url.push_str(key);
                url.push('=');
                url.push_str(&value);
                mark = '&';
            }
        }
        Ok(url)
    }
}

fn check_authority(authority: &str) -> Result<(), String> {
    if authority.contains('@') {
        return Err(
            "a name and a password do not belong into a URL: send them as the header `Authorization`"
                .to_owned(),
        );
    }
    if authority.contains(['{', '}']) {
        return Err("the host is no argument's to choose".to_owned());
    }
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (authority, None),
    };
    let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let fits = match inner {
        Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
        None => {
            !host.is_empty()
                && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte))
        }
    };
    if !fits || port.is_some_and(|port| port.parse::<u16>().is_err()) {
        return Err("the URL has no host that can be read: HOST or HOST:PORT, in ASCII".to_owned());
    }
    Ok(())
}

/// Whether a segment is read as this folder or the one above; `%2e` is a dot too.
fn is_dots(segment: &str) -> bool {
    matches!(&*segment.to_ascii_lowercase().replace("%2e", "."), "." | "..")
}

fn segment(text: &str) -> Result<Template, String> {
    check_percent(text)?;
    if is_dots(text) {
        return Err("a path has no `.` and no `..` in it".to_owned());
    }
    Ok(Template::parse(text)?.encoded(|text| encode_but(text, |byte| b"%!$&'()*+,;=:@".contains(&byte))))
}

fn pair(text: &str) -> Result<(String, Template), String> {
    check_percent(text)?;
    let (key, value) = text.split_once('=').unwrap_or((text, ""));
    if key.is_empty() || key.contains(['{', '}']) {
        return Err("a query key is a fixed text, and no argument's to choose".to_owned());
    }
    let kept = |byte| b"%!$'()*+,;:@/?".contains(&byte);
    Ok((
        encode_but(key, kept),
        Template::parse(value)?.encoded(|text| encode_but(text, |byte| kept(byte) || byte == b'=')),
    ))
}

/// Each `%` begins an escape, so that what an argument adds cannot complete one.
fn check_percent(text: &str) -> Result<(), String> {
    let whole = |rest: &str| rest.bytes().take(2).filter(u8::is_ascii_hexdigit).count() == 2;
    if text.split('%').skip(1).all(whole) {
        return Ok(());
    }
    Err("a `%` is followed by two digits, such as %20; write %25 for a `%`".to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;
    use url::Url;

    use super::*;

    fn value() -> impl Strategy<Value = Value> {
        let special = prop::sample::select(vec![
            "/", "\\", "..", ".", "%2e", "%2F", "?", "#", "&", "=", "@", ":", "//", "\n", "\t", "\0", " ",
            "é", "{y}", "{{", "[", "%",
        ]);
        let text = prop::collection::vec(prop_oneof![special.prop_map(str::to_owned), any::<String>()], 0..6);
        prop_oneof![
            text.prop_map(|pieces| json!(pieces.concat())),
            any::<i64>().prop_map(|n| json!(n)),
            any::<bool>().prop_map(|b| json!(b)),
            Just(Value::Null)
        ]
    }

    fn shown(value: &Value) -> String {
        value.as_str().map_or_else(|| value.to_string(), str::to_owned)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

        #[test]
        fn no_argument_changes_the_origin_the_depth_or_the_keys(x in value(), y in value(), z in value()) {
            let template = "http://h.example:8080/a/{x}/.{y}/{y}-{z}/?k={z}&l={x}{y}";
            let arguments = json!({"x": x, "y": y, "z": z});
            // What is refused is not sent at all.
            if let Ok(sent) = Address::parse(template).unwrap().filled(arguments.as_object().unwrap()) {
                let url = Url::parse(&sent).unwrap();
                prop_assert_eq!(url.origin().ascii_serialization(), "http://h.example:8080");
                prop_assert!(url.username().is_empty() && url.password().is_none() && url.fragment().is_none());
                let segments: Vec<&str> = url.path_segments().unwrap().collect();
                prop_assert_eq!(segments.len(), 5);
                prop_assert_eq!((segments[0], segments[4]), ("a", ""));
                let given = |value: &Value| !value.is_null();
                prop_assert!(given(&x) && given(&y) && given(&z));
                let pairs: Vec<(String, String)> = url.query_pairs().into_owned().collect();
                prop_assert_eq!(pairs, vec![("k".to_owned(), shown(&z)), ("l".to_owned(), shown(&x) + &shown(&y))]);
                prop_assert_eq!(url.as_str(), sent);
            }
        }
    }
}
