//! A user and their username.

use std::fmt;
use std::str::FromStr;

use crate::ids::numeric_id;
use crate::{Bio, DisplayName, Link, NetworkRange, Photo, Refusal, Role, Status, Timestamp, ValidationError};

numeric_id!(
    /// The id of a user.
    UserId
);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    pub id: UserId,
    pub username: Username,
    /// The profile photo. Boxed, since most users have none: a smaller `User` means fewer CPU cache misses in
    /// a feed page.
    pub photo: Option<Box<Photo>>,
    /// Boxed for the same reason.
    pub profile: Option<Box<Profile>>,
    pub created_at: Timestamp,
    pub role: Role,
    pub status: Status,
}

/// What users say about themselves.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Profile {
    pub display_name: Option<DisplayName>,
    pub bio: Option<Bio>,
    pub link: Option<Link>,
}

/// An edit of a profile. `Some(None)` removes a text, `None` leaves it as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProfileEdit {
    pub display_name: Option<Option<DisplayName>>,
    pub bio: Option<Option<Bio>>,
    pub link: Option<Option<Link>>,
}

/// Which users a list has: those that match all of these.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UserFilter {
    /// The beginning of the username, in any case.
    pub query: Option<String>,
    pub status: Option<Status>,
    pub role: Option<Role>,
    /// Where they joined from.
    pub network: Option<NetworkRange>,
    /// When they joined, at the earliest.
    pub since: Option<Timestamp>,
}

/// 1 to 64 ASCII letters, digits and `_ . - @ +`, which excludes homoglyphs. Case is preserved in display and
/// ignored in comparisons.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Username(String);

/// The names that the audit log has for the command line, and reports for users who have left.
const RESERVED: [&str; 2] = ["operator", "deleted"];

impl Username {
    pub const MAX_LENGTH: usize = 64;

    /// A username from the database, which was validated before it was stored.
    pub fn from_stored(text: String) -> Self {
        Self(text)
    }

    /// A username for a new account: also not `.` or `..`, which clients remove from the path of a URL, nor a
    /// reserved one.
    pub fn parse_new(raw: &str) -> Result<Self, ValidationError> {
        match raw {
            "." | ".." => {
                Err(ValidationError::refused(Refusal::UsernameInvalid, "a username may not be . or .."))
            }
            _ if RESERVED.iter().any(|name| name.eq_ignore_ascii_case(raw)) => Err(ValidationError::refused(
                Refusal::UsernameReserved,
                "this username is reserved; choose another",
            )),
            _ => raw.parse(),
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The case-folded form, which is unique.
    pub fn key(&self) -> String {
        self.0.to_ascii_lowercase()
    }
}

impl FromStr for Username {
    type Err = ValidationError;

    fn from_str(raw: &str) -> Result<Self, ValidationError> {
        if raw.is_empty() || raw.len() > Self::MAX_LENGTH {
            let rule = format!("a username has 1 to {} characters", Self::MAX_LENGTH);
            return Err(ValidationError::refused(Refusal::UsernameInvalid, rule));
        }
        let allowed = |b: u8| b.is_ascii_alphanumeric() || b"_.-@+".contains(&b);
        if !raw.bytes().all(allowed) {
            return Err(ValidationError::refused(
                Refusal::UsernameInvalid,
                "a username may contain only ASCII letters, digits and _ . - @ +",
            ));
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
    fn usernames_are_ascii_and_compared_without_case() {
        let longest = "a".repeat(64);
        for raw in ["a", "Ada.Lovelace_1815+x@y-z", "0", longest.as_str()] {
            assert_eq!(raw.parse::<Username>().unwrap().as_str(), raw);
        }
        let too_long = "a".repeat(65);
        for raw in ["", too_long.as_str(), "a b", "ада", "a/b", "a\n", "é", "a\0"] {
            assert!(raw.parse::<Username>().is_err(), "{raw:?} must not parse as a username");
        }
        for raw in [".", ".."] {
            assert!(raw.parse::<Username>().is_ok(), "an account from before the rule has the name {raw:?}");
            assert!(Username::parse_new(raw).is_err(), "{raw:?} must not be a new username");
        }
        assert!(Username::parse_new("Operator").is_err() && Username::parse_new("operators").is_ok());
        assert_eq!(Username::parse_new("...").unwrap().as_str(), "...");
        assert_eq!("ADA".parse::<Username>().unwrap().key(), "ada");
    }
}
