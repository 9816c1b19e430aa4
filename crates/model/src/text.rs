//! User-supplied text: the message of a post and the alt text of a photo.

use std::fmt;
use std::marker::PhantomData;

use crate::ValidationError;

/// Validated text: bounded in characters, never empty, without NUL, and stored byte for byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text<Rule> {
    text: String,
    rule: PhantomData<Rule>,
}

pub trait TextRule {
    /// The name of the text in error messages.
    const NAME: &'static str;
    const MAX_CHARS: usize;
}

pub type Message = Text<MessageRule>;

/// The alt text of a photo.
pub type Alt = Text<AltRule>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageRule {}

impl TextRule for MessageRule {
    const NAME: &'static str = "message";
    const MAX_CHARS: usize = 5_000;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AltRule {}

impl TextRule for AltRule {
    const NAME: &'static str = "alt text";
    const MAX_CHARS: usize = 1_000;
}

impl<Rule: TextRule> Text<Rule> {
    pub const MAX_CHARS: usize = Rule::MAX_CHARS;

    /// An empty text is `None`.
    pub fn parse(raw: String) -> Result<Option<Self>, ValidationError> {
        Ok(validate(Rule::NAME, raw, Rule::MAX_CHARS)?.map(Self::from_stored))
    }

    /// For text of a foreign row, where no text is NULL.
    pub fn validate(text: &str) -> Result<(), ValidationError> {
        match Self::parse(text.to_owned())? {
            Some(_) => Ok(()),
            None => Err(ValidationError(format!("the {} is empty instead of NULL", Rule::NAME))),
        }
    }

    /// Text from the database, which was validated before it was stored.
    pub fn from_stored(text: String) -> Self {
        Self { text, rule: PhantomData }
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl<Rule> fmt::Display for Text<Rule> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Returns `None` for empty text. `name` is the name of the text in error messages.
fn validate(name: &str, raw: String, max_chars: usize) -> Result<Option<String>, ValidationError> {
    if raw.is_empty() {
        return Ok(None);
    }
    let chars = raw.chars().count();
    if chars > max_chars {
        return Err(ValidationError(format!("the {name} has {chars} characters; {max_chars} are allowed")));
    }
    // PostgreSQL cannot store NUL in text.
    if raw.contains('\0') {
        return Err(ValidationError(format!("the {name} contains a NUL character")));
    }
    Ok(Some(raw))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn length_is_limited_in_characters() {
        let longest = "ä".repeat(Message::MAX_CHARS);
        assert_eq!(Message::parse(longest.clone()).unwrap().unwrap().as_str(), longest);
        assert!(Message::parse(longest + "ä").is_err());
        let longest = "ä".repeat(Alt::MAX_CHARS);
        assert_eq!(Alt::parse(longest.clone()).unwrap().unwrap().as_str(), longest);
        assert!(Alt::parse(longest + "ä").is_err());
    }

    #[test]
    fn empty_text_is_none_and_nul_is_rejected() {
        assert_eq!(Message::parse(String::new()), Ok(None));
        assert_eq!(Alt::parse(String::new()), Ok(None));
        assert!(Message::parse("a\0b".into()).is_err());
        assert!(Message::validate("").is_err() && Message::validate("a\0b").is_err());
        assert_eq!(Message::validate("a"), Ok(()));
    }
}
