//! Fields of a query.

use std::borrow::Cow;

use crate::url::decoded;

/// The value of the first field of a name, decoded; none for one whose bytes are no text.
pub(super) fn value(query: &str, name: &str) -> Option<String> {
    query.split('&').find_map(|pair| {
        let (known, value) = pair.split_once('=').unwrap_or((pair, ""));
        (decoded(known, true)? == name).then(|| decoded(value, true))?.map(Cow::into_owned)
    })
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
