//! A post: one photo, perhaps a message, and how people like it.

use std::sync::Arc;

use crate::{Alt, Message, Photo, PostId, Timestamp, User};

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
