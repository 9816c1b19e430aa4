//! A moment, to the microsecond, in UTC.

use std::fmt;
use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp(i64);

impl Timestamp {
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    pub const fn micros(self) -> i64 {
        self.0
    }

    /// How long after `earlier` this is; nothing if it is before.
    pub fn since(self, earlier: Timestamp) -> Duration {
        Duration::from_micros(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
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

/// The contract's form: `2026-11-14T09:30:00+0000`.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let moment = jiff::Timestamp::from_microsecond(self.0).map_err(|_| fmt::Error)?;
        let at = jiff::tz::Offset::UTC.to_datetime(moment);
        // Digit by digit: a page of the feed has forty of these, and reading a pattern for each shows there.
        let mut text = *b"0000-00-00T00:00:00+0000";
        put(&mut text[0..4], at.year())?;
        put(&mut text[5..7], at.month().into())?;
        put(&mut text[8..10], at.day().into())?;
        put(&mut text[11..13], at.hour().into())?;
        put(&mut text[14..16], at.minute().into())?;
        put(&mut text[17..19], at.second().into())?;
        f.write_str(std::str::from_utf8(&text).map_err(|_| fmt::Error)?)
    }
}

/// Writes a number from right to left, over the zeros that are there.
fn put(digits: &mut [u8], number: i16) -> fmt::Result {
    let mut rest = u16::try_from(number).map_err(|_| fmt::Error)?;
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_as_the_contract_says() {
        let moment = Timestamp::from_micros(1_794_648_600_123_456);
        assert_eq!(moment.to_string(), "2026-11-14T09:30:00+0000");
        assert_eq!(Timestamp::from_micros(0).to_string(), "1970-01-01T00:00:00+0000");
        let leap_day = Timestamp::from_micros(951_868_799_999_999);
        assert_eq!(leap_day.to_string(), "2000-02-29T23:59:59+0000");
    }

    #[test]
    fn spans_never_go_negative() {
        let (early, late) = (Timestamp::from_micros(5), Timestamp::from_micros(9));
        assert_eq!(late.since(early), Duration::from_micros(4));
        assert_eq!(early.since(late), Duration::ZERO);
        assert_eq!(early.plus(Duration::from_micros(4)), late);
        assert_eq!(late.minus(Duration::from_micros(4)), early);
    }
}
