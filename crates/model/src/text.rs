//! User-supplied text: the message of a post, the alt text of a photo, what a profile says, and the reasons
//! of moderators.

use std::fmt;
use std::marker::PhantomData;

use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

use crate::{Refusal, ValidationError};

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

    /// A further rule; the error completes a sentence about the text.
    fn check(_text: &str) -> Result<(), (Refusal, &'static str)> {
        Ok(())
    }
}

pub type Message = Text<MessageRule>;

/// The alt text of a photo.
pub type Alt = Text<AltRule>;

/// The name that a profile shows beside the username.
pub type DisplayName = Text<DisplayNameRule>;

/// What users write about themselves.
pub type Bio = Text<BioRule>;

/// The address of a website.
pub type Link = Text<LinkRule>;

/// Why a post or a user is reported, hidden or suspended.
pub type Reason = Text<ReasonRule>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReasonRule {}

impl TextRule for ReasonRule {
    const NAME: &'static str = "reason";
    const MAX_CHARS: usize = 1_000;

    fn check(text: &str) -> Result<(), (Refusal, &'static str)> {
        not_blank(text)
    }
}

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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DisplayNameRule {}

impl TextRule for DisplayNameRule {
    const NAME: &'static str = "display name";
    const MAX_CHARS: usize = 64;

    fn check(text: &str) -> Result<(), (Refusal, &'static str)> {
        if text.contains(is_hidden) {
            return Err((Refusal::ControlCharacters, "contains line breaks or control characters"));
        }
        not_blank(text)
    }
}

fn not_blank(text: &str) -> Result<(), (Refusal, &'static str)> {
    if has_visible(text) { Ok(()) } else { Err((Refusal::Blank, "has no visible character")) }
}

/// Whether a reader sees anything of a text.
pub fn has_visible(text: &str) -> bool {
    text.contains(is_visible)
}

/// Whether a reader sees the character by itself.
pub(crate) fn is_visible(char: char) -> bool {
    // Fillers of Hangul and the empty pattern of Braille: letters and a symbol that are drawn as spaces.
    let is_blank = matches!(char, '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' | '\u{2800}');
    let group = char.general_category_group();
    use GeneralCategoryGroup::{Mark, Other, Separator};
    !is_blank && !char.is_whitespace() && !matches!(group, Mark | Other | Separator)
}

/// Line breaks, control characters, characters of no width but the joiners of emoji, and those that reverse
/// the text around them.
fn is_hidden(char: char) -> bool {
    char.is_control()
        || matches!(char, '\u{200b}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BioRule {}

impl TextRule for BioRule {
    const NAME: &'static str = "bio";
    const MAX_CHARS: usize = 500;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkRule {}

impl TextRule for LinkRule {
    const NAME: &'static str = "link";
    const MAX_CHARS: usize = 500;

    fn check(text: &str) -> Result<(), (Refusal, &'static str)> {
        let Some(address) = without_scheme(text) else {
            return Err((Refusal::NotALink, "must begin with https:// or http://"));
        };
        let is_forbidden =
            |char: char| char.is_whitespace() || is_hidden(char) || "\"<>\\^`{|}".contains(char);
        let host = address.split(['/', '?', '#']).next().unwrap_or_default();
        let has_host = host.starts_with(|first: char| first.is_alphanumeric() || first == '[');
        // What stands before an @ would look like the host.
        let is_valid = has_host && !host.contains('@') && !text.contains(is_forbidden);
        if is_valid { Ok(()) } else { Err((Refusal::NotALink, "is not the address of a website")) }
    }
}

fn without_scheme(address: &str) -> Option<&str> {
    ["https://", "http://"].iter().find_map(|scheme| {
        let (start, rest) = address.split_at_checked(scheme.len())?;
        start.eq_ignore_ascii_case(scheme).then_some(rest)
    })
}

/// Whether a word of a message is an address that a profile could link to as well.
pub fn is_web_address(word: &str) -> bool {
    LinkRule::check(word).is_ok()
}

impl<Rule: TextRule> Text<Rule> {
    pub const MAX_CHARS: usize = Rule::MAX_CHARS;

    /// An empty text is `None`.
    pub fn parse(raw: String) -> Result<Option<Self>, ValidationError> {
        let Some(text) = validate(Rule::NAME, raw, Rule::MAX_CHARS)? else { return Ok(None) };
        match Rule::check(&text) {
            Ok(()) => Ok(Some(Self::from_stored(text))),
            Err((refusal, rule)) => {
                Err(ValidationError::refused(refusal, format!("the {} {rule}", Rule::NAME)))
            }
        }
    }

    /// For text of a foreign row, where no text is NULL. Blank text may be from before the rule against it.
    pub fn validate(text: &str) -> Result<(), ValidationError> {
        match Self::parse(text.to_owned()) {
            Ok(Some(_)) => Ok(()),
            Err(rule) if rule.refusal == Some(Refusal::Blank) => Ok(()),
            Err(rule) => Err(rule),
            Ok(None) => Err(ValidationError::new(format!("the {} is empty instead of NULL", Rule::NAME))),
        }
    }

    /// Text from the database, which was validated before it was stored.
    pub fn from_stored(text: String) -> Self {
        Self { text, rule: PhantomData }
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether a reader sees anything of it. Stored text may be from before the rule that demands it.
    pub fn is_visible(&self) -> bool {
        has_visible(&self.text)
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
        let message = format!("the {name} has {chars} characters; {max_chars} are allowed");
        return Err(ValidationError::refused(Refusal::TooLong, message).with_limit(max_chars as u64));
    }
    // PostgreSQL cannot store NUL in text.
    if raw.contains('\0') {
        let message = format!("the {name} contains a NUL character");
        return Err(ValidationError::refused(Refusal::ControlCharacters, message));
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
    fn display_names_are_one_visible_line() {
        for name in ["Ada Lovelace", "عادل", "👩‍💻 Ada"] {
            assert!(DisplayName::parse(name.into()).is_ok_and(|name| name.is_some()), "{name:?}");
        }
        let blank = [
            "\u{3164}",
            "\u{ad}",
            "\u{2800}",
            "\u{200d}\u{fe0f}",
            "\u{115f} \u{ffa0}",
            "\u{e0020}",
            "\u{301}",
        ];
        for name in blank {
            assert!(DisplayName::validate(name).is_ok(), "{name:?} of a backup");
            assert!(!DisplayName::from_stored(name.into()).is_visible());
            let error = DisplayName::parse(name.into()).unwrap_err();
            assert_eq!(error.refusal, Some(Refusal::Blank), "{name:?}");
            assert!(Reason::parse(name.into()).is_err(), "{name:?}");
        }
        for name in ["Ada\nLovelace", "  ", "\u{202e}adA", "a\u{7}b", "\u{200b}", "a\u{2028}b"] {
            assert!(DisplayName::parse(name.into()).is_err(), "{name:?} must be rejected");
        }
    }

    #[test]
    fn links_are_addresses_of_websites() {
        for link in [
            "https://ada.example",
            "http://ada.example:8080/~ada?x=1#y",
            "https://[::1]/",
            "https://münchen.example",
        ] {
            assert!(Link::parse(link.into()).is_ok_and(|link| link.is_some()), "{link:?}");
        }
        for link in [
            "javascript:alert(1)",
            "ada.example",
            "https://",
            "https:///x",
            "https://a b",
            "https://a\"b",
            "ftp://a",
            "https://bank.example@evil.example",
            "https://a.example/\u{202e}x",
        ] {
            assert!(Link::parse(link.into()).is_err(), "{link:?} must be rejected");
        }
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
