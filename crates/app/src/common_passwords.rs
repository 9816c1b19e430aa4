//! The most common passwords, which new accounts may not have: attackers try them first.

use std::io::Read;
use std::sync::LazyLock;

use flate2::read::GzDecoder;

const COMPRESSED: &[u8] = include_bytes!("../common-passwords/10000.txt.gz");

/// One password per line, in lower case. Decompressed when the first account is created.
static LINES: LazyLock<String> = LazyLock::new(|| {
    let mut lines = String::new();
    GzDecoder::new(COMPRESSED).read_to_string(&mut lines).expect("the embedded list is gzip of UTF-8");
    lines
});

/// Whether this is a common password in any letter case. A linear search of 80 KB takes far less time than
/// the hash that follows it.
pub(crate) fn is_common(password: &str) -> bool {
    LINES.lines().any(|common| common.eq_ignore_ascii_case(password))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_has_10000_passwords_in_lower_case() {
        assert_eq!(LINES.lines().count(), 10_000);
        assert!(LINES.lines().all(|line| !line.is_empty() && line == line.to_ascii_lowercase()));
    }

    #[test]
    fn common_passwords_are_found_in_any_case() {
        for common in ["123456", "password", "PassWord1", "1q2w3e4r", "desmond1"] {
            assert!(is_common(common), "{common}");
        }
        for rare in ["", "correct horse", "password ", "passwordpassword1"] {
            assert!(!is_common(rare), "{rare}");
        }
    }
}
