//! On which terms a request is made: version, extensions, trace (A2A v1.0, sections 3.2.6, 3.6 and 4.6).

use std::{borrow::Cow, sync::Arc};

use http::{HeaderMap, HeaderName, HeaderValue};

use super::Agent;
use crate::{
    json::Node,
    model::{Caller, Dialect, Failure, Reason},
    url,
};

const VERSION: &str = "a2a-version";
const EXTENSIONS: HeaderName = HeaderName::from_static("a2a-extensions");
/// The name in v0.3.
const OLD_EXTENSIONS: HeaderName = HeaderName::from_static("x-a2a-extensions");
/// How many extensions of one request are looked at.
const MOST_EXTENSIONS: usize = 64;

/// The version that a request asks for: `Major.Minor` of its header, or of its query. None is 0.3 (section 3.6.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Version<'a>(Cow<'a, str>);

impl<'a> Version<'a> {
    /// Reads it.
    pub(crate) fn of(headers: &'a HeaderMap, query: Option<&'a str>) -> Self {
        let said = headers.get(VERSION).map(|value| value.to_str().unwrap_or("unreadable").trim());
        let said = said.map(Cow::Borrowed).or_else(|| {
            if !query?.to_ascii_lowercase().contains(VERSION) {
                return None;
            }
            let fields = url::query(query)?;
            fields.into_iter().find_map(|(name, value)| match value {
                Node::Text(text) if name.eq_ignore_ascii_case(VERSION) => Some(text),
                _ => None,
            })
        });
        Self(said.unwrap_or_default())
    }

    /// Whether nothing is asked for.
    pub(crate) fn is_absent(&self) -> bool {
        self.0.is_empty()
    }

    /// The version of ours that it is. The patch says nothing (section 3.6).
    pub(super) fn dialect(&self) -> Option<Dialect> {
        let mut numbers = self.0.splitn(3, '.');
        let minor = (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default());
        let patch =
            numbers.next().is_none_or(|it| !it.is_empty() && it.bytes().all(|it| it.is_ascii_digit()));
        match minor {
            ("", "") | ("0", "3") if patch => Some(Dialect::V03),
            ("1", "0") if patch => Some(Dialect::V1),
            _ => None,
        }
    }

    /// The failure of a request in `needed` that asks for another version.
    ///
    /// # Errors
    /// [`Reason::VersionNotSupported`].
    pub(crate) fn check(&self, needed: Dialect) -> Result<(), Failure> {
        if self.dialect() == Some(needed) {
            return Ok(());
        }
        let number = match needed {
            Dialect::V1 => "1.0",
            Dialect::V03 => "0.3",
        };
        let message = match (&*self.0, self.dialect()) {
            ("", _) => {
                format!("no version is asked for, which means 0.3: send `A2A-Version: {number}` for this")
            }
            (_, Some(_)) => format!("this is of version {number}: send `A2A-Version: {number}`"),
            (_, None) => "this version is not spoken here: send `A2A-Version: 1.0` or `0.3`".to_owned(),
        };
        Err(Failure::new(Reason::VersionNotSupported, message).with("supportedVersions", "1.0, 0.3"))
    }
}

/// Who calls: `owner` is who the gate let in.
pub(crate) fn caller(headers: &HeaderMap, owner: Option<Arc<str>>, dialect: Dialect) -> Caller {
    let traceparent = headers.get("traceparent").and_then(|value| value.to_str().ok());
    Caller {
        owner,
        tenant: None,
        dialect,
        extensions: extensions(headers).map(Arc::from).collect(),
        traceparent: traceparent.filter(|it| it.len() <= 64).map(Arc::from),
    }
}

/// The extensions that a request asks for, under either name.
fn extensions(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let values = headers.get_all(EXTENSIONS).iter().chain(headers.get_all(OLD_EXTENSIONS));
    let uris = values.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(','));
    uris.map(str::trim).filter(|uri| !uri.is_empty()).take(MOST_EXTENSIONS)
}

/// Whether the caller asks for what the card requires (section 4.6.3).
///
/// # Errors
/// [`Reason::ExtensionSupportRequired`].
pub(crate) fn check_extensions(agent: &Agent, caller: &Caller) -> Result<(), Failure> {
    let missing = agent.card.required_extensions().iter().find(|uri| !caller.extensions.contains(uri));
    let Some(uri) = missing else { return Ok(()) };
    let message = format!("the extension `{uri}` is required: name it in the `A2A-Extensions` header");
    Err(Failure::new(Reason::ExtensionSupportRequired, message).with("extension", &**uri))
}

/// Says which extensions are in use: those of the card that the caller asks for.
pub(crate) fn echo(agent: &Agent, asked: &HeaderMap, response: &mut HeaderMap) {
    for name in [EXTENSIONS, OLD_EXTENSIONS] {
        if !asked.contains_key(&name) {
            continue;
        }
        let known = agent.card.extensions().iter();
        let active: Vec<&str> =
            known.map(|uri| &**uri).filter(|uri| extensions(asked).any(|it| it == *uri)).collect();
        if let Ok(value) = HeaderValue::from_str(&active.join(", "))
            && !active.is_empty()
        {
            response.insert(name, value);
        }
    }
}

/// The last event that a caller has of a stream.
pub(crate) fn last_event(headers: &HeaderMap) -> Option<u64> {
    headers.get("last-event-id")?.to_str().ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dialect(header: Option<&str>, query: Option<&str>) -> Option<Dialect> {
        let header =
            header.map(|value| (HeaderName::from_static(VERSION), HeaderValue::from_str(value).unwrap()));
        Version::of(&header.into_iter().collect(), query).dialect()
    }

    #[test]
    fn a_version_is_major_and_minor_and_absent_is_0_3() {
        for v1 in ["1.0", "1.0.0", "1.0.17", " 1.0 "] {
            assert_eq!(dialect(Some(v1), None), Some(Dialect::V1), "{v1}");
        }
        for v03 in ["", "0.3", "0.3.0"] {
            assert_eq!(dialect(Some(v03), None), Some(Dialect::V03), "{v03}");
        }
        for unknown in ["1", "1.1", "2.0", "0.2", "1.0.", "1.0.x", "1.0.0.1", "v1.0", "1.0,0.3", "99.0"] {
            assert_eq!(dialect(Some(unknown), None), None, "{unknown}");
        }
        assert_eq!(dialect(None, None), Some(Dialect::V03));
        assert_eq!(dialect(None, Some("x=1&A2A-Version=1.0")), Some(Dialect::V1));
        assert_eq!(dialect(None, Some("a2a-version=9")), None);
        assert_eq!(dialect(Some("0.3"), Some("A2A-Version=1.0")), Some(Dialect::V03), "the header counts");
    }

    #[test]
    fn the_last_event_is_a_number() {
        let of = |value: &str| {
            let header = (HeaderName::from_static("last-event-id"), HeaderValue::from_str(value).unwrap());
            last_event(&[header].into_iter().collect())
        };
        assert_eq!(of("7"), Some(7));
        assert_eq!(of("seven"), None);
        assert_eq!(last_event(&HeaderMap::new()), None);
    }
}
