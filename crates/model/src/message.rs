//! The words beside a photo.

use std::fmt;

use crate::{Invalid, text};

/// At most 5,000 characters, never empty, kept byte for byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message(String);

impl Message {
    pub const MAX_CHARS: usize = 5_000;

    /// An empty text is no message.
    pub fn parse(raw: String) -> Result<Option<Self>, Invalid> {
        Ok(text::checked("message", raw, Self::MAX_CHARS)?.map(Self))
    }

    /// What was once accepted and stored.
    pub fn stored(text: String) -> Self {
        Self(text)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_characters_not_bytes() {
        let longest = "ä".repeat(Message::MAX_CHARS);
        assert_eq!(Message::parse(longest.clone()).unwrap().unwrap().as_str(), longest);
        assert!(Message::parse(longest + "ä").is_err());
        assert_eq!(Message::parse(String::new()), Ok(None));
        assert!(Message::parse("a\0b".into()).is_err());
    }
}
