//! Fields of a query.

use std::borrow::Cow;

/// The value of the first field of a name, decoded; none for one whose bytes are no text.
pub(super) fn value(query: &str, name: &str) -> Option<String> {
    query.split('&').find_map(|pair| {
        let (known, value) = pair.split_once('=').unwrap_or((pair, ""));
        (decoded(known)? == name).then(|| decoded(value))?.map(Cow::into_owned)
    })
}

fn decoded(text: &str) -> Option<Cow<'_, str>> {
    if !text.contains(['%', '+']) {
        return Some(Cow::Borrowed(text));
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
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
    fn fields_are_decoded() {
        assert_eq!(value("a=1&key=x%2By+z&key=2", "key").as_deref(), Some("x+y z"));
        assert_eq!(value("k%65y=%C3%A9", "key").as_deref(), Some("é"));
        assert_eq!(value("key", "key").as_deref(), Some(""));
        assert_eq!(value("key=%", "key"), None);
        assert_eq!(value("key=%ff", "key"), None);
        assert_eq!(value("", "key"), None);
    }
}
