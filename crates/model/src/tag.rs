//! Tags: words of a message that begin with `#`, which the index of tags and the links in messages agree on.

use std::collections::HashSet;
use std::fmt;
use std::str::FromStr;

use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};

use crate::ValidationError;
use crate::text::is_visible;

/// Punctuation before the first character of a link or a tag in a message.
pub const OPENING_PUNCTUATION: [char; 8] = ['(', '[', '"', '\'', '„', '“', '‘', '«'];

/// A tag without its `#`, in lower case: letters, marks, decimal digits and `_` of any script.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Tag(String);

impl Tag {
    pub const MAX_CHARS: usize = 64;

    /// The tags of one post that are indexed.
    pub const MAX_PER_POST: usize = 30;

    /// The tag that a word begins with, as it is written, with its `#`. What follows it is not part of it.
    pub fn at_start(word: &str) -> Option<&str> {
        let rest = word.strip_prefix('#')?;
        let name = &rest[..rest.find(|char| !is_allowed(char)).unwrap_or(rest.len())];
        name.parse::<Self>().is_ok().then(|| &word[..=name.len()])
    }

    /// The first [`Tag::MAX_PER_POST`] distinct tags of a message, in its order.
    pub fn all_in(message: &str) -> Vec<Self> {
        let mut seen = HashSet::new();
        let words = message.split_whitespace().map(|word| word.trim_start_matches(OPENING_PUNCTUATION));
        let tags = words.filter_map(|word| Self::at_start(word)?[1..].parse::<Self>().ok());
        tags.filter(|tag| seen.insert(tag.clone())).take(Self::MAX_PER_POST).collect()
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Tag {
    type Err = ValidationError;

    /// A mark cannot be the first character, because it would combine with the `#`: that is a keycap emoji.
    fn from_str(raw: &str) -> Result<Self, ValidationError> {
        let invalid = |rule: String| Err(ValidationError::new(rule));
        if raw.is_empty() || raw.starts_with(is_mark) || !raw.chars().all(is_allowed) {
            return invalid("a tag consists of letters, digits and _, without its #".to_owned());
        }
        if !raw.contains(|char: char| char == '_' || is_letter(char)) {
            return invalid("a tag needs a letter or _ among its digits".to_owned());
        }
        let tag = raw.to_lowercase();
        if tag.chars().count() > Self::MAX_CHARS {
            return invalid(format!("a tag has at most {} characters", Self::MAX_CHARS));
        }
        Ok(Self(tag))
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn is_allowed(char: char) -> bool {
    if char.is_ascii() {
        return char == '_' || char.is_ascii_alphanumeric();
    }
    is_letter(char) || is_mark(char) || char.general_category() == GeneralCategory::DecimalNumber
}

fn is_letter(char: char) -> bool {
    char.general_category_group() == GeneralCategoryGroup::Letter && is_visible(char)
}

fn is_mark(char: char) -> bool {
    char.general_category_group() == GeneralCategoryGroup::Mark
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_words_after_a_number_sign() {
        let (longest, too_long) = ("ä".repeat(64), "ä".repeat(65));
        for (message, tags) in [
            ("", &[][..]),
            ("no tag, C# or a#b, ## or #", &[]),
            ("#one two #three", &["one", "three"]),
            ("(#one), \"#two\". „#three“ «#four»!", &["one", "two", "three", "four"]),
            ("#One #ONE #one", &["one"]),
            ("#2024 #1st #007_ #_ #٢٠٢٤", &["1st", "007_", "_"]),
            ("#well-known #c++ #a.b #ada's #one#two", &["well", "c", "a", "ada", "one"]),
            (
                "#Österreich #ΟΔΟΣ #日本語、写真 #हिन्दी #e\u{301}t\u{e9}",
                &["österreich", "οδος", "日本語", "हिन्दी", "e\u{301}t\u{e9}"],
            ),
            ("#\u{3164} #a\u{3164}b", &["a"]),
            ("#\u{fe0f}\u{20e3} #1\u{fe0f}\u{20e3} #🙂 #² #½", &[]),
            ("two\nlines\t#tab\u{a0}#space\u{2003}#wide", &["tab", "space", "wide"]),
            ("https://example.org/#x @#x", &[]),
            (&*format!("#{longest} #{too_long}"), &[&*longest]),
        ] {
            let found = Tag::all_in(message);
            assert_eq!(found.iter().map(Tag::as_str).collect::<Vec<_>>(), tags, "{message}");
        }
    }

    #[test]
    fn a_post_has_at_most_thirty_tags() {
        let message = |count| (0..count).map(|n| format!("#a{n} #A{n} ")).collect::<String>();
        let count = |tags| Tag::all_in(&message(tags)).len();
        assert_eq!((count(29), count(30), count(31)), (29, 30, 30));
        assert_eq!(Tag::all_in(&message(40))[29].as_str(), "a29");
    }

    /// A tag in a path is parsed again, so its lower case has to be a tag, and the same one.
    #[test]
    fn the_lower_case_of_every_character_is_that_of_a_tag() {
        for char in ('\0'..=char::MAX).filter(|char| is_allowed(*char)) {
            let tag: Tag = format!("a{char}").parse().unwrap();
            assert_eq!(tag.as_str().parse(), Ok(tag.clone()), "{char:?}");
        }
        // Two characters in lower case.
        assert!("İ".repeat(32).parse::<Tag>().is_ok_and(|tag| tag.as_str().parse() == Ok(tag.clone())));
        assert!("İ".repeat(33).parse::<Tag>().is_err());
    }

    #[test]
    fn the_error_says_what_a_tag_is() {
        for (raw, rule) in [
            ("", "consists of"),
            ("#a", "without its #"),
            ("a b", "consists of"),
            ("a/b", "consists of"),
            ("a\0", "consists of"),
            ("\u{301}a", "consists of"),
            ("2024", "needs a letter"),
            (&*"a".repeat(65), "at most 64"),
        ] {
            let error = raw.parse::<Tag>().unwrap_err().to_string();
            assert!(error.contains(rule), "{raw:?}: {error}");
        }
    }
}
