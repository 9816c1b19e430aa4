//! Codecs of numeric settings: counts, sizes and durations.

use std::fmt::Display;
use std::time::Duration;

use super::codec::{Codec, quoted};

/// An integer from `MIN` to `MAX`.
pub(super) struct Count<const MIN: u64 = 1, const MAX: u64 = { u32::MAX as u64 }>;

impl<T: TryFrom<u64> + Display, const MIN: u64, const MAX: u64> Codec<T> for Count<MIN, MAX> {
    const PLACEHOLDER: &'static str = "N";

    fn parse(raw: &str) -> Result<T, String> {
        let expected = || format!("expected a whole number from {MIN} to {MAX}");
        let number = digits(raw).ok_or_else(expected)?;
        if number == 0 && MIN > 0 {
            return Err(zero(&expected()));
        }
        let within = Some(number).filter(|number| (MIN..=MAX).contains(number));
        within.and_then(|number| T::try_from(number).ok()).ok_or_else(expected)
    }

    fn to_toml(value: &T) -> Option<String> {
        Some(value.to_string())
    }
}

/// A size in bytes: `512KiB`, `32MiB`, `1GiB`, or a plain number.
pub(super) struct Bytes<const MIN: u64 = 1>;

/// Binary units, largest first: a size is printed in the first that divides it.
const BINARY: [(&str, u64); 4] = [("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
const DECIMAL: [(&str, u64); 5] =
    [("", 1), ("B", 1), ("KB", 1_000), ("MB", 1_000_000), ("GB", 1_000_000_000)];

impl<const MIN: u64> Codec<u64> for Bytes<MIN> {
    const PLACEHOLDER: &'static str = "SIZE";

    fn parse(raw: &str) -> Result<u64, String> {
        let expected = "expected a size in bytes, KiB, MiB or GiB";
        let (number, unit) = number_and_unit(raw).ok_or(expected)?;
        let known = BINARY.iter().chain(&DECIMAL).find(|(name, _)| name.eq_ignore_ascii_case(unit));
        let (_, factor) = known.ok_or(expected)?;
        match number.checked_mul(*factor) {
            Some(0) if MIN > 0 => Err(zero(expected)),
            Some(bytes) => Ok(bytes),
            None => Err("expected less than 16 EiB".into()),
        }
    }

    fn to_toml(bytes: &u64) -> Option<String> {
        let exact = BINARY.iter().find(|(_, factor)| *bytes > 0 && bytes.is_multiple_of(*factor));
        Some(
            exact.map_or_else(
                || bytes.to_string(),
                |(unit, factor)| quoted(&format!("{}{unit}", bytes / factor)),
            ),
        )
    }
}

/// A duration: `500ms`, `10s`, `5m`, `24h`, `90d`. The unit is required, because a bare `10` is ambiguous.
pub(super) struct Span<const MIN: u64 = 1>;

const UNITS: [(&str, u64); 5] = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

/// 100 years, in milliseconds. Adding a longer duration to a timestamp could overflow.
const MAX_MILLIS: u64 = 36_500 * 86_400_000;

impl<const MIN: u64> Codec<Duration> for Span<MIN> {
    const PLACEHOLDER: &'static str = "TIME";

    fn parse(raw: &str) -> Result<Duration, String> {
        let expected = "expected a duration in ms, s, m, h or d";
        let (number, unit) = number_and_unit(raw).ok_or(expected)?;
        if number == 0 && MIN > 0 {
            return Err(zero(expected));
        }
        let (_, factor) = UNITS.iter().find(|(name, _)| *name == unit).ok_or(expected)?;
        let length = number.checked_mul(*factor).filter(|length| *length <= MAX_MILLIS);
        length.map(Duration::from_millis).ok_or_else(|| "expected at most 36500d".into())
    }

    fn to_toml(span: &Duration) -> Option<String> {
        let length = span.as_millis();
        let exact = UNITS.iter().find(|(_, factor)| length > 0 && length.is_multiple_of(u128::from(*factor)));
        let (unit, factor) = exact.unwrap_or(&("s", 1_000));
        Some(quoted(&format!("{}{unit}", length / u128::from(*factor))))
    }
}

/// In other programs zero often means "no limit", so the error says that it does not here.
fn zero(expected: &str) -> String {
    format!("zero does not mean \"no limit\"; {expected}, greater than zero")
}

/// A size that is no setting, such as `10GB`.
pub(crate) fn parse_size(raw: &str) -> Result<u64, String> {
    Bytes::<1>::parse(raw)
}

/// A duration that is no setting, such as `2h`.
pub(crate) fn parse_duration(raw: &str) -> Result<Duration, String> {
    Span::<1>::parse(raw)
}

/// `(32, "MiB")` for `32 MiB`.
fn number_and_unit(raw: &str) -> Option<(u64, &str)> {
    let end = raw.find(|c: char| !c.is_ascii_digit()).unwrap_or(raw.len());
    let (number, unit) = raw.split_at(end);
    Some((digits(number)?, unit.trim_start()))
}

/// Rejects a sign, which the standard parser accepts.
fn digits(raw: &str) -> Option<u64> {
    if raw.bytes().all(|b| b.is_ascii_digit()) { raw.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_parse_with_any_unit_and_print_in_the_largest_exact_one() {
        let cases = [
            ("1", 1, "1"),
            ("0", 0, "0"),
            ("512KiB", 512 << 10, "\"512KiB\""),
            ("32 mib", 32 << 20, "\"32MiB\""),
            ("1024KiB", 1 << 20, "\"1MiB\""),
            ("1GiB", 1 << 30, "\"1GiB\""),
            ("5MB", 5_000_000, "5000000"),
        ];
        for (raw, bytes, toml) in cases {
            assert_eq!(Bytes::<0>::parse(raw), Ok(bytes), "{raw}");
            assert_eq!(Bytes::<0>::to_toml(&bytes).as_deref(), Some(toml));
        }
        for raw in ["", "MiB", "-1", "+1", "1.5GiB", "1 Gi B", "32M", "99999999999999999999", "99999999TiB"] {
            assert!(Bytes::<0>::parse(raw).is_err(), "{raw:?} was accepted as a size");
        }
        assert!(Bytes::<1>::parse("0MiB").is_err_and(|reason| reason.contains("no limit")));
    }

    #[test]
    fn durations_require_a_unit_and_print_in_the_largest_exact_one() {
        let cases = [
            ("500ms", 500, "\"500ms\""),
            ("10s", 10_000, "\"10s\""),
            ("90s", 90_000, "\"90s\""),
            ("60m", 3_600_000, "\"1h\""),
            ("24 h", 86_400_000, "\"1d\""),
            ("90d", 90 * 86_400_000, "\"90d\""),
            ("0s", 0, "\"0s\""),
        ];
        for (raw, millis, toml) in cases {
            let span = Duration::from_millis(millis);
            assert_eq!(Span::<0>::parse(raw), Ok(span), "{raw}");
            assert_eq!(Span::<0>::to_toml(&span).as_deref(), Some(toml));
        }
        for raw in ["", "10", "s", "1.5h", "-1s", "1w", "1h30m", "36501d", "99999999999999999999d"] {
            assert!(Span::<0>::parse(raw).is_err(), "{raw:?} was accepted as a duration");
        }
        assert!(Span::<1>::parse("0ms").is_err_and(|reason| reason.contains("no limit")));
    }

    #[test]
    fn counts_outside_their_range_are_rejected() {
        type Megapixels = Count<1, 1000>;
        for (raw, number) in [("1", 1_u32), ("1000", 1000), ("0064", 64)] {
            assert_eq!(Megapixels::parse(raw), Ok(number));
        }
        for raw in ["", "0", "1001", "-1", "+1", "1.0", "ten", "4294967296"] {
            assert!(<Megapixels as Codec<u32>>::parse(raw).is_err(), "{raw:?} was accepted as a count");
        }
    }
}
