//! A recursive-descent evaluator with a bound on length and depth.

use std::{iter::Peekable, str::Chars};

const MAX_CHARS: usize = 1000;
const MAX_DEPTH: usize = 64;

/// Works out an expression.
///
/// # Errors
/// Why it cannot be worked out, in a few words.
pub fn evaluate(expression: &str) -> Result<f64, String> {
    if expression.chars().nth(MAX_CHARS).is_some() {
        return Err(format!("it is longer than {MAX_CHARS} characters"));
    }
    let mut parser = Parser { rest: expression.chars().peekable(), depth: 0 };
    let value = parser.sum()?;
    match parser.peek() {
        None => Ok(if value == 0.0 { 0.0 } else { value }),
        Some(c) => Err(format!("unexpected `{c}`")),
    }
}

struct Parser<'a> {
    rest: Peekable<Chars<'a>>,
    depth: usize,
}

impl Parser<'_> {
    fn peek(&mut self) -> Option<char> {
        while self.rest.next_if(|c| c.is_whitespace()).is_some() {}
        self.rest.peek().copied()
    }

    fn take(&mut self, wanted: char) -> bool {
        self.peek() == Some(wanted) && self.rest.next().is_some()
    }

    fn sum(&mut self) -> Result<f64, String> {
        let mut value = self.product()?;
        loop {
            if self.take('+') {
                value = finite(value + self.product()?)?;
            } else if self.take('-') {
                value = finite(value - self.product()?)?;
            } else {
                return Ok(value);
            }
        }
    }

    fn product(&mut self) -> Result<f64, String> {
        let mut value = self.signed()?;
        loop {
            if self.take('*') {
                value = finite(value * self.signed()?)?;
            } else if self.take('/') {
                value = finite(value / divisor(self.signed()?)?)?;
            } else if self.take('%') {
                value = finite(remainder(value, divisor(self.signed()?)?))?;
            } else {
                return Ok(value);
            }
        }
    }

    fn signed(&mut self) -> Result<f64, String> {
        self.deeper(|parser| {
            if parser.take('-') {
                return Ok(-parser.signed()?);
            }
            if parser.take('+') { parser.signed() } else { parser.power() }
        })
    }

    fn power(&mut self) -> Result<f64, String> {
        let base = self.atom()?;
        if !self.power_follows() {
            return Ok(base);
        }
        let exponent = self.signed()?;
        if base == 0.0 && exponent < 0.0 {
            return Err("division by zero".to_owned());
        }
        finite(base.powf(exponent))
    }

    /// Takes `^` or `**`; a single `*` stays.
    fn power_follows(&mut self) -> bool {
        if self.take('^') {
            return true;
        }
        if self.peek() != Some('*') {
            return false;
        }
        let mut ahead = self.rest.clone();
        ahead.next();
        if ahead.next() != Some('*') {
            return false;
        }
        self.rest = ahead;
        true
    }

    fn atom(&mut self) -> Result<f64, String> {
        match self.peek() {
            Some('(') => {
                self.rest.next();
                let value = self.deeper(Self::sum)?;
                if self.take(')') { Ok(value) } else { Err("`)` is missing".to_owned()) }
            }
            Some(c) if c.is_ascii_digit() || c == '.' => self.number(),
            Some(c) => Err(format!("unexpected `{c}`")),
            None => Err("it ends too early".to_owned()),
        }
    }

    fn number(&mut self) -> Result<f64, String> {
        let mut text = String::new();
        self.digits(&mut text);
        if let Some(dot) = self.rest.next_if_eq(&'.') {
            text.push(dot);
            self.digits(&mut text);
        }
        if let Some(e) = self.rest.next_if(|c| matches!(c, 'e' | 'E')) {
            text.push(e);
            text.extend(self.rest.next_if(|c| matches!(c, '+' | '-')));
            self.digits(&mut text);
        }
        let value: f64 = text.parse().map_err(|_| format!("`{text}` is no number"))?;
        finite(value)
    }

    fn digits(&mut self, text: &mut String) {
        while let Some(digit) = self.rest.next_if(char::is_ascii_digit) {
            text.push(digit);
        }
    }

    fn deeper(&mut self, parse: impl FnOnce(&mut Self) -> Result<f64, String>) -> Result<f64, String> {
        if self.depth >= MAX_DEPTH {
            return Err(format!("it is nested deeper than {MAX_DEPTH} levels"));
        }
        self.depth = self.depth.saturating_add(1);
        let value = parse(self);
        self.depth = self.depth.saturating_sub(1);
        value
    }
}

fn divisor(value: f64) -> Result<f64, String> {
    if value == 0.0 { Err("division by zero".to_owned()) } else { Ok(value) }
}

fn remainder(value: f64, divisor: f64) -> f64 {
    let rest = value % divisor;
    if rest != 0.0 && (rest < 0.0) != (divisor < 0.0) { rest + divisor } else { rest }
}

fn finite(value: f64) -> Result<f64, String> {
    if value.is_nan() {
        Err("the result is not a real number".to_owned())
    } else if value.is_infinite() {
        Err("the result is too large".to_owned())
    } else {
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::evaluate;

    #[test]
    fn expressions_have_their_values() {
        for (expression, value) in [
            ("2+2", 4.0),
            ("5*100", 500.0),
            (" 1 + 2 * 3 ", 7.0),
            ("(1 + 2) * 3", 9.0),
            ("10 - 3 - 2", 5.0),
            ("7 / 2", 3.5),
            ("2 ^ 3 ^ 2", 512.0),
            ("2 ** 3", 8.0),
            ("2 * -3", -6.0),
            ("-2^2", -4.0),
            ("2^-1", 0.5),
            ("--+3", 3.0),
            ("7 % 3", 1.0),
            ("-7 % 3", 2.0),
            ("7 % -3", -2.0),
            (".5 + 1.", 1.5),
            ("1.5e3", 1500.0),
            ("1E-2", 0.01),
            ("-0", 0.0),
        ] {
            assert_eq!(evaluate(expression), Ok(value), "{expression}");
        }
    }

    #[test]
    fn what_cannot_be_worked_out_says_why() {
        for (expression, reason) in [
            ("", "it ends too early"),
            ("1 +", "it ends too early"),
            ("1 / 0", "division by zero"),
            ("1 % (2 - 2)", "division by zero"),
            ("0 ^ -1", "division by zero"),
            ("10 ^ 400", "the result is too large"),
            ("1e999", "the result is too large"),
            ("(0-8) ^ 0.5", "the result is not a real number"),
            ("(1", "`)` is missing"),
            ("1)", "unexpected `)`"),
            ("2 x 3", "unexpected `x`"),
            ("2 * * 3", "unexpected `*`"),
            (".", "`.` is no number"),
            ("1e", "`1e` is no number"),
            ("1.2.3", "unexpected `.`"),
        ] {
            assert_eq!(evaluate(expression), Err(reason.to_owned()), "{expression}");
        }
        for deep in ["(".repeat(900), "-".repeat(900), format!("1{}", "^1".repeat(400))] {
            assert_eq!(evaluate(&deep), Err("it is nested deeper than 64 levels".to_owned()));
        }
        assert!(evaluate(&"1+".repeat(501)).is_err());
        assert_eq!(evaluate(&format!("1{}", "+1".repeat(499))), Ok(500.0));
    }
}
