//! Paths and queries.

use std::borrow::Cow;

use crate::json::{Fields, Node};

/// A segment of a path, decoded; none for one whose bytes are no text.
pub(crate) fn segment(text: &str) -> Option<Cow<'_, str>> {
    decoded(text, false)
}

/// The fields of a query, decoded, in order; none for a query whose bytes are no text.
pub(crate) fn query(query: Option<&str>) -> Option<Fields<'_>> {
    let pairs = query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Some((decoded(name, true)?, Node::Text(decoded(value, true)?)))
        })
        .collect()
}

/// Text with its percent signs decoded, and with `+` as a space in a query; none where its bytes are no text.
pub(crate) fn decoded(text: &str, plus: bool) -> Option<Cow<'_, str>> {
    if !text.contains('%') && (!plus || !text.contains('+')) {
        return Some(Cow::Borrowed(text));
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' if plus => b' ',
            b'%' => {
                let digit = |byte: Option<u8>| {
                    char::from(byte?).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
                };
                digit(rest.next())? * 16 + digit(rest.next())?
            }
            other => other,
        });
    }
    String::from_utf8(bytes).ok().map(Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_urls_is_decoded() {
        assert_eq!(segment("a%2Fb+c%C3%A9").as_deref(), Some("a/b+cé"));
        assert_eq!(segment("plain").as_deref(), Some("plain"));
        for wrong in ["%", "%4", "%zz", "%ff"] {
            assert_eq!(segment(wrong), None, "{wrong}");
        }
        let fields = query(Some("a=1+2&&b&c=%3D=")).expect("fields");
        let text = |text| Node::Text(Cow::Borrowed(text));
        assert_eq!(fields, [("a".into(), text("1 2")), ("b".into(), text("")), ("c".into(), text("=="))]);
        assert_eq!(query(Some("a=%ff")), None);
        assert_eq!(query(None), Some(Vec::new()));
    }
}
