//! Schemas of scalars.
//!
//! The loader keeps the source text of a scalar, so a text may be written as a number, and a number in quotes; and
//! any scalar may come from the environment.

use serde_json::{Value as Json, json};

use crate::manifest::shape::Rule;

/// `env:NAME` or `env:NAME|default`.
const REFERENCE: &str = r"^env:[A-Za-z_][A-Za-z0-9_]*(\|[\s\S]*)?$";
/// A character that is no white space.
const VISIBLE: &str = r"[^\t\n\u000b\f\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]";
const DECIMAL: &str = r"([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?";

/// A scalar that the environment gives.
pub(super) fn env_reference() -> Json {
    json!({"type": "string", "pattern": REFERENCE})
}

pub(super) fn text() -> Json {
    json!({"type": ["string", "number", "boolean"]})
}

pub(super) fn named() -> Json {
    json!({"type": ["string", "number", "boolean"], "pattern": VISIBLE})
}

pub(super) fn ruled(rule: &Rule) -> Json {
    let mut types = vec!["string"];
    types.extend(rule.plain);
    let pattern = either(&[rule.pattern, REFERENCE]);
    if rule.plain.contains(&"integer") {
        // Digits; a larger number has an exponent in its spelling.
        return json!({"type": types, "pattern": pattern, "minimum": 0, "maximum": u64::MAX});
    }
    json!({"type": types, "pattern": pattern})
}

pub(super) fn word(words: &[&str]) -> Json {
    json!({"anyOf": [{"enum": words}, env_reference()]})
}

pub(super) fn flag() -> Json {
    json!({"type": ["boolean", "string"], "pattern": REFERENCE})
}

pub(super) fn int(low: i64, high: i64) -> Json {
    let mut written = vec![REFERENCE.to_owned()];
    if high >= 0 {
        let digits = up_to(high.unsigned_abs());
        written.push(format!(r"^\+?0*({digits})$"));
        if high == i64::MAX {
            written.push(
                if low > 0 {
                    "^0(x0*[1-9a-fA-F][0-9a-fA-F]{0,14}|o0*[1-7][0-7]{0,19})$"
                } else {
                    "^0(x0*[0-9a-fA-F]{1,15}|o0*[0-7]{1,20})$"
                }
                .to_owned(),
            );
        }
    }
    if low <= 0 {
        written.push(format!("^-0*({})$", up_to(low.unsigned_abs())));
    }
    let written: Vec<&str> = written.iter().map(String::as_str).collect();
    let mut schema = json!({"type": ["integer", "string"], "pattern": either(&written)});
    let Some(map) = schema.as_object_mut() else { return schema };
    if low > i64::MIN {
        map.insert("minimum".to_owned(), low.into());
    } else {
        map.insert("minimum".to_owned(), i64::MIN.into());
    }
    map.insert("maximum".to_owned(), high.into());
    if let Some(below) = low.checked_sub(1).filter(|below| *below >= 0) {
        let small = format!(r"^\+?0*({})$", up_to(below.unsigned_abs()));
        map.insert("not".to_owned(), json!({"type": "string", "pattern": small}));
    }
    schema
}

pub(super) fn number(low: f64, high: f64) -> Json {
    let sign = if low >= 0.0 { r"\+?" } else { "[+-]?" };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounds are small and whole")]
    let most = (low >= 0.0 && high < f64::from(u32::MAX) && high.fract() == 0.0).then_some(high as u64);
    let written = match most {
        Some(most) => {
            let below = up_to(most.saturating_sub(1));
            format!(r"^{sign}(0*({below})(\.[0-9]*)?|\.[0-9]+|0*{most}(\.0*)?)$")
        }
        None => format!("^{sign}{DECIMAL}$"),
    };
    let mut schema = json!({"type": ["number", "string"], "pattern": either(&[REFERENCE, &written])});
    let Some(map) = schema.as_object_mut() else { return schema };
    if low > f64::MIN {
        map.insert("minimum".to_owned(), low.into());
    }
    if high < f64::MAX {
        map.insert("maximum".to_owned(), high.into());
    }
    if low > 0.0 {
        map.insert("not".to_owned(), json!({"type": "string", "pattern": r"^\+?[0.]+([eE].*)?$"}));
    }
    schema
}

fn either(patterns: &[&str]) -> String {
    patterns.iter().map(|pattern| format!("({pattern})")).collect::<Vec<_>>().join("|")
}

/// The decimal numbers from 0 to `most`, as a regular expression without leading zeros; 0 may be the empty rest.
fn up_to(most: u64) -> String {
    let digits: Vec<u32> = most.to_string().chars().filter_map(|c| c.to_digit(10)).collect();
    let mut ways = vec!["0".to_owned()];
    if digits.len() > 1 {
        ways.push(format!("[1-9][0-9]{{0,{}}}", digits.len().saturating_sub(2)));
    }
    let mut same = String::new();
    for (at, digit) in digits.iter().enumerate() {
        let first = u32::from(at == 0);
        if *digit > first {
            let rest = digits.len().saturating_sub(at).saturating_sub(1);
            ways.push(format!("{same}[{first}-{}][0-9]{{{rest}}}", digit - 1));
        }
        same.push_str(&digit.to_string());
    }
    ways.push(same);
    ways.join("|")
}
