//! A post: one photo, perhaps a message, and how people like it.

use std::sync::Arc;

use crate::ids::numeric_id;
use crate::{Alt, Message, Photo, Timestamp, User};

numeric_id!(
    /// A post. Larger means newer: ids are handed out in order and never again.
    PostId
);

/// By somebody: where it is shown, by a [`User`]; where it lies, by their id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Post<By = Arc<User>> {
    pub id: PostId,
    pub photo: Photo,
    pub message: Option<Message>,
    pub user: By,
    pub created_at: Timestamp,
    /// Whether the one who asks has liked it; never true for an anonymous reader.
    pub is_liked: bool,
    pub like_count: i64,
}

impl<By> Post<By> {
    /// The same post, by somebody known in another way.
    pub fn by<Other>(self, user: Other) -> Post<Other> {
        let Self { id, photo, message, user: _, created_at, is_liked, like_count } = self;
        Post { id, photo, message, user, created_at, is_liked, like_count }
    }
}

/// What the author says in a new post.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PostContent {
    pub message: Option<Message>,
}

impl PostContent {
    /// Nothing but a message, if there is one.
    pub fn of_message(message: Option<Message>) -> Self {
        Self { message }
    }
}

/// What an edit changes. `None` leaves a part as it is, `Some(None)` takes it away.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PostEdit {
    pub message: Option<Option<Message>>,
    pub alt: Option<Option<Alt>>,
}

impl PostEdit {
    pub fn is_empty(&self) -> bool {
        self.message.is_none() && self.alt.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_canonical_positive_numbers_are_ids() {
        assert_eq!("7".parse(), Ok(PostId(7)));
        assert_eq!("9223372036854775807".parse(), Ok(PostId(i64::MAX)));
        for raw in ["", "0", "-1", "+7", "007", " 7", "7 ", "1e3", "9223372036854775808", "٧", "abc"] {
            assert!(raw.parse::<PostId>().is_err(), "{raw:?} passed for an id");
        }
    }
}
