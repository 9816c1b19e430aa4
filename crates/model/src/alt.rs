//! The words that stand for a photo.

use std::fmt;

use crate::{Invalid, text};

/// What a photo shows, for those who do not see it: at most 1,000 characters, never empty, kept byte for byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alt(String);

impl Alt {
    pub const MAX_CHARS: usize = 1_000;

    /// An empty text describes nothing.
    pub fn parse(raw: String) -> Result<Option<Self>, Invalid> {
        Ok(text::checked("alt text", raw, Self::MAX_CHARS)?.map(Self))
    }

    /// What was once accepted and stored.
    pub fn stored(text: String) -> Self {
        Self(text)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Alt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_characters_not_bytes() {
        let longest = "ä".repeat(Alt::MAX_CHARS);
        assert_eq!(Alt::parse(longest.clone()).unwrap().unwrap().as_str(), longest);
        assert!(Alt::parse(longest + "ä").is_err());
        assert_eq!(Alt::parse(String::new()), Ok(None));
        assert!(Alt::parse("a\0b".into()).is_err());
    }
}
