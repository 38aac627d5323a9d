//! Moments as the protocol writes them: RFC 3339 in UTC with milliseconds (A2A v1.0, section 5.6.1).

use std::time::Duration;

use jiff::{Timestamp, fmt::temporal::DateTimePrinter};

const PRINTER: DateTimePrinter = DateTimePrinter::new().precision(Some(3));

/// Writes a time since the Unix epoch, as in `2025-10-28T10:30:00.000Z`.
pub(crate) fn format(since_epoch: Duration) -> String {
    let millis = i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX);
    let moment = Timestamp::from_millisecond(millis).unwrap_or(Timestamp::MAX);
    let mut text = String::with_capacity(32);
    // A text takes every write.
    let _ = PRINTER.print_timestamp(&moment, &mut text);
    text
}

/// Reads a moment with an offset and up to nine digits of a second; none before 1970.
pub(crate) fn parse(text: &str) -> Option<Duration> {
    let moment: Timestamp = text.trim().parse().ok()?;
    Duration::try_from(moment.as_duration()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_with_milliseconds_and_read_with_any_digits() {
        let moment = Duration::from_millis(1_761_647_400_007);
        assert_eq!(format(moment), "2025-10-28T10:30:00.007Z");
        assert_eq!(parse("2025-10-28T10:30:00.007Z"), Some(moment));
        assert_eq!(parse("2025-10-28T11:30:00.007000+01:00"), Some(moment));
        assert_eq!(parse("1970-01-01T00:00:00Z"), Some(Duration::ZERO));
        assert_eq!(parse("1969-12-31T23:59:59Z"), None);
        assert_eq!(parse("2025-10-28"), None);
        assert_eq!(parse("soon"), None);
    }
}
