//! Sizes as people write them.

/// The units with their bytes, from the largest; binary ones are for sizes that are whole only there.
const UNITS: [(&str, u64); 7] = [
    ("TB", 1_000_000_000_000),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("KB", 1_000),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
];

/// A size such as `1.5 GB` that means exactly these bytes, with at most two decimals. `admin.js` reads it.
pub(super) fn exact_size(bytes: u64, decimal_mark: &str) -> String {
    let exact = |(unit, length): &(&str, u64)| {
        let (whole, rest) = (bytes / length, bytes % length);
        let is_binary = unit.contains('i');
        if whole == 0 || (is_binary && rest > 0) || rest * 100 % length > 0 {
            return None;
        }
        let decimals = format!("{:02}", rest * 100 / length);
        let decimals = decimals.trim_end_matches('0');
        let mark = if decimals.is_empty() { "" } else { decimal_mark };
        Some(format!("{whole}{mark}{decimals} {unit}"))
    };
    UNITS.iter().find_map(exact).unwrap_or_else(|| format!("{bytes} B"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_exact() {
        for (bytes, text) in [
            (1, "1 B"),
            (999, "999 B"),
            (1_000, "1 KB"),
            (1_024, "1 KiB"),
            (1_025, "1025 B"),
            (500_000_000, "500 MB"),
            (1_500_000_000, "1.5 GB"),
            (1_050_000_000, "1.05 GB"),
            (1_234_000_000, "1234 MB"),
            (1 << 30, "1 GiB"),
            (1_000_000_000_000_000, "1000 TB"),
        ] {
            assert_eq!(exact_size(bytes, "."), text);
        }
        assert_eq!(exact_size(1_500_000_000, ","), "1,5 GB");
    }
}
