//! Text from elsewhere, as a terminal may show it.

use std::borrow::Cow;

/// Where the pictures of control characters begin in Unicode.
const PICTURES: u32 = 0x2400;

/// The text with a picture in the place of each control character: what an agent elsewhere says moves no cursor, names
/// no window and clears no screen. Ends of lines, tabs and colours stay.
pub(crate) fn harmless(text: &str) -> Cow<'_, str> {
    if !text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t')) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let kept = match c {
            '\u{1b}' => color(rest),
            '\r' if rest.starts_with("\r\n") => Some("\r\n"),
            '\n' | '\t' => rest.get(..1),
            _ => None,
        };
        let taken = match kept {
            Some(kept) => {
                out.push_str(kept);
                kept.len()
            }
            None => {
                out.push(picture(c));
                c.len_utf8()
            }
        };
        rest = rest.get(taken..).unwrap_or_default();
    }
    Cow::Owned(out)
}

/// The same on one line.
pub(crate) fn on_one_line(text: &str) -> String {
    let line: Vec<&str> = text.split_whitespace().collect();
    harmless(&line.join(" ")).into_owned()
}

/// The sequence of a colour that the text begins with.
fn color(text: &str) -> Option<&str> {
    let numbers = text.strip_prefix("\u{1b}[")?;
    let end = numbers.find(|c: char| !c.is_ascii_digit() && !matches!(c, ';' | ':'))?;
    numbers.get(end..)?.starts_with('m').then(|| text.get(..end.saturating_add(3)))?
}

fn picture(c: char) -> char {
    match u32::from(c) {
        code @ 0..=0x1f => char::from_u32(PICTURES.saturating_add(code)).unwrap_or('\u{fffd}'),
        0x7f => '\u{2421}',
        _ if c.is_control() => '\u{fffd}',
        _ => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_do_something_is_only_shown() {
        for (text, expected) in [
            ("plain\n\ttext – ü\r\n", "plain\n\ttext – ü\r\n"),
            (
                "\u{1b}[1;31mred\u{1b}[0m \u{1b}[38:2::1:2:3mx",
                "\u{1b}[1;31mred\u{1b}[0m \u{1b}[38:2::1:2:3mx",
            ),
            ("\u{1b}]0;owned\u{7}", "␛]0;owned␇"),
            ("\u{1b}[2J\u{1b}[1;1H", "␛[2J␛[1;1H"),
            ("real\rfake\u{8}", "real␍fake␈"),
            ("\u{9b}2J\u{7f}\u{0}", "\u{fffd}2J␡␀"),
            ("\u{1b}", "␛"),
            ("\u{1b}[", "␛["),
            ("\u{1b}[3", "␛[3"),
            ("\u{1b}[é", "␛[é"),
        ] {
            assert_eq!(harmless(text), expected, "{text:?}");
        }
        assert_eq!(on_one_line(" a\nb\r\u{1b}[K "), "a b ␛[K");
    }
}
