//! What a user may do: their role, and the status of the account.

/// Declares an enumeration whose values are stored and sent as these words.
#[macro_export]
macro_rules! words {
    ($(#[$doc:meta])* $name:ident, $what:literal { $($(#[$variant_doc:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$variant_doc])* $variant,)+ }

        impl $name {
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl ::std::str::FromStr for $name {
            type Err = $crate::ValidationError;

            fn from_str(raw: &str) -> Result<Self, $crate::ValidationError> {
                let known = [$($word),+];
                Self::ALL.iter().copied().find(|value| value.as_str() == raw).ok_or_else(|| {
                    $crate::ValidationError::new(format!(concat!($what, " is one of {}"), known.join(", ")))
                })
            }
        }
    };
}

words! {
    /// Each role may do what those before it may.
    Role, "a role" {
        Member = "member",
        /// Handles reports: hides and deletes posts, suspends members.
        Moderator = "moderator",
        /// Runs the instance: roles, registration, deletion of accounts.
        Owner = "owner",
    }
}

words! {
    /// The status of an account.
    Status, "a status" {
        Active = "active",
        /// An owner or a moderator has to approve the account.
        Pending = "pending",
        /// Can log in and read, but not write.
        Suspended = "suspended",
        /// Suspended, and the profile and its posts are not shown.
        Hidden = "hidden",
        /// Its rows are being deleted; it has no sessions.
        Deleted = "deleted",
    }
}

words! {
    /// Who may join.
    Registration, "registration" {
        Open = "open",
        /// With a link that an owner, or a member if allowed, has made.
        Invitation = "invitation",
        /// A moderator approves every new account.
        Approval = "approval",
        Closed = "closed",
    }
}

impl Status {
    /// Whether the profile and its posts are shown to others.
    pub fn is_shown(self) -> bool {
        matches!(self, Self::Active | Self::Suspended)
    }

    pub fn is_suspended(self) -> bool {
        matches!(self, Self::Suspended | Self::Hidden)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_round_trip_and_others_are_rejected_with_a_list() {
        for role in Role::ALL {
            assert_eq!(role.to_string().parse(), Ok(*role));
        }
        let rejected = "admin".parse::<Role>().unwrap_err().message;
        assert_eq!(rejected, "a role is one of member, moderator, owner");
        assert!(Role::Owner > Role::Moderator && Role::Moderator > Role::Member);
    }
}
