//! A post: one photo, perhaps a message, and how people like it.

use crate::{Alt, Message, Photo, PostId, Timestamp, User};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Post {
    pub id: PostId,
    pub photo: Photo,
    pub message: Option<Message>,
    pub user: User,
    pub created_at: Timestamp,
    /// Whether the one who asks has liked it; never true for an anonymous reader.
    pub is_liked: bool,
    pub like_count: i64,
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
