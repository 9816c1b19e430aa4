//! A page of the feed, and the parameters that select it.

use std::str::FromStr;
use std::sync::Arc;

use crate::{Cursor, Post, Tag, User, UserId, ValidationError};

/// The largest number of posts on a page: 1 to 100, 20 by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Limit(u8);

impl Limit {
    pub const MAX: u8 = 100;

    pub fn get(self) -> usize {
        self.0.into()
    }
}

impl Default for Limit {
    fn default() -> Self {
        Self(20)
    }
}

impl FromStr for Limit {
    type Err = ValidationError;

    /// Clamps to the maximum, also where the number overflows.
    fn from_str(raw: &str) -> Result<Self, ValidationError> {
        if raw.is_empty() || !raw.bytes().all(|b| b.is_ascii_digit()) {
            return Err(ValidationError::new("limit must be a positive whole number"));
        }
        match raw.trim_start_matches('0') {
            "" => Err(ValidationError::new("limit must be at least 1")),
            digits => Ok(Self(digits.parse::<u8>().unwrap_or(Self::MAX).min(Self::MAX))),
        }
    }
}

/// The posts that a page contains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PostFilter {
    Any,
    By(UserId),
    LikedBy(UserId),
    /// With this tag in the message.
    Tagged(Tag),
}

/// The start of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FeedStart {
    /// Skips this many of the newest posts.
    Offset(u64),
    /// Continues after an earlier page.
    After(Cursor),
}

/// Users who like a post, and the cursor of the next page if there is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LikerPage {
    pub users: Vec<User>,
    pub next: Option<Cursor>,
}

/// Posts, newest first, and the cursor of the next page if there is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedPage<Author = Arc<User>> {
    pub posts: Vec<Post<Author>>,
    pub next: Option<Cursor>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_positive_whole_numbers_clamped_to_a_hundred() {
        for (raw, expected) in [
            ("1", 1),
            ("020", 20),
            ("100", 100),
            ("101", 100),
            ("300", 100),
            ("99999999999999999999999", 100),
        ] {
            assert_eq!(raw.parse::<Limit>().map(Limit::get), Ok(expected), "{raw}");
        }
        for raw in ["", "0", "000", "-1", "+5", "1.5", "ten", " 5", "٥"] {
            assert!(raw.parse::<Limit>().is_err(), "{raw:?} must not parse as a limit");
        }
    }
}
