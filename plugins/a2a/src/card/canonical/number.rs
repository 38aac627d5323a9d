//! Numbers as ECMAScript writes them (ECMA-262, `Number::toString`), which RFC 8785 takes over.

use serde_json::Number;

/// Writes a number. Every reader of the protocol has it as a double, so an integer of 2^53 and more is rounded.
pub(super) fn canonical(number: &Number) -> String {
    let value = number.as_f64().unwrap_or_default();
    if value == 0.0 {
        return "0".to_owned();
    }
    // The shortest digits that read back as the same number, as in `-1.2345e-7`.
    let shortest = format!("{value:e}");
    let (sign, shortest) = shortest.strip_prefix('-').map_or(("", shortest.as_str()), |rest| ("-", rest));
    let (mantissa, exponent) = shortest.split_once('e').unwrap_or((shortest, "0"));
    let digits: String = mantissa.chars().filter(|c| *c != '.').collect();
    let exponent: i32 = exponent.parse().unwrap_or_default();
    // Where the point is, counted in digits from the left.
    let point = exponent + 1;
    let count = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap_or_default());
    let split =
        |at: i32| digits.split_at_checked(usize::try_from(at).unwrap_or_default()).unwrap_or((&digits, ""));
    let text = match point {
        1..=21 if point >= count => format!("{digits}{}", zeros(point - count)),
        1..=21 => {
            let (whole, rest) = split(point);
            format!("{whole}.{rest}")
        }
        -5..=0 => format!("0.{}{digits}", zeros(-point)),
        _ => {
            let (first, rest) = split(1);
            let dot = if rest.is_empty() { "" } else { "." };
            let plus = if exponent > 0 { "+" } else { "" };
            format!("{first}{dot}{rest}e{plus}{exponent}")
        }
    };
    format!("{sign}{text}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_rfc() {
        // RFC 8785, appendix B.
        for (bits, text) in [
            (0x0000_0000_0000_0000, "0"),
            (0x8000_0000_0000_0000, "0"),
            (0x0000_0000_0000_0001, "5e-324"),
            (0x8000_0000_0000_0001, "-5e-324"),
            (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
            (0x4340_0000_0000_0000, "9007199254740992"),
            (0xc340_0000_0000_0000, "-9007199254740992"),
            (0x4430_0000_0000_0000, "295147905179352830000"),
            (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
            (0x44b5_2d02_c7e1_4af6, "1e+23"),
            (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
            (0x444b_1ae4_d6e2_ef50, "1e+21"),
            (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
            (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
            (0x41b3_de43_5555_5553, "333333333.3333332"),
            (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
        ] {
            let number = Number::from_f64(f64::from_bits(bits)).unwrap();
            assert_eq!(canonical(&number), text);
        }
        assert_eq!(canonical(&Number::from(42)), "42");
        assert_eq!(canonical(&Number::from(-100)), "-100");
    }
}
