//! A point in time in UTC, with microseconds.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::ValidationError;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp(i64);

impl Timestamp {
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    pub const fn micros(self) -> i64 {
        self.0
    }

    /// For times of foreign rows: ISO 8601 with four digits cannot express others.
    pub fn validate(self) -> Result<(), ValidationError> {
        const YEAR_10000: i64 = 253_402_300_800_000_000;
        match self.0 {
            0..YEAR_10000 => Ok(()),
            micros => {
                Err(ValidationError::new(format!("{micros} µs is not between the years 1970 and 9999")))
            }
        }
    }

    /// The time since `earlier`, or zero if that is later.
    pub fn since(self, earlier: Timestamp) -> Duration {
        Duration::from_micros(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// ISO 8601 as the API requires it: `2026-11-14T09:30:00+0000`. A time before 1970 or after the year
    /// 9999, which only a foreign row can contain, becomes the start of 1970.
    pub fn to_iso8601(self) -> [u8; 24] {
        let moment = jiff::Timestamp::from_second(self.0.max(0) / 1_000_000).unwrap_or_default();
        let at = jiff::tz::Offset::UTC.to_datetime(moment);
        // Without a format string, which would be parsed for each of the forty timestamps of a feed page.
        let mut text = *b"0000-00-00T00:00:00+0000";
        let year = at.year().unsigned_abs();
        write_two_digits(&mut text, 0, (year / 100) as u8);
        write_two_digits(&mut text, 2, (year % 100) as u8);
        let fields = [at.month(), at.day(), at.hour(), at.minute(), at.second()];
        for (offset, field) in [5, 8, 11, 14, 17].into_iter().zip(fields) {
            write_two_digits(&mut text, offset, field.unsigned_abs());
        }
        text
    }

    /// A time, or a day such as `2026-11-14`, which stands for its start in UTC.
    pub fn parse_or_day(text: &str) -> Result<Self, ValidationError> {
        text.parse().or_else(|_| format!("{text}T00:00:00Z").parse()).map_err(|_: ValidationError| {
            ValidationError::new("expected a time such as 2026-11-14T09:30:00Z, or a day such as 2026-11-14")
        })
    }

    pub fn plus(self, span: Duration) -> Self {
        Self(self.0.saturating_add(micros(span)))
    }

    pub fn minus(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(micros(span)))
    }
}

fn micros(span: Duration) -> i64 {
    i64::try_from(span.as_micros()).unwrap_or(i64::MAX)
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(std::str::from_utf8(&self.to_iso8601()).map_err(|_| fmt::Error)?)
    }
}

/// ISO 8601 with an offset, as [`Timestamp::to_iso8601`] writes it and as others do: `2026-11-14T09:30:00Z`.
impl FromStr for Timestamp {
    type Err = ValidationError;

    fn from_str(text: &str) -> Result<Self, ValidationError> {
        let parsed = text.parse::<jiff::Timestamp>().ok().map(|moment| Self(moment.as_microsecond()));
        parsed.filter(|time| time.validate().is_ok()).ok_or_else(|| {
            ValidationError::new("a time is written as 2026-11-14T09:30:00+0000, between 1970 and 9999")
        })
    }
}

/// Adds the digits of `number` to two `0` characters.
fn write_two_digits(text: &mut [u8; 24], offset: usize, number: u8) {
    text[offset] += number / 10;
    text[offset + 1] += number % 10;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_print_as_iso8601_with_a_numeric_offset() {
        let moment = Timestamp::from_micros(1_794_648_600_123_456);
        assert_eq!(moment.to_string(), "2026-11-14T09:30:00+0000");
        assert_eq!(Timestamp::from_micros(0).to_string(), "1970-01-01T00:00:00+0000");
        let leap_day = Timestamp::from_micros(951_868_799_999_999);
        assert_eq!(leap_day.to_string(), "2000-02-29T23:59:59+0000");
        for (text, seconds) in [
            ("2026-11-14T09:30:00+0000", 1_794_648_600),
            ("2026-11-14T10:30:00+0100", 1_794_648_600),
            ("2026-11-14T09:30:00Z", 1_794_648_600),
        ] {
            assert_eq!(text.parse(), Ok(Timestamp::from_micros(seconds * 1_000_000)), "{text}");
        }
        for invalid in ["", "yesterday", "2026-11-14", "2026-11-14T09:30:00", "1969-12-31T23:59:59Z"] {
            assert!(invalid.parse::<Timestamp>().is_err(), "{invalid}");
        }
        let last = Timestamp::from_micros(253_402_207_200_000_000);
        assert_eq!(last.to_string(), "9999-12-30T22:00:00+0000");
        assert_eq!(last.validate(), Ok(()));
        for beyond in [i64::MIN, -1, i64::MAX] {
            assert_eq!(Timestamp::from_micros(beyond).to_string(), "1970-01-01T00:00:00+0000");
            assert!(Timestamp::from_micros(beyond).validate().is_err(), "{beyond}");
        }
    }

    #[test]
    fn a_day_stands_for_its_start() {
        let midnight = Timestamp::from_micros(1_794_614_400_000_000);
        for text in ["2026-11-14", "2026-11-14T00:00:00Z", "2026-11-14T01:00:00+0100"] {
            assert_eq!(Timestamp::parse_or_day(text), Ok(midnight), "{text}");
        }
        for text in ["", "2026-11", "2026-02-30", "14.11.2026", "2026-11-14T09:30"] {
            assert!(Timestamp::parse_or_day(text).is_err(), "{text}");
        }
    }

    #[test]
    fn durations_are_never_negative() {
        let (early, late) = (Timestamp::from_micros(5), Timestamp::from_micros(9));
        assert_eq!(late.since(early), Duration::from_micros(4));
        assert_eq!(early.since(late), Duration::ZERO);
        assert_eq!(early.plus(Duration::from_micros(4)), late);
        assert_eq!(late.minus(Duration::from_micros(4)), early);
    }
}
