//! Counts and sizes formatted for people.

/// `1 photo`, `2 photos`.
pub fn count(number: u64, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// `1.5 GiB`.
pub fn size(bytes: u64) -> String {
    let units = [("GiB", 30), ("MiB", 20), ("KiB", 10)];
    match units.into_iter().find(|(_, shift)| bytes >> shift > 0) {
        Some((unit, shift)) => format!("{:.1} {unit}", bytes as f64 / f64::from(1_u32 << shift)),
        None => count(bytes, "byte"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_of_one_is_singular() {
        assert_eq!([0, 1, 2].map(|n| count(n, "photo")), ["0 photos", "1 photo", "2 photos"]);
    }

    #[test]
    fn sizes_are_formatted_in_the_largest_fitting_unit() {
        for (bytes, text) in
            [(0, "0 bytes"), (1, "1 byte"), (1023, "1023 bytes"), (1536, "1.5 KiB"), (3 << 30, "3.0 GiB")]
        {
            assert_eq!(size(bytes), text);
        }
    }
}
