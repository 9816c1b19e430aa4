//! A post: a photo with an optional message and its likes.

use std::sync::Arc;

use crate::ids::numeric_id;
use crate::{Alt, Message, Photo, Reason, Timestamp, User};

numeric_id!(
    /// The id of a post. Ids ascend with time and are never reused.
    PostId
);

/// A post with its author: a [`User`], or only a [`UserId`](crate::UserId) as in the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Post<Author = Arc<User>> {
    pub id: PostId,
    pub photo: Photo,
    pub message: Option<Message>,
    pub user: Author,
    pub created_at: Timestamp,
    /// Whether the caller has liked it; false for an anonymous request.
    pub is_liked: bool,
    pub like_count: i64,
    /// Why a moderator has hidden it: then only its author and moderators see it.
    pub hidden_reason: Option<Reason>,
    /// Whether everyone may download the original of its photo; otherwise only the author may.
    pub share_original: bool,
}

impl<Author> Post<Author> {
    /// Replaces the author, such as an id by its user.
    pub fn with_author<Other>(self, user: Other) -> Post<Other> {
        let Self { id, photo, message, user: _, created_at, is_liked, like_count, .. } = self;
        let Self { hidden_reason, share_original, .. } = self;
        Post { id, photo, message, user, created_at, is_liked, like_count, hidden_reason, share_original }
    }
}

/// What the author gives with the photo of a new post.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PostContent {
    pub message: Option<Message>,
    pub share_original: bool,
}

impl PostContent {
    pub fn of_message(message: Option<Message>) -> Self {
        Self { message, share_original: false }
    }
}

/// An edit of a post. `None` leaves a field unchanged, `Some(None)` removes its value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PostEdit {
    pub message: Option<Option<Message>>,
    pub alt: Option<Option<Alt>>,
    pub share_original: Option<bool>,
}

impl PostEdit {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_canonical_positive_numbers() {
        assert_eq!("7".parse(), Ok(PostId(7)));
        assert_eq!("9223372036854775807".parse(), Ok(PostId(i64::MAX)));
        for raw in ["", "0", "-1", "+7", "007", " 7", "7 ", "1e3", "9223372036854775808", "٧", "abc"] {
            assert!(raw.parse::<PostId>().is_err(), "{raw:?} must not parse as an id");
        }
    }
}
