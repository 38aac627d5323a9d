//! The core schema of YAML 1.2: what a plain scalar means.

use super::Value;

/// The type of a plain scalar.
pub(super) fn resolve_plain(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "true" | "True" | "TRUE" => return Value::Bool(true),
        "false" | "False" | "FALSE" => return Value::Bool(false),
        _ => {}
    }
    // Only these can begin a number; most scalars are words and stop here.
    if !text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.')) {
        return Value::Str;
    }
    if let Some(number) = parse_int(text) {
        return Value::Int(number);
    }
    parse_float(text).map_or(Value::Str, Value::Float)
}

/// A whole number as the core schema writes it: decimal, `0x` or `0o`; `1_000` is none.
pub(crate) fn parse_int(text: &str) -> Option<i64> {
    if let Some(digits) = text.strip_prefix("0x") {
        return all(digits, |b| b.is_ascii_hexdigit()).then(|| i64::from_str_radix(digits, 16).ok())?;
    }
    if let Some(digits) = text.strip_prefix("0o") {
        return all(digits, |b| matches!(b, b'0'..=b'7')).then(|| i64::from_str_radix(digits, 8).ok())?;
    }
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    all(digits, |b| b.is_ascii_digit()).then(|| text.parse().ok())?
}

/// A number as the core schema writes it, `.inf` and `.nan` included.
pub(crate) fn parse_float(text: &str) -> Option<f64> {
    let (sign, body) = match text.strip_prefix('-') {
        Some(body) => (-1.0, body),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    match body {
        ".inf" | ".Inf" | ".INF" => return Some(sign * f64::INFINITY),
        ".nan" | ".NaN" | ".NAN" if body.len() == text.len() => return Some(f64::NAN),
        _ => {}
    }
    let (mantissa, exponent) = match body.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (body, None),
    };
    if let Some(exponent) = exponent
        && !all(exponent.strip_prefix(['+', '-']).unwrap_or(exponent), |b| b.is_ascii_digit())
    {
        return None;
    }
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(fraction) || (whole.is_empty() && fraction.is_empty()) {
        return None;
    }
    body.parse::<f64>().ok().map(|number| sign * number)
}

fn all(text: &str, test: impl Fn(u8) -> bool) -> bool {
    !text.is_empty() && text.bytes().all(test)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn core_schema_and_nothing_more() {
        let str_like =
            ["2026-01-01", "1_000", "yes", "on", "0b1", "0x", "1.2.3", "+", ".", "e5", "-.", "0x1G", "12:30"];
        for text in str_like {
            assert!(matches!(resolve_plain(text), Value::Str), "{text}");
        }
        assert_eq!(resolve_plain("0x1F"), Value::Int(31));
        assert_eq!(resolve_plain("0o17"), Value::Int(15));
        assert_eq!(resolve_plain("-3"), Value::Int(-3));
        assert_eq!(resolve_plain("1.10"), Value::Float(1.1));
        assert_eq!(resolve_plain("4225e714"), Value::Float(f64::INFINITY));
        assert_eq!(resolve_plain("-.5e1"), Value::Float(-5.0));
        assert_eq!(resolve_plain("-.inf"), Value::Float(f64::NEG_INFINITY));
        assert_eq!(resolve_plain("~"), Value::Null);
    }
}
