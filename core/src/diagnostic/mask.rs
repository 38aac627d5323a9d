//! Literal secrets in excerpts: a diagnostic shows neighbouring lines, and those may hold a key.

use std::borrow::Cow;

use super::Location;

/// Ends of key names whose values are never shown.
const SENSITIVE: [&str; 8] =
    ["authorization", "token", "secret", "password", "passwd", "api_key", "api-key", "apikey"];

/// The text with the values of sensitive keys starred out, byte for byte, so that places stay what they are.
/// A value that only names a variable (`env:…`) stays.
pub(super) fn masked(text: &str) -> Cow<'_, str> {
    let mut out: Option<Vec<u8>> = None;
    for (colon, _) in text.match_indices(':') {
        let Some((start, end)) = value_after(text, colon).filter(|_| is_sensitive(key_before(text, colon)))
        else {
            continue;
        };
        let bytes = out.get_or_insert_with(|| text.as_bytes().to_vec());
        if let Some(value) = bytes.get_mut(start..end) {
            value.fill(b'*');
        }
    }
    match out.map(String::from_utf8) {
        Some(Ok(masked)) => Cow::Owned(masked),
        // Values are cut at character boundaries, so that what is left is text.
        _ => Cow::Borrowed(text),
    }
}

/// The text with the values of sensitive keys and everything at these places starred out; what only names a variable
/// stays.
pub(crate) fn starred(text: &str, places: &[Location]) -> String {
    let mut bytes = masked(text).into_owned().into_bytes();
    for place in places.iter().map(Location::span) {
        let names_a_variable = text
            .get(place.clone())
            .is_some_and(|value| value.trim_start_matches(['"', '\'']).starts_with("env:"));
        if let Some(value) = bytes.get_mut(place).filter(|_| !names_a_variable) {
            value.iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b'*');
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn key_before(text: &str, colon: usize) -> &str {
    let before = text.get(..colon).unwrap_or_default().trim_end_matches(['"', '\'']);
    let is_name = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    let start = before
        .char_indices()
        .rev()
        .take_while(|(_, c)| is_name(*c))
        .last()
        .map_or(before.len(), |(at, _)| at);
    before.get(start..).unwrap_or_default()
}

fn is_sensitive(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    SENSITIVE.iter().any(|end| key.ends_with(end))
}

/// Where the scalar after a colon begins and ends on its line; nothing for none, or for a variable's name.
fn value_after(text: &str, colon: usize) -> Option<(usize, usize)> {
    let rest = text.get(colon + 1..)?;
    let line = rest.split(['\n', '\r']).next()?;
    let value = line.trim_start();
    let start = colon + 1 + (line.len() - value.len());
    let (quote, inner) = match value.chars().next()? {
        quote @ ('"' | '\'') => (Some(quote), value.get(1..)?),
        _ => (None, value),
    };
    let end = match quote {
        Some(quote) => inner.find(quote).unwrap_or(inner.len()),
        None => inner.find([',', '}', '#']).unwrap_or(inner.len()),
    };
    let inner = inner.get(..end)?;
    let shown = inner.trim();
    if shown.is_empty() || shown.starts_with("env:") || shown.starts_with(['{', '[', '|', '>', '*', '&']) {
        return None;
    }
    let start = start + usize::from(quote.is_some());
    Some((start, start + inner.trim_end().len()))
}

#[cfg(test)]
mod tests {
    use super::masked;

    #[test]
    fn values_of_sensitive_keys_are_starred_out_in_place() {
        let text = "headers: {Authorization: \"Bearer sk-1\", X-Api-Key: abc, Accept: json}\nclient_secret: é9 # x\n";
        assert_eq!(
            masked(text),
            "headers: {Authorization: \"***********\", X-Api-Key: ***, Accept: json}\nclient_secret: *** # x\n"
        );
        assert_eq!(masked(text).len(), text.len());
    }

    #[test]
    fn what_is_no_secret_stays() {
        for text in [
            "api_key_env: OPENAI_API_KEY",
            "Authorization: \"env:FARES_AUTH\"",
            "max_tokens: 2000",
            "token:\n  kind: x",
            "password: {ref: x}",
            "url: http://h:9006",
        ] {
            assert_eq!(masked(text), text);
        }
    }
}
