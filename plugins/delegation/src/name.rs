//! Tool names.

use sha2::{Digest, Sha256};

const PREFIX: &str = "delegate_to_";
const LONGEST: usize = 64;
/// Hex digits of the hash: 40 bits.
const DIGITS: usize = 10;

/// The tool name of an agent: `delegate_to_<id>`, made to fit `^[a-zA-Z0-9_-]{1,64}$`.
///
/// It depends on the id alone. An id that fits is used as it is; any other is sanitised, cut, and followed by
/// `_` and ten hex digits of its SHA-256. An id that ends like such a hash gets one too, so that it never
/// takes the name of another. A name says nothing about its id: keep a table.
///
/// ```
/// assert_eq!(mas_delegation::tool_name("fares"), "delegate_to_fares");
/// assert_eq!(mas_delegation::tool_name("a.b"), "delegate_to_a_b_2e7336dc8e");
/// ```
#[must_use]
pub fn tool_name(id: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let room = LONGEST - PREFIX.len();
    if id.len() <= room && !id.is_empty() && id.chars().all(fits) && !ends_like_a_hash(id) {
        return format!("{PREFIX}{id}");
    }
    let mut name = String::with_capacity(LONGEST);
    name.push_str(PREFIX);
    let mut replaced = false;
    for c in id.chars() {
        if name.len() == LONGEST - DIGITS - 1 {
            break;
        }
        if fits(c) {
            name.push(c);
        } else if !replaced {
            name.push('_');
        }
        replaced = !fits(c);
    }
    name.push('_');
    for byte in Sha256::digest(id.as_bytes()).iter().take(DIGITS / 2) {
        name.push_str(&format!("{byte:02x}"));
    }
    name
}

fn ends_like_a_hash(id: &str) -> bool {
    let is_hash = |tail: &str| {
        tail.len() == DIGITS && tail.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
    };
    id.rsplit_once('_').is_some_and(|(_, tail)| is_hash(tail))
}
