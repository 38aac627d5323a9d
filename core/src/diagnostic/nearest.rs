//! Did-you-mean.

/// The candidate that `name` was probably meant to be, if one is close enough.
///
/// Case, `-` and `_` do not count; beyond them, one slip per three characters.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = plain(name);
    if plain.is_empty() {
        return None;
    }
    candidates
        .into_iter()
        .filter_map(|candidate| {
            let other = self::plain(candidate);
            // A bound before the quadratic comparison: names this far apart in length never match.
            let allowed = (plain.chars().count().max(other.chars().count()) / 3).clamp(1, 4);
            if plain.len().abs_diff(other.len()) > 4 * allowed {
                return None;
            }
            let distance = strsim::damerau_levenshtein(&plain, &other);
            (distance <= allowed && distance < other.chars().count()).then_some((distance, candidate))
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Lists names for a help line: "one of a, b, c"; long lists are cut.
pub fn one_of<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    const SHOWN: usize = 12;
    let mut names = names.into_iter().map(|name| format!("`{name}`"));
    let mut out: Vec<String> = names.by_ref().take(SHOWN).collect();
    let more = names.count();
    if more > 0 {
        out.push(format!("… ({more} more)"));
    }
    out.join(", ")
}

fn plain(name: &str) -> String {
    name.chars().take(128).filter(|c| !matches!(c, '-' | '_')).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_slips_but_not_strangers() {
        let keys = ["delegates_to", "description", "id", "role"];
        assert_eq!(nearest("delegate_to", keys), Some("delegates_to"));
        assert_eq!(nearest("delegatesTo", keys), Some("delegates_to"));
        assert_eq!(nearest("Role", keys), Some("role"));
        assert_eq!(nearest("colour", keys), None);
        assert_eq!(nearest("", keys), None);
        assert_eq!(nearest("x", ["y"]), None);
    }
}
