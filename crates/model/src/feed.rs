//! A page of the feed: where it starts, how long it is, what is on it.

use std::str::FromStr;
use std::sync::Arc;

use crate::{Anchor, Invalid, Post, User, UserId};

/// How many posts a page holds: 1 to 100, 20 unless asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
    type Err = Invalid;

    /// More than the maximum counts as the maximum, however many digits it has.
    fn from_str(raw: &str) -> Result<Self, Invalid> {
        if raw.is_empty() || !raw.bytes().all(|b| b.is_ascii_digit()) {
            return Err(Invalid("limit must be a positive whole number".into()));
        }
        match raw.trim_start_matches('0') {
            "" => Err(Invalid("limit must be at least 1".into())),
            digits => Ok(Self(digits.parse::<u8>().unwrap_or(Self::MAX).min(Self::MAX))),
        }
    }
}

/// Whose posts a page shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    Everyones,
    Only(UserId),
}

/// Where a page begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FeedStart {
    /// After skipping this many of the newest posts.
    Offset(u64),
    /// Right behind a place the reader has reached before.
    After(Anchor),
}

/// Posts, newest first, and the place behind them if more follow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedPage<By = Arc<User>> {
    pub posts: Vec<Post<By>>,
    pub next: Option<Anchor>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_positive_whole_numbers_and_large_ones_count_as_a_hundred() {
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
            assert!(raw.parse::<Limit>().is_err(), "{raw:?} passed for a limit");
        }
    }
}
