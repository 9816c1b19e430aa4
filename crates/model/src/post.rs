//! A post: one photo, perhaps a message, and how people like it.

use crate::{Message, Photo, PostId, Timestamp, User};

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
