//! A member, and the name they go by.

use std::fmt;
use std::str::FromStr;

use crate::ids::numeric_id;
use crate::{Invalid, Photo, Timestamp};

numeric_id!(
    /// A member of the service.
    UserId
);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    pub id: UserId,
    pub username: Username,
    /// In a box: most have none, and a page of posts looks up twenty members from all over memory.
    pub photo: Option<Box<Photo>>,
    pub created_at: Timestamp,
}

/// 1 to 64 ASCII letters, digits and `_ . - @ +`: no name can pose as another by look-alike letters.
/// Shown as it was written, unique whatever its case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Username(String);

impl Username {
    pub const MAX_LENGTH: usize = 64;

    /// What was once accepted and stored.
    pub fn stored(text: String) -> Self {
        Self(text)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The form in which two names are the same name.
    pub fn key(&self) -> String {
        self.0.to_ascii_lowercase()
    }
}

impl FromStr for Username {
    type Err = Invalid;

    fn from_str(raw: &str) -> Result<Self, Invalid> {
        if raw.is_empty() || raw.len() > Self::MAX_LENGTH {
            return Err(Invalid(format!("a username has 1 to {} characters", Self::MAX_LENGTH)));
        }
        let allowed = |b: u8| b.is_ascii_alphanumeric() || b"_.-@+".contains(&b);
        if !raw.bytes().all(allowed) {
            return Err(Invalid("a username is made of the letters a to z, digits and _ . - @ +".into()));
        }
        Ok(Self(raw.to_owned()))
    }
}

impl fmt::Display for Username {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain_ascii() {
        let longest = "a".repeat(64);
        for raw in ["a", "Ada.Lovelace_1815+x@y-z", "0", longest.as_str()] {
            assert_eq!(raw.parse::<Username>().unwrap().as_str(), raw);
        }
        let too_long = "a".repeat(65);
        for raw in ["", too_long.as_str(), "a b", "ада", "a/b", "a\n", "é", "a\0"] {
            assert!(raw.parse::<Username>().is_err(), "{raw:?} passed for a name");
        }
        assert_eq!("ADA".parse::<Username>().unwrap().key(), "ada");
    }
}
