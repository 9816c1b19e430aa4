//! Text that people write: a message beside a photo, a description of one.

use std::fmt;

use crate::Invalid;

/// Defines a text type: bounded in characters, never empty, without NUL, kept byte for byte.
macro_rules! text {
    ($(#[$about:meta])* $Type:ident, $name:literal, $max_chars:literal) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct $Type(String);

        impl $Type {
            pub const MAX_CHARS: usize = $max_chars;

            /// An empty text is `None`.
            pub fn parse(raw: String) -> Result<Option<Self>, Invalid> {
                Ok(checked($name, raw, Self::MAX_CHARS)?.map(Self))
            }

            /// Text that was accepted and stored before.
            pub fn stored(text: String) -> Self {
                Self(text)
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $Type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

text! {
    /// The message of a post.
    Message, "message", 5_000
}

text! {
    /// What a photo shows, for those who do not see it.
    Alt, "alt text", 1_000
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
