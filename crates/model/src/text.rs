//! Text that people write: a message beside a photo, a description of one.

use std::fmt;
use std::marker::PhantomData;

use crate::Invalid;

/// Text by a rule: bounded in characters, never empty, without NUL, kept byte for byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text<Rule> {
    text: String,
    rule: PhantomData<Rule>,
}

pub trait TextRule {
    /// As an error names the text.
    const NAME: &'static str;
    const MAX_CHARS: usize;
}

/// The message of a post.
pub type Message = Text<MessageRule>;

/// What a photo shows, for those who do not see it.
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
    pub fn parse(raw: String) -> Result<Option<Self>, Invalid> {
        Ok(checked(Rule::NAME, raw, Rule::MAX_CHARS)?.map(Self::stored))
    }

    /// Text that was accepted and stored before.
    pub fn stored(text: String) -> Self {
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

/// The text as it was sent, if it is not empty; `what` names it in the error.
fn checked(what: &str, raw: String, max_chars: usize) -> Result<Option<String>, Invalid> {
    if raw.is_empty() {
        return Ok(None);
    }
    let chars = raw.chars().count();
    if chars > max_chars {
        return Err(Invalid(format!("the {what} has {chars} characters; {max_chars} are allowed")));
    }
    // PostgreSQL cannot store it.
    if raw.contains('\0') {
        return Err(Invalid(format!("the {what} contains a NUL character")));
    }
    Ok(Some(raw))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn length_is_counted_in_characters() {
        let longest = "ä".repeat(Message::MAX_CHARS);
        assert_eq!(Message::parse(longest.clone()).unwrap().unwrap().as_str(), longest);
        assert!(Message::parse(longest + "ä").is_err());
        let longest = "ä".repeat(Alt::MAX_CHARS);
        assert_eq!(Alt::parse(longest.clone()).unwrap().unwrap().as_str(), longest);
        assert!(Alt::parse(longest + "ä").is_err());
    }

    #[test]
    fn empty_text_is_none_and_nul_is_refused() {
        assert_eq!(Message::parse(String::new()), Ok(None));
        assert_eq!(Alt::parse(String::new()), Ok(None));
        assert!(Message::parse("a\0b".into()).is_err());
    }
}
